"""SQL -> a built question, if the builder can express it.

Enters: SQL, and the columns of the release. Leaves: a `Built`, or None: the question is SQL only.
Must not know: forms, how it is answered. What is not recognised in every detail is left to SQL, so
that the builder never shows another question than the one in the text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from countveil.errors import QueryError
from countveil.release.values import BOOLEAN, DATE, NUMBER, TEXT, TIMESTAMP
from countveil.sql.query.parse import parse_text
from countveil.web.analyst.builder.built import (
    AVERAGE,
    COUNT,
    MEDIAN,
    PERIODS,
    SHARE,
    SUM,
    Built,
    Condition,
    Group,
)
from countveil.web.analyst.builder.fields import MOST_CONDITIONS, MOST_GROUPS, fits, is_step
from countveil.web.analyst.builder.written import Kinds, class_name, sql_of

if TYPE_CHECKING:
    from sqlglot import exp

_CLAUSES = {"kind", "expressions", "from_", "from", "where", "group"}
_COMPARISONS = {"EQ": "=", "NEQ": "<>", "LT": "<", "LTE": "<=", "GT": ">", "GTE": ">="}
_NUMBERS = {"Avg": AVERAGE, "Sum": SUM, "Median": MEDIAN}


def built_from(text: str, kinds: Kinds) -> Built | None:
    """The question of a text; None if it is SQL only, or no SQL at all."""
    try:
        built = _Reader(kinds).built(parse_text(text))
        # What cannot be written again was not understood.
        return built if built is not None and sql_of(built, kinds) else None
    except (QueryError, RecursionError, _SqlOnlyError):
        return None


class _SqlOnlyError(Exception):
    """Something that the builder has no field for."""


class _Reader:
    """Reads one SELECT of a known shape."""

    def __init__(self, kinds: Kinds) -> None:
        self._kinds = kinds

    def built(self, select: exp.Expr) -> Built | None:
        from sqlglot import exp

        if not isinstance(select, exp.Select) or not _from_release(select):
            return None
        if any(value and part not in _CLAUSES for part, value in select.args.items()):
            return None
        *keys, last = select.expressions
        groups = tuple(self._group(item) for item in keys)
        self._check_grouping(select, keys)
        where = select.args.get("where")
        conditions = () if where is None else tuple(map(self._condition, _conjuncts(where.this)))
        measure, of, part = self._measure(last)
        if len(set(groups)) < len(groups) or len(groups) > MOST_GROUPS:
            return None
        if len(conditions) > MOST_CONDITIONS or not all(map(self._has_fields, (*conditions, part))):
            return None
        return Built(measure, of, part, groups, conditions)

    def _has_fields(self, condition: Condition | None) -> bool:
        """Whether the builder offers this comparison for this column."""
        return condition is None or fits(condition.comparison, self._kinds[condition.column])

    def _column(self, node: exp.Expr) -> str:
        """The exact name of the column that a node is."""
        from sqlglot import exp

        inner = node.unnest()
        if not isinstance(inner, exp.Column) or inner.table:
            raise _SqlOnlyError
        return self._exact(inner.name)

    def _exact(self, name: str) -> str:
        if name in self._kinds:
            return name
        same = [known for known in self._kinds if known.lower() == name.lower()]
        if len(same) != 1:
            raise _SqlOnlyError
        return same[0]

    def _group(self, item: exp.Expr) -> Group:
        from sqlglot import exp

        inner = item.unalias()
        if isinstance(inner, exp.Column):
            if item.alias:
                raise _SqlOnlyError
            return Group(self._column(inner))
        if isinstance(inner, exp.Mul) and isinstance(inner.this, exp.IntDiv):
            column, width = inner.this.this, _number(inner.this.expression)
            if width is not None and is_step(width) and width == _number(inner.expression):
                return self._named(item, Group(self._column(column), width))
        if isinstance(inner, exp.Year):
            return self._named(item, Group(self._column(inner.this), "year"))
        if isinstance(inner, exp.TimestampTrunc | exp.DateTrunc):
            period = inner.text("unit").lower()
            if period in PERIODS and period != "year":
                return self._named(item, Group(self._column(inner.this), period))
        raise _SqlOnlyError

    def _named(self, item: exp.Expr, group: Group) -> Group:
        """Classes have the name that the builder gives them; another one would be lost."""
        if str(item.alias) != class_name(group, self._kinds):
            raise _SqlOnlyError
        return group

    def _check_grouping(self, select: exp.Expr, keys: list[exp.Expr]) -> None:
        """GROUP BY must list exactly what is selected: by name, by place or ALL."""
        from sqlglot import exp

        group = select.args.get("group")
        if group is None:
            if keys:
                raise _SqlOnlyError
            return
        _check_arguments(group, {"expressions", "all"})
        if group.args.get("all"):
            return
        named: list[int] = []
        for node in group.expressions:
            inner = node.unnest()
            if isinstance(inner, exp.Literal) and inner.is_int:
                named.append(int(inner.this) - 1)
                continue
            fits = [place for place, item in enumerate(keys) if self._same(inner, item)]
            named += fits[:1] or [-1]
        if named != list(range(len(keys))):
            raise _SqlOnlyError

    def _same(self, node: exp.Expr, item: exp.Expr) -> bool:
        from sqlglot import exp

        if node == item.unalias():
            return True
        if not isinstance(node, exp.Column) or node.table:
            return False
        name = node.name.lower()
        inner = item.unalias()
        column_name = inner.name.lower() if isinstance(inner, exp.Column) else ""
        known = {known.lower() for known in self._kinds}
        return name == column_name or (name == str(item.alias).lower() and name not in known)

    def _measure(self, item: exp.Expr) -> tuple[str, str, Condition | None]:
        from sqlglot import exp

        inner = item.unalias()
        if _is_count(inner) and not item.alias:
            return COUNT, "", None
        kind = _NUMBERS.get(type(inner).__name__)
        if kind is not None and not item.alias:
            _check_arguments(inner, {"this"})
            return kind, self._column(inner.this), None
        if isinstance(inner, exp.Div) and str(item.alias) == "share":
            part, whole = inner.this, inner.expression
            if isinstance(part, exp.Filter) and _is_count(part.this) and _is_count(whole):
                return SHARE, "", self._condition(part.expression.this)
        raise _SqlOnlyError

    def _condition(self, node: exp.Expr) -> Condition:
        from sqlglot import exp

        inner = node.unnest()
        simple = _COMPARISONS.get(type(inner).__name__)
        if simple is not None:
            column = self._column(inner.this)
            return Condition(column, simple, (self._value(inner.expression, column),))
        if isinstance(inner, exp.Between):
            _check_arguments(inner, {"this", "low", "high"})
            column = self._column(inner.this)
            ends = tuple(self._value(inner.args[end], column) for end in ("low", "high"))
            return Condition(column, "between", ends)
        return self._set_or_missing(inner)

    def _set_or_missing(self, inner: exp.Expr) -> Condition:
        from sqlglot import exp

        negated = isinstance(inner, exp.Not)
        tested = inner.this.unnest() if negated else inner
        if isinstance(tested, exp.Is) and isinstance(tested.expression, exp.Null):
            return Condition(self._column(tested.this), "is not null" if negated else "is null")
        if isinstance(tested, exp.In) and tested.expressions:
            _check_arguments(tested, {"this", "expressions"})
            column = self._column(tested.this)
            values = tuple(self._value(value, column) for value in tested.expressions)
            return Condition(column, "not in" if negated else "in", values)
        raise _SqlOnlyError

    def _value(self, node: exp.Expr, column: str) -> str:
        """A constant of the kind of its column, as it would be typed."""
        from sqlglot import exp

        inner, kind = node.unnest(), self._kinds[column]
        if kind == BOOLEAN and isinstance(inner, exp.Boolean):
            return "true" if inner.this else "false"
        number = _number(inner)
        if kind == NUMBER and number is not None:
            return number
        text = isinstance(inner, exp.Literal) and inner.is_string
        if kind in (TEXT, DATE, TIMESTAMP) and text and inner.this:
            return str(inner.this)
        raise _SqlOnlyError


def _check_arguments(node: exp.Expr, known: set[str]) -> None:
    """Any other argument would change what a node means."""
    if any(value and part not in known for part, value in node.args.items()):
        raise _SqlOnlyError


def _number(node: exp.Expr) -> str | None:
    from sqlglot import exp

    inner = node.unnest()
    if isinstance(inner, exp.Neg):
        positive = _number(inner.this)
        return None if positive is None or positive.startswith("-") else f"-{positive}"
    if isinstance(inner, exp.Literal) and not inner.is_string:
        return str(inner.this)
    return None


def _is_count(node: exp.Expr) -> bool:
    from sqlglot import exp

    inner = node.unnest()
    if not isinstance(inner, exp.Count) or not isinstance(inner.this, exp.Star):
        return False
    return not any(value and part not in ("this", "big_int") for part, value in inner.args.items())


def _from_release(select: exp.Expr) -> bool:
    from sqlglot import exp

    source = select.args.get("from_") or select.args.get("from")
    table = source.this if source is not None else None
    return (
        isinstance(table, exp.Table)
        and table.name.lower() == "release"
        and not any(value and part != "this" for part, value in table.args.items())
    )


def _conjuncts(node: exp.Expr) -> list[exp.Expr]:
    from sqlglot import exp

    inner = node.unnest()
    if isinstance(inner, exp.And):
        return [*_conjuncts(inner.this), *_conjuncts(inner.expression)]
    return [inner]
