"""The order of rows and the form of files: do they tell groups, or the order of the source?

Enters: a target, the files' notes. Leaves: findings. Must not know: how files are read.

Knows: the files of the release, byte by byte; for scoring, the order of the source. Claim: rows are
in uniformly random order and the files hold nothing beside them. All tests are exact:

- neighbours: reading row by row, the next row is any of the rest with equal chances, so bets on
  "it has the same value" and "it stood near this one in the source" are fair bets
- parts: where a part of the source went, in 64 parts of the release: hypergeometric counts
- size: no code stores a random order of given values in fewer than log2(number of orders) - t bits,
  except with probability 2^-t. Ordered rows would take less room.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from countveil.adversaries.chance import bet, parts_tail
from countveil.adversaries.findings import Finding, Outcome
from countveil.adversaries.target import Codes, Target
from countveil.engines.embedded.release_rows import FileNotes

NAME = "reconstruction"
_KNOWS = "every byte of the files; for scoring, the source's order"
_WINDOWS = (1, 8, 64)
_PARTS = 64
_FEW_ROWS = 200


def attack_order(target: Target) -> Outcome:
    """Attack the order of the rows."""
    outcome = Outcome()
    if target.n_linked < _FEW_ROWS:
        return outcome
    order = np.argsort(target.release_place)
    ranks = np.argsort(np.argsort(target.source_place))[order]
    outcome.findings += [_near_in_source(ranks), _parts(ranks)]
    for column in target.sensitive:
        outcome.findings += [
            _same_value(column.seen[order], "published", column.name),
            _same_value(column.truth[order], "true", column.name),
        ]
    return outcome


def _same_value(values: Codes, kind: str, column: str) -> Finding:
    """Do neighbours share a value more, or less, often than in random order?"""
    n = values.size
    by_value = np.argsort(values, kind="stable")
    counts = np.bincount(values)
    first = np.cumsum(counts) - counts
    nth = np.empty(n, np.int64)
    nth[by_value] = np.arange(n) - first[values[by_value]]
    # After row j, so many with its value are left among n - 1 - j rows.
    left = counts[values] - nth - 1
    chances = left[:-1] / (n - 1 - np.arange(n - 1))
    same = values[1:] == values[:-1]
    expected = float((counts * (counts - 1)).sum()) / (n * (n - 1)) if n > 1 else 0.0
    return Finding(
        NAME, f"{kind} values of neighbouring rows", _KNOWS, "bet, row by row, on the same value",
        f"{expected:.5f} (random order)", float(same.mean()), "share of neighbours alike",
        p_value=bet(same, np.minimum(chances, 1.0), both_ways=True), column=column,
    )  # fmt: skip


def _near_in_source(ranks: Codes) -> Finding:
    n = ranks.size
    found, tests = [], []
    step = np.abs(np.diff(ranks))
    for window in _WINDOWS:
        left = n - 1 - np.arange(n - 1)
        some = left > 4 * window
        tests.append(bet(step[some] <= window, 2 * window / left[some], both_ways=False))
        found.append(int((step <= window).sum()))
    return Finding(
        NAME, "source order of neighbouring rows", _KNOWS,
        f"bet on neighbours that stood within {', '.join(map(str, _WINDOWS))} rows",
        "2 (random order)", found[0], "neighbours that stay neighbours",
        p_value=min(1.0, len(tests) * min(tests)),
        note=f"{found[-1]:,} neighbours stood within {_WINDOWS[-1]}, about {2 * _WINDOWS[-1]:,} "
        "by chance",
    )  # fmt: skip


def _parts(ranks: Codes) -> Finding:
    """Where the rows of each part of the source went."""
    n, parts = ranks.size, min(_PARTS, max(2, int(math.sqrt(ranks.size / 25))))
    there, here = np.arange(n) * parts // n, ranks * parts // n
    cells = np.bincount(there * parts + here, minlength=parts**2).reshape(parts, parts)
    sizes = np.bincount(there, minlength=parts).astype(np.float64)
    worst = 1.0
    for part in range(parts):
        share = np.array([sizes[part] / n])
        tails = parts_tail(cells[:, part].astype(np.float64), sizes[:, None], share)
        worst = min(worst, float(tails.min()))
    expected = n / parts**2
    return Finding(
        NAME, "where parts of the source went", _KNOWS, f"{parts} parts against {parts} parts",
        f"{expected:,.1f} in each, give or take", float(cells.max()), "rows in the fullest cell",
        p_value=min(1.0, parts**2 * worst),
    )  # fmt: skip


def attack_files(notes: FileNotes, stored: Mapping[str, Codes]) -> Outcome:
    """Attack the form of the files; `stored` are the sensitive columns as they are stored."""
    beside = notes.statistics + len(notes.metadata)
    disordered = [
        name
        for name, lists in notes.dictionaries.items()
        if any(list(values) != _sorted(values) for values in lists)
    ]
    findings = [
        _plain_check(
            "statistics and metadata of the files", "read what stands beside the rows", beside,
            "entries that tell of rows",
            f"{len(notes.row_groups):,} row groups; found: {', '.join(notes.metadata) or '-'}",
        ),
        _plain_check(
            "order of dictionaries", "compare with the values' own order", len(disordered),
            "columns in another order", "an order of first appearance would tell of rows",
        ),
    ]  # fmt: skip
    return Outcome(findings + [_size(notes, name, codes) for name, codes in stored.items()])


def _plain_check(attack: str, method: str, found: int, unit: str, note: str) -> Finding:
    return Finding(
        NAME, attack, _KNOWS, method, "0", float(found), unit,
        p_value=0.0 if found else 1.0, note=note,
    )  # fmt: skip


def _sorted(values: Sequence[object]) -> list[object]:
    known: list[Any] = [value for value in values if value is not None]
    return [None] * (len(values) - len(known)) + sorted(known)


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
        NAME, "size of the stored column", _KNOWS, "compare with the number of orders",
        f"{needed / max(1, codes.size):.3f} bits or more", taken / max(1, codes.size),
        "bits per row", p_value=min(1.0, 2.0 ** -min(saved, 1000.0)) if saved > 0 else 1.0,
        column=name, note="less room than a random order needs would mean that the order tells",
    )  # fmt: skip
