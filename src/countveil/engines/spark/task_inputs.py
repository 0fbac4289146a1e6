"""What tasks need to know, sealed.

Enters: what the driver counted and drew. Leaves: a parcel that goes to the workers once; a task
opens the common part and the share of its own part of the table, nothing else. Must not know: how a
parcel travels.

True counts are in it, and a cluster keeps what it hands to its workers on their disks for a while.
So every piece is encrypted under a key that travels with the tasks alone.
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

# Runs of parts that share a table, and cells of all their tables: what the driver and every worker
# hold. Within a run, the tasks split for themselves.
_MOST_RUNS, _MOST_CELLS = 512, 1 << 22


@dataclass(frozen=True, slots=True)
class Plan:
    """What a task does with its rows: columns by name, tables to deal, rows to leave out."""

    names: tuple[str, ...]
    surveys: Mapping[str, Survey]
    tables: Mapping[str, PublishedTable]
    gone: NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Head:
    names: tuple[str, ...]
    surveys: Mapping[str, Survey]
    drawn: Mapping[str, PublishedTable]
    edges: Mapping[str, NDArray[np.int64]]
    gone: Mapping[int, NDArray[np.int64]]


class Parcel:
    """Sealed pieces, and a way to get at them on a worker."""

    def __init__(self, missing: Sequence[str], pieces: Any) -> None:
        # `pieces` is a broadcast of Spark; its value is {name: bytes}.
        self.missing, self._pieces = tuple(missing), pieces

    def head(self, key: TaskKey) -> Any:
        """What all tasks share."""
        return _opened(self._pieces.value["head"], key, "head")

    def plan(self, key: TaskKey, part: int) -> Plan:
        """What the task of a part needs."""
        head: _Head = self.head(key)
        tables = {}
        for name, table in head.drawn.items():
            edges = head.edges[name]
            run = int(np.searchsorted(edges, part, side="right")) - 1
            shares: Shares = _opened(self._pieces.value[f"{name}/{run}"], key, name, str(run))
            own = key_of(key, name)
            tables[name] = partition_share(table, shares, part - int(edges[run]), run, own)
        gone = head.gone.get(part, np.zeros(0, np.int64))
        return Plan(head.names, head.surveys, tables, gone)


def pack_head(content: Any, key: TaskKey) -> dict[str, bytes]:
    """A parcel with a common part only."""
    return {"head": _sealed(content, key, "head")}


def pack_plan(
    names: Sequence[str],
    surveys: Mapping[str, Survey],
    drawn: Mapping[str, PublishedTable],
    rows: Mapping[str, NDArray[np.int64]],
    gone: Mapping[int, NDArray[np.int64]],
    key: TaskKey,
) -> dict[str, bytes]:
    """Split what was drawn; `rows[name][part, value]` says how many rows there are to deal to."""
    pieces, edges, shapes = {}, {}, {}
    for name, table in drawn.items():
        most = max(1, min(_MOST_RUNS, _MOST_CELLS // max(1, table.counts.size)))
        firsts = []
        first = 0
        for run, shares in enumerate(share_out(table, rows[name], most, key_of(key, name))):
            firsts.append(first)
            first += len(shares.rows)
            narrow = Shares(_narrow(shares.counts), _narrow(shares.rows))
            pieces[f"{name}/{run}"] = _sealed(narrow, key, name, str(run))
        edges[name] = np.array(firsts, np.int64)
        # The cells alone: how many values each has is in the shares.
        shapes[name] = PublishedTable(table.indptr, table.values, np.zeros(0, np.int64))
    head = _Head(tuple(names), dict(surveys), shapes, edges, dict(gone))
    return {**pieces, **pack_head(head, key)}


def key_of(key: TaskKey, name: str) -> TaskKey:
    """The key for splitting a column's table."""
    return key.derived("split", name)


def _sealed(content: Any, key: TaskKey, *label: str) -> bytes:
    return key.seal(zlib.compress(pickle.dumps(content), 1), "seal", *label)


def _opened(sealed: bytes, key: TaskKey, *label: str) -> Any:
    return pickle.loads(zlib.decompress(key.seal(sealed, "seal", *label)))  # noqa: S301 - our own


def _narrow(counts: NDArray[np.int64]) -> NDArray[Any]:
    return counts.astype(np.min_scalar_type(int(counts.max(initial=0))))
