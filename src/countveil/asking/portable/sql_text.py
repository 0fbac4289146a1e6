"""A question and its weights as one SELECT.

Enters: a question, its plan, channels, a dialect. Leaves: SQL text. Must not know: how the weights
are computed.

    tally      the rows that are asked about, counted by group, conditions and published values
    value_i    the values of sensitive column i, numbered
    weight_i   the weight, in the estimate of v, of a row that publishes u, for columns grouped by
    missed     in its place, for columns together: what every row weighs less in a cell
    rest       the same for the other columns together, by kind of cell and pattern of conditions
    cell       the cells of the answer
    weighed    sums of weights, and of (w^2 - w): the variance
    estimated  estimates and errors of every total; the last SELECT makes measures of them
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from countveil.asking.answer import Channels
from countveil.asking.portable.measures import Totals, having_text, measure_columns, rank_text
from countveil.asking.portable.weights import Missed, QuestionWeights, question_weights
from countveil.errors import QueryError
from countveil.maths.channel import ChannelView
from countveil.sql.dialects.literals import LiteralDialect, name_text
from countveil.sql.query import Question, TallyPlan
from countveil.sql.query.plan import aggregates_of
from countveil.sql.query.question import Ordering

_PURPOSE = (
    "Estimates (unbiased) and standard errors of true counts, from a release of countveil. The "
    "numbers below belong to this release alone."
)
_SEVERAL = (
    "Counts of combinations of several sensitive columns carry the standard error of their row "
    "weights, and none where it would be zero."
)


def portable_sql(
    question: Question,
    plan: TallyPlan,
    channels: Channels,
    dialect: LiteralDialect,
    table: str,
) -> str:
    """Plain SQL whose answer is that of the method unbiased."""
    views = channels.views
    if any(measure.arithmetic is not None for measure in question.measures):
        raise QueryError(
            "The error of arithmetic on aggregates needs their covariance, which no sum over rows "
            "gives. 'countveil query' answers the question."
        )
    if any(aggregate.measured is not None for aggregate in aggregates_of(question)):
        raise QueryError(
            "The error of a sum or an average of a sensitive column needs more than sums over "
            "rows. 'countveil query' gives it."
        )
    if any(domain == () for domain in plan.domains):
        raise QueryError("A sensitive column without values cannot be asked about.")
    if channels.joined:
        from countveil.asking.portable.together import together_weights

        weights, views = together_weights(question, plan, channels)
    else:
        weights = question_weights(question, plan, views)
    select = _Select(question, plan, weights, views, dialect)
    text = _formatted(select.text(table), select.lists, dialect.name)
    comments = [_PURPOSE, _SEVERAL] if len(views) > 1 else [_PURPOSE]
    return "\n".join([*(f"-- {line}" for line in comments), text])


def _formatted(text: str, lists: Mapping[str, Sequence[Sequence[str]]], dialect: str) -> str:
    """Formatted for people; long lists of numbers are inserted afterwards: parsing is slow."""
    import sqlglot

    mark = "listed"
    while mark in text:
        mark += "_"
    for name in lists:
        text = text.replace(f"FROM {name}_rows)", f"FROM {mark}{name})")
    formatted = str(sqlglot.parse_one(text, read=dialect).sql(dialect, pretty=True)) + ";"
    for name, rows in lists.items():
        listed = ",\n    ".join(f"({', '.join(row)})" for row in rows)
        formatted = formatted.replace(
            f"FROM {mark}{name}\n", f"FROM (VALUES\n    {listed}\n  ) AS listed\n"
        )
    return formatted


class _Select:
    def __init__(
        self,
        question: Question,
        plan: TallyPlan,
        weights: QuestionWeights,
        views: Sequence[ChannelView],
        dialect: LiteralDialect,
    ) -> None:
        self._question, self._plan, self._weights = question, plan, weights
        self._views, self._dialect = views, dialect
        self._plain = [f"k{i}" for i in range(len(plan.tally.keys))]
        self._totals = Totals(question, plan, weights, views, dialect)
        self.lists: dict[str, Sequence[Sequence[str]]] = {}

    def text(self, table: str) -> str:
        tables = [f"tally AS ({self._tally(table)})"]
        for axis, domain in enumerate(self._plan.domains):
            numbers = self._weights.numbers[axis].tolist()
            rows = [
                [str(u), self._dialect.literal(value)]
                for u, value in zip(numbers, domain, strict=True)
            ]
            tables.append(self._values(f"value_{axis}", ["u", "value"], rows))
        if self._weights.missed is not None:
            tables.append(self._values("missed", *self._missed(self._weights.missed)))
        for axis in self._weights.grouped_axes if self._weights.missed is None else ():
            matrix = self._views[axis].weights
            rows = [
                [str(v), str(u), self._dialect.number(float(matrix[v, u]))]
                for v, u in np.ndindex(*matrix.shape)
            ]
            tables.append(self._values(f"weight_{axis}", ["v", "u", "m"], rows))
        tables.append(
            self._values("rest", ["kind", "p", "r", "z", *self._totals.names], self._rest())
        )
        if self._weights.grouped_axes:
            tables.append(self._values("cell", *self._cells()))
        tables.append(f"weighed AS ({self._weighed()})")
        estimated = [*self._key_columns(), *self._totals.estimated()]
        tables.append(f"estimated AS (SELECT {', '.join(estimated)} FROM weighed)")
        measured = [*self._key_columns(), *measure_columns(self._question, self._totals)]
        tables.append(f"measured AS (SELECT {', '.join(measured)} FROM estimated)")
        return f"WITH {', '.join(tables)} {self._select()}"

    def _values(self, name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
        self.lists[name] = rows
        return f"{name}({', '.join(columns)}) AS (SELECT * FROM {name}_rows)"

    def _key_columns(self) -> list[str]:
        return [*self._plain, *(f"v{axis}" for axis in self._weights.grouped_axes)]

    def _tally(self, table: str) -> str:
        tally, dialect = self._plan.tally, self._dialect
        columns = [f"{dialect.text(key)} AS k{i}" for i, key in enumerate(tally.keys)]
        bits = [
            f"CASE WHEN {dialect.text(tally.conditions[c])} THEN {1 << place} ELSE 0 END"
            for place, c in enumerate(reversed(self._weights.bits))
        ]
        columns.append(f"{' + '.join(bits) or '0'} AS p")
        columns += [f"{name_text(name)} AS s{i}" for i, name in enumerate(tally.sensitive)]
        columns += [
            f"CAST(COALESCE({dialect.text(a)}, 0) AS {dialect.double}) AS x{i}"
            for i, a in enumerate(tally.arguments)
        ]
        by = [*self._plain, "p", *(f"s{i}" for i in range(len(tally.sensitive)))]
        sums = [f"CAST(COUNT(*) AS {dialect.double}) AS n"]
        for i in range(len(tally.arguments)):
            sums += [f"SUM(x{i}) AS x{i}", f"SUM(x{i} * x{i}) AS xx{i}"]
        for i in sorted(set(self._totals.averaged.values())):
            sums += [f"MIN(x{i}) AS lo{i}", f"MAX(x{i}) AS hi{i}"]
        where = dialect.text(tally.where)
        rows = f"SELECT {', '.join(columns)} FROM {table} WHERE {where}"
        return f"SELECT {', '.join([*by, *sums])} FROM ({rows}) AS asked GROUP BY {', '.join(by)}"

    def _rest(self) -> list[list[str]]:
        kinds, patterns = self._weights.exists.shape
        n_rest = next(iter(self._weights.aggregates.values())).weights.shape[2]
        places = [
            (kind, p, r)
            for kind, p, r in np.ndindex(kinds, patterns, n_rest)
            if self._weights.exists[kind, p] or self._totals.asks(kind, p)
        ]
        # Where no row can meet the conditions, a list with one place: SQL has no empty one.
        return [
            [
                str(kind), str(p), str(r), str(int(self._weights.exists[kind, p])),
                *self._totals.row(kind, p, r),
            ]
            for kind, p, r in places or [(0, 0, 0)]
        ]  # fmt: skip

    def _cells(self) -> tuple[list[str], list[list[str]]]:
        names = [f"v{axis}" for axis in self._weights.grouped_axes]
        rows = [
            [*map(str, cell), str(kind), str(number), *self._totals.constants(number)]
            for number, (cell, kind) in enumerate(
                zip(self._weights.cells, self._weights.kind_of, strict=True)
            )
            if kind >= 0
        ]
        if not rows:
            raise QueryError("No value of the sensitive column meets the conditions.")
        return [*names, "kind", "c", *self._totals.constant_names], rows

    def _weighed(self) -> str:
        weights = self._weights
        joins = ["tally"]
        for axis in range(len(self._plan.domains)):
            same = f"value_{axis}.value = s{axis}"
            missing = f"(value_{axis}.value IS NULL AND s{axis} IS NULL)"
            joins.append(f"JOIN value_{axis} ON ({same} OR {missing})")
        if weights.grouped_axes:
            joins.append("CROSS JOIN cell")
        if weights.missed is not None:
            joins.append(f"JOIN missed ON missed.p = tally.p AND missed.c = {self._cell_number}")
        else:
            joins += [
                f"JOIN weight_{a} ON weight_{a}.v = cell.v{a} AND weight_{a}.u = value_{a}.u"
                for a in weights.grouped_axes
            ]
        place = "0"
        for axis, size in zip(weights.rest_axes, weights.rest_sizes, strict=True):
            place = f"({place}) * {size} + value_{axis}.u"
        kind = "cell.kind" if weights.grouped_axes else "0"
        joins.append(f"JOIN rest ON rest.kind = {kind} AND rest.p = tally.p AND rest.r = {place}")
        same = " AND ".join([f"cell.v{a} = value_{a}.u" for a in weights.grouped_axes])
        cells = [f"cell.v{axis}" for axis in weights.grouped_axes]
        constants = self._totals.constant_names if weights.grouped_axes else []
        by = [*self._plain, *cells, *(f"cell.{name}" for name in constants)]
        weight = partial(self._weight, same)
        sums = self._totals.sums(weight, same, empty=not self._question.keys)
        text = f"SELECT {', '.join([*by, *sums])} FROM {' '.join(joins)}"
        if self._question.keys:
            text += f" GROUP BY {', '.join(by)} HAVING SUM(n * z) > 0"
        return text

    def _weight(self, same: str, name: str) -> str:
        """The weight of a row, from what `rest` has for its values that are only tested."""
        missed = self._weights.missed
        if missed is None:
            factors = [f"weight_{axis}.m" for axis in self._weights.grouped_axes] or ["1"]
            return f"({' * '.join(factors)} * {name})"
        counting = f"(CASE WHEN {same} THEN {name} ELSE 0 END)" if same else name
        return f"(({counting} - m{name}) / {self._dialect.number(missed.gap)})"

    @property
    def _cell_number(self) -> str:
        return "cell.c" if self._weights.grouped_axes else "0"

    def _missed(self, missed: Missed) -> tuple[list[str], list[list[str]]]:
        names = [name for name in self._totals.names if name[0] in "wp"]
        arrays = [*missed.totals, *missed.both]
        cells, patterns = arrays[0].shape
        rows = [
            [str(c), str(p), *(self._dialect.number(float(array[c, p])) for array in arrays)]
            for c, p in np.ndindex(cells, patterns)
        ]
        return ["c", "p", *(f"m{name}" for name in names)], rows

    def _select(self) -> str:
        question, dialect = self._question, self._dialect
        columns = [f"{what} AS {name_text(name)}" for name, what in self._labelled()]
        joins = [
            f"JOIN value_{axis} ON value_{axis}.u = measured.v{axis}"
            for axis in self._weights.grouped_axes
        ]
        text = f"SELECT {', '.join(columns)} FROM measured {' '.join(joins)}"
        if question.having is not None:
            text += f" WHERE {having_text(question.having, dialect)}"
        if question.order:
            text += f" ORDER BY {', '.join(map(self._ordered, question.order))}"
        if question.limit is not None or question.offset:
            text += f" LIMIT {dialect.no_limit if question.limit is None else question.limit}"
            text += f" OFFSET {question.offset}" if question.offset else ""
        return text

    def _labelled(self) -> list[tuple[str, str]]:
        several = sum(output.what == "measure" for output in self._question.outputs) > 1
        columns: list[tuple[str, str]] = []
        taken = {"estimate", "std_error"}
        for output in (o for o in self._question.outputs if o.what == "key"):
            label = output.label
            while label.lower() in taken:
                label += "_"
            taken.add(label.lower())
            columns.append((label, self._key(output.number)))
        for output in (o for o in self._question.outputs if o.what == "measure"):
            before = f"{output.label}_" if several else ""
            columns.append((f"{before}estimate", f"e_{output.number}"))
            columns.append((f"{before}std_error", f"se_{output.number}"))
        return columns

    def _key(self, number: int) -> str:
        key = self._question.keys[number]
        if key.sensitive is not None:
            return f"value_{self._plan.tally.sensitive.index(key.sensitive)}.value"
        return self._plain[self._place(number)]

    def _place(self, number: int) -> int:
        return sum(key.sensitive is None for key in self._question.keys[:number])

    def _ordered(self, by: Ordering) -> str:
        if by.what == "measure":
            what = rank_text(by.number)
        else:
            key = self._question.keys[by.number]
            what = self._key(by.number)
            if key.sensitive is not None:
                # In the order of the domain, missing values apart.
                place = what.replace(".value", ".u")
                what = f"CASE WHEN {what} IS NULL THEN NULL ELSE {place} END"
            elif _is_text(key.expression):
                what += self._dialect.collation
        missing = "NULLS FIRST" if by.missing_first else "NULLS LAST"
        return f"{what} {'DESC' if by.descending else 'ASC'} {missing}"


def _is_text(expression: Any) -> bool:
    return bool(expression is not None and expression.kind == "text")
