"""SQL text -> a question, or the formula of a condition.

Enters: SQL text and the release's columns. Leaves: a `Question` or a `Formula`.
Must not know: any engine, any estimator. sqlglot parses the text and we read it clause by clause;
none of the text reaches an engine.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from countveil.errors import QueryError
from countveil.sql.query.expressions import (
    TRUE,
    AllOf,
    Formula,
)
from countveil.sql.query.functions import SUPPORTED
from countveil.sql.query.plan import TallyPlan, plan_question
from countveil.sql.query.question import GroupKey, Having, Ordering, Question, SelectedItem
from countveil.sql.query.release_columns import ReleaseColumns
from countveil.sql.query.scalars import excerpt, reads_node, refuse
from countveil.sql.query.select import LONGEST_QUERY, MOST_BRACKETS, check_readable
from countveil.sql.query.translate import MeasureReader, Translator

if TYPE_CHECKING:
    from sqlglot import exp

_CLAUSES = {
    "with_": "WITH", "with": "WITH", "joins": "A second table",
    "laterals": "LATERAL", "windows": "WINDOW", "qualify": "QUALIFY", "into": "INTO",
}  # fmt: skip
# With one of these a query is rewritten first.
_REWRITTEN = {
    "Subquery", "With", "Join", "Placeholder", "Parameter", "Having", "CountIf", "Case", "If",
    "Tuple", "Any", "Exists",
}  # fmt: skip
# So are these, unless they are of a column.
_OF_COLUMNS = {"Sum", "Avg"}
_READ = {
    "expressions", "from_", "from", "where", "group", "having", "order", "limit", "offset", "kind",
    "distinct",
}  # fmt: skip


@dataclass(frozen=True)
class Inputs:
    """What is handed in beside a query.

    `params`: the values of its parameters. `tables`: small lookup tables by name, each with its
    columns. `exact` answers a question about plain columns alone.
    """

    params: Sequence[Any] | Mapping[str, Any] = ()
    tables: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    exact: Callable[[Question], Any] | None = None


_NOTHING = Inputs()
_MOST_REMEMBERED = 512
_MOST_CELLS_REMEMBERED = 4096


def parse_question(
    text: str, columns: ReleaseColumns, inputs: Inputs = _NOTHING, *, in_series: bool = False
) -> Question:
    """Read a whole query.

    `in_series`: others came before it, which may differ in their constants alone.
    """
    try:
        known = _of_shape(text, columns, inputs) if in_series else None
        return known or question_of(parse_text(text), columns, inputs)
    except RecursionError as error:
        raise QueryError(f"The query is nested too deeply. {SUPPORTED}") from error


def _of_shape(text: str, columns: ReleaseColumns, inputs: Inputs) -> Question | None:
    """The question, if the text has a shape that was parsed before and is not refused."""
    from countveil.sql.query.forms.shapes import tree_of_shape

    try:
        tree = tree_of_shape(text, parse_text)
        return None if tree is None else question_of(tree, columns, inputs)
    except QueryError:
        # Parsed as it is, so that the message is about the text as it was written.
        return None


class QuestionReader:
    """Reads queries about one release, and remembers those that come again."""

    def __init__(self, columns: ReleaseColumns) -> None:
        self._columns = columns
        self._known: OrderedDict[Any, Question] = OrderedDict()
        self._plans: OrderedDict[int, tuple[Question, TallyPlan]] = OrderedDict()

    def plan(self, question: Question) -> TallyPlan:
        """What to tally for a question; planned once for one that is remembered."""
        known = self._plans.get(id(question))
        if known is not None and known[0] is question:
            return known[1]
        plan = plan_question(question, self._columns)
        if plan.where_of.size <= _MOST_CELLS_REMEMBERED:
            # With the question itself, so that its id stays its own.
            self._plans[id(question)] = question, plan
            if len(self._plans) > _MOST_REMEMBERED:
                self._plans.popitem(last=False)
        return plan

    def question(self, text: str, inputs: Inputs) -> Question:
        """The question of a text; it is parsed once for the same parameters."""
        # Equal is not the same: 1, 1.0 and TRUE.
        key = None if inputs.tables else (text, repr(inputs.params))
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        question = parse_question(text, self._columns, inputs, in_series=bool(self._known))
        if key is not None:
            self._known[key] = question
            if len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
        return question


def question_of(select: exp.Expr, columns: ReleaseColumns, inputs: Inputs) -> Question:
    """Read a parsed query."""
    from sqlglot import exp

    if inputs.params or any(map(_is_rewritten, select.walk())):
        from countveil.sql.query.forms.rewriting import rewritten

        select = rewritten(select, columns, inputs)
    if not isinstance(select, exp.Select):
        refuse(f"{type(select).__name__.upper()} is not supported.")
    for part, value in select.args.items():
        if value and part not in _READ:
            refuse(f"{_CLAUSES.get(part, part.strip('_').upper())} is not supported.")
    translator = Translator(columns, _check_table(select))
    where_node = select.args.get("where")
    where: Formula = TRUE if where_node is None else translator.formula(where_node.this)
    return _Reader(select, translator, columns, where).question()


def _is_rewritten(node: exp.Expr) -> bool:
    kind = type(node).__name__
    return kind in _REWRITTEN or (
        kind in _OF_COLUMNS and type(node.this).__name__ not in ("Column", "Literal")
    )


def parse_where(text: str, columns: ReleaseColumns, *, in_series: bool = False) -> Formula:
    """The formula of a bare WHERE text; an empty text is always true."""
    if not text.strip():
        return AllOf(())
    query = f"SELECT count(*) FROM release WHERE ({text}\n)"
    return parse_question(query, columns, in_series=in_series).where


def parse_text(text: str) -> exp.Expr:
    """What sqlglot makes of one statement."""
    import sqlglot
    from sqlglot.errors import SqlglotError

    if len(text) > LONGEST_QUERY or text.count("[") > MOST_BRACKETS:
        check_readable(text)
    try:
        text.encode()
        # sqlglot would log what it cannot parse; the error below says it.
        logging.getLogger("sqlglot").disabled = True
        statements = [s for s in sqlglot.parse(text, read="duckdb") if s is not None]
    except (SqlglotError, UnicodeEncodeError) as error:
        refusal = QueryError(f"The query is not readable SQL. {SUPPORTED}")
        if isinstance(error, SqlglotError):
            from countveil.sql.query.places import syntax_place

            refusal.place = syntax_place(error, text)
        raise refusal from error
    if len(statements) != 1:
        number = f"{len(statements)} statements" if statements else "no statement"
        refuse(f"The text holds {number}; one SELECT is needed.")
    return statements[0]


def _check_table(select: exp.Expr) -> str | None:
    source = select.args.get("from_") or select.args.get("from")
    if source is None:
        refuse("The query names no table; the only one is called release.")
    return _table_alias(select, source.this)


@reads_node
def _table_alias(_select: exp.Expr, table: exp.Expr) -> str | None:
    from sqlglot import exp

    if not isinstance(table, exp.Table) or not isinstance(table.this, exp.Identifier):
        refuse("Only the table release can be queried.")
    if table.name.lower() != "release" or table.args.get("db") or table.args.get("catalog"):
        refuse(f"There is no table {excerpt(table)}; the only one is called release.")
    for part, value in table.args.items():
        if value and part not in ("this", "alias"):
            refuse(f"{part.strip('_').upper()} is not supported.")
    return str(table.alias) or None


class _Reader:
    """Reads the clauses of one SELECT, which refer to each other by alias and by position."""

    def __init__(
        self, select: exp.Expr, translator: Translator, columns: ReleaseColumns, where: Formula
    ) -> None:
        self._select = select
        self._translator = translator
        self._columns = columns
        self._where = where
        self._measures = MeasureReader(translator, where)
        self._measures.key = self._grouped_key
        self._items = list(select.expressions)
        self._keys: list[GroupKey] = []
        self._sets: tuple[tuple[int, ...], ...] = ()

    def question(self) -> Question:
        from sqlglot import exp

        for item in self._items:
            if isinstance(item.unalias(), exp.Star):
                refuse("SELECT * would print rows; a release answers counts.")
        self._keys = self._group_by()
        outputs = [self._output(item) for item in self._items]
        measured = [output for output in outputs if output.what == "measure"]
        if not measured:
            self._list_values()
        labels = [output.label for output in measured]
        if len(measured) > 1 and (len(set(labels)) < len(labels) or not all(labels)):
            refuse(
                "With several aggregates each needs a name of its own.",
                "Write count(*) AS n, sum(x) AS total.",
            )
        having, order = self._having(), self._ordering()
        if any(measure.listing is not None for measure in self._measures.measures):
            from countveil.sql.query.forms.listings import check_groups

            check_groups(self._keys)
        return Question(
            self._where,
            tuple(self._keys),
            self._measures.measures,
            tuple(outputs),
            having,
            order,
            self._number("limit"),
            self._number("offset") or 0,
            self._sets,
        )

    def _list_values(self) -> None:
        """Without an aggregate: which values occur."""
        from sqlglot import exp

        from countveil.sql.query.forms.listings import check_listed

        check_listed(self._where, self._keys, chosen=bool(self._select.args.get("having")))
        self._measures.number(exp.Count(this=exp.Star()))

    @reads_node
    def _output(self, item: exp.Expr) -> SelectedItem:
        inner = item.unalias()
        if self._measures.is_measure(inner):
            return SelectedItem("measure", self._measures.number(inner), str(item.alias))
        key = self._key(inner)
        if key not in self._keys:
            add = "add GROUP BY" if self._select.args.get("group") is None else "add it to GROUP BY"
            refuse(f"{excerpt(inner)} is selected but not grouped: {add}.")
        return SelectedItem("key", self._keys.index(key), str(item.alias) or self._label(inner))

    def _label(self, node: exp.Expr) -> str:
        return self._translator.column(node).name if node.key == "column" else node.sql("duckdb")

    @reads_node
    def _key(self, node: exp.Expr) -> GroupKey:
        sensitive = self._translator.sensitive_column(node)
        if sensitive is not None:
            return GroupKey(None, sensitive.name)
        if self._translator.columns_in(node)[0]:
            from countveil.sql.query.forms.sensitive_sets import parts_of

            return GroupKey(None, None, parts_of(self._translator, node))
        return GroupKey(self._translator.expression(node), None)

    def _grouped_key(self, node: exp.Expr) -> GroupKey:
        key = self._key(self._resolved(node, "PARTITION BY"))
        if key not in self._keys:
            refuse(f"PARTITION BY {excerpt(node)} is not grouped by.", "")
        return key

    def _group_by(self) -> list[GroupKey]:
        from sqlglot import exp

        group = self._select.args.get("group")
        plain_items = [i for i in self._items if not self._measures.is_measure(i.unalias())]
        if group is None:
            distinct = self._select.args.get("distinct")
            if distinct is None:
                return []
            if distinct.args.get("on"):
                refuse("DISTINCT ON is not supported.")
            return list(dict.fromkeys(self._key(item.unalias()) for item in plain_items))
        if group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
            return self._group_by_sets(group)
        for part, value in group.args.items():
            if value and part not in ("expressions", "all"):
                refuse(f"GROUP BY {part.strip('_').upper()} is not supported.")
        if group.args.get("all"):
            nodes = [item.unalias() for item in plain_items]
        else:
            nodes = [self._resolved(node, "GROUP BY") for node in group.expressions]
        for node in nodes:
            if isinstance(node, exp.AggFunc):
                refuse("An aggregate cannot be grouped by.")
        return list(dict.fromkeys(self._key(node) for node in nodes))

    def _group_by_sets(self, group: exp.Expr) -> list[GroupKey]:
        from countveil.sql.query.forms.grouping_sets import grouping_sets

        sets = [
            [self._key(self._resolved(node, "GROUP BY")) for node in nodes]
            for nodes in grouping_sets(group)
        ]
        keys = list(dict.fromkeys(key for one in sets for key in one))
        self._sets = tuple(tuple(sorted({keys.index(key) for key in one})) for one in sets)
        return keys

    def _resolved(self, node: exp.Expr, clause: str) -> exp.Expr:
        """A position or an alias refers to a selected item."""
        from sqlglot import exp

        inner = node.unnest()
        if isinstance(inner, exp.Literal) and inner.is_int:
            position = int(inner.this)
            if not 1 <= position <= len(self._items):
                refuse(f"{clause} {position} points outside the selected columns.")
            return self._item(position - 1)
        return self._named(inner)

    def _item(self, place: int) -> exp.Expr:
        item: exp.Expr = self._items[place].unalias()
        return item

    def _named(self, node: exp.Expr) -> exp.Expr:
        """An alias refers to a selected item, unless a column has that name."""
        from sqlglot import exp

        inner = node.unnest()
        if isinstance(inner, exp.Column) and not inner.table:
            for place, item in enumerate(self._items):
                named = item.alias and item.alias.lower() == inner.name.lower()
                if named and not self._columns.knows(inner.name):
                    return self._item(place)
        return inner

    def _having(self) -> Having | None:
        node = self._select.args.get("having")
        if node is None:
            return None
        return self._measures.having(node.this, self._named)

    def _ordering(self) -> tuple[Ordering, ...]:
        clause = self._select.args.get("order")
        orderings = []
        for item in clause.expressions if clause is not None else ():
            node = self._resolved(item.this, "ORDER BY")
            descending = bool(item.args.get("desc"))
            missing_first = bool(item.args.get("nulls_first"))
            if self._measures.is_measure(node):
                number = self._measures.number(node)
                orderings.append(Ordering("measure", number, descending, missing_first))
                continue
            key = self._key(node)
            if key not in self._keys:
                refuse(f"ORDER BY {excerpt(node)} is neither selected nor grouped by.")
            orderings.append(Ordering("key", self._keys.index(key), descending, missing_first))
        return tuple(orderings)

    def _number(self, clause: str) -> int | None:
        from sqlglot import exp

        node = self._select.args.get(clause)
        if node is None:
            return None
        value = node.expression
        more = any(part for name, part in node.args.items() if name != "expression")
        if not isinstance(value, exp.Literal) or not value.is_int or more:
            refuse(f"{clause.upper()} needs a whole number.")
        return int(value.this)
