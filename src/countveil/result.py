"""A table of answers: group columns, then an estimate with its error and a verdict.

Enters: group values and estimates. Leaves: rows, Arrow, pandas or Polars. Must not know: how the
answers were found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from countveil.display import html_table, text_table
from countveil.errors import MissingExtraError
from countveil.estimate import Estimate

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

ESTIMATE_FIELDS = ("estimate", "std_error", "low", "high", "verdict")


def _group_array(column: Sequence[Any]) -> pa.Array:
    import pyarrow as pa

    try:
        return pa.array(column)
    except OverflowError:
        return pa.array(column, pa.uint64())


@dataclass(frozen=True, slots=True)
class Block:
    """The estimates of one measure; `name` is empty when there is only one."""

    name: str
    estimates: Sequence[Estimate]

    @property
    def columns(self) -> list[str]:
        """Names of its columns."""
        return [f"{self.name}_{field}" if self.name else field for field in ESTIMATE_FIELDS]


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to a query: one row per group, in a fixed order."""

    group_columns: Sequence[str]
    groups: Sequence[tuple[Any, ...]]
    blocks: Sequence[Block]
    warnings: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        return [*self.group_columns, *(name for block in self.blocks for name in block.columns)]

    @property
    def estimates(self) -> Sequence[Estimate]:
        """The estimates of the first measure."""
        return self.blocks[0].estimates

    def __len__(self) -> int:
        return len(self.groups)

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each row as a tuple in the order of `columns`."""
        for row, group in enumerate(self.groups):
            numbers = (
                getattr(block.estimates[row], field)
                for block in self.blocks
                for field in ESTIMATE_FIELDS
            )
            yield (*group, *numbers)

    def readable_rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows for people: what is hidden shows no number that could be taken for an answer."""
        for row, group in enumerate(self.groups):
            cells: list[Any] = []
            for block in self.blocks:
                found = block.estimates[row]
                if found.verdict == "hidden":
                    cells += ["hidden", None, found.low, found.high, found.verdict]
                else:
                    cells += [getattr(found, field) for field in ESTIMATE_FIELDS]
            yield (*group, *cells)

    def __str__(self) -> str:
        return text_table(self.columns, self.readable_rows())

    def _repr_html_(self) -> str:
        return html_table(self.columns, self.readable_rows())

    def to_dicts(self) -> list[dict[str, Any]]:
        """Each row as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        columns = list(zip(*self.rows(), strict=True)) or [()] * len(self.columns)
        n_groups = len(self.group_columns)
        arrays = []
        for place, column in enumerate(columns):
            field = ESTIMATE_FIELDS[(place - n_groups) % len(ESTIMATE_FIELDS)]
            kind = pa.string() if field == "verdict" else pa.float64()
            arrays.append(_group_array(column) if place < n_groups else pa.array(column, kind))
        return pa.Table.from_arrays(arrays, names=self.columns)

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame (needs pandas)."""
        try:
            frame: pd.DataFrame = self.to_arrow().to_pandas()
        except ImportError as error:
            raise MissingExtraError("pandas", "pandas") from error
        return frame

    def to_polars(self) -> pl.DataFrame:
        """As a Polars data frame (needs Polars)."""
        try:
            import polars as pl
        except ImportError as error:
            raise MissingExtraError("Polars", "polars") from error

        frame = pl.from_arrow(self.to_arrow())
        assert isinstance(frame, pl.DataFrame)  # noqa: S101 - a table never becomes a series
        return frame
