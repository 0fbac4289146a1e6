"""Values that the publisher merges or declares, in small files.

Enters: files of the publisher, and the distinct values of a column. Leaves: new values, or the
declared ones. Must not know: rows, engines. Messages may name a value of the publisher's files;
a value of the table only where the publisher cannot act without it.
"""

from __future__ import annotations

import csv
import datetime as dt
import io
import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from countveil.errors import InputError, SettingsError, option
from countveil.system.regular import read_regular

_LIMIT = 64 * 1024 * 1024
_PUBLIC = "public:"
# As a domain: the values that occur in the table, of which the publisher says that they are public.
PUBLIC_OCCURRING = f"{_PUBLIC}occurring"
_HEADERS = (["value", "label"], ["code", "label"], ["value"])


def read_merges(given: Mapping[Any, str] | str | os.PathLike[str]) -> dict[str, str]:
    """The label of each value: a mapping, its JSON, or a CSV file with lines of value,label."""
    if isinstance(given, Mapping):
        return {value_text(value): str(label) for value, label in given.items()}
    mapping = read_pairs(given, "a value and the label it becomes")
    if not mapping:
        raise InputError(f"{_named(given)} merges nothing. It needs lines of value,label.")
    return mapping


def read_pairs(file: str | os.PathLike[str], what: str) -> dict[str, str]:
    """A file with two cells in each line, as a mapping from the first to the second.

    What begins with a brace names no file: it is the mapping itself, in JSON.
    """
    if is_inline(file):
        return _inline_pairs(os.fspath(file), what)
    path = Path(file)
    mapping: dict[str, str] = {}
    for number, row in lines_of(path):
        if len(row) != 2 or not row[1].strip():
            raise InputError(f"{path}, line {number}: two cells are needed, {what}.")
        if mapping.get(row[0], row[1]) != row[1]:
            raise InputError(f"{path}, line {number}: the value {row[0]!r} has two labels.")
        mapping[row[0]] = row[1]
    return mapping


def is_inline(given: object) -> bool:
    """Whether a text is a mapping in JSON, and no file."""
    return isinstance(given, str) and given.lstrip().startswith("{")


def _inline_pairs(text: str, what: str) -> dict[str, str]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({name for name, _ in pairs}) < len(pairs):
            raise InputError(f"{_named(text)}: a value has two labels.")
        return dict(pairs)

    try:
        mapping = json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError):
        mapping = None
    whole = isinstance(mapping, dict) and all(isinstance(each, str) for each in mapping.values())
    if not whole or not all(label.strip() for label in mapping.values()):
        raise InputError(
            f"{_named(text)} is not a list in JSON: pairs of texts are needed, {what}, such as "
            f'{{"a": "x", "b": "x"}}.'
        )
    return dict(mapping)


def _named(given: str | os.PathLike[str]) -> str:
    """A file in a message; of a list only its beginning."""
    text = os.fspath(given)
    return f"{text[:40]}{'...' if len(text) > 40 else ''}" if is_inline(text) else text


def confirms_public(given: object) -> bool:
    """Whether a domain is `public:occurring`: the values that occur, which are public knowledge."""
    if not isinstance(given, str) or not given.startswith(_PUBLIC):
        return False
    if given != PUBLIC_OCCURRING:
        raise SettingsError(
            f"{given[:60]!r} is no domain. {PUBLIC_OCCURRING} stands for the values that occur in "
            f"the table, and confirms that this list is public knowledge; else name a file."
        )
    if Path(given).exists():
        raise SettingsError(
            f"{given!r} stands for the values that occur in the table, but there is a file of this "
            f"name here. Rename it, or write ./{given} if you mean the file."
        )
    return True


def read_domain(given: Sequence[Any] | str | os.PathLike[str]) -> list[str | None]:
    """The values that a column may have: a sequence, or a file with one value per line.

    None, or a line of two double quotes, is the missing value. An empty line is nothing: files
    often end with one.
    """
    values: list[str | None]
    if not isinstance(given, str | os.PathLike):
        values = [None if value is None else value_text(value) for value in given]
        where = "The domain"
    else:
        values, where = [], os.fspath(given)
        for number, row in lines_of(Path(given)):
            if len(row) != 1:
                raise InputError(
                    f"{where}, line {number}: one value per line is needed; put a value with a "
                    f"comma in double quotes."
                )
            values.append(row[0] or None)
    if len(set(values)) != len(values):
        raise InputError(f"{where} lists a value twice.")
    if not any(value is not None for value in values):
        raise InputError(f"{where} declares no value.")
    return values


def merge_values(values: Iterable[Any], merges: Mapping[str, str]) -> list[str | None]:
    """Replace the values that are merged; the others stay, as text."""
    texts = (None if value is None else value_text(value) for value in values)
    return [None if text is None else merges.get(text, text) for text in texts]


def declared_values(
    column: str, declared: Sequence[str | None], occurring: Sequence[Any], type_name: str
) -> list[Any]:
    """The declared values in the type of the column; any other value is refused.

    Missing values may occur whether they are declared or not. If they are, they come first.
    """
    allowed = set(declared)
    foreign = [v for v in occurring if v is not None and value_text(v) not in allowed]
    if foreign:
        example = value_text(foreign[0])[:60]
        # In a file, a line of two double quotes is the missing value, and not the empty text.
        more = "" if example else " A file cannot declare the empty text: give it a label."
        raise InputError(
            f"Column {column!r} has {len(foreign):,} value(s) outside its declared domain, such as "
            f"{example!r}. Declare them too, or give them a declared label with {option('merge')}."
            f"{more}"
        )
    known = {value_text(value): value for value in occurring if value is not None}
    texts = [text for text in declared if text is not None]
    typed = [known[text] if text in known else _typed(column, text, type_name) for text in texts]
    return [*([None] * (None in allowed)), *typed]


def confirmed_values(occurring: Sequence[Any], classes: Sequence[str] | None) -> list[Any]:
    """The values that occur, or all classes that they were put into; the missing one first."""
    known = [value for value in occurring if value is not None] if classes is None else classes
    return [*([None] * (None in occurring)), *known]


def value_text(value: Any) -> str:
    """A value as it is written in a file."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value.isoformat() if isinstance(value, dt.date) else str(value)


def _typed(column: str, text: str, type_name: str) -> Any:
    readers: dict[str, Callable[[str], Any]] = {
        "int": int, "uint": int, "date": dt.date.fromisoformat,
        "timestamp": dt.datetime.fromisoformat,
        "bool": {"true": True, "false": False}.__getitem__,
    }  # fmt: skip
    for prefix, read in readers.items():
        if type_name.startswith(prefix):
            try:
                return read(text)
            except (ValueError, KeyError):
                raise SettingsError(
                    f"The domain of column {column!r} declares {text[:60]!r}, which cannot be a "
                    f"value of a column of type {type_name}."
                ) from None
    return text


def lines_of(path: Path, headers: Sequence[list[str]] = _HEADERS) -> list[tuple[int, list[str]]]:
    """The cells of each line that has any, with its number; one of these headers is left out."""
    try:
        text = read_regular(path, _LIMIT).decode("utf-8-sig")
        reader = csv.reader(io.StringIO(text, newline=""), strict=True)
        rows = [(reader.line_num, row) for row in reader if row]
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text. Convert it to UTF-8 first.") from None
    except csv.Error:
        raise InputError(f"{path} is not a well-formed CSV file: check its quotes.") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
    if rows and [cell.strip().lower() for cell in rows[0][1]] in headers:
        return rows[1:]
    return rows
