"""Dates and times of SPSS, Stata and SAS, which are numbers there.

Enters: numbers of a column, its type, the program's way of counting. Leaves: Arrow arrays. Must not
know: files.

The library's own conversion cuts off what exceeds a day, and turns a millisecond of SPSS, which
counts seconds since 1582, into 999 microseconds. Here a time has as many digits as its number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.errors import InputError

_DAY = 86_400
_MICROSECONDS = 1_000_000
# No date of any calendar is further away, in seconds.
_FURTHEST = 1e12


@dataclass(frozen=True, slots=True)
class Counting:
    """How a program counts.

    `epoch` is in days before 1970, `date` in seconds, `time` in parts of a second.
    """

    epoch: int
    date: int
    time: int
    only_shown: bool = False


SPSS = Counting(epoch=141_428, date=1, time=1)
# In Stata a time of day is a date and time shown in another format.
STATA = Counting(epoch=3_653, date=_DAY, time=1_000, only_shown=True)
SAS = Counting(epoch=3_653, date=_DAY, time=1)


def times_of(
    values: Sequence[Any], name: str, kind: pa.DataType, counting: Counting
) -> pa.Array[Any]:
    """Numbers, some of them missing, as dates, moments or times of day."""
    given = pa.array(values, pa.float64())
    missing = np.array([value is None for value in values], np.bool_)
    numbers: NDArray[np.float64] = given.fill_null(0.0).to_numpy()
    size = counting.date if pa.types.is_date32(kind) else 1 / counting.time
    if not bool(np.all(np.abs(numbers) * size < _FURTHEST)):
        raise InputError(f"Column {name!r} holds a date or time that no calendar has.")
    if pa.types.is_date32(kind):
        days = np.floor(numbers / (_DAY / counting.date)).astype(np.int64) - counting.epoch
        if bool(np.any(np.abs(days) >= 1 << 31)):
            raise InputError(f"Column {name!r} holds a date that no calendar has.")
        return pa.array(days.astype(np.int32), pa.int32(), mask=missing).cast(kind)
    microseconds = _microseconds(numbers, counting.time)
    if pa.types.is_timestamp(kind):
        microseconds = microseconds - counting.epoch * _DAY * _MICROSECONDS
    elif counting.only_shown:
        microseconds = microseconds % (_DAY * _MICROSECONDS)
    elif bool(np.any((microseconds < 0) | (microseconds >= _DAY * _MICROSECONDS))):
        raise InputError(
            f"Column {name!r} holds a duration that is not a time of day: it is negative, or a day "
            f"or longer. Save it as a number, for instance of hours."
        )
    return pa.array(microseconds, pa.int64(), mask=missing).cast(kind)


def _microseconds(numbers: NDArray[np.float64], parts: int) -> NDArray[np.int64]:
    """To as many digits as the numbers have; they count parts of a second."""
    whole = np.floor(numbers)
    step = np.spacing(np.abs(numbers)) * (_MICROSECONDS / parts)
    digits = 10.0 ** np.maximum(0.0, np.ceil(np.log10(step)))
    rest = np.rint((numbers - whole) * (_MICROSECONDS / parts) / digits) * digits
    seconds: NDArray[np.int64] = whole.astype(np.int64) * (_MICROSECONDS // parts)
    return seconds + rest.astype(np.int64)
