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
from countveil.errors import ReleaseError
from countveil.release import Manifest
from countveil.sql import dialects
from countveil.sql.query import Tally, TallyResult
from countveil.sql.query.expressions import Expression
from countveil.system.address import DUCKDB, POSTGRES, DatabaseAddress, quoted_name

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.sql.query.axes import Axis

_DIALECTS = {POSTGRES: dialects.POSTGRES, DUCKDB: dialects.DUCKDB}


def open_release(address: DatabaseAddress) -> OpenedRelease:
    """Open the release at an address."""
    connection = connection_class(address).reading(address.place)
    name = quoted_name(manifest_table(address.table))
    texts = connection.fetch(f"SELECT manifest FROM {name}")
    if texts.num_rows != 1:
        raise ReleaseError(
            f"{address} is not a release: it has {texts.num_rows:,} manifests instead of one."
        )
    manifest = Manifest.from_json(str(texts.column(0)[0].as_py()))
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

    def rows(self, columns: Sequence[str]) -> pa.Table:
        """All rows, of these columns."""
        names = ", ".join(quoted_name((name,)) for name in columns)
        return self._connection.fetch(f"SELECT {names} FROM {self._table}")
