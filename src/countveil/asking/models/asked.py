"""What a release offers to models.

Enters: calls of an analyst. Leaves: regressions, streams of weights. Must not know: how models are
fitted. `Release` inherits from it; what it needs is loaded when it is asked for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.asking.answer import Channels, EstimationSettings
    from countveil.asking.batch_channels import BatchedRelease
    from countveil.asking.models.regression import Regression
    from countveil.asking.models.source import ModelSource
    from countveil.asking.result import Answer
    from countveil.asking.together import TogetherChannels
    from countveil.engines.contract import ReleaseTable
    from countveil.maths.channel import ChannelView
    from countveil.maths.estimate import Estimate
    from countveil.release import Manifest
    from countveil.sql.query import Question, ReleaseColumns
    from countveil.sql.query.conditions import ConditionReader

# A query with one of these is looked at more closely.
MOMENTS = re.compile(
    r"\b(?:stddev|std|variance|var|median|quantile|percentile)\w*\s*\(", re.IGNORECASE
)


class Modelled:
    """Regressions on a release, weights of its rows, and quantiles."""

    if TYPE_CHECKING:
        manifest: Manifest
        _columns: ReleaseColumns
        _view: Callable[[str, tuple[Any, ...]], ChannelView]

        @property
        def _conditions(self) -> ConditionReader: ...

        @property
        def table(self) -> ReleaseTable:
            """The rows."""

        sql: Callable[..., Answer]
        _channels: Callable[..., Channels]
        _answer: Callable[[Question, EstimationSettings], Answer]

        @property
        def _batches(self) -> BatchedRelease: ...

        @property
        def _together(self) -> TogetherChannels: ...

    def regress(
        self,
        formula: str,
        *,
        family: str = "linear",
        where: str = "",
        weighted: bool = False,
        about: str = "population",
        level: float = 0.95,
    ) -> Regression:
        """Fit a model, corrected for what publishing did to the sensitive columns.

        docs/guides/asking/model.md shows more.

        Args:
            formula: Such as "occupation = 'nurse' ~ age + C(gender)"; sensitive columns may be on
                either side.
            family: linear, logistic, multinomial or poisson.
            where: A condition on plain columns; all rows if empty.
            weighted: Every row counts with its survey weight.
            about: What errors are about: the "population" that the rows are a sample of, or the
                "table" alone, and so what the same model would give on the true rows.
            level: The level of the intervals.

        Returns:
            The coefficients, with errors and intervals.

        Raises:
            QueryError: The formula cannot be read, or asks for what is not there.
            SettingsError: An option has a value that it cannot have, or the model has no solution.
            MissingExtraError: It needs the extra `models`.

        Example:
            >>> fit = release.regress("occupation = 'nurse' ~ C(gender)")
            >>> [name for (name,) in fit.terms]
            ['Intercept', 'C(gender)[T.M]']
        """
        from countveil.asking.models.regress import ModelSettings, regress

        settings = ModelSettings(family, where, weighted, about, level)
        return regress(self._source(), formula, settings)

    def weights(self, column: str, values: Sequence[Any] | None = None) -> pa.RecordBatchReader:
        """Every row's weights: one column for each value of a sensitive column, beside plain ones.

        The sum of `weight_nurse` over any rows estimates, without bias, how many of them are
        nurses; the sum of weight times any number of the row estimates its sum over nurses.

        Args:
            column: A sensitive column.
            values: Some of its values; all if None.

        Returns:
            The rows in batches, so that they need not fit into memory.

        Raises:
            UnknownColumnError: There is no such column.
            QueryError: The column is not sensitive, or does not have such a value.

        Example:
            >>> rows = release.weights("occupation", ["nurse"]).read_all()
            >>> rows.num_rows, rows.column_names[-1]
            (5000, 'weight_nurse')
        """
        from countveil.asking.models.row_weights import weight_batches

        return weight_batches(self._source(), column, values)

    def quantile(
        self,
        column: str,
        share: float = 0.5,
        where: str = "",
        *,
        level: float = 0.95,
        weighted: bool = False,
    ) -> Estimate:
        """A quantile of a plain number among the rows that meet a condition.

        Args:
            column: A plain column of numbers.
            share: Which quantile, between 0 and 1; 0.5 is the median.
            where: A condition in SQL, which may be about sensitive columns; all rows if empty.
            level: The level of the interval.
            weighted: Every row counts with its survey weight.

        Returns:
            The quantile, with its error.

        Raises:
            QueryError: The column is not a plain number, or the condition is not supported.

        Example:
            >>> release.quantile("age", 0.5, "occupation = 'nurse'")
            Estimate(34.0 ± 7.9, 27.0 to 58.0, indicative)
        """
        condition = f" WHERE ({where}\n)" if where.strip() else ""
        query = f"SELECT quantile_cont({column}, {share:.12f}) FROM release{condition}"
        return self.sql(query, level=level, weighted=weighted).estimates[0]

    def _moments(
        self,
        query: str,
        parse: Callable[[str], Question],
        settings: EstimationSettings,
        weighted: bool,
    ) -> tuple[Answer, ...]:
        """The answer to a query of medians, variances and the like; nothing if it has none."""
        from countveil.asking.models.moments import Questioner, answer_moments

        asked = Questioner(
            lambda text: self._answer(parse(text), settings), parse,
            self._channels, self.table, self._columns, weighted,
        )  # fmt: skip
        answer = answer_moments(query, asked, settings)
        return () if answer is None else (answer,)

    def _source(self) -> ModelSource:
        from countveil.asking.models.source import ModelSource

        return ModelSource(
            self.manifest, self.table, self._columns, self._conditions, self._view,
            lambda: self._batches, lambda: self._together,
        )  # fmt: skip
