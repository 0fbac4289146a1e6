"""SQL text -> a checked outline of the query, in our own values.

Enters: SQL text. Leaves: an `Outline` (what is selected, grouped and asked for). Must not know: any
engine. The text is parsed by sqlglot; only the few node types named here are understood, every
other one is refused with what is supported instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NoReturn

from countveil.errors import QueryError
from countveil.query.conditions import AllOf, Between, Compare, Condition, InList, IsNull
from countveil.query.names import ReleaseColumns, literal_for

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST_QUERY = 20_000
SUPPORTED = (
    "Supported: SELECT [columns,] count(*) FROM release [WHERE conditions joined by AND] "
    "[GROUP BY columns]; conditions are comparisons, IN, BETWEEN and IS NULL of a column with "
    "constants."
)


@dataclass(frozen=True, slots=True)
class Outline:
    """A query by its parts; columns by their exact names."""

    selected: tuple[str, ...]
    group_by: tuple[str, ...]
    where: AllOf


def parse_count(text: str, columns: ReleaseColumns) -> Outline:
    """The outline of a count query."""
    from sqlglot import exp

    select = _parse(text)
    if not isinstance(select, exp.Select):
        _refuse(f"{_name(select)} is not supported.")
    _only_parts(select, {"expressions", "from_", "from", "where", "group", "kind"})
    alias = _check_table(select)
    reader = _Reader(columns, alias)
    selected = list(_selected(select, reader))
    where = select.args.get("where")
    return Outline(
        tuple(selected),
        _group_by(select, selected, reader),
        AllOf(tuple(reader.conditions(where.this))) if where is not None else AllOf(()),
    )


def parse_where(text: str, columns: ReleaseColumns) -> AllOf:
    """The conditions of a bare WHERE text; an empty text is always true."""
    if not text.strip():
        return AllOf(())
    return parse_count(f"SELECT count(*) FROM release WHERE {text}", columns).where


def _parse(text: str) -> exp.Expr:
    import sqlglot
    from sqlglot.errors import SqlglotError

    if len(text) > LONGEST_QUERY:
        raise QueryError(
            f"The query has {len(text):,} characters; at most {LONGEST_QUERY:,} are read."
        )
    try:
        statements = [s for s in sqlglot.parse(text, read="duckdb") if s is not None]
    except SqlglotError as error:
        raise QueryError(f"The query is not readable SQL. {SUPPORTED}") from error
    except RecursionError as error:
        raise QueryError(f"The query is nested too deeply. {SUPPORTED}") from error
    if len(statements) != 1:
        found = "no statement" if not statements else f"{len(statements)} statements"
        _refuse(f"The text holds {found}; one SELECT is needed.")
    return statements[0]


def _refuse(what: str) -> NoReturn:
    raise QueryError(f"{what} {SUPPORTED}")


def _name(node: exp.Expr) -> str:
    return type(node).__name__.upper()


_CLAUSES = {
    "with_": "WITH", "with": "WITH", "joins": "A second table", "order": "ORDER BY",
    "having": "HAVING", "distinct": "DISTINCT", "laterals": "LATERAL", "windows": "WINDOW",
    "qualify": "QUALIFY", "limit": "LIMIT", "offset": "OFFSET", "into": "INTO",
}  # fmt: skip


def _only_parts(node: exp.Expr, allowed: set[str]) -> None:
    for part, value in node.args.items():
        if value and part not in allowed:
            _refuse(f"{_CLAUSES.get(part, part.strip('_').upper())} is not supported yet.")


def _check_table(select: exp.Expr) -> str | None:
    from sqlglot import exp

    source = select.args.get("from_") or select.args.get("from")
    if source is None:
        _refuse("The query names no table; the only one is called release.")
    table = source.this
    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        _refuse("Only the table release can be queried.")
    if table.name.lower() != "release" or table.args.get("db") or table.args.get("catalog"):
        _refuse(f"There is no table {table.sql('duckdb')[:60]!r}; the only one is called release.")
    _only_parts(table, {"this", "alias"})
    return str(table.alias) or None


def _selected(select: exp.Expr, reader: _Reader) -> Iterator[str]:
    from sqlglot import exp

    counts = 0
    for item in select.expressions:
        inner = item.unalias()
        if isinstance(inner, exp.Count):
            counts += 1
            if (
                not isinstance(inner.this, exp.Star)
                or inner.expressions
                or inner.args.get("distinct")
            ):
                _refuse("Of the counts, only count(*) is supported.")
        elif isinstance(inner, exp.Star):
            _refuse("SELECT * would print rows; a release is asked for counts.")
        elif isinstance(inner, exp.Column) and inner is not item:
            _refuse("An alias on a column is not supported yet.")
        else:
            yield reader.column(inner)
    if counts != 1:
        _refuse("The query needs exactly one count(*).")


def _group_by(select: exp.Expr, selected: list[str], reader: _Reader) -> tuple[str, ...]:
    from sqlglot import exp

    group = select.args.get("group")
    if group is None:
        if selected:
            _refuse(f"Column {selected[0]!r} is selected but not grouped: add GROUP BY.")
        return ()
    _only_parts(group, {"expressions", "all"})
    if group.args.get("all"):
        return tuple(dict.fromkeys(selected))
    names = []
    for item in group.expressions:
        if isinstance(item, exp.Literal) and item.is_int:
            names.append(_by_position(select, int(item.this), reader))
        else:
            names.append(reader.column(item))
    missing = [name for name in selected if name not in names]
    if missing:
        _refuse(f"Column {missing[0]!r} is selected but not grouped: add it to GROUP BY.")
    return tuple(dict.fromkeys(names))


def _by_position(select: exp.Expr, position: int, reader: _Reader) -> str:
    if not 1 <= position <= len(select.expressions):
        _refuse(f"GROUP BY {position} points outside the selected columns.")
    return reader.column(select.expressions[position - 1].unalias())


class _Reader:
    """Turns sqlglot's nodes into columns, literals and conditions of ours."""

    def __init__(self, columns: ReleaseColumns, alias: str | None) -> None:
        self._columns = columns
        self._tables = {"release"} if alias is None else {alias.lower()}

    def column(self, node: exp.Expr) -> str:
        from sqlglot import exp

        if not isinstance(node, exp.Column):
            _refuse(f"{node.sql('duckdb')[:60]!r} stands where a column is expected.")
        if node.args.get("db") or (node.table and node.table.lower() not in self._tables):
            _refuse(f"There is no table {node.table!r} in this query.")
        return self._columns.find(node.name).name

    def conditions(self, node: exp.Expr) -> Iterator[Condition]:
        """The parts of a conjunction, without recursion: a long AND chain is a deep tree."""
        from sqlglot import exp

        waiting = [node]
        while waiting:
            part = waiting.pop().unnest()
            if isinstance(part, exp.And):
                waiting += [part.expression, part.this]
            else:
                yield self._condition(part)

    def _condition(self, node: exp.Expr) -> Condition:
        from sqlglot import exp

        negated = isinstance(node, exp.Not)
        inner = node.this.unnest() if negated else node
        if isinstance(inner, exp.Is) and isinstance(inner.expression, exp.Null):
            return IsNull(self.column(inner.this), negated)
        if isinstance(inner, exp.In):
            _only_parts(inner, {"this", "expressions"})
            name = self.column(inner.this)
            return InList(name, tuple(self._value(name, v) for v in inner.expressions), negated)
        if isinstance(inner, exp.Between):
            _only_parts(inner, {"this", "low", "high"})
            name = self.column(inner.this)
            low, high = inner.args["low"], inner.args["high"]
            return Between(name, self._value(name, low), self._value(name, high), negated)
        operators: dict[type[exp.Expr], tuple[str, str]] = {
            exp.EQ: ("=", "="), exp.NEQ: ("<>", "<>"), exp.LT: ("<", ">"), exp.LTE: ("<=", ">="),
            exp.GT: (">", "<"), exp.GTE: (">=", "<="),
        }  # fmt: skip
        operator = None if negated else operators.get(type(inner))
        if operator is not None:
            forward, backward = operator
            if isinstance(inner.this.unnest(), exp.Column):
                name = self.column(inner.this.unnest())
                return Compare(name, forward, self._value(name, inner.expression))
            name = self.column(inner.expression.unnest())
            return Compare(name, backward, self._value(name, inner.this))
        _refuse(f"The condition {node.sql('duckdb')[:60]!r} is not supported yet.")

    def _value(self, column: str, node: exp.Expr) -> Any:
        return literal_for(self._columns.find(column), _constant(node))


def _constant(node: exp.Expr) -> Any:
    from sqlglot import exp

    inner = node.unnest()
    if isinstance(inner, exp.Literal):
        if inner.is_string:
            return str(inner.this)
        return int(inner.this) if inner.is_int else _decimal(inner.this)
    if isinstance(inner, exp.Neg):
        value = _constant(inner.this)
        if isinstance(value, int | Decimal | float) and not isinstance(value, bool):
            return -value
    if isinstance(inner, exp.Boolean):
        return bool(inner.this)
    if isinstance(inner, exp.Cast) and inner.to.this.name in ("DATE", "TIMESTAMP"):
        return _constant(inner.this)
    if isinstance(inner, exp.Null):
        _refuse("Comparing with NULL is never true; write IS NULL.")
    if isinstance(inner, exp.Column):
        name = inner.name
        _refuse(f"{name!r} stands where a constant is expected; text is written in single quotes.")
    _refuse(f"{inner.sql('duckdb')[:60]!r} stands where a constant is expected.")


def _decimal(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        _refuse(f"The number {text[:40]!r} is not readable.")
