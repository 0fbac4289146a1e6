"""Totals and measures as columns of SQL.

Enters: the weights of a question. Leaves: texts of columns: sums, then estimates with errors, then
measures. Must not know: where rows come from.

Of total j: `w_j` the weight of a row, `e_j` the sum of weights, `q_j` that of (w^2 - w), which is
the variance (where persons have several rows, times the design effect); for counts of single values
also `n_j` the rows asked about and `y_j` those that publish the value. Of measure i, a ratio of two
totals: `p_i` the weight with which a row counts for both, `c_i` their covariance; of an average
also `lo_i` and `hi_i`, the smallest and the largest number that is averaged.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from countveil.asking.portable.weights import QuestionWeights, averaged, ratios
from countveil.maths.bounds import HIDDEN_ABOVE
from countveil.maths.channel import ChannelView
from countveil.maths.estimate.ratios import SQUARED_Z
from countveil.sql.dialects.literals import LiteralDialect
from countveil.sql.query import Question, TallyPlan
from countveil.sql.query.plan import is_count, is_share
from countveil.sql.query.question import (
    Aggregate,
    Having,
    HavingAll,
    HavingAny,
    HavingNot,
    Measure,
    MeasureTest,
)

_SIGNS = {
    "equal": "=", "unequal": "<>", "less": "<", "at_most": "<=", "greater": ">", "at_least": ">=",
}  # fmt: skip


class Totals:
    """The aggregates of a question, by number."""

    def __init__(
        self,
        question: Question,
        plan: TallyPlan,
        weights: QuestionWeights,
        views: Sequence[ChannelView],
        dialect: LiteralDialect,
    ) -> None:
        self._plan, self._views, self.dialect = plan, views, dialect
        self.order = list(weights.aggregates)
        self._totals = list(weights.aggregates.values())
        self._grouped = bool(weights.grouped_axes)
        self._both = weights.both
        self._ratios = ratios(question)
        self.averaged = averaged(question, plan)
        # Rows that publish alike raise variances, as in `maths.estimate.totals`.
        self._effect = max((view.design_effect for view in views), default=1.0)

    def _raised(self, variance: str) -> str:
        return (
            variance if self._effect == 1 else f"{self.dialect.number(self._effect)} * {variance}"
        )

    @property
    def _letters(self) -> str:
        """The variance coefficients that are written: groups of different values need only four."""
        return "abcd" if self._views[0].different else "abcdefghij"

    def number(self, aggregate: Aggregate) -> int:
        """The number of an aggregate."""
        return self.order.index(aggregate)

    @property
    def names(self) -> list[str]:
        """Columns of the weights: weight, whether asked about, whether it is the counted value."""
        names = [f"{part}_{j}" for j in range(len(self.order)) for part in ("w", "h", "o")]
        return [*names, *(f"p_{number}" for number in self._ratios)]

    def row(self, kind: int, pattern: int, rest: int) -> list[str]:
        """The weights of one combination."""
        row = []
        for total in self._totals:
            row += [
                self.dialect.number(float(total.weights[kind, pattern, rest])),
                str(int(total.met[kind, pattern])),
                str(int(total.same[kind, rest])),
            ]
        both = (self._both[number][kind, pattern, rest] for number in self._ratios)
        return [*row, *(self.dialect.number(float(weight)) for weight in both)]

    def asks(self, kind: int, pattern: int) -> bool:
        """Whether a row of this pattern counts for anything."""
        return any(bool(total.met[kind, pattern]) for total in self._totals)

    @property
    def constant_names(self) -> list[str]:
        """Columns of the variance coefficients of single values."""
        return [
            f"v{part}_{j}"
            for j, total in enumerate(self._totals)
            if total.coefficients is not None
            for part in self._letters
        ]

    def constants(self, cell: int) -> list[str]:
        """The coefficients of one cell."""
        return [
            self.dialect.number(float(number))
            for total in self._totals
            if total.coefficients is not None
            for number in total.coefficients[cell, : len(self._letters)]
        ]

    def sums(self, weight: Callable[[str], str], same: str, *, empty: bool) -> list[str]:
        """The sums; `weight` gives the whole weight of a row, `empty`: there may be no row."""
        columns = []
        identifiable = not self._grouped or all(v.identifiable.all() for v in self._views)
        for j, total in enumerate(self._totals):
            argument = self._plan.aggregates[self.order[j]].argument
            once = "n" if argument is None else f"x{argument}"
            twice = "n" if argument is None else f"xx{argument}"
            w = weight(f"w_{j}")
            # Where a value is not identifiable all weights are missing, and so is the sum.
            known = empty and identifiable and bool(np.isfinite(total.weights).all())
            sums = [
                (f"e_{j}", f"{once} * {w}", known),
                (f"q_{j}", self._raised(f"{twice} * ({w} * {w} - {w})"), known),
                (f"n_{j}", f"n * h_{j}", empty),
            ]
            is_same = f"o_{j} = 1" + (f" AND {same}" if same else "")
            sums.append((f"y_{j}", f"CASE WHEN {is_same} THEN n * h_{j} ELSE 0 END", empty))
            for name, what, filled in sums:
                text = f"SUM({what})"
                columns.append(f"{f'COALESCE({text}, 0)' if filled else text} AS {name}")
        for number, (top, bottom) in self._ratios.items():
            both = self._product(top, bottom)
            i, j = self.number(top), self.number(bottom)
            squared = f"{weight(f'w_{i}')} * {weight(f'w_{j}')}"
            product = weight(f"p_{number}")
            covariance = self._raised(f"{both} * ({squared} - {product})")
            columns.append(f"SUM({covariance}) AS c_{number}")
            if number in self.averaged:
                place = self.averaged[number]
                for end, least in (("lo", "MIN"), ("hi", "MAX")):
                    asked = f"CASE WHEN h_{i} = 1 THEN {end}{place} END"
                    columns.append(f"{least}({asked}) AS {end}_{number}")
        return columns

    def _product(self, top: Aggregate, bottom: Aggregate) -> str:
        """The tallied column that sums the product of two arguments."""
        arguments = (self._plan.aggregates[aggregate].argument for aggregate in (top, bottom))
        moment = self._plan.product_moment(*arguments)
        if moment == 0:
            return "n"
        return f"x{(moment - 1) // 2}" if moment % 2 else f"xx{(moment - 2) // 2}"

    def estimated(self) -> list[str]:
        """Estimate, error, variance and covariance of every total."""
        columns = []
        for j, total in enumerate(self._totals):
            estimate, error = f"e_{j}", _root(f"q_{j}")
            if total.coefficients is not None:
                estimate, error = self._single(j)
            elif total.single:
                # Several columns: no error is better than a claim of certainty.
                error = f"CASE WHEN n_{j} = 0 THEN 0 WHEN q_{j} > 0 THEN SQRT(q_{j}) END"
            variance = f"CASE WHEN q_{j} > 0 THEN q_{j} ELSE 0 END"
            columns += [f"{estimate} AS t_{j}", f"{error} AS s_{j}"]
            columns += [f"{variance} AS q_{j}", f"n_{j} AS n_{j}"]
        names = [f"c_{number}" for number in self._ratios]
        names += [f"{end}_{number}" for number in self.averaged for end in ("lo", "hi")]
        return [*columns, *(f"{name} AS {name}" for name in names)]

    def _single(self, j: int) -> tuple[str, str]:
        """The count of one value, exact where all rows are asked about, and its error."""
        total = self._totals[j]
        assert total.coefficients is not None  # noqa: S101 - for the type checker
        complement = total.complement
        rows = self.dialect.number(float(self._views[0].rows))
        summed = f"n_{j} - e_{j}" if complement else f"e_{j}"
        a, b, c, d, *more = (
            [f"v{part}_{j}" for part in self._letters]
            if self._grouped
            else [
                self.dialect.number(float(number))
                for number in total.coefficients[0, : len(self._letters)]
            ]
        )
        counted = f"({more[4]} + {more[5]} * y_{j})" if more else f"y_{j}"
        if self._effect > 1 or not self._views[0].complete:
            # Published counts are not unbiased by themselves: of rows, or if some cases left.
            counted = summed
        x = f"(CASE WHEN n_{j} = 0 THEN 0 WHEN n_{j} = {rows} THEN {counted} ELSE {summed} END)"
        t = f"(CASE WHEN n_{j} = 0 THEN 0 WHEN {x} > 1 THEN {x} ELSE 1 END)"
        o = f"(n_{j} - {t})"
        variance = f"({a} * {t} + {o} * ({b} + {c} * {t} + {d} * {o}))"
        whole = f"{t} * {self.dialect.number(1 - self._views[0].keep)}"
        if more:
            e, f, g, h, *_ = more
            variance = f"({variance} + {e} * {t} * {t})"
            whole = f"{f} + {t} * ({g} + {h} * {t})"
        error = (
            f"CASE WHEN {x} IS NULL THEN NULL WHEN n_{j} = {rows} THEN SQRT({whole}) "
            f"WHEN n_{j} = 0 THEN 0 WHEN {variance} > 0 THEN SQRT({variance}) "
            f"WHEN {variance} <= 0 THEN 0 END"
        )
        return (f"n_{j} - {x}" if complement else x), error


def measure_columns(question: Question, totals: Totals) -> list[str]:
    """Estimate and error of every measure; the size of those that are sorted by."""
    columns = []
    for number, measure in enumerate(question.measures):
        estimate, error = _measure(number, measure, totals)
        scale = totals.dialect.number(measure.factor)
        size = totals.dialect.number(abs(measure.factor))
        if measure.factor != 1:
            estimate, error = f"{scale} * {estimate}", f"{size} * {error}"
        columns += [f"{estimate} AS e_{number}", f"{error} AS se_{number}"]
        if any(by.what == "measure" and by.number == number for by in question.order):
            columns.append(f"{_size(measure, totals, estimate)} AS m_{number}")
    return columns


def _size(measure: Measure, totals: Totals, estimate: str) -> str:
    """What an error is compared with: no count exceeds the rows that it is taken from."""
    if measure.denominator is not None and not is_share(measure):
        # Where the bottom may be 0 there is no interval, and the answer is hidden.
        j = totals.number(measure.denominator)
        return f"CASE WHEN t_{j} * t_{j} > {SQUARED_Z} * q_{j} THEN ABS({estimate}) END"
    if not is_count(measure) or measure.factor != 1:
        return f"ABS({estimate})"
    rows = f"n_{totals.number(measure.numerator)}"
    return f"CASE WHEN {estimate} > {rows} THEN {rows} ELSE {estimate} END"


def rank_text(number: int) -> str:
    """What a measure is sorted by: its estimate, missing where `verdicts` would call it hidden."""
    size, error = f"m_{number}", f"se_{number}"
    shown = f"{size} > 0 AND {error} <= {HIDDEN_ABOVE} * {size}"
    known = f"{size} IS NOT NULL AND ({error} = 0 OR ({shown}))"
    return f"CASE WHEN {known} THEN e_{number} END"


def _measure(number: int, measure: Measure, totals: Totals) -> tuple[str, str]:
    i = totals.number(measure.numerator)
    if measure.denominator is None:
        return f"t_{i}", f"s_{i}"
    j = totals.number(measure.denominator)
    ratio = f"(CASE WHEN t_{j} <> 0 THEN t_{i} / t_{j} END)"
    if number in totals.averaged:
        # No average lies outside the numbers that are averaged.
        low, high = f"lo_{number}", f"hi_{number}"
        outside = f"WHEN {ratio} < {low} THEN {low} WHEN {ratio} > {high} THEN {high}"
        ratio = f"(CASE {outside} ELSE {ratio} END)"
    size = f"(CASE WHEN t_{j} <> 0 THEN ABS(t_{j}) END)"
    variance = f"(q_{i} - 2 * {ratio} * c_{number} + {ratio} * {ratio} * q_{j})"
    # Of a bottom that is known exactly, the ratio has the error of the top.
    error = f"CASE WHEN q_{j} = 0 AND s_{j} = 0 THEN s_{i} ELSE {_root(variance)} END"
    # A bottom that may have come out large by chance: see `maths.estimate.ratios`.
    square, noise = f"t_{j} * t_{j}", f"{SQUARED_Z} * q_{j}"
    certain = f"(CASE WHEN {square} > {noise} THEN 1 - {noise} / ({square}) ELSE 1 END)"
    return ratio, f"(({error}) / {size} / {certain})"


def having_text(having: Having, dialect: LiteralDialect) -> str:
    """A condition on estimates; what has no estimate does not meet it."""
    if isinstance(having, HavingAll | HavingAny):
        join = " AND " if isinstance(having, HavingAll) else " OR "
        return "(" + join.join(having_text(part, dialect) for part in having.parts) + ")"
    if isinstance(having, HavingNot):
        return f"(NOT {having_text(having.part, dialect)})"
    assert isinstance(having, MeasureTest)  # noqa: S101 - the last of the kinds
    test = f"e_{having.measure} {_SIGNS[having.comparison]} {dialect.number(having.value)}"
    return f"COALESCE({test}, FALSE)"


def _root(variance: str) -> str:
    """The standard error; a negative variance counts as zero, a missing one stays missing."""
    return f"CASE WHEN {variance} > 0 THEN SQRT({variance}) WHEN {variance} <= 0 THEN 0 END"
