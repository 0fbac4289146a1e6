"""Sensitive values that are too rare to be hidden: what seeing one published is worth.

Enters: how often each value of a sensitive column occurs, and ell. Leaves: a `Fineness` with
figures, and sentences. Must not know: values, columns, how groups are formed.

A row that publishes v truly has it with probability 1/ell, for whoever knew nothing but the
population. Whoever knew more has odds of their own, and what is published multiplies them by

    K = P(publish v | true v) / P(publish v | another) = (N - f) / ((ell - 1) f),

with f the rows that have v: a rare value is published by hardly anybody else. At K = 891 a guess at
1% becomes a belief of 0.9. A guess at 1% is what somebody has who can narrow a person down to a
hundred possibilities: a date of birth when the year and the season are known, a product that such a
customer may have bought. So a value with K of at least 891 is called *too fine*, and a column of
which a tenth of the rows has such values stops a publication.

In a small table K is never that large. There a column is too fine if it has a hundred values or
more, and half of its rows have a value with fewer than five: nothing can be learnt of such values.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.errors import option

GUESS, BELIEVED = 0.01, 0.9
# The odds that lead from the guess to the belief.
MOST_ODDS = BELIEVED / (1 - BELIEVED) * (1 - GUESS) / GUESS
_STOPPING, _NOTEWORTHY = 0.1, 0.01
_LONELY_ROWS, _LONELY_SHARE, _LONELY_VALUES = 5, 0.5, 100


@dataclass(frozen=True, slots=True)
class Fineness:
    """How fine the `values` of a column are, at this `ell`.

    `rows` is the share of rows with a value too fine to protect, which at most `limit` rows have: 0
    if they are not worth a word. `odds` is K of the row in the middle (of these rows, if there are
    any), and `belief` what becomes of a guess at 1%. `stops` says that publishing the column would
    be careless.
    """

    values: int
    ell: int
    rows: float
    limit: int
    odds: float
    belief: float
    stops: bool


def fineness_of(counts: NDArray[np.int64], ell: int) -> Fineness:
    """Measure a column from its histogram."""
    counts = np.sort(counts[counts > 0]).astype(np.float64)
    odds = (counts.sum() - counts) / ((ell - 1) * counts)
    shares = counts / max(counts.sum(), 1)
    rare, lonely = odds >= MOST_ODDS, counts < _LONELY_ROWS
    too_fine = shares[rare].sum() >= _STOPPING
    too_lonely = shares[lonely].sum() >= _LONELY_SHARE and counts.size >= _LONELY_VALUES
    concerned = lonely if too_lonely and not too_fine else rare
    rows = float(counts[concerned].sum() / max(counts.sum(), 1))
    if rows < _NOTEWORTHY:
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
            f"typical row by {fine.odds:,.0f}; who guessed the value at 1% then believes it at "
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
