"""What a release offers beyond counts and queries: plain SQL, comparisons, tests.

Enters: queries, conditions and columns as texts. Leaves: SQL, a `Comparison` or a `TestResult`.
Must not know: how a question is answered, how errors are computed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from countveil.sql.query import Question, ReleaseColumns, TallyPlan, plan_question

if TYPE_CHECKING:
    from countveil.asking.answer import Channels
    from countveil.asking.comparisons.cells import CellCounts
    from countveil.asking.comparisons.comparing import Comparison, TestResult
    from countveil.asking.result import Answer
    from countveil.engines.contract import ReleaseTable


class FurtherMethods:
    """The further methods of a `Release`, and what they need of it."""

    if TYPE_CHECKING:
        _columns: ReleaseColumns
        sql: Callable[..., Answer]
        _question: Callable[[str, bool], Question]
        _channels: Callable[[TallyPlan], Channels]
        _unlisted: Callable[..., Sequence[str]]

        @property
        def table(self) -> ReleaseTable:
            """The rows."""

    def plain_sql(
        self,
        query: str,
        *,
        dialect: str = "postgres",
        table: str = "release",
        weighted: bool = False,
    ) -> str:
        """SQL that answers the query in your database: unbiased estimates with standard errors.

        `dialect` is postgres, sqlite or duckdb; `table` is the table with the release's rows there.
        The text contains all weights, so the database does not need countveil.
        """
        from countveil.asking.portable import plain_sql

        asked = self._question(query, weighted), self._columns, self._channels, self._unlisted
        return plain_sql(*asked, dialect, table)

    def compare(
        self,
        of: str,
        between: str | Sequence[str],
        where: str = "",
        *,
        measure: str = "difference",
        against: Any = None,
        adjust: str | None = None,
        level: float = 0.95,
        weighted: bool = False,
    ) -> Comparison:
        """Compare groups of rows: the share that meets a condition, an average, a sum or a count.

        `of` is a condition ("occupation = 'nurse'") or an aggregate ("avg(age)"). `between` is a
        column, or a list of conditions, one for each group. `measure`: difference, ratio or odds
        ratio. Every two groups are compared, or each with the group `against`. With `adjust`,
        p-values are for all comparisons together: holm (no false finding) or fdr (the share of
        false findings, Benjamini and Hochberg).
        """
        from countveil.asking.comparisons.comparing import compare

        ask = partial(self.sql, method="unbiased", level=level, weighted=weighted)
        return compare(
            ask, of, between, where, measure=measure, against=against, adjust=adjust,
        )  # fmt: skip

    def independence(self, rows: str, columns: str, where: str = "") -> TestResult:
        """Test whether two columns are independent: chi-square, corrected for the draw."""
        from countveil.asking.comparisons.comparing import association

        condition = f" WHERE ({where}\n)" if where.strip() else ""
        query = f"SELECT {rows}, {columns}, count(*) FROM release{condition} GROUP BY 1, 2"
        return association(self._cell_counts(query))

    def goodness_of_fit(
        self, column: str, shares: Mapping[Any, float], where: str = ""
    ) -> TestResult:
        """Test whether the values of a column have these shares: chi-square, corrected."""
        from countveil.asking.comparisons.comparing import fit

        condition = f" WHERE ({where}\n)" if where.strip() else ""
        query = f"SELECT {column}, count(*) FROM release{condition} GROUP BY 1"
        return fit(column, self._cell_counts(query), shares)

    def _cell_counts(self, query: str) -> CellCounts:
        """Counts by group with their covariance."""
        from countveil.asking.comparisons.cells import cell_counts

        question = self._question(query, False)
        plan = plan_question(question, self._columns)
        channels = self._channels(plan)
        return cell_counts(question, plan, self.table.tally(*channels.counted(plan)), channels)
