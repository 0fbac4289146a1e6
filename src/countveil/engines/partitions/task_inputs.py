"""What tasks need to know, encrypted.

Enters: what the driver counted and drew. Leaves: inputs that are sent to the workers once; a task
decrypts what all tasks share and the share of its own partition, nothing else. Must not know: how
they are sent.

True counts are among them, and a cluster keeps what it broadcasts on the disks of its workers for a
while. So every entry is encrypted under a key that is sent with the tasks alone.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.maths.mechanism import PublishedTable
from countveil.maths.mechanism.split import Shares, partition_share, share_out
from countveil.randomness import TaskKey
from countveil.tables.encoded.survey import Survey
from countveil.tables.encoded.vectors import Vectors

# By the name of what is drawn: the columns, and the vectors that they have.
Together = Mapping[str, tuple[tuple[str, ...], Vectors]]
# Runs of partitions that share a table, and cells of all their tables: what the driver and every
# worker have in memory. Within a run, each task splits the table itself.
MOST_RUNS, MOST_CELLS = 512, 1 << 22


@dataclass(frozen=True, slots=True)
class CasePlan:
    """Columns that publish the same in all rows of a case (of `person` with one value).

    `names` are the columns that get what was drawn: `columns`, and the new column `batch`, if there
    is one, whose values are `batches`. `name` is what the draw is called.
    """

    name: str
    person: str
    columns: tuple[str, ...]
    names: tuple[str, ...]
    batch: str | None
    batches: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class CaseShare:
    """What the cases of a partition publish, in their order there, by place; and their checksum."""

    places: tuple[NDArray[Any], ...]
    check: tuple[int, int]


@dataclass(frozen=True, slots=True)
class TaskPlan:
    """What a task does with its rows: columns by name, tables to deal, rows to leave out."""

    names: tuple[str, ...]
    surveys: Mapping[str, Survey]
    tables: Mapping[str, PublishedTable]
    left_out: NDArray[np.int64]
    together: Together
    cases: Sequence[tuple[CasePlan, CaseShare | None]]


@dataclass(frozen=True, slots=True)
class _Common:
    """What all tasks share."""

    names: tuple[str, ...]
    surveys: Mapping[str, Survey]
    drawn: Mapping[str, PublishedTable]
    edges: Mapping[str, NDArray[np.int64]]
    left_out: Mapping[int, NDArray[np.int64]]
    together: Together
    cases: Sequence[CasePlan]


@dataclass(frozen=True, slots=True)
class Carried:
    """Entries inside the task."""

    value: Mapping[str, bytes]


class TaskInputs:
    """Encrypted entries, decrypted on a worker; `sent.value` is {name: bytes}."""

    def __init__(self, sent: Any) -> None:
        self._sent = sent

    def common(self, key: TaskKey) -> Any:
        """What all tasks share."""
        return _opened(self._sent.value["head"], key, "head")

    def plan(self, key: TaskKey, partition: int) -> TaskPlan:
        """What the task of a partition needs."""
        common: _Common = self.common(key)
        tables = {}
        for name, table in common.drawn.items():
            edges = common.edges[name]
            run = int(np.searchsorted(edges, partition, side="right")) - 1
            sealed = self._sent.value[f"{name}/{run}"]
            shares: Shares = _opened(sealed, key, name, str(run))
            place = partition - int(edges[run])
            if place >= len(shares.rows):
                # It had no row when rows were counted, and was not counted either.
                none = np.zeros(table.values.size, np.int64)
                tables[name] = PublishedTable(table.indptr, table.values, none)
                continue
            tables[name] = partition_share(table, shares, place, run, split_key(key, name))
        left_out = common.left_out.get(partition, np.zeros(0, np.int64))
        cases = [(plan, self.cases(key, plan, partition)) for plan in common.cases]
        return TaskPlan(common.names, common.surveys, tables, left_out, common.together, cases)

    def cases(self, key: TaskKey, plan: CasePlan, partition: int) -> CaseShare | None:
        """What the cases of a partition publish; None if it has none."""
        label = _case_label(plan, partition)
        sealed = self._sent.value.get("/".join(label))
        if sealed is None:
            return None
        share: CaseShare = _opened(sealed, key, *label)
        return share


def seal_common(content: Any, key: TaskKey) -> dict[str, bytes]:
    """Inputs that all tasks share, and no others."""
    return {"head": _sealed(content, key, "head")}


def seal_plan(
    names: Sequence[str],
    surveys: Mapping[str, Survey],
    drawn: Mapping[str, PublishedTable],
    rows: Mapping[str, NDArray[np.int64]],
    left_out: Mapping[int, NDArray[np.int64]],
    key: TaskKey,
    together: Together | None = None,
    cases: Sequence[CasePlan] = (),
) -> dict[str, bytes]:
    """Split what was drawn; `rows[name][partition, value]` counts the rows to deal to.

    Columns that are published `together` have one name among the drawn tables. What `cases` publish
    is sealed by itself.
    """
    entries, edges, shapes = {}, {}, {}
    for name, table in drawn.items():
        most = max(1, min(MOST_RUNS, MOST_CELLS // max(1, table.counts.size)))
        firsts = []
        first = 0
        for run, shares in enumerate(share_out(table, rows[name], most, split_key(key, name))):
            firsts.append(first)
            first += len(shares.rows)
            narrow = Shares(_narrow(shares.counts), _narrow(shares.rows))
            entries[f"{name}/{run}"] = _sealed(narrow, key, name, str(run))
        edges[name] = np.array(firsts, np.int64)
        # The cells alone: how many values each has is in the shares.
        shapes[name] = PublishedTable(table.indptr, table.values, np.zeros(0, np.int64))
    common = _Common(
        tuple(names), dict(surveys), shapes, edges, dict(left_out), together or {}, tuple(cases)
    )
    return {**entries, **seal_common(common, key)}


def entries_by_partition(
    entries: Mapping[str, bytes], key: TaskKey, partitions: int
) -> list[dict[str, bytes]]:
    """For each partition what its task needs of `seal_plan`'s entries, beside what all share.

    For engines that can hand a task something that the others do not get.
    """
    common: _Common = TaskInputs(Carried(entries)).common(key)
    runs = {
        name: np.searchsorted(edges, np.arange(partitions), side="right") - 1
        for name, edges in common.edges.items()
    }
    shares: list[dict[str, bytes]] = []
    for partition in range(partitions):
        labels = [f"{name}/{run[partition]}" for name, run in runs.items()]
        labels += ["/".join(_case_label(plan, partition)) for plan in common.cases]
        shares.append({label: entries[label] for label in labels if label in entries})
    return shares


def seal_cases(share: CaseShare, key: TaskKey, plan: CasePlan, partition: int) -> dict[str, bytes]:
    """What the cases of a partition publish."""
    label = _case_label(plan, partition)
    return {"/".join(label): _sealed(share, key, *label)}


def _case_label(plan: CasePlan, partition: int) -> tuple[str, str, str]:
    return "cases", plan.name, str(partition)


def split_key(key: TaskKey, name: str) -> TaskKey:
    """The key for splitting a column's table."""
    return key.derived("split", name)


def _sealed(content: Any, key: TaskKey, *label: str) -> bytes:
    return key.seal(zlib.compress(pickle.dumps(content), 1), "seal", *label)


def _opened(sealed: bytes, key: TaskKey, *label: str) -> Any:
    return pickle.loads(zlib.decompress(key.seal(sealed, "seal", *label)))  # noqa: S301 - our own


def _narrow(counts: NDArray[np.int64]) -> NDArray[Any]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
