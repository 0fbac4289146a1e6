"""A table of answers: group columns, then an estimate with its error and a verdict.

Enters: group values and estimates. Leaves: rows, Arrow, pandas or Polars. Must not know: how the
answers were found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from countveil.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

ESTIMATE_FIELDS = ("estimate", "std_error", "low", "high", "verdict")


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query: one row per group, in a fixed order."""

    group_columns: Sequence[str]
    groups: Sequence[tuple[Any, ...]]
    estimates: Sequence[Estimate]
    warnings: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return [*self.group_columns, *ESTIMATE_FIELDS]

    def __len__(self) -> int:
        return len(self.estimates)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each row as a tuple in the order of `columns`."""
        for group, found in zip(self.groups, self.estimates, strict=True):
            yield (*group, *(getattr(found, name) for name in ESTIMATE_FIELDS))

    def to_dicts(self) -> list[dict[str, Any]]:
        """Each row as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        columns = list(zip(*self.rows(), strict=True)) or [()] * len(self.columns)
        numbers = ESTIMATE_FIELDS[:-1]
        arrays = [
            pa.array(column, pa.float64() if name in numbers else None)
            if name in numbers or name in self.group_columns
            else pa.array(column, pa.string())
            for name, column in zip(self.columns, columns, strict=True)
        ]
        return pa.Table.from_arrays(arrays, names=self.columns)

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame (needs pandas)."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """As a Polars data frame (needs Polars)."""
        import polars as pl

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table never becomes a series
        return frame
