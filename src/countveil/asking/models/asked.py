"""What a release offers to models.

Enters: calls of an analyst. Leaves: regressions, streams of weights. Must not know: how models are
fitted. `Release` inherits from it; what it needs is loaded when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.asking.batch_channels import BatchedRelease
    from countveil.asking.models.regression import Regression
    from countveil.asking.models.source import ModelSource
    from countveil.asking.together import TogetherChannels
    from countveil.engines.contract import ReleaseTable
    from countveil.maths.channel import ChannelView
    from countveil.release import Manifest
    from countveil.sql.query import ConditionReader, ReleaseColumns


class Modelled:
    """Regressions on a release, and weights of its rows."""

    if TYPE_CHECKING:
        manifest: Manifest
        _columns: ReleaseColumns
        _conditions: ConditionReader
        _view: Callable[[str, tuple[Any, ...]], ChannelView]

        @property
        def table(self) -> ReleaseTable:
            """The rows."""

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

        `formula` is such as "occupation = 'nurse' ~ age + C(gender)"; sensitive columns may be on
        either side. `family` is linear, logistic, multinomial or poisson. `where` chooses rows by
        plain columns. If `weighted`, every row counts with its survey weight. Errors are `about`
        the "population" that the rows are a sample of, or about the "table" alone: what the same
        model would give on the true rows. docs/guides/modelling.md shows more.
        """
        from countveil.asking.models.regress import ModelSettings, regress

        settings = ModelSettings(family, where, weighted, about, level)
        return regress(self._source(), formula, settings)

    def weights(self, column: str, values: Sequence[Any] | None = None) -> pa.RecordBatchReader:
        """Every row's weights: one column for each value of a sensitive column, beside plain ones.

        The sum of `weight_nurse` over any rows estimates, without bias, how many of them are
        nurses; the sum of weight times any number of the row estimates its sum over nurses.
        `values` chooses some. Rows come in batches, so that they need not fit into memory.
        """
        from countveil.asking.models.row_weights import weight_batches

        return weight_batches(self._source(), column, values)

    def _source(self) -> ModelSource:
        from countveil.asking.models.source import ModelSource

        return ModelSource(
            self.manifest, self.table, self._columns, self._conditions, self._view,
            lambda: self._batches, lambda: self._together,
        )  # fmt: skip
