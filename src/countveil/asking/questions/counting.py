"""Counts of rows: one, many at once, or by two columns.

Enters: conditions and columns as texts. Leaves: an `Estimate`, an `Answer` or a `Crosstab`. Must
not know: engines, how an error is computed. `Release` inherits from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from countveil.asking.answer import EstimationSettings
from countveil.asking.result import Answer, Block, Cells
from countveil.errors import QueryError
from countveil.maths.estimate import Estimate
from countveil.sql.query.expressions import AllOf, Formula

if TYPE_CHECKING:
    from countveil.asking.answer import Channels
    from countveil.asking.crosstab import Crosstab
    from countveil.engines.contract import ReleaseTable
    from countveil.sql.query import Question, ReleaseColumns
    from countveil.sql.query.conditions import ConditionReader

DEFAULT_METHOD, DEFAULT_CHANNEL, DEFAULT_LEVEL, DEFAULT_WITHIN = "shrunk", "exact", 0.95, 0.10


class Counting:
    """The methods of a `Release` that count, and what they need of it."""

    if TYPE_CHECKING:
        _columns: ReleaseColumns
        _question: Callable[[str, bool], Question]
        _weighted: Callable[[Question], Question]
        _answer: Callable[[Question, EstimationSettings], Answer]
        _channels: Callable[..., Channels]
        _unlisted: Callable[..., Sequence[str]]

        @property
        def _conditions(self) -> ConditionReader: ...

        @property
        def table(self) -> ReleaseTable:
            """The rows."""

    def count(
        self,
        where: str = "",
        *,
        method: str = DEFAULT_METHOD,
        channel: str = DEFAULT_CHANNEL,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        weighted: bool = False,
        **values: Any,
    ) -> Estimate:
        """Count the rows that meet a condition and have these values.

        Args:
            where: A condition in SQL; all rows if empty.
            method: "shrunk", "unbiased" or "bayes".
            channel: "exact" or "printed".
            level: The level of the interval.
            within: The relative standard error up to which an estimate is `reliable`.
            weighted: Every row counts with its survey weight (`release.weight`).
            **values: Values of columns, by their names.

        Returns:
            The estimated count, with its error.

        Raises:
            QueryError: The condition is not supported.
            UnknownColumnError: There is no such column.
            SettingsError: An option has a value that it cannot have.

        Example:
            >>> release.count("gender = 'F' AND age >= 60", occupation="nurse")
            Estimate(hidden, 7.7 to 115)
        """
        conditions = [self._conditions.formula(where)]
        conditions += [self._conditions.equals(name, value) for name, value in values.items()]
        settings = EstimationSettings(method, channel, level, within)
        return self._answer_counts([AllOf(tuple(conditions))], settings, weighted)[0][0]

    def counts(
        self,
        queries: Iterable[str],
        *,
        method: str = DEFAULT_METHOD,
        channel: str = DEFAULT_CHANNEL,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        weighted: bool = False,
    ) -> Answer:
        """Count the rows that meet each of many conditions, in one call.

        Thousands are answered hundreds of times as fast as one by one, unless they are weighted.

        Args:
            queries: Conditions in SQL.
            method: "shrunk", "unbiased" or "bayes".
            channel: "exact" or "printed".
            level: The level of the intervals.
            within: The relative standard error up to which an estimate is `reliable`.
            weighted: Every row counts with its survey weight (`release.weight`).

        Returns:
            One row per condition, in their order.

        Raises:
            QueryError: A condition is not supported.
            SettingsError: An option has a value that it cannot have.

        Example:
            >>> release.counts(["occupation = 'nurse'", "occupation = 'lawyer' AND age < 40"])
             query                             estimate   std_error   low   high   verdict
             ──────────────────────────────────────────────────────────────────────────────
             occupation = 'nurse'                   192        12.4   169    218   reliable
             occupation = 'lawyer' AND age <     hidden           -     0   45.9   hidden
             40
        """
        settings = EstimationSettings(method, channel, level, within)
        conditions = list(queries)
        formulas = [self._conditions.formula(where) for where in conditions]
        cells, warnings = self._answer_counts(formulas, settings, weighted)
        return Answer(["query"], [(where,) for where in conditions], [Block("", cells)], warnings)

    def crosstab(
        self,
        rows: str,
        columns: str,
        where: str = "",
        *,
        method: str = DEFAULT_METHOD,
        channel: str = DEFAULT_CHANNEL,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        weighted: bool = False,
    ) -> Crosstab:
        """Counts by two columns, or expressions such as `age // 10`, as a matrix.

        Args:
            rows: The column down the side.
            columns: The column along the top.
            where: A condition in SQL; all rows if empty.
            method: "shrunk", "unbiased" or "bayes".
            channel: "exact" or "printed".
            level: The level of the intervals.
            within: The relative standard error up to which an estimate is `reliable`.
            weighted: Every row counts with its survey weight (`release.weight`).

        Returns:
            The counts, as a matrix and in long form.

        Raises:
            QueryError: The columns are not two different ones, or not supported.
            SettingsError: An option has a value that it cannot have.

        Example:
            >>> table_of_two = release.crosstab("occupation", "gender")
            >>> table_of_two.cell("nurse", "F")
            Estimate(140 ± 41.5, 97.4 to 261, indicative)
        """
        from countveil.asking.crosstab import Crosstab

        condition = f" WHERE ({where}\n)" if where.strip() else ""
        query = f"SELECT {rows}, {columns}, count(*) FROM release{condition} GROUP BY 1, 2"
        question = self._question(query, weighted)
        if len(question.keys) != 2 or len(question.outputs) != 3:
            raise QueryError("A cross-tab needs two different columns or expressions.")
        return Crosstab(self._answer(question, EstimationSettings(method, channel, level, within)))

    def _answer_counts(
        self, formulas: Sequence[Formula], settings: EstimationSettings, weighted: bool
    ) -> tuple[Cells, tuple[str, ...]]:
        """In one batch what can be counted together; the others one by one."""
        from countveil.asking.batch import CountBatch, count_question

        batch = CountBatch(self._columns, len(formulas))
        warnings: list[str] = []
        for number, formula in enumerate(formulas):
            if weighted or not batch.add(number, formula):
                alone = count_question(formula)
                answer = self._answer(self._weighted(alone) if weighted else alone, settings)
                batch.put(number, answer.blocks[0].estimates)
                warnings += answer.warnings
        warnings += self._unlisted(*batch.plans)
        estimator = settings.estimator()
        channels_of = partial(self._channels, estimator=estimator)
        cells = batch.answer(self.table, channels_of, estimator, settings.within)
        warnings += estimator.warnings()
        return cells, tuple(dict.fromkeys(warnings))
