"""A recommendation, with its reason in two sentences.

Enters: the figures of every ell of one method, the goals. Leaves: an ell and why, or that both
goals cannot be met. Must not know: the table, other methods (`choice`).

Of the ells that meet the goals, the largest is taken if accuracy is among them (it protects best),
the smallest if protection is the only goal (it is most accurate).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from countveil.errors import SettingsError, option
from countveil.publishing.advise.figures import share_text

USUAL = (0.01, 0.10)
FEASIBLE, TRIED = "feasible ell", "ell that was tried"


class Line(Protocol):
    """What is looked at of one ell."""

    @property
    def ell(self) -> int:
        """The ell."""

    @property
    def errors(self) -> Mapping[float, float | None]:
        """The mean relative error by the share of a count."""

    @property
    def hidden_up_to(self) -> int | None:
        """The largest count that is hidden."""


@dataclass(frozen=True, slots=True)
class Goal:
    """Counts of the share `accuracy[0]` within the error `accuracy[1]`; counts to `hide` hidden."""

    accuracy: tuple[float, float] | None = None
    hide: int | None = None

    @classmethod
    def of(cls, accuracy: tuple[float, float] | str | None, hide: int | None) -> Goal:
        """From what a caller may write: (0.01, 0.1), or "1%:10%"."""
        return cls(_accuracy(accuracy) if isinstance(accuracy, str) else accuracy, hide)

    def __post_init__(self) -> None:
        if self.accuracy is not None:
            share, error = self.accuracy
            if not (0 < share < 1 and 0 < error < 1):
                raise SettingsError(
                    f"An accuracy is a share of the table and a relative error, both between "
                    f"0 and 1, such as 1%:10%; got {share:g} and {error:g}."
                )
        if self.hide is not None and self.hide < 1:
            raise SettingsError(f"Counts to hide must be at least 1, got {self.hide}.")


def _accuracy(text: str) -> tuple[float, float]:
    number = r"\s*(\d+\.?\d*|\.\d+)(%?)\s*"
    match = re.fullmatch(f"{number}:{number}", text, re.ASCII)
    if match is None:
        raise SettingsError(
            f"{option('accuracy')} takes a share of the table and a relative error, such as "
            f"1%:10% or 0.01:0.1."
        )
    share, of_share, error, of_error = match.groups()
    return float(share) / (100 if of_share else 1), float(error) / (100 if of_error else 1)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """An ell, whether it meets all goals, and the reason.

    Attributes:
        ell: The ell; None if there is none.
        met: Whether it meets all goals.
        reason: Why this ell.
        method: The method of the ell: `mixed`, `common` or `random`.
        why: Why this method.
    """

    ell: int | None
    met: bool
    reason: str
    method: str = "mixed"
    why: str = ""


def recommend(lines: Sequence[Line], goal: Goal, all_of: str = FEASIBLE) -> Recommendation:
    """Choose among the ells; `all_of` says of which kind of ell they are all."""
    if not lines:
        return Recommendation(
            None,
            met=False,
            reason="No ell of 2 or more is feasible here. Reasons and remedies are below.",
        )
    if goal.accuracy is None and goal.hide is None:
        return _without_goal(lines, all_of)
    accurate = [line for line in lines if goal.accuracy is None or _accurate(line, goal.accuracy)]
    hiding = [line for line in lines if goal.hide is None or _hides(line, goal.hide)]
    both = [line for line in accurate if line in hiding]
    if not both:
        return _not_both(lines, accurate, hiding, goal, all_of)
    chosen = both[0] if goal.accuracy is None else both[-1]
    if goal.accuracy is None:
        why = "It is the smallest ell that does, so that counts stay as accurate as they can"
    elif chosen is lines[-1]:
        why = f"It is the largest {all_of}, so that single rows reveal as little as they can"
    else:
        after = lines[lines.index(chosen) + 1]
        why = (
            f"It is the largest ell that does, so that single rows reveal as little as they can; "
            f"ell = {after.ell} would not: {_gives(after, goal)}"
        )
    return Recommendation(
        chosen.ell, met=True, reason=f"With ell = {chosen.ell}, {_gives(chosen, goal)}. {why}."
    )


def usual_goal(lines: Sequence[Line]) -> Goal | None:
    """Without a goal: counts of 1% within 10%, or of the nearest size that was measured."""
    measured = {s for line in lines for s, error in line.errors.items() if error is not None}
    if not measured:
        return None
    return Goal(accuracy=(min(measured, key=lambda size: abs(size - USUAL[0])), USUAL[1]))


def _without_goal(lines: Sequence[Line], all_of: str) -> Recommendation:
    """Without a goal: the usual one, or what comes nearest."""
    goal = usual_goal(lines)
    if goal is None:
        usual = min(lines[-1].ell, 5)
        return Recommendation(
            usual,
            met=True,
            reason=f"ell = {usual} is usual and feasible. The table has no columns or no "
            f"counts to try accuracy on.",
        )
    recommendation = recommend(lines, goal, all_of)
    if recommendation.met:
        return recommendation
    return Recommendation(
        lines[0].ell,
        met=True,
        reason=f"With ell = {lines[0].ell}, {_gives(lines[0], goal)}. A larger ell protects single "
        f"rows better and makes counts less accurate still.",
    )


def _not_both(
    lines: Sequence[Line],
    accurate: Sequence[Line],
    hiding: Sequence[Line],
    goal: Goal,
    all_of: str,
) -> Recommendation:
    if goal.accuracy is not None and all(
        line.errors.get(goal.accuracy[0]) is None for line in lines
    ):
        return Recommendation(
            None,
            met=False,
            reason=f"Whether counts of {share_text(goal.accuracy[0])} of the table come within "
            f"{goal.accuracy[1]:.0%} is unknown: no predicate that was tried has counts of that "
            f"size. Ask for another size.",
        )
    if accurate and hiding:
        nearest = accurate[-1]
        return Recommendation(
            nearest.ell,
            met=False,
            reason=f"Not both: with ell = {accurate[-1].ell}, the largest that is accurate enough, "
            f"{_gives(accurate[-1], goal)}; with ell = {hiding[0].ell}, the smallest that hides "
            f"enough, {_gives(hiding[0], goal)}. Choose which matters more: "
            f"larger counts are more accurate, smaller ones are hidden better.",
        )
    if accurate:
        return Recommendation(
            lines[-1].ell,
            met=False,
            reason=f"Counts up to {goal.hide:,} are not hidden by any {all_of}: with the "
            f"largest, ell = {lines[-1].ell}, {_gives(lines[-1], goal)}. Fewer columns, or coarser "
            f"ones, leave fewer small counts to ask for.",
        )
    return Recommendation(
        lines[0].ell,
        met=False,
        reason=f"That accuracy is out of reach: already with the smallest, ell = {lines[0].ell}, "
        f"{_gives(lines[0], goal)}. Larger counts, and counts in larger tables, are more accurate.",
    )


def meets(line: Line, goal: Goal) -> bool:
    """Whether this ell meets all goals."""
    accurate = goal.accuracy is None or _accurate(line, goal.accuracy)
    return accurate and (goal.hide is None or _hides(line, goal.hide))


def _accurate(line: Line, accuracy: tuple[float, float]) -> bool:
    error = line.errors.get(accuracy[0])
    return error is not None and error <= accuracy[1]


def _hides(line: Line, hide: int) -> bool:
    return line.hidden_up_to is not None and line.hidden_up_to >= hide


def _gives(line: Line, goal: Goal) -> str:
    """What this ell gives, in the terms of the goals."""
    parts = []
    if goal.accuracy is not None:
        share = goal.accuracy[0]
        error = line.errors.get(share)
        off = "by an unknown error" if error is None else f"by {error:.0%} on average"
        parts.append(f"counts of {share_text(share)} of the table are off {off}")
    if goal.hide is not None or goal.accuracy is None:
        up_to = "none are" if line.hidden_up_to in (None, 0) else f"up to {line.hidden_up_to:,} are"
        parts.append(f"of small counts that combine columns, {up_to} hidden")
    return " and ".join(parts)
