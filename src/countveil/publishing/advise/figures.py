"""What one ell means for one column.

Enters: a histogram, ell, the outcome of a trial. Leaves: an `EllFigures`: a line of the table that
`advise` prints. Must not know: names of values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import design_channel
from countveil.maths.guarantees import odds_factor
from countveil.publishing.advise.trials import Trial

SHARES = (0.001, 0.005, 0.01, 0.05)
# Decomposing a larger matrix takes seconds.
MOST_DECOMPOSED = 700


@dataclass(frozen=True, slots=True)
class EllFigures:
    """One ell: how much a single row reveals, expected errors of counts, what stays hidden.

    Attributes:
        ell: The ell.
        odds_rarest: By how much a published value multiplies the odds of a guess, for the rarest.
        odds_median: The same for the value of the row in the middle.
        odds_most_frequent: The same for the most frequent value.
        errors: The mean relative error of counts by their share of the table; None where the table
            has none of that size.
        predicates: On how many predicates each error rests.
        hidden_up_to: The largest count that stays hidden.
        condition: The condition number of the channel.
        candidates: Among how many values the true one hides, for half of the rows.
    """

    ell: int
    odds_rarest: float
    odds_median: float
    odds_most_frequent: float
    errors: Mapping[float, float | None]
    predicates: Mapping[float, int]
    hidden_up_to: int | None
    condition: float | None
    candidates: float | None


def share_text(share: float) -> str:
    """A share as people write it: 0.5%."""
    return f"{100 * share:.4g}%"


def figures_of(
    counts: NDArray[np.int64], ell: int, trial: Trial | None, shares: Sequence[float]
) -> EllFigures:
    """Everything about one ell."""
    known = np.sort(counts[counts > 0]) / counts.sum()
    odds = [odds_factor(float(known[place]), ell) for place in (0, known.size // 2, -1)]
    condition, candidates = _channel_figures(counts[counts > 0], ell)
    measured = {share: trial.error_at(share) if trial else (None, 0) for share in shares}
    return EllFigures(
        ell=ell,
        odds_rarest=odds[0],
        odds_median=odds[1],
        odds_most_frequent=odds[2],
        errors={share: error for share, (error, _) in measured.items()},
        predicates={share: number for share, (_, number) in measured.items()},
        hidden_up_to=trial.hidden_up_to() if trial else None,
        condition=condition,
        candidates=candidates,
    )


def _channel_figures(counts: NDArray[np.int64], ell: int) -> tuple[float | None, float | None]:
    """The condition of W, and among how many values the true one hides for half of the rows."""
    if counts.size > MOST_DECOMPOSED:
        return None, None
    channel = design_channel(counts, ell)
    condition = float(np.linalg.cond(channel))
    joint = channel * counts[:, None]
    published = joint.sum(axis=0)
    posterior = joint / published
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(posterior > 0, posterior * np.log(posterior), 0.0)
    candidates = np.exp(-terms.sum(axis=0))
    order = np.argsort(candidates)
    reached = np.cumsum(published[order])
    middle = order[np.searchsorted(reached, reached[-1] / 2)]
    return condition, float(candidates[middle])
