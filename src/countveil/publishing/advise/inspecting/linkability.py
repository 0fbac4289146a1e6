"""How many people share a person's combination of plain values, and what coarsening would help.

    codes of the plain columns -> a number for each combination -> rows in small ones
    -> without each column -> with each remedy -> remedies together

Enters: a table in this process, its plain columns, k. Leaves: a `Linkability`, measured on the
table. Must not know: releases, ell. A remedy is written as the option that does it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.local_table import LocalTable
from countveil.errors import CountveilError, option
from countveil.publishing.prepare import LocalPreparedTable
from countveil.randomness import Randomness
from countveil.release.values import DATE, NUMBER, TEXT, TIMESTAMP, kind_of
from countveil.tables import Shaping
from countveil.tables.cells import CellChange
from countveil.tables.encoded.encoding import text_array
from countveil.tables.levels import RareMerge, merge_rare
from countveil.tables.recode import value_text

# Remedies are tried for the columns that matter most, and none for columns of too many values.
_MOST_COLUMNS, _MOST_VALUES, _MOST_TOGETHER = 12, 100_000, 8
# So much more may be left where a gentler remedy leaves nearly as few.
_ALMOST = 1.1
_PERIODS = ("month", "quarter", "year", "decade")
_PREFIXES = (4, 3, 2, 1)
_RARE = (20, 100, 500)
Hashes = NDArray[np.uint64]
# An option and what it says about a column.
Named = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Remedy:
    """An option about a column, and how many rows have a small combination with it.

    Attributes:
        column: The column.
        name: The name of the option.
        value: Its value.
        rows: How many rows still have a small combination.
    """

    column: str
    name: str
    value: str
    rows: int

    @property
    def option(self) -> str:
        """As its reader writes it."""
        return option(self.name, {self.column: self.value} if self.value else self.column)


@dataclass(frozen=True, slots=True)
class Linkability:
    """Rows whose combination of plain values few rows have.

    Attributes:
        k: Fewer than so many are few.
        rows: The rows of the table.
        small: The rows with a small combination.
        without: How many are left if a column is not published, fewest first.
        remedies: Options that help, the best first.
        together: Options that are used at once, with the rows left after each.
    """

    k: int
    rows: int
    small: int
    without: Sequence[Remedy]
    remedies: Sequence[Remedy]
    together: Sequence[Remedy]

    def sentences(self, most: int = 5) -> list[str]:
        """The advice in words.

        Args:
            most: How many options to name.

        Returns:
            The sentences.
        """
        share = f"{self.small:,} of {self.rows:,} rows ({self.small / self.rows:.1%})"
        fewer = f"combination of plain values that fewer than {self.k:,} rows have"
        said = [f"{share} have a {fewer}."]
        if not self.small:
            return said
        matter = [remedy for remedy in self.without if remedy.rows < self.small][:most]
        if matter:
            listed = "; ".join(f"{r.column!r}: {r.rows:,}" for r in matter)
            said.append(f"Without one of these columns so many would be left: {listed}.")
        helpful = [remedy for remedy in self.remedies if remedy.rows < self.small][:most]
        if helpful:
            listed = "; ".join(f"{r.option}: {r.rows:,}" for r in helpful)
            said.append(f"With one of these options so many would be left: {listed}.")
        if self.together and self.together[-1].rows < self.small:
            listed = " ".join(r.option for r in self.together)
            left = self.together[-1].rows
            said.append(f"Together, {listed} leave {left:,} rows ({left / self.rows:.1%}).")
        return said


def linkability_of(prepared: LocalPreparedTable, shaping: Shaping, k: int) -> Linkability:
    """That of the plain columns of a table that is about to be published."""
    return find_linkability(prepared.source, prepared.roles.plain, k, shaping.prepared)


def find_linkability(
    source: LocalTable, plain: Sequence[str], k: int, prepared: Collection[str] = ()
) -> Linkability:
    """Measure it on all rows; of columns that are `prepared` already, only numbers are rounded."""
    draw = Randomness().stream("combinations")
    kinds = {column.name: kind_of(column.type) for column in source.facts.columns}
    columns = {name: _Column(source, name, kinds[name], draw) for name in plain}
    together = np.zeros(source.facts.rows, np.uint64)
    for column in columns.values():
        together += column.numbers
    small = _size(together, k)[0]
    without = sorted(
        (
            Remedy(name, "drop", "", _size(together - column.numbers, k)[0])
            for name, column in columns.items()
        ),
        key=lambda remedy: remedy.rows,
    )
    tried = [
        columns[remedy.column]
        for remedy in without[:_MOST_COLUMNS]
        if remedy.column not in prepared or kinds[remedy.column] == NUMBER
    ]
    coarser = [Coarser(column, *each) for column in tried if small for each in column.coarser()]
    remedies = sorted(
        (Remedy(c.column.name, *c.option, _size(c.instead(together), k)[0]) for c in coarser),
        key=lambda remedy: remedy.rows,
    )
    return Linkability(
        k, source.facts.rows, small, without, remedies, _greedy(together, coarser, k)
    )


def _greedy(together: Hashes, coarser: Sequence[Coarser], k: int) -> list[Remedy]:
    """The remedy that helps most, then the next, of each column one; then as gentle as possible."""
    chosen: list[Coarser] = []
    before, size = together, _size(together, k)
    while size[0] and len(chosen) < _MOST_TOGETHER:
        used = {each.column.name for each in chosen}
        left = [each for each in coarser if each.column.name not in used]
        sizes = [_size(each.instead(together), k) for each in left]
        if not sizes or min(sizes) >= size:
            break
        size = min(sizes)
        chosen.append(left[sizes.index(size)])
        together = chosen[-1].instead(together)
    enough = min(size[0] * _ALMOST, (size[0] + _size(before, k)[0]) / 2)
    for place, each in enumerate(chosen):
        rest = together - each.numbers + each.column.numbers
        gentler = [other for other in coarser if other.column is each.column]
        # The gentlest comes first; the chosen one itself is among them.
        best = next(g for g in gentler if _size(g.instead(rest), k)[0] <= enough)
        chosen[place], together = best, best.instead(rest)
    remedies = []
    for each in reversed(chosen):
        remedies.append(Remedy(each.column.name, *each.option, _size(together, k)[0]))
        together = together - each.numbers + each.column.numbers
    return remedies[::-1]


@dataclass(frozen=True, slots=True)
class Coarser:
    """A column made coarser by an option, with the numbers of its rows then."""

    column: _Column
    option: Named
    numbers: Hashes

    def instead(self, together: Hashes) -> Hashes:
        """The numbers of combinations with the coarser column in place of the column."""
        return together - self.column.numbers + self.numbers


class _Column:
    """A plain column: a random number for each of its values, row by row.

    The sum over columns is a number for the combination. Two combinations share one with a chance
    of 2 to the power of -64.
    """

    def __init__(self, source: LocalTable, name: str, kind: str, draw: Any) -> None:
        self.name, self._kind, self._draw = name, kind, draw
        self._codes = source.codes(name)
        self._source = source
        self.numbers = self._numbers(self._codes)

    def _numbers(self, codes: NDArray[np.int64]) -> Hashes:
        words: Hashes = self._draw.words(int(codes.max(initial=0)) + 1)
        return words[codes]

    def coarser(self) -> Iterator[tuple[Named, Hashes]]:
        """Options that make the column coarser, each with the numbers of the rows then."""
        histogram = self._source.histogram(self.name)
        if len(histogram.values) > _MOST_VALUES:
            return
        for named, values in self._candidates(histogram.values, histogram.counts.tolist()):
            _, places = np.unique([str(value) for value in values], return_inverse=True)
            if places.max(initial=0) + 1 < len(histogram.values):
                yield named, self._numbers(places[self._codes].astype(np.int64))

    def _candidates(
        self, values: Sequence[Any], counts: Sequence[int]
    ) -> Iterator[tuple[Named, Sequence[Any]]]:
        name = self.name
        known = [value for value in values if value is not None]
        if self._kind == NUMBER:
            for step in _steps([float(value) for value in known]):
                yield ("round", f"{step:g}"), _changed(name, values, CellChange(step=step))
        elif self._kind in (DATE, TIMESTAMP) or _are_dates(known):
            for period in _PERIODS:
                yield ("bins", period), _changed(name, values, CellChange(period=period))
        elif self._kind == TEXT:
            yield from self._of_texts(values, counts, known)

    def _of_texts(
        self, values: Sequence[Any], counts: Sequence[int], known: Sequence[Any]
    ) -> Iterator[tuple[Named, Sequence[Any]]]:
        lengths = [len(value) for value in known]
        codes = bool(known) and not any(" " in value for value in known) and max(lengths) <= 12
        for length in _PREFIXES if codes else ():
            if max(lengths) > length:
                changed = _changed(self.name, values, CellChange(prefix=length))
                yield ("levels", f"prefix:{length}"), changed
        for below in _RARE:
            try:
                merged, _ = merge_rare(self.name, values, counts, RareMerge(below))
            except CountveilError:
                continue
            yield ("merge", f"rare:{below}"), merged


def _size(numbers: Hashes, k: int) -> tuple[int, int]:
    """How many rows are in combinations of fewer than k rows; how many combinations there are."""
    counts = np.unique(numbers, return_counts=True)[1]
    return int(counts[counts < k].sum()), counts.size


def _changed(name: str, values: Sequence[Any], change: CellChange) -> list[Any]:
    texts = any(isinstance(value, str) for value in values)
    array = text_array([None if v is None else str(v) for v in values]) if texts else None
    if array is None and change.period is not None:
        array = text_array([None if v is None else value_text(v) for v in values])
    if array is None:
        array = pa.array([None if v is None else float(v) for v in values], pa.float64())
    changed: list[Any] = change.applied(name, array).to_pylist()
    return changed


def _steps(numbers: Sequence[float]) -> list[float]:
    """Round steps that leave about fifty, twenty, eight and four values."""
    finite = np.sort([number for number in numbers if np.isfinite(number)])
    if finite.size < 2:
        return []
    spread = float(finite[int(0.99 * (finite.size - 1))] - finite[int(0.01 * (finite.size - 1))])
    if spread <= 0:
        return []
    steps = {_round_step(spread / wanted) for wanted in (50, 20, 8, 4)}
    whole = all(number.is_integer() for number in finite.tolist())
    return sorted(step for step in steps if not whole or step > 1)


def _round_step(raw: float) -> float:
    power = 10.0 ** np.floor(np.log10(raw))
    step = min((1, 2, 5, 10), key=lambda times: abs(times * power - raw)) * power
    return float(f"{step:.6g}")


def _are_dates(values: Sequence[Any]) -> bool:
    import re

    return bool(values) and all(
        isinstance(value, str) and re.fullmatch(r"\d{4}-\d{2}-\d{2}", value) for value in values
    )
