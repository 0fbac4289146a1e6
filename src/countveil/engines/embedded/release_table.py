"""A release's data in DuckDB: one GROUP BY per query.

Enters: the files of a release and its columns; later, tallies. Leaves: counts. Must not know: SQL
that anybody wrote, estimators. The statement is built from our own conditions, columns under
internal names, literals as parameters; the connection can read the data folder and nothing else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import TallyResult
from countveil.engines.embedded.connection import connect, quoted
from countveil.engines.embedded.statement import condition_sql
from countveil.errors import ReleaseError
from countveil.query import Tally


def open_release_table(
    folder: Path, files: Sequence[str], columns: Sequence[str]
) -> EmbeddedRelease:
    """Open the data files of a release."""
    return EmbeddedRelease(folder, files, columns)


class EmbeddedRelease:
    """Parquet files with the verb `tally`."""

    def __init__(self, folder: Path, files: Sequence[str], columns: Sequence[str]) -> None:
        self._internal = {name: f"c{i}" for i, name in enumerate(columns)}
        paths = [(folder / file).resolve() for file in files]
        self._folder = folder
        self._connection = connect(sorted({path.parent for path in paths}))
        listed = ", ".join(quoted(str(path)) for path in paths)
        names = ", ".join(self._internal.values())
        self._run(
            f"CREATE VIEW release AS SELECT * FROM read_parquet([{listed}]) AS t({names})", []
        )

    def tally(self, tally: Tally, domain: Sequence[Any]) -> TallyResult:
        """One pass over the data, whatever the number of cells."""
        keys = [self._internal[name] for name in tally.group_by]
        by = keys if tally.sensitive is None else [*keys, self._internal[tally.sensitive]]
        where, parameters = condition_sql(tally.where, self._internal)
        grouping = f"GROUP BY {', '.join(by)}" if by else ""
        ordering = f"ORDER BY {', '.join(keys)}" if keys else ""
        listed = ", ".join([*by, "count(*)"])
        cells = self._run(
            f"SELECT {listed} FROM release WHERE {where} {grouping} {ordering}", parameters
        )
        return _pivot(cells, len(keys), domain if tally.sensitive is not None else None)

    def _run(self, statement: str, parameters: list[Any]) -> list[tuple[Any, ...]]:
        try:
            return self._connection.execute(statement, parameters).fetchall()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except duckdb.Error as error:
            raise ReleaseError(
                f"The data of {self._folder} cannot be read. 'countveil verify' says what is wrong."
            ) from error


def _pivot(cells: list[tuple[Any, ...]], n_keys: int, domain: Sequence[Any] | None) -> TallyResult:
    places: dict[tuple[Any, ...], int] = {}
    if n_keys == 0:
        places[()] = 0
    for cell in cells:
        places.setdefault(cell[:n_keys], len(places))
    rows = np.zeros(len(places), np.int64)
    published: NDArray[np.int64] = np.zeros((len(places), len(domain or ())), np.int64)
    position = {value: i for i, value in enumerate(domain or ())}
    for cell in cells:
        group, count = places[cell[:n_keys]], cell[-1]
        rows[group] += count
        if domain is not None:
            if cell[n_keys] not in position:
                raise ReleaseError(
                    "The data hold a sensitive value that the manifest does not list. "
                    "'countveil verify' says what is wrong."
                )
            published[group, position[cell[n_keys]]] += count
    return TallyResult(list(places), rows, published)
