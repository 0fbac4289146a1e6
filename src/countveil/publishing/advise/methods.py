"""The methods that are possible on a column, side by side: mixed, common values, random groups.

Enters: a histogram, a method, ell, the outcome of a trial. Leaves: `MethodFigures`: a line of the
table of methods that `advise` prints. Must not know: names of values, goals. Theory:
docs/theory/frontier.md.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countveil.errors import IneligibleError, SettingsError, option
from countveil.maths.channel.common import (
    beliefs_without_common,
    common_belief,
    eligible_with,
    frequent_values,
    random_belief,
    random_belief_without,
)
from countveil.maths.channel.whole import expected_after, whole_channel
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.guarantees.frontier import Standing, least_variance, standing
from countveil.maths.guarantees.odds import epsilon_of
from countveil.publishing.advise.figures import MOST_DECOMPOSED
from countveil.publishing.advise.trials import Trial

MIXED, COMMON, RANDOM = "mixed", "common", "random"
METHODS = (MIXED, COMMON, RANDOM)
# The same after noise that bounds the odds.
_BOUNDED = " after noise"
BOUNDED = tuple(f"{method}{_BOUNDED}" for method in METHODS)
IN_WORDS = {MIXED: "mixed groups", COMMON: "common values", RANDOM: "random groups"}
IN_WORDS |= {f"{method}{_BOUNDED}": f"{words} after noise" for method, words in IN_WORDS.items()}
# Standard errors beside the bound are those of counts among this many rows.
ASKED_ROWS = 1_000
# Neighbouring ells differ little, and each takes a second or more to try out.
_ELLS, _FEWER_ELLS = (2, 3, 5, 8, 10, 15, 20, 30, 50), (2, 5, 10)
_AT_LEAST, _MANY_VALUES = 10, 150

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class MethodFigures:
    """One method at one ell.

    Attributes:
        method: The method.
        ell: The ell.
        errors: The mean relative error of counts by their share of the table.
        predicates: On how many predicates each error rests.
        hidden_up_to: The largest count that stays hidden.
        published_belief: How likely a published value is the true one, on average.
        largest_belief: The same for the value where it is highest.
        without_common: The belief in a published value, at most, by somebody who knows that a
            person has no common value (with random groups, none that would be one); None if there
            are none.
        mean_belief: In the true value, by somebody who knows the shares and links a row.
        error: The root of the mean variance of the counts of all values among 1,000 rows like the
            table, by the best unbiased estimate. None where it takes too long to compute, or where
            there is no unbiased estimate.
        distance: How many times the least variance at that mean belief it has; None likewise.
        odds: The bound K that noise before the groups keeps; None without noise.
        gamma: With which probability a row takes a declared value at random; None without noise.
        epsilon: That of local differential privacy in the value of a row; None without noise.
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
    odds: float | None = None
    gamma: float | None = None
    epsilon: float | None = None


def groups_of(method: str) -> str:
    """`mixed`, `common` or `random`, with noise or without."""
    return method.removesuffix(_BOUNDED)


def settings_of(method: str, ell: int, odds: float | None = None) -> ColumnSettings:
    """As a publisher chooses them."""
    groups = groups_of(method)
    bound = odds if method in BOUNDED else None
    random = RANDOM if groups == RANDOM else MIXED
    return ColumnSettings(ell, random, common_auto=groups == COMMON, odds=bound)


def noise_of(method: str, ell: int, odds: float | None, values: int) -> float | None:
    """Gamma of a method that bounds the odds; None if no noise keeps the bound at this ell."""
    if method not in BOUNDED or odds is None:
        return 0.0
    from countveil.publishing.bounded_odds import gamma_of

    try:
        return gamma_of(settings_of(method, ell, odds), values)
    except SettingsError:
        return None


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
    mixed: Iterable[tuple[int, Trial | None]],
    others: Sequence[str],
    attempt: Callable[[str, int], Trial | None],
    shares: Sequence[float],
    bound: Bound | None = None,
    measured: Callable[[MethodFigures], None] = lambda _figures: None,
) -> list[MethodFigures]:
    """All methods, ell by ell: mixed groups as they were tried, the `others` tried out now.

    With a `bound` on the odds they are tried with noise too. Each is `measured` when it is known.
    """
    lines: list[MethodFigures] = []

    def add(line: MethodFigures) -> None:
        lines.append(line)
        measured(line)

    for ell, trial in mixed:
        add(method_figures(MIXED, counts, ell, trial, shares))
    for method in others:
        for ell in tried_ells(counts):
            if is_possible(method, counts, ell):
                add(method_figures(method, counts, ell, attempt(method, ell), shares))
    for method in BOUNDED if bound is not None else ():
        for ell in tried_ells(counts):
            bounded = None if bound is None else bound.figures(method, counts, ell, attempt, shares)
            if bounded is not None:
                add(bounded)
    order = (*METHODS, *BOUNDED)
    return sorted(lines, key=lambda line: (line.ell, order.index(line.method)))


@dataclass(frozen=True, slots=True)
class Bound:
    """A bound K on the odds, for a column with so many declared values."""

    odds: float
    values: int

    def declared(self, counts: Counts) -> Counts:
        """The counts of all declared values; those that nobody has come last."""
        return np.append(counts, np.zeros(max(0, self.values - counts.size), np.int64))

    def figures(
        self,
        method: str,
        counts: Counts,
        ell: int,
        attempt: Callable[[str, int], Trial | None],
        shares: Sequence[float],
    ) -> MethodFigures | None:
        """One method after noise at one ell; None if it is not possible."""
        whole = self.declared(counts)
        gamma = noise_of(method, ell, self.odds, whole.size)
        if gamma is None or not is_possible(groups_of(method), expected_after(whole, gamma), ell):
            return None
        try:
            trial = attempt(method, ell)
        except (IneligibleError, SettingsError, ValueError):
            # The noise left a value too frequent, by chance.
            return None
        line = method_figures(method, whole, ell, trial, shares, gamma)
        epsilon = epsilon_of(gamma, whole.size)
        return replace(line, odds=self.odds, gamma=gamma, epsilon=epsilon)


def method_figures(
    method: str,
    counts: Counts,
    ell: int,
    trial: Trial | None,
    shares: Sequence[float],
    gamma: float = 0.0,
) -> MethodFigures:
    """Everything about one method at one ell; with noise, `counts` are those of all values."""
    if gamma:
        published, largest, place = _beliefs_after_noise(groups_of(method), counts, ell, gamma)
    else:
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
        without_common=None if gamma else _without_common(method, counts, ell),
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
    return _of_channel(whole_channel(counts, ell, common=common), p)


def _beliefs_after_noise(
    groups: str, counts: Counts, ell: int, gamma: float
) -> tuple[float, float, Standing | None]:
    """The same where noise came first, in true values; some of them nobody may have."""
    p, noised = counts / counts.sum(), expected_after(counts, gamma)
    if counts.size > MOST_DECOMPOSED:
        kept = 1 - gamma + gamma / counts.size
        return kept / ell, kept, None
    common = repeating(groups, noised, ell)
    method = RANDOM if groups == RANDOM else MIXED
    return _of_channel(whole_channel(counts, ell, method, common, gamma), p)


def _of_channel(
    whole: NDArray[np.float64], p: NDArray[np.float64]
) -> tuple[float, float, Standing]:
    keeps = np.diag(whole)
    return float(p @ keeps), float((p * keeps / (p @ whole)).max()), standing(whole, p)


def chosen_methods(
    groups: str | None, common: Mapping[str, object] | str | None
) -> tuple[str, ...]:
    """The methods that are compared: all, or the one that was asked for."""
    if groups not in (None, MIXED, RANDOM):
        raise SettingsError(
            f"Only mixed and random groups are compared, and common values; got {groups!r}."
        )
    if common is None:
        return METHODS if groups is None else (groups,)
    if isinstance(common, str) and common != "auto":
        raise SettingsError(
            f"Advice is about the frequent values of a column as common ones: write "
            f"{option('common', 'auto')}. Got {common!r}."
        )
    if groups == RANDOM:
        raise SettingsError(
            f"Common values are for mixed groups; with random groups leave {option('common')} out."
        )
    return (COMMON,)
