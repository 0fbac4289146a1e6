"""Releases whose values were drawn in batches, made from arrays, for tests and benchmarks.

Enters: plain columns, true values by number, the batch of every row. Leaves: a `Release` in memory.
Each batch is drawn by itself; rows may leave or come afterwards, with what was drawn for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.asking.release import Release
from countveil.engines.contract import OpenedRelease
from countveil.engines.local.release_table import LocalRelease
from countveil.maths.groups import ColumnSettings
from countveil.maths.guarantees import guarantee_table
from countveil.maths.mechanism.cases import draw_cases
from countveil.randomness import Randomness
from countveil.release import DataFile, Manifest, PublishedColumn, SensitiveColumn
from countveil.release.batches import Batch, BatchedColumns, LedgerMark

Codes = NDArray[np.int64]
LEDGER = "0123456789abcdef0123456789abcdef"


@dataclass(frozen=True)
class DrawnColumn:
    """A sensitive column, or several together (`parts`), drawn case by case in batches.

    `published` and `batch` are by case. `names` are those of the columns, `domains` their values.
    """

    names: tuple[str, ...]
    domains: tuple[tuple[str, ...], ...]
    ell: int
    published: Codes
    batch: Codes
    mark: str | None
    groups: str
    common: tuple[int, ...] = ()
    design_effect: float = 1.0

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(domain) for domain in self.domains)

    def places(self) -> tuple[Codes, ...]:
        return tuple(np.unravel_index(self.published, self.shape))

    def batches(self, numbers: Sequence[int]) -> BatchedColumns:
        """What a manifest says of the batches with these numbers."""
        drawn = []
        for number in numbers:
            counts = np.bincount(
                self.published[self.batch == number], minlength=int(np.prod(self.shape))
            )
            vectors: tuple[tuple[int, ...], ...] = ()
            if len(self.names) > 1:
                occurring = np.flatnonzero(counts)
                places = np.unravel_index(occurring, self.shape)
                vectors = tuple(tuple(place.tolist()) for place in places)
                counts = counts[occurring]
            drawn.append(
                Batch(number, self.groups, tuple(counts.tolist()), self.design_effect,
                      self.common, vectors)
            )  # fmt: skip
        return BatchedColumns(self.names, self.mark, tuple(drawn))


def drawn_column(
    name: str | tuple[str, ...],
    values: Codes,
    batch: Codes,
    *,
    ell: int = 3,
    groups: str = "mixed",
    common: Sequence[int] = (),
    seed: int = 0,
    mark: str | None = "batch",
    sizes: tuple[int, ...] | None = None,
    design_effect: float = 1.0,
) -> DrawnColumn:
    """Draw every batch by itself; `sizes` are those of the domains of columns together."""
    names = (name,) if isinstance(name, str) else name
    sizes = sizes or (int(values.max()) + 1,)
    published = np.zeros_like(values)
    for number in np.unique(batch).tolist():
        here = np.flatnonzero(batch == number)
        randomness = Randomness(seed * 1_000 + number)
        streams = randomness.stream("groups", str(names)), randomness.stream("draw", str(names))
        drawn = draw_cases(
            values[here], np.arange(here.size), int(np.prod(sizes)),
            ColumnSettings(ell, groups=groups), streams, common,
        )  # fmt: skip
        published[here] = drawn.values
    domains = tuple(
        tuple(f"{n[0]}{k:03d}" for k in range(s)) for n, s in zip(names, sizes, strict=True)
    )
    return DrawnColumn(
        names, domains, ell, published, batch, mark, groups, tuple(common), design_effect
    )


def batched_table(
    plain: Mapping[str, Any], columns: Sequence[DrawnColumn], rows: Codes
) -> pa.Table:
    """The published rows: `rows` has the case of each, all of `plain` is by case."""
    content: dict[str, Any] = {name: np.asarray(values)[rows] for name, values in plain.items()}
    for column in columns:
        for name, domain, places in zip(column.names, column.domains, column.places(), strict=True):
            content[name] = pa.array(np.array(domain)[places[rows]].tolist(), pa.string())
        if column.mark is not None and column.mark not in content:
            content[column.mark] = column.batch[rows]
    return pa.table(content)


def batched_manifest(
    table: pa.Table, columns: Sequence[DrawnColumn], rows: Codes, number: int = 1
) -> Manifest:
    """The manifest of a release of these rows."""
    sensitive = {
        name: SensitiveColumn(
            column.ell, column.groups, "absorb", domain, tuple(guarantee_table(column.ell)),
            declared=True, common=(),
        )
        for column in columns
        for name, domain in zip(column.names, column.domains, strict=True)
    }  # fmt: skip
    published = tuple(
        PublishedColumn(
            field.name, str(field.type), "sensitive" if field.name in sensitive else "plain"
        )
        for field in table.schema
    )
    batches = tuple(column.batches(np.unique(column.batch[rows]).tolist()) for column in columns)
    return Manifest(
        rows=table.num_rows, columns=published, sensitive=sensitive,
        files=(DataFile("data/part-0.parquet", table.num_rows, 0, "0" * 64),),
        randomness="seeded", statement=("A test.",), written_by="countveil test",
        together=tuple(column.names for column in columns if len(column.names) > 1),
        batches=batches, ledger=LedgerMark(LEDGER, number),
    )  # fmt: skip


def batched_release(
    plain: Mapping[str, Any],
    columns: Sequence[DrawnColumn],
    rows: Codes | None = None,
    number: int = 1,
) -> Release:
    """A release in memory of the cases `rows`, in this order; all of them once, if not given."""
    if rows is None:
        rows = np.arange(columns[0].published.size)
    table = batched_table(plain, columns, rows)
    return release_of(table, batched_manifest(table, columns, rows, number))


def release_of(table: pa.Table, manifest: Manifest) -> Release:
    """A release in memory."""
    marks = [entry.batch for entry in manifest.batches if entry.batch is not None]

    def open_table() -> LocalRelease:
        return LocalRelease(
            Path(), [], table.column_names, [*manifest.sensitive, *marks], rows=[table]
        )

    return Release.over("in memory", OpenedRelease(manifest, open_table))


def one_batch(column: DrawnColumn) -> DrawnColumn:
    """The same draw without a column of batches."""
    return replace(column, mark=None)
