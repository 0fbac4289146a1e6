"""Known neighbours: the adversary knows nearly everybody's true value.

Enters: a target. Leaves: findings and a curve. Must not know: files, values.

**All but two.** He knows the true values of everybody but two persons, hence which two values are
left, and asks who has which. Both persons' rows are linked.

**All but j of a cell.** In a small cell of other columns he knows the true values of all but j
persons, but not whose row is whose: he only knows which values were published in the cell.
One of the j is the person he is after.

Claim: he is right as often as exact Bayes with the channel is on average over all orders in which
the published values could have been dealt (`beliefs`), and the people he is after publish the truth
with the chance that is promised: knowledge of all others adds nothing to that.
"""

from __future__ import annotations

import numpy as np

from countveil.auditing.beliefs import Score, score
from countveil.auditing.chance import interval
from countveil.auditing.findings import (
    Finding,
    Outcome,
    not_run,
    too_few_cells,
    tried_text,
)
from countveil.auditing.promised import kept_p_value
from countveil.auditing.target import AttackedColumn, Codes, Target
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT
from countveil.randomness import Stream
from countveil.report.chart import Chart, Line

NAME = "known neighbours"
_NUMBERS = 40_000_000
_MOST_PAIRS, _MOST_CELLS = 50_000, 2_000
_UNKNOWN = (1, 2, 5)
_LEAST, _MOST = 10, 200
_LEAST_CELLS = 10


def attack(target: Target, stream: Stream) -> Outcome:
    """Attack every sensitive column."""
    outcome = Outcome()
    for column in target.sensitive:
        if not column.small_domain:
            outcome.findings.append(
                not_run(NAME, "all others known", column.name, column.n_values, WHOLE_DOMAIN_LIMIT)
            )
            continue
        outcome.findings.append(_all_but_two(column, stream))
        cells, n_cells = _cells(target, stream)
        if len(cells) >= _LEAST_CELLS:
            outcome.add(_all_but_some(column, cells, n_cells))
        else:
            name = "all but some of a cell known"
            outcome.findings.append(
                too_few_cells(NAME, name, column.name, len(cells), _LEAST_CELLS)
            )
    return outcome


def _finding(
    attack: str, knows: str, method: str, result: Score, kept: float, column: str, note: str,
    tried: str,
) -> Finding:  # fmt: skip
    """`kept` is the p-value of how often these people publish the truth: what he starts from."""
    low, high = interval(result.successes, result.rows)
    return Finding(
        NAME, attack, knows, method, f"{result.expected / max(1, result.rows):.4f} (exact Bayes)",
        result.successes / max(1, result.rows), "share right", low, high,
        min(1.0, 2 * min(result.p_value, kept)), column=column, note=note, tried=tried,
    )  # fmt: skip


def _all_but_two(column: AttackedColumn, stream: Stream) -> Finding:
    most = max(200, min(_MOST_PAIRS, _NUMBERS // column.n_values))
    order = stream.permutation(column.truth.size)
    half = order.size // 2
    one, two = order[:half], order[half : 2 * half]
    differ = column.truth[one] != column.truth[two]
    one, two = one[differ][:most], two[differ][:most]
    first, second = column.truth[one], column.truth[two]
    channel = column.channel
    first_released = column.released[one]
    # As it is against exchanged, for every value that the second person might publish.
    true_way = channel[first, first_released][:, None] * channel[second]
    other_way = channel[second, first_released][:, None] * channel[first]
    coin = stream.below(2, one.size).astype(bool)[:, None]
    right = (true_way > other_way) | ((true_way == other_way) & coin)
    return _finding(
        "who of two has which of two values", "the true values of everybody else",
        "both rows by the channel", score(right, column.rows_at(two)),
        kept_p_value(column.rows_at(np.concatenate([one, two]))), column.name,
        f"{one.size:,} pairs; a coin is right for 0.5",
        tried_text(one.size, int(differ.sum()), "pairs"),
    )  # fmt: skip


def _cells(target: Target, stream: Stream) -> tuple[list[Codes], int]:
    """Small cells by other columns: those of 10 to 200 rows among the finest.

    At most as many as can be attacked, and how many there are.
    """
    cell = target.fine_cells(2 * _LEAST)
    sizes = np.bincount(cell)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    by_cell = np.argsort(cell, kind="stable")
    fitting = np.flatnonzero((sizes >= _LEAST) & (sizes <= _MOST))
    chosen = fitting[stream.permutation(fitting.size)[:_MOST_CELLS]]
    return [by_cell[starts[c] : starts[c + 1]] for c in chosen.tolist()], fitting.size


def _all_but_some(column: AttackedColumn, cells: list[Codes], n_cells: int) -> Outcome:
    most = max(50, _NUMBERS // column.n_values**2)
    chosen = cells[:most]
    sizes = sum(len(cell) for cell in chosen) / len(chosen)
    persons = np.array([cell[0] for cell in chosen])
    first = column.rows_at(persons)
    scores = []
    for unknown in _UNKNOWN:
        right = np.stack([_would_be_right(column, cell, unknown) for cell in chosen])
        scores.append(score(right, first))
    findings = [
        _finding(
            f"a person in a cell of which {unknown} {'is' if unknown == 1 else 'are'} unknown",
            f"the true values of all but {unknown} of the cell, not whose row is whose",
            "the cell's published values by the channel", result, kept_p_value(first), column.name,
            f"{len(chosen):,} cells of {sizes:.0f} rows on average",
            tried_text(len(chosen), n_cells, "cells"),
        )
        for unknown, result in zip(_UNKNOWN, scores, strict=True)
    ]  # fmt: skip
    linked = int(first.kept.sum())
    bounds = [interval(result.successes, result.rows) for result in scores]
    chart = Chart(
        f"What do known neighbours give away of {column.name}?",
        "people of a cell who are not known", "share right",
        [
            Line("measured", list(_UNKNOWN), [f.successes / f.rows for f in scores],
                 [low for low, _ in bounds], [high for _, high in bounds]),
            Line("exact Bayes", list(_UNKNOWN), [f.expected / f.rows for f in scores]),
            Line("the same persons, row linked", list(_UNKNOWN), [linked / len(chosen)] * 3),
        ],
    )  # fmt: skip
    return Outcome(findings, [chart])


def _would_be_right(column: AttackedColumn, cell: Codes, unknown: int) -> np.ndarray:
    """For each value that the first person of the cell might publish: is the guess right?"""
    channel, shares = column.channel, column.shares
    person, others = cell[0], cell[unknown:]
    # What the others should publish, on average; of the unknown ones only the shares are known.
    expected = channel[column.truth[others]].sum(axis=0) + (unknown - 1) * (shares @ channel)
    log_mean = np.log(expected[None, :] + channel + 1e-12)
    published = np.bincount(column.released[cell[1:]], minlength=column.n_values)
    base = np.log(shares) + log_mean @ published
    guess = (base[:, None] + log_mean).argmax(axis=0)
    right: np.ndarray = guess == column.truth[person]
    return right
