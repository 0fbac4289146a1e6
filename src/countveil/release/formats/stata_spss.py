"""Stata and SPSS files: rows written and read back, exactly or not at all.

Enters: Arrow tables, or files with the names and types that their columns have. Leaves: files, or
tables. Must not know: what rows are for.

Both programs have numbers of double precision and text. Whole numbers, truth values, dates and
times are stored as such numbers, dates and times in the programs' own units, so that they display
as dates. There, an empty text is a missing one, so a column may not hold empty texts. What would
not come back exactly is refused. The time that a file records is blanked.
"""

from __future__ import annotations

import datetime as dt
import errno
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.errors import MissingExtraError, SettingsError, option
from countveil.system.regular import open_regular

if TYPE_CHECKING:
    import pyarrow as pa

STATA, SPSS = "stata", "spss"
PROGRAMS = {STATA: "Stata", SPSS: "SPSS"}
_WHOLE_NUMBERS = {
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
}  # fmt: skip
_FLOATS, _TEXTS, _DATE = {"float", "double"}, {"string", "large_string"}, "date32[day]"
# A time in milliseconds: times the first number, divided by the second.
_TIMES = {
    "timestamp[s]": (1_000, 1), "timestamp[ms]": (1, 1),
    "timestamp[us]": (1, 1_000), "timestamp[ns]": (1, 1_000_000),
}  # fmt: skip
_KEPT = {"bool", _DATE, *_WHOLE_NUMBERS, *_FLOATS, *_TEXTS, *_TIMES}
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,31}", re.ASCII)
_RESERVED = {
    STATA: re.compile(r"byte|double|float|if|in|int|long|str\d+|strL|using|with"),
    SPSS: re.compile(r"all|and|by|eq|ge|gt|le|lt|ne|not|or|to|with", re.IGNORECASE),
}
# Most bytes of a text. Stata would store longer ones apart from the rows.
_LONGEST = {STATA: 2_044, SPSS: 32_767}
# Stata uses larger numbers for missing values.
_LARGEST = 8.9e307
_WHOLE = 1 << 53
# Most milliseconds that come back exactly from a number of seconds.
_MOST_MS = 1 << 51
# Where the programs begin to count, in days before 1970: 1960-01-01 and 1582-10-14.
_EPOCH = {STATA: 3_653, SPSS: 141_428}
_DAY_SECONDS, _DAY_MS = 86_400, 86_400_000
_DATE_UNIT, _TIME_UNIT = {STATA: 1, SPSS: _DAY_SECONDS}, {STATA: 1, SPSS: 1_000}
_DATE_FORMAT = {STATA: "%td", SPSS: "SDATE10"}
_TIME_FORMAT = {STATA: "%tc", SPSS: "DATETIME23.3"}
_WHOLE_FORMAT = {STATA: "%20.0g", SPSS: "F17.0"}
# Format 118, which every Stata since 14 reads.
_STATA_VERSION = 14
_STAMP = b"<timestamp>"
_STATA_TIME, _SPSS_TIME = b"01 Jan 1960 00:00", b"01 Jan 7000:00:00"
_SPSS_TIME_AT = 92
_PACKED_SPSS = b"$FL3"
# Without a zone, as in the files.
_BLANK_TIME = {STATA: dt.datetime(1960, 1, 1), SPSS: dt.datetime(1970, 1, 1)}  # noqa: DTZ001


@dataclass(frozen=True, slots=True)
class StoredLabels:
    """By column: its label, the labels of its numbers, and the number that stands for a text."""

    columns: Mapping[str, str] = field(default_factory=dict)
    values: Mapping[str, Mapping[float, str]] = field(default_factory=dict)
    codes: Mapping[str, Mapping[str, float]] = field(default_factory=dict)


def check_columns(columns: Sequence[tuple[str, str]], program: str) -> None:
    """Refuse names and types that the program does not have, or a missing library."""
    _libraries()
    spelled = {name.lower() for name, _ in columns}
    if program == SPSS and len(spelled) < len(columns):
        raise SettingsError(
            "Two columns differ in upper and lower case alone, which SPSS mixes up. Rename one."
        )
    for name, kind in columns:
        if not _NAME.fullmatch(name) or _RESERVED[program].fullmatch(name):
            raise SettingsError(
                f"{PROGRAMS[program]} cannot name a column {name!r}: names are up to 32 English "
                f"letters, digits and underscores, begin with a letter and are not reserved "
                f"words. Rename it, or use the output format parquet."
            )
        if kind not in _KEPT:
            raise SettingsError(
                f"Column {name!r} has the type {kind}, which {PROGRAMS[program]} would not keep "
                f"exactly. Use the output format parquet or arrow, or leave the column out with "
                f"{option('drop', name)}."
            )


def write_dataset(
    table: pa.Table, path: Path, program: str, labels: StoredLabels | None = None
) -> None:
    """Write a table with its labels; SettingsError if a value would change."""
    import pyarrow as pa

    library, polars = _libraries()
    labels = labels or StoredLabels()
    columns, formats = {}, {}
    for name, kind in ((column.name, str(column.type)) for column in table.schema):
        coded = name in labels.codes
        values = table.column(name)
        columns[name] = (
            _coded(values, labels.codes[name]) if coded else _plain(values, name, kind, program)
        )
        if kind == _DATE:
            formats[name] = _DATE_FORMAT[program]
        elif kind in _TIMES:
            formats[name] = _TIME_FORMAT[program]
        elif kind in _WHOLE_NUMBERS or kind == "bool":
            formats[name] = _WHOLE_FORMAT[program]
    said: dict[str, Any] = {
        "variable_format": formats,
        "column_labels": {**labels.columns} or None,
        "variable_value_labels": {name: {**each} for name, each in labels.values.items()} or None,
    }
    frame = polars.DataFrame(pa.table(columns))
    try:
        if program == STATA:
            library.write_dta(frame, path, version=_STATA_VERSION, **said)
        else:
            library.write_sav(frame, path, **said)
    except (library.ReadstatError, library.PyreadstatError) as error:
        if "write" in str(error).lower():
            # The library does not say why.
            raise OSError(f"{error}, the disk may be full") from None
        raise SettingsError(f"{PROGRAMS[program]} cannot hold the data: {error}.") from None
    _blank_time(path, program)


def read_dataset(path: Path, columns: Sequence[tuple[str, pa.DataType]], program: str) -> pa.Table:
    """Read a table back with these names and Arrow types; ValueError if it is not such a file."""
    import pyarrow as pa

    library = _reader()
    read = library.read_dta if program == STATA else library.read_sav
    try:
        columns_read, notes = read(path, disable_datetime_conversion=True, output_format="dict")
    except (library.ReadstatError, library.PyreadstatError):
        raise ValueError("not readable") from None
    if list(columns_read) != [name for name, _ in columns]:
        raise ValueError("other columns")
    for name, kind in columns:
        if str(kind) in _TEXTS and notes.readstat_variable_types[name] != "string":
            columns_read[name] = _labelled(columns_read[name], notes, name)
    arrays = [_typed(columns_read[name], kind, program) for name, kind in columns]
    return pa.Table.from_arrays(arrays, [name for name, _ in columns])


def described_size(path: Path, program: str) -> tuple[int, int]:
    """The rows that a file says it has, and the bytes of each; ValueError if it says neither."""
    library = _reader()
    with open_regular(path) as file:
        if file.read(len(_PACKED_SPSS)) == _PACKED_SPSS:
            # Ours are not packed so.
            raise ValueError("packed")
    read = library.read_dta if program == STATA else library.read_sav
    try:
        notes = read(path, metadataonly=True)[1]
    except (library.ReadstatError, library.PyreadstatError):
        raise ValueError("not readable") from None
    if notes.number_rows is None:
        raise ValueError("no number of rows")
    return int(notes.number_rows), sum(notes.variable_storage_width.values())


def metadata_beside_rows(path: Path, program: str, labels: StoredLabels | None = None) -> list[str]:
    """What a file holds besides its rows and the labels of its manifest; ours hold nothing."""
    labels = labels or StoredLabels()
    library = _reader()
    read = library.read_dta if program == STATA else library.read_sav
    notes = read(path, metadataonly=True)[1]
    present = {
        "label of the file": notes.file_label,
        "notes": notes.notes,
        "labels of columns": {n: said for n, said in notes.column_names_to_labels.items() if said}
        != {**labels.columns},
        "labels of values": notes.variable_value_labels != {**labels.values},
        "time of writing": notes.creation_time != _BLANK_TIME[program],
    }
    return [what for what, there in present.items() if there]


def _coded(values: Any, codes: Mapping[str, float]) -> Any:
    """Numbers in place of texts; every text has one."""
    import pyarrow as pa

    known: dict[str | None, float | None] = {None: None}
    known.update(codes)
    distinct = values.combine_chunks().dictionary_encode()
    numbers = pa.array([known[text] for text in distinct.dictionary.to_pylist()], pa.float64())
    return numbers.take(distinct.indices)


def _labelled(numbers: Sequence[Any], notes: Any, name: str) -> list[str | None]:
    """Texts in place of the numbers that stand for them; ValueError if one stands for none."""
    labels: dict[float | None, str | None] = {None: None}
    labels |= notes.variable_value_labels.get(name, {})
    if not {*numbers} <= {*labels}:
        raise ValueError("a code without a label")
    return [labels[number] for number in numbers]


def _plain(values: Any, name: str, kind: str, program: str) -> Any:
    """Numbers of double precision, or texts with an empty one where a value is missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def refuse(wrong: Any, what: str) -> None:
        if wrong.as_py() if isinstance(wrong, pa.Scalar) else wrong:
            raise SettingsError(
                f"Column {name!r} holds {what}; {PROGRAMS[program]} would not keep it. Use the "
                f"output format parquet or arrow."
            )

    if kind in _TEXTS:
        longest = pc.max(pc.binary_length(values)).as_py() or 0
        refuse(
            pc.any(pc.equal(pc.binary_length(values), 0)),
            f"an empty text ({option('missing', '')} reads empty texts as missing)",
        )
        refuse(pc.any(pc.match_substring(values, "\0")), "a text with a zero byte")
        refuse(longest > _LONGEST[program], f"a text of {longest:,} bytes, too many")
        if program == SPSS:
            refuse(pc.any(pc.ends_with(values, " ")), "a text that ends with a space")
        return values.cast(pa.string()).fill_null("")
    if kind in _FLOATS:
        numbers = values.cast(pa.float64())
        refuse(pc.any(pc.invert(pc.is_finite(numbers))), "a number that is infinite or NaN")
        refuse(pc.any(pc.greater(pc.abs(numbers), _LARGEST)), "a number beyond 8.9e307")
        return numbers
    if kind == "bool":
        return values.cast(pa.int8()).cast(pa.float64())
    if kind in _WHOLE_NUMBERS:
        _refuse_beyond(values, _WHOLE, refuse, "a whole number beyond 2^53")
        return values.cast(pa.float64())
    if kind == _DATE:
        days = values.cast(pa.int32()).cast(pa.int64())
        numbers = pc.multiply(pc.add(days, _EPOCH[program]), _DATE_UNIT[program])
    else:
        factor, divisor = _TIMES[kind]
        counted = values.cast(pa.int64())
        whole = pc.equal(counted, pc.multiply(pc.divide(counted, divisor), divisor))
        refuse(pc.any(pc.invert(whole)), "a time finer than a millisecond")
        counted = pc.divide(counted, divisor)
        _refuse_beyond(counted, _MOST_MS // factor, refuse, "a time too far from the present")
        ms = pc.add(pc.multiply(counted, factor), _EPOCH[program] * _DAY_MS)
        numbers = pc.divide(ms.cast(pa.float64()), float(_TIME_UNIT[program]))
    if program == SPSS:
        refuse(pc.any(pc.less(numbers, _DAY_SECONDS)), "a date before 15 October 1582")
    return numbers.cast(pa.float64())


def _refuse_beyond(values: Any, most: int, refuse: Any, what: str) -> None:
    import pyarrow.compute as pc

    ends = pc.min_max(values).as_py()
    refuse((ends["min"] or 0) < -most or (ends["max"] or 0) > most, what)


def _typed(values: Sequence[Any], kind: pa.DataType, program: str) -> pa.Array[Any]:
    """Numbers or texts of a file with their original type; ArrowInvalid if they do not fit."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if str(kind) in _TEXTS:
        return pa.array([text or None for text in values], kind)
    numbers = pa.array(values, pa.float64())
    if str(kind) in _FLOATS:
        return numbers.cast(kind)
    if str(kind) == _DATE:
        days: pa.Array[Any] = pc.divide(numbers, float(_DATE_UNIT[program])).cast(pa.int64())
        days = pc.subtract(days, _EPOCH[program])
        return days.cast(pa.int32()).cast(kind)
    if str(kind) in _TIMES:
        ms: pa.Array[Any] = pc.round(pc.multiply(numbers, float(_TIME_UNIT[program]))).cast(
            pa.int64()
        )
        ms = pc.subtract(ms, _EPOCH[program] * _DAY_MS)
        return ms.cast(pa.timestamp("ms")).cast(kind)
    return numbers.cast(pa.int64()).cast(kind)


def _blank_time(path: Path, program: str) -> None:
    """Overwrite the time at which the file was written."""
    with path.open("r+b") as file:
        if program == STATA:
            head = file.read(1 << 12)
            if (stamp := head.find(_STAMP)) < 0:
                raise OSError(errno.EIO, "the head of a file was lost; the disk may be failing")
            at = stamp + len(_STAMP) + 1
            file.seek(at)
            file.write(_STATA_TIME[: head[at - 1]])
        else:
            # Nine characters of a date and eight of a time.
            file.seek(_SPSS_TIME_AT)
            file.write(_SPSS_TIME)


def _reader() -> Any:
    try:
        import pyreadstat
    except ImportError:
        raise MissingExtraError("pyreadstat", "stat") from None
    return pyreadstat


def _libraries() -> tuple[Any, Any]:
    """The library that writes, and the one of the frames that it takes."""
    try:
        import polars as pl
    except ImportError:
        raise MissingExtraError("pyreadstat with Polars", "stat") from None
    return _reader(), pl
