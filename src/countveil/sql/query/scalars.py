"""sqlglot's nodes -> our expressions over plain columns.

Enters: parsed nodes and the release's columns. Leaves: expressions, type-checked. Must not know:
engines. Only the node types named here are supported; for every other one the error says what is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, NoReturn, ParamSpec, TypeVar

from countveil.errors import QueryError
from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, DATE, NUMBER, TEXT, TIMESTAMP
from countveil.sql.query.expressions import (
    OPERATIONS,
    ColumnReference,
    Constant,
    Expression,
    Operation,
)
from countveil.sql.query.functions import (
    ALIKE,
    ARITHMETIC,
    CALLS,
    CASTS,
    COMPARISONS,
    FUNCTIONS,
    MISSING,
    READERS,
    SUPPORTED,
    SWAPPED,
)
from countveil.sql.query.release_columns import ReleaseColumns, as_kind, matching_classes

if TYPE_CHECKING:
    from sqlglot import exp

Rest = ParamSpec("Rest")
Result = TypeVar("Result")

_DEEPEST = 60
NO = Constant(value=False, kind=BOOLEAN)
_OPERANDS = (
    "this", "expression", "expressions", "start", "length", "decimals", "substr", "replacement",
    "delimiter", "part_index",
)  # fmt: skip


def refuse(what: str, hint: str = SUPPORTED) -> NoReturn:
    """Say what is not supported, and what is."""
    raise QueryError(f"{what} {hint}".rstrip())


def excerpt(node: exp.Expr) -> str:
    """The text of a node, short enough for a message."""
    text = node.sql("duckdb")
    return repr(text if len(text) <= 60 else text[:57] + "...")


def reads_node(
    read: Callable[Concatenate[Any, exp.Expr, Rest], Result],
) -> Callable[Concatenate[Any, exp.Expr, Rest], Result]:
    """For what reads a node: its refusals say where in the text that node is."""

    @wraps(read)
    def reading(self: Any, node: exp.Expr, /, *rest: Rest.args, **named: Rest.kwargs) -> Result:
        try:
            return read(self, node, *rest, **named)
        except QueryError as error:
            from countveil.sql.query.places import note_place

            note_place(error, node)
            raise

    return reading


class ScalarReader:
    """Reads expressions of one query."""

    def __init__(self, columns: ReleaseColumns, alias: str | None) -> None:
        self.columns, self.alias = columns, alias
        self._tables = {"release"} if alias is None else {alias.lower()}

    @reads_node
    def column(self, node: exp.Expr) -> PublishedColumn:
        """The column that a node names."""
        table = node.text("table")
        if node.args.get("db") or (table and table.lower() not in self._tables):
            refuse(f"There is no table {table!r} in this query.")
        return self.columns.find(node.name)

    def sensitive_column(self, node: exp.Expr) -> PublishedColumn | None:
        """The sensitive column that a node is, if it is one."""
        from sqlglot import exp

        inner = node.unnest()
        if isinstance(inner, exp.Column):
            column = self.column(inner)
            return column if column.role == "sensitive" else None
        return None

    def columns_in(self, node: exp.Expr) -> tuple[set[str], set[str]]:
        """The sensitive and the plain columns that a node contains."""
        from sqlglot import exp

        columns = [self.column(part) for part in node.find_all(exp.Column)]
        sensitive = {column.name for column in columns if column.role == "sensitive"}
        return sensitive, {column.name for column in columns} - sensitive

    @reads_node
    def expression(self, node: exp.Expr, depth: int = 0) -> Expression:
        """A node over plain columns."""
        if depth > _DEEPEST:
            refuse(f"The query is nested more than {_DEEPEST} levels deep.")
        inner = node.unnest()
        reader = READERS.get(type(inner).__name__)
        if reader is None:
            refuse_node(inner)
        expression: Expression = getattr(self, reader)(inner, depth)
        return expression

    def only_arguments(self, node: exp.Expr, allowed: set[str]) -> None:
        """Refuse a node that has other arguments than these."""
        for part, value in node.args.items():
            if value and part not in allowed:
                refuse(f"{excerpt(node)} is not supported.")

    def _plain_column(self, node: exp.Expr, _depth: int) -> ColumnReference:
        from sqlglot import exp

        if isinstance(node.this, exp.Star):
            refuse("* is not allowed here; a release answers counts.")
        column = self.column(node)
        if column.role == "sensitive":
            refuse(
                f"Column {column.name!r} is sensitive and cannot be part of an expression.",
                "It supports =, <>, IN, NOT IN, IS NULL and GROUP BY.",
            )
        return ColumnReference(column.name, self.columns.kind(column))

    def _literal(self, node: exp.Expr, depth: int) -> Expression:
        from sqlglot import exp

        if isinstance(node, exp.Null):
            return Constant(None, MISSING)
        if isinstance(node, exp.Boolean):
            return Constant(bool(node.this), BOOLEAN)
        if isinstance(node, exp.Neg):
            inner = self.expression(node.this, depth + 1)
            if isinstance(inner, Constant) and inner.kind == NUMBER:
                return Constant(-inner.value, NUMBER)
            return self._call("negate", (NUMBER,), [node.this], depth)
        if node.is_string:
            return Constant(str(node.this), TEXT)
        try:
            value: int | float = int(node.this) if node.is_int else float(node.this)
        except ValueError:
            refuse(f"The number {node.this[:40]!r} is not readable.")
        if isinstance(value, int) and abs(value) >= 1 << 63:
            # No integer column holds it; as a floating-point number it compares as it should.
            value = float(value) if len(node.this) < 300 else float("inf")
        return Constant(value, NUMBER)

    def _compared(self, node: exp.Expr, depth: int) -> Expression:
        operation = COMPARISONS[type(node).__name__]
        return self._comparison(operation, node.this, node.expression, depth)

    def _calculated(self, node: exp.Expr, depth: int) -> Expression:
        operation = ARITHMETIC[type(node).__name__]
        if operation in ("add", "subtract"):
            from countveil.sql.query.forms.dates import moved_date

            dated = moved_date(self, node, depth)
            if dated is not None:
                return dated
        return self._call(operation, (NUMBER,), [node.this, node.expression], depth)

    def _joined(self, node: exp.Expr, depth: int) -> Expression:
        parts = tuple(self._boolean(part, depth) for part in chain(node, type(node)))
        return Operation(type(node).__name__.lower(), parts, BOOLEAN)

    def _negated(self, node: exp.Expr, depth: int) -> Expression:
        return Operation("not", (self._boolean(node.this, depth),), BOOLEAN)

    def _called(self, node: exp.Expr, depth: int) -> Expression:
        operation, kinds = CALLS[type(node).__name__]
        return self._call(operation, kinds, _operands(node), depth)

    def _chosen(self, node: exp.Expr, depth: int) -> Expression:
        parts = [self.expression(part, depth + 1) for part in _operands(node)]
        return self._alike(ALIKE[type(node).__name__], parts, node)

    def _dated(self, node: exp.Expr, depth: int) -> Expression:
        from countveil.sql.query.forms.dates import read_date

        return read_date(self, node, depth)

    def _special(self, node: exp.Expr, depth: int) -> Expression:
        from countveil.sql.query.forms.special_functions import read_special

        return read_special(self, node, depth)

    def _comparison(
        self, operation: str, left: exp.Expr, right: exp.Expr, depth: int
    ) -> Expression:
        both = [self.expression(part, depth + 1) for part in (left, right)]
        for part in both:
            if isinstance(part, Constant) and part.value is None:
                refuse("Comparing with NULL is never true; write IS NULL.", "")
        classed = self._in_classes(operation, both)
        if classed is not None:
            return classed
        self._check_asked(operation, both)
        return Operation(operation, tuple(aligned(both)), BOOLEAN)

    def _in_classes(self, operation: str, both: Sequence[Expression]) -> Expression | None:
        """The comparison of a column that was put into classes with a number, if it is one."""
        for subject, other in (both, both[::-1]):
            if not isinstance(subject, ColumnReference) or not isinstance(other, Constant):
                continue
            classes = self.columns.plain_classes(self.columns.find(subject.name))
            if classes is None or other.kind != NUMBER:
                continue
            edges, labels = classes
            asked = operation if subject is both[0] else SWAPPED.get(operation, operation)
            matching = matching_classes(subject.name, edges, labels, asked, [other.value])
            constants = (Constant(label, TEXT) for label in matching)
            return Operation("in", (subject, *constants), BOOLEAN)
        return None

    def _check_asked(self, operation: str, parts: Sequence[Expression]) -> None:
        """Refuse to compare a column with values that were replaced before publishing."""
        columns = [part for part in parts if isinstance(part, ColumnReference)]
        swapped = bool(parts) and isinstance(parts[0], Constant)
        asked = SWAPPED.get(operation, operation) if swapped else operation
        for reference in columns:
            column = self.columns.find(reference.name)
            for part in parts:
                if isinstance(part, Constant):
                    self.columns.check_asked(column, asked, part.value)

    def _predicate(self, node: exp.Expr, depth: int) -> Expression:
        from sqlglot import exp

        subject = self.expression(node.this, depth + 1)
        if isinstance(node, exp.Is):
            if isinstance(node.expression, exp.Null):
                return Operation("is_null", (subject,), BOOLEAN)
            if isinstance(node.expression, exp.Boolean) and subject.kind == BOOLEAN:
                truth = subject if node.expression.this else Operation("not", (subject,), BOOLEAN)
                return Operation("coalesce", (truth, NO), BOOLEAN)
            refuse(f"{excerpt(node)} is not supported; IS NULL is.")
        if isinstance(node, exp.In):
            self.only_arguments(node, {"this", "expressions"})
            listed = [self.expression(part, depth + 1) for part in node.expressions]
            if any(isinstance(part, Constant) and part.value is None for part in listed):
                refuse("NULL in a list never matches; write OR ... IS NULL.", "")
            self._check_asked("in", [subject, *listed])
            return Operation("in", tuple(aligned([subject, *listed])), BOOLEAN)
        if isinstance(node, exp.Between):
            self.only_arguments(node, {"this", "low", "high"})
            low = self._comparison("at_least", node.this, node.args["low"], depth)
            high = self._comparison("at_most", node.this, node.args["high"], depth)
            return Operation("and", (low, high), BOOLEAN)
        self.only_arguments(node, {"this", "expression", "negate"})
        operation = "ilike" if isinstance(node, exp.ILike) else "like"
        pattern = self.expression(node.expression, depth + 1)
        if isinstance(subject, ColumnReference) and isinstance(pattern, Constant):
            self.columns.check_pattern(subject.name, pattern.value)
        like = self._call(operation, (TEXT,), [node.this, node.expression], depth)
        return Operation("not", (like,), BOOLEAN) if node.args.get("negate") else like

    def _case(self, node: exp.Expr, depth: int) -> Expression:
        from countveil.sql.query.forms.special_functions import as_case

        node = as_case(node)
        whens = [self._boolean(branch.this, depth) for branch in node.args["ifs"]]
        thens = [self.expression(branch.args["true"], depth + 1) for branch in node.args["ifs"]]
        default = node.args.get("default")
        last = Constant(None, MISSING) if default is None else self.expression(default, depth + 1)
        *results, otherwise = aligned([*thens, last])
        operands = [part for pair in zip(whens, results, strict=True) for part in pair]
        kind = next((part.kind for part in results if part.kind != MISSING), otherwise.kind)
        return Operation("case", (*operands, otherwise), kind)

    def _cast(self, node: exp.Expr, depth: int) -> Expression:
        operation = CASTS.get(node.args["to"].this.name)
        if operation is None:
            refuse(
                f"{excerpt(node)} is not supported.",
                "Casts go to INTEGER, DOUBLE, VARCHAR, DATE, TIMESTAMP or BOOLEAN.",
            )
        inner = self.expression(node.this, depth + 1)
        if (
            isinstance(inner, Constant)
            and inner.kind == TEXT
            and operation in ("to_date", "to_timestamp")
        ):
            kind = DATE if operation == "to_date" else TIMESTAMP
            return Constant(as_kind(inner.value, kind, "The cast"), kind)
        return Operation(operation, (inner,), OPERATIONS[operation])

    def _alike(self, operation: str, parts: list[Expression], node: exp.Expr) -> Expression:
        if not parts:
            refuse(f"{excerpt(node)} has no operands.")
        alike = aligned(parts)
        kind = next((part.kind for part in alike if part.kind != MISSING), MISSING)
        return Operation(operation, tuple(alike), kind)

    def _boolean(self, node: exp.Expr, depth: int) -> Expression:
        condition = self.expression(node, depth + 1)
        if condition.kind not in (BOOLEAN, MISSING):
            refuse(f"{excerpt(node)} is used where a condition is expected.")
        return condition

    def _call(
        self, operation: str, kinds: tuple[str, ...], nodes: list[exp.Expr], depth: int
    ) -> Expression:
        operands = []
        for place, node in enumerate(nodes):
            wanted = kinds[min(place, len(kinds) - 1)]
            operand = self.expression(node, depth + 1)
            fits = {wanted, MISSING} | ({TIMESTAMP} if wanted == DATE else set())
            if operand.kind not in fits:
                refuse(
                    f"{excerpt(node)} is of kind {operand.kind}, but "
                    f"{operation.replace('_', ' ')} needs {wanted}.",
                    "",
                )
            operands.append(operand)
        return Operation(operation, tuple(operands), OPERATIONS[operation])


def refuse_node(node: exp.Expr) -> NoReturn:
    from sqlglot import exp

    if isinstance(node, exp.AggFunc):
        refuse(f"The aggregate {excerpt(node)} is not allowed here.")
    if isinstance(node, exp.Func):
        refuse(f"The function {excerpt(node)} is not supported.", f"Supported: {FUNCTIONS}.")
    if isinstance(node, exp.Query | exp.Subquery):
        refuse("Subqueries are not supported.")
    refuse(f"{excerpt(node)} is not supported.")


def chain(node: exp.Expr, kind: type) -> list[exp.Expr]:
    """The parts of a chain of AND or OR, without recursion: a long chain is a deep tree."""
    parts: list[exp.Expr] = []
    stack = [node]
    while stack:
        part = stack.pop().unnest()
        if isinstance(part, kind):
            stack += [part.expression, part.this]
        else:
            parts.append(part)
    return parts


def _operands(node: exp.Expr) -> list[exp.Expr]:
    """The operands of a call in order; any other argument of the node is refused."""
    operands: list[exp.Expr] = []
    for part in _OPERANDS:
        value = node.args.get(part)
        operands += value if isinstance(value, list) else [value] if value is not None else []
    ignorable = {"safe", "coalesce", "is_string", "null_if", "ignore_nulls", "binary", "encoding"}
    known = {*_OPERANDS, *ignorable}
    extra = [part for part, value in node.args.items() if value and part not in known]
    if extra or not operands:
        refuse(f"{excerpt(node)} is not supported.", f"Supported: {FUNCTIONS}.")
    return operands


def aligned(parts: list[Expression]) -> list[Expression]:
    """Bring operands that are compared or chosen between to one kind, or refuse."""
    kinds = {part.kind for part in parts if not _is_text_constant(part)} - {MISSING}
    if not kinds:
        return parts
    if kinds == {DATE, TIMESTAMP}:
        return [
            Operation("to_timestamp", (part,), TIMESTAMP) if part.kind == DATE else part
            for part in (_as(part, TIMESTAMP) for part in parts)
        ]
    if len(kinds) > 1:
        refuse(f"Values of different kinds are compared: {' and '.join(sorted(kinds))}.", "")
    (kind,) = kinds
    return [_as(part, kind) for part in parts]


def _is_text_constant(part: Expression) -> bool:
    return isinstance(part, Constant) and part.kind == TEXT


def _as(part: Expression, kind: str) -> Expression:
    if not _is_text_constant(part) or kind == TEXT:
        return part
    assert isinstance(part, Constant)  # noqa: S101 - for the type checker
    return Constant(as_kind(part.value, kind, "This comparison"), kind)
