"""Parts of the table in which a sensitive value is nearly certain, however unsure it is elsewhere.

Enters: a sample of the table as codes, the plain and the sensitive columns. Leaves:
`SliceGiveaway`s: one or two plain columns, the values of them that make a sensitive value nearly
certain, the share of rows concerned. Must not know: files, engines, how anything is published.

    slice        the rows with one value of a plain column, or with one value of each of two
    certain      nearly all rows of the slice have the same sensitive value, and most others do not

**Chance is not a finding.** Of thousands of slices, some with few rows agree by chance. A slice
counts only if the share of its most frequent value is at least 0.9 *with confidence*: the lower
bound of the share (Chernoff) at an error of 0.001 for all slices and values looked at together
(Bonferroni). A slice in which all rows agree needs some 120 to 200 rows for that; smaller ones are
not looked at. The bound must also lie most of the way (0.8) from the value's share in the whole
table to certainty: what nearly everybody has is no news.

**Bounded work.** Single values of up to 60 columns; pairs of the 16 columns that say most about the
sensitive one, in 20,000 rows, of values that are not certain alone, and only where the pair adds a
tenth to what each of the two says.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.publishing.safety.patterns import looks_missing
from countveil.tables.encoded.survey import CodedColumn

Codes = NDArray[np.int64]

# What stops: nearly everybody of a twentieth of the table. What is worth a warning: a hundredth.
_STOPPING_ROWS, _STOPPING_BELIEF = 0.05, 0.99
_NOTEWORTHY_ROWS, _NOTEWORTHY_BELIEF = 0.01, 0.95
_LEAST_BOUND, _LEAST_BEYOND, _LEAST_GAIN = 0.9, 0.8, 0.2
_ERROR = 0.001
_MOST_COLUMNS, _MOST_PAIRED, _PAIR_ROWS = 60, 16, 20_000
_MOST_CELLS = 2_000_000
_PAIR_ADDS = 0.1
# Marks of a missing value that may also be an answer: no medication, none.
_MEANT = {"none", "None", "NONE", "nil", "-", "--", "."}


@dataclass(frozen=True, slots=True)
class Slice:
    """The rows that meet a condition, most of which have the same sensitive value.

    Attributes:
        where: Plain columns and their values, for the publisher alone: a hundred rows or more have
            each.
        missing: Whether the value is none at all.
        rows: Their share of the table.
        belief: How many of them have the value.
        usual: The share of this value in the whole table.
    """

    where: tuple[tuple[str, Any], ...]
    missing: bool
    rows: float
    belief: float
    usual: float


@dataclass(frozen=True, slots=True)
class SliceGiveaway:
    """The slices of one or two columns that make a sensitive value nearly certain.

    Attributes:
        columns: The plain columns.
        sensitive: The sensitive column.
        rows: The share of the table in them.
        belief: How many of these have the value expected.
        slices: The slices.
    """

    columns: tuple[str, ...]
    sensitive: str
    rows: float
    belief: float
    slices: tuple[Slice, ...]

    @property
    def stops(self) -> bool:
        """Whether publishing them together would be careless.

        That a value is missing is a lesser secret: it is a warning.
        """
        known = [one for one in self.slices if not one.missing]
        rows = sum(one.rows for one in known)
        if rows < _STOPPING_ROWS:
            return False
        return sum(one.rows * one.belief for one in known) / rows >= _STOPPING_BELIEF

    @property
    def noteworthy(self) -> bool:
        """Whether it is worth a sentence."""
        return self.rows >= _NOTEWORTHY_ROWS and self.belief >= _NOTEWORTHY_BELIEF


@dataclass(frozen=True, slots=True)
class _Cells:
    """By cell of a partition of the rows: its rows, its most frequent target, and how often."""

    rows: Codes
    top: Codes
    times: Codes

    @property
    def share(self) -> NDArray[np.float64]:
        shares: NDArray[np.float64] = self.times / np.maximum(self.rows, 1)
        return shares


def slice_sentence(giveaway: SliceGiveaway) -> str:
    """In words that quote no value."""
    names = " with ".join(repr(name) for name in giveaway.columns)
    usual = sum(one.usual * one.rows for one in giveaway.slices) / giveaway.rows
    return (
        f"some values of {names} make {giveaway.sensitive!r} nearly certain: {giveaway.rows:.1%} "
        f"of the rows have them, and {giveaway.belief:.1%} of these have the value to be "
        f"expected (of all rows, {usual:.0%})"
    )


def find_slices(
    columns: Mapping[str, CodedColumn],
    sensitive: str,
    target: CodedColumn,
    *,
    with_values: bool = True,
) -> list[SliceGiveaway]:
    """What is noteworthy, the most rows first."""
    singles = _Search(sensitive, target, slice(None))
    names = list(columns)[:_MOST_COLUMNS]
    cells = {
        name: counted
        for name in names
        if (counted := singles.cells(columns[name].codes, _size(columns[name]))) is not None
    }
    certain = singles.certain(cells)
    giveaways = [
        singles.giveaway((name,), columns, np.flatnonzero(places), cells[name])
        for name, places in certain.items()
        if places.any()
    ]
    # Only those that say most about the target are paired.
    gains = {name: singles.gain(counted) for name, counted in cells.items()}
    paired = set(sorted(cells, key=lambda name: -gains[name])[:_MOST_PAIRED])
    giveaways += _pairs(columns, sensitive, target, {n: certain[n] for n in cells if n in paired})
    noteworthy = sorted((one for one in giveaways if one.noteworthy), key=lambda one: -one.rows)
    return noteworthy if with_values else [_without_values(one) for one in noteworthy]


def _without_values(giveaway: SliceGiveaway) -> SliceGiveaway:
    slices = [
        replace(one, where=tuple((name, ...) for name, _ in one.where)) for one in giveaway.slices
    ]
    return replace(giveaway, slices=tuple(slices))


def _pairs(
    columns: Mapping[str, CodedColumn],
    sensitive: str,
    target: CodedColumn,
    certain: Mapping[str, NDArray[np.bool_]],
) -> list[SliceGiveaway]:
    rows = slice(0, None, max(1, target.codes.size // _PAIR_ROWS))
    search = _Search(sensitive, target, rows)
    codes = {name: columns[name].codes[rows] for name in certain}
    alone = {name: search.cells(codes[name], _size(columns[name])) for name in certain}
    cells = {}
    for one, two in itertools.combinations(certain, 2):
        width = _size(columns[two])
        counted = search.cells(codes[one] * width + codes[two], _size(columns[one]) * width)
        if counted is not None:
            cells[one, two] = counted
    giveaways = []
    for (one, two), places in search.certain(cells).items():
        counted, ones, twos = cells[one, two], *divmod(np.flatnonzero(places), _size(columns[two]))
        top, share = counted.top[places], counted.share[places]
        adds = ~certain[one][ones] & ~certain[two][twos]
        for parent, within in ((alone[one], ones), (alone[two], twos)):
            if parent is not None:
                same = parent.top[within] == top
                adds &= ~same | (share > parent.share[within] + _PAIR_ADDS)
        if adds.any():
            giveaways.append(
                search.giveaway((one, two), columns, np.flatnonzero(places)[adds], counted)
            )
    return giveaways


class _Search:
    """Slices of some rows of the table, judged together."""

    def __init__(self, sensitive: str, target: CodedColumn, rows: slice) -> None:
        self._sensitive, self._nothing = sensitive, _codes_of_nothing(target)
        self._target, self._n_values = target.codes[rows], _size(target)
        counts = np.bincount(target.codes, minlength=self._n_values)
        self._usual = counts / max(target.codes.size, 1)

    def cells(self, codes: Codes, n_cells: int) -> _Cells | None:
        """The most frequent target of every cell; None if there are too many to look at."""
        if not codes.size or n_cells > _MOST_CELLS:
            return None
        if n_cells * self._n_values <= _MOST_CELLS:
            return self._counted(codes, self._target, n_cells)
        # Most cells are too small to matter: only the large are counted.
        rows = np.bincount(codes, minlength=n_cells)
        large = np.flatnonzero(rows >= self._least_rows(1))
        if not large.size or large.size * self._n_values > _MOST_CELLS:
            return None
        place = np.full(n_cells, -1)
        place[large] = np.arange(large.size)
        inside = place[codes] >= 0
        few = self._counted(place[codes[inside]], self._target[inside], large.size)
        top, times = np.zeros(n_cells, np.int64), np.zeros(n_cells, np.int64)
        top[large], times[large] = few.top, few.times
        return _Cells(rows, top, times)

    def _counted(self, codes: Codes, target: Codes, n_cells: int) -> _Cells:
        counts = np.bincount(codes * self._n_values + target, minlength=n_cells * self._n_values)
        table = counts.reshape(n_cells, self._n_values)
        top = table.argmax(axis=1)
        return _Cells(table.sum(axis=1), top, table[np.arange(n_cells), top])

    def gain(self, cells: _Cells) -> float:
        """How many more rows are guessed right, knowing the cell."""
        return float(cells.times.sum() - self._usual.max(initial=0) * cells.rows.sum())

    def certain(self, cells: Mapping[Any, _Cells]) -> dict[Any, NDArray[np.bool_]]:
        """By partition, the cells in which a value is certain beyond chance."""
        least = self._least_rows(1)
        looked_at = sum(int((counted.rows >= least).sum()) for counted in cells.values())
        doubt = self._doubt(looked_at)
        certain_cells = {}
        for key, counted in cells.items():
            certain_cells[key] = np.zeros(counted.rows.size, bool)
            large = np.flatnonzero(counted.rows >= self._least_rows(looked_at))
            share, usual = counted.share[large], self._usual[counted.top[large]]
            needed = np.maximum(_LEAST_BOUND, usual + _LEAST_BEYOND * (1 - usual))
            good = is_above(share, counted.rows[large], needed, doubt)
            certain_cells[key][large[good & (share - usual >= _LEAST_GAIN)]] = True
        return certain_cells

    def _doubt(self, looked_at: int) -> float:
        """The logarithm of how rarely a single slice may mislead."""
        return float(np.log(max(looked_at, 1) * self._n_values / _ERROR))

    def _least_rows(self, looked_at: int) -> int:
        """Below this many rows, even full agreement would not be certain."""
        return int(np.ceil(self._doubt(looked_at) / -np.log(_LEAST_BOUND)))

    def giveaway(
        self,
        names: tuple[str, ...],
        columns: Mapping[str, CodedColumn],
        places: Codes,
        cells: _Cells,
    ) -> SliceGiveaway:
        """The certain cells of one partition, the largest first."""
        order = places[np.argsort(-cells.rows[places], kind="stable")].tolist()
        slices = []
        for place in order:
            codes = [place] if len(names) == 1 else list(divmod(place, _size(columns[names[1]])))
            where = tuple(
                (name, _value_at(columns[name], code))
                for name, code in zip(names, codes, strict=True)
            )
            top = int(cells.top[place])
            slices.append(
                Slice(
                    where,
                    top in self._nothing,
                    float(cells.rows[place] / self._target.size),
                    float(cells.share[place]),
                    float(self._usual[top]),
                )
            )
        rows = float(cells.rows[places].sum())
        belief = float(cells.times[places].sum()) / rows
        return SliceGiveaway(
            names, self._sensitive, rows / self._target.size, belief, tuple(slices)
        )


def is_above(
    share: NDArray[np.float64],
    rows: Codes,
    needed: NDArray[np.float64],
    doubt: float,
) -> NDArray[np.bool_]:
    """Whether such shares would have a probability below exp(-doubt) if the true ones were lower.

    By Chernoff: at least k of n have the value with probability at most exp(-n D(k/n | needed)).
    """

    def part(p: NDArray[np.float64], q: NDArray[np.float64]) -> NDArray[np.float64]:
        tiny = 1e-300
        return np.where(p > 0, p * np.log(np.maximum(p, tiny) / np.maximum(q, tiny)), 0.0)

    divergence = part(share, needed) + part(1 - share, 1 - needed)
    return np.asarray((share > needed) & (rows * divergence >= doubt))


def _value_at(column: CodedColumn, code: int) -> Any:
    """The value of a code: None for a missing one; an ellipsis where a sample has not kept it."""
    place = code - int(column.missing > 0)
    if place < 0:
        return None
    kept: Sequence[Any] = column.examples
    return kept[place] if column.distinct == len(kept) else ...


def _codes_of_nothing(column: CodedColumn) -> set[int]:
    """The codes of a missing value, and of texts that can only mean one."""
    first = int(column.missing > 0)
    nothing = {0} if first else set()
    if column.distinct == len(column.examples):
        marks = set(looks_missing(column.examples)) - _MEANT
        nothing |= {first + place for place, v in enumerate(column.examples) if v in marks}
    return nothing


def _size(column: CodedColumn) -> int:
    return int(column.codes.max(initial=0)) + 1
