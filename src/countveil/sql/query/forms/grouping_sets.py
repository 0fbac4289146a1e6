"""ROLLUP, CUBE and GROUPING SETS -> lists of what is grouped by.

Enters: the GROUP BY clause as sqlglot parsed it. Leaves: what each grouping set has. Must not know:
columns, engines.
"""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING

from countveil.sql.query.scalars import refuse

if TYPE_CHECKING:
    from sqlglot import exp

MOST_SETS = 64
Sets = list[list["exp.Expr"]]


def grouping_sets(group: exp.Expr) -> Sets:
    """The nodes of every set, in the order in which they are written."""
    from sqlglot import exp

    several = (exp.Rollup, exp.Cube, exp.GroupingSets)
    elements = list(group.expressions)
    for part in ("rollup", "cube", "grouping_sets"):
        elements += group.args.get(part) or []
    plain = [node for node in elements if not isinstance(node, several)]
    for node in elements:
        if isinstance(node, exp.Rollup | exp.Cube) and not node.expressions:
            # GROUP BY a, b WITH ROLLUP is GROUP BY ROLLUP (a, b).
            node.set("expressions", [part.copy() for part in plain])
            plain = []
    written = [node for node in elements if isinstance(node, several)]
    # Counted before they are made: those of CUBE double with every column.
    number = math.prod(map(_number_of_sets, written))
    if number > MOST_SETS:
        refuse(f"GROUP BY has {number:,} grouping sets; at most {MOST_SETS} are evaluated.", "")
    choices = [_sets(node) for node in written]
    return [
        [*plain, *itertools.chain.from_iterable(chosen)] for chosen in itertools.product(*choices)
    ]


def _number_of_sets(node: exp.Expr) -> int:
    from sqlglot import exp

    members = len(node.expressions)
    if isinstance(node, exp.Cube):
        return int(2**members)
    return members + 1 if isinstance(node, exp.Rollup) else members


def _sets(node: exp.Expr) -> Sets:
    from sqlglot import exp

    members = [_members(part) for part in node.expressions]
    if isinstance(node, exp.GroupingSets):
        return members
    if isinstance(node, exp.Rollup):
        return [_flat(members[:end]) for end in range(len(members), -1, -1)]
    sizes = range(len(members), -1, -1)
    return [_flat(list(some)) for n in sizes for some in itertools.combinations(members, n)]


def _flat(members: Sets) -> list[exp.Expr]:
    return list(itertools.chain.from_iterable(members))


def _members(node: exp.Expr) -> list[exp.Expr]:
    from sqlglot import exp

    if isinstance(node, exp.Tuple):
        return list(node.expressions)
    if isinstance(node, exp.Rollup | exp.Cube | exp.GroupingSets):
        refuse("Grouping sets inside grouping sets are not supported.", "")
    return [node.unnest()]
