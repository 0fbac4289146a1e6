"""The tasks of the Spark engine, run here on batches: the same rows whoever runs them, and when."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from countveil.engines.partitions import tasks
from countveil.engines.partitions.task_inputs import TaskInputs, seal_common, seal_plan
from countveil.errors import InputError
from countveil.maths.channel import greedy_templates
from countveil.maths.mechanism import PublishedTable, draw_published
from countveil.randomness import Randomness
from countveil.tables.encoded.encoding import encode_dictionary
from countveil.tables.encoded.survey import CodedColumn, Survey

NAMES = ["job", "age"]
PARTS = [
    pa.table({"job": ["a", "b", None, "c"] * 30, "age": list(range(120))}),
    pa.table({"job": ["b", "c"] * 45, "age": list(range(90))}),
    pa.table({"job": pa.array([], pa.string()), "age": pa.array([], pa.int64())}),
    pa.table({"job": [None, "a", "c"] * 20, "age": list(range(60))}),
]


def batches(part: int, size: int = 50) -> Iterator[pa.RecordBatch]:
    return iter(PARTS[part].to_batches(max_chunksize=size))


@pytest.fixture
def as_part(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a task as that of some part."""

    def run(task: Any, part: int, size: int = 50) -> pa.Table | None:
        monkeypatch.setattr(tasks, "partition_number", lambda: part)
        found = list(task(batches(part, size)))
        return pa.Table.from_batches(found) if found else None

    return run


def survey() -> Survey:
    known = Survey("job", None, coded=True)
    for part in PARTS:
        known.add(encode_dictionary(part["job"].combine_chunks().cast(pa.string())))
    known.finish()
    return known


def drawn_and_rows(known: Survey, seed: int) -> tuple[PublishedTable, Any]:
    rows = [
        np.bincount(
            known.places(piece := encode_dictionary(part["job"].combine_chunks())),
            piece.counts,
            known.counts.size,
        ).astype(np.int64)
        for part in PARTS
    ]
    groups = greedy_templates(known.counts, 2)
    return draw_published(groups, Randomness(seed).stream("draw")), np.stack(rows)


def deal_task(
    seed: int, gone: Mapping[int, Any] | None = None
) -> tuple[tasks.DealTask, PublishedTable, dict[str, bytes]]:
    known = survey()
    table, rows = drawn_and_rows(known, seed)
    key = Randomness(seed).task_key("deal")
    entries = seal_plan(NAMES, {"job": known}, {"job": table}, {"job": rows}, gone or {}, key)
    inputs = TaskInputs(SimpleNamespace(value=entries))
    return tasks.DealTask(inputs, key, "key"), table, entries


def test_values_are_counted_by_part(as_part: Any) -> None:
    found = as_part(tasks.CountTask(NAMES, 1_000), 0)
    lines = found.filter(pa.compute.equal(found["which"], 0))
    counted = dict(zip(lines["value0"].to_pylist(), lines["rows"].to_pylist(), strict=True))
    assert counted == {None: 30, "a": 30, "b": 30, "c": 30}
    assert set(found["partition"].to_pylist()) == {0}
    assert as_part(tasks.CountTask(NAMES, 1_000), 2) is None


def test_too_many_values_are_given_up(as_part: Any) -> None:
    found = as_part(tasks.CountTask(NAMES, 50), 0)
    ages = found.filter(pa.compute.equal(found["which"], 1))
    assert ages["rows"].to_pylist() == [-1]
    jobs = found.filter(pa.compute.equal(found["which"], 0))
    assert sum(jobs["rows"].to_pylist()) == 120


def test_all_parts_together_publish_what_was_drawn(as_part: Any) -> None:
    task, table, _ = deal_task(3)
    parts = [as_part(task, part) for part in (0, 1, 3)]
    whole = pa.concat_tables(parts)
    values = survey().values.to_pylist()
    expected = {v: n for v, n in zip(values, table.published().tolist(), strict=True) if n}
    jobs = whole["job"].to_pylist()
    assert {value: jobs.count(value) for value in set(jobs)} == expected
    assert whole["age"].to_pylist() == [
        n for part in (0, 1, 3) for n in PARTS[part]["age"].to_pylist()
    ]
    assert len(set(whole["key"].to_pylist())) == 270
    assert as_part(task, 2) is None


def test_a_task_that_is_run_again_gives_the_same_rows(as_part: Any) -> None:
    """Its streams depend on the part and the key: not on the attempt, nor on the process."""
    task, _, _ = deal_task(3)
    first = as_part(task, 0)
    assert as_part(task, 0).equals(first)
    assert as_part(pickle.loads(pickle.dumps(task)), 0).equals(first)
    again, _, _ = deal_task(3)
    assert as_part(again, 0).equals(first)
    other, _, _ = deal_task(4)
    assert not as_part(other, 0).equals(first)


def test_another_part_draws_other_keys(as_part: Any) -> None:
    task, _, _ = deal_task(3)
    one, other = as_part(task, 0)["key"].to_pylist(), as_part(task, 1)["key"].to_pylist()
    assert not set(one) & set(other)


def test_a_part_that_changed_is_noticed(as_part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    task, _, _ = deal_task(3)
    for changed in (
        PARTS[0].slice(1),
        pa.concat_tables([PARTS[0], PARTS[0].slice(0, 1)]),
        PARTS[0].set_column(0, "job", pa.array(["a", "b", None, "z"] * 30)),
    ):
        with monkeypatch.context() as patched:
            patched.setitem(globals(), "PARTS", [changed, *PARTS[1:]])
            with pytest.raises((RuntimeError, InputError), match="The table changed"):
                as_part(task, 0)


def test_a_part_that_was_not_counted_has_no_rows(
    as_part: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An empty one after the last row: a client of Spark Connect does not know of it."""
    task, _, _ = deal_task(3)
    monkeypatch.setitem(globals(), "PARTS", [*PARTS, PARTS[2], PARTS[0]])
    assert as_part(task, len(PARTS) - 2) is None
    with pytest.raises(RuntimeError, match="changed while it was read"):
        as_part(task, len(PARTS) - 1)


def test_rows_that_are_left_out(as_part: Any) -> None:
    lost = as_part(tasks.CountLeftOutTask(NAMES, {0: [0, 51], 3: [1]}), 0)
    jobs = lost.filter(pa.compute.equal(lost["which"], 0))
    assert dict(zip(jobs["value0"].to_pylist(), jobs["rows"].to_pylist(), strict=True)) == {
        "a": 1,
        "c": 1,
    }
    assert as_part(tasks.CountLeftOutTask(NAMES, {0: [0]}), 1) is None


def test_parts_that_are_not_looked_at_are_not_read(as_part: Any) -> None:
    task = tasks.SomePartitionsTask([0, 3])
    assert as_part(task, 0).equals(PARTS[0])
    assert as_part(task, 3).num_rows == 60
    assert as_part(task, 1) is None


def _distinct(seen: Mapping[str, CodedColumn]) -> dict[str, tuple[int, list[Any]]]:
    return {name: (column.distinct, list(column.examples)) for name, column in seen.items()}


def test_who_looks_sees_recoded_values_and_sends_back_what_was_found(as_part: Any) -> None:
    known = survey()
    known.recode(["none", "x", "x", "y"])
    key = Randomness(1).task_key("look")
    inputs = TaskInputs(SimpleNamespace(value=seal_common({"job": known}, key)))
    task = tasks.LookTask(_distinct, inputs, key)
    found = pickle.loads(as_part(task, 0)["result"][0].as_py())
    assert found["job"] == (3, ["none", "x", "y"])
    assert found["age"][0] == 120


def test_inputs_are_encrypted() -> None:
    _, _, entries = deal_task(3)
    assert len(entries) == 5
    for sealed in entries.values():
        assert b"numpy" not in sealed
        assert b"job" not in sealed
        with pytest.raises(zlib.error):
            zlib.decompress(sealed)
