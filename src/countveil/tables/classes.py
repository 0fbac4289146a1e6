"""Numbers put into classes.

Enters: what the publisher wrote (`10`, `q10`, `18,30,45,65`), a column's values and their counts.
Leaves: classes with open ends and readable labels, in order. Must not know: rows, engines.

Edges are declared, or computed and rounded; the smallest and the largest value are never shown.
"""

from __future__ import annotations

import bisect
import decimal
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import InputError, SettingsError, option

_MOST_CLASSES = 1_000
# A text that is written as a number.
NUMBER_TEXT = re.compile(r"\s*[-+]?([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?\s*")
_ROUND_STEPS = (1, 2, 2.5, 5, 10)


@dataclass(frozen=True, slots=True)
class Bins:
    """How to put numbers into classes: `count` of equal width or frequency, or given edges."""

    count: int = 0
    equal_frequency: bool = False
    edges: tuple[float, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Bins:
        """Read `10`, `q10` or `18,30,45,65`."""
        plain = text.strip()
        try:
            if "," in plain or "." in plain:
                return cls(edges=_increasing([float(part) for part in plain.split(",") if part]))
            if plain.lower().startswith("q"):
                return cls(_class_count(plain[1:]), equal_frequency=True)
            return cls(_class_count(plain))
        except ValueError:
            raise SettingsError(
                f"The bins {text!r} cannot be read. Write a number of classes from 2 to "
                f"{_MOST_CLASSES:,} (10), a number of classes of equal frequency (q10), or edges "
                f"in increasing order (18,30,45,65; a single edge as 18,). Dates take day, week, "
                f"month, quarter, year or decade."
            ) from None

    @classmethod
    def of(cls, given: object) -> Bins:
        """From what a caller in Python may write: 10, "q10", [18, 30, 45, 65]."""
        if isinstance(given, Bins):
            return given
        if isinstance(given, Sequence) and not isinstance(given, str):
            return cls.parse(",".join(map(str, given)) + ",")
        return cls.parse(str(given))


@dataclass(frozen=True, slots=True)
class Classes:
    """Below the first edge, from edge to edge, from the last edge on."""

    edges: tuple[float, ...]
    whole: bool

    @property
    def labels(self) -> tuple[str, ...]:
        """Names of the classes, in order."""
        texts = [_number(edge) for edge in self.edges]
        inner = []
        for place in range(len(texts) - 1):
            low, high = self.edges[place], self.edges[place + 1]
            if not self.whole:
                inner.append(f"{texts[place]} to below {texts[place + 1]}")
            elif high - low == 1:
                inner.append(texts[place])
            else:
                inner.append(f"{texts[place]} to {_number(high - 1)}")
        return (f"below {texts[0]}", *inner, f"{texts[-1]} or more")

    def place(self, value: float) -> int:
        """The position of a value's class."""
        return bisect.bisect_right(self.edges, value)


def read_class_values(column: str, given: Sequence[float] | str) -> tuple[float, ...]:
    """The numbers that stand for classes: `15,70` for the two without an end, or one for each."""
    parts = given.split(",") if isinstance(given, str) else given
    try:
        numbers = tuple(float(part) for part in parts if str(part).strip())
    except (TypeError, ValueError):
        numbers = ()
    if len(numbers) < 2 or not all(map(math.isfinite, numbers)):
        raise SettingsError(
            f"The numbers that stand for the classes of {column!r} cannot be read. Write two for "
            f"the first and the last class, which have no end "
            f"({option('class_values', {column: [15, 70]})}), or one for every class, in order."
        )
    return numbers


def class_values(column: str, classes: Classes, given: Sequence[float]) -> tuple[float, ...]:
    """The number that stands for each class: as declared; midpoints between the two of the ends."""
    labels, edges = classes.labels, (-math.inf, *classes.edges, math.inf)
    last = 1.0 if classes.whole else 0.0
    numbers = tuple(given)
    if len(numbers) == 2 < len(labels):
        pairs = zip(classes.edges, classes.edges[1:], strict=False)
        middles = [(low + high - last) / 2 for low, high in pairs]
        numbers = (numbers[0], *middles, numbers[1])
    if len(numbers) != len(labels):
        raise SettingsError(
            f"Column {column!r} has {len(labels)} classes, and {len(numbers)} numbers were "
            f"declared for them. Declare two, for the first and the last class, or {len(labels)}."
        )
    for number, label, low, high in zip(numbers, labels, edges, edges[1:], strict=False):
        if not low <= number <= high:
            raise SettingsError(
                f"The number {_number(number)} cannot stand for the class {label!r} of column "
                f"{column!r}: it is not in it."
            )
    return tuple(int(number) if float(number).is_integer() else number for number in numbers)


def put_into_classes(
    column: str, values: Sequence[Any], counts: NDArray[np.int64], bins: Bins
) -> tuple[list[str | None], Classes]:
    """The label of each distinct value (missing stays missing), and the classes."""
    known = [value is not None and not _is_nan(value) for value in values]
    odd = [k and not _is_number(value) for value, k in zip(values, known, strict=True)]
    if any(odd):
        raise _no_numbers(column, values, counts, odd)
    if not any(known):
        raise InputError(f"Column {column!r} has no values to put into classes.")
    numbers = np.array([float(v) if k else 0.0 for v, k in zip(values, known, strict=True)])
    present = np.array(known)
    edges = bins.edges or _computed_edges(column, numbers[present], counts[present], bins)
    whole = all(float(number).is_integer() for number in (*numbers[present], *edges))
    classes = Classes(edges, whole)
    labels = classes.labels
    return [
        labels[classes.place(number)] if is_known else None
        for number, is_known in zip(numbers.tolist(), known, strict=True)
    ], classes


def _no_numbers(
    column: str, values: Sequence[Any], counts: NDArray[np.int64], odd: Sequence[bool]
) -> SettingsError:
    """Why a column cannot be put into classes; no cell is quoted."""
    cells = int(counts[np.array(odd)].sum())
    texts = np.array([not NUMBER_TEXT.fullmatch(str(value)) for value in values]) & np.array(odd)
    exceptions = int(counts[texts].sum())
    if exceptions * 10 > cells:
        return SettingsError(
            f"Column {column!r} holds no numbers, so {option('bins')} cannot put it into classes. "
            f"Dates take {option('bins', {column: 'month'})}; {option('merge')} gives values of "
            f"any kind a common label."
        )
    if not exceptions:
        return SettingsError(
            f"Column {column!r} holds no numbers but texts that look like them, so "
            f"{option('bins')} cannot put it into classes. Convert them. In a CSV file one cell "
            f"that is no number, also in a row that is left out, makes a column text: name what "
            f"stands for a missing value with {option('missing')}."
        )
    return SettingsError(
        f"Column {column!r} is text because {exceptions:,} of its {cells:,} cells "
        f"{'is not a number' if exceptions == 1 else 'are no numbers'}, so {option('bins')} cannot "
        f"put it into classes. Correct them (inspect says in which row the first one is), or name "
        f"what stands for a missing value with {option('missing')}."
    )


def _computed_edges(
    column: str, values: NDArray[np.float64], counts: NDArray[np.int64], bins: Bins
) -> tuple[float, ...]:
    make = _equal_frequency if bins.equal_frequency else _equal_width
    edges = make(values, counts, bins.count)
    # An edge at or below every value, or above, would only make an empty class.
    useful = tuple(edge for edge in edges if values.min() < edge <= values.max())
    if not useful:
        raise InputError(
            f"The values of column {column!r} are too few or too much alike for {bins.count} "
            f"classes. Give the edges: {option('bins', {column: [18, 30, 45, 65]})}."
        )
    return useful


def _equal_width(values: NDArray[np.float64], counts: NDArray[np.int64], count: int) -> list[float]:
    """Multiples of a round step that divide the bulk of the values into at most `count` classes."""
    low, high = _quantiles(values, counts, [0.01, 0.99])
    if high <= low:
        low, high = float(values.min()), float(values.max())
    if high <= low:
        return []
    raw = (high - low) / count
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(mult * power for mult in _ROUND_STEPS if mult * power >= raw * 0.999)
    if all(value.is_integer() for value in values.tolist()):
        step = max(1.0, math.ceil(step))
    first = math.floor(low / step) + 1
    return [round((first + place) * step, 12) for place in range(count - 1)]


def _equal_frequency(
    values: NDArray[np.float64], counts: NDArray[np.int64], count: int
) -> list[float]:
    """Quantiles, rounded to about a tenth of the usual distance between them."""
    exact = _quantiles(values, counts, [place / count for place in range(1, count)])
    spread = (exact[-1] - exact[0]) / count or abs(exact[0])
    digits = 0 if spread <= 0 else 1 - math.floor(math.log10(spread))
    if all(value.is_integer() for value in values.tolist()):
        digits = min(digits, 0)
    return sorted({round(edge, digits) for edge in exact})


def _quantiles(
    values: NDArray[np.float64], counts: NDArray[np.int64], shares: list[float]
) -> list[float]:
    """For each share, the first value with at least that share of the rows below it."""
    order = np.argsort(values)
    before = np.concatenate([[0], np.cumsum(counts[order])[:-1]]) / counts.sum()
    places = np.searchsorted(before, shares)
    quantiles: list[float] = values[order][np.minimum(places, values.size - 1)].tolist()
    return quantiles


def _class_count(text: str) -> int:
    count = int(text)
    if not 2 <= count <= _MOST_CLASSES:
        raise ValueError("out of range")
    return count


def _increasing(edges: list[float]) -> tuple[float, ...]:
    sound = edges and all(map(math.isfinite, edges)) and edges == sorted(set(edges))
    if not sound or len(edges) >= _MOST_CLASSES:
        raise ValueError("not increasing")
    return tuple(edges)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | decimal.Decimal) and not isinstance(value, bool)


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _number(value: float) -> str:
    return f"{int(value)}" if float(value).is_integer() else f"{value:.12g}"
