"""Persons with several rows, and series of releases with a ledger, on a real cluster."""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.spark import files
from countveil.errors import InputError, LedgerError, TargetError
from countveil.publishing.ledger import agreement
from tests.clusters import Cluster
from tests.engines.conformance.places import ON_SPARK
from tests.publishing.again.hospital import Hospital, by_case, rows_of

pytestmark = [
    *ON_SPARK,
    pytest.mark.filterwarnings("ignore:.*Release . of the ledger:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*wait for a later release:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*are not in this release:UserWarning"),
]


@pytest.fixture
def ledger(tmp_path: Path, spark_session: Any) -> Path:
    assert spark_session is not None
    return cv.Ledger.init(tmp_path / "ledger").path


def put(table: pa.Table, folder: Path) -> str:
    """A table in three files, so that the rows of a case lie in several partitions."""
    folder.mkdir()
    rows = np.arange(table.num_rows)
    for part in range(3):
        pq.write_table(table.take(rows[rows % 3 == part]), folder / f"{part}.parquet")
    return str(folder)


def publish(table: Any, to: Path | str, ledger: Path, engine: str = "spark", **options: Any) -> Any:
    return cv.publish(
        table, {"diagnosis": 3}, to, person="patient", keep="number", ledger=ledger,
        engine=engine, **options,
    )  # fmt: skip


def states(ledger: Path) -> list[str]:
    return [release.state for release in cv.Ledger(ledger).show().releases]


def test_a_series_goes_on_from_engine_to_engine(
    ledger: Path, cluster: Cluster, tmp_path: Path
) -> None:
    hospital = Hospital(range(150))
    publish(put(hospital.table(), tmp_path / "t1"), tmp_path / "1", ledger)
    first = rows_of(tmp_path / "1")
    assert all(len(said) == 1 for said in by_case(first, hospital.visits).values())
    hospital.admit(range(100, 260))
    publish(hospital.table(), tmp_path / "2", ledger, "embedded")
    second = rows_of(tmp_path / "2")
    hospital.admit(range(300, 301), visits=1)
    with pytest.raises(cv.CountveilError, match="hold=True"):
        publish(put(hospital.table(), tmp_path / "t3"), tmp_path / "3", ledger)
    publish(str(tmp_path / "t3"), tmp_path / "3", ledger, hold=True)
    third = rows_of(tmp_path / "3")
    assert {number: second[number] for number in first} == first
    assert third == second
    assert {batch for _, batch in third.values()} == {1, 2}
    for name in "123":
        assert not cv.Ledger(ledger).verify(tmp_path / name)
    assert states(ledger) == ["done"] * 3
    logs = [path for path in cluster.folder.rglob("*") if path.is_file()]
    assert logs
    for path in logs:
        # Not b"P00" alone: Spark has an SQLSTATE P0001.
        assert re.search(rb"P00\d{3}", path.read_bytes()) is None, path


def test_the_manifest_comes_last_and_draws_are_kept(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in object stores: if the last step fails, nobody is drawn a second time."""
    monkeypatch.setattr(files, "RENAMED_IN_ONE_STEP", set())
    table = put(Hospital(range(150)).table(), tmp_path / "t")
    really, fails = files.Files.rename, [True]

    def failing(self: Any, old: str, new: str) -> None:
        really(self, old, new)
        if fails[0] and new.endswith("manifest.json"):
            # It was there for a moment, and somebody may have read it.
            moved.append(pq.read_table(Path(new.removeprefix("file:")).parent / "data"))
            raise OSError("no")

    moved: list[pa.Table] = []
    monkeypatch.setattr(files.Files, "rename", failing)
    with pytest.raises(TargetError, match="could not be written"):
        publish(table, tmp_path / "1", ledger)
    assert not (tmp_path / "1").exists()
    assert states(ledger) == ["lost"]
    fails[0] = False
    publish(table, tmp_path / "1", ledger)
    assert states(ledger) == ["lost", "done"]
    glimpsed = zip(moved[0]["diagnosis"].to_pylist(), moved[0]["batch"].to_pylist(), strict=True)
    seen_before = dict(zip(moved[0]["number"].to_pylist(), glimpsed, strict=True))
    assert rows_of(tmp_path / "1") == seen_before


@pytest.mark.parametrize("renamed", [True, False])
def test_a_driver_that_dies_at_the_end(
    renamed: bool, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is said to the ledger, and the draft, if it was not renamed, is left there."""
    table = put(Hospital(range(150)).table(), tmp_path / "t")
    drafts: list[str] = []
    really = files.Files.rename

    def dying(self: Any, old: str, new: str) -> None:
        if ".draft-" in old and new == f"file:{tmp_path}/1":
            drafts.append(old.removeprefix("file:"))
            if not renamed:
                raise KeyboardInterrupt
        really(self, old, new)

    with monkeypatch.context() as patch:
        patch.setattr(files.Files, "rename", dying)
        patch.setattr(files.Files, "remove", lambda *_: None)
        patch.setattr(agreement.Writer, "end", lambda _: None)
        with contextlib.nullcontext() if renamed else pytest.raises(KeyboardInterrupt):
            publish(table, tmp_path / "1", ledger)
    assert states(ledger) == ["prepared"]
    assert Path(drafts[0]).exists() is not renamed
    publish(table, tmp_path / "2", ledger)
    # A release that nobody can have seen is forgotten; its draft goes with the next publication.
    assert states(ledger) == (["done"] * 2 if renamed else ["done"])
    assert not Path(drafts[0]).exists()
    if renamed:
        assert rows_of(tmp_path / "1") == rows_of(tmp_path / "2")


def test_a_series_on_another_file_system(
    ledger: Path, tmp_path: Path, spark_session: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has a name of its own, through Hadoop's interface alone."""
    (tmp_path / "mounted").mkdir()
    settings = spark_session.sparkContext._jsc.hadoopConfiguration()
    settings.set("fs.viewfs.mounttable.tests.link./data", f"file://{tmp_path}/mounted")
    hospital = Hospital(range(150))
    table = put(hospital.table(), tmp_path / "t")
    with monkeypatch.context() as patch:
        patch.setattr(agreement.Writer, "end", lambda _: None)
        publish(table, "viewfs://tests/data/1", ledger)
    assert states(ledger) == ["prepared"]
    # From here nobody can tell whether that release is in its place.
    with pytest.raises(LedgerError, match="cannot be told now"):
        publish(hospital.table(), tmp_path / "2", ledger, "embedded")
    with pytest.raises(TargetError, match="is a release of the ledger"):
        publish(table, "viewfs://tests/data/1", ledger)
    publish(table, "viewfs://tests/data/1", ledger, force=True)
    assert states(ledger) == ["done", "done"]
    copy = ledger.read_bytes()
    publish(table, "viewfs://tests/data/2", ledger)
    ledger.write_bytes(copy)
    with pytest.raises(LedgerError, match="is release 3 of it; it knows of 2"):
        publish(table, "viewfs://tests/data/3", ledger)
    opened = cv.open("viewfs://tests/data/2", engine="spark")
    assert opened.manifest.ledger is not None
    assert rows_of(tmp_path / "mounted" / "1") == rows_of(tmp_path / "mounted" / "2")


def test_more_cases_than_the_driver_takes(
    spark_session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert spark_session is not None
    table = put(Hospital(range(150)).table(), tmp_path / "t")
    for module in ("lines", "counting"):
        monkeypatch.setattr(f"countveil.engines.partitions.cases.{module}.MOST_LINES", 100)
    with pytest.raises(InputError, match="sort the table by 'patient' first"):
        cv.publish(
            table, {"diagnosis": 3}, tmp_path / "r", person="patient", keep="number",
            engine="spark",
        )  # fmt: skip
    assert sorted(path.name for path in tmp_path.iterdir()) == ["t"]
