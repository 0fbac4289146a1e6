"""Aggregates over CASE, IF and conditions -> counts and sums with FILTER.

Enters: a parsed query. Leaves: the same query, in which `sum(CASE WHEN x THEN 1 ELSE 0 END)`, `sum(
x)`, `count_if(x)` and `count(CASE WHEN x THEN 1 END)` are `count(*) FILTER (WHERE x)`. Must not
know: columns, engines.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from countveil.sql.query.forms.special_functions import as_case

if TYPE_CHECKING:
    from sqlglot import exp

Branch = tuple["exp.Expr", "exp.Expr"]


def put_filters(select: exp.Expr) -> None:
    """Rewrite every aggregate over a condition."""
    from sqlglot import exp

    for aggregate in list(select.find_all(exp.Sum, exp.Avg, exp.Count, exp.CountIf)):
        if aggregate.find_ancestor(exp.Window) is not None:
            continue
        within = aggregate.parent if isinstance(aggregate.parent, exp.Filter) else None
        condition = None if within is None else within.expression.this
        new = _rewritten(aggregate, condition)
        if new is not None:
            (within or aggregate).replace(new)


def _rewritten(aggregate: exp.Expr, within: exp.Expr | None) -> exp.Expr | None:
    from sqlglot import exp

    inner = aggregate.this.unnest() if aggregate.this is not None else None
    if isinstance(aggregate, exp.CountIf):
        return _count(within, aggregate.this)
    if isinstance(inner, exp.Cast) and _is_condition(inner.this.unnest()):
        case = exp.Case(
            ifs=[
                exp.If(this=inner.this.copy(), true=exp.Literal.number(1)),
                exp.If(this=_not(inner.this), true=exp.Literal.number(0)),
            ]
        )
        return _of_case(aggregate, case, within)
    if isinstance(aggregate, exp.Sum) and inner is not None and _is_condition(inner):
        return _count(within, inner)
    if isinstance(inner, exp.Case | exp.If):
        return _of_case(aggregate, as_case(inner), within)
    return None


def _of_case(aggregate: exp.Expr, case: exp.Case, within: exp.Expr | None) -> exp.Expr | None:
    from sqlglot import exp

    branches = _branches(case)
    known = [(when, then) for when, then in branches if not isinstance(then, exp.Null)]
    if not known:
        return None
    if isinstance(aggregate, exp.Count):
        if not all(isinstance(then, exp.Literal) for _, then in known):
            return _single(aggregate, known, within)
        return _count(within, exp.or_(*(when for when, _ in known)))
    if isinstance(aggregate, exp.Sum) or len(known) == 1:
        matter = [(when, then) for when, then in known if len(known) == 1 or _number(then) != 0]
        return _single(aggregate, matter, within)
    if any(_number(then) is None for _, then in known):
        return None
    # An average of constants: what they add up to, per row that has one of them.
    total = _sum_of(known, within)
    everything = len(known) == len(branches)
    rows = _count(within, None if everything else exp.or_(*(when for when, _ in known)))
    return None if total is None else exp.Paren(this=exp.Div(this=total, expression=rows))


def _sum_of(known: list[Branch], within: exp.Expr | None) -> exp.Expr | None:
    """The only branch that counts, times its number."""
    from sqlglot import exp

    counted = [(when, _number(then)) for when, then in known if _number(then) != 0]
    if len(counted) != 1:
        return None
    when, number = counted[0]
    count = _count(within, when)
    if number == 1:
        return count
    return exp.Mul(this=exp.Literal.number(repr(number)), expression=count)


def _single(
    aggregate: exp.Expr, branches: list[Branch], within: exp.Expr | None
) -> exp.Expr | None:
    """The aggregate of the only branch that matters."""
    from sqlglot import exp

    if len(branches) != 1:
        return None
    when, then = branches[0]
    if isinstance(aggregate, exp.Sum) and _number(then) == 1:
        return _count(within, when)
    same = type(aggregate)(this=then.copy())
    return exp.Filter(this=same, expression=exp.Where(this=_both(within, when)))


def _branches(case: exp.Case) -> list[Branch]:
    """Every branch with the condition under which it is reached."""
    from sqlglot import exp

    branches: list[Branch] = []
    before: list[exp.Expr] = []
    for branch in case.args["ifs"]:
        when = exp.Paren(this=branch.this.copy())
        branches.append((_all([*before, when]), branch.args["true"].unnest()))
        before.append(_not(exp.Is(this=when.copy(), expression=exp.Boolean(this=True))))
    default = case.args.get("default")
    last = exp.Null() if default is None else default.unnest()
    return [*branches, (_all(before), last)]


def _all(parts: list[exp.Expr]) -> exp.Expr:
    from sqlglot import exp

    copies = [part.copy() for part in parts]
    return copies[0] if len(copies) == 1 else exp.and_(*copies)


def _not(node: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.Not(this=exp.Paren(this=node.copy()))


def _both(within: exp.Expr | None, when: exp.Expr | None) -> exp.Expr:
    from sqlglot import exp

    parts = [exp.Paren(this=part.copy()) for part in (within, when) if part is not None]
    return parts[0] if len(parts) == 1 else exp.and_(*parts)


def _count(within: exp.Expr | None, when: exp.Expr | None) -> exp.Expr:
    from sqlglot import exp

    count = exp.Count(this=exp.Star(), big_int=True)
    if within is None and when is None:
        return count
    return exp.Filter(this=count, expression=exp.Where(this=_both(within, when)))


def _number(node: exp.Expr) -> float | None:
    from sqlglot import exp

    if isinstance(node, exp.Literal) and not node.is_string:
        return float(node.this)
    return None


def _is_condition(node: exp.Expr) -> bool:
    from sqlglot import exp

    kinds = (
        exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.And, exp.Or, exp.Not, exp.In,
        exp.Between, exp.Like, exp.ILike, exp.Is, exp.StartsWith, exp.EndsWith, exp.Contains,
        exp.RegexpLike,
    )  # fmt: skip
    return isinstance(node, kinds)
