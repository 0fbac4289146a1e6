"""WITH and subqueries -> one SELECT about the table release.

Enters: a parsed query. Leaves: an equivalent SELECT without subqueries in FROM. Must not know: the
release's columns, engines, estimators.

A subquery that chooses columns and rows is put into the query around it: its conditions are added,
its columns are replaced by what they stand for. Around a subquery that counts, the query may choose
columns, filter (WHERE becomes HAVING), order, calculate, and sum the counts over groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from countveil.sql.query.scalars import excerpt, refuse

if TYPE_CHECKING:
    from sqlglot import exp

_HINT = "Write the query about the table release itself."
_OVER_COUNTS = (
    "Around a subquery with aggregates a query may choose columns, filter, order, calculate, and "
    "sum counts and sums over groups."
)


def flattened(select: exp.Expr, known: Mapping[str, exp.Expr]) -> exp.Expr:
    """The query without WITH and without subqueries in FROM; `known` are those of WITH."""
    from sqlglot import exp

    if not isinstance(select, exp.Select):
        refuse(f"{type(select).__name__.upper()} is not supported.")
    queries = dict(known)
    clause = select.args.pop("with_", None) or select.args.pop("with", None)
    if clause is not None and clause.args.get("recursive"):
        refuse("WITH RECURSIVE is not supported.")
    for cte in clause.expressions if clause is not None else ():
        if cte.args["alias"].columns:
            refuse("WITH with a list of columns is not supported.", "Name them inside, with AS.")
        queries[cte.alias.lower()] = flattened(cte.this.copy(), queries)
    source = select.args.get("from_")
    table = source.this if source is not None else None
    if isinstance(table, exp.Subquery):
        inner, name = flattened(table.this.copy(), queries), table.alias
    elif isinstance(table, exp.Table) and not table.args.get("db") and _key(table) in queries:
        inner, name = queries[_key(table)].copy(), table.alias or table.name
    else:
        return select
    select.set("from_", None)
    return _Merge(select, inner, name).select()


def conjuncts(condition: exp.Expr | None) -> list[exp.Expr]:
    """The parts of a condition that are joined by AND."""
    from sqlglot import exp

    if condition is None:
        return []
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        return [*conjuncts(inner.this), *conjuncts(inner.expression)]
    return [inner]


def is_aggregated(select: exp.Expr) -> bool:
    """Whether a SELECT counts rather than chooses rows."""
    from sqlglot import exp

    counts = any(item.find(exp.AggFunc) is not None for item in select.expressions)
    return counts or bool(select.args.get("group") or select.args.get("distinct"))


def _key(table: exp.Expr) -> str:
    return str(table.name).lower()


class _Merge:
    """One query put into the query around it."""

    def __init__(self, outer: exp.Expr, inner: exp.Expr, name: str) -> None:
        self._outer, self._inner, self._name = outer, inner, name.lower()
        self._everything = any(_is_star(item) for item in inner.expressions)
        self._columns = {
            item.alias_or_name.lower(): item.unalias()
            for item in inner.expressions
            if not _is_star(item)
        }

    def select(self) -> exp.Expr:
        if not is_aggregated(self._inner):
            return self._over_rows()
        if self._inner.args.get("distinct"):
            refuse("A subquery with DISTINCT is not supported.", "Use count(DISTINCT x).")
        if is_aggregated(self._outer):
            return self._over_groups()
        return self._over_counts()

    def _over_rows(self) -> exp.Expr:
        """The inner query chooses columns and rows."""
        for part in ("limit", "offset", "having", "qualify"):
            if self._inner.args.get(part):
                refuse(f"{part.upper()} in a subquery that lists rows is not supported.", _HINT)
        self._replace()
        self._outer.set("expressions", self._without_star())
        self._take_source()
        _and(self._outer, "where", self._inner.args.get("where"))
        return self._outer

    def _without_star(self) -> list[exp.Expr]:
        """What is selected; * is all columns of the subquery."""
        items: list[exp.Expr] = []
        for item in self._outer.expressions:
            items += self._inner.expressions if _is_star(item) else [item]
        return [item.copy() for item in items]

    def _over_counts(self) -> exp.Expr:
        """The inner query counts; the outer one chooses, filters and orders."""
        if self._outer.args.get("joins"):
            refuse("A join with a subquery that counts is not supported.", _HINT)
        self._replace()
        items = self._without_star()
        limited = self._inner.args.get("limit") or self._inner.args.get("offset")
        changed = any(self._outer.args.get(part) for part in ("where", "order", "limit", "offset"))
        if limited and changed:
            refuse("A query around a subquery with LIMIT is not supported.", _OVER_COUNTS)
        merged = self._inner
        merged.set("expressions", items)
        _and(merged, "having", self._outer.args.get("where"))
        for part in ("order", "limit", "offset"):
            if self._outer.args.get(part):
                merged.set(part, self._outer.args[part])
        return merged

    def _over_groups(self) -> exp.Expr:
        """The inner query counts, the outer one sums the counts over some groups."""
        from sqlglot import exp

        for part in ("limit", "offset", "having"):
            if self._inner.args.get(part):
                refuse(f"{part.upper()} in a subquery that is summed up is not supported.")
        totals = []
        for aggregate in self._outer.find_all(exp.AggFunc):
            column = aggregate.this
            counted = self._columns.get(column.name.lower()) if _is_column(column) else None
            if not isinstance(aggregate, exp.Sum) or counted is None or not _is_total(counted):
                refuse(f"{excerpt(aggregate)} is an aggregate of aggregates.", _OVER_COUNTS)
            totals.append((aggregate, counted.copy()))
        self._replace()
        for aggregate, total in totals:
            aggregate.replace(total)
        where = self._outer.args.get("where")
        if where is not None and where.find(exp.AggFunc):
            refuse("Counts of a subquery are filtered before they are summed.", _OVER_COUNTS)
        self._take_source()
        _and(self._outer, "where", self._inner.args.get("where"))
        return self._outer

    def _take_source(self) -> None:
        self._outer.set("from_", self._inner.args.get("from_"))
        joins = [*(self._inner.args.get("joins") or []), *(self._outer.args.get("joins") or [])]
        self._outer.set("joins", joins)

    def _replace(self) -> None:
        """Put what a column of the subquery stands for in the place of its name."""
        from sqlglot import exp

        aliases = {item.alias.lower() for item in self._outer.expressions if item.alias}
        for column in list(self._outer.find_all(exp.Column)):
            name, table = column.name.lower(), column.text("table").lower()
            if (table and table != self._name) or _is_star(column):
                continue
            meaning = self._columns.get(name)
            if (
                meaning is not None
                and isinstance(column.parent, exp.Sum)
                and meaning.find(exp.AggFunc)
            ):
                # Summed over groups: replaced together with the sum.
                continue
            if meaning is not None:
                _put(column, meaning)
            elif self._everything:
                column.set("table", None)
            elif table or name not in aliases:
                refuse(f"The subquery has no column {column.name!r}.", "")


def _put(column: exp.Expr, meaning: exp.Expr) -> None:
    from sqlglot import exp

    selected = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
    new: exp.Expr = meaning.copy()
    if not isinstance(new, exp.Column | exp.Literal | exp.AggFunc):
        new = exp.Paren(this=new)
    if selected:
        new = exp.Alias(this=new.unnest(), alias=exp.to_identifier(column.name, quoted=True))
    column.replace(new)


def _is_star(item: exp.Expr) -> bool:
    """Whether it is * or table.*."""
    from sqlglot import exp

    inner = item.unalias()
    return isinstance(inner.this if isinstance(inner, exp.Column) else inner, exp.Star)


def _is_column(node: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(node, exp.Column)


def _is_total(node: exp.Expr) -> bool:
    """Whether groups of it add up."""
    from sqlglot import exp

    inner = node.this if isinstance(node, exp.Filter) else node
    return isinstance(inner, exp.Count | exp.Sum | exp.CountIf) and not isinstance(
        inner.this, exp.Distinct
    )


def _and(select: exp.Expr, clause: str, more: exp.Expr | None) -> None:
    """Add a condition to WHERE or HAVING."""
    from sqlglot import exp

    if more is None:
        return
    both = [node for node in (select.args.get(clause), more) if node is not None]
    conditions = [exp.Paren(this=node.this.copy()) for node in both]
    joined = conditions[0] if len(conditions) == 1 else exp.and_(*conditions)
    select.set(clause, (exp.Where if clause == "where" else exp.Having)(this=joined))
