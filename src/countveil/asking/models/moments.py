"""Variances, medians, quantiles and extremes in SQL: read, and answered from distributions.

Enters: a query with such aggregates. Leaves: an `Answer`. Must not know: engines, channels.

The query without these aggregates is answered as ever: its groups, their order, HAVING and LIMIT
are those of the answer. For each of them, a query that counts by the same keys and by the number
gives the distribution of the number in every group.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.answer import Channels, EstimationSettings, existing_cells, keys_of
from countveil.asking.result import Answer, Block, Cells
from countveil.engines.contract import ReleaseTable
from countveil.errors import QueryError
from countveil.maths.estimate import Estimates
from countveil.maths.models.distribution import UNKNOWN, Distribution, Numbers
from countveil.sql.query import Question, ReleaseColumns, TallyPlan, plan_question
from countveil.sql.query.plan import is_composed

if TYPE_CHECKING:
    from sqlglot import exp

Floats = NDArray[np.float64]
_ROWS = "countveil_rows_"
_SUPPORTED = (
    "Supported: median(x), quantile_cont(x, 0.9), percentile_cont(0.9) WITHIN GROUP (ORDER BY x), "
    "stddev(x), variance(x), their _samp and _pop forms, and min(x) and max(x) of plain columns."
)


@dataclass(frozen=True)
class Questioner:
    """What of a release answers questions."""

    ask: Callable[[str], Answer]
    parse: Callable[[str], Question]
    channels: Callable[[TallyPlan], Channels]
    table: ReleaseTable
    columns: ReleaseColumns
    weighted: bool


@dataclass(frozen=True)
class Moment:
    """One aggregate: its kind, the text of its number, its FILTER, a share of quantiles.

    The kind `quantile` is a value that a row has, `between` may lie between two of them.
    """

    kind: str
    number: str
    filter: str | None
    label: str
    share: float = 0.5
    weighted: bool = False

    def of(self, distribution: Distribution, z: float) -> Numbers:
        """Estimate, standard error, low and high."""
        if self.kind == "between" and distribution.exact and not self.weighted:
            return distribution.interpolated(self.share)
        if self.kind in ("quantile", "between"):
            return distribution.quantile(self.share, z)
        if self.kind in ("min", "max"):
            return distribution.extreme(largest=self.kind == "max")
        name, sample = self.kind.split("_")
        statistic = distribution.variance if name == "variance" else distribution.deviation
        return statistic(z, sample=sample == "samp")


def answer_moments(query: str, asked: Questioner, settings: EstimationSettings) -> Answer | None:
    """The answer to a query with such aggregates; None if it has none."""
    import sqlglot
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

    try:
        select = sqlglot.parse_one(query, read="duckdb")
    except SqlglotError:
        return None
    if not isinstance(select, exp.Select) or not any(map(_is_moment, select.walk())):
        return None
    group = select.args.get("group")
    if group is not None and group.find(exp.Rollup, exp.Cube, exp.GroupingSets):
        if all(isinstance(node, exp.Min | exp.Max) for node in select.walk() if _is_moment(node)):
            return None
        raise QueryError(
            "Medians, quantiles and variances have no ROLLUP, CUBE and GROUPING SETS. Ask for each "
            "grouping by itself."
        )
    items = [(item, _moment(item)) for item in select.expressions]
    base_query = _base(select, items)
    base = asked.ask(base_query.sql(dialect="duckdb"))
    z = NormalDist().inv_cdf((1 + settings.level) / 2)
    several = len([1 for item, _ in items if item.find(exp.AggFunc)]) > 1
    ordinary = iter(base.blocks)
    blocks = []
    for item, moment in items:
        if moment is not None:
            _check_label(moment, several=several)
            chosen = replace(moment, weighted=asked.weighted)
            cells = _cells(select, items, chosen, asked, base.groups, z, settings.within)
            blocks.append(Block(moment.label if several else "", cells))
        elif item.find(exp.AggFunc):
            block = next(ordinary)
            blocks.append(Block(str(item.alias), block.estimates))
    return Answer(base.group_columns, base.groups, blocks, base.warnings)


def _is_moment(node: Any) -> bool:
    from sqlglot import exp

    return isinstance(
        node,
        exp.Median | exp.Quantile | exp.PercentileCont | exp.PercentileDisc | exp.Stddev
        | exp.StddevSamp | exp.StddevPop | exp.Variance | exp.VariancePop | exp.Min | exp.Max,
    )  # fmt: skip


def _moment(item: exp.Expr) -> Moment | None:
    """The aggregate that a selected item is; None if it is something else."""
    from sqlglot import exp

    node, condition = item.unalias().unnest(), None
    if not any(map(_is_moment, node.walk())):
        return None
    if isinstance(node, exp.Filter):
        node, condition = node.this, node.expression.this.sql(dialect="duckdb")
    descending = False
    within = None
    if isinstance(node, exp.WithinGroup):
        (ordered,) = node.expression.expressions
        within, descending, node = ordered.this, bool(ordered.args.get("desc")), node.this
    if not _is_moment(node) or node.args.get("distinct") or isinstance(node.this, exp.Distinct):
        raise QueryError(f"{item.sql(dialect='duckdb')[:80]} is not supported. {_SUPPORTED}")
    kind = {
        "Stddev": "deviation_samp", "StddevSamp": "deviation_samp", "StddevPop": "deviation_pop",
        "Variance": "variance_samp", "VariancePop": "variance_pop", "Min": "min", "Max": "max",
        "PercentileDisc": "quantile",
    }.get(type(node).__name__, "between")  # fmt: skip
    number, share = node.this, 0.5
    if kind in ("quantile", "between") and not isinstance(node, exp.Median):
        number, share = _quantile(node, within, item)
        share = 1 - share if descending else share
    text = number.sql(dialect="duckdb")
    return Moment(kind, text, condition, str(item.alias), share)


def _quantile(node: exp.Expr, within: exp.Expr | None, item: exp.Expr) -> tuple[exp.Expr, float]:
    """What a quantile is of, and its share; `within` is what WITHIN GROUP orders by."""
    from sqlglot import exp

    if within is not None:
        return within, _share(node.this, item)
    given = node.args.get("quantile", node.expression)
    if isinstance(given, exp.Order):
        # WITHIN GROUP, as DuckDB writes it.
        (ordered,) = given.expressions
        share = _share(given.this, item)
        return ordered.this, 1 - share if ordered.args.get("desc") else share
    return node.this, _share(given, item)


def _share(node: exp.Expr | None, item: exp.Expr) -> float:
    from sqlglot import exp

    if isinstance(node, exp.Literal) and not node.is_string and 0 <= float(node.this) <= 1:
        return float(node.this)
    raise QueryError(
        f"{item.sql(dialect='duckdb')[:80]} needs one share between 0 and 1. {_SUPPORTED}"
    )


def _check_label(moment: Moment, *, several: bool) -> None:
    if several and not moment.label:
        raise QueryError(
            "With several aggregates each needs a name of its own. Write count(*) AS n, median(x) "
            "AS middle."
        )


def _base(select: exp.Select, items: Sequence[tuple[exp.Expr, Moment | None]]) -> exp.Select:
    """The query without these aggregates: its groups."""
    from sqlglot import exp

    labels = {moment.label.lower() for _, moment in items if moment is not None and moment.label}
    for part in ("having", "order"):
        clause = select.args.get(part)
        for node in clause.walk() if clause is not None else ():
            if _is_moment(node) or (isinstance(node, exp.Column) and node.name.lower() in labels):
                raise QueryError(
                    "HAVING and ORDER BY are about keys, counts, sums and averages; medians, "
                    "quantiles, variances and extremes are not supported there."
                )
    base = select.copy()
    kept = [item.copy() for item, moment in items if moment is None]
    base.set("expressions", [*kept, exp.alias_(exp.Count(this=exp.Star()), _ROWS)])
    keys = len([item for item in kept if not item.find(exp.AggFunc)])
    group = select.args.get("group")
    if group is not None and group.expressions and len(group.expressions) != keys:
        raise QueryError("Select every key that medians and the like are grouped by.")
    return base


def _cells(
    select: exp.Select,
    items: Sequence[tuple[exp.Expr, Moment | None]],
    moment: Moment,
    asked: Questioner,
    groups: Sequence[tuple[Any, ...]],
    z: float,
    within: float,
) -> Cells:
    """The estimates of one aggregate in every group of the answer."""
    from sqlglot import exp

    keys = [
        item.unalias().sql(dialect="duckdb")
        for item, other in items
        if other is None and not item.find(exp.AggFunc)
    ]
    conditions = [f"({moment.number}) IS NOT NULL"]
    where = select.args.get("where")
    if where is not None:
        conditions.append(f"({where.this.sql(dialect='duckdb')})")
    if moment.filter is not None:
        conditions.append(f"({moment.filter})")
    source: Any = select.args.get("from_") or select.args.get("from")
    listed = ", ".join([*keys, moment.number])
    numbered = ", ".join(str(place + 1) for place in range(len(keys) + 1))
    text = (
        f"SELECT {listed}, count(*) AS {_ROWS} {source.sql(dialect='duckdb')} "
        f"WHERE {' AND '.join(conditions)} GROUP BY {numbered}"
    )
    distributions = _distributions(text, moment, asked)
    numbers = [
        moment.of(distributions[group], z) if group in distributions else UNKNOWN
        for group in groups
    ]
    columns = np.array(numbers, np.float64).reshape(-1, 4).T
    return Cells(Estimates(*columns), np.full(len(groups), np.inf), within)


def _distributions(
    text: str, moment: Moment, asked: Questioner
) -> dict[tuple[Any, ...], Distribution]:
    """The distribution of the number in every group."""
    question = asked.parse(text)
    number = question.keys[-1]
    if number.sensitive is not None:
        raise QueryError(
            f"{moment.number!r} is sensitive: the true numbers of rows are not known one by one. "
            f"avg({moment.number}) and counts by classes of it are estimated; medians, quantiles, "
            f"variances and extremes are of plain columns."
        )
    if is_composed(question):
        raise QueryError(
            "Medians, quantiles, variances and extremes are not estimated for groups by an "
            "expression of a sensitive column. Group by the column itself, or choose rows by WHERE."
        )
    plan = plan_question(question, asked.columns)
    if moment.kind in ("min", "max") and plan.tally.sensitive:
        listed = " and ".join(map(repr, plan.tally.sensitive))
        near = 0.99 if moment.kind == "max" else 0.01
        raise QueryError(
            f"{moment.kind}({moment.number}) among rows chosen by {listed} is the number of a "
            f"single row, whose true value of {listed} a release does not tell. Ask for a "
            f"quantile, such as quantile_cont({moment.number}, {near})."
        )
    channels = asked.channels(plan)
    tallied = asked.table.tally(*channels.counted(plan))
    if not tallied.keys:
        return {}
    tallies = channels.tallies(tallied.truths, tallied.moments, tallied.ranges, plan.grouped)
    entry = plan.aggregates[question.measures[0].numerator]
    total = tallies.total(entry.condition_of, entry.argument, entry.value_of)
    squares = 0 if entry.argument is None else 2 + 2 * entry.argument
    rows, variances = total.estimate, total.covariance_of_rows(total, squares)
    exists = existing_cells(question, plan, tallies)
    keys = keys_of(question, plan, tallied.keys, tallies, exists)
    return _by_group(keys, rows[exists], variances[exists])


def _by_group(
    keys: Sequence[Sequence[Any]], rows: Floats, variances: Floats
) -> dict[tuple[Any, ...], Distribution]:
    places: dict[tuple[Any, ...], list[int]] = {}
    for place, group in enumerate(zip(*keys[:-1], strict=True) if keys[:-1] else [()] * rows.size):
        places.setdefault(tuple(group), []).append(place)
    numbers = _as_floats(keys[-1])
    distributions = {}
    for group, chosen in places.items():
        here = np.array(chosen)
        here = here[np.argsort(numbers[here], kind="stable")]
        distributions[group] = Distribution(numbers[here], rows[here], variances[here])
    return distributions


def _as_floats(values: Sequence[Any]) -> Floats:
    if any(isinstance(value, str | bool) or not hasattr(value, "__float__") for value in values):
        raise QueryError(
            "Medians, quantiles, variances and extremes are of numbers; this column has others."
        )
    return np.array([float(value) for value in values], np.float64)
