"""A release that Spark reads where it is: one GROUP BY per question, on the cluster.

Enters: an address; later, tallies. Leaves: counts and sums. Must not know: SQL that anybody wrote,
estimators.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import OpenedRelease
from countveil.engines.pivot import one_by_one, pivot
from countveil.engines.spark import jobs
from countveil.engines.spark.draft import read_manifest
from countveil.engines.spark.files import files_to_read
from countveil.engines.spark.platform.checksums import checksums
from countveil.engines.spark.session import find_session, our_settings
from countveil.errors import EngineError, QueryError, ReleaseError
from countveil.release import ANY, Expected, Manifest
from countveil.release.values import PARQUET, format_of
from countveil.sql.dialects import SPARK, dialect_for
from countveil.sql.query import Tally, TallyResult
from countveil.sql.query.expressions import Expression
from countveil.sql.time_limit import time_limit

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.sql.query.axes import Axis


def open_release(
    address: str, master: str | None = None, expected: Expected = ANY
) -> OpenedRelease:
    """Open the release at an address."""
    session = find_session(master)
    try:
        files = files_to_read(session, address)
        manifest = read_manifest(files, files.root, expected)
    except jobs.java_errors() as error:
        why = jobs.condition(error)
        raise ReleaseError(
            f"There is no release that Spark can read at {address} ({why})."
        ) from None
    if format_of(manifest.files[0].path) != PARQUET:
        raise ReleaseError("Spark queries Parquet files; this release is in another format.")
    table = SparkRelease(session, files.root, manifest)
    with time_limit(table.interrupt, expected.timeout):
        table.check()
        if expected.signed_by is not None:
            table.check_signed()
    return OpenedRelease(manifest, lambda: table)


class SparkRelease:
    """The rows of a release that Spark reads; see `ReleaseTable`."""

    def __init__(self, session: Any, root: str, manifest: Manifest) -> None:
        self._session, self._manifest = session, manifest
        self._running: set[jobs.Interrupt] = set()
        # What would be a pattern is meant as it is.
        root = re.sub(r"([\\{}\[\]*?])", r"\\\1", root)
        self._paths = [f"{root}/{file.path}" for file in manifest.files]

    def check(self) -> None:
        """Refuse rows that cannot be those of the manifest: every estimate would be wrong."""
        rows, names = self._wait(lambda: (self._frame().count(), self._frame().columns))
        if rows != self._manifest.rows or names != [c.name for c in self._manifest.columns]:
            raise ReleaseError(
                f"The data do not fit the manifest: {rows:,} rows instead of "
                f"{self._manifest.rows:,}, or other columns. 'countveil verify' says what is wrong."
            )

    def check_signed(self) -> None:
        """Refuse files that are not those of the manifest, of which only that one is signed."""
        digests = self._wait(lambda: checksums(self._session, *self._paths))
        for file in self._manifest.files:
            if digests.get(file.path.rpartition("/")[2]) != file.sha256:
                raise ReleaseError(
                    f"{file.path} is not the file that was signed. 'countveil verify' says what is "
                    f"wrong."
                )

    def interrupt(self) -> None:
        """End what the cluster computes for other threads."""
        for running in list(self._running):
            running.set()

    def tally(self, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
        """One pass over the data, on the cluster."""
        dialect = dialect_for(SPARK, self._manifest.columns)

        def ask() -> Any:
            view = f"countveil_{uuid.uuid4().hex}"
            self._frame().createOrReplaceTempView(view)
            try:
                lines = self._session.sql(dialect.tally(tally, view))
                # Spark names columns by their text, of which two may be the same.
                return lines.toDF(*(f"c{place}" for place in range(len(lines.columns)))).toArrow()
            finally:
                self._session.catalog.dropTempView(view)

        return pivot(self._wait(ask), tally, domains)

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
        """All rows, of these columns; they must fit into the memory of this process."""
        listed = [f"`{name.replace('`', '``')}`" for name in columns]
        table: pa.Table = self._wait(lambda: self._frame().select(*listed).toArrow())
        return table

    def _frame(self) -> Any:
        return self._session.read.parquet(*self._paths)

    def _wait(self, work: Any) -> Any:
        interrupt = jobs.Interrupt()
        self._running.add(interrupt)
        with our_settings(self._session):
            try:
                return jobs.run(self._session, work, interrupt=interrupt)
            except EngineError as error:
                if "OVERFLOW" in str(error) or "CAST" in str(error):
                    raise QueryError(
                        "A number in the query becomes too large, or a value does not fit. Use "
                        "smaller numbers, or cast to DOUBLE."
                    ) from None
                raise
            finally:
                self._running.discard(interrupt)
