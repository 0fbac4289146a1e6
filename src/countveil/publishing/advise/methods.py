"""The methods that are possible on a column, side by side: mixed, common values, random groups.

Enters: a histogram, a method, ell, the outcome of a trial. Leaves: `MethodFigures`: a line of the
table of methods that `advise` prints. Must not know: names of values, goals. Theory:
docs/theory/frontier.md.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import design_channel
from countveil.maths.channel.common import (
    Copies,
    beliefs_without_common,
    common_belief,
    eligible_with,
    frequent_values,
    random_belief,
    random_belief_without,
)
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.guarantees.frontier import Standing, least_variance, standing
from countveil.publishing.advise.figures import MOST_DECOMPOSED
from countveil.publishing.advise.trials import Trial

MIXED, COMMON, RANDOM = "mixed", "common", "random"
METHODS = (MIXED, COMMON, RANDOM)
IN_WORDS = {MIXED: "mixed groups", COMMON: "common values", RANDOM: "random groups"}
# Standard errors beside the bound are those of counts among this many rows.
ASKED_ROWS = 1_000
# Neighbouring ells differ little, and each takes a second or more to try out.
_ELLS, _FEWER_ELLS = (2, 3, 5, 8, 10, 15, 20, 30, 50), (2, 5, 10)
_AT_LEAST, _MANY_VALUES = 10, 150

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MethodFigures:
    """One method at one ell.

    `errors`, `predicates` and `hidden_up_to` as in `EllFigures`. `published_belief` is how likely a
    published value is the true one, on average, and `largest_belief` for the value where it is
    highest. `without_common`: in a published value, at most, by somebody who knows that a person
    has no common value (with random groups, none that would be one); None if there are none.
    `mean_belief`: in the true value, by somebody who knows the shares and links a row.
    `error`: the root of the mean variance of the counts of all
    values among 1,000 rows like the table, by the best unbiased estimate; `distance` is how many
    times the least variance at that mean belief it has. None where it takes too long to compute, or
    where there is no unbiased estimate.
    """

    method: str
    ell: int
    errors: Mapping[float, float | None]
    predicates: Mapping[float, int]
    hidden_up_to: int | None
    published_belief: float
    largest_belief: float
    without_common: float | None
    mean_belief: float | None
    error: float | None
    distance: float | None


def settings_of(method: str, ell: int) -> ColumnSettings:
    """As a publisher chooses them."""
    return ColumnSettings(ell, RANDOM if method == RANDOM else MIXED, common_auto=method == COMMON)


def repeating(method: str, counts: Counts, ell: int) -> tuple[int, ...]:
    """The values that may fill several places of a group, by number."""
    return tuple(frequent_values(counts, ell).tolist()) if method == COMMON else ()


def is_possible(method: str, counts: Counts, ell: int) -> bool:
    """Whether a column can be published so; without frequent values, none would be common."""
    if np.count_nonzero(counts) < 2 or 2 * ell > int(counts.sum()):
        return False
    if method == COMMON:
        common = frequent_values(counts, ell)
        return bool(common.size) and eligible_with(counts, ell, common)
    return method == RANDOM or ell <= largest_ell(counts)


def usual_method(counts: Counts, ell: int) -> str:
    """Mixed groups if there are any, else the method that publishes with this ell, or none."""
    if largest_ell(counts) >= 2:
        return MIXED
    return next((m for m in (COMMON, RANDOM) if is_possible(m, counts, ell)), "")


def tried_ells(counts: Counts) -> list[int]:
    """The ells that common values and random groups are tried with."""
    most = max(_AT_LEAST, largest_ell(counts))
    return [ell for ell in (_ELLS if counts.size <= _MANY_VALUES else _FEWER_ELLS) if ell <= most]


def compared(
    counts: Counts,
    mixed: Sequence[tuple[int, Trial | None]],
    others: Sequence[str],
    attempt: Callable[[str, int], Trial | None],
    shares: Sequence[float],
) -> list[MethodFigures]:
    """All methods, ell by ell: mixed groups as they were tried, the `others` tried out now."""
    lines = [method_figures(MIXED, counts, ell, trial, shares) for ell, trial in mixed]
    for method in others:
        for ell in tried_ells(counts):
            if is_possible(method, counts, ell):
                trial = attempt(method, ell)
                lines.append(method_figures(method, counts, ell, trial, shares))
    return sorted(lines, key=lambda line: (line.ell, METHODS.index(line.method)))


def method_figures(
    method: str, counts: Counts, ell: int, trial: Trial | None, shares: Sequence[float]
) -> MethodFigures:
    """Everything about one method at one ell."""
    counts = counts[counts > 0]
    common = repeating(method, counts, ell)
    published, largest, place = _beliefs(method, counts, ell, common)
    known = place is not None and np.isfinite(place.variance)
    variance = place.variance if place is not None and known else None
    measured = {share: trial.error_at(share) if trial else (None, 0) for share in shares}
    return MethodFigures(
        method=method,
        ell=ell,
        errors={share: error for share, (error, _) in measured.items()},
        predicates={share: number for share, (_, number) in measured.items()},
        hidden_up_to=trial.hidden_up_to() if trial else None,
        published_belief=published,
        largest_belief=largest,
        without_common=_without_common(method, counts, ell),
        mean_belief=None if place is None else place.belief,
        error=None if variance is None else (ASKED_ROWS * variance / counts.size) ** 0.5,
        distance=None if place is None or variance is None else place.distance,
    )


def _without_common(method: str, counts: Counts, ell: int) -> float | None:
    """In a published value, at most, by someone who knows that a person has no frequent one."""
    common = frequent_values(counts, ell)
    # Of a single other value nobody needs a release to be certain.
    if method == MIXED or not common.size or counts.size - common.size < 2:
        return None
    if method == COMMON:
        return beliefs_without_common(counts, ell, common)[1]
    others = np.delete(counts, common) / counts.sum()
    return random_belief_without(float(others.max()), 1 - float(others.sum()), ell)


def _beliefs(
    method: str, counts: Counts, ell: int, common: tuple[int, ...]
) -> tuple[float, float, Standing | None]:
    """In the published value, on average and at most, and where the method stands."""
    p = counts / counts.sum()
    if method == RANDOM:
        h = float(p @ p)
        mean = 1 / ell**2 + h * (1 - 1 / ell**2)
        place = Standing(mean, (1 - h) * (ell**2 - 1), least_variance(p, mean))
        return random_belief(h, ell), random_belief(float(p.max()), ell), place
    if counts.size > MOST_DECOMPOSED:
        believed = np.full(p.size, 1 / ell)
        believed[list(common)] = [common_belief(float(share), ell) for share in p[list(common)]]
        return float(p @ believed), float(believed.max()), None
    whole = (
        Copies.of(counts, ell, np.array(common, np.int64)).channel(ell)
        if common
        else design_channel(counts, ell)
    )
    own = np.diag(whole)
    return float(p @ own), float((p * own / (p @ whole)).max()), standing(whole, p)
