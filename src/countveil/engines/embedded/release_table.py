"""A release's data in DuckDB: one GROUP BY per query.

Enters: the files of a release and its columns; later, tallies. Leaves: counts and sums. Must not
know: SQL that anybody wrote, estimators. The statement is built from our own expressions, columns
under internal names, literals as parameters; the connection can read the data folder and nothing
else.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa

from countveil.engines.contract import TallyResult
from countveil.engines.embedded.connection import connect, quoted, without_pattern
from countveil.engines.embedded.statement import Statement
from countveil.errors import QueryError, ReleaseError
from countveil.query import Tally
from countveil.release.domain import python_values

MOST_NUMBERS = 20_000_000


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
        listed = ", ".join(quoted(without_pattern(path)) for path in paths)
        names = ", ".join(self._internal.values())
        # A folder called sex=F is a folder, not a column.
        scan = f"read_parquet([{listed}], hive_partitioning = false)"
        self._create(f"CREATE VIEW release AS SELECT * FROM {scan} AS t({names})")

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """One pass over the data, whatever the number of cells."""
        statement = Statement(self._internal)
        keys = [statement.text(key) for key in tally.keys]
        bits = [f"coalesce({statement.text(c)}, false)" for c in tally.conditions]
        by = [*keys, *bits, *(self._internal[name] for name in tally.sensitive)]
        sums = []
        for argument in tally.arguments:
            number = f"coalesce({statement.text(argument)}, 0)::DOUBLE"
            sums += [f"sum({number})", f"sum({number} * {number})", f"min({number})"]
        listed = ", ".join([*by, "count(*)", *sums])
        where = statement.text(tally.where)
        places = ", ".join(str(place + 1) for place in range(len(by)))
        order = ", ".join(str(place + 1) for place in range(len(keys)))
        text = f"SELECT {listed} FROM release WHERE {where}"
        text += f" GROUP BY {places}" if by else ""
        text += f" ORDER BY {order}" if keys else ""
        return _pivot(self._run(text, statement.parameters), tally, domains)

    def _create(self, text: str) -> None:
        try:
            self._connection.execute(text)
        except duckdb.Error as error:
            raise self._unreadable() from error

    def _run(self, text: str, parameters: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        try:
            # Through Arrow: DuckDB's own conversion of times needs a library we do not.
            found = self._connection.sql(text, params=list(parameters)).to_arrow_table()
            return list(zip(*(_key_values(column) for column in found.columns), strict=True))
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except (duckdb.OutOfRangeException, duckdb.ConversionException) as error:
            raise QueryError(
                "A number in the query becomes too large, or a value does not fit. Use smaller "
                "numbers, or cast to DOUBLE."
            ) from error
        except duckdb.Error as error:
            raise self._unreadable() from error

    def _unreadable(self) -> ReleaseError:
        return ReleaseError(
            f"The data of {self._folder} cannot be read. 'countveil verify' says what is wrong."
        )


def _key_values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        # A group key is shown to people: to the microsecond is enough.
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    return python_values(column)


def _pivot(
    found: list[tuple[Any, ...]], tally: Tally, domains: Sequence[Sequence[Any]]
) -> TallyResult:
    n_keys, n_bits = len(tally.keys), len(tally.conditions)
    shape = tuple(len(domain) for domain in domains)
    groups: dict[tuple[Any, ...], int] = {} if n_keys else {(): 0}
    # Without any row there is still a pattern: nothing holds.
    patterns: dict[tuple[bool, ...], int] = {} if found else {(False,) * n_bits: 0}
    for line in found:
        groups.setdefault(line[:n_keys], len(groups))
        patterns.setdefault(line[n_keys : n_keys + n_bits], len(patterns))
    size = len(groups) * len(patterns) * int(np.prod(shape, dtype=np.int64))
    if size * (1 + 2 * len(tally.arguments)) > MOST_NUMBERS:
        raise QueryError(
            f"The answer would need {size:,} numbers, more than can be evaluated at once. Group "
            f"by less, or narrow the query with WHERE."
        )
    n_moments = 1 + 2 * len(tally.arguments)
    moments = np.zeros((n_moments, len(groups), len(patterns), *shape))
    lowest = np.zeros(len(tally.arguments))
    places = [{value: place for place, value in enumerate(domain)} for domain in domains]
    first = n_keys + n_bits
    for line in found:
        published = line[first : first + len(shape)]
        try:
            cell = tuple(place[value] for place, value in zip(places, published, strict=True))
        except KeyError as error:
            raise ReleaseError(
                "The data hold a sensitive value that the manifest does not list. "
                "'countveil verify' says what is wrong."
            ) from error
        where = (groups[line[:n_keys]], patterns[line[n_keys:first]], *cell)
        count, *sums = line[first + len(shape) :]
        moments[(0, *where)] = count
        for number in range(len(tally.arguments)):
            total, square, low = sums[3 * number : 3 * number + 3]
            moments[(1 + 2 * number, *where)] = total or 0
            moments[(2 + 2 * number, *where)] = square or 0
            lowest[number] = min(lowest[number], low or 0)
    truths = np.array(list(patterns), bool).reshape(len(patterns), n_bits)
    return TallyResult(list(groups), truths, moments, lowest)
