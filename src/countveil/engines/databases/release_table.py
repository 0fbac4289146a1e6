"""A release in a database: tallied inside it, one GROUP BY per question.

Enters: an address, the columns; later, tallies. Leaves: counts and sums. Must not know: SQL that
anybody wrote, estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import OpenedRelease
from countveil.engines.databases.connections import Connection, connection_class, manifest_table
from countveil.engines.pivot import one_by_one, pivot
from countveil.errors import ReleaseError, SettingsError, option
from countveil.release import ANY, Expected, Manifest
from countveil.release.limits import MANIFEST_BYTES, check_larger, check_limit
from countveil.release.values import kind_of
from countveil.sql import dialects
from countveil.sql.query import Tally, TallyResult
from countveil.sql.query.expressions import Expression
from countveil.sql.time_limit import time_limit
from countveil.system.address import DUCKDB, POSTGRES, DatabaseAddress, quoted_name

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.sql.query.axes import Axis

_DIALECTS = {POSTGRES: dialects.POSTGRES, DUCKDB: dialects.DUCKDB}


def open_release(address: DatabaseAddress, expected: Expected = ANY) -> OpenedRelease:
    """Open the release at an address."""
    check_larger(expected.larger)
    if expected.signed_by is not None:
        raise SettingsError(
            f"Only a folder has a signature: leave {option('signed_by')} out, and check the folder "
            f"before it is exported."
        )
    connection = connection_class(address).reading(address.place)
    with time_limit(connection.interrupt, expected.timeout):
        return _opened(connection, address, expected)


def _opened(connection: Connection, address: DatabaseAddress, expected: Expected) -> OpenedRelease:
    name = quoted_name(manifest_table(address.table))
    sizes = connection.fetch(f"SELECT length(manifest) FROM {name} LIMIT 2")
    if sizes.num_rows != 1:
        number = "several manifests" if sizes.num_rows else "no manifest"
        raise ReleaseError(f"{address} is not a release: it has {number} instead of one.")
    size = sizes.column(0)[0].as_py()
    if not isinstance(size, int):
        raise ReleaseError(f"{address} is not a release: its manifest is not text.")
    check_limit("characters in its manifest", size, MANIFEST_BYTES, expected.larger)
    texts = connection.fetch(f"SELECT manifest FROM {name} LIMIT 1")
    manifest = Manifest.from_json(str(texts.column(0)[0].as_py()), expected.larger)
    table = DatabaseRelease(connection, address, manifest)
    table.check()
    return OpenedRelease(manifest, lambda: table)


class DatabaseRelease:
    """The rows of a release in a database; see `ReleaseTable`."""

    def __init__(
        self, connection: Connection, address: DatabaseAddress, manifest: Manifest
    ) -> None:
        self._connection, self._manifest = connection, manifest
        self._table = quoted_name(address.table)
        self._dialect = _DIALECTS[address.kind]

    def check(self) -> None:
        """Refuse rows that cannot be those of the manifest: every estimate would be wrong."""
        names = ", ".join(quoted_name((column.name,)) for column in self._manifest.columns)
        stored = self._connection.fetch(f"SELECT {names} FROM {self._table} LIMIT 0").schema
        for column, field in zip(self._manifest.columns, stored, strict=True):
            if kind_of(str(field.type)) != kind_of(column.type):
                raise ReleaseError(
                    f"The column {column.name!r} of the table has another type than the manifest "
                    f"says, {column.type}. Load the release again with 'countveil export'."
                )
        rows = self._connection.fetch(f"SELECT count(*) FROM {self._table}").column(0)[0].as_py()
        if rows != self._manifest.rows:
            raise ReleaseError(
                f"The table holds {rows:,} rows, the manifest says {self._manifest.rows:,}. Load "
                f"the release again with 'countveil export'."
            )

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """One pass over the data, in the database."""
        dialect = dialects.dialect_for(self._dialect, self._manifest.columns)
        return pivot(self._connection.fetch(dialect.tally(tally, self._table)), tally, domains)

    def tally_each(
        self,
        conditions: Sequence[Expression],
        sensitive: Sequence[str],
        domains: Sequence[Sequence[Any]],
        axes: Sequence[Axis] = (),
    ) -> NDArray[np.float64]:
        """Count published values under each condition."""
        return one_by_one(self.tally, conditions, sensitive, domains, axes)

    def interrupt(self) -> None:
        """End what the database computes for another thread."""
        self._connection.interrupt()

    def rows(self, columns: Sequence[str]) -> pa.Table:
        """All rows, of these columns."""
        names = ", ".join(quoted_name((name,)) for name in columns)
        return self._connection.fetch(f"SELECT {names} FROM {self._table}")
