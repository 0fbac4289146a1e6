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
        """SQL that answers a query in your database: unbiased estimates with standard errors.

        The text contains all weights, so the database does not need countveil.

        Args:
            query: A SELECT from `release`.
            dialect: postgres, sqlite or duckdb.
            table: The table with the release's rows there.
            weighted: Every row counts with its survey weight (`release.weight`).

        Returns:
            The text of one SELECT.

        Raises:
            QueryError: There is no plain SQL for this query, or it is not supported.
            SettingsError: There is no such dialect.

        Example:
            >>> text = release.plain_sql(
            ...     "SELECT count(*) FROM release WHERE occupation = 'nurse' AND gender = 'F'"
            ... )
            >>> "std_error" in text
            True
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

        Args:
            of: A condition ("occupation = 'nurse'") or an aggregate ("avg(age)").
            between: A column, or a list of conditions, one for each group.
            where: A condition in SQL that all rows meet.
            measure: "difference", "ratio" or "odds ratio".
            against: The group that each other one is compared with; without it, every two are.
            adjust: Make p-values hold for all comparisons together: "holm" (no false finding) or
                "fdr" (the share of false findings, Benjamini and Hochberg).
            level: The level of the intervals.
            weighted: Every row counts with its survey weight (`release.weight`).

        Returns:
            One row for every two groups, with an interval and a p-value.

        Raises:
            QueryError: There are too few groups or too many, or a condition is not supported.
            SettingsError: An option has a value that it cannot have.

        Example:
            >>> comparison = release.compare("occupation = 'nurse'", "gender")
            >>> comparison[0].first, comparison[0].second, round(comparison[0].estimate, 3)
            ('F', 'M', 0.066)
        """
        from countveil.asking.comparisons.comparing import compare

        ask = partial(self.sql, method="unbiased", level=level, weighted=weighted)
        return compare(
            ask, of, between, where, measure=measure, against=against, adjust=adjust,
        )  # fmt: skip

    def independence(self, rows: str, columns: str, where: str = "") -> TestResult:
        """Test whether two columns are independent: chi-square, corrected for the draw.

        Args:
            rows: One column or expression.
            columns: The other one.
            where: A condition in SQL; all rows if empty.

        Returns:
            The statistic, its degrees of freedom and the p-value.

        Raises:
            QueryError: A column has fewer than two values, or is not supported.

        Example:
            >>> release.independence("gender", "occupation").p_value < 0.01
            True
        """
        from countveil.asking.comparisons.comparing import association

        condition = f" WHERE ({where}\n)" if where.strip() else ""
        query = f"SELECT {rows}, {columns}, count(*) FROM release{condition} GROUP BY 1, 2"
        return association(self._cell_counts(query))

    def goodness_of_fit(
        self, column: str, shares: Mapping[Any, float], where: str = ""
    ) -> TestResult:
        """Test whether the values of a column have these shares: corrected chi-square.

        Args:
            column: A column or expression.
            shares: The share of each of its values; they add up to 1.
            where: A condition in SQL; all rows if empty.

        Returns:
            The statistic, its degrees of freedom and the p-value.

        Raises:
            QueryError: The shares are not those of all values.
            SettingsError: The shares are not positive, or do not add up to 1.

        Example:
            >>> release.goodness_of_fit("gender", {"F": 0.5, "M": 0.5}).degrees
            1.0
        """
        from countveil.asking.comparisons.comparing import fit

        condition = f" WHERE ({where}\n)" if where.strip() else ""
        query = f"SELECT {column}, count(*) FROM release{condition} GROUP BY 1"
        return fit(column, self._cell_counts(query), shares)

    def interrupt(self) -> None:
        """End early what another thread asks.

        Raises:
            KeyboardInterrupt: Soon, in the thread that asks.

        Example:
            >>> release.interrupt()
        """
        interrupt = getattr(self.__dict__.get("table"), "interrupt", None)
        if interrupt is not None:
            interrupt()

    def _lookups(self, tables: Mapping[str, Any]) -> Mapping[str, Any]:
        from countveil.asking.questions.inputs import lookup_tables

        return lookup_tables(tables)

    def _cell_counts(self, query: str) -> CellCounts:
        """Counts by group with their covariance."""
        from countveil.asking.comparisons.cells import cell_counts

        question = self._question(query, False)
        plan = plan_question(question, self._columns)
        channels = self._channels(plan)
        return cell_counts(question, plan, self.table.tally(*channels.counted(plan)), channels)
