"""The shares of values in ever finer cells: what columns say together.

Enters: codes of plain columns, true values of the people to learn from. Leaves: beliefs about other
people. Must not know: names, where values come from.

A chain of columns is chosen, one after the other: each time the one that makes the values of people
who were left aside most likely; where no single one does, pairs are tried. A cell is a combination
of values of the first columns of the chain. In each the shares are counted and drawn towards those
of the coarser cell around it, as if that one had shown `_PRIOR_ROWS` more people. A slice in which
everybody has the same value, be it by one column or by several together, becomes nearly certain;
one of few people stays near the shares around it. The classifier beside it adds up what columns say
one by one, and misses such slices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from countveil.maths.adversary.classifier import Codes, Floats32, KnownColumn

Floats = NDArray[np.float64]

_PRIOR_ROWS = 4.0
_MOST_DEPTH, _LEAST_GAIN = 6, 1e-4
_CHOSEN_FROM, _MOST_CANDIDATES, _PAIRED = 40_000, 40, 12
_MOST_NUMBERS = 1 << 23


class Cells:
    """Beliefs about one sensitive column, learnt from the people at `learnt`."""

    def __init__(
        self, columns: Sequence[KnownColumn], truth: Codes, learnt: Codes, shares: Floats
    ) -> None:
        self._truth, self._learnt, self._shares = truth[learnt], learnt, shares
        self.chain = _chain(columns, truth, learnt, shares)
        self._cells: list[Codes] = []
        cell = np.zeros(truth.size, np.int64)
        for place in self.chain:
            cell = _finer(cell, columns[place])
            self._cells.append(cell)

    def beliefs(self, rows: Codes) -> Floats32:
        """Belief in each value (columns) for these people."""
        n_values = self._shares.size
        step = max(1, _MOST_NUMBERS // n_values)
        parts = [self._some(rows[start : start + step]) for start in range(0, rows.size, step)]
        return np.concatenate([np.zeros((0, n_values), np.float32), *parts])

    def _some(self, rows: Codes) -> Floats32:
        belief = np.tile(self._shares.astype(np.float32), (rows.size, 1))
        for cell in self._cells:
            used, place = np.unique(cell[rows], return_inverse=True)
            here = np.minimum(np.searchsorted(used, cell[self._learnt]), used.size - 1)
            inside = used[here] == cell[self._learnt]
            pairs = here[inside] * self._shares.size + self._truth[inside]
            counts = np.bincount(pairs, minlength=used.size * self._shares.size)
            counted = counts.reshape(used.size, -1).astype(np.float32)
            size = counted.sum(axis=1, keepdims=True)
            belief = (counted[place] + _PRIOR_ROWS * belief) / (size[place] + _PRIOR_ROWS)
        return belief


def _finer(cell: Codes, column: KnownColumn) -> Codes:
    codes: Codes = np.unique(cell * column.n_levels + column.codes, return_inverse=True)[1]
    return codes


def _chain(
    columns: Sequence[KnownColumn], truth: Codes, learnt: Codes, shares: Floats
) -> list[int]:
    """The columns, as long as another one makes people who were left aside more likely."""
    some = learnt[:: max(1, learnt.size // _CHOSEN_FROM)]
    aside = np.arange(some.size) % 4 == 0
    kept, left = some[~aside], some[aside]
    if not left.size or not kept.size:
        return []
    varied = [place for place, column in enumerate(columns) if column.n_levels > 1]
    open_places = sorted(varied, key=lambda place: columns[place].n_levels)[:_MOST_CANDIDATES]
    chain: list[int] = []
    cell, likely = np.zeros(truth.size, np.int64), shares[truth[left]]

    def tried(places: tuple[int, ...]) -> Floats:
        finer = cell
        for place in places:
            finer = finer * columns[place].n_levels + columns[place].codes
        return _likely(finer, truth, kept, left, likely, shares.size)

    while open_places and len(chain) < _MOST_DEPTH:
        step, chances, gain = _best([(place,) for place in open_places], tried, likely)
        if gain < _LEAST_GAIN:
            # Two columns may say together what neither says alone.
            step, chances, gain = _best(combinations(open_places[:_PAIRED], 2), tried, likely)
        if gain < _LEAST_GAIN:
            break
        likely = chances
        for place in step:
            chain.append(place)
            open_places.remove(place)
            cell = _finer(cell, columns[place])
    return chain


def _best(
    steps: Iterable[tuple[int, ...]], tried: Callable[[tuple[int, ...]], Floats], likely: Floats
) -> tuple[tuple[int, ...], Floats, float]:
    """The columns that make the people who were left aside most likely, and by how much."""
    best: tuple[tuple[int, ...], Floats, float] = ((), likely, 0.0)
    for step in steps:
        chances = tried(step)
        gain = float(np.log(chances / likely).mean())
        if gain > best[2]:
            best = step, chances, gain
    return best


def _likely(
    cell: Codes, truth: Codes, kept: Codes, left: Codes, coarser: Floats, n_values: int
) -> Floats:
    """How likely the values of the people who were left aside are, by the cells of the others."""
    rows = _times(cell[kept], cell[left])
    hits = _times(cell[kept] * n_values + truth[kept], cell[left] * n_values + truth[left])
    likely: Floats = (hits + _PRIOR_ROWS * coarser) / (rows + _PRIOR_ROWS)
    return likely


def _times(among: Codes, asked: Codes) -> Floats:
    """How often each asked number occurs."""
    ordered = np.sort(among)
    times = np.searchsorted(ordered, asked, "right") - np.searchsorted(ordered, asked, "left")
    return times.astype(np.float64)
