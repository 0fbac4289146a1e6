"""What a formula becomes once the sensitive values are fixed.

Enters: formulas. Leaves: formulas over plain columns only, one per class of sensitive values.
Must not know: SQL, engines. Three-valued logic throughout: unknown is neither true nor false.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from countveil.sql.query.expressions import (
    FALSE,
    TRUE,
    AllOf,
    AnyOf,
    Constant,
    Expression,
    Formula,
    Not,
    Operation,
    Plain,
    SensitiveTest,
    Truth,
)


def sensitive_tests(formula: Formula) -> Iterator[SensitiveTest]:
    """Every test of a sensitive column in the formula."""
    for leaf in _leaves(formula):
        if isinstance(leaf, SensitiveTest):
            yield leaf


def reduce(formula: Formula, truths: Mapping[SensitiveTest, bool | None]) -> Formula:
    """Put in the truth of each sensitive test and simplify."""
    if isinstance(formula, SensitiveTest):
        return Truth(truths[formula])
    if isinstance(formula, Not):
        part = reduce(formula.part, truths)
        if isinstance(part, Truth):
            return Truth(None if part.value is None else not part.value)
        return Not(part)
    if isinstance(formula, AllOf | AnyOf):
        return _join(formula, [reduce(part, truths) for part in formula.parts])
    return formula


def as_filter(formula: Formula) -> Formula:
    """The same rows with less to evaluate: for a filter, unknown is as good as false."""
    if isinstance(formula, Truth):
        return TRUE if formula.value else FALSE
    if isinstance(formula, AllOf | AnyOf):
        return _join(formula, [as_filter(part) for part in formula.parts])
    return formula


def split(formula: Formula) -> tuple[Formula, Formula] | None:
    """The plain and the sensitive part of a conjunction; None if a part of it mixes both."""
    plain: list[Formula] = []
    sensitive: list[Formula] = []
    for part in _conjuncts(formula):
        kinds = {isinstance(leaf, SensitiveTest) for leaf in _leaves(part)}
        if len(kinds) > 1:
            return None
        (sensitive if True in kinds else plain).append(part)
    return AllOf(tuple(plain)), AllOf(tuple(sensitive))


def _conjuncts(formula: Formula) -> Iterator[Formula]:
    if isinstance(formula, AllOf):
        for part in formula.parts:
            yield from _conjuncts(part)
    else:
        yield formula


def _leaves(formula: Formula) -> Iterator[Formula]:
    if isinstance(formula, AllOf | AnyOf):
        for part in formula.parts:
            yield from _leaves(part)
    elif isinstance(formula, Not):
        yield from _leaves(formula.part)
    elif not isinstance(formula, Truth):
        yield formula


def _join(formula: AllOf | AnyOf, parts: list[Formula]) -> Formula:
    """Drop what changes nothing, stop at what decides; the same part twice is one."""
    neutral, decisive = (TRUE, FALSE) if isinstance(formula, AllOf) else (FALSE, TRUE)
    kept: list[Formula] = []
    for part in parts:
        if part == decisive:
            return decisive
        if part != neutral and part not in kept:
            kept.append(part)
    if len(kept) == 1:
        return kept[0]
    return type(formula)(tuple(kept)) if kept else neutral


def as_condition(formula: Formula) -> Expression:
    """A formula without sensitive tests as an expression for an engine."""
    if isinstance(formula, Truth):
        return Constant(formula.value, "true/false")
    if isinstance(formula, Plain):
        return formula.condition
    if isinstance(formula, Not):
        return Operation("not", (as_condition(formula.part),), "true/false")
    if isinstance(formula, AllOf | AnyOf):
        word = "and" if isinstance(formula, AllOf) else "or"
        parts = tuple(as_condition(part) for part in formula.parts)
        if not parts:
            return Constant(word == "and", "true/false")
        return parts[0] if len(parts) == 1 else Operation(word, parts, "true/false")
    raise TypeError(f"{formula.column} is sensitive; fix its values first")


def classes(
    tests: list[SensitiveTest], domain: tuple[Any, ...]
) -> tuple[list[int], list[dict[SensitiveTest, bool | None]]]:
    """Group the values of a domain by what the tests say of them.

    Gives the class of each value, and the truths of each class.
    """
    numbers: list[int] = []
    truths: list[dict[SensitiveTest, bool | None]] = []
    seen: dict[Any, int] = {}
    for value in domain:
        told = {test: test.holds(value, domain) for test in tests}
        key = tuple(told.values())
        if key not in seen:
            seen[key] = len(truths)
            truths.append(told)
        numbers.append(seen[key])
    return numbers, truths
