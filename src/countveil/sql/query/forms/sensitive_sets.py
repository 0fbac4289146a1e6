"""Expressions that touch sensitive columns -> formulas: sets of values, and parts of a partition.

Enters: nodes of sqlglot that contain a sensitive column. Leaves: a `Formula` for a condition, and
for something grouped by the value and the formula of each part. Must not know: rows, estimators.

The values of a sensitive column are listed in the release, so an expression of that column alone is
evaluated once for each: `left(code, 1) = 'I'` is the set of codes for which it is true. CASE with
conditions on several columns is taken apart branch by branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from countveil.release.values import BOOLEAN, NUMBER, TEXT
from countveil.sql.query.expressions import (
    AllOf,
    AnyOf,
    ColumnReference,
    Constant,
    Expression,
    Formula,
    IsTrue,
    Not,
    Operation,
    SensitiveTest,
    Truth,
)
from countveil.sql.query.functions import MISSING, SWAPPED
from countveil.sql.query.release_columns import matching_classes
from countveil.sql.query.scalars import ScalarReader, aligned, excerpt, refuse

if TYPE_CHECKING:
    from sqlglot import exp

    from countveil.sql.query.translate import Translator

MOST_PARTS = 1_000
_HINT = (
    "An expression may use one sensitive column alone, such as left(code, 1) = 'I'; conditions on "
    "several columns are joined by AND, OR, NOT and CASE WHEN."
)
Part = tuple[Any, Formula]


class DomainReader(ScalarReader):
    """Reads expressions of one sensitive column alone."""

    def _plain_column(self, node: exp.Expr, _depth: int) -> ColumnReference:
        column = self.column(node)
        return ColumnReference(column.name, self.columns.kind(column))

    def _in_classes(self, operation: str, both: Sequence[Expression]) -> Expression | None:
        """A comparison by the order of classes or declared values, if the column has one."""
        for subject, other in (both, both[::-1]):
            if not isinstance(subject, ColumnReference) or not isinstance(other, Constant):
                continue
            column = self.columns.find(subject.name)
            classes, ordered = self.columns.classes(column), self.columns.ordered_domain(column)
            asked = operation if subject is both[0] else SWAPPED.get(operation, operation)
            if classes is not None and other.kind == NUMBER:
                labels = matching_classes(
                    column.name, classes, ordered or (), asked, [float(other.value)]
                )
            elif ordered and subject.kind == TEXT and other.kind == TEXT and asked in SWAPPED:
                test = SensitiveTest(column.name, asked, (other.value,))
                if other.value not in ordered:
                    listed = ", ".join(repr(known) for known in ordered[:12])
                    refuse(
                        f"{other.value!r} is not a class of {column.name!r}.",
                        f"Available: {listed}.",
                    )
                labels = tuple(label for label in ordered if test.holds(label, ordered))
            else:
                continue
            constants = tuple(Constant(label, TEXT) for label in labels)
            if not constants:
                return Operation("unequal", (subject, subject), BOOLEAN)
            return Operation("in", (subject, *constants), BOOLEAN)
        return None


def formula_of(translator: Translator, node: exp.Expr, depth: int) -> Formula:
    """The formula of a condition that contains a sensitive column."""
    from sqlglot import exp

    name = _only_column(translator, node)
    if name is not None:
        values = _evaluated(translator, node, name, condition=True)
        domain = translator.columns.domain(name)
        pairs = list(zip(domain, values, strict=True))
        chosen = tuple(value for value, truth in pairs if truth)
        others = tuple(value for value, truth in pairs if truth is False)
        return SensitiveTest(name, "listed", (chosen, others))
    if isinstance(node, exp.Case | exp.If):
        branches = _branches(translator, node, depth)
        parts = (AllOf((reach, translator.formula(then, depth + 1))) for reach, then in branches)
        return AnyOf(tuple(parts))
    for inner in node.iter_expressions():
        case = inner.unnest()
        if isinstance(case, exp.Case | exp.If) and not isinstance(node, exp.Func):
            return _by_branches(translator, node, case, depth)
    return refuse(f"{excerpt(node)} mixes a sensitive column with others.", _HINT)


def parts_of(translator: Translator, node: exp.Expr) -> tuple[Part, ...]:
    """The values of something that is grouped by, each with the formula of its rows."""
    from sqlglot import exp

    name = _only_column(translator, node)
    inner = node.unnest()
    if name is not None:
        values = _evaluated(translator, node, name)
        parts = _by_value(name, translator.columns.domain(name), values)
    elif isinstance(inner, exp.Case | exp.If):
        parts = _labelled(translator, inner)
    else:
        condition = translator.formula(inner)
        yes, no = IsTrue(condition), IsTrue(Not(condition))
        neither = AllOf((Not(yes), Not(no)))
        parts = [(True, yes), (False, no), (None, neither)]
    if len(parts) > MOST_PARTS:
        refuse(f"{excerpt(node)} has {len(parts):,} values; at most {MOST_PARTS:,} are grouped by.")
    return tuple(parts)


def _only_column(translator: Translator, node: exp.Expr) -> str | None:
    """The sensitive column of a node that contains no other column."""
    sensitive, plain = translator.columns_in(node)
    return sensitive.copy().pop() if len(sensitive) == 1 and not plain else None


def _evaluated(
    translator: Translator, node: exp.Expr, name: str, *, condition: bool = False
) -> list[Any]:
    expression = DomainReader(translator.columns, translator.alias).expression(node)
    if condition and expression.kind not in (BOOLEAN, MISSING):
        refuse(f"{excerpt(node)} is used where a condition is expected.")
    return translator.columns.evaluated(expression, name)


def _by_value(name: str, domain: Sequence[Any], values: Sequence[Any]) -> list[Part]:
    members: dict[Any, list[Any]] = {}
    for value, result in zip(domain, values, strict=True):
        members.setdefault(result, []).append(value)
    return [
        (result, SensitiveTest(name, "listed", (tuple(chosen), _others(domain, chosen))))
        for result, chosen in members.items()
    ]


def _others(domain: Sequence[Any], chosen: Sequence[Any]) -> tuple[Any, ...]:
    return tuple(value for value in domain if value not in chosen)


def _branches(
    translator: Translator, node: exp.Expr, depth: int
) -> Iterator[tuple[Formula, exp.Expr]]:
    """The condition under which each branch of a CASE is reached, and its result."""
    from sqlglot import exp

    from countveil.sql.query.forms.special_functions import as_case

    case = as_case(node)
    before: list[Formula] = []
    for branch in case.args["ifs"]:
        condition = IsTrue(translator.formula(branch.this, depth + 1))
        yield AllOf((*before, condition)), branch.args["true"]
        before.append(Not(condition))
    default = case.args.get("default")
    yield AllOf(tuple(before)), exp.Null() if default is None else default


def _by_branches(translator: Translator, node: exp.Expr, case: exp.Expr, depth: int) -> Formula:
    """A comparison of a CASE with something: that of the result of each branch."""
    from sqlglot import exp

    parts: list[Formula] = []
    for reach, result in _branches(translator, case, depth):
        if isinstance(result.unnest(), exp.Null) and not isinstance(node, exp.Is):
            parts.append(AllOf((reach, Truth(None))))
            continue
        compared = node.copy()
        for inner in compared.iter_expressions():
            if inner.unnest() == case:
                inner.replace(result.copy())
                break
        parts.append(AllOf((reach, translator.formula(compared, depth + 1))))
    return AnyOf(tuple(parts))


def _labelled(translator: Translator, case: exp.Expr) -> list[Part]:
    """The parts of a CASE whose results are constants."""
    reached: list[Formula] = []
    results: list[Expression] = []
    for reach, result in _branches(translator, case, 0):
        if translator.columns_in(result) != (set(), set()):
            refuse(
                f"{excerpt(case)} groups by a result that is not a constant.",
                "With conditions on sensitive columns, the results of CASE must be constants.",
            )
        reached.append(reach)
        results.append(translator.expression(result))
    members: dict[Any, list[Formula]] = {}
    for reach, constant in zip(reached, aligned(results), strict=True):
        if not isinstance(constant, Constant):
            refuse(f"{excerpt(case)} has a result that is not a constant.", _HINT)
        members.setdefault(constant.value, []).append(reach)
    return [(value, AnyOf(tuple(formulas))) for value, formulas in members.items()]
