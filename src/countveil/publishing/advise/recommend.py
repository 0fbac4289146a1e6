"""A recommendation, with its reason in two sentences.

Enters: the figures of every feasible ell, what is wished. Leaves: an ell and why, or that both
wishes cannot be had. Must not know: the table.

Of the ells that give what is wished, accuracy alone takes the largest (the best protection it
leaves), protection alone the smallest (the best accuracy it leaves), both the largest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from countveil.errors import SettingsError
from countveil.publishing.advise.figures import EllFigures, share_text

_USUAL = (0.01, 0.10)


@dataclass(frozen=True, slots=True)
class Wish:
    """Counts of the share `accuracy[0]` within the error `accuracy[1]`; counts to `hide` hidden."""

    accuracy: tuple[float, float] | None = None
    hide: int | None = None

    def __post_init__(self) -> None:
        if self.accuracy is not None:
            share, error = self.accuracy
            if not (0 < share < 1 and 0 < error < 1):
                raise SettingsError(
                    f"A wished accuracy is a share of the table and a relative error, both between "
                    f"0 and 1, such as 1%:10%; got {share:g} and {error:g}."
                )
        if self.hide is not None and self.hide < 1:
            raise SettingsError(f"Counts to hide go from 1 on, got {self.hide}.")


@dataclass(frozen=True, slots=True)
class Recommendation:
    """An ell (None if there is none), whether it gives all that is wished, and why."""

    ell: int | None
    met: bool
    reason: str


def recommend(lines: Sequence[EllFigures], wish: Wish) -> Recommendation:
    """Choose among the feasible ells."""
    if not lines:
        return Recommendation(
            None,
            met=False,
            reason="No ell of 2 or more is feasible for this column. What stands in the way, and "
            "what would help, is said below.",
        )
    if wish.accuracy is None and wish.hide is None:
        return _without_wish(lines)
    accurate = [line for line in lines if wish.accuracy is None or _accurate(line, wish.accuracy)]
    hiding = [line for line in lines if wish.hide is None or _hides(line, wish.hide)]
    both = [line for line in accurate if line in hiding]
    if not both:
        return _not_both(lines, accurate, hiding, wish)
    chosen = both[0] if wish.accuracy is None else both[-1]
    if wish.accuracy is None:
        why = "It is the smallest ell that does, so that counts stay as accurate as they can"
    elif chosen is lines[-1]:
        why = (
            "It is the largest ell that is feasible, so that single rows tell as little as they can"
        )
    else:
        after = lines[lines.index(chosen) + 1]
        why = (
            f"It is the largest ell that does, so that single rows tell as little as they can; "
            f"ell = {after.ell} would not: {_said(after, wish)}"
        )
    return Recommendation(
        chosen.ell, met=True, reason=f"With ell = {chosen.ell}, {_said(chosen, wish)}. {why}."
    )


def _without_wish(lines: Sequence[EllFigures]) -> Recommendation:
    """Nothing was wished: counts of 1% within 10%, or what comes nearest."""
    share = _USUAL[0]
    if all(line.errors.get(share) is None for line in lines):
        told = [s for s in lines[0].errors if any(line.errors[s] is not None for line in lines)]
        if not told:
            usual = min(lines[-1].ell, 5)
            return Recommendation(
                usual,
                met=True,
                reason=f"ell = {usual} is usual and feasible. The table has no columns or no "
                f"counts to try accuracy on.",
            )
        share = min(told, key=lambda size: abs(size - _USUAL[0]))
    wish = Wish(accuracy=(share, _USUAL[1]))
    found = recommend(lines, wish)
    if found.met:
        return found
    return Recommendation(
        lines[0].ell,
        met=True,
        reason=f"With ell = {lines[0].ell}, {_said(lines[0], wish)}. A larger ell protects single "
        f"rows better and makes counts less accurate still.",
    )


def _not_both(
    lines: Sequence[EllFigures],
    accurate: Sequence[EllFigures],
    hiding: Sequence[EllFigures],
    wish: Wish,
) -> Recommendation:
    if wish.accuracy is not None and all(
        line.errors.get(wish.accuracy[0]) is None for line in lines
    ):
        return Recommendation(
            None,
            met=False,
            reason=f"Whether counts of {share_text(wish.accuracy[0])} of the table come within "
            f"{wish.accuracy[1]:.0%} cannot be told: no predicate tried has counts of that size. "
            f"Wish for another size.",
        )
    if accurate and hiding:
        nearest = accurate[-1]
        return Recommendation(
            nearest.ell,
            met=False,
            reason=f"Not both: with ell = {accurate[-1].ell}, the largest that is accurate enough, "
            f"{_said(accurate[-1], wish)}; with ell = {hiding[0].ell}, the smallest that hides "
            f"enough, {_said(hiding[0], wish)}. Choose which matters more, or merge values so that "
            f"counts are larger.",
        )
    if accurate:
        return Recommendation(
            lines[-1].ell,
            met=False,
            reason=f"Counts up to {wish.hide:,} are not hidden by any feasible ell: with the "
            f"largest, ell = {lines[-1].ell}, {_said(lines[-1], wish)}. Fewer columns, or coarser "
            f"ones, leave fewer small counts to ask for.",
        )
    return Recommendation(
        lines[0].ell,
        met=False,
        reason=f"That accuracy cannot be had: already with the smallest, ell = {lines[0].ell}, "
        f"{_said(lines[0], wish)}. Larger counts, and counts in larger tables, are more accurate.",
    )


def _accurate(line: EllFigures, accuracy: tuple[float, float]) -> bool:
    error = line.errors.get(accuracy[0])
    return error is not None and error <= accuracy[1]


def _hides(line: EllFigures, hide: int) -> bool:
    return line.hidden_up_to is not None and line.hidden_up_to >= hide


def _said(line: EllFigures, wish: Wish) -> str:
    """What this ell gives of what is wished."""
    parts = []
    if wish.accuracy is not None:
        share = wish.accuracy[0]
        error = line.errors.get(share)
        off = "by an unknown error" if error is None else f"by {error:.0%} on average"
        parts.append(f"counts of {share_text(share)} of the table are off {off}")
    if wish.hide is not None or wish.accuracy is None:
        up_to = "none are" if line.hidden_up_to in (None, 0) else f"up to {line.hidden_up_to:,} are"
        parts.append(f"of small counts that combine columns, {up_to} hidden")
    return " and ".join(parts)
