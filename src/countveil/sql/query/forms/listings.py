"""count(DISTINCT x), min(x), max(x), DISTINCT and groups without a count: which values occur.

Enters: nodes of sqlglot. Leaves: a `Listing`; or an error, for which values truly occur among rows
that a sensitive column chooses is not in a release. Must not know: engines, estimators.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from countveil.release.values import NUMBER
from countveil.sql.query.expressions import TRUE, AllOf, Formula, sensitive_tests
from countveil.sql.query.question import GroupKey, Listing
from countveil.sql.query.scalars import excerpt, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlglot import exp

    from countveil.sql.query.translate import Translator

_COUNT = "Count them: SELECT x, count(*) FROM release ... GROUP BY x says which are frequent."


def listing_of(translator: Translator, node: exp.Expr, condition: Formula) -> Listing:
    """The listing that an aggregate asks for."""
    from sqlglot import exp

    what = {"Min": "min", "Max": "max", "Count": "distinct"}.get(type(node).__name__)
    inner = node.this
    if isinstance(inner, exp.Distinct):
        if len(inner.expressions) != 1 or what is None:
            refuse(f"{excerpt(node)} is not supported.", "count(DISTINCT x) takes one column.")
        inner = inner.expressions[0]
    if what is None or (what != "distinct" and node.expressions):
        refuse(f"{excerpt(node)} is not supported.", "min(x) and max(x) take one column.")
    sensitive = translator.columns_in(inner)[0]
    if sensitive:
        name = sensitive.pop()
        refuse(
            f"{excerpt(node)} is not known: column {name!r} is sensitive, and a value may be "
            f"published that no row has.",
            f"release.values({name!r}) lists its values. {_COUNT}",
        )
    if next(sensitive_tests(condition), None) is not None:
        refuse(
            f"{excerpt(node)} is not known for rows that a sensitive column chooses: which rows "
            f"these are is what a release hides.",
            _COUNT,
        )
    expression = translator.expression(inner)
    if what != "distinct" and expression.kind != NUMBER:
        refuse(
            f"{excerpt(node)} is about {expression.kind}; min and max give numbers.",
            "SELECT DISTINCT x FROM release ORDER BY x LIMIT 1 gives the first value.",
        )
    return Listing(what, expression)


def check_listed(where: Formula, keys: Sequence[GroupKey], *, chosen: bool) -> None:
    """Refuse to list combinations that a release does not know to occur.

    `chosen`: by their estimates, whose errors would not be shown.
    """
    if not keys:
        refuse("The query needs an aggregate such as count(*).")
    sensitive = [key for key in keys if key.sensitive is not None or key.parts]
    if next(sensitive_tests(where), None) is not None:
        refuse("Which values occur among rows that a sensitive column chooses is hidden.", _COUNT)
    if sensitive and chosen:
        refuse("HAVING chooses values by estimates.", "Select count(*) too, with its error.")
    if sensitive and (len(keys) > 1 or where not in (TRUE, AllOf(()))):
        refuse("Which combinations with a sensitive column truly occur is hidden.", _COUNT)


def check_groups(keys: Sequence[GroupKey]) -> None:
    """Refuse what is listed of every group, where groups are estimated."""
    if any(key.sensitive is not None or key.parts for key in keys):
        refuse(
            "count(DISTINCT x), min and max are not known for groups by a sensitive column: which "
            "rows are in a group is what a release hides.",
            _COUNT,
        )
