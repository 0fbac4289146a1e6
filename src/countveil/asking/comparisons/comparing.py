"""Groups compared with each other, and tests, as an analyst asks for them.

Enters: a release, conditions and columns as texts. Leaves: a `Comparison` with one row for every
two groups, or a `TestResult`. Must not know: channels, how errors are computed.

Everything is a question in SQL with arithmetic on aggregates; estimates are the unbiased ones, to
which errors and p-values belong.
"""

from __future__ import annotations

import datetime as dt
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from countveil.asking.comparisons.cells import CellCounts
from countveil.asking.result import as_pandas
from countveil.display import html_table, text_table
from countveil.errors import QueryError, SettingsError
from countveil.maths.estimate.covariances.hypotheses import (
    adjusted,
    goodness_of_fit,
    independence,
    two_sided,
)

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from countveil.asking.result import Answer
    from countveil.report.bars import Picture

Ask = Callable[[str], "Answer"]

MEASURES = ("difference", "ratio", "odds ratio")
ADJUSTMENTS = ("holm", "fdr")
MOST_GROUPS = 40
_AGGREGATE = re.compile(r"\s*(count|sum|avg)\s*\(", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Compared:
    """Two groups: what each has, how they compare, and how likely chance alone explains it.

    Attributes:
        first: The name of the first group.
        second: The name of the second group.
        first_estimate: The share, average, sum or count in the first group.
        second_estimate: The same in the second group.
        estimate: Their difference, ratio or odds ratio.
        std_error: The standard error of that.
        low: The lower end of its interval.
        high: The upper end of its interval.
        p_value: How likely chance alone explains a difference as large.
    """

    first: str
    second: str
    first_estimate: float | None
    second_estimate: float | None
    estimate: float | None
    std_error: float | None
    low: float | None
    high: float | None
    p_value: float | None


@dataclass(frozen=True, slots=True, repr=False)
class Comparison:
    """One row for every two groups: what `Release.compare` gives. Print it.

    Attributes:
        measure: difference, ratio or odds ratio.
        pairs: The rows.
        adjust: How p-values were adjusted for all of them: holm, fdr or None.

    Example:
        >>> comparison = release.compare("avg(age)", "gender")
        >>> len(comparison), comparison[0].first, comparison[0].second
        (1, 'F', 'M')
    """

    measure: str
    pairs: Sequence[Compared]
    adjust: str | None = None

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return list(Compared.__dataclass_fields__)

    def __len__(self) -> int:
        return len(self.pairs)

    def __iter__(self) -> Iterator[Compared]:
        return iter(self.pairs)

    def __getitem__(self, place: int) -> Compared:
        return self.pairs[place]

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each row as a tuple, in the order of `columns`."""
        for pair in self.pairs:
            yield tuple(getattr(pair, name) for name in self.columns)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Each row as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        kinds = [pa.string()] * 2 + [pa.float64()] * (len(self.columns) - 2)
        schema = pa.schema(zip(self.columns, kinds, strict=True))
        return pa.Table.from_pylist(self.to_dicts(), schema=schema)

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame (needs pandas)."""
        return as_pandas(self.to_arrow())

    def plot(self) -> Picture:
        """Bars with intervals, one for every two groups; see `Answer.plot`."""
        from countveil.report.bars import Bar, BarChart, bar_picture

        bars = [Bar(f"{p.first} : {p.second}", p.estimate, p.low, p.high, None) for p in self.pairs]
        name = self.measure.capitalize()
        return bar_picture(BarChart(f"{name} of groups", "", {self.measure: bars}))

    def _short(self) -> tuple[list[str], list[tuple[Any, ...]]]:
        """What is shown: the groups in one column, and no column for each of them."""
        columns = ["groups", "estimate", "std_error", "low", "high", "p_value"]
        rows = [
            (f"{p.first} : {p.second}", p.estimate, p.std_error, p.low, p.high, p.p_value)
            for p in self.pairs
        ]
        return columns, rows

    def __str__(self) -> str:
        return text_table(*self._short())

    def __repr__(self) -> str:
        return f"Comparison({self.measure}, {len(self):,} pairs of groups; print() shows it)"

    def _repr_html_(self) -> str:
        return html_table(*self._short())


@dataclass(frozen=True, slots=True)
class TestResult:
    """A chi-square test, corrected for the noise of the draw.

    Attributes:
        statistic: The corrected statistic.
        degrees: Its degrees of freedom.
        p_value: How likely it is as large by chance alone.
    """

    statistic: float
    degrees: float
    p_value: float

    def _repr_html_(self) -> str:
        names = ("statistic", "degrees of freedom", "p-value")
        numbers = (f"{self.statistic:.4g}", f"{self.degrees:.4g}", f"{self.p_value:.3g}")
        return html_table(names, [numbers])

    # Not a class of tests, whatever a test runner takes it for.
    __test__ = False


def compare(
    ask: Ask,
    of: str,
    between: str | Sequence[str],
    where: str = "",
    *,
    measure: str = "difference",
    against: Any = None,
    adjust: str | None = None,
) -> Comparison:
    """See `Release.compare`; `ask` answers SQL with unbiased estimates."""
    _check(measure, adjust)
    groups = _groups(ask, between, where)
    pairs = []
    for first, second in _pairs(groups, against):
        query = _pair_query(of, groups[first], groups[second], where, measure)
        pairs.append(_compared(first, second, ask(query), share=not _AGGREGATE.match(of)))
    chances = adjusted([pair.p_value for pair in pairs], adjust)
    told = [replace(pair, p_value=p) for pair, p in zip(pairs, chances, strict=True)]
    return Comparison(measure, told, adjust)


def _compared(first: str, second: str, answer: Answer, *, share: bool) -> Compared:
    one, two, difference, asked = (block.estimates[0] for block in answer.blocks)
    each = [cell.estimate for cell in (one, two)]
    if share:
        # Unbiased ones may lie outside, but no share does.
        each = [None if number is None else min(max(number, 0.0), 1.0) for number in each]
    # All three measures ask whether the groups differ; the difference has the normal errors.
    p_value = two_sided(difference.estimate, difference.std_error)
    numbers = asked.estimate, asked.std_error, asked.low, asked.high
    if asked.low is None and asked.high is None:
        # What it would be divided by cannot be told from 0.
        numbers = None, None, None, None
    return Compared(first, second, each[0], each[1], *numbers, p_value)


def _check(measure: str, adjust: str | None) -> None:
    if measure not in MEASURES:
        raise SettingsError(f"measure must be one of {', '.join(MEASURES)}, got {measure!r}.")
    if adjust is not None and adjust not in ADJUSTMENTS:
        raise SettingsError(f"adjust must be one of {', '.join(ADJUSTMENTS)}, got {adjust!r}.")


def _groups(ask: Ask, between: str | Sequence[str], where: str) -> dict[str, str]:
    """The condition of every group, by its name."""
    if not isinstance(between, str):
        if len(between) < 2:
            raise QueryError("A comparison needs two conditions or more, one for each group.")
        return {condition: f"({condition})" for condition in between}
    condition = f" WHERE ({where}\n)" if where.strip() else ""
    query = f"SELECT {between}, count(*) AS n FROM release{condition} GROUP BY 1"
    values = [group[0] for group in ask(query).groups]
    if not 2 <= len(values) <= MOST_GROUPS:
        raise QueryError(
            f"{between} has {len(values)} groups; 2 to {MOST_GROUPS} are compared. Pass the "
            f'conditions of the groups that you mean: between=["age < 30", "age >= 30"].'
        )
    return {
        str(value): f"({between}) IS NULL" if value is None else f"({between}) = {_literal(value)}"
        for value in values
    }


def _literal(value: Any) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, dt.datetime):
        return f"TIMESTAMP '{value.isoformat(sep=' ')}'"
    if isinstance(value, dt.date):
        return f"DATE '{value.isoformat()}'"
    if isinstance(value, int | float):
        return repr(value)
    return "'" + str(value).replace("'", "''") + "'"


def _pairs(groups: Mapping[str, str], against: Any) -> list[tuple[str, str]]:
    if against is None:
        return list(itertools.combinations(groups, 2))
    if str(against) not in groups:
        raise QueryError(f"There is no group {against!r}. Available: {', '.join(groups)}.")
    return [(name, str(against)) for name in groups if name != str(against)]


def _pair_query(of: str, first: str, second: str, where: str, measure: str) -> str:
    """Both groups, their difference, and what is asked for."""
    if _AGGREGATE.match(of):
        if measure == "odds ratio":
            raise QueryError("An odds ratio needs a condition, such as \"occupation = 'nurse'\".")
        one, two = (f"{of} FILTER (WHERE {group})" for group in (first, second))
    else:
        one, two = (
            f"(count(*) FILTER (WHERE {group} AND ({of})) / count(*) FILTER (WHERE {group}))"
            for group in (first, second)
        )
    asked = f"{one} - {two}"
    if measure == "ratio":
        asked = f"{one} / {two}"
    elif measure == "odds ratio":
        odds = (
            f"(count(*) FILTER (WHERE {group} AND ({of})) / "
            f"count(*) FILTER (WHERE {group} AND NOT ({of})))"
            for group in (first, second)
        )
        asked = " / ".join(odds)
    condition = f" WHERE ({where}\n)" if where.strip() else ""
    return (
        f"SELECT {one} AS one, {two} AS two, {one} - {two} AS difference, {asked} AS asked "
        f"FROM release{condition}"
    )


def fit(column: str, counts: CellCounts, shares: Mapping[Any, float]) -> TestResult:
    """The test of `goodness_of_fit`."""
    values = [key[0] for key in counts.keys]
    missing = [value for value in shares if value not in values]
    if missing or len(shares) != len(values):
        raise QueryError(
            f"The shares must be those of all {len(values)} values of {column}: got "
            f"{len(shares)}, of which {len(missing)} are of other values."
        )
    expected = np.array([float(shares[value]) for value in values])
    if (expected <= 0).any() or not np.isclose(expected.sum(), 1.0, atol=1e-6):
        raise SettingsError("The shares must be positive and add up to 1.")
    test = goodness_of_fit(counts.estimate, counts.covariance, expected / expected.sum())
    return TestResult(test.statistic, test.degrees, test.p_value)


def association(counts: CellCounts) -> TestResult:
    """The test of `independence`."""
    table, covariance = counts.table()
    if min(table.shape) < 2:
        raise QueryError("A test of independence needs two columns with two values or more each.")
    test = independence(table, covariance)
    return TestResult(test.statistic, test.degrees, test.p_value)
