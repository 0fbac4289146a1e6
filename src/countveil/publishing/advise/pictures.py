"""Advice as a page: tables, a chart per column, the command to copy.

Enters: an `Advice`. Leaves: HTML text, for the publisher alone. Must not know: files, how figures
were made.
"""

from __future__ import annotations

import math

from countveil.publishing.advise.advice import Advice, ColumnAdvice
from countveil.publishing.advise.methods import ASKED_ROWS, BOUNDED, IN_WORDS, METHODS
from countveil.publishing.advise.pairs.advice import pair_head, pair_sentences, pair_table
from countveil.publishing.advise.pairs.compare import WAYS, PairAdvice
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
from countveil.report import Chart, Section, page
from countveil.report.frontier_figure import Bound, Placed, frontier_chart

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
    return page(f"Which method and which ell for {names}", sections, warning=_WARNING)


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
