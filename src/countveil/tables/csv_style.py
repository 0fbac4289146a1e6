"""How a CSV file is written, where that cannot be found out.

Enters: options as written on a command line or in Python. Leaves: a `CsvStyle`, checked.
Must not know: the file.
"""

from __future__ import annotations

import codecs
from dataclasses import dataclass, fields

from countveil.errors import SettingsError

_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_NO_QUOTE = ("", "none")
# Codecs of Python that are not how a text is stored in a file.
_NOT_STORED = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7")
_EXAMPLES = "utf-8, utf-16, latin-1 or windows-1252"


@dataclass(frozen=True, slots=True)
class CsvStyle:
    """What is said about a CSV; what is None is found out from the file.

    `quote` is empty where quotes mean nothing.
    """

    delimiter: str | None = None
    quote: str = '"'
    encoding: str | None = None
    decimal_comma: bool = False
    header: bool = True

    def __post_init__(self) -> None:
        if self.delimiter is not None and self.delimiter == self.quote:
            raise SettingsError("The delimiter and the quote are the same character.")
        if self.decimal_comma and self.delimiter == "," and not self.quote:
            raise SettingsError("A decimal comma cannot be told from the delimiter without quotes.")

    @classmethod
    def of(
        cls,
        *,
        delimiter: str | None = None,
        quote: str | None = None,
        encoding: str | None = None,
        decimal_comma: bool = False,
        header: bool = True,
    ) -> CsvStyle:
        """From what a caller may write."""
        if quote is None:
            quote = '"'
        return cls(
            delimiter=None if delimiter is None else _character(delimiter, "delimiter"),
            quote="" if quote.lower() in _NO_QUOTE else _character(quote, "quote"),
            encoding=None if encoding is None else _known(encoding),
            decimal_comma=decimal_comma,
            header=header,
        )

    @property
    def said(self) -> list[str]:
        """What was said and is not the default: the options, by name."""
        names = {"header": "--no-header"}
        return [
            names.get(field.name, "--" + field.name.replace("_", "-"))
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]


PLAIN_CSV = CsvStyle()


def _character(text: str, what: str) -> str:
    found = _NAMED.get(text.lower(), text)
    if len(found) != 1 or not found.isascii() or found in "\r\n\0":
        more = ", or none where quotes mean nothing" if what == "quote" else ", such as ; or tab"
        raise SettingsError(f"The {what} must be one plain character{more}; got {text[:20]!r}.")
    return found


def _known(encoding: str) -> str:
    """The codec's own name."""
    try:
        found = codecs.lookup(encoding)
        # Some codecs turn bytes into bytes; they are no encodings of text.
        "".encode(found.name)
    except (LookupError, ValueError, UnicodeError):
        raise SettingsError(
            f"There is no text encoding {encoding[:40]!r}. Usual ones: {_EXAMPLES}."
        ) from None
    if found.name.replace("_", "-") in _NOT_STORED:
        raise SettingsError(f"{encoding!r} is not how files are stored. Usual ones: {_EXAMPLES}.")
    return found.name
