"""Ledger and release agree, however a publication ends: killed, refused, twice at once."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import LedgerError, TargetError
from countveil.publishing.ledger import agreement
from countveil.publishing.ledger.book import open_book
from countveil.release.draft import Draft
from countveil.release.places import LocalPlaces
from tests.publishing.again.hospital import Hospital, publish, rows_of

KILLED = Path(__file__).with_name("killed.py")


@pytest.fixture
def hospital() -> Hospital:
    return Hospital(range(120))


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return cv.Ledger.init(tmp_path / "ledger").path


def states(ledger: Path) -> list[str]:
    return [release.state for release in cv.Ledger(ledger).show().releases]


@pytest.mark.slow
def test_killed_at_every_step_both_or_neither(hospital: Hospital, tmp_path: Path) -> None:
    pq.write_table(hospital.table(), tmp_path / "first.parquet")
    hospital.admit(range(120, 240))
    pq.write_table(hospital.table(), tmp_path / "second.parquet")
    (tmp_path / "kills").mkdir()
    done = subprocess.run(
        [sys.executable, KILLED, "kills", "first.parquet", "second.parquet"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines, done.stderr
    assert lines[-1]["code"] == 0, done.stderr
    killed = lines[:-1]
    assert len(killed) > 20
    assert all(line["code"] == -9 for line in killed)
    # In the moment of death the release may be there before the ledger says so, never the reverse.
    possible = {
        (1, ("done",)),
        (1, ("done", "prepared")),
        (2, ("done", "prepared")),
        (2, ("done", "done")),
    }
    met = {(line["after"]["release"], tuple(line["after"]["states"])) for line in killed}
    assert met <= possible
    assert len(met) == len(possible)
    for line in killed:
        first = line["after"]["release"] == 1
        # The next publication finds both, or neither: release 2 is made anew, or release 3 follows.
        expected = 2 if first else 3
        assert line["again"]["release"] == expected
        assert line["again"]["states"] == ["done"] * expected
        assert line["again"]["batches"] == [1, 2]
        assert not line["leftovers"]
        assert not line["differences"]


HALF_WRITTEN = """
import os, sqlite3, sys
file = sqlite3.connect(sys.argv[1], isolation_level=None)
file.execute("PRAGMA cache_size = 1")
file.execute("BEGIN EXCLUSIVE")
cases = ((number.to_bytes(16, "big"),) for number in range(20_000))
file.executemany("INSERT INTO cases VALUES (1, ?, 9, 9, 9)", cases)
os._exit(9)
"""


def test_what_was_half_written_is_undone(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    """Killed while pages of the ledger were being written: reading it is enough to undo that."""
    publish(hospital.table(), tmp_path / "1", ledger)
    cases = cv.Ledger(ledger).show().cases
    subprocess.run([sys.executable, "-c", HALF_WRITTEN, str(ledger)], check=False)
    assert ledger.with_name("ledger-journal").stat().st_size > 0
    assert cv.Ledger(ledger).show().cases == cases
    assert not cv.Ledger(ledger).verify(tmp_path / "1")
    publish(hospital.table(), tmp_path / "2", ledger)
    assert rows_of(tmp_path / "2") == rows_of(tmp_path / "1")


def test_a_failure_takes_back_what_was_written_down(
    hospital: Hospital, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(hospital.table(), tmp_path / "1", ledger)

    def fail(_draft: Draft) -> None:
        raise OSError(28, "No space left on device")

    hospital.admit(range(200, 300))
    with monkeypatch.context() as patch:
        patch.setattr(Draft, "_put_in_place", fail)
        with pytest.raises(TargetError, match="full"):
            publish(hospital.table(), tmp_path / "2", ledger)
    assert states(ledger) == ["done"]
    assert not (tmp_path / "2").exists()
    publish(hospital.table(), tmp_path / "2", ledger)
    assert states(ledger) == ["done", "done"]


def test_an_error_after_the_renaming_loses_nothing(
    hospital: Hospital, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inner = Draft._put_in_place

    def fail(draft: Draft) -> None:
        inner(draft)
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Draft, "_put_in_place", fail)
    with pytest.raises(TargetError):
        publish(hospital.table(), tmp_path / "1", ledger)
    assert states(ledger) == ["done"]
    assert not cv.Ledger(ledger).verify(tmp_path / "1")


def test_a_release_that_was_moved_keeps_its_draws(
    hospital: Hospital, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed between renaming and the last step, then moved before the ledger is opened again."""
    with monkeypatch.context() as patch:
        patch.setattr(agreement.Writer, "end", lambda _writer: None)
        publish(hospital.table(), tmp_path / "1", ledger)
    assert states(ledger) == ["prepared"]
    assert cv.Ledger(ledger).verify()
    first = rows_of(tmp_path / "1")
    (tmp_path / "elsewhere").mkdir()
    shutil.move(tmp_path / "1", tmp_path / "elsewhere" / "1")
    with pytest.warns(UserWarning, match="whether it ever was is not known"):
        publish(hospital.table(), tmp_path / "2", ledger)
    assert states(ledger) == ["lost", "done"]
    assert rows_of(tmp_path / "2") == first


def test_there_is_one_publisher_at_a_time(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    with open_book(ledger, ledger.with_name("ledger.key"), write=True):
        with pytest.raises(LedgerError, match="in use by another publication"):
            publish(hospital.table(), tmp_path / "1", ledger)
        with pytest.raises(LedgerError, match="in use"):
            cv.Ledger(ledger).show()
    assert not (tmp_path / "1").exists()
    publish(hospital.table(), tmp_path / "1", ledger)


def test_of_two_publishers_at_once_nobody_is_drawn_twice(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    """Both try at the same time; one may be refused, and none draws what the other did."""
    refused: list[Exception] = []
    start = threading.Barrier(2)

    def work(name: str) -> None:
        start.wait()
        try:
            publish(hospital.table(), tmp_path / name, ledger)
        except LedgerError as error:
            refused.append(error)

    threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    made = [tmp_path / name for name in ("a", "b") if (tmp_path / name).exists()]
    assert len(made) + len(refused) == 2
    assert made, refused
    assert len(cv.Ledger(ledger).show().batches) == 1
    assert all(rows_of(place) == rows_of(made[0]) for place in made)


def test_a_restored_copy_is_refused(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    publish(hospital.table(), tmp_path / "1", ledger)
    copy = ledger.read_bytes()
    hospital.admit(range(200, 300))
    publish(hospital.table(), tmp_path / "2", ledger)
    newest = ledger.read_bytes()
    ledger.write_bytes(copy)
    with pytest.raises(LedgerError, match="is release 2 of it; it knows of 1"):
        publish(hospital.table(), tmp_path / "3", ledger)
    assert "old copy" in str(cv.Ledger(ledger).verify(tmp_path / "2"))
    # The record beside the releases remembers one that is not there any more.
    (tmp_path / "moved").mkdir()
    shutil.move(tmp_path / "2", tmp_path / "moved" / "2")
    with pytest.raises(LedgerError, match="older than 2, which is release 2"):
        publish(hospital.table(), tmp_path / "3", ledger)
    ledger.write_bytes(newest)
    publish(hospital.table(), tmp_path / "3", ledger)


def test_what_cannot_be_told_is_asked_again(
    hospital: Hospital, ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A place that cannot be reached is no reason to draw anybody twice."""
    inner, reached = LocalPlaces.manifest, [True]

    def manifest(places: LocalPlaces, place: str) -> bytes | None:
        if not reached[0]:
            raise OSError(5, "Input/output error")
        # The draft can be read, the place to which it was renamed cannot.
        reached[0] = ".draft-" not in place
        return inner(places, place)

    with monkeypatch.context() as patch:
        patch.setattr(LocalPlaces, "manifest", manifest)
        with pytest.raises(LedgerError, match="cannot be told now"):
            publish(hospital.table(), tmp_path / "1", ledger)
        assert states(ledger) == ["prepared"]
        with pytest.raises(LedgerError, match="nothing else is published with this ledger"):
            publish(hospital.table(), tmp_path / "2", ledger)
    with pytest.warns(UserWarning, match="was complete when its publication was ended"):
        publish(hospital.table(), tmp_path / "2", ledger)
    assert states(ledger) == ["done", "done"]
    assert rows_of(tmp_path / "1") == rows_of(tmp_path / "2")
