"""Publishing on Dask: the same rows whoever runs a task, and whatever becomes of the worker."""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.dask.exchange import Exchange, files_for
from countveil.engines.dask.reading import Partitions, RowReader
from countveil.engines.partitions.task_inputs import Carried
from countveil.errors import EngineError, InputError
from countveil.randomness import Randomness
from countveil.tables import Reading

ROWS = 6_000
JOBS = ["nurse", "doctor", "cook", "sailor"]

pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def people() -> pd.DataFrame:
    rng = np.random.default_rng(5)
    return pd.DataFrame({
        "row": np.arange(ROWS),
        "job": pd.array(rng.choice(JOBS, ROWS, p=[0.4, 0.3, 0.2, 0.1]), "string[pyarrow]"),
        "age": rng.integers(0, 90, ROWS),
    })  # fmt: skip


def frame(partitions: int = 6) -> Any:
    return dd.from_pandas(people(), npartitions=partitions)


def publish(table: Any, to: Path, **options: Any) -> cv.Release:
    options = {"keep": ["row"], "seed": 11, "engine": "dask", **options}
    return cv.publish(table, {"job": 2}, to, **options)


def rows_of(folder: Path) -> list[tuple[Any, ...]]:
    """The rows of a release in their order."""
    files = sorted((folder / "data").iterdir())
    return [tuple(row.values()) for file in files for row in pq.read_table(file).to_pylist()]


def drawn(folder: Path) -> Counter[tuple[str, str]]:
    """How many rows with a true value publish which."""
    true = people()["job"].tolist()
    return Counter((true[row], job) for row, job, _ in rows_of(folder))


@pytest.fixture
def small_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """A release of some thousand rows has several files."""
    monkeypatch.setattr("countveil.engines.dask.source_table.files_for", lambda _rows, _columns: 5)


@contextlib.contextmanager
def cluster(**options: Any) -> Iterator[Any]:
    """Two workers, each a process of its own."""
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.worker.daemon": True}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None,
            silence_logs=50, **options,
        ) as machines,
        Client(machines) as client,
    ):  # fmt: skip
        yield client


@pytest.mark.usefixtures("small_files")
def test_every_row_is_published_once_in_an_order_of_its_own(tmp_path: Path) -> None:
    made = publish(frame(), tmp_path / "r")
    assert cv.verify(tmp_path / "r") == []
    files = sorted((tmp_path / "r" / "data").iterdir())
    assert [file.name for file in files] == [f"part-{n:05d}.parquet" for n in range(5)]
    assert made.rows == ROWS
    numbers = np.array([row for row, _, _ in rows_of(tmp_path / "r")])
    assert sorted(numbers.tolist()) == list(range(ROWS))
    assert abs(np.corrcoef(np.arange(ROWS), numbers)[0, 1]) < 5 / np.sqrt(ROWS)
    ages = people()["age"].tolist()
    assert all(ages[row] == age for row, _, age in rows_of(tmp_path / "r"))


def test_a_seed_draws_the_same_table_as_one_machine(tmp_path: Path) -> None:
    publish(frame(), tmp_path / "dask")
    publish(people(), tmp_path / "here", engine="embedded")
    assert drawn(tmp_path / "dask") == drawn(tmp_path / "here")


@pytest.mark.usefixtures("small_files")
def test_partitions_of_files_are_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("countveil.tables.readers.blocks.LEAST_SPAN", 500)
    folder = tmp_path / "in"
    folder.mkdir()
    table = pa.Table.from_pandas(people(), preserve_index=False)
    for number in range(3):
        some = table.slice(number * 2_000, 2_000)
        pq.write_table(some, folder / f"{number}.parquet", row_group_size=300)
    publish(str(folder), tmp_path / "r")
    assert drawn(tmp_path / "r") == drawn_here(tmp_path)
    assert len({row for row, _, _ in rows_of(tmp_path / "r")}) == ROWS


def drawn_here(tmp_path: Path) -> Counter[tuple[str, str]]:
    publish(people(), tmp_path / "here", engine="embedded")
    return drawn(tmp_path / "here")


@pytest.mark.slow
@pytest.mark.usefixtures("small_files")
def test_processes_and_threads_publish_the_same_rows_in_the_same_order(tmp_path: Path) -> None:
    publish(frame(), tmp_path / "threads")
    with cluster() as client:
        address = client.scheduler_info()["address"]
        publish(frame(), tmp_path / "processes")
        made = cv.open(tmp_path / "processes", engine="dask", master=address)
        assert next(iter(made.sql("SELECT count(*) FROM release").rows()))[0] == ROWS
    assert rows_of(tmp_path / "processes") == rows_of(tmp_path / "threads")


def _killed_once(part: Any, folder: str, reading: int) -> Any:
    """Every reading of a partition leaves a mark; one of them ends the worker."""
    first = int(part["row"].iloc[0]) if len(part) else -1
    if 0 < first < ROWS // 2:
        readings = Path(folder) / str(first)
        with readings.open("a") as file:
            file.write("x")
        if readings.stat().st_size == reading:
            os._exit(1)
    return part


@pytest.mark.slow
@pytest.mark.usefixtures("small_files")
def test_workers_that_die_while_they_deal_change_no_row(tmp_path: Path) -> None:
    """A partition is read to count, to look for giveaways, and to deal: then the worker ends."""
    publish(frame(), tmp_path / "quiet")
    readings = tmp_path / "readings"
    readings.mkdir()
    with cluster() as _, dask.config.set({"distributed.scheduler.allowed-failures": 20}):
        deadly = frame().map_partitions(_killed_once, str(readings), 3, meta=people().iloc[:0])
        publish(deadly, tmp_path / "killed")
    assert [mark.stat().st_size for mark in readings.iterdir()].count(3) == 0, "nobody died"
    assert rows_of(tmp_path / "killed") == rows_of(tmp_path / "quiet")


def test_rows_that_come_in_another_order_each_time_are_published_once(tmp_path: Path) -> None:
    """A frame that is shuffled by whoever made it: the partition is another one in each pass."""
    shuffled = frame().map_partitions(lambda part: part.sample(frac=1), meta=people().iloc[:0])
    publish(shuffled, tmp_path / "r")
    assert drawn(tmp_path / "r") == drawn_here(tmp_path)
    assert len({row for row, _, _ in rows_of(tmp_path / "r")}) == ROWS


def test_a_partition_with_other_values_the_next_time_is_refused(tmp_path: Path) -> None:
    sampled = frame().map_partitions(lambda part: part.sample(frac=0.5), meta=people().iloc[:0])
    with pytest.raises(InputError, match="The table changed while it was read"):
        publish(sampled, tmp_path / "r")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_changes_meanwhile_is_refused(tmp_path: Path) -> None:
    from countveil.engines.dask.reading import RowGroups

    table = pa.Table.from_pandas(people(), preserve_index=False)
    pq.write_table(table, tmp_path / "in.parquet")
    piece = RowGroups(tmp_path / "in.parquet", [0])
    assert piece.table(["age"]).num_rows == ROWS
    os.utime(tmp_path / "in.parquet", ns=(1, 1))
    with pytest.raises(RuntimeError, match="The table changed"):
        piece.table(["age"])


class TestExchange:
    """Attempts: how often a task ran does not matter, nor which attempt is taken."""

    @pytest.fixture
    def exchange(self, tmp_path: Path) -> tuple[Exchange, list[Carried], list[Any]]:
        from countveil.engines.partitions.task_inputs import entries_by_partition
        from tests.engines.spark.test_tasks import NAMES, PARTS, deal_task

        _, _, entries = deal_task(3)
        key = Randomness(3).task_key("deal")
        reader = RowReader(PARTS[0].schema, Reading(), {})
        shares = [Carried(each) for each in entries_by_partition(entries, key, len(PARTS))]
        head = {"head": entries["head"]}
        pieces = [part.to_pandas(types_mapper=pd.ArrowDtype) for part in PARTS]
        return Exchange(reader, NAMES, head, key, tmp_path, 3), shares, pieces

    def test_an_attempt_has_a_file_of_its_own_with_the_same_rows(
        self, exchange: tuple[Exchange, list[Carried], list[Any]], tmp_path: Path
    ) -> None:
        tasks, shares, pieces = exchange
        once = [tasks.deal(shares[n], n, [piece]) for n, piece in enumerate(pieces)]
        again = [tasks.deal(shares[n], n, [piece]) for n, piece in enumerate(pieces)]
        assert once[2] is None, "a partition without rows writes nothing"
        first, second = ([each[0] for each in tried if each] for tried in (once, again))
        assert not set(first) & set(second)
        assert {path.name for path in tmp_path.iterdir()} == {*first, *second}
        for number in range(3):
            merged = [tasks.merge(names, number, ["job"]) for names in (first, second)]
            tables = [pq.read_table(tmp_path / each[0]) for each in merged if each]
            assert tables[0].equals(tables[1])
            assert tables[0].column_names == ["job", "age"]

    def test_what_is_exchanged_cannot_be_read(
        self, exchange: tuple[Exchange, list[Carried], list[Any]], tmp_path: Path
    ) -> None:
        tasks, shares, pieces = exchange
        dealt = tasks.deal(shares[0], 0, [pieces[0]])
        assert dealt is not None
        content = (tmp_path / dealt[0]).read_bytes()
        assert b"ARROW" not in content
        assert b"job" not in content
        assert np.bincount(np.frombuffer(content[32:], np.uint8), minlength=256).max() < 60

    def test_a_task_has_its_own_share_and_no_other(
        self, exchange: tuple[Exchange, list[Carried], list[Any]]
    ) -> None:
        _, shares, _ = exchange
        assert [list(each.value) for each in shares] == [[f"job/{n}"] for n in range(4)]


def test_files_are_no_longer_than_memory_allows() -> None:
    assert files_for(0, 3) == files_for(1 << 20, 3) == 1
    assert files_for((1 << 20) + 1, 3) == 2
    assert files_for(1 << 20, 1 << 10) == 16


def test_fewer_partitions_have_the_same_pieces_in_order() -> None:
    parts = Partitions(pa.schema([]), [["a"], ["b"], ["c"], ["d"], ["e"]])
    assert parts.fewer(2).pieces == [["a", "b"], ["c", "d", "e"]]
    assert parts.fewer(9).pieces == parts.pieces


def test_a_large_domain_is_counted_in_fewer_partitions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("countveil.engines.partitions.table.MOST_VALUES", 500)
    monkeypatch.setattr("countveil.engines.partitions.table.MOST_COUNTS", 700)
    many = people().assign(value=[f"v{n % 400}" for n in range(ROWS)])
    table = dd.from_pandas(many.astype({"value": "string[pyarrow]"}), npartitions=6)
    made = cv.publish(table, {"value": 3}, tmp_path / "r", keep="row")
    assert made.rows == ROWS
    monkeypatch.setattr("countveil.engines.partitions.table.MOST_VALUES", 300)
    monkeypatch.setattr("countveil.engines.partitions.counts.MOST_VALUES", 300)
    with pytest.raises(InputError, match="more than 300 different values"):
        cv.publish(table, {"value": 3}, tmp_path / "s", keep="row")


def test_repeats_are_counted_in_slices_of_all_values(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With the largest partitions as small as this, values are in many slices of many tasks."""
    monkeypatch.setattr("countveil.engines.dask.source_table.SLICE_VALUES", 1_000)
    monkeypatch.setattr("countveil.engines.dask.source_table._JOINED", 2)
    table = people().assign(person=[f"p{n // 2}" for n in range(ROWS)])
    table = table.astype({"person": "string[pyarrow]"})
    broken = table.assign(person=table["person"].where(table["row"] != 7))
    with pytest.raises(InputError, match="1 rows have no value"):
        publish(dd.from_pandas(broken, npartitions=5), tmp_path / "r", person="person")
    made = publish(dd.from_pandas(table, npartitions=5), tmp_path / "r", person="person")
    theirs = publish(table, tmp_path / "s", person="person", engine="embedded")
    assert made.manifest.statement == theirs.manifest.statement
    assert sorted(rows_of(tmp_path / "r")) == sorted(rows_of(tmp_path / "s"))


def test_a_series_is_continued_with_a_ledger(tmp_path: Path) -> None:
    ledger = cv.Ledger.init(tmp_path / "series.ledger")
    table = people().assign(person=[f"p{n}" for n in range(ROWS)])
    table = table.astype({"person": "string[pyarrow]"}).drop(columns="row")
    options: dict[str, Any] = {"person": "person", "ledger": ledger.path, "engine": "dask"}
    half = dd.from_pandas(table[: ROWS // 2], npartitions=3)
    cv.publish(half, {"job": 2}, tmp_path / "one", **options)
    second = cv.publish(
        dd.from_pandas(table, npartitions=4), {"job": 2}, tmp_path / "two", **options
    )
    assert second.rows == ROWS
    assert len(second.manifest.batches[0].drawn) == 2


def test_workers_that_share_no_folder_are_noticed(tmp_path: Path) -> None:
    from countveil.engines.dask.source_table import _check_shared

    with pytest.raises(EngineError, match="share under one path"):
        _check_shared(tmp_path, ["missing"])
