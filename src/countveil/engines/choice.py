"""The one place that chooses an engine, to publish a table or to open a release.

Enters: the engine's name, and the table or the place of the release. Leaves: the engine, or the
opened release. Only the engine that was chosen is loaded. Must not know: what it will be used for.

A new engine gets a name here and one line in each function.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from countveil.engines.contract import Engine, OpenedRelease, ReleaseTable
from countveil.errors import SettingsError, option
from countveil.release import ANY, Expected, Manifest, read_manifest
from countveil.release.values import PARQUET, format_of
from countveil.system.address import parse_release_address

EMBEDDED, SPARK, DASK = "embedded", "spark", "dask"
ENGINES = (EMBEDDED, SPARK, DASK)


def check_engine(name: str, master: str | None = None) -> None:
    """Refuse an unknown name, and a master for an engine that has none."""
    if name not in ENGINES:
        raise SettingsError(f"There is no engine {name!r}. Available: {', '.join(ENGINES)}.")
    if master is not None and name == EMBEDDED:
        raise SettingsError(
            f"A master is the address of a cluster; add {option('engine', SPARK)} or "
            f"{option('engine', DASK)}."
        )


def chosen_engine(name: str, table: object, master: str | None = None) -> Engine:
    """The engine to publish a table with: the named one, but its own for a frame of a cluster."""
    # Only here: an analyst's process loads nothing about sources.
    from countveil.tables.sources import is_dask_frame, is_spark_frame

    if is_spark_frame(table):
        name = SPARK
    if is_dask_frame(table):
        name = DASK
    check_engine(name, master)
    if name == SPARK:
        from countveil.engines.spark.engine import SparkEngine

        return SparkEngine(table, master)
    if name == DASK:
        from countveil.engines.dask.engine import DaskEngine

        return DaskEngine(master)
    from countveil.engines.local.engine import LocalEngine

    return LocalEngine()


def open_release(
    place: str, name: str = EMBEDDED, master: str | None = None, expected: Expected = ANY
) -> OpenedRelease:
    """Open a release: a folder, a table in a database, or with Spark any place that it reads."""
    check_engine(name, master)
    if name == SPARK:
        from countveil.engines.spark.release_table import open_release as open_with_spark

        return open_with_spark(place, master, expected)
    if name == DASK:
        from countveil.engines.dask.release_table import open_release as open_with_dask

        return open_with_dask(place, master, expected)
    address = parse_release_address(place)
    if address is not None:
        from countveil.engines.databases.release_table import open_release as open_in_database

        return open_in_database(address, expected)
    folder = Path(place)
    manifest = read_manifest(folder, expected)
    # DuckDB is loaded by the first question only.
    return OpenedRelease(manifest, partial(_open_files, folder, manifest, expected.larger))


def _open_files(folder: Path, manifest: Manifest, larger: float) -> ReleaseTable:
    from countveil.engines.local.release_table import LocalRelease
    from countveil.release.opening import check_data_files

    check_data_files(folder, manifest, larger)
    files = [file.path for file in manifest.files]
    columns = [column.name for column in manifest.columns]
    rows = None
    if format_of(files[0]) != PARQUET:
        from countveil.engines.local.release_rows import released_rows

        rows = released_rows(folder, manifest, larger)
    batches = [entry.batch for entry in manifest.batches if entry.batch is not None]
    return LocalRelease(folder, files, columns, [*manifest.sensitive, *batches], rows)


def changes_between(
    earlier: ReleaseTable, later: ReleaseTable, columns: Sequence[str], came: str
) -> tuple[ReleaseTable, int]:
    """The rows that only one of two releases has; the column `came` is 1 in those of the later.

    Their number comes with them.
    """
    from countveil.engines.local.changed_rows import changed_rows

    return changed_rows(earlier, later, columns, came)
