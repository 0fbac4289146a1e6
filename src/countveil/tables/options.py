"""How a table is read, and how its columns and values are shaped before they are published.

Enters: options as written on a command line or in Python. Leaves: a `Reading` and a `Shaping`, each
checked. Must not know: the table.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

from countveil.errors import SettingsError, nearest, option
from countveil.tables.cells import CellChange
from countveil.tables.classes import Bins, read_class_values
from countveil.tables.levels import Level, RareMerge
from countveil.tables.progress import Progress
from countveil.tables.recode import confirms_public, read_domain

if TYPE_CHECKING:
    from countveil.tables.one_per import OnePer

FileName = str | os.PathLike[str]
_NAMED = {"tab": "\t", "\\t": "\t", "comma": ",", "semicolon": ";", "pipe": "|", "space": " "}
_NO_QUOTE = ("", "none")
# Codecs of Python that are not how a text is stored in a file.
_NOT_STORED = ("idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "utf-7")
_EXAMPLES = "utf-8, utf-16, latin-1 or windows-1252"


class SourceOptions(TypedDict, total=False):
    """The options that every function takes which reads a table.

    Attributes:
        missing: Texts that mean a missing value.
        delimiter: Of a CSV file; it is detected if not given.
        quote: Of a CSV file; "" for none.
        encoding: Of a CSV file; it is detected if not given.
        decimal_comma: Whether numbers of a CSV file have a decimal comma.
        header: False if the first line of a CSV file is data.
        where: An SQL condition that rows must meet.
        columns: The only ones to publish beside the protected ones.
        labels: The labels of a column's codes ({"sex": {1: "F", 2: "M"}}, or a CSV file).
        query: A SELECT for a database.
        timeout: Seconds after which reading from a database is given up.
        levels: Coarser codes in place of codes ("prefix:3", or a hierarchy as "FILE:LEVEL" or
            (file, level)).
        round: Rounds numbers to multiples of a step; they stay numbers.
        top: Limits numbers from above; they stay numbers.
        bottom: Limits numbers from below; they stay numbers.
        one_per: Keeps one row of each person ({"patient": "first by admitted"}, "last by
            admitted" or "any").
    """

    missing: Sequence[str] | str
    delimiter: str | None
    quote: str | None
    encoding: str | None
    decimal_comma: bool
    header: bool
    where: str | None
    columns: Sequence[str] | str
    labels: Mapping[str, Mapping[Any, str] | FileName] | None
    query: str | None
    timeout: float | None
    levels: Mapping[str, str | tuple[FileName, str | int]] | None
    round: Mapping[str, float | str] | None
    top: Mapping[str, float | str] | None
    bottom: Mapping[str, float | str] | None
    one_per: Mapping[str, str] | None


@dataclass(frozen=True, slots=True)
class CsvStyle:
    """How a CSV file is written; what is None is detected in the file.

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
            raise SettingsError(
                "Without quotes, a decimal comma and a comma as delimiter look the same."
            )

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
            encoding=None if encoding is None else _codec_name(encoding),
            decimal_comma=decimal_comma,
            header=header,
        )

    @property
    def given(self) -> list[str]:
        """The options that differ from their defaults, for a message."""
        return [
            option(field.name, False if field.name == "header" else None)
            for field in fields(self)
            if getattr(self, field.name) != field.default
        ]


PLAIN_CSV = CsvStyle()


@dataclass(frozen=True, slots=True)
class Reading:
    """How to read a table: which rows and columns of it, how its cells are written, with what.

    Without `columns`, all are read. `memory` limits how much is kept in memory; the rest goes to an
    encrypted file in the folder `spill`. Reading from a database ends after `timeout` seconds.
    """

    missing: tuple[str, ...] = ()
    csv: CsvStyle = PLAIN_CSV
    where: str | None = None
    columns: tuple[str, ...] = ()
    query: str | None = None
    timeout: float | None = None
    memory: str | int | None = None
    spill: Path | None = None
    progress: Progress | None = None

    def including(self, columns: Sequence[str]) -> Reading:
        """The same, with these columns read too if only some are."""
        return replace(self, columns=(*self.columns, *columns)) if self.columns else self


@dataclass(frozen=True, slots=True)
class Shaping:
    """What is done to rows, columns and values before they are published, in the order of steps.

    `one_per` keeps one row of each person. `cells` changes every cell of a column. Then come
    `labels`, `levels` of hierarchies, `merge` and `rare` values, at last `bins`. Columns in `drop`
    are left out; those in `keep` are published although they look unsafe. Each value of the column
    `person` must have one row. `domain` declares values; those that occur in a column of `public`
    are public knowledge, as the publisher confirms. `files` are those that the options were read
    from.
    """

    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    person: str | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)
    merge: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    domain: Mapping[str, Sequence[str | None]] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    rare: Mapping[str, RareMerge] = field(default_factory=dict)
    levels: Mapping[str, Level] = field(default_factory=dict)
    cells: Mapping[str, CellChange] = field(default_factory=dict)
    one_per: OnePer | None = None
    files: tuple[Path, ...] = ()
    weight: str | None = None
    class_values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    public: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        both = set(self.drop) & set(self.keep)
        if both:
            raise SettingsError(f"Column {min(both)!r} is both dropped and kept; choose one.")
        for name in self.class_values:
            if name not in self.bins:
                raise SettingsError(
                    f"The numbers of classes are for columns that are put into classes: give the "
                    f"classes of {name!r} with {option('bins')}, or leave {option('class_values')} "
                    f"out."
                )
        both = set(self.bins) & set(self.labels)
        if both:
            raise SettingsError(
                f"Column {min(both)!r} is both labelled and put into classes; choose one."
            )
        both = set(self.bins) & {*self.merge, *self.domain, *self.rare, *self.levels}
        if both:
            raise SettingsError(
                f"Column {min(both)!r} is put into classes, which are its domain; "
                f"{option('merge')}, {option('levels')} and {option('domain')} cannot be used with "
                f"{option('bins')}."
            )
        both = {name for name, change in self.cells.items() if change.prefix or change.period} & {
            *self.bins, *self.levels, *self.labels,
        }  # fmt: skip
        if both:
            raise SettingsError(
                f"Column {min(both)!r} has two of {option('bins')}, {option('levels')} and "
                f"{option('labels')}; choose one."
            )
        if self.one_per is not None and self.person not in (None, self.one_per.person):
            raise SettingsError(
                f"{option('person')} and {option('one_per')} name different columns; a table has "
                f"one kind of person."
            )

    @property
    def weights(self) -> tuple[str, ...]:
        """The column with the survey weights, if there is one."""
        return () if self.weight is None else (self.weight,)

    @property
    def persons(self) -> tuple[str, ...]:
        """The column that identifies persons, if there is one."""
        if self.one_per is not None:
            return (self.one_per.person,)
        return () if self.person is None else (self.person,)

    @property
    def prepared(self) -> frozenset[str]:
        """The columns whose values are replaced."""
        return frozenset({*self.recoded, *self.cells})

    @property
    def changes_values(self) -> bool:
        """Whether values are replaced."""
        return bool(self.cells) or bool({*self.recoded} - {*self.domain})

    def seeded(self, seed: int | None) -> Shaping:
        """The same with draws that the seed decides, if there is one."""
        if self.one_per is None or seed is None:
            return self
        return replace(self, one_per=self.one_per.seeded(seed))

    @property
    def recoded(self) -> tuple[str, ...]:
        """The columns whose values are replaced by their counts, or declared."""
        by_counts = (self.bins, self.merge, self.domain, self.labels, self.rare, self.levels)
        return tuple(name for columns in by_counts for name in columns)

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that is named somewhere, and must be read."""
        by_values = (*self.recoded, *self.cells)
        return (*self.drop, *self.keep, *self.persons, *self.weights, *by_values, *self.public)


def table_options(
    *,
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    person: str | None = None,
    weight: str | None = None,
    bins: Mapping[str, object] | None = None,
    class_values: Mapping[str, Sequence[float] | str] | None = None,
    merge: Mapping[str, Mapping[Any, str] | FileName] | None = None,
    domain: Mapping[str, Sequence[Any] | FileName] | None = None,
    memory: str | int | None = None,
    spill: FileName | None = None,
    progress: Progress | None = None,
    **options: Unpack[SourceOptions],
) -> tuple[Reading, Shaping]:
    """How to read and shape a table, from what a caller may write; files are read here."""
    files = _files_named({**locals(), **options})
    _check_known(options)
    public = tuple(name for name, given in (domain or {}).items() if confirms_public(given))
    shaping = Shaping(
        drop=_names(drop),
        keep=_names(keep),
        person=person,
        domain={n: read_domain(given) for n, given in (domain or {}).items() if n not in public},
        **_recoding(bins or {}, merge or {}, options),
        files=files,
        weight=weight,
        class_values={n: read_class_values(n, v) for n, v in (class_values or {}).items()},
        public=public,
    )
    reading = Reading(
        missing=_names(options.get("missing", ())),
        csv=_csv_style(options),
        where=options.get("where"),
        columns=_names(options.get("columns", ())),
        query=options.get("query"),
        timeout=_seconds(options.get("timeout")),
        memory=memory,
        spill=None if spill is None else Path(spill),
        progress=progress,
    )
    both = set(shaping.drop) & set(reading.columns)
    if both:
        raise SettingsError(
            f"Column {min(both)!r} is both among those to publish and dropped; choose one."
        )
    if reading.columns and shaping.drop:
        raise SettingsError(
            f"Columns that {option('columns')} does not name are left out anyway, "
            f"{shaping.drop[0]!r} too. Use {option('columns')} or {option('drop')}, not both."
        )
    return reading, shaping


def _recoding(
    bins: Mapping[str, object],
    merge: Mapping[str, Mapping[Any, str] | FileName],
    options: SourceOptions,
) -> dict[str, Any]:
    """What is put in place of values, and which rows are kept: fields of a `Shaping`."""
    names = ("labels", "levels", "round", "top", "bottom", "one_per")
    if not bins and not merge and not any(options.get(name) for name in names):
        return {}
    # Most of the options are not given most of the time.
    from countveil.tables.recoding import recoding

    return recoding(bins, merge, options)


def _seconds(timeout: float | None) -> float | None:
    if timeout is None:
        return None
    if isinstance(timeout, bool) or not isinstance(timeout, int | float) or not timeout > 0:
        raise SettingsError(f"{option('timeout')} is a number of seconds above 0.")
    return timeout


def _csv_style(options: SourceOptions) -> CsvStyle:
    return CsvStyle.of(
        delimiter=options.get("delimiter"),
        quote=options.get("quote"),
        encoding=options.get("encoding"),
        decimal_comma=options.get("decimal_comma", False),
        header=options.get("header", True),
    )


def _character(text: str, what: str) -> str:
    character = _NAMED.get(text.lower(), text)
    if len(character) != 1 or not character.isascii() or character in "\r\n\0":
        more = ", or none where quotes mean nothing" if what == "quote" else ", such as ; or tab"
        raise SettingsError(f"The {what} must be one plain character{more}; got {text[:20]!r}.")
    return character


def _codec_name(encoding: str) -> str:
    """The name that the codec itself has."""
    try:
        codec = codecs.lookup(encoding)
        # Some codecs turn bytes into bytes; they are no encodings of text.
        "".encode(codec.name)
    except (LookupError, ValueError, UnicodeError):
        raise SettingsError(
            f"There is no text encoding {encoding[:40]!r}. Usual ones: {_EXAMPLES}."
        ) from None
    if codec.name.replace("_", "-") in _NOT_STORED:
        raise SettingsError(f"{encoding!r} is not how files are stored. Usual ones: {_EXAMPLES}.")
    return codec.name


def _check_known(options: Mapping[str, object]) -> None:
    """Refuse a keyword that is none of ours: where options are passed on, Python does not."""
    for name in options:
        if name not in SourceOptions.__annotations__:
            known = [*signature(table_options).parameters, *SourceOptions.__annotations__]
            raise TypeError(f"There is no argument {name!r}. {nearest(name, known)}")


def _files_named(given: Mapping[str, object]) -> tuple[Path, ...]:
    """The files that options name for columns."""
    named = [
        each for value in given.values() if isinstance(value, Mapping) for each in value.values()
    ]
    # A hierarchy is a file and a level of it.
    named += [each[0] for each in named if isinstance(each, tuple) and each]
    named += [each.rpartition(":")[0] for each in named if isinstance(each, str)]
    paths = [Path(each) for each in named if isinstance(each, str | os.PathLike) and each]
    return tuple(path for path in paths if os.path.isfile(path))  # noqa: PTH113 - never raises


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
