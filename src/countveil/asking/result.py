"""A table of answers: group columns, then an estimate with its error and a verdict.

Enters: group values and estimates. Leaves: rows, Arrow, pandas or Polars. Must not know: how
they were estimated.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from countveil.display import html_table, text_table
from countveil.errors import MissingExtraError
from countveil.maths.estimate import Estimate, Estimates, verdicts

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

ESTIMATE_FIELDS = ("estimate", "std_error", "low", "high", "verdict")


def _group_array(column: Sequence[Any]) -> pa.Array[Any]:
    import pyarrow as pa

    try:
        array: pa.Array[Any] = pa.array(column)
    except OverflowError:
        array = pa.array(column, pa.uint64())
    return array


class Cells(Sequence[Estimate]):
    """Estimates of many cells as arrays; an `Estimate` is made when a cell is accessed.

    `sizes` are the rows that each count is taken from, infinite where it is not a count.
    """

    def __init__(self, grid: Estimates, sizes: NDArray[np.float64], within: float) -> None:
        self.grid, self.sizes, self.within = grid, sizes, within

    def __len__(self) -> int:
        return int(self.sizes.size)

    @overload
    def __getitem__(self, place: int) -> Estimate: ...
    @overload
    def __getitem__(self, place: slice) -> Cells: ...
    def __getitem__(self, place: int | slice) -> Estimate | Cells:
        if isinstance(place, slice):
            return self.at(np.arange(len(self))[place])
        cell = range(len(self))[place]
        return next(iter(self.at(np.array([cell]))))

    def __iter__(self) -> Iterator[Estimate]:
        return (Estimate(*cell) for cell in zip(*self.fields, strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(list(self))

    def at(self, places: NDArray[Any]) -> Cells:
        """The cells at these places, in this order."""
        return Cells(self.grid.at(places), self.sizes[places], self.within)

    @cached_property
    def verdicts(self) -> list[str | None]:
        """One word per cell."""
        return verdicts(self.grid, self.sizes, self.within)

    @cached_property
    def fields(self) -> list[list[Any]]:
        """The columns, in the order of `ESTIMATE_FIELDS`; None where there is no number."""
        columns = (array.tolist() for array in self.grid.arrays())
        known = [[x if math.isfinite(x) else None for x in column] for column in columns]
        return [*known, self.verdicts]


@dataclass(frozen=True, slots=True)
class Block:
    """The estimates of one measure; `name` is empty when there is only one."""

    name: str
    estimates: Cells

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
        fields = [field for block in self.blocks for field in block.estimates.fields]
        for group, *numbers in zip(self.groups, *fields, strict=True):
            yield (*group, *numbers)

    def readable_rows(self) -> Iterator[tuple[Any, ...]]:
        """Rows for people: a hidden estimate shows no number that could be taken for an answer."""
        if not self.blocks:
            yield from self.groups
            return
        estimates_of = zip(*(block.estimates for block in self.blocks), strict=True)
        for group, estimates in zip(self.groups, estimates_of, strict=True):
            cells: list[Any] = []
            for cell in estimates:
                if cell.verdict == "hidden":
                    cells += ["hidden", None, cell.low, cell.high, cell.verdict]
                else:
                    cells += [getattr(cell, field) for field in ESTIMATE_FIELDS]
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

        groups = list(zip(*self.groups, strict=True)) or [()] * len(self.group_columns)
        arrays = [_group_array(column) for column in groups]
        for block in self.blocks:
            numbers = block.estimates.grid.arrays()
            arrays += [pa.array(n, pa.float64(), mask=~np.isfinite(n)) for n in numbers]
            arrays.append(pa.array(block.estimates.verdicts, pa.string()))
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
