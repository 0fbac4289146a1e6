"""The publisher's table: what is looked at, recoded and taken for missing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.drawn import Drawn
from countveil.engines.local import publish_rows
from countveil.engines.local.engine import LocalSource
from countveil.tables.encoded import encoding
from countveil.tables.storage import memory
from tests.sample_tables import open_local

NOTHING = np.zeros(0, np.int64)
ROWS = 3_000


def table() -> pa.Table:
    return pa.table(
        {
            "row": pa.array(range(ROWS), pa.int64()),
            "job": [None if row % 7 == 0 else f"job {row % 7}" for row in range(ROWS)],
            "note": [f"note {row}" for row in range(ROWS)],
            "share": pa.array([None if row % 5 == 0 else -row / 3 for row in range(ROWS)]),
        }
    )


@pytest.fixture(params=["memory", "file", "file read again", "arrow", "arrow stream"])
def source(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> LocalSource:
    if request.param == "memory":
        return open_local(table())
    if request.param == "file read again":
        monkeypatch.setattr(memory, "COLUMNS_SHARE", 0.0)
    if request.param.startswith("arrow"):
        path = tmp_path / "in.arrow"
        as_stream = request.param == "arrow stream"
        start = pa.ipc.new_stream if as_stream else pa.ipc.new_file
        with start(path, table().schema) as writer:
            writer.write_table(table(), max_chunksize=700)
        return open_local(path)
    pq.write_table(table(), tmp_path / "in.parquet", row_group_size=700)
    return open_local(tmp_path / "in.parquet")


NAMES = ["row", "job", "note", "share"]


def test_a_histogram_counts_what_is_not_left_out(source: LocalSource) -> None:
    whole = source.histogram("job", NOTHING)
    assert whole.values == [None, *(f"job {n}" for n in range(1, 7))]
    assert whole.counts.tolist() == [429, 429, 429, 429, 428, 428, 428]
    less = source.histogram("job", np.array([0, 1, 8, 2_999]))
    assert (whole.counts - less.counts).tolist() == [1, 2, 0, 1, 0, 0, 0]


@pytest.mark.few(2)
def test_a_sample_is_spread_and_coded_in_order(source: LocalSource) -> None:
    sample = source.sample(10, NAMES)
    rows = np.arange(10) * ROWS // 10
    assert list(sample) == NAMES
    assert sample["row"].examples == rows.tolist()
    assert sample["row"].codes.tolist() == list(range(10))
    # 0, 300, 600, ... : 0 and 2,100 are missing.
    assert sample["job"].codes[[0, 7]].tolist() == [0, 0]
    assert sample["job"].codes[1] == 1 + sorted({f"job {r % 7}" for r in rows if r % 7}).index(
        f"job {300 % 7}"
    )
    assert None not in sample["job"].examples
    assert len(source.sample(10 * ROWS, NAMES)["row"].codes) == ROWS
    assert len(source.sample(10 * ROWS, NAMES)["note"].examples) == 1_000


@pytest.mark.few(2)
def test_recoded_values_take_the_place_of_the_old(source: LocalSource, tmp_path: Path) -> None:
    before = source.histogram("job", NOTHING)
    source.recode("job", ["z", None, "a", "a", "b", "b", "b"])
    after = source.histogram("job", NOTHING)
    assert after.values == [None, "a", "b", "z"]
    assert after.counts.tolist() == [429, 858, 1284, 429]
    assert before.counts.sum() == after.counts.sum()
    assert {column.name: column.type for column in source.facts.columns}["job"] == "string"
    assert source.sample(7, NAMES)["job"].examples == ["a", "b", "z"]
    from countveil.randomness import Randomness

    written = source.publish(source.facts.columns, Drawn({}), Randomness(), tmp_path)
    found = pq.read_table([file.path for file in written]).sort_by("row")
    texts = dict(zip(before.values, ["z", None, "a", "a", "b", "b", "b"], strict=True))
    assert found["job"].to_pylist() == [texts[job] for job in table()["job"].to_pylist()]


def test_numbers_can_be_recoded_too() -> None:
    source = open_local(pa.table({"n": [3, 1, 2, 3]}))
    assert source.sample(4, ["n"])["n"].codes.tolist() == [2, 0, 1, 2]
    assert source.histogram("n", NOTHING).values == [1, 2, 3]
    source.recode("n", ["low", "low", "high"])
    assert source.histogram("n", NOTHING).values == ["high", "low"]
    assert source.facts.columns[0].type == "string"
    source.recode("n", ["h", "l"])
    assert source.sample(4, ["n"])["n"].codes.tolist() == [0, 1, 1, 0]


@pytest.mark.slow
def test_small_row_groups_do_not_make_a_small_sample(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What gives values away must be noticed however small the row groups of a file are."""
    monkeypatch.setattr("countveil.tables.readers.blocks.LEAST_SPAN", 250)
    monkeypatch.setattr("countveil.tables.readers.blocks.SPANS", 12)
    pq.write_table(table(), tmp_path / "in.parquet", row_group_size=10)
    source = open_local(tmp_path / "in.parquet")
    assert 1_000 <= source.sample(1_500, NAMES)["row"].codes.size <= 1_500
    assert source.sample(80, NAMES)["row"].codes.size == 80


def test_the_profile_of_a_column(source: LocalSource) -> None:
    found = source.profiles(["row", "job"])
    rows, job = found["row"], found["job"]
    assert rows.numbers is not None
    assert rows.numbers.tolist() == list(range(ROWS))
    assert (job.missing, job.numbers, job.counts.sum()) == (429, None, ROWS - 429)
    nested = open_local(pa.table({"n": [[1], [2]], "x": [1, 2]}))
    assert list(nested.profiles(["n", "x"])) == ["x"]
    assert list(nested.sample(2, ["n", "x"])) == ["x"]


def test_rows_that_are_alone(source: LocalSource) -> None:
    assert source.unique_rows(["job", "row"]) == ROWS
    assert source.unique_rows(["job"]) == 0
    few = open_local(pa.table({"a": [1, 1, 2, 2], "b": [1, 1, 2, None]}))
    assert few.unique_rows(["a", "b"]) == 2


def write_csv(path: Path) -> Path:
    path = path.with_suffix(".csv")
    path.write_text("job,n\nbaker,1\nunknown,2\n?,3\nclerk,unknown\n")
    return path


def write_parquet(path: Path) -> Path:
    path = path.with_suffix(".parquet")
    texts = ["baker", "unknown", "?", "clerk"]
    pq.write_table(pa.table({"job": texts, "n": ["1", "2", "3", "unknown"]}), path)
    return path


@pytest.mark.parametrize("make", [write_csv, write_parquet])
def test_texts_that_mean_missing(make: Any, tmp_path: Path) -> None:
    source = open_local(make(tmp_path / "in"), missing=["unknown", "?"])
    assert source.histogram("job", NOTHING).values == [None, "baker", "clerk"]
    assert source.histogram("job", NOTHING).counts.tolist() == [2, 1, 1]
    kind = {column.name: column.type for column in source.facts.columns}["n"]
    assert kind == ("int64" if make is write_csv else "string")


@pytest.mark.slow
@pytest.mark.parametrize("kept", [0.3, 0.0])
def test_text_that_stops_repeating(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kept: float
) -> None:
    """The first rows look like codes, the later ones do not: all arrive."""
    monkeypatch.setattr(memory, "COLUMNS_SHARE", kept)
    monkeypatch.setattr(encoding, "FEW_ROWS", 10)
    monkeypatch.setattr("countveil.tables.readers.blocks.LEAST_SPAN", 100)
    texts = [f"same {row % 3}" if row < 1_500 else f"other {row}" for row in range(ROWS)]
    source = pa.table(
        {"row": range(ROWS), "text": texts, "job": [f"j{r % 4}" for r in range(ROWS)]}
    )
    pq.write_table(source, tmp_path / "in.parquet", row_group_size=200)
    wishes: Any = {"residue": "drop", "keep": ["row", "text"]}
    cv.publish(tmp_path / "in.parquet", {"job": 4}, tmp_path / "release", **wishes)
    found = pq.read_table(tmp_path / "release" / "data").sort_by("row")
    assert found["text"].to_pylist() == texts


def test_a_value_of_a_dropped_row_is_nowhere(tmp_path: Path) -> None:
    """Residue 'drop' deletes rows; what only they hold is in no dictionary of the release."""
    for _ in range(5):
        rows = 203
        names = {"row": range(rows), "text": [f"only {row}" for row in range(rows)]}
        source = pa.table({**names, "job": [f"j{row % 4}" for row in range(rows)]})
        wishes: Any = {"residue": "drop", "keep": ["row", "text"], "force": True}
        release = cv.publish(source, {"job": 3}, tmp_path / "r", again=True, **wishes)
        path = release.folder / "data" / "part-00000.parquet"
        stored = pq.read_table(path, read_dictionary=["text"])
        assert len(stored["text"].chunk(0).dictionary) == 201
        assert stored.num_rows == 201


@pytest.mark.slow
def test_one_seed_gives_one_release_whatever_the_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kept, read again or through the disk, and whichever thread is faster: the same rows."""
    monkeypatch.setattr("countveil.tables.readers.blocks.LEAST_SPAN", 100)
    monkeypatch.setattr(publish_rows, "BUCKET_ROWS", 1 << 12)
    monkeypatch.setattr("countveil.maths.mechanism.deal.BATCH_SIZE", 50)
    monkeypatch.setattr("countveil.maths.mechanism.deal.VALUES_IN_USE", 1_000)
    census = cv.generate(20_000, seed=3)
    pq.write_table(census, tmp_path / "in.parquet", row_group_size=500)
    found = []
    for kept, rows in ((0.3, 0.45), (0.3, 0.45), (0.0, 0.45), (0.0, 0.0)):
        monkeypatch.setattr(memory, "COLUMNS_SHARE", kept)
        monkeypatch.setattr(memory, "ROWS_SHARE", rows)
        sensitive = {"occupation": 5, "salary": 3}
        release = cv.publish(
            tmp_path / "in.parquet", sensitive, tmp_path / "release", seed=4, force=True, again=True
        )
        found.append(pq.read_table(release.folder / "data"))
    assert found[0].num_rows == 20_000
    assert all(other.equals(found[0]) for other in found[1:])


def test_what_may_be_used_leaves_room_for_the_program() -> None:
    """The least that may be asked for still holds rows; of much, nearly all is for them."""
    assert 0.3 < memory.room_for_rows(memory.memory_limit("300MB")) / 300e6 < 0.7
    assert 0.85 < memory.room_for_rows(memory.memory_limit("1GB")) / 1e9 < 1
