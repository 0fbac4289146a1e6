"""A query as it was written -> one SELECT that the reader of clauses knows.

Enters: a parsed query, and what was handed in with it. Leaves: a SELECT about the table release
alone, without parameters, subqueries and joins. Must not know: engines, estimators. The order
matters: parameters may be anywhere, WITH may name lookups, lookups become CASE.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from countveil.release import PublishedColumn
from countveil.sql.query.expressions import sensitive_tests
from countveil.sql.query.forms.conditional import put_filters
from countveil.sql.query.forms.lookups import lookup_named, put_lookups
from countveil.sql.query.forms.parameters import constant_node, put_parameters
from countveil.sql.query.forms.subqueries import conjuncts, flattened
from countveil.sql.query.plan import aggregates_of
from countveil.sql.query.release_columns import ReleaseColumns
from countveil.sql.query.scalars import ScalarReader, refuse

if TYPE_CHECKING:
    from sqlglot import exp

    from countveil.sql.query.parse import Inputs
    from countveil.sql.query.question import Question

_ESTIMATED = (
    "Ask for it first, and write its number into the query: the interval of the answer cannot "
    "know how uncertain that number is."
)


def rewritten(query: exp.Expr, columns: ReleaseColumns, inputs: Inputs) -> exp.Expr:
    """One SELECT about the release."""
    from sqlglot import exp

    put_parameters(query, inputs.params)
    if not isinstance(query, exp.Select):
        return query
    if query.find(exp.Exists) is not None:
        refuse(
            "EXISTS (SELECT ...) is not supported.",
            "Join the lookup table, or write x IN (SELECT x FROM lookup).",
        )
    _spread_patterns(query)
    known: dict[str, exp.Expr] = {}
    clause = query.args.get("with_")
    for cte in clause.expressions if clause is not None else ():
        known[cte.alias.lower()] = cte.this
    _put_lists(query, inputs, columns)
    _put_scalars(query, known, inputs, columns)
    select = flattened(query, {})
    put_lookups(select, columns, inputs.tables)
    put_filters(select)
    _move_conditions(select, columns)
    return select


def flat_text(text: str, columns: ReleaseColumns, inputs: Inputs) -> str:
    """A query as text about the release alone, without what was handed in with it."""
    from countveil.sql.query.parse import parse_text

    return rewritten(parse_text(text), columns, inputs).sql("duckdb")


def _put_lists(query: exp.Expr, inputs: Inputs, columns: ReleaseColumns) -> None:
    """X IN (SELECT column FROM lookup WHERE ...): the values themselves."""
    from sqlglot import exp

    for node in list(query.find_all(exp.In)):
        listed = node.args.get("query")
        if listed is None:
            _spread(node)
            continue
        inner = listed.unnest() if isinstance(listed, exp.Subquery) else listed
        values = _lookup_values(inner, inputs, columns)
        node.set("query", None)
        node.set("expressions", [constant_node(value) for value in values if value is not None])


def _spread_patterns(query: exp.Expr) -> None:
    """X LIKE ANY ('a%', 'b%') is x LIKE 'a%' OR x LIKE 'b%'."""
    from sqlglot import exp

    for node in list(query.find_all(exp.Like, exp.ILike)):
        if isinstance(node.expression, exp.Any):
            listed = node.expression.this.unnest()
            patterns = listed.expressions or [listed]
            likes = [type(node)(this=node.this.copy(), expression=p.copy()) for p in patterns]
            either = exp.Paren(this=exp.or_(*likes))
            node.replace(exp.Not(this=either) if node.args.get("negate") else either)


def _spread(node: exp.Expr) -> None:
    """A parameter may be a list: x IN (?) and x IN ?."""
    from sqlglot import exp

    values: list[exp.Expr] = []
    for value in [*node.expressions, *([node.args["field"]] if node.args.get("field") else [])]:
        values += value.expressions if isinstance(value, exp.Tuple) else [value]
    node.set("field", None)
    node.set("expressions", values)


def _lookup_values(select: exp.Expr, inputs: Inputs, columns: ReleaseColumns) -> list[Any]:
    from sqlglot import exp

    source = select.args.get("from_") if isinstance(select, exp.Select) else None
    names = [item.unalias() for item in select.expressions]
    extra = [
        part
        for part, value in select.args.items()
        if value and part not in ("expressions", "from_", "where", "distinct", "kind")
    ]
    if source is None or len(names) != 1 or not isinstance(names[0], exp.Column) or extra:
        refuse(
            "IN (SELECT ...) is supported for one column of a lookup table.",
            "Write the values into the query, or join the lookup.",
        )
    lookup = lookup_named(source.this, inputs.tables)
    by_name = {name.lower(): values for name, values in lookup.items()}
    name = names[0].name.lower()
    if name not in by_name:
        refuse(f"The lookup table has no column {names[0].name!r}.", f"It has {', '.join(lookup)}.")
    where = select.args.get("where")
    values = list(by_name[name])
    if where is not None:
        chosen = _chosen(where.this, by_name, source.this, columns)
        values = [value for value, holds in zip(values, chosen, strict=True) if holds]
    return list(dict.fromkeys(values))


def _chosen(
    condition: exp.Expr,
    lookup: Mapping[str, Sequence[Any]],
    table: exp.Expr,
    columns: ReleaseColumns,
) -> list[Any]:
    """Which rows of a lookup meet a condition."""
    reader = ScalarReader(_columns_of(lookup), str(table.alias_or_name))
    return columns.evaluated_rows(reader.expression(condition), lookup)


def _columns_of(lookup: Mapping[str, Sequence[Any]]) -> ReleaseColumns:
    """The columns of a lookup, as those of a table without sensitive ones."""
    types: dict[type, str] = {
        bool: "bool", int: "int64", float: "double", str: "string", dt.datetime: "timestamp[us]",
        dt.date: "date32[day]",
    }  # fmt: skip
    columns = []
    for name, values in lookup.items():
        kinds = {type(value) for value in values if value is not None}
        kind = float if kinds == {int, float} else next(iter(kinds), str)
        columns.append(PublishedColumn(name, types.get(kind, "other"), "plain"))
    return ReleaseColumns(columns, where="the lookup table")


def _put_scalars(
    query: exp.Expr, known: Mapping[str, exp.Expr], inputs: Inputs, columns: ReleaseColumns
) -> None:
    """A subquery that is one exact number: the number itself."""
    from sqlglot import exp

    from countveil.sql.query.parse import question_of

    for node in list(query.find_all(exp.Subquery)):
        if isinstance(node.parent, exp.From | exp.Join | exp.CTE) or node.parent is None:
            continue
        if node.find_ancestor(exp.Subquery) or not isinstance(node.this, exp.Select):
            continue
        select = node.this.copy()
        if known:
            ctes = [
                exp.CTE(this=inner.copy(), alias=exp.TableAlias(this=exp.to_identifier(name)))
                for name, inner in known.items()
            ]
            select.set("with_", exp.With(expressions=ctes))
        question = question_of(select, columns, inputs)
        if question.keys or len(question.outputs) != 1:
            refuse("A subquery in a condition must be one number, such as (SELECT avg(x) ...).")
        if _is_estimated(question) or inputs.exact is None:
            refuse("A subquery about a sensitive column is an estimate, not a number.", _ESTIMATED)
        node.replace(constant_node(inputs.exact(question)))


def _is_estimated(question: Question) -> bool:
    aggregates = aggregates_of(question)
    tests = (test for a in aggregates for test in sensitive_tests(a.condition))
    return any(a.measured for a in aggregates) or next(tests, None) is not None


def _move_conditions(select: exp.Expr, columns: ReleaseColumns) -> None:
    """Conditions of HAVING that are about what is grouped by belong to WHERE."""
    from sqlglot import exp

    having = select.args.get("having")
    if having is None or select.args.get("group") is None:
        return
    named = {item.alias.lower(): item.unalias() for item in select.expressions if item.alias}
    kept: list[exp.Expr] = []
    moved: list[exp.Expr] = []
    for part in conjuncts(having.this):
        resolved = exp.Paren(this=part.copy())
        for column in list(resolved.find_all(exp.Column)):
            meaning = named.get(column.name.lower())
            if meaning is not None and not column.table and not columns.knows(column.name):
                column.replace(exp.Paren(this=meaning.copy()))
        counts = resolved.find(exp.AggFunc) is not None
        (kept if counts else moved).append(part if counts else resolved.this)
    if moved:
        where = select.args.get("where")
        parts = [*([where.this] if where is not None else []), *moved]
        joined = exp.and_(*(exp.Paren(this=part.copy()) for part in parts))
        select.set("where", exp.Where(this=joined))
        left = exp.and_(*(part.copy() for part in kept)) if kept else None
        select.set("having", None if left is None else exp.Having(this=left))
