"""The order of rows: does it reveal groups, or the order of the source what was drawn?

Enters: a target. Leaves: findings. Must not know: files.

Knows: the release; for scoring, the order of the source. Claim: rows are in uniformly random order.
All tests are exact:

- neighbours: reading row by row, the next row is any of the rest with equal probability, so bets
  on "it has the same value" and "it was near this one in the source" are fair
- sections: how many rows of each section of the source are in each section of the release:
  hypergeometric counts
- draws: of the rows with a true value, the earlier half in the source publish the truth, and low
  values, as often as the later: hypergeometric counts again. Not where persons have several cases:
  these are kept out of each other's groups
"""

from __future__ import annotations

import math

import numpy as np

from countveil.auditing.chance import bet, hypergeometric_tail
from countveil.auditing.findings import Finding, Outcome, too_few
from countveil.auditing.target import AttackedColumn, Codes, Target
from countveil.randomness import Stream

NAME = "reconstruction"
_KNOWS = "every byte of the files; for scoring, the source's order"
_WINDOWS = (1, 8, 64)
_SECTIONS = 64
_FEW_ROWS = 200


def attack(target: Target, _stream: Stream) -> Outcome:
    """Attack the order of the rows."""
    outcome = Outcome()
    if target.n_linked < _FEW_ROWS:
        outcome.findings.append(too_few(NAME, target.n_linked, _FEW_ROWS))
        return outcome
    order = np.argsort(target.release_place)
    ranks = np.argsort(np.argsort(target.source_place))[order]
    outcome.findings += [_near_in_source(ranks), _sections(ranks)]
    for column in target.sensitive:
        outcome.findings += [
            _same_value(column.released[order], "published", column.name),
            _same_value(column.truth[order], "true", column.name),
        ]
        if target.cases is None:
            outcome.findings.append(_drawn_by_place(column, target.source_place))
    return outcome


def _drawn_by_place(column: AttackedColumn, source_place: Codes) -> Finding:
    """Do rows that come early in the source publish other values than those that come late?"""
    order = np.lexsort((source_place, column.truth))
    truth, released = column.truth[order], column.released[order]
    has = np.bincount(truth, minlength=column.n_values)
    nth = np.arange(truth.size) - np.repeat(np.cumsum(has) - has, has)
    early = nth < has[truth] // 2
    # Half of the rows of each true value publish a value up to the middle one.
    ranked = np.lexsort((released, truth))
    middle = released[ranked][np.minimum(np.cumsum(has) - has + has // 2, truth.size - 1)]
    drawn = (has // 2).astype(np.float64)
    tails, shares = [], []
    for publishes in (released == truth, released < middle[truth]):
        chances = np.bincount(truth, publishes, column.n_values) / np.maximum(has, 1)
        count = float((publishes & early).sum())
        tails.append(float(hypergeometric_tail(np.array([count]), drawn[None], chances)[0]))
        shares.append((count / max(1, early.sum()), float(publishes.mean())))
    kept, expected = shares[0]
    return Finding(
        NAME, "what early rows of the source publish", _KNOWS,
        "compare the earlier and the later half of the rows of each value",
        f"{expected:.4f} publish the truth, as of all rows", kept, "share of the earlier half",
        p_value=min(1.0, 2 * min(tails)), column=column.name,
        note=f"of the earlier half, {shares[1][0]:.4f} publish one of the first values, of all "
        f"rows {shares[1][1]:.4f}",
    )  # fmt: skip


def _same_value(values: Codes, kind: str, column: str) -> Finding:
    """Do neighbours share a value more, or less, often than in random order?"""
    n = values.size
    by_value = np.argsort(values, kind="stable")
    counts = np.bincount(values)
    first = np.cumsum(counts) - counts
    nth = np.empty(n, np.int64)
    nth[by_value] = np.arange(n) - first[values[by_value]]
    # After row j, how many with its value are left among n - 1 - j rows.
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
    near, tests = [], []
    step = np.abs(np.diff(ranks))
    for window in _WINDOWS:
        left = n - 1 - np.arange(n - 1)
        some = left > 4 * window
        tests.append(bet(step[some] <= window, 2 * window / left[some], both_ways=False))
        near.append(int((step <= window).sum()))
    return Finding(
        NAME, "source order of neighbouring rows", _KNOWS,
        f"bet on neighbours that were within {', '.join(map(str, _WINDOWS))} rows",
        "2 (random order)", near[0], "neighbours that stay neighbours",
        p_value=min(1.0, len(tests) * min(tests)),
        note=f"{near[-1]:,} neighbours were within {_WINDOWS[-1]}, about {2 * _WINDOWS[-1]:,} "
        "by chance",
    )  # fmt: skip


def _sections(ranks: Codes) -> Finding:
    """Where the rows of each part of the source went."""
    n, sections = ranks.size, min(_SECTIONS, max(2, int(math.sqrt(ranks.size / 25))))
    there, here = np.arange(n) * sections // n, ranks * sections // n
    cells = np.bincount(there * sections + here, minlength=sections**2).reshape(sections, sections)
    sizes = np.bincount(there, minlength=sections).astype(np.float64)
    worst = 1.0
    for section in range(sections):
        share = np.array([sizes[section] / n])
        tails = hypergeometric_tail(cells[:, section].astype(np.float64), sizes[:, None], share)
        worst = min(worst, float(tails.min()))
    expected = n / sections**2
    return Finding(
        NAME, "where parts of the source went", _KNOWS,
        f"{sections} parts against {sections} parts",
        f"{expected:,.1f} in each, give or take", float(cells.max()), "rows in the fullest cell",
        p_value=min(1.0, sections**2 * worst),
    )  # fmt: skip
