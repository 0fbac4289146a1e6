"""The record of publications: who was published before is noticed, and told to nobody else."""

from __future__ import annotations

import base64
import fcntl
import hashlib
import json
import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import countveil as cv
from countveil.publishing.publications import record, sketch
from countveil.publishing.publications.record import RECORD_NAME, Entry, entries_beside
from countveil.release.batches import LedgerMark
from tests.robustness.conftest import Quick

JOBS = ("baker", "clerk", "driver", "nurse")
BEFORE = "published before, in 'first'"


DRAW = np.random.default_rng(1)
AGE, TOWN, RENT, JOB = (DRAW.integers(0, bound, 30_000) for bound in (60, 23, 4_000, 4))


def people(first: int, last: int) -> pa.Table:
    """Some of the same 30,000 people."""
    return pa.table(
        {
            "id": [f"P-{number * 7_919 % 999_983:07d}" for number in range(first, last)],
            "age": AGE[first:last] + 18,
            "town": [f"town {number}" for number in TOWN[first:last]],
            "rent": RENT[first:last] / 4,
            "job": [JOBS[number] for number in JOB[first:last]],
        }
    )


def publish(table: Any, to: Path, **options: Any) -> list[str]:
    """Publish, and return the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        cv.publish(table, {"job": 3}, to, **{"drop": "id", "keep": "rent", **options})
    return [str(warning.message) for warning in caught]


KINDS: list[dict[str, Any]] = [
    {"person": "id", "drop": ()},
    {"one_per": {"id": "any"}, "drop": ()},
    {"drop": "id"},
]


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_people_who_were_published_before_are_noticed(kind: dict[str, Any], tmp_path: Path) -> None:
    assert publish(people(0, 2_000), tmp_path / "first", **kind) == []
    (warning,) = publish(people(0, 2_200), tmp_path / "second", dry_run=True, **kind)
    assert BEFORE in warning
    assert "again=True" in warning
    # Of 2,200, 2,000 were there: the share is 0.91, with a standard error of 0.013 at most.
    share = int(warning.split("%")[0].removeprefix("About "))
    assert 80 <= share <= 99
    assert publish(people(0, 2_200), tmp_path / "second", **kind) == [warning]
    assert len(entries_beside(tmp_path / "third")) == 2


def test_the_same_table_is_noticed_when_its_release_is_gone(tmp_path: Path) -> None:
    publish(people(0, 1_000), tmp_path / "first")
    (tmp_path / "first").rename(tmp_path / ".." / f"moved {tmp_path.name}")
    (warning,) = publish(people(0, 1_000), tmp_path / "second")
    assert f"About 100% of the rows of this table were {BEFORE}" in warning


@pytest.mark.slow
def test_whoever_is_few_in_a_larger_table_is_noticed(tmp_path: Path) -> None:
    publish(people(0, 1_000), tmp_path / "first")
    (warning,) = publish(people(0, 20_000), tmp_path / "second")
    assert "About 5%" in warning or "About 4%" in warning or "About 6%" in warning
    (warning,) = publish(people(10_000, 11_000), tmp_path / "third")
    assert "in 'second'" in warning


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
def test_other_people_are_not_taken_for_the_same(kind: dict[str, Any], tmp_path: Path) -> None:
    assert publish(people(0, 2_000), tmp_path / "first", **kind) == []
    assert publish(people(2_000, 5_000), tmp_path / "second", **kind) == []
    assert publish(people(4_900, 6_000), tmp_path / "a few of them", **kind) == []


@pytest.mark.slow
def test_rows_that_anybody_could_have_say_nothing(tmp_path: Path) -> None:
    def coarse(first: int, last: int) -> pa.Table:
        return people(first, last).select(["age", "town", "job"])

    for number in range(3):
        table = coarse(number * 8_000, (number + 1) * 8_000)
        assert publish(table, tmp_path / str(number), drop=(), keep=()) == []
    assert [entry.sketch for entry in entries_beside(tmp_path / "0")] == [None] * 3


@pytest.mark.slow
def test_a_second_release_that_is_meant_is_recorded_without_a_warning(tmp_path: Path) -> None:
    publish(people(0, 1_000), tmp_path / "first")
    assert publish(people(0, 1_100), tmp_path / "second", again=True) == []
    assert [entry.release for entry in entries_beside(tmp_path / "x")] == ["first", "second"]
    # What is replaced was given to nobody, and is not known any more.
    assert publish(people(0, 1_200), tmp_path / "first", again=True, force=True) == []
    entries = entries_beside(tmp_path / "x")
    assert [(entry.release, entry.rows) for entry in entries] == [("second", 1100), ("first", 1200)]


@pytest.mark.slow
def test_who_is_identified_by_numbers_or_by_texts_is_the_same(tmp_path: Path) -> None:
    numbers = pa.table({"id": range(10_000, 11_000), "job": [JOBS[n % 4] for n in range(1_000)]})
    publish(numbers, tmp_path / "first", person="id", drop=(), keep=())
    for position, kind in enumerate((pa.string(), pa.int16(), pa.float64(), pa.large_string())):
        table = numbers.set_column(0, "id", numbers["id"].cast(kind))
        (warning,) = publish(table, tmp_path / f"{position}", person="id", drop=(), keep=())
        assert "About 100%" in warning


@pytest.mark.few(1)
@pytest.mark.parametrize("options", [{"record": False}, {"seed": 1}, {"dry_run": True}])
def test_trials_and_those_who_want_none_leave_no_record(
    options: dict[str, Any], tmp_path: Path
) -> None:
    assert publish(people(0, 500), tmp_path / "first", **options) == []
    assert not (tmp_path / RECORD_NAME).exists()
    publish(people(0, 501), tmp_path / "other")
    if "dry_run" not in options:
        assert publish(people(0, 600), tmp_path / "second", **options) == []
        assert len(entries_beside(tmp_path / "second")) == 1


@pytest.mark.slow
def test_the_command_line_has_it_too(tmp_path: Path, quick: Quick) -> None:
    for name, last in (("a", 500), ("b", 550)):
        pa.csv.write_csv(people(0, last), tmp_path / f"{name}.csv")
    words = ("-s", "job:3", "--drop", "id", "--keep", "rent")
    first = quick("publish", tmp_path / "a.csv", *words, "--to", tmp_path / "first")
    assert (first.code, first.err) == (0, "")
    again = ("publish", tmp_path / "b.csv", *words, "--to", tmp_path / "second")
    assert quick(*again, "--no-record", "--dry-run").err == ""
    warned = quick(*again)
    assert warned.code == 0
    text = " ".join(warned.err.split())
    assert BEFORE in text
    assert "--ledger" in text
    assert "--again says so" in text
    assert quick("verify", tmp_path / "second").code == 0


def test_nobody_else_may_read_it_and_nothing_is_in_it_in_clear(tmp_path: Path) -> None:
    os.umask(os.umask(0))
    for position, kind in enumerate(KINDS):
        publish(people(0, 300), tmp_path / f"release {position}", again=True, **kind)
    path = tmp_path / RECORD_NAME
    assert path.stat().st_mode & 0o777 == 0o600
    entries = [json.loads(line) for line in path.read_bytes().splitlines()[1:]]
    for entry in entries:
        assert entry.keys() == {
            "format", "day", "release", "rows", "manifest", "ledger", "sketch",
        }  # fmt: skip
        assert entry["sketch"].keys() == {"of", "whole", "hashes"}
        # Random letters spell any short word: hashes are read as the numbers they are.
        stored = base64.b64decode(entry["sketch"]["hashes"], validate=True)
        assert len(stored) % 8 == 0
        entry["sketch"]["hashes"] = len(stored)
    content = json.dumps(entries).encode()
    for table_values in people(0, 300).to_pydict().values():
        for value in table_values:
            text = str(value)
            # Short numbers are in any text of hexadecimal digits.
            assert len(text) < 5 or text.encode() not in content
    for word in (str(tmp_path), tmp_path.name, "age", "town", "rent", "job", *JOBS):
        assert word.encode() not in content
    # The same people under another key have no hash in common.
    (tmp_path / "elsewhere").mkdir()
    publish(people(0, 300), tmp_path / "elsewhere" / "release")
    hashes = [
        set(entry.sketch.hashes.tolist())
        for folder in (tmp_path, tmp_path / "elsewhere")
        for entry in entries_beside(folder / "x")[:1]
        if entry.sketch is not None
    ]
    assert len(hashes) == 2
    assert not hashes[0] & hashes[1]


def test_the_checksum_and_the_ledger_are_those_of_the_manifest(
    tmp_path: Path,
) -> None:
    publish(people(0, 300), tmp_path / "first")
    (entry,) = entries_beside(tmp_path / "second")
    manifest = (tmp_path / "first" / "manifest.json").read_bytes()
    assert entry.manifest == hashlib.sha256(manifest).hexdigest()
    assert (entry.rows, entry.ledger_id, entry.ledger_release) == (300, None, None)
    marked = replace(cv.open(tmp_path / "first").manifest, ledger=LedgerMark("ab" * 16, 7))
    made = record._entry_of(tmp_path / "first", marked, None)
    record._write(tmp_path, bytes(32), [made])
    (entry,) = entries_beside(tmp_path / "second")
    assert (entry.ledger_id, entry.ledger_release, entry.sketch) == ("ab" * 16, 7, None)


def truncate(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) - 100])


def garbage(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b'\xff\x00 not json\n{"format": 1}\n[[[[1]]]]\n')


def no_head(path: Path) -> None:
    path.write_bytes(path.read_bytes().split(b"\n", 1)[1])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def later(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"format": 1, "key"', b'"format": 2, "key"'))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def link(path: Path) -> None:
    path.rename(path.with_name("kept elsewhere"))
    path.symlink_to("kept elsewhere")


def fifo(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def readable(path: Path) -> None:
    path.chmod(0o644)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("damage", "says", "recorded"),
    [
        (truncate, "1 of its 2 entries cannot be read", 2),
        (garbage, "3 of its 5 entries cannot be read", 3),
        (no_head, "its first line is damaged", None),
        (empty, "its first line is damaged", None),
        (later, "a later version", None),
        (folder, "it is not a file", None),
        (link, "it is a symbolic link", None),
        (fifo, "it is not a file", None),
        (readable, "could be read by others", 3),
    ],
)
def test_a_damaged_record_is_one_warning_and_no_more(
    damage: Callable[[Path], None], says: str, recorded: int | None, tmp_path: Path
) -> None:
    publish(people(0, 300), tmp_path / "first")
    publish(people(1_000, 1_300), tmp_path / "second")
    path = tmp_path / RECORD_NAME
    damage(path)
    before = path.lstat()
    (warning,) = publish(people(2_000, 2_300), tmp_path / "third")
    assert says in warning
    assert str(path) in warning
    assert cv.verify(tmp_path / "third") == []
    if recorded is None:
        # What is not ours, or not understood, is left as it is.
        assert path.lstat().st_ino == before.st_ino
        assert entries_beside(tmp_path / "third") == ()
    else:
        assert len(entries_beside(tmp_path / "third")) == recorded
        assert path.stat().st_mode & 0o777 == 0o600
        assert publish(people(3_000, 3_300), tmp_path / "fourth") == []


def test_the_file_of_somebody_else_is_left_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(people(0, 300), tmp_path / "first")
    somebody = os.geteuid() + 1
    monkeypatch.setattr(os, "geteuid", lambda: somebody)
    before = (tmp_path / RECORD_NAME).read_bytes()
    (warning,) = publish(people(0, 330), tmp_path / "second")
    assert "it belongs to somebody else" in warning
    assert (tmp_path / RECORD_NAME).read_bytes() == before


def test_a_folder_that_cannot_be_written_does_not_fail_what_is_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(record, "write_file", refuse)
    (warning,) = publish(people(0, 300), tmp_path / "first")
    assert "The release is complete, but could not be added" in warning
    assert "Permission denied" in warning
    assert cv.verify(tmp_path / "first") == []


PUBLISH = """
import sys, countveil as cv
sys.path.insert(0, sys.argv[3])
from tests.publishing.publications.test_record import people
first = int(sys.argv[2])
cv.publish(people(first, first + 300), {"job": 3}, sys.argv[1], drop="id", keep="rent")
"""


def assert_all_recognised(folder: Path, releases: int) -> None:
    entries = entries_beside(folder / "x")
    assert sorted(entry.release for entry in entries) == [f"r{n}" for n in range(releases)]
    # All hashes are under the key that came first.
    for number in range(releases):
        table = people(number * 1_000, number * 1_000 + 330)
        (warning,) = publish(table, folder / "y", dry_run=True)
        assert f"in 'r{number}'" in warning


@pytest.mark.slow
def test_publishers_at_once_leave_an_entry_each(tmp_path: Path) -> None:
    def one(number: int) -> None:
        table = people(number * 1_000, number * 1_000 + 300)
        cv.publish(table, {"job": 3}, tmp_path / f"r{number}", drop="id", keep="rent")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))
    assert_all_recognised(tmp_path, 4)


@pytest.mark.slow
def test_processes_at_once_leave_an_entry_each(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[3])
    started = [
        subprocess.Popen([sys.executable, "-c", PUBLISH, tmp_path / f"r{n}", str(n * 1_000), root])
        for n in range(2)
    ]
    assert [process.wait(300) for process in started] == [0] * 2
    assert_all_recognised(tmp_path, 2)


@pytest.mark.slow
def test_a_key_that_another_publisher_brought_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "aside").mkdir()
    publish(people(5_000, 5_300), tmp_path / "aside" / "other")
    recording = record.Recording.sketch

    def sketch_while_another_ends(self: record.Recording) -> None:
        recording(self)
        (tmp_path / "aside" / RECORD_NAME).rename(tmp_path / RECORD_NAME)

    monkeypatch.setattr(record.Recording, "sketch", sketch_while_another_ends)
    publish(people(0, 300), tmp_path / "first")
    monkeypatch.undo()
    (warning,) = publish(people(0, 330), tmp_path / "second")
    assert BEFORE in warning


def test_a_folder_that_another_process_has_locked_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "_PATIENCE_SECONDS", 0.0)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        (warning,) = publish(people(0, 300), tmp_path / "first")
    finally:
        os.close(handle)
    assert "could not be added" in warning
    assert cv.verify(tmp_path / "first") == []


def test_entries_come_back_as_they_were_written(tmp_path: Path) -> None:
    hashes = np.array([1, 5, 1 << 63], np.uint64)
    entries = [
        Entry("ä release", "2024-02-29", 0, "0" * 64),
        Entry("b", "2024-02-29", 9, "f" * 64, "0a" * 16, 3, sketch.Sketch(hashes, True, False)),
    ]
    record._write(tmp_path, bytes(range(32)), entries)
    read = record.read_record(tmp_path)
    assert (read.key, read.problem, read.entries[0]) == (bytes(range(32)), None, entries[0])
    assert read.entries[1].sketch is not None
    assert np.array_equal(read.entries[1].sketch.hashes, hashes)
    assert replace(read.entries[1], sketch=None) == replace(entries[1], sketch=None)
