"""The type of a column that was read as text.

Enters: the different texts of some of its rows. Leaves: the types that fit them all. Must not know:
files, rows, other columns.

A type fits a text that is written as the type writes it: +1 stays text, and so do codes with
leading zeros such as 007, and numbers with more digits than floating point has. Each chunk of rows
is examined on its own; a type fits the column if it fits every chunk.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from countveil.tables.encoded.encoding import from_numpy, text_array, to_numpy

TEXT = pa.string()
_SAMPLE = 100
_WHOLE = r"\A(0|-?[1-9][0-9]{0,18})\z"
_NUMBER = r"\A-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?\z"
_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_TIME = r"\A[0-9-]{10}[ T][0-9:]{8}([.][0-9]{1,6})?\z"
_TRUTHS = ("true", "false", "True", "False", "TRUE", "FALSE")
# The most digits, with a decimal point or without: more would be lost in a number.
_DIGITS, _WHOLE_DIGITS = 17, 15
AT_ONCE = 1 << 22


def fitting(texts: pa.Array[Any], *, decimal_comma: bool = False) -> frozenset[pa.DataType]:
    """The types that fit all of these texts; every type if there are none."""
    if not len(texts):
        return frozenset(_FITS)
    kinds = _fitting(texts, frozenset(_FITS))
    if decimal_comma:
        number = frozenset([pa.float64()])
        kinds = (kinds - number) | _fitting(with_point(texts), number)
    return kinds


def _fitting(texts: pa.Array[Any], kinds: frozenset[pa.DataType]) -> frozenset[pa.DataType]:
    # The first few texts rule most types out.
    few: set[Any] = set(texts.slice(0, _SAMPLE).to_pylist())
    return frozenset(
        kind
        for kind, (look, fits) in _FITS.items()
        if kind in kinds and all(map(look.fullmatch, few)) and fits(texts)
    )


def with_point(texts: pa.Array[Any]) -> pa.Array[Any]:
    """Numbers with a decimal comma rewritten with a point; what has a point is not a number."""
    pointed: pa.Array[Any] = pc.replace_substring(pc.replace_substring(texts, ".", "_"), ",", ".")
    return pointed


def first_fitting(fits: Iterable[frozenset[pa.DataType]]) -> pa.DataType:
    """The type of a column, from the types that fit its chunks; text if there is no other."""
    common = frozenset(_FITS).intersection(*fits)
    return next((kind for kind in _FITS if kind in common), TEXT)


def merges(chunks: Callable[[], Iterator[pa.Array[Any]]], n_texts: int) -> bool:
    """Whether different texts would become one number: 250.0 and 250.00 are codes, not numbers.

    `chunks` gives the texts, chunk by chunk, `n_texts` in all, some of them several times. They are
    examined in several turns, to save memory; texts of one number are in the same turn.
    """
    turns = max(1, -(-n_texts // AT_ONCE))
    for turn in range(turns):
        texts, bits = [text_array([])], [np.zeros(0, np.uint64)]
        for chunk in chunks():
            chunk_bits = _bits(chunk)
            hashes = (chunk_bits * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(33)
            chosen = hashes % np.uint64(turns) == turn
            texts.append(chunk.filter(from_numpy(chosen)))
            bits.append(chunk_bits[chosen])
        different = pa.concat_arrays(texts).unique()
        if len(different) > np.unique(np.concatenate(bits)).size:
            return True
    return False


def _bits(texts: pa.Array[Any]) -> NDArray[np.uint64]:
    buffer: Any = texts.cast(pa.float64()).buffers()[1]
    numbers = np.frombuffer(buffer, np.float64, len(texts))
    # -0 and 0 are one number.
    return (numbers + 0.0).view(np.uint64)


def _fits_whole(texts: pa.Array[Any]) -> bool:
    return _all(pc.match_substring_regex(texts, _WHOLE)) and _castable(texts, pa.int64())


def _fits_number(texts: pa.Array[Any]) -> bool:
    if not _all(pc.match_substring_regex(texts, _NUMBER)) or not _castable(texts, pa.float64()):
        return False
    digits = to_numpy(pc.utf8_length(pc.replace_substring_regex(texts, r"[^0-9]", "")))
    pointed = to_numpy(pc.match_substring_regex(texts, r"[.eE]")) == 1
    few = bool(np.all(digits <= np.where(pointed, _DIGITS, _WHOLE_DIGITS)))
    return few and _all(pc.is_finite(texts.cast(pa.float64())))


def _fits_date(texts: pa.Array[Any]) -> bool:
    if not _all(pc.match_substring_regex(texts, _DATE)):
        return False
    # There was no year 0.
    return not _any(pc.starts_with(texts, "0000")) and _castable(texts, pa.date32())


def _fits_time(texts: pa.Array[Any]) -> bool:
    return _all(pc.match_substring_regex(texts, _TIME)) and _castable(texts, pa.timestamp("us"))


def _fits_truth(texts: pa.Array[Any]) -> bool:
    return _all(pc.is_in(texts, value_set=text_array(_TRUTHS)))


def _castable(texts: pa.Array[Any], kind: pa.DataType) -> bool:
    try:
        texts.cast(kind)
    except pa.ArrowInvalid:
        return False
    return True


def _all(truths: pa.Array[Any]) -> bool:
    return bool(pc.all(truths).as_py())


def _any(truths: pa.Array[Any]) -> bool:
    return bool(pc.any(truths).as_py())


# The first type that fits is the column's. Each has a pattern that all of its texts match.
_FITS: dict[pa.DataType, tuple[re.Pattern[str], Callable[[pa.Array[Any]], bool]]] = {
    pa.int64(): (re.compile(r"-?[0-9]{1,19}"), _fits_whole),
    pa.float64(): (re.compile(r"-?[0-9]*([.][0-9]+)?([eE][+-]?[0-9]+)?"), _fits_number),
    pa.date32(): (re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}"), _fits_date),
    pa.timestamp("us"): (re.compile(r"[0-9-]{10}[ T][0-9:]{8}([.][0-9]{1,6})?"), _fits_time),
    pa.bool_(): (re.compile(r"true|false|True|False|TRUE|FALSE"), _fits_truth),
}
