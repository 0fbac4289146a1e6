"""What gives sensitive values away over all rows: plain columns, and values too rare to be hidden.

Enters: columns of a sample as codes (equal values, equal codes, in the order of the values); the
histogram of a sensitive column, and ell. Leaves: `Giveaway`s and `Fineness` with measured figures,
and sentences. Must not know: what names mean; values, files, engines, how groups are formed. Parts
of the table in which a value is certain are found by `slices.py`.

**How a giveaway is measured.** Guess a row's sensitive value as the most frequent one among the
*other* rows with the same value of the column; where there is no other row, as the most frequent
one of all. The share of right guesses beyond what guessing the most frequent value of all would
give is what the column gives away: 1 for a code beside its name, about 0 for an unrelated column. A
column with many ordered values (a birth date beside an age class) is also tried with its
neighbours: where the rows with the next smaller and the next larger value agree, their value is the
guess. In a sample of a larger table, a value that occurs once shows nothing; there the share is
among the rows whose value occurs more than once.

**What seeing a rare value is worth.** A row that publishes v truly has it with probability 1/ell,
for whoever knew nothing but the population. Whoever knew more has odds of their own, and what is
published multiplies them by

    K = P(publish v | true v) / P(publish v | another) = (N - f) / ((ell - 1) f),

with f the rows that have v: a rare value is published by hardly anybody else. At K = 891 a guess at
1% becomes a belief of 0.9. A guess at 1% is what somebody has who can narrow a person down to a
hundred possibilities: a date of birth when the year and the season are known, a product that such a
customer may have bought. So a value with K of at least 891 is called *too fine*, and a column of
which a tenth of the rows has such values stops a publication. In a small table K is never that
large. There a column is too fine if it has a hundred values or more, and half of its rows have a
value with fewer than five: nothing can be learnt of such values.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.errors import option

Codes = NDArray[np.int64]

STOPPING, NOTEWORTHY = 0.8, 0.5
LEAST_ROWS = 30
_MOST_PAIRED = 16
_PAIR_ROWS = 20_000
_LEAST_ORDERED = 20
_SHORT_TABLE = 8
# Smaller factors are said with a digit after the point.
_ROUNDED_FROM = 2

GUESS, BELIEVED = 0.01, 0.9
# The odds that lead from the guess to the belief.
MOST_ODDS = BELIEVED / (1 - BELIEVED) * (1 - GUESS) / GUESS
_STOPPING_ROWS, _NOTEWORTHY_ROWS = 0.1, 0.01
_LONELY_ROWS, _LONELY_SHARE, _LONELY_VALUES = 5, 0.5, 100


@dataclass(frozen=True, slots=True)
class Giveaway:
    """One or two plain columns from which a sensitive value is nearly known.

    Attributes:
        columns: The plain columns.
        sensitive: The sensitive column.
        known: The share of rows whose value is known from them.
        beyond: That share beyond guessing: 0 for an unrelated column, 1 for a code beside its name.
    """

    columns: tuple[str, ...]
    sensitive: str
    known: float
    beyond: float

    @property
    def stops(self) -> bool:
        """Whether publishing them together would be careless."""
        return self.beyond >= STOPPING


@dataclass(frozen=True, slots=True)
class Fineness:
    """How fine the values of a column are.

    Attributes:
        values: How many values there are.
        ell: The ell that it is about.
        rows: The share of rows with a value too fine to protect; 0 if they are not worth a word.
        limit: How many rows have such a value at most.
        odds: By how much a published value multiplies the odds of a guess, for the row in the
            middle (of these rows, if there are any).
        belief: What becomes of a guess at 1%.
        stops: Whether publishing the column would be careless.
    """

    values: int
    ell: int
    rows: float
    limit: int
    odds: float
    belief: float
    stops: bool


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


def fineness_of(counts: NDArray[np.int64], ell: int) -> Fineness:
    """Measure a column from its histogram."""
    counts = np.sort(counts[counts > 0]).astype(np.float64)
    shares = counts / max(counts.sum(), 1)
    # What is too frequent for groups of different values repeats in its groups.
    repeats = counts * ell > counts.sum()
    odds = repeats + (counts.sum() - np.where(repeats, 0, counts)) / ((ell - 1) * counts)
    rare, lonely = odds >= MOST_ODDS, counts < _LONELY_ROWS
    too_fine = shares[rare].sum() >= _STOPPING_ROWS
    too_lonely = shares[lonely].sum() >= _LONELY_SHARE and counts.size >= _LONELY_VALUES
    concerned = lonely if too_lonely and not too_fine else rare
    rows = float(counts[concerned].sum() / max(counts.sum(), 1))
    if rows < _NOTEWORTHY_ROWS:
        rows, concerned = 0.0, np.ones(counts.size, bool)
    reached = np.cumsum(shares[concerned])
    middle = int(np.searchsorted(reached, reached[-1] / 2)) if counts.size else 0
    factor = float(odds[concerned][middle]) if counts.size else 1.0
    return Fineness(
        values=int(counts.size),
        ell=ell,
        rows=rows,
        limit=int(counts[concerned].max(initial=0)) if rows else 0,
        odds=factor,
        belief=believed(factor),
        stops=bool(too_fine or too_lonely),
    )


def believed(odds: float, guess: float = GUESS) -> float:
    """What a guess becomes when its odds are multiplied."""
    after = odds * guess / (1 - guess)
    return after / (1 + after)


def fineness_sentence(name: str, fine: Fineness) -> str:
    """The figures in words: for a value in the middle, or for those that are too fine."""
    if not fine.rows:
        return (
            f"{name!r} at ell {fine.ell}: seeing its value published multiplies the odds of a "
            f"typical row by {_factor(fine.odds)}; who guessed the value at 1% then believes it at "
            f"{fine.belief:.2f}"
        )
    what = f"{name!r} is" if fine.stops else f"{name!r} is in part"
    each = f"{fine.limit:,} rows" if fine.limit > 1 else "one row"
    return (
        f"{what} too fine to protect: {fine.rows:.0%} of the rows have one of its {fine.values:,} "
        f"values that occur in {each} at most. At ell {fine.ell}, seeing such a value published "
        f"multiplies its odds by {fine.odds:,.0f} in the typical case: who guessed it at 1% then "
        f"believes it at {fine.belief:.2f}"
    )


def about_odds(fineness: Mapping[str, Fineness], repeating: Sequence[str]) -> list[str]:
    """What seeing a value published is worth; where values may repeat, the statement says it."""
    return [
        f"{fineness_sentence(name, fine)}."
        for name, fine in fineness.items()
        if name not in repeating
    ]


def _factor(odds: float) -> str:
    return f"{odds:,.0f}" if odds >= _ROUNDED_FROM else f"{odds:.1f}"


def fine_remedy(names: Sequence[str]) -> str:
    """What can be done with columns that are too fine."""
    kept = " and ".join(option("keep", name) for name in names)
    return (
        f"What is too fine can be merged ({option('merge', {names[0]: 'rare:50'})}), put into "
        f"classes ({option('bins')}), or published as it is, if you have made sure that it harms "
        f"nobody ({kept})."
    )


def check_fine(
    fineness: Mapping[str, Fineness], keep: Collection[str]
) -> tuple[dict[str, str], list[str]]:
    """By column, what stops; and what is worth a warning. What is kept on purpose is neither."""
    sentences = {
        name: fineness_sentence(name, fine)
        for name, fine in fineness.items()
        if fine.rows and name not in keep
    }
    stops = {name: text for name, text in sentences.items() if fineness[name].stops}
    return stops, [text for name, text in sentences.items() if name not in stops]
