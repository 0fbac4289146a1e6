"""Traces in the form of files: what they hold besides rows, their sizes and times.

Enters: a case. Leaves: findings. Must not know: how files are read.

Knows: the files of the release, byte by byte, and their metadata in the file system; for scoring,
the order of the source. Claim: all of it reveals nothing beyond the rows. The tests are exact:

- metadata, statistics, dictionaries: there is nothing, or it follows from the stored rows
- size: no code stores a random order of given values in fewer than log2(number of orders) - t bits,
  except with probability 2^(1-t). Ordered rows would take less space
- times: a release that is published now has one time, that of its publication; none of the source's
- files: in the order of their times, and of their sizes, they hold rows of each section of the
  source in hypergeometric counts: the file of a row does not depend on its place in the source
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from countveil.auditing.case import AuditCase
from countveil.auditing.chance import hypergeometric_tail
from countveil.auditing.findings import BY_DESIGN, Finding, Outcome, none_expected
from countveil.auditing.linking import read_stored
from countveil.auditing.target import Codes, Target
from countveil.engines.local.release_files import (
    FileNotes,
    file_notes,
    times_in,
    times_of_source,
)
from countveil.randomness import Stream
from countveil.release import read_manifest
from countveil.release.formats.stored_labels import stored_labels

NAME = "reconstruction"
KNOWS = "every byte of the files; for scoring, the source's order"
_SECTIONS = 16
_FEW_ROWS = 200
_TEXT = ("string", "large_string")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """A data file, as the file system shows it."""

    rows: int
    bytes: int
    time: int


def attack(case: AuditCase, _stream: Stream) -> Outcome:
    """Attack the content of the files, their times, and their order."""
    names = [file.path for file in case.manifest.files]
    texts = [column.name for column in case.manifest.columns if column.type in _TEXT]
    columns = read_stored(case.folder, list(case.settings))
    stored = {name: column.codes for name, column in columns.items()}
    labels = stored_labels(case.manifest)
    notes = file_notes(case.folder, names, texts, list(stored), labels)
    outcome = attack_content(notes, stored)
    of_source = times_of_source(case.paths)
    outcome.add(attack_times(times_in(case.folder), of_source, planned=case.planned))
    times = times_in(case.linked)
    files = [
        StoredFile(file.rows, file.bytes, times[file.path])
        for file in read_manifest(case.linked).files
    ]
    outcome.add(attack_order_of_files(case.target, files))
    return outcome


def attack_content(notes: FileNotes, stored: Mapping[str, Codes]) -> Outcome:
    """Attack what the files hold besides rows; `stored` are the sensitive columns as stored."""
    beside = notes.statistics + len(notes.metadata)
    return Outcome([
        none_expected(
            NAME, "statistics and metadata of the files", KNOWS,
            "read what is stored besides the rows", beside,
            "entries that reveal something about rows",
            f"{len(notes.row_groups):,} row groups; found: {', '.join(notes.metadata) or '-'}",
        ),
        none_expected(
            NAME, "order of dictionaries", KNOWS,
            "compare with the order of the values, and of the rows",
            len(notes.disordered), "columns in another order",
            "the order of first appearance would reveal the order of the source",
        ),
        none_expected(
            NAME, "entries of dictionaries without a row", KNOWS, "look for each in the rows",
            notes.unused, "entries", "a value that the draw removed would be listed there",
        ),
        *(_size(notes, name, codes) for name, codes in stored.items()),
    ])  # fmt: skip


def attack_times(times: Mapping[str, int], of_source: Sequence[int], *, planned: bool) -> Outcome:
    """Attack the times of the release's files; `of_source` are those of the source's."""
    different = len(set(times.values()))
    span = (max(times.values()) - min(times.values())) / 1e9
    note = f"{len(times):,} files and folders, {span:,.1f} seconds from first to last"
    if planned:
        first = none_expected(
            NAME, "order and duration by the times of files", KNOWS, "read the times",
            different - 1, "times other than that of the publication", note,
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
    return Outcome([first, none_expected(
        NAME, "times of the source on the release", KNOWS, "compare with the times of the source",
        kept, "files or folders",
        f"{len(of_source):,} times of the source's files and folders sought",
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
        column=name,
        note="fewer bits than a random order needs would mean that the order is not random",
    )  # fmt: skip
