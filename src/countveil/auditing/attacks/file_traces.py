"""The form of files: what stands beside the rows, sizes and times.

Enters: notes on the files, the stored codes, where linked rows stood in the source. Leaves:
findings. Must not know: how files are read.

Knows: the files of the release, byte by byte, and what a file system tells of them; for scoring,
the order of the source. Claim: all of it tells nothing beside the rows. The tests are exact:

- metadata, statistics, dictionaries: there is nothing, or it follows from the stored rows
- size: no code stores a random order of given values in fewer than log2(number of orders) - t bits,
  except with probability 2^(1-t). Ordered rows would take less room
- times: a release that is published now tells one time, its own; none of the source's
- files: put in the order of their times and of their sizes, they hold the parts of the source in
  hypergeometric counts: which file a row is in says nothing about where it stood
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from countveil.auditing.chance import hypergeometric_tail
from countveil.auditing.findings import BY_DESIGN, Finding, Outcome
from countveil.auditing.target import Codes, Target
from countveil.engines.local.release_files import FileNotes

NAME = "reconstruction"
KNOWS = "every byte of the files; for scoring, the source's order"
_SECTIONS = 16
_FEW_ROWS = 200


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A data file, as the file system shows it, in the order in which the rows are stored."""

    rows: int
    bytes: int
    time: int


def attack(notes: FileNotes, stored: Mapping[str, Codes]) -> Outcome:
    """Attack what stands in the files; `stored` are the sensitive columns as they are stored."""
    beside = notes.statistics + len(notes.metadata)
    return Outcome([
        _plain_check(
            "statistics and metadata of the files", "read what stands beside the rows", beside,
            "entries that tell of rows",
            f"{len(notes.row_groups):,} row groups; found: {', '.join(notes.metadata) or '-'}",
        ),
        _plain_check(
            "order of dictionaries", "compare with the values' own order, and with the rows'",
            len(notes.disordered), "columns in another order",
            "an order of first appearance in the source would tell of it",
        ),
        _plain_check(
            "entries of dictionaries without a row", "look for each in the rows", notes.unused,
            "entries", "a value that the draw removed would stand there",
        ),
        *(_size(notes, name, codes) for name, codes in stored.items()),
    ])  # fmt: skip


def attack_times(times: Mapping[str, int], of_source: Sequence[int], *, planned: bool) -> Outcome:
    """Attack the times of the release's files; `of_source` are those of the source's."""
    different = len(set(times.values()))
    span = (max(times.values()) - min(times.values())) / 1e9
    note = f"{len(times):,} files and folders, {span:,.1f} seconds from first to last"
    if planned:
        first = _plain_check(
            "order and duration by the times of files", "read the times", different - 1,
            "times beside that of the publication", note,
        )  # fmt: skip
    else:
        first = Finding(
            NAME, "order and duration by the times of files", KNOWS, "read the times",
            "nothing: copying sets new times", float(different), "different times",
            verdict=BY_DESIGN, note=note,
        )  # fmt: skip
    if not of_source:
        return Outcome([first])
    kept = sum(time in of_source for time in times.values())
    return Outcome([first, _plain_check(
        "times of the source on the release", "compare with the times of the source", kept,
        "files or folders", f"{len(of_source):,} times of the source's files and folders sought",
    )])  # fmt: skip


def attack_order_of_files(target: Target, files: Sequence[StoredFile]) -> Outcome:
    """Put the files in order by time and size: is it the order of the source?"""
    rows = [file.rows for file in files]
    if sum(count > 0 for count in rows) < 2 or target.n_linked < _FEW_ROWS:
        return Outcome()
    file_of = np.searchsorted(np.cumsum(rows), target.release_place, side="right")
    n = target.n_linked
    rank = np.argsort(np.argsort(target.source_place))
    section = rank * _SECTIONS // n
    places = file_of * _SECTIONS + section
    cells = np.bincount(places, minlength=len(rows) * _SECTIONS).astype(np.float64)
    cells = cells.reshape(len(rows), _SECTIONS)
    in_file, in_section = cells.sum(axis=1), cells.sum(axis=0)
    worst = min(
        float(
            hypergeometric_tail(
                cells[:, number], in_file[:, None], in_section[number : number + 1] / n
            ).min()
        )
        for number in range(_SECTIONS)
    )
    keys = {"time": [file.time for file in files], "size": [file.bytes for file in files]}
    agreements = {name: _agreement(np.array(key)[file_of], rank) for name, key in keys.items()}
    farthest = max(agreements, key=lambda name: abs(agreements[name] - 0.5))
    return Outcome([Finding(
        NAME, "source order by times and sizes of files", KNOWS,
        "files in the order of their times, and of their sizes, against the source",
        "0.5000 (random order)", agreements[farthest], "pairs of rows in the source's order",
        p_value=min(1.0, cells.size * worst),
        note=f"{len(rows)} files, by {farthest}; tested file by file against {_SECTIONS} parts "
        "of the source",
    )])  # fmt: skip


def _agreement(key: Codes, rank: Codes) -> float:
    """Of the pairs of rows in files with different keys, the share in the source's order."""
    levels, place = np.unique(key, return_inverse=True)
    agree = pairs = 0.0
    earlier = np.zeros(0, np.int64)
    for level in range(levels.size):
        ranks = np.sort(rank[place == level])
        agree += float(np.searchsorted(earlier, ranks).sum())
        pairs += float(earlier.size) * ranks.size
        earlier = np.sort(np.concatenate([earlier, ranks]))
    return agree / pairs if pairs else 0.5


def _plain_check(attack: str, method: str, count: int, unit: str, note: str) -> Finding:
    return Finding(
        NAME, attack, KNOWS, method, "0", float(count), unit,
        p_value=0.0 if count else 1.0, note=note,
    )  # fmt: skip


def _size(notes: FileNotes, name: str, codes: Codes) -> Finding:
    """Bits that the column takes, beside the bits that a random order needs."""
    start, needed, taken = 0, 0.0, 0
    for group in notes.row_groups:
        counts = np.bincount(codes[start : start + group.rows])
        start += group.rows
        logs = math.lgamma(group.rows + 1) - sum(math.lgamma(c + 1) for c in counts.tolist())
        needed += logs / math.log(2)
        taken += 8 * group.bytes.get(name, 0)
    saved = needed - taken
    return Finding(
        NAME, "size of the stored column", KNOWS, "compare with the number of orders",
        f"{needed / max(1, codes.size):.3f} bits or more", taken / max(1, codes.size),
        "bits per row", p_value=min(1.0, 2.0 ** -min(saved - 1, 1000.0)) if saved > 1 else 1.0,
        column=name, note="less room than a random order needs would mean that the order tells",
    )  # fmt: skip
