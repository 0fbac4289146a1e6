"""Small counts: the adversary estimates counts of 1 to 10 with the best known estimator.

Enters: a target, a stream. Leaves: findings and curves. Must not know: files, values.

**A value alone.** `value_counts`.

**A value within a predicate, (P, s).** The paper's lemma says that (P, s) inherits the guarantee of
s. That is checked, not claimed: how often the shrunk estimate is off by more than 30%, beside T_P
of s, beside T_P of a value that has this count, beside the answer of independence, which uses large
counts only, and beside the count in P of the published value.

**Differencing.** Two queries that differ in one person, one person of a predicate; margins minus
cells. Claim: the difference reveals what the person's row reveals, no more.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.attacks import value_counts
from countveil.auditing.attacks.value_counts import ERROR, MOST, NAME
from countveil.auditing.beliefs import score
from countveil.auditing.chance import interval
from countveil.auditing.findings import (
    KNOWN_LIMIT,
    Finding,
    Outcome,
    left_out,
    not_run,
    too_few,
    too_few_cells,
)
from countveil.auditing.promised import kept_p_value
from countveil.auditing.target import LEAST_LINKED, AttackedColumn, Codes, Floats, Target
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT
from countveil.maths.estimate import shrunk_counts
from countveil.maths.guarantees import chance_off
from countveil.randomness import Stream
from countveil.report.chart import Chart, Line

_LEAST_ROWS, _MOST_CELLS, _NUMBERS = 30, 240, 200_000
_DIFFERENCED, _COMPARED = 5_000, 4
_DIFFER = "two queries that differ in one person"


def attack(target: Target, stream: Stream) -> Outcome:
    """Attack every sensitive column."""
    outcome = Outcome()
    for column in target.sensitive:
        outcome.add(value_counts.attack(column, stream))
        if target.n_linked < LEAST_LINKED:
            outcome.findings.append(too_few(NAME, target.n_linked, LEAST_LINKED))
            continue
        if not column.small_domain:
            outcome.findings.append(
                not_run(NAME, "count (P, s)", column.name, column.n_values, WHOLE_DOMAIN_LIMIT)
            )
            continue
        cells = _cells(target, column, stream)
        if cells.max(initial=-1) >= 0:
            outcome.add(_in_predicates(column, cells))
            outcome.findings.append(
                left_out(
                    NAME, _DIFFER, column.name,
                    (len(column.vector_of), "columns that are published together"),
                    "tried with each of them by itself",
                )
                if column.vector_of
                else _differencing(column, cells, stream)
            )  # fmt: skip
        else:
            outcome.findings.append(too_few_cells(NAME, "count (P, s)", column.name, 0, 1))
    return outcome


def _cells(target: Target, column: AttackedColumn, stream: Stream) -> Codes:
    """Disjoint predicates by up to three other columns: the number of each row's, or -1.

    Ever finer, as long as that does not lower the number of cells with enough rows.
    """
    by_size = sorted(target.plain, key=lambda plain: plain.n_levels)
    cell = np.zeros(target.n_linked, np.int64)
    fitting = np.zeros(0, np.int64)
    for plain in by_size[-3:]:
        finer = np.unique(cell * plain.n_levels + plain.codes, return_inverse=True)[1]
        sizes = np.bincount(finer)
        large = np.flatnonzero((sizes >= _LEAST_ROWS) & (sizes < target.n_linked))
        if large.size < fitting.size:
            break
        cell, fitting = finer, large
        if sizes.size >= 2 * _MOST_CELLS:
            break
    most = max(10, min(_MOST_CELLS, _NUMBERS // column.n_values))
    chosen = fitting[stream.permutation(fitting.size)[:most]]
    number = np.full(int(cell.max(initial=0)) + 1, -1, np.int64)
    number[chosen] = np.arange(chosen.size)
    return number[cell]


def _tally(cells: Codes, values: Codes, n_values: int) -> Floats:
    inside = cells >= 0
    n_cells = int(cells.max()) + 1
    flat = np.bincount(cells[inside] * n_values + values[inside], minlength=n_cells * n_values)
    return flat.reshape(n_cells, n_values).astype(np.float64)


def _in_predicates(column: AttackedColumn, cells: Codes) -> Outcome:
    true = _tally(cells, column.truth, column.n_values)
    released = _tally(cells, column.released, column.n_values)
    rows = released.sum(axis=1, keepdims=True)
    small = (true >= 1) & (true <= MOST)
    if not small.any():
        return Outcome()
    estimates = {
        "shrunk": shrunk_counts(released, [column.view]),
        "independence": rows * column.shares,
        "published in P": released,
    }
    sizes = true[small].astype(int)
    promised = np.array([chance_off(size, column.ell, ERROR) for size in range(1, MOST + 1)])
    lines, shares = [], {}
    for name, estimate in estimates.items():
        off = (np.abs(estimate - true) > ERROR * true + 1e-9)[small]
        shares[name] = off
        lines.append(_by_size(name, off, sizes))
    lines.append(Line("promised of a value alone", list(range(1, MOST + 1)), promised.tolist()))
    shrunk, independent = shares["shrunk"], shares["independence"]
    lemma = ""
    if column.odds is None:
        inherited = _inherited(small, column)
        kept = "kept" if float(shrunk.mean()) >= inherited else "NOT kept"
        lemma = f"; the lemma says {inherited:.4f} or more (T_P of s): {kept}"
    margins = _from_margins(estimates["shrunk"], true, small, column)
    low, high = interval(int(shrunk.sum()), shrunk.size)
    finding = Finding(
        NAME, "count (P, s) of 1 to 10 rows", "the release", "shrunk estimate",
        f"nothing{lemma}",
        float(shrunk.mean()), f"share off by more than {ERROR:.0%}", low, high,
        verdict=KNOWN_LIMIT, column=column.name,
        note=f"{sizes.size:,} cells; {'' if column.odds is None else 'without noise, '}a value "
        f"alone that so few rows have is promised {float(promised[sizes - 1].mean()):.4f}; "
        f"independence, from large counts alone, is off "
        f"for {float(independent.mean()):.4f}, the published count in P for "
        f"{float(shares['published in P'].mean()):.4f}; interval as if cells were independent",
    )  # fmt: skip
    title = f"How often is a small combined count of {column.name} far off?"
    chart = Chart(title, "true count of (P, s)", "share off by more than 30%", lines)
    return Outcome([finding, margins], [chart])


def _inherited(small: NDArray[np.bool_], column: AttackedColumn) -> float:
    """T_P of the values themselves, on average over the small cells."""
    known = {f: chance_off(f, column.ell, ERROR) for f in set(column.counts.tolist()) if f < 5_000}
    of_value = np.array([known.get(f, 0.0) for f in column.counts.tolist()])
    return float(np.broadcast_to(of_value, small.shape)[small].mean())


def _by_size(name: str, off: NDArray[np.bool_], sizes: NDArray[np.int64]) -> Line:
    x, y, low, high = [], [], [], []
    for size in range(1, MOST + 1):
        these = off[sizes == size]
        if these.size:
            bounds = interval(int(these.sum()), these.size)
            x.append(float(size))
            y.append(float(these.mean()))
            low.append(bounds[0])
            high.append(bounds[1])
    return Line(name, x, y, low, high)


def _from_margins(
    estimates: Floats, true: Floats, small: NDArray[np.bool_], column: AttackedColumn
) -> Finding:
    """Everybody with s, less the estimates of all other cells of the same value."""
    margin = column.view.of_whole_table(column.published.astype(np.float64))
    outside = margin - true.sum(axis=0)
    by_difference = margin - outside - (estimates.sum(axis=0) - estimates)
    off = (np.abs(by_difference - true) > ERROR * true + 1e-9)[small]
    low, high = interval(int(off.sum()), off.size)
    return Finding(
        NAME, "the margin of s less all other cells", "the release, and the true count outside",
        "published count of s - shrunk estimates", "worse than the cell itself",
        float(off.mean()), f"share off by more than {ERROR:.0%}", low, high, verdict=KNOWN_LIMIT,
        column=column.name, note="interval as if cells were independent",
    )  # fmt: skip


def _differencing(column: AttackedColumn, cells: Codes, stream: Stream) -> Finding:
    """Ask about P, then about P without one person; guess the value that lost most."""
    inside = np.flatnonzero(cells >= 0)
    most = max(8, _DIFFERENCED // column.n_values)
    # Few true values with many persons each: the test compares persons of the same value.
    often = np.argsort(-np.bincount(column.truth[inside], minlength=column.n_values))[:_COMPARED]
    inside = inside[np.isin(column.truth[inside], often)]
    # One person of a predicate, so that no guess depends on what another one publishes.
    mixed = inside[stream.permutation(inside.size)]
    persons = mixed[np.unique(cells[mixed], return_index=True)[1]][:most]
    released = _tally(cells, column.released, column.n_values)
    without = released[cells[persons]]
    without[np.arange(persons.size), column.released[persons]] -= 1
    before = shrunk_counts(without, [column.view])
    guesses = np.empty((persons.size, column.n_values), np.int64)
    for value in range(column.n_values):
        with_person = without.copy()
        with_person[:, value] += 1
        change = shrunk_counts(with_person, [column.view]) - before
        guesses[:, value] = change.argmax(axis=1)
    attacked = column.rows_at(persons)
    result = score(guesses == attacked.truth[:, None], attacked)
    named = guesses[np.arange(persons.size), attacked.released] == attacked.released
    kept = kept_p_value(attacked)
    low, high = interval(result.successes, result.rows)
    claimed = f"{result.expected / max(1, result.rows):.4f} (as the row itself)"
    if not column.repeats and column.odds is None:
        claimed = f"{1 / column.ell:.4f} (1/ell, as the row itself)"
    return Finding(
        NAME, _DIFFER, "the release, the person's other columns",
        "the value whose shrunk estimate moved most",
        claimed, result.successes / max(1, result.rows),
        "share right", low, high,
        # Where the difference names the published value, dealing it again cannot change the sum.
        min(1.0, 2 * min(result.p_value, kept)),
        column=column.name,
        note=f"{result.rows:,} persons; the difference names the published value for "
        f"{float(named.mean()):.0%}: it reveals what the row reveals, no more",
    )  # fmt: skip
