"""Cases in the tasks of the Spark engine, run here on batches: the same rows whoever runs them."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from countveil.engines.drawn import DrawnCases
from countveil.engines.partitions import tasks
from countveil.engines.partitions.cases import tasks as case_tasks
from countveil.engines.partitions.cases.lines import (
    CaseLines,
    case_plan,
    persons_of,
    rows_of_batches,
    rows_of_values,
)
from countveil.engines.partitions.cases.tasks import CountCasesTask, RowsOfCasesTask, blocks
from countveil.engines.partitions.task_inputs import TaskInputs, seal_common, seal_plan
from countveil.errors import InputError
from countveil.randomness import Randomness
from countveil.tables.encoded.encoding import encode_dictionary
from countveil.tables.encoded.survey import Survey
from countveil.tables.encoded.vectors import VectorSurvey

NAMES = ["who", "job", "code"]
PROTECTED = ["job", "code"]
BLOCK = 40


def _table(seed: int, rows: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    jobs = pa.array(["a", "b", None, "c"]).take(pa.array(rng.integers(0, 4, rows)))
    return pa.table({
        "who": pa.array([f"p{n}" for n in np.sort(rng.integers(0, 60, rows))], pa.string()),
        "job": jobs,
        "code": pa.array(rng.integers(1, 4, rows)),
    })  # fmt: skip


PARTS = [_table(1, 130), _table(2, 95), _table(3, 0), _table(4, 40)]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_tasks, "BLOCK", BLOCK)


@pytest.fixture
def as_part(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Run a task as that of some part, with batches of some size."""

    def run(task: Any, part: int, size: int = 17) -> pa.Table | None:
        for module in (tasks, case_tasks):
            monkeypatch.setattr(module, "partition_number", lambda: part)
        batches: Iterator[pa.RecordBatch] = iter(PARTS[part].to_batches(max_chunksize=size))
        made = list(task(batches))
        return pa.Table.from_batches(made) if made else None

    return run


def surveys(names: Sequence[str] = PROTECTED) -> dict[str, Survey]:
    known = {name: Survey(name, None, coded=True) for name in names}
    for name, survey in known.items():
        for part in PARTS:
            survey.add(encode_dictionary(part[name].combine_chunks()))
        survey.finish()
    return known


def counted(as_part: Any, size: int = 17, left_out: Any = None) -> CaseLines:
    key = Randomness(1).task_key("cases")
    inputs = TaskInputs(SimpleNamespace(value=seal_common(surveys(), key)))
    task = CountCasesTask("who", PROTECTED, left_out or {}, inputs, key)
    lines = pa.concat_tables([t for p in range(4) if (t := as_part(task, p, size)) is not None])
    sizes = [len(survey.values) for survey in surveys().values()]
    whole = surveys(["who"])["who"] if left_out else persons_of(lines, "who")
    return CaseLines.of(whole, PROTECTED, sizes, lines)


def drawn_for(lines: CaseLines, seed: int, batch: str | None = None) -> DrawnCases:
    rng = np.random.default_rng(seed)
    cases = lines.vectors.keys.size
    published = [rng.integers(0, size, cases) for size in lines.vectors.sizes[1:]]
    batches = rng.integers(1, 4, cases) if batch else np.zeros(0, np.int64)
    return DrawnCases(
        "who", ("job", "code"), lines.vectors, published, batch=batch, batches=batches
    )


def deal_task(lines: CaseLines, drawn: DrawnCases, gone: Any = None) -> tasks.DealTask:
    key = Randomness(3).task_key("deal")
    plan, places = case_plan(drawn)
    left_out = {part: np.array(rows) for part, rows in (gone or {}).items()}
    names = ["job", "code", *([drawn.batch] if drawn.batch else [])]
    entries = seal_plan(names, surveys(), {}, {}, left_out, key, cases=[plan])
    entries |= lines.shares(plan, places, key)
    return tasks.DealTask(TaskInputs(SimpleNamespace(value=entries)), key, "key")


def test_blocks_do_not_depend_on_batches() -> None:
    for size in (1, 7, 40, 41, 1_000):
        batches = iter(PARTS[0].to_batches(max_chunksize=size))
        made = list(blocks(batches))
        assert [block.num_rows for block in made] == [40, 40, 40, 10]
        assert pa.Table.from_batches(made).equals(PARTS[0])
    assert list(blocks(iter(PARTS[2].to_batches()))) == []


def test_cases_are_counted_as_on_one_machine(as_part: Any) -> None:
    known = surveys(NAMES)
    whole = pa.concat_tables(PARTS)
    here = VectorSurvey([len(known[name].values) for name in NAMES])
    places = []
    for name in NAMES:
        encoded = encode_dictionary(whole[name].combine_chunks())
        places.append(known[name].places(encoded)[encoded.codes])
    here.add(places)
    there = counted(as_part).vectors
    assert there.sizes == here.vectors().sizes
    assert there.keys.tolist() == here.vectors().keys.tolist()
    assert there.counts.tolist() == here.vectors().counts.tolist()


@pytest.mark.parametrize("gone", [{}, {0: [0, 39, 40, 129], 3: [5]}, {1: range(95), 3: [0]}])
def test_every_row_publishes_what_its_case_does(as_part: Any, gone: Any) -> None:
    """Whatever the sizes of the batches are in the two passes."""
    lines = counted(as_part, 23, gone)
    drawn = drawn_for(lines, 5, "batch")
    task = deal_task(lines, drawn, gone)
    known = surveys(NAMES)
    rows = 0
    for part in (0, 1, 3):
        kept = [n for n in range(PARTS[part].num_rows) if n not in gone.get(part, ())]
        table = PARTS[part].take(pa.array(kept, pa.int64()))
        places = []
        for name in NAMES:
            encoded = encode_dictionary(table[name].combine_chunks())
            places.append(known[name].places(encoded)[encoded.codes])
        cases = lines.vectors.numbers(places)
        made = as_part(task, part, 31)
        for name, published in zip(PROTECTED, drawn.published, strict=True):
            values = known[name].values.to_pylist()
            assert made[name].to_pylist() == [values[place] for place in published[cases]]
        assert made["batch"].to_pylist() == drawn.batches[cases].tolist()
        assert made.column_names == ["job", "code", "batch", "key"]
        rows += made.num_rows
    assert rows == 265 - sum(map(len, gone.values()))
    assert as_part(task, 2) is None
    assert sum(rows_of_values(drawn)["job"]) == sum(rows_of_batches([drawn])["batch"].values())


def test_a_task_that_is_run_again_gives_the_same_rows(as_part: Any) -> None:
    lines = counted(as_part)
    task = deal_task(lines, drawn_for(lines, 5))
    first = as_part(task, 0, 13)
    assert as_part(task, 0, 13).equals(first)
    assert as_part(pickle.loads(pickle.dumps(task)), 0, 130).equals(first)
    assert not as_part(deal_task(lines, drawn_for(lines, 6)), 0).equals(first)


def test_the_rows_of_some_cases(as_part: Any) -> None:
    lines = counted(as_part)
    chosen = np.arange(lines.vectors.keys.size) % 3 == 1
    plan, _ = case_plan(drawn_for(lines, 5))
    plan = type(plan)(plan.name, "who", ("job", "code"), ("who",), None, plan.batches)
    key = Randomness(2).task_key("rows")
    entries = {**lines.shares(plan, [chosen], key), **seal_common(surveys(), key)}
    task = RowsOfCasesTask(plan, TaskInputs(SimpleNamespace(value=entries)), key)
    known = surveys(NAMES)
    for part in (0, 1, 3):
        places = []
        for name in NAMES:
            encoded = encode_dictionary(PARTS[part][name].combine_chunks())
            places.append(known[name].places(encoded)[encoded.codes])
        expected = np.flatnonzero(chosen[lines.vectors.numbers(places)])
        made = as_part(task, part)
        assert made["which"].to_pylist() == expected.tolist()
        assert set(made["partition"].to_pylist()) <= {part}


def test_a_part_that_changed_is_noticed(as_part: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = counted(as_part)
    task = deal_task(lines, drawn_for(lines, 5))
    jobs = PARTS[0]["job"].to_pylist()
    for changed in (
        PARTS[0].slice(1),
        PARTS[0].slice(0, 120),
        pa.concat_tables([PARTS[0], PARTS[0].slice(0, 1)]),
        PARTS[0].set_column(1, "job", pa.array([*jobs[1:], jobs[0]])),
        PARTS[0].set_column(0, "who", pa.array([None, *PARTS[0]["who"].to_pylist()[1:]])),
    ):
        with monkeypatch.context() as patched:
            patched.setitem(globals(), "PARTS", [changed, *PARTS[1:]])
            with pytest.raises((RuntimeError, InputError), match="The table changed"):
                as_part(task, 0)


def test_a_task_opens_the_cases_of_its_part_alone(as_part: Any) -> None:
    """Each part has an entry of its own, in which nobody is named."""
    lines = counted(as_part)
    plan, places = case_plan(drawn_for(lines, 5))
    key = Randomness(3).task_key("deal")
    entries = lines.shares(plan, places, key)
    assert len(entries) == len(lines.checks) == 4
    inputs = TaskInputs(SimpleNamespace(value=entries))
    share = inputs.cases(key, plan, 0)
    assert share is not None
    assert all(place.dtype == np.uint8 for place in share.places)
    assert b"p1" not in pickle.dumps(share)
    assert inputs.cases(key, plan, 7) is None
