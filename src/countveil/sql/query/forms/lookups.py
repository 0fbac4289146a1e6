"""Small tables that the analyst hands in -> expressions of the release's columns.

Enters: a parsed query that joins such tables, and their rows. Leaves: a query about the release
alone. Must not know: engines, estimators, where the tables came from.

A lookup gives every value of a column of the release at most one row, so each of its columns is an
expression of that column: CASE WHEN country IN ('MX', 'US') THEN 'north' ... END. An inner join
also keeps only the rows that have a match.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from countveil.errors import option
from countveil.sql.query.forms.parameters import constant_node
from countveil.sql.query.forms.subqueries import conjuncts
from countveil.sql.query.scalars import excerpt, refuse

if TYPE_CHECKING:
    from sqlglot import exp

    from countveil.sql.query.release_columns import ReleaseColumns

Lookups = Mapping[str, Mapping[str, Sequence[Any]]]
MOST_ROWS = 10_000
_HINT = (
    "A query can join the release with small lookup tables, such as FROM release JOIN regions ON "
    "release.country = regions.country, if each row of the release matches at most one row."
)


def put_lookups(select: exp.Expr, columns: ReleaseColumns, lookups: Lookups) -> None:
    """Replace all joins of a SELECT."""
    _put_release_first(select)
    for join in select.args.pop("joins", None) or ():
        _Joined(select, join, columns, lookups).put()


def lookup_named(table: exp.Expr, lookups: Lookups) -> Mapping[str, Sequence[Any]]:
    """The lookup of this name."""
    from sqlglot import exp

    if not isinstance(table, exp.Table) or table.args.get("db"):
        refuse("A join with a subquery is not supported.", _HINT)
    for name, lookup in lookups.items():
        if name.lower() == table.name.lower():
            return lookup
    if table.name.lower() == "release":
        refuse("The release cannot be joined with itself.", _HINT)
    listed = f"Known: {', '.join(lookups)}." if lookups else "None was given."
    return refuse(
        f"There is no lookup table {table.name!r}; {option('tables')} hands them in. {listed}",
        _HINT,
    )


def _put_release_first(select: exp.Expr) -> None:
    """FROM regions JOIN release is FROM release JOIN regions, if both need a match."""
    from sqlglot import exp

    source, joins = select.args.get("from_"), select.args.get("joins")
    if source is None or not joins or source.this.name.lower() == "release":
        return
    for join in joins:
        first, second = source.this, join.this
        named = isinstance(second, exp.Table) and second.name.lower() == "release"
        if named and not join.text("side") and join.text("kind") in ("", "INNER"):
            source.set("this", second.copy())
            join.set("this", first.copy())
            return


class _Joined:
    """One join with a lookup."""

    def __init__(
        self, select: exp.Expr, join: exp.Expr, columns: ReleaseColumns, lookups: Lookups
    ) -> None:
        self._select, self._join, self._columns = select, join, columns
        self._lookup = {n.lower(): list(v) for n, v in lookup_named(join.this, lookups).items()}
        self._table = str(join.this.alias or join.this.name).lower()
        source = select.args["from_"].this
        self._release = str(source.alias or source.name)
        self._side, kind = join.text("side"), join.text("kind")
        if self._side not in ("", "LEFT") or kind not in ("", "INNER", "OUTER", "CROSS"):
            refuse(f"{self._side or kind} JOIN is not supported; JOIN and LEFT JOIN are.", "")

    def put(self) -> None:
        """Replace the columns of the lookup in the query, and keep what matches."""
        from sqlglot import exp

        keys = self._keys()
        rows = self._listed(self._rows([name for name, _ in keys]), [node for _, node in keys])
        for column in list(self._select.find_all(exp.Column)):
            if self._is_mine(column):
                name = column.name.lower()
                meaning = self._case([node for _, node in keys], rows, name)
                selected = isinstance(column.parent, exp.Select) and column.arg_key == "expressions"
                label = exp.to_identifier(column.name, quoted=True)
                new: exp.Expr = exp.Alias(this=meaning, alias=label) if selected else meaning
                column.replace(new)
        if self._side != "LEFT":
            self._keep_matching([node for _, node in keys], rows)

    def _is_mine(self, column: exp.Expr) -> bool:
        table, name = column.text("table").lower(), column.name.lower()
        if table:
            if table == self._table and name not in self._lookup:
                listed = ", ".join(self._lookup)
                refuse(f"The table {self._table!r} has no column {name!r}.", f"It has {listed}.")
            return table == self._table
        return name in self._lookup and not self._columns.knows(name)

    def _keys(self) -> list[tuple[str, exp.Expr]]:
        """The columns of the lookup by which it is joined, and what each must equal."""
        from sqlglot import exp

        using = [str(name.name) for name in self._join.args.get("using") or ()]
        if self._join.args.get("method") == "NATURAL":
            using = [name for name in self._lookup if self._columns.knows(name)]
        if using:
            return [(n.lower(), exp.column(n, table=self._release)) for n in using]
        condition = self._join.args.get("on")
        keys = [self._pair(part) for part in conjuncts(condition)]
        if condition is None:
            keys = self._keys_of_where()
        if not keys or None in keys:
            refuse(
                f"{excerpt(condition) if condition is not None else 'The join'} does not compare "
                f"columns of {self._table!r} with the release by =.",
                _HINT,
            )
        return [key for key in keys if key is not None]

    def _keys_of_where(self) -> list[tuple[str, exp.Expr] | None]:
        """FROM release, regions WHERE release.country = regions.country."""
        from sqlglot import exp

        where = self._select.args.get("where")
        parts = conjuncts(where.this) if where is not None else []
        keys = {id(part): self._pair(part) for part in parts}
        rest = [part.copy() for part in parts if keys[id(part)] is None]
        self._select.set("where", exp.Where(this=exp.and_(*rest)) if rest else None)
        return [key for key in keys.values() if key is not None]

    def _pair(self, node: exp.Expr) -> tuple[str, exp.Expr] | None:
        """The column of the lookup and the expression that one equality is about."""
        from sqlglot import exp

        if not isinstance(node, exp.EQ):
            return None
        for one, other in ((node.this, node.expression), (node.expression, node.this)):
            mine = isinstance(one, exp.Column) and self._is_mine(one)
            if mine and not any(self._is_mine(c) for c in other.find_all(exp.Column)):
                return one.name.lower(), other.copy()
        return None

    def _rows(self, keys: Sequence[str]) -> dict[tuple[Any, ...], int]:
        """The row of each combination of keys."""
        lost = [name for name in keys if name not in self._lookup]
        if lost:
            listed = ", ".join(self._lookup)
            refuse(f"The table {self._table!r} has no column {lost[0]!r}.", f"It has {listed}.")
        rows: dict[tuple[Any, ...], int] = {}
        for number, key in enumerate(zip(*(self._lookup[name] for name in keys), strict=True)):
            if None in key or any(value != value for value in key):  # noqa: PLR0124 - NaN
                continue
            if key in rows:
                refuse(
                    f"The table {self._table!r} has several rows for one value of "
                    f"{', '.join(keys)}, so rows of the release would count several times.",
                    _HINT,
                )
            rows[key] = number
        if len(rows) > MOST_ROWS:
            refuse(f"{self._table!r} has {len(rows):,} rows; at most {MOST_ROWS:,} are joined.", "")
        return rows

    def _listed(
        self, rows: dict[tuple[Any, ...], int], nodes: Sequence[exp.Expr]
    ) -> dict[tuple[Any, ...], int]:
        """Without the rows that no row of the release can match, as far as it is known."""
        from sqlglot import exp

        for place, node in enumerate(nodes):
            name = node.unnest().name if isinstance(node.unnest(), exp.Column) else ""
            if name and self._columns.knows(name):
                domain = set(self._columns.domain(self._columns.find(name).name))
                if domain:
                    rows = {key: number for key, number in rows.items() if key[place] in domain}
        return rows

    def _case(
        self, nodes: Sequence[exp.Expr], rows: Mapping[tuple[Any, ...], int], name: str
    ) -> exp.Expr:
        """What a column of the lookup is for each row of the release."""
        from sqlglot import exp

        by_value: dict[Any, list[tuple[Any, ...]]] = {}
        for key, number in rows.items():
            by_value.setdefault(self._lookup[name][number], []).append(key)
        ifs = [
            exp.If(this=_matches(nodes, keys), true=constant_node(value))
            for value, keys in by_value.items()
            if value is not None
        ]
        return exp.Paren(this=exp.Case(ifs=ifs)) if ifs else exp.Null()

    def _keep_matching(
        self, nodes: Sequence[exp.Expr], rows: Mapping[tuple[Any, ...], int]
    ) -> None:
        from sqlglot import exp

        where = self._select.args.get("where")
        matching = exp.Paren(this=_matches(nodes, list(rows)))
        parts = [matching] if where is None else [exp.Paren(this=where.this.copy()), matching]
        self._select.set("where", exp.Where(this=exp.and_(*parts)))


def _matches(nodes: Sequence[exp.Expr], keys: Sequence[tuple[Any, ...]]) -> exp.Expr:
    """The condition that the release's row has one of these keys."""
    from sqlglot import exp

    if not keys:
        return exp.Boolean(this=False)
    if len(nodes) == 1:
        return exp.In(this=nodes[0].copy(), expressions=[constant_node(key) for (key,) in keys])
    rows = [
        exp.and_(
            *(
                exp.EQ(this=node.copy(), expression=constant_node(value))
                for node, value in zip(nodes, key, strict=True)
            )
        )
        for key in keys
    ]
    return rows[0] if len(rows) == 1 else exp.or_(*rows)
