"""Advice as a page: tables, a chart per column, the command to copy.

Enters: an `Advice`. Leaves: HTML text, for the publisher alone. Must not know: files, how figures
were made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from countveil.publishing.advise.advice import Advice, ColumnAdvice
from countveil.publishing.advise.figures import share_text
from countveil.publishing.advise.methods import (
    ASKED_ROWS,
    BOUNDED,
    IN_WORDS,
    METHODS,
    RANDOM,
    MethodFigures,
    groups_of,
)
from countveil.publishing.advise.pairs.advice import pair_head, pair_sentences, pair_table
from countveil.publishing.advise.pairs.compare import WAYS, PairAdvice
from countveil.publishing.advise.recommend import USUAL
from countveil.publishing.advise.tables import (
    METHODS_HEAD,
    accuracy_table,
    basis_sentence,
    costs_sentence,
    costs_table,
    methods_sentence,
    methods_table,
    protection_table,
    question_sentence,
    question_table,
    recommended,
)
from countveil.report.board import Board, Figure
from countveil.report.chart import Chart, Line
from countveil.report.frontier_figure import Bound, Placed, frontier_chart
from countveil.report.page import Section, page

# How points look: circles, squares, diamonds.
_SHAPES = ("solid", "dashed", "dotted")
_WARNING = "For the publisher only: made from the true table."


def advice_page(advice: Advice, publish: str) -> str:
    """Everything about all columns."""
    sections = [section for column in advice.columns.values() for section in _column(column)]
    sections += [
        Section(pair_head(pair), pair_sentences(pair), *pair_table(pair), charts=[pair_chart(pair)])
        for pair in advice.pairs
        if pair.lines
    ]
    sections += [
        Section(asked.question, [question_sentence(asked)], *question_table(asked))
        for asked in advice.questions
    ]
    if publish:
        sections.append(Section("To publish so, check and adapt", commands=[publish]))
    names = ", ".join(advice.columns)
    return page(
        f"Which method and which ell for {names}",
        sections,
        kind="Advice · for the publisher alone",
        warning=_WARNING,
        board=_board(advice, publish),
    )


def _board(advice: Advice, publish: str) -> Board:
    """What to choose, how far off counts are then, and how much a row gives away."""
    columns = list(advice.columns.values())
    ells = [f"{column.recommendation.ell or 'none'}" for column in columns]
    chosen = [f"{column.column}: {_method(column)}" for column in columns]
    figures = [
        Figure("Recommended ell", ", ".join(ells), "; ".join(chosen), "ell"),
        *map(_error_figure, columns),
        *map(_belief_figure, columns),
    ]
    facts = [(column.column, f"{column.rows:,} {column.unit}, {column.values:,} values")
             for column in columns]  # fmt: skip
    taken = "; ".join(f"{c.column}: {_method(c)}, ell = {c.recommendation.ell}" for c in columns
                      if c.recommendation.ell is not None)  # fmt: skip
    verdict = f"Recommended: {taken or 'nothing as it is'}. Reasons follow; the command is last."
    points = [f"{name} would stop a publication: drop it." for name in advice.left_out]
    methods = {groups_of(column.recommendation.method) for column in columns}
    if RANDOM in methods and len(methods) > 1:
        points.append("Random groups are for all columns of a release: the command takes them so.")
    if not publish:
        points.append("A column has no recommendation: see what would help, below.")
    return Board(facts, figures, verdict, points, ())


def _method(column: ColumnAdvice) -> str:
    chosen = column.recommendation
    return "not possible as it is" if chosen.ell is None else IN_WORDS[chosen.method]


def _recommended_figures(column: ColumnAdvice) -> MethodFigures | None:
    chosen = column.recommendation
    lines = (m for m in column.methods if (m.method, m.ell) == (chosen.method, chosen.ell))
    return next(lines, None)


def _error_figure(column: ColumnAdvice) -> Figure:
    share = column.wished_share or USUAL[0]
    name = f"Error of counts of {share_text(share)} of the {column.unit}, {column.column}"
    line = _recommended_figures(column)
    error = None if line is None else line.errors.get(share)
    if error is None:
        return Figure(name, "not known", "no such counts could be tried", "error", math.inf)
    return Figure(name, f"{error:.1%}", "mean relative error to expect", "error", error)


def _belief_figure(column: ColumnAdvice) -> Figure:
    name = f"Belief in a published {column.column}"
    line = _recommended_figures(column)
    if line is None:
        return Figure(name, "not known", "nothing could be tried", "belief", math.inf)
    note = f"how likely it is the true one, on average; at most {line.largest_belief:.1%}"
    return Figure(name, f"{line.published_belief:.1%}", note, "belief", line.largest_belief)


def _column(column: ColumnAdvice) -> list[Section]:
    sections = [
        Section(
            f"{column.column}: {column.rows:,} {column.unit}",
            [f"Recommendation: {recommended(column)}", column.larger, *column.notes],
        )
    ]
    if column.methods:
        sections.append(
            Section(
                f"{METHODS_HEAD}: {column.column}",
                [methods_sentence(column)],
                *methods_table(column),
                charts=[methods_chart(column)],
            )
        )
    if column.costs:
        sections.append(
            Section(
                f"What a bound on the odds costs: {column.column}",
                [costs_sentence(column)],
                *costs_table(column),
            )
        )
    if column.lines:
        sections += [
            Section(
                f"Expected relative error of counts, with mixed groups: {column.column}",
                [basis_sentence(column)],
                *accuracy_table(column),
            ),
            Section(
                f"Seeing a value in a row multiplies the odds that it is true by: {column.column}",
                (),
                *protection_table(column),
            ),
        ]
    return sections


def methods_chart(column: ColumnAdvice) -> Chart:
    """The error of every method by its mean belief, a point per ell, with the bound as a line."""
    placed = []
    for hue, method in enumerate((*METHODS, *BOUNDED)):
        lines = [line for line in column.methods if line.method == method]
        known = [(line.mean_belief, line.error) for line in lines if line.mean_belief is not None]
        if known:
            beliefs = [belief for belief, _ in known]
            errors = [math.inf if error is None else error for _, error in known]
            placed.append(Placed(IN_WORDS[method], beliefs, errors, hue, _SHAPES[hue % 3]))
    bound = Bound(column.agreement, column.values, ASKED_ROWS)
    more = "Every point is an ell, the smallest at the right; the errors are of unbiased counts."
    return frontier_chart(placed, bound, more)


def pair_chart(pair: PairAdvice) -> Chart:
    """The error of counts of pairs by the mean belief in the true pair, apart and together."""
    placed = []
    for hue, way in enumerate(WAYS):
        lines = [line for line in pair.lines if line.way == way]
        beliefs = [line.mean_belief for line in lines]
        errors = [math.inf if line.error is None else line.error for line in lines]
        if lines:
            placed.append(Placed(way, beliefs, errors, hue, _SHAPES[hue]))
    bound = Bound(pair.agreement, pair.values, ASKED_ROWS)
    more = "Every point is an ell, the smallest at the right; the errors are of unbiased counts."
    return frontier_chart(placed, bound, more)


def error_chart(lines: Sequence[MethodFigures], share: float) -> Chart:
    """How far counts of this share of the table are off, by ell, a line per method."""
    drawn = [
        _curve(
            method,
            hue,
            [
                (line.ell, 100 * error)
                for line in measured
                if (error := line.errors.get(share)) is not None
            ],
        )
        for method, hue, measured in _by_method(lines)
    ]
    title = f"Mean error of counts of {share_text(share)} of the table, by ell"
    return Chart(title, "ell", "percent", [line for line in drawn if line.x])


def belief_chart(lines: Sequence[MethodFigures]) -> Chart:
    """How strongly the true value is believed on average, by ell, a line per method."""
    drawn = [
        _curve(
            method,
            hue,
            [
                (line.ell, 100 * line.mean_belief)
                for line in measured
                if line.mean_belief is not None
            ],
        )
        for method, hue, measured in _by_method(lines)
    ]
    title = "Mean belief in the true value of a row, by ell"
    return Chart(title, "ell", "percent", [line for line in drawn if line.x])


def _by_method(
    lines: Sequence[MethodFigures],
) -> Iterator[tuple[str, int, list[MethodFigures]]]:
    for hue, method in enumerate((*METHODS, *BOUNDED)):
        measured = [line for line in lines if line.method == method]
        yield method, hue, sorted(measured, key=lambda line: line.ell)


def _curve(method: str, hue: int, points: Sequence[tuple[float, float]]) -> Line:
    """A line with a mark at every ell that was tried."""
    xs, ys = [x for x, _ in points], [y for _, y in points]
    dash = _SHAPES[hue % 3]
    return Line(IN_WORDS[method], xs, ys, hue=hue, dash=dash, joined=len(points) > 1)
