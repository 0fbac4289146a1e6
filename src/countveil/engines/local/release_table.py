"""A release's data in DuckDB: one GROUP BY per query, or codes in memory after many queries.

Enters: the files of a release and its columns; later, tallies. Leaves: counts and sums. Must not
know: SQL that anybody wrote, estimators. The statement is built from our own expressions, columns
under internal names, literals as parameters; the connection can read the data folder and nothing
else.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.engines.local.in_memory import NotInMemoryError
from countveil.engines.pivot import axis_sizes, pivot
from countveil.errors import QueryError, ReleaseError
from countveil.sql.dialects.dialect import DuckDB
from countveil.sql.locked_duckdb import UNREADABLE_PATTERN, connect, quoted, without_pattern
from countveil.sql.query import Tally, TallyResult
from countveil.sql.query.expressions import Expression

if TYPE_CHECKING:
    from countveil.engines.local.in_memory.columns import Batches
    from countveil.engines.local.in_memory.loading import Loading
    from countveil.engines.local.in_memory.release import InMemoryRelease
    from countveil.sql.query.axes import Axis

Floats = NDArray[np.float64]

# How many questions are answered from the files first; reading a column costs as much as a few.
FROM_FILES = 3
# Rows that are read into memory while a question waits: half a second on a usual machine.
WAITED_FOR = 2_000_000


class LocalRelease:
    """The data files of a release; see `ReleaseTable`.

    `rows` are those of files that are not Parquet. Without `sensitive` columns nothing is read into
    memory.
    """

    def __init__(
        self,
        folder: Path,
        files: Sequence[str],
        columns: Sequence[str],
        sensitive: Sequence[str] = (),
        rows: Iterable[pa.Table] | None = None,
    ) -> None:
        self._sensitive = sensitive
        self._asked, self._tried_memory = 0, not sensitive
        self._coded: InMemoryRelease | None = None
        self._loading: Loading | None = None
        self._internal = {name: f"c{i}" for i, name in enumerate(columns)}
        paths = [Path(os.path.realpath(folder / file)) for file in files]
        self._folder = folder
        self._connection = connect(sorted({path.parent for path in paths}))
        self._cursor: duckdb.DuckDBPyConnection | None = None
        self._parquet = paths if rows is None else []
        if rows is not None:
            self._load(rows)
            return
        listed = ", ".join(quoted(without_pattern(path)) for path in paths)
        names = ", ".join(self._internal.values())
        # A folder called sex=F is a folder, not a column.
        scan = f"read_parquet([{listed}], hive_partitioning = false)"
        self._create(f"CREATE VIEW release AS SELECT * FROM {scan} AS t({names})")

    def _load(self, rows: Iterable[pa.Table]) -> None:
        """Other formats are read once: DuckDB would guess types that the manifest states."""
        for number, table in enumerate(rows):
            coming = table.rename_columns(list(self._internal.values()))
            self._connection.register("coming", coming)
            made = "INSERT INTO release" if number else "CREATE TABLE release AS"
            self._create(f"{made} SELECT * FROM coming")
        self._connection.unregister("coming")

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """From memory if codes decide it, else in one pass over the files."""
        in_memory = self._in_memory(1)
        if in_memory is not None:
            with contextlib.suppress(NotInMemoryError):
                return in_memory.tally(tally, domains)
        return self._tally_files(tally, domains)

    def tally_each(
        self,
        conditions: Sequence[Expression],
        sensitive: Sequence[str],
        domains: Sequence[Sequence[Any]],
        axes: Sequence[Axis] = (),
    ) -> Floats:
        """From memory as far as codes decide it."""
        in_memory = self._in_memory(len(conditions))
        from_memory: Sequence[Floats | None] = [None] * len(conditions)
        if in_memory is not None:
            with contextlib.suppress(NotInMemoryError):
                from_memory = in_memory.tally_each(conditions, sensitive, domains, axes)
        counts = np.zeros((len(conditions), *axis_sizes(axes, domains)))
        for number, counted in enumerate(from_memory):
            if counted is None:
                tally = Tally(conditions[number], (), (), tuple(sensitive), (), tuple(axes))
                counts[number] = self._tally_files(tally, domains).moments[0, 0, 0]
            else:
                counts[number] = counted
        return counts

    def rows(self, columns: Sequence[str]) -> pa.Table:
        """All rows, of these columns."""
        names = ", ".join(self._internal[name] for name in columns)
        return self._run(f"SELECT {names} FROM release", ())

    def interrupt(self) -> None:
        """End what DuckDB computes for another thread; what is in memory ends by itself, soon."""
        for connection in (self._connection, self._cursor):
            if connection is not None:
                connection.interrupt()

    def _in_memory(self, questions: int) -> InMemoryRelease | None:
        """The release in memory, once there are so many questions that reading it pays.

        A large one is read in the background, so that no question waits for it; many questions at
        once wait, for they are answered sooner so.
        """
        self._asked += questions
        many = questions > FROM_FILES
        if self._asked > FROM_FILES and not self._tried_memory:
            self._tried_memory = True
            with contextlib.suppress(NotInMemoryError):
                self._read_into_memory(in_background=not many)
        if self._loading is not None and self._loading.finished(wait=many):
            self._coded, self._loading = self._loading.release, None
        return self._coded

    def _read_into_memory(self, *, in_background: bool) -> None:
        from countveil.engines.local.in_memory.columns import batches_of
        from countveil.engines.local.in_memory.loading import Loading
        from countveil.engines.local.in_memory.release import InMemoryRelease

        # A cursor of its own: two threads do not share one.
        connection = self._cursor = self._connection.cursor()
        from_files = self._batches()
        batches = from_files or partial(batches_of, connection)

        def read(batches: Batches) -> InMemoryRelease:
            return InMemoryRelease(
                connection, self._internal, self._sensitive, batches, at_once=bool(from_files)
            )

        ((rows,),) = connection.sql("SELECT count(*) FROM release").fetchall()
        if in_background and rows > WAITED_FOR:
            self._loading = Loading(read, batches)
        else:
            self._coded = read(batches)

    def _batches(self) -> Batches | None:
        """How columns are read from the files directly; None if there is nothing but DuckDB."""
        if not self._parquet:
            return None
        from countveil.engines.local.in_memory.columns import parquet_batches

        places = {name: place for place, name in enumerate(self._internal.values())}
        return lambda name: parquet_batches(self._parquet, places[name])

    def _tally_files(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        return pivot(self.lines(tally), tally, domains)

    def lines(self, tally: Tally) -> pa.Table:
        """The lines of a GROUP BY, in one pass over the data; see `pivot`."""
        statement = DuckDB(self._internal)
        text = statement.tally(tally, "release")
        return self._run(text, statement.parameters)

    def _create(self, text: str) -> None:
        try:
            self._connection.execute(text)
        except duckdb.Error as error:
            raise self._unreadable() from error

    def _run(self, text: str, parameters: Sequence[Any]) -> pa.Table:
        try:
            # Through Arrow: DuckDB's conversion of times needs a library that we do not.
            answer = self._connection.sql(text, params=list(parameters))
            table: pa.Table = answer.to_arrow_table()
        except duckdb.InterruptException:
            raise KeyboardInterrupt from None
        except (duckdb.OutOfRangeException, duckdb.ConversionException) as error:
            raise QueryError(
                "A number in the query becomes too large, or a value does not fit. Use smaller "
                "numbers, or cast to DOUBLE."
            ) from error
        except duckdb.InvalidInputException as error:
            # A pattern that is none, or a damaged file: the file has to be read to tell.
            self._check_data()
            raise QueryError(UNREADABLE_PATTERN) from error
        except duckdb.Error as error:
            raise self._unreadable() from error
        return table

    def _check_data(self) -> None:
        """ReleaseError if the data cannot be read as a whole."""
        names = ", ".join(self._internal.values())
        self._create(f"SELECT bit_xor(hash({names})) FROM release")

    def _unreadable(self) -> ReleaseError:
        return ReleaseError(
            f"The data of {self._folder} cannot be read. 'countveil verify' says what is wrong."
        )
