"""What a plain column, or two of them, gives away about a sensitive one, on average over all rows.

Enters: columns of a sample as codes (equal values, equal codes, in the order of the values).
Leaves: `Giveaway`s with measured figures. Must not know: what names mean; files, engines. Parts of
the table in which a value is certain are found by `slices.py`.

**How a giveaway is measured.** Guess a row's sensitive value as the most frequent one among the
*other* rows with the same value of the column; where there is no other row, as the most frequent
one of all. The share of right guesses beyond what guessing the most frequent value of all would
give is what the column gives away: 1 for a code beside its name, about 0 for an unrelated column. A
column with many ordered values (a birth date beside an age class) is also tried with its
neighbours: where the rows with the next smaller and the next larger value agree, their value is the
guess.

In a sample of a larger table, a value that occurs once shows nothing; there the share is among the
rows whose value occurs more than once.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Codes = NDArray[np.int64]

STOPPING, NOTEWORTHY = 0.8, 0.5
LEAST_ROWS = 30
_MOST_PAIRED = 16
_PAIR_ROWS = 20_000
_LEAST_ORDERED = 20
_SHORT_TABLE = 8


@dataclass(frozen=True, slots=True)
class Giveaway:
    """One or two columns, the sensitive column, and the share of rows whose value is then known.

    `beyond` is that share beyond guessing: 0 for an unrelated column, 1 for a code beside its name.
    """

    columns: tuple[str, ...]
    sensitive: str
    known: float
    beyond: float

    @property
    def stops(self) -> bool:
        """Whether publishing them together would be careless."""
        return self.beyond >= STOPPING


def giveaway_sentence(giveaway: Giveaway) -> str:
    """A giveaway in words."""
    names = " together with ".join(repr(name) for name in giveaway.columns)
    verb = "gives" if len(giveaway.columns) == 1 else "give"
    return (
        f"{names} {verb} {giveaway.sensitive!r} away: the value of {giveaway.known:.0%} of the "
        f"rows is then known"
    )


def find_giveaways(
    columns: Mapping[str, Codes], sensitive: str, target: Codes, *, sampled: bool = False
) -> list[Giveaway]:
    """Single columns first; pairs only of columns that do not give it away alone."""
    if target.size < LEAST_ROWS:
        return []
    base = _plain_guess(target)[0]
    giveaways, alone = [], {}
    for name, codes in columns.items():
        known = max(known_share(codes, target, sampled=sampled), neighbour_share(codes, target))
        alone[name] = _beyond(known, base)
        if alone[name] >= NOTEWORTHY:
            giveaways.append(Giveaway((name,), sensitive, known, alone[name]))
    paired = _worth_pairing(columns, [name for name in columns if alone[name] < NOTEWORTHY])
    rows = slice(0, None, max(1, target.size // _PAIR_ROWS))
    sampled = sampled or rows.step > 1
    for one, two in itertools.combinations(paired, 2):
        first, second = columns[one][rows], columns[two][rows]
        joint = first * (int(second.max(initial=0)) + 1) + second
        known = known_share(joint, target[rows], sampled=sampled)
        beyond = _beyond(known, base)
        # A pair counts only if it gives away more than each column alone.
        if beyond >= NOTEWORTHY and beyond > max(alone[one], alone[two]) + 0.1:
            giveaways.append(Giveaway((one, two), sensitive, known, beyond))
    return sorted(giveaways, key=lambda giveaway: -giveaway.beyond)


def known_share(codes: Codes, target: Codes, *, sampled: bool = False) -> float:
    """The share of right guesses from the other rows with the same code."""
    most_frequent = _plain_guess(target)[1]
    n_values = int(target.max(initial=0)) + 1
    cells, counts = _counted(codes * n_values + target)
    group = np.cumsum(np.diff(cells // n_values, prepend=-1) != 0) - 1
    order = np.lexsort((-counts, group))
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    top = counts[order][starts]
    second = np.zeros(starts.size, np.int64)
    several = np.diff(np.append(starts, cells.size)) > 1
    second[several] = counts[order][starts[several] + 1]
    size = np.bincount(group, counts).astype(np.int64)
    # The row's value must lead even when the row itself is left out.
    right = int(top[top - 1 > second].sum())
    lonely = cells[(size == 1)[group]] % n_values
    if not sampled:
        return (right + int((lonely == most_frequent).sum())) / target.size
    covered = target.size - lonely.size
    return right / covered if covered >= max(200, 0.005 * target.size) else 0.0


def neighbour_share(codes: Codes, target: Codes) -> float:
    """The share of right guesses from the next smaller and the next larger value of the column."""
    n_values = int(target.max(initial=0)) + 1
    cells, counts = _counted(codes * n_values + target)
    places = cells // n_values
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    if starts.size < _LEAST_ORDERED:
        return 0.0
    # The most frequent target of every value of the column, in the order of the column.
    order = np.lexsort((-counts, places))
    usual = (cells % n_values)[order][starts]
    guess = np.full(starts.size, -1)
    guess[1:-1] = np.where(usual[:-2] == usual[2:], usual[:-2], -1)
    place = np.cumsum(np.diff(places, prepend=-1) != 0) - 1
    right = counts[guess[place] == cells % n_values].sum()
    return float(right / target.size)


def _counted(cells: Codes) -> tuple[Codes, Codes]:
    """The different numbers in rising order, and how often each occurs."""
    if int(cells.max(initial=0)) > _SHORT_TABLE * cells.size:
        return np.unique(cells, return_counts=True)
    # Counting every possible number is quicker than sorting those that occur.
    counts = np.bincount(cells)
    present = np.flatnonzero(counts)
    return present, counts[present]


def _worth_pairing(columns: Mapping[str, Codes], harmless: Sequence[str]) -> list[str]:
    """Columns with the most values first: they reveal the most."""
    by_values = sorted(harmless, key=lambda name: -int(columns[name].max(initial=0)))
    return by_values[:_MOST_PAIRED]


def _plain_guess(target: Codes) -> tuple[float, int]:
    counts = np.bincount(target)
    top = int(np.argmax(counts))
    return float(counts[top] / target.size), top


def _beyond(share: float, base: float) -> float:
    return max(0.0, (share - base) / (1 - base)) if base < 1 else 0.0
