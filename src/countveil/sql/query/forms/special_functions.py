"""Forms of expressions that are others in disguise: IF, CASE of a value, prefixes, NULL as a value.

Enters: nodes of sqlglot, and the reader of what is inside them. Leaves: expressions made of
operations that every engine has. Must not know: columns, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from countveil.release.values import BOOLEAN, NUMBER, TEXT
from countveil.sql.query.expressions import Constant, Expression, Operation
from countveil.sql.query.functions import AFFIXES, MISSING
from countveil.sql.query.scalars import NO, aligned, excerpt, refuse, refuse_node

if TYPE_CHECKING:
    from sqlglot import exp

    from countveil.sql.query.scalars import ScalarReader


def read_special(reader: ScalarReader, node: exp.Expr, depth: int) -> Expression:
    """A node that is another in disguise."""
    from sqlglot import exp

    if isinstance(node, exp.NullSafeEQ | exp.NullSafeNEQ):
        return _same(reader, node, depth)
    if not isinstance(node, exp.Anonymous):
        return _affixed(reader, node, depth)
    return reader.expression(_known_by_name(node), depth + 1)


def as_case(node: exp.Expr) -> exp.Case:
    """IF, and CASE with an operand, as a CASE with conditions."""
    from sqlglot import exp

    if isinstance(node, exp.If):
        branch = exp.If(this=node.this.copy(), true=node.args["true"].copy())
        default = node.args.get("false")
        return exp.Case(ifs=[branch], default=None if default is None else default.copy())
    assert isinstance(node, exp.Case)  # noqa: S101 - the only other kind
    if node.this is None:
        return node
    ifs = [
        exp.If(
            this=exp.EQ(this=node.this.copy(), expression=branch.this.copy()),
            true=branch.args["true"].copy(),
        )
        for branch in node.args["ifs"]
    ]
    return exp.Case(ifs=ifs, default=node.args.get("default"))


def _known_by_name(node: exp.Expr) -> exp.Expr:
    """A function that sqlglot has no type for, as one that it has."""
    from sqlglot import exp

    name, operands = str(node.this).lower(), node.expressions
    if name in ("date_part", "datepart") and len(operands) == 2:
        return exp.Extract(this=exp.Var(this=operands[0].name), expression=operands[1])
    if name in ("prefix", "suffix") and len(operands) == 2:
        affix = exp.StartsWith if name == "prefix" else exp.EndsWith
        return affix(this=operands[0], expression=operands[1])
    if name == "iff" and len(operands) == 3:
        return exp.If(this=operands[0], true=operands[1], false=operands[2])
    return refuse_node(node)


def _affixed(reader: ScalarReader, node: exp.Expr, depth: int) -> Expression:
    """What a text begins with, ends with or contains."""
    kind = AFFIXES[type(node).__name__]
    subject = reader.expression(node.this, depth + 1)
    part = reader.expression(node.expression, depth + 1)
    if subject.kind not in (TEXT, MISSING) or part.kind != TEXT:
        refuse(f"{excerpt(node)} needs two texts.", "")
    if not isinstance(part, Constant):
        refuse(f"{excerpt(node)} needs a constant as its second operand.", "")
    if kind == "contains":
        place = Operation("position", (subject, part), NUMBER)
        return Operation("greater", (place, Constant(0, NUMBER)), BOOLEAN)
    if not part.value:
        return Operation("equal", (subject, subject), BOOLEAN)
    end = Operation(kind, (subject, Constant(len(part.value), NUMBER)), TEXT)
    return Operation("equal", (end, part), BOOLEAN)


def _same(reader: ScalarReader, node: exp.Expr, depth: int) -> Expression:
    """IS [NOT] DISTINCT FROM: missing equals missing."""
    from sqlglot import exp

    both = aligned([reader.expression(part, depth + 1) for part in (node.this, node.expression)])
    missing = [Operation("is_null", (part,), BOOLEAN) for part in both]
    equal = Operation("coalesce", (Operation("equal", tuple(both), BOOLEAN), NO), BOOLEAN)
    same = Operation("or", (equal, Operation("and", tuple(missing), BOOLEAN)), BOOLEAN)
    return same if isinstance(node, exp.NullSafeEQ) else Operation("not", (same,), BOOLEAN)
