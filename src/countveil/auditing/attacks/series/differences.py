"""What one release has and the one before it has not: newcomers, who may be few.

Enters: a linked series. Leaves: findings. Must not know: files, values.

Knows: whose row is whose, and so who joined with which release; the column of batches tells it too.
Decoys of newcomers are other newcomers, and counts of the difference are those of their batch.
Claims:

- what newcomers publish is the true value as often as promised, also in the smallest batch
- no batch publishes a value that none of its cases has: decoys are of the same batch, as stated
- how many cases of a batch publish a value is as uncertain as promised for a table of that size

Nothing is claimed against knowing who joined.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from countveil.auditing.attacks.series.frozen_cases import NAME, believed
from countveil.auditing.findings import BY_DESIGN, Finding, Outcome, none_expected
from countveil.auditing.promised import count_p_values
from countveil.auditing.series.linked import LinkedSeries, SeriesColumn
from countveil.auditing.target import LEAST_LINKED
from countveil.randomness import Stream

_KNOWS = "who joined with which release"
_METHOD = "take the releases' difference"


def attack(series: LinkedSeries, _stream: Stream) -> Outcome:
    """Attack the newcomers of every column that was drawn."""
    outcome = Outcome()
    # Without batches, no release is one of a ledger.
    linked = [c for c in series.columns if c.ways and c.truth.size >= LEAST_LINKED]
    for column in linked:
        outcome.findings += [
            _joined(column), _newcomers(column), _smallest(column), _outside(column),
            _counts(column),
        ]  # fmt: skip
    return outcome


def _joined(column: SeriesColumn) -> Finding:
    later = int((column.batch > 1).sum())
    return Finding(
        NAME, "who joined after the first release", "the releases",
        "read the column of batches", "open", float(later), "cases known to be newcomers",
        verdict=BY_DESIGN, column=column.name,
        note=f"{len(column.ways)} batches; the smallest has {_sizes(column).min():,} "
        f"linked cases",
    )  # fmt: skip


def _sizes(column: SeriesColumn) -> np.ndarray:
    return np.array([int((column.batch == number).sum()) for number in sorted(column.ways)])


def _newcomers(column: SeriesColumn) -> Finding:
    return believed(
        column, "believe what newcomers publish", _METHOD,
        (_KNOWS, "cases that joined after the first release"), column.batch > min(column.ways),
        column.shown,
    )  # fmt: skip


def _smallest(column: SeriesColumn) -> Finding:
    smallest = sorted(column.ways)[int(_sizes(column).argmin())]
    return believed(
        column, "believe what the smallest batch publishes", _METHOD,
        (_KNOWS, f"cases of batch {smallest}"), column.batch == smallest, column.shown,
    )  # fmt: skip


def _outside(column: SeriesColumn) -> Finding:
    """Values that come from outside the batch; asked where all cases of a batch are known."""
    strange = sum(
        int(((one.published > 0) & (one.counts == 0)).sum())
        for number, one in column.batches().items()
        if column.ways[number].complete
    )
    finding = none_expected(
        NAME, "values from outside of a batch", _KNOWS, "compare a batch with its own cases",
        strange, "values", _asked(column),
    )  # fmt: skip
    return replace(finding, column=column.name)


def _counts(column: SeriesColumn) -> Finding:
    tests: list[float] = [1.0]
    far: list[float] = []
    for number, one in column.batches().items():
        if not column.ways[number].complete:
            continue
        tests += count_p_values(one)
        spread = np.sqrt(np.maximum(one.counts * (1 - 1 / one.ell), 1e-9))
        far += ((one.published - one.counts)[one.counts > 0] / spread[one.counts > 0]).tolist()
    return Finding(
        NAME, "counts of what a release added", "the releases", _METHOD,
        "1 standard error: f (1 - 1/ell), mean f", float(np.sqrt(np.mean(np.square(far or [0.0])))),
        "standard errors, root mean square", p_value=min(1.0, len(tests) * min(tests)),
        column=column.name, note=f"tested value by value; {_asked(column)}",
    )  # fmt: skip


def _asked(column: SeriesColumn) -> str:
    complete = sum(way.complete for way in column.ways.values())
    return f"{complete} of {len(column.ways)} batches with all of their cases"
