"""Rows that go through the disk: nobody reads them there, and nothing of them stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.local import publish_rows
from countveil.tables.storage import memory
from countveil.tables.storage.spill import Spill
from tests.robustness.test_canaries import assert_random_order, published_order
from tests.robustness.test_types import EVERYDAY
from tests.robustness.tools import (
    CANARY,
    JOBS,
    ROOT,
    names_in,
    released,
    repeated,
    with_largest_file,
)

ROWS = 20_000
KEPT = ["row", "note"]
WISHES = ("-s", "job:4", "--keep", "row", "--keep", "note")
SCRIPT = (sys.executable, "-m", "tests.robustness.spilling")


@pytest.fixture
def always_spilled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "COLUMNS_SHARE", 0.0)
    monkeypatch.setattr(memory, "ROWS_SHARE", 0.0)
    monkeypatch.setattr(publish_rows, "BUCKET_ROWS", 1 << 12)


@pytest.fixture(scope="module")
def canaries(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Text that repeats and text that does not, each with the canary."""
    path = tmp_path_factory.mktemp("canaries") / "in.parquet"
    table = {
        "row": range(ROWS),
        "note": [f"{CANARY} {row}" for row in range(ROWS)],
        "city": repeated([f"{CANARY} Ulm", "Bonn"], ROWS),
        "job": sorted(repeated(JOBS, ROWS)),
    }
    pq.write_table(pa.table(table), path, row_group_size=3_000)
    return path


@pytest.mark.few(1)
@pytest.mark.usefixtures("always_spilled")
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_row_order_is_random(canaries: Path, tmp_path: Path, seed: int | None) -> None:
    cv.publish(canaries, {"job": 4}, tmp_path / "release", seed=seed, keep=KEPT)
    assert_random_order(published_order(tmp_path / "release"))
    table = pq.read_table(tmp_path / "release" / "data").to_pydict()
    assert table["note"] == [f"{CANARY} {row}" for row in table["row"]]
    # With a seed it is a trial, of which no record is kept.
    assert names_in(tmp_path) == (released("release") if seed is None else ["release"])


@pytest.mark.few(1)
@pytest.mark.usefixtures("always_spilled")
@pytest.mark.parametrize("ending", ["csv", "arrow"])
def test_other_files_go_through_the_disk_too(canaries: Path, tmp_path: Path, ending: str) -> None:
    source, target = tmp_path / f"in.{ending}", tmp_path / "to" / "release"
    table = pq.read_table(canaries)
    if ending == "csv":
        pa.csv.write_csv(table, source)
    else:
        with pa.ipc.new_file(source, table.schema) as writer:
            writer.write_table(table, max_chunksize=3_000)
    target.parent.mkdir()
    cv.publish(source, {"job": 4}, target, keep=KEPT)
    assert_random_order(published_order(target))
    found = pq.read_table(target / "data").sort_by("row")
    assert found.drop_columns("job").equals(table.drop_columns("job"))
    assert names_in(target.parent) == released("release")


@pytest.mark.usefixtures("always_spilled")
def test_every_type_survives(tmp_path: Path) -> None:
    table = EVERYDAY
    name = "zip"
    cv.publish(table, {name: 2}, tmp_path / "release", keep=table.column_names)
    found = pq.read_table(tmp_path / "release" / "data").sort_by("row")
    plain = [column for column in table.column_names if column != name]
    assert found.select(plain).equals(table.select(plain))
    assert found.schema.equals(table.schema)


@pytest.mark.slow
def test_one_seed_gives_the_same_counts_in_memory_and_on_disk(
    canaries: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cv.publish(canaries, {"job": 4}, tmp_path / "memory", seed=3, keep=KEPT)
    monkeypatch.setattr(memory, "ROWS_SHARE", 0.0)
    cv.publish(canaries, {"job": 4}, tmp_path / "disk", seed=3, keep=KEPT)
    one, other = (
        pq.read_table(tmp_path / name / "data")["job"].value_counts().to_pylist()
        for name in ("memory", "disk")
    )
    assert sorted(map(str, one)) == sorted(map(str, other))


def test_what_is_written_is_noise_and_comes_back(tmp_path: Path) -> None:
    spill = Spill(tmp_path)
    content = (CANARY * 1_000).encode()
    numbers = [spill.put(content), spill.put(b""), spill.put(content)]
    raw = spill._file.read(10**6, 0)
    assert len(raw) == 2 * len(content) + 3 * 16
    assert CANARY.encode() not in raw
    # Random bytes: each value expected 94 times, over 200 has a probability below 1e-15.
    assert np.bincount(np.frombuffer(raw, np.uint8), minlength=256).max() < 200
    assert [spill.get(number) for number in numbers] == [content, b"", content]
    assert names_in(tmp_path) == []
    spill.close()


@pytest.mark.parametrize("damage", ["changed", "cut short", "unreadable"])
def test_a_disk_that_fails_is_named_and_nothing_wrong_comes_back(
    tmp_path: Path, damage: str
) -> None:
    spill = Spill(tmp_path)
    number = spill.put(CANARY.encode())
    handle = spill._file._file.fileno()
    if damage == "changed":
        spill._file.write(b"x", 3)
    elif damage == "cut short":
        os.ftruncate(handle, 5)
    else:
        folder = os.open(tmp_path, os.O_RDONLY)
        os.dup2(folder, handle)
        os.close(folder)
    with pytest.raises(cv.CountveilError, match=r"cannot be read back.*the disk may be failing"):
        spill.get(number)
    spill.close()


def paused(canaries: Path, tmp_path: Path) -> tuple[subprocess.Popen[bytes], Path]:
    """A command in the middle: everything is in the spill, nothing was read back."""
    folder = tmp_path / "spill"
    folder.mkdir()
    words = ("publish", canaries, *WISHES, "--to", tmp_path / "release", "--spill", folder)
    env = {**os.environ, "COUNTVEIL_TEST_PAUSE": "1"}
    process = subprocess.Popen(
        [*SCRIPT, *words], cwd=ROOT, env=env,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"spilled\n"
    return process, folder


@pytest.mark.slow
def test_nothing_in_the_spill_can_be_read(canaries: Path, tmp_path: Path) -> None:
    process, folder = paused(canaries, tmp_path)
    descriptors = Path(f"/proc/{process.pid}/fd")
    if not descriptors.exists():
        process.kill()
        process.communicate()
        pytest.skip("open files can be looked at on Linux only")
    opened = [link for link in descriptors.iterdir() if str(folder) in str(link.readlink())]
    assert len(opened) == 1
    assert opened[0].stat().st_mode & 0o777 == 0o600
    content = opened[0].read_bytes()
    assert len(content) > ROWS * 8
    assert CANARY.encode() not in content
    process.kill()
    process.communicate()
    assert names_in(folder) == []


@pytest.mark.slow
@pytest.mark.parametrize(
    "number",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_stopped_in_the_middle(canaries: Path, tmp_path: Path, number: signal.Signals) -> None:
    process, folder = paused(canaries, tmp_path)
    process.send_signal(number)
    _, said = process.communicate()
    assert names_in(folder) == []
    if number == signal.SIGKILL:
        # A hidden draft may be left, which the next one clears.
        assert not (tmp_path / "release").exists()
    else:
        assert process.returncode == 128 + number
        assert said == b"Interrupted. Nothing was left behind.\n"
        assert names_in(tmp_path) == ["spill"]
    words = ("publish", canaries, *WISHES, "--to", tmp_path / "release", "--spill", folder)
    done = subprocess.run([*SCRIPT, *words], capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert names_in(tmp_path) == released("release", "spill")
    assert names_in(folder) == []


@pytest.mark.slow
def test_full_disk(canaries: Path, tmp_path: Path) -> None:
    words = ("publish", str(canaries), *WISHES, "--to", str(tmp_path / "release"))
    limited = [*with_largest_file(100_000), *SCRIPT, *words]
    done = subprocess.run(limited, capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert b"disk is full" in done.stderr
    assert b"--spill" in done.stderr
    assert done.stderr.count(b"\n") == 1
    assert names_in(tmp_path) == []


@pytest.mark.slow
def test_a_spill_folder_that_is_not_there(canaries: Path, tmp_path: Path) -> None:
    target, folder = tmp_path / "release", tmp_path / "gone"
    words = ("publish", canaries, *WISHES, "--to", target, "--spill", folder)
    done = subprocess.run([*SCRIPT, *words], capture_output=True, cwd=ROOT, check=False)
    assert done.returncode == 1
    assert b"gone" in done.stderr
    assert names_in(tmp_path) == []


@pytest.mark.parametrize("size", ["much", "10MB", "-1GB", ""])
def test_sizes_that_are_refused(tmp_path: Path, size: str) -> None:
    with pytest.raises(cv.CountveilError, match="memory must be"):
        cv.publish(pa.table({"job": repeated(JOBS)}), {"job": 4}, tmp_path / "r", memory=size)
    assert names_in(tmp_path) == []


@pytest.mark.few(2)
@pytest.mark.parametrize("size", ["1GB", "500 mb", "0.5GiB", 10**9])
def test_sizes_that_are_understood(tmp_path: Path, size: str | int) -> None:
    cv.publish(pa.table({"job": repeated(JOBS)}), {"job": 4}, tmp_path / "r", memory=size)
    assert cv.verify(tmp_path / "r") == []
