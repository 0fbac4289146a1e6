"""A release in a database: tallied inside it, one GROUP BY per question.

Enters: an address, the columns; later, tallies. Leaves: counts and sums. Must not know: SQL that
anybody wrote, estimators.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.address import POSTGRES as SERVER
from countveil.address import Address
from countveil.engines.contract import OpenedRelease, TallyResult
from countveil.engines.databases.links import Link, open_for_reading, table_name
from countveil.engines.pivot import one_by_one, pivot
from countveil.errors import ReleaseError
from countveil.release import Manifest
from countveil.sql.dialects.portable import DUCKDB, POSTGRES, words_for
from countveil.sql.query import Tally
from countveil.sql.query.expressions import Expression


def open_release(address: Address) -> OpenedRelease:
    """Open the release at an address."""
    link = open_for_reading(address)
    found = link.fetch(f"SELECT manifest FROM {table_name(address.manifest_table)}")
    if found.num_rows != 1:
        raise ReleaseError(f"{address} is no release: its manifest is not there once.")
    manifest = Manifest.from_json(str(found.column(0)[0].as_py()))
    table = DatabaseRelease(link, address, manifest)
    table.check()
    return OpenedRelease(manifest, lambda: table)


class DatabaseRelease:
    """The rows of a release in a database; see `ReleaseTable`."""

    def __init__(self, link: Link, address: Address, manifest: Manifest) -> None:
        self._link, self._address, self._manifest = link, address, manifest
        self._table = table_name(address.table)
        self._dialect = POSTGRES if address.kind == SERVER else DUCKDB

    def check(self) -> None:
        """Refuse rows that cannot be those of the manifest: every estimate would be wrong."""
        rows = self._link.fetch(f"SELECT count(*) FROM {self._table}").column(0)[0].as_py()
        if rows != self._manifest.rows:
            raise ReleaseError(
                f"The table holds {rows:,} rows, the manifest says {self._manifest.rows:,}. Load "
                f"the release again with 'countveil export'."
            )

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """One pass over the data, in the database."""
        words = words_for(self._dialect, self._manifest.columns)
        return pivot(self._link.fetch(words.tally(tally, self._table)), tally, domains)

    def tally_each(
        self,
        conditions: Sequence[Expression],
        sensitive: Sequence[str],
        domains: Sequence[Sequence[Any]],
    ) -> NDArray[np.float64]:
        """Count published values under each condition."""
        return one_by_one(self.tally, conditions, sensitive, domains)
