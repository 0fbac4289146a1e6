"""Two protected columns apart and together, at several ells, and which way to take.

Enters: the codes of both, predicates, the goals. Leaves: a `PairAdvice`. Must not know: how an
engine reads, how figures are shown.

Of the ways that meet the goals the one is taken that leaves the least mean belief in the true pair;
if none does, the more accurate one. Without a goal, columns that are not associated stay apart.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from countveil.maths.groups import ColumnSettings
from countveil.publishing.advise.figures import MOST_DECOMPOSED, SHARES, share_text
from countveil.publishing.advise.methods import ASKED_ROWS, COMMON, RANDOM
from countveil.publishing.advise.pairs.association import (
    PairFigures,
    WayFigures,
    figures_of_pair,
    settings_that_work,
)
from countveil.publishing.advise.pairs.trials import PairTask, try_apart, try_together
from countveil.publishing.advise.recommend import (
    TRIED,
    Goal,
    Recommendation,
    meets,
    recommend,
    usual_goal,
)
from countveil.publishing.advise.trials import Trial
from countveil.randomness import Randomness
from countveil.tables.progress import Progress

APART, TOGETHER = "apart", "together"
WAYS = (APART, TOGETHER)
# Neighbouring ells differ little, and each takes seconds to try out.
_ELLS = (2, 3, 5, 8)
# Hardly any pair has a larger share of a table.
_SHARES = SHARES[:-1]
# Pairs of values that are estimated; of more, only what follows from shares is known.
_MOST_CELLS = 40_000


@dataclass(frozen=True, slots=True)
class PairLine:
    """One way to publish two columns at one ell.

    Attributes:
        way: `apart` or `together`.
        ell: The ell.
        groups: How the groups of each column are formed.
        errors: The mean relative error of counts of pairs by their share of the table; None where
            there are none of that size.
        predicates: On how many predicates each error rests.
        hidden_up_to: The largest count of a pair that stays hidden.
        mean_belief: In the true pair of values of a linked row, on average.
        largest_belief: In a published pair, where it is highest.
        believed: In the true value of each column, on average.
        above: The share of rows about which a value of each column is believed half as much again
            as the column alone allows.
        error: The root of the mean variance of unbiased counts of all pairs, among 1,000 rows like
            the table.
        distance: How many times the least possible variance at this mean belief that is.
    """

    way: str
    ell: int
    groups: tuple[str, str]
    errors: Mapping[float, float | None]
    predicates: Mapping[float, int]
    hidden_up_to: int | None
    mean_belief: float
    largest_belief: float
    believed: tuple[float, float] | None
    above: tuple[float, float] | None
    error: float | None
    distance: float | None


@dataclass(frozen=True, slots=True)
class PairAdvice:
    """Two columns: a line for every way and ell, and which way to take.

    Attributes:
        columns: Their names.
        rows: The rows of the table.
        sampled_rows: The rows that were tried out.
        strength: How strongly the columns are associated: Cramér's V.
        lines: The figures.
        recommendation: Which way to take, and which ell.
        wished_share: The share of counts that the goal is about.
        choices: The ell that each way would take.
        values: How many pairs of values there are.
        agreement: How likely two random rows have the same pair.
    """

    columns: tuple[str, str]
    rows: int
    sampled_rows: int
    strength: float
    lines: Sequence[PairLine]
    recommendation: Recommendation
    wished_share: float | None = None
    choices: Mapping[str, Recommendation] = field(default_factory=dict)
    values: int = 0
    agreement: float = 0.0


def compare_pair(
    names: tuple[str, str],
    task: PairTask,
    goal: Goal,
    ways: Collection[str],
    rows: int,
    randomness: Randomness,
    progress: Progress,
) -> PairAdvice | None:
    """Both ways at several ells; None for columns with too many values to look at as pairs."""
    counts = task.counts()
    if max(counts.shape) > MOST_DECOMPOSED or min(counts.shape) < 2:
        return None
    shares = sorted({*_SHARES, *(goal.accuracy[:1] if goal.accuracy else ())})
    lines: list[PairLine] = []
    figures_by_way: list[PairFigures] = []
    for ell in [ell for ell in _ELLS if 2 * ell <= counts.sum()]:
        progress(f"{names[0]}, {names[1]}: trying apart and together, ell = {ell}", 0, 0)
        settings = (
            settings_that_work(counts.sum(axis=1), ell),
            settings_that_work(counts.sum(axis=0), ell),
        )
        figures_by_way.append(figures_of_pair(names, counts, settings, {}, rows))
        for way in [way for way in WAYS if way in ways]:
            trial = _tried(way, task, settings, randomness)
            lines.append(_line(way, settings, figures_by_way[-1], trial, shares))
    return _advised(figures_by_way, rows, task, lines, goal)


def _tried(
    way: str,
    task: PairTask,
    settings: tuple[ColumnSettings, ColumnSettings],
    randomness: Randomness,
) -> Trial | None:
    """A trial release; None if there is nothing to ask, or too much of it."""
    if not task.predicates or int(np.prod(task.sizes)) > _MOST_CELLS:
        return None
    if way == APART:
        return try_apart(task, settings, randomness)
    return try_together(task, settings[0].ell, randomness)


def _line(
    way: str,
    settings: tuple[ColumnSettings, ColumnSettings],
    figures: PairFigures,
    trial: Trial | None,
    shares: Sequence[float],
) -> PairLine:
    standing: WayFigures = figures.apart if way == APART else figures.together
    measured = {share: trial.error_at(share) if trial else (None, 0) for share in shares}
    groups = [COMMON if each.common_auto else each.groups for each in settings]
    variance = standing.variance
    return PairLine(
        way=way,
        ell=settings[0].ell,
        groups=(groups[0], groups[1]) if way == APART else (RANDOM, RANDOM),
        errors={share: error for share, (error, _) in measured.items()},
        predicates={share: number for share, (_, number) in measured.items()},
        hidden_up_to=trial.hidden_up_to() if trial else None,
        mean_belief=standing.mean_belief,
        largest_belief=standing.largest_belief,
        believed=standing.believed,
        above=standing.above,
        error=None if variance is None else (ASKED_ROWS * variance / figures.values) ** 0.5,
        distance=standing.distance,
    )


def _advised(
    figures_by_way: Sequence[PairFigures],
    rows: int,
    task: PairTask,
    lines: Sequence[PairLine],
    goal: Goal,
) -> PairAdvice | None:
    if not figures_by_way:
        return None
    choices = {}
    for way in WAYS:
        its = [line for line in lines if line.way == way]
        if its:
            choices[way] = replace(recommend(its, goal, TRIED), method=way)
    wanted = goal if goal.accuracy or goal.hide else usual_goal(lines)
    # Without a goal, nobody said that pairs will be counted.
    crossed = goal.accuracy is not None or goal.hide is not None
    crossed = crossed or any(figures.associated for figures in figures_by_way)
    shares = task.counts() / task.one.size
    return PairAdvice(
        columns=figures_by_way[0].columns,
        rows=rows,
        sampled_rows=task.one.size,
        strength=figures_by_way[0].strength,
        lines=lines,
        recommendation=_chosen(lines, choices, wanted, crossed=crossed),
        wished_share=wanted.accuracy[0] if wanted is not None and wanted.accuracy else None,
        choices=choices,
        values=figures_by_way[0].values,
        agreement=float((shares**2).sum()),
    )


def _chosen(
    lines: Sequence[PairLine],
    choices: Mapping[str, Recommendation],
    wanted: Goal | None,
    *,
    crossed: bool,
) -> Recommendation:
    """The way to take, with its ell and why."""
    at = {
        line.way: line
        for line in lines
        if line.way in choices and line.ell == choices[line.way].ell
    }
    if not at:
        return next(iter(choices.values()), recommend([], wanted or Goal()))
    if len(at) == 1:
        (way,) = at
        return replace(choices[way], why=_figures(at[way]))
    if not crossed:
        why = "The columns are hardly associated, so each keeps its own groups and its own ell."
        return replace(choices[APART], why=f"{why} {_figures(at[APART])}")
    good = [way for way in at if wanted is None or meets(at[way], wanted)]
    share = wanted.accuracy[0] if wanted is not None and wanted.accuracy else None
    if good:
        way = min(good, key=lambda w: at[w].mean_belief)
        why = (
            "Of the two ways it leaves the lower belief in the true pair."
            if len(good) == 2
            else "Only this way does that for pairs."
        )
    else:
        way = min(at, key=lambda w: _off(at[w], share))
        why = "Neither way meets the goals for pairs; this one comes nearest."
    other = TOGETHER if way == APART else APART
    return replace(
        choices[way], why=f"{why} {_figures(at[way])} The other way: {_figures(at[other], share)}"
    )


def _off(line: PairLine, share: float | None) -> float:
    error = None if share is None else line.errors.get(share)
    return np.inf if error is None else error


def _figures(line: PairLine, share: float | None = None) -> str:
    error = None if share is None else line.errors.get(share)
    off = (
        f", pairs of {share_text(share)} off by {error:.0%}"
        if error is not None and share is not None
        else ""
    )
    return (
        f"{line.way.capitalize()} with ell = {line.ell}: mean belief in the true pair "
        f"{line.mean_belief:.3f}, in a published pair at most {line.largest_belief:.2f}{off}."
    )
