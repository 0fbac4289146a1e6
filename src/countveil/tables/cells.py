"""What is done to every cell of a column, whatever the other rows hold.

Enters: an Arrow array, and a `CellChange` that the publisher declared. Leaves: numbers that were
rounded and limited and are still numbers; dates as the periods they fall into; texts cut to a
prefix. Must not know: counts, other columns, engines. Every engine calls this on its own batches,
so all of them agree. Nothing that is raised here quotes a cell.
"""

from __future__ import annotations

import decimal
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import InputError, SettingsError, option
from countveil.release.steps import PERIODS, SEPARATORS

if TYPE_CHECKING:
    import pyarrow as pa

ISO_DATE = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T].*)?$"


@dataclass(frozen=True, slots=True)
class CellChange:
    """Round to multiples of `step`, limit to `bottom` and `top`; a `period`; the first characters.

    A number is rounded first, so no published number is beyond a limit.
    """

    step: float | None = None
    bottom: float | None = None
    top: float | None = None
    period: str | None = None
    prefix: int | None = None

    @classmethod
    def of(cls, column: str, **parts: Any) -> CellChange:
        """A change of this column, checked."""
        change = cls(**parts)
        if change.step is not None and not change.step > 0:
            raise SettingsError(
                f"{option('round', {column: change.step})}: the step must be positive."
            )
        if change.bottom is not None and change.top is not None and change.bottom > change.top:
            raise SettingsError(
                f"{option('bottom', {column: change.bottom})} is above "
                f"{option('top', {column: change.top})}."
            )
        if change.is_of_numbers and (change.period or change.prefix):
            raise SettingsError(
                f"Column {column!r} is rounded or limited as a number, and also put into periods "
                f"or shortened; choose one."
            )
        return change

    @property
    def is_of_numbers(self) -> bool:
        """Whether it changes numbers, which stay numbers."""
        return any(limit is not None for limit in (self.step, self.bottom, self.top))

    @property
    def _whole(self) -> bool:
        limits = (self.step, self.bottom, self.top)
        return all(limit is None or float(limit).is_integer() for limit in limits)

    def type_of(self, column: str, kind: pa.DataType) -> pa.DataType:
        """The type that a column of type `kind` gets; SettingsError if it cannot be changed so."""
        import pyarrow as pa

        types = pa.types
        if self.period is not None:
            if types.is_date(kind) or types.is_timestamp(kind) or _is_text(kind):
                return pa.string()
            raise SettingsError(
                f"Column {column!r} holds {kind} values and no dates, so "
                f"{option('bins', {column: self.period})} cannot be done. Numbers take "
                f"{option('bins', {column: 10})} or edges."
            )
        if self.prefix is not None:
            if types.is_integer(kind) or types.is_floating(kind) or _is_text(kind):
                return pa.string()
            raise SettingsError(
                f"Column {column!r} holds {kind} values, which have no prefix. "
                f"{option('levels')} shortens codes: texts and numbers."
            )
        if types.is_integer(kind):
            return pa.int64() if self._whole else pa.float64()
        if types.is_floating(kind) or types.is_decimal(kind):
            return pa.float64()
        raise SettingsError(
            f"Column {column!r} holds {_described(kind)} and not numbers, so {option('round')}, "
            f"{option('top')} and {option('bottom')} cannot change it. If it should hold numbers, "
            f"inspect says how many of its cells are not."
        )

    def applied(self, column: str, array: pa.Array[Any]) -> pa.Array[Any]:
        """The array after the change; its type is `type_of`."""
        kind = self.type_of(column, array.type)
        if self.period is not None:
            return _periods(column, array, self.period)
        if self.prefix is not None:
            return _prefixes(array, self.prefix)
        return self._numbers(column, array, kind)

    def _numbers(self, column: str, array: pa.Array[Any], kind: pa.DataType) -> pa.Array[Any]:
        import pyarrow as pa

        from countveil.tables.encoded.encoding import from_numpy, missing_rows

        missing = missing_rows(array)
        try:
            same: Any = array.cast(kind)
        except pa.ArrowInvalid:
            raise InputError(
                f"Column {column!r} holds numbers that are too large to be rounded or limited."
            ) from None
        values: NDArray[Any] = same.fill_null(0).to_numpy(zero_copy_only=False)
        whole = values.dtype.kind == "i"
        if self.step is not None:
            values = (
                _rounded_whole(values, int(self.step)) if whole else _rounded(values, self.step)
            )
        number = int if whole else float
        if self.bottom is not None:
            values = np.where(values < self.bottom, number(self.bottom), values)
        if self.top is not None:
            values = np.where(values > self.top, number(self.top), values)
        return from_numpy(np.ascontiguousarray(values), missing, kind)


def number_of(text: object, option: str, column: str) -> float:
    """A number that a publisher wrote: whole ones stay whole."""
    try:
        exact = decimal.Decimal(str(text).strip())
    except decimal.InvalidOperation:
        exact = decimal.Decimal("nan")
    if not exact.is_finite():
        raise SettingsError(f"{option} of {column!r} needs a number; got {str(text)[:40]!r}.")
    return int(exact) if exact == exact.to_integral_value() else float(exact)


def rounded_number(number: float, step: float) -> float:
    """The multiple of `step` that is nearest to a number, of two the even one."""
    if isinstance(number, int) and float(step).is_integer():
        return int(_rounded_whole(np.array([number], np.int64), int(step))[0])
    return float(_rounded(np.array([number], np.float64), step)[0])


def _rounded_whole(values: NDArray[np.int64], step: int) -> NDArray[np.int64]:
    """Exactly, also where a floating-point number would lose digits."""
    times, over = np.divmod(values, step)
    up = (2 * over > step) | ((2 * over == step) & (times % 2 == 1))
    rounded: NDArray[np.int64] = (times + up) * step
    return rounded


def _rounded(values: NDArray[np.float64], step: float) -> NDArray[np.float64]:
    # 3 * 0.1 is not 0.3: what is published has no more digits than the step.
    exponent = decimal.Decimal(repr(step)).as_tuple().exponent
    digits = max(0, -exponent) if isinstance(exponent, int) else 0
    with np.errstate(invalid="ignore", over="ignore"):
        multiples = np.rint(values / step) * step
    rounded: NDArray[np.float64] = np.where(
        np.isfinite(multiples), np.round(multiples, digits), values
    )
    # No negative zero.
    return rounded + 0.0


def _periods(column: str, array: pa.Array[Any], period: str) -> pa.Array[Any]:
    """The label of each day's period; all times of a day are the day."""
    import pyarrow as pa

    from countveil.tables.encoded.encoding import text_array

    days = _days(column, array).dictionary_encode()
    label = PERIODS[period]
    try:
        known: list[Any] = days.dictionary.to_pylist()
        labels = text_array([label(day) for day in known])
    except (ValueError, OverflowError):
        raise InputError(
            f"Column {column!r} holds dates outside the years 1 to 9999, which cannot be put into "
            f"periods."
        ) from None
    if not len(labels):
        return pa.nulls(len(array), pa.string())
    return labels.take(days.indices)


def _days(column: str, array: pa.Array[Any]) -> pa.Array[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not _is_text(array.type):
        if pa.types.is_timestamp(array.type):
            # A day is one of UTC where times have a zone.
            array = pc.floor_temporal(array.cast(pa.timestamp(array.type.unit)), unit="day")
        return array.cast(pa.date32(), safe=False)
    sound = pc.match_substring_regex(array, ISO_DATE)
    if not pc.all(sound, min_count=0).as_py():
        raise _no_date(column)
    try:
        days: pa.Array[Any] = pc.utf8_slice_codeunits(array, 0, 10).cast(pa.date32())
    except pa.ArrowInvalid:
        raise _no_date(column) from None
    return days


def _no_date(column: str) -> InputError:
    return InputError(
        f"Column {column!r} is text, and not all of it is dates written as 2024-12-31, so it "
        f"cannot be put into periods. Name what stands for a missing value with "
        f"{option('missing')}, or correct the cells."
    )


def _prefixes(array: pa.Array[Any], length: int) -> pa.Array[Any]:
    import pyarrow as pa
    import pyarrow.compute as pc

    text = array.cast(pa.string())
    cut = pc.utf8_rtrim(pc.utf8_slice_codeunits(text, 0, length), SEPARATORS)
    longer = pc.greater(pc.utf8_length(text), length)
    shortened: pa.Array[Any] = pc.if_else(longer, cut, text)
    return shortened


def _is_text(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _described(kind: pa.DataType) -> str:
    return "text" if _is_text(kind) else f"{str(kind)[:40]} values"
