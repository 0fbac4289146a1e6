"""Which method to take: mixed groups, common values or random groups, and why.

Enters: the figures of every method and ell, the goals. Leaves: a recommendation per method, the one
to take, and a note where mixed groups waste accuracy. Must not know: the table.

Mixed groups keep the simplest promise: no published value is believed above 1/ell. They are taken
where they meet the goals and their variance is near the least possible one. Elsewhere the method is
taken that meets the goals with the least mean belief, and of those with about the same the most
accurate; if none meets the goals, the most accurate one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from countveil.errors import option
from countveil.publishing.advise.figures import share_text
from countveil.publishing.advise.methods import (
    BOUNDED,
    COMMON,
    IN_WORDS,
    METHODS,
    MIXED,
    RANDOM,
    MethodFigures,
    is_possible,
    method_figures,
)
from countveil.publishing.advise.recommend import (
    FEASIBLE,
    TRIED,
    Goal,
    Recommendation,
    meets,
    recommend,
    usual_goal,
)

# Mixed groups with more than this many times the least possible variance waste accuracy.
WASTE = 1.25
# Mean beliefs within this factor are the same for a publisher: the more accurate method is taken.
_SAME = 1.02

Figures = Mapping[str, MethodFigures]


def per_method(lines: Sequence[MethodFigures], goal: Goal) -> dict[str, Recommendation]:
    """For each method that is possible, the ell that it would take."""
    chosen = {}
    for method in (*METHODS, *BOUNDED):
        its = [line for line in lines if line.method == method]
        if its:
            recommendation = recommend(its, goal, FEASIBLE if method == MIXED else TRIED)
            chosen[method] = replace(recommendation, method=method)
    return chosen


def choose(
    lines: Sequence[MethodFigures], each: Mapping[str, Recommendation], goal: Goal
) -> Recommendation:
    """The method to take, with its ell, the reason for the ell, and why this method.

    If odds are to be bounded, that is part of the wish: only methods that do it are taken.
    """
    each = {m: one for m, one in each.items() if m in BOUNDED} or each
    wanted = goal if goal.accuracy or goal.hide else usual_goal(lines)
    at = {
        line.method: line
        for line in lines
        if line.method in each and line.ell == each[line.method].ell
    }
    if not at:
        # Nothing is possible, or whether the goals are met is unknown.
        return next(iter(each.values()), recommend([], goal))
    good = {m: line for m, line in at.items() if wanted is None or meets(line, wanted)}
    pool = good or at
    if MIXED in pool and not _wastes(pool[MIXED]):
        return replace(each[MIXED], why=_simplest(at[MIXED]))
    if good:
        method, why = _among_good(good, wanted, usual_goal(lines))
    else:
        nearest = wanted if wanted and wanted.accuracy else usual_goal(lines)
        method = _most_accurate(at, nearest)
        why = _nearest(method, at, nearest)
    return replace(each[method], why=why)


def _among_good(good: Figures, wanted: Goal | None, usual: Goal | None) -> tuple[str, str]:
    """Of the methods that meet the goals, the one to take and why."""
    if wanted is not None and wanted.accuracy is None:
        method = _most_accurate(good, usual)
        why = f"Of the methods that do this, {IN_WORDS[method]} are the most accurate."
        return method, f"{why} {_promise(good[method])}"
    least = min(map(_exposure, good.values()))
    near = {m: line for m, line in good.items() if _exposure(line) <= _SAME * least}
    method = _most_accurate(near, wanted)
    return method, _least_belief(method, good, near)


def _wastes(line: MethodFigures) -> bool:
    return line.distance is not None and line.distance > WASTE


def _exposure(line: MethodFigures) -> float:
    return line.published_belief if line.mean_belief is None else line.mean_belief


def _simplest(line: MethodFigures) -> str:
    near = "" if line.distance is None else f", and the variance is {over_bound(line)}"
    return (
        f"Mixed groups keep the simplest promise: no published value is believed above "
        f"1/{line.ell} by someone who expected no more than its share{near}."
    )


def _least_belief(method: str, good: Figures, near: Figures) -> str:
    others = [
        f"{IN_WORDS[m]} with ell = {line.ell}, {_percent(_exposure(line))}"
        for m, line in good.items()
        if m != method
    ]
    compared = f" (against {'; '.join(others)})" if others else ""
    same = len(near) > 1
    best = ", and the most accurate counts of those that leave so little" if same else ""
    leading = (
        f"Of the methods that do this, {IN_WORDS[method]} leave {'about ' * same}the least mean "
        f"belief in the true value of a linked row"
        if others
        else f"Of the methods, only {IN_WORDS[method]} do this; the mean belief in the true value "
        f"of a linked row is then"
    )
    return (
        f"{leading}: {_percent(_exposure(good[method]))}{compared}{best}. {_promise(good[method])}"
    )


def _most_accurate(at: Figures, wanted: Goal | None) -> str:
    share = wanted.accuracy[0] if wanted is not None and wanted.accuracy else None

    def off(method: str) -> tuple[float, float]:
        error = None if share is None else at[method].errors.get(share)
        return (np.inf if error is None else error, _exposure(at[method]))

    return min(at, key=off)


def _nearest(method: str, at: Figures, wanted: Goal | None) -> str:
    if len(at) == 1:
        return f"No other method is possible here. {_promise(at[method])}"
    share = wanted.accuracy[0] if wanted is not None and wanted.accuracy else None
    errors = [
        f"{IN_WORDS[m]} with ell = {line.ell}, {error:.1%}"
        for m, line in at.items()
        if share is not None and (error := line.errors.get(share)) is not None
    ]
    listed = (
        f" (error of counts of {share_text(share)}: {'; '.join(errors)})"
        if errors and share is not None
        else ""
    )
    return (
        f"No method meets the goals; {IN_WORDS[method]} come nearest{listed}. "
        f"{_promise(at[method])}"
    )


def _promise(line: MethodFigures) -> str:
    """What is given up against mixed groups, in a sentence."""
    if line.odds is not None:
        return (
            f"The noise bounds the odds by K = {line.odds:g} (epsilon = {line.epsilon:.3g}, gamma "
            f"= {line.gamma:.3g}); the most believed published value is believed at "
            f"{line.largest_belief:.2f}."
        )
    if line.method == MIXED:
        return f"No published value is believed above 1/{line.ell}."
    known = ""
    if line.without_common is not None:
        known = (
            f", and by someone who knows that a person has no "
            f"{'common' if line.method == COMMON else 'frequent'} value the published one at up to "
            f"{line.without_common:.2f}"
        )
    if line.method == COMMON:
        return (
            f"A published value that is not common is believed at 1/{line.ell}, a common one at up "
            f"to {line.largest_belief:.2f}{known}."
        )
    return (
        f"A published value with a share of p is believed at 1/{line.ell} + "
        f"{1 - 1 / line.ell:.2g} p, the most frequent one at {line.largest_belief:.2f}{known}."
    )


def over_bound(line: MethodFigures) -> str:
    """In words, how far from the best possible."""
    assert line.distance is not None  # noqa: S101 - asked where there is one
    return f"{line.distance:.2f} times the least that is possible at this mean belief"


def about_waste(
    lines: Sequence[MethodFigures], counts: NDArray[np.int64], name: Callable[[int], str]
) -> list[str]:
    """From which ell on mixed groups waste accuracy, and what wins it back."""
    wasting = [line for line in lines if line.method == MIXED and _wastes(line)]
    if not wasting:
        return []
    first, top = wasting[0], int(np.argmax(counts))
    share = counts[top] / counts.sum()
    others = []
    for method, written in ((COMMON, ("common", "auto")), (RANDOM, ("groups", "random"))):
        if is_possible(method, counts, first.ell):
            there = method_figures(method, counts, first.ell, None, ())
            if there.distance is not None:
                words = f"{IN_WORDS[method]} ({option(*written)})"
                others.append(f"{there.distance:.2f} times with {words}")
    instead = f" With the same ell it is {' and '.join(others)}." if others else ""
    said = (
        f"From ell = {first.ell} on, mixed groups waste accuracy: {name(top)} has {share:.1%} of "
        f"the rows, close to the {1 / first.ell:.1%} that a value may have, and is hard to tell "
        f"from the others. The variance of counts is {over_bound(first)}.{instead}"
    )
    return [said]


def _percent(number: float) -> str:
    return f"{number:.1%}"
