"""What was measured of every method and ell, as a screen shows it.

Enters: figures, an advice if it is complete, a draft. Leaves: values for a template. Must not know:
requests, how anything was measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from countveil.publishing.advise.advice import Advice, ColumnAdvice
from countveil.publishing.advise.figures import share_text
from countveil.publishing.advise.methods import BOUNDED, IN_WORDS, METHODS, MethodFigures, groups_of
from countveil.publishing.advise.pictures import belief_chart, error_chart
from countveil.publishing.advise.recommend import Goal
from countveil.publishing.advise.tables import recommended
from countveil.report.chart import draw
from countveil.web.publisher.draft import Draft

_USUAL_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class MethodView:
    """One method: its figures by ell, or why it has none."""

    name: str
    words: str
    lines: Sequence[MethodFigures]
    why_not: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class ColumnView:
    """One column: all that was measured of it, and which line is chosen."""

    place: int
    name: str
    ell: int | None
    methods: Sequence[MethodView]
    chosen: MethodFigures | None
    shares: Sequence[tuple[str, float]]
    wished: float
    advised: str
    recommended_ell: int | None
    recommended_method: str
    larger: str
    notes: Sequence[str]
    charts: Sequence[Markup]

    @property
    def wished_text(self) -> str:
        """The share of counts that the wish is about."""
        return share_text(self.wished)

    @property
    def slider(self) -> Sequence[MethodFigures]:
        """The lines of the chosen method, along which the slider moves."""
        methods = [method for method in self.methods if method.chosen and method.lines]
        shown = methods or [method for method in self.methods if method.lines]
        return shown[0].lines if shown else ()

    @property
    def position(self) -> int:
        """Where the slider stands: at the chosen ell, or at the recommended one."""
        wanted = self.ell or self.recommended_ell or 0
        nearest = sorted(range(len(self.slider)), key=lambda n: abs(self.slider[n].ell - wanted))
        return nearest[0] if nearest else 0


def method_of(draft: Draft, name: str) -> str:
    """The method of a column as figures name it: with noise or without."""
    method = draft.method(name)
    return method if draft.odds is None else BOUNDED[METHODS.index(method)]


def views_of(
    draft: Draft, parts: Sequence[tuple[str, MethodFigures]], advice: Advice | None
) -> list[ColumnView]:
    """Every column to protect."""
    return [
        _view(place, name, draft, parts, None if advice is None else advice.columns.get(name))
        for place, name in enumerate(draft.sensitive)
    ]


def _view(
    place: int,
    name: str,
    draft: Draft,
    parts: Sequence[tuple[str, MethodFigures]],
    advice: ColumnAdvice | None,
) -> ColumnView:
    lines = [figures for column, figures in parts if column == name]
    ell, method = draft.sensitive[name], _method_shown(draft, name, lines, advice)
    taken = [line for line in lines if line.ell == ell and line.method == method]
    share = _share(draft)
    best = None if advice is None else advice.recommendation
    drawn = [draw(error_chart(lines, share)), draw(belief_chart(lines))] if lines else []
    return ColumnView(
        place,
        name,
        ell,
        [_method(each, lines, advice, draft, chosen=each == method) for each in _shown(draft)],
        taken[0] if taken else None,
        [(share_text(one), one) for one in sorted(lines[0].errors)] if lines else [],
        share,
        "" if advice is None else recommended(advice),
        None if best is None else best.ell,
        "" if best is None else best.method,
        "" if advice is None else advice.larger,
        () if advice is None else advice.notes,
        # Our own drawing, in which all text is escaped.
        [Markup(svg) for svg in drawn],  # noqa: S704
    )


def _method_shown(
    draft: Draft, name: str, lines: Sequence[MethodFigures], advice: ColumnAdvice | None
) -> str:
    """The method that was chosen; before that the one that is recommended, or the first."""
    chosen = method_of(draft, name)
    if draft.sensitive[name] is not None:
        return chosen
    if advice is not None and advice.recommendation.ell is not None:
        return advice.recommendation.method
    known = [line.method for line in lines]
    return chosen if chosen in known or not known else known[0]


def _shown(draft: Draft) -> Sequence[str]:
    return (*METHODS, *BOUNDED) if draft.wished_odds is not None else METHODS


def _method(
    name: str,
    lines: Sequence[MethodFigures],
    advice: ColumnAdvice | None,
    draft: Draft,
    *,
    chosen: bool,
) -> MethodView:
    measured = sorted((line for line in lines if line.method == name), key=lambda line: line.ell)
    why_not = ""
    if advice is not None and not measured:
        why_not = advice.impossible.get(name, "")
        if not why_not and name in BOUNDED:
            why_not = (
                f"No noise keeps the odds below {draft.wished_odds:g} at an ell that was tried."
            )
    return MethodView(name, IN_WORDS[name], measured, why_not, chosen)


def _share(draft: Draft) -> float:
    goal = Goal.of(draft.accuracy or None, None)
    return _USUAL_SHARE if goal.accuracy is None else goal.accuracy[0]


def line_at(view: ColumnView, place: int) -> MethodFigures | None:
    """The line at a place of the slider."""
    return view.slider[place] if 0 <= place < len(view.slider) else None


def plain_method(line: MethodFigures) -> str:
    """`mixed`, `common` or `random`."""
    return groups_of(line.method)
