"""Small counts of a value alone: how often is an adversary's count off by more than 30%?

Enters: a column under attack, a stream. Leaves: findings and a curve. Must not know: files, rows.

Claim: the published count of a value that f rows have is binomial with f ell trials and chance
1/ell, so it is off by more than 30% with exactly the probability T_P, whatever else is in the
table. One release draws each count once; therefore rare values are planted into the histogram and
drawn many times by the publisher's code. Every count of the release itself is tested as well.

T_P is about the published count as it is. An adversary who only wants to be within 30% can do
better than repeat it: he names the number that is within 30% of the most likely true counts (2.6
covers 2 and 3). That is measured too, and nothing is claimed against it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.chance import interval
from countveil.auditing.findings import KNOWN_LIMIT, Finding, Outcome
from countveil.auditing.target import AttackedColumn, Codes, Floats
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.guarantees import chance_off
from countveil.maths.guarantees.binomial import binomial_lower, binomial_pmf, binomial_upper
from countveil.maths.mechanism import draw_published
from countveil.randomness import Stream
from countveil.report.chart import Chart, Line

NAME = "small count"
ERROR = 0.3
MOST = 10
_PLANTED, _DRAWS, _PLANTED_ROWS = 10, 60, 50_000
_HEDGED_UP_TO = 40


def attack(column: AttackedColumn, stream: Stream) -> Outcome:
    """Attack the counts of single values."""
    outcome = planted(column, stream)
    outcome.findings.append(_every_count(column))
    return outcome


def hedged_counts(ell: int) -> Floats:
    """For each published count, the number that is within 30% of the truth most often.

    As if every true count up to 40 were as likely as any other.
    """
    counts = np.arange(1, _HEDGED_UP_TO + 1)
    shown = np.arange(2 * _HEDGED_UP_TO)
    likely = np.array(
        [[binomial_pmf(g, f * ell, ell) for f in counts.tolist()] for g in shown.tolist()]
    )
    numbers = np.arange(0.1, 2 * _HEDGED_UP_TO, 0.05)
    within = np.abs(numbers[:, None] - counts) <= ERROR * counts + 1e-9
    best: Floats = numbers[(likely @ within.T).argmax(axis=1)]
    return best


def planted(column: AttackedColumn, stream: Stream) -> Outcome:
    sizes = np.repeat(np.arange(1, MOST + 1), _PLANTED)
    shrink = max(1, column.rows // _PLANTED_ROWS)
    counts = _whole_groups(np.concatenate([column.counts // shrink, sizes]), column.ell)
    groups = form_groups(counts, ColumnSettings(column.ell, column.groups), stream.spawn())
    drawn = np.stack(
        [draw_published(groups, stream.spawn()).published()[-sizes.size :] for _ in range(_DRAWS)]
    )
    off = np.abs(drawn - sizes) > ERROR * sizes + 1e-9
    promised = np.array([chance_off(size, column.ell, ERROR) for size in range(1, MOST + 1)])
    tests = []
    for place, size in enumerate(sizes.tolist()):
        total, trials = int(drawn[:, place].sum()), _DRAWS * size * column.ell
        tails = (
            binomial_upper(total, trials, 1 / column.ell),
            binomial_lower(total, trials, 1 / column.ell),
            binomial_lower(int(off[:, place].sum()), _DRAWS, float(promised[size - 1])),
        )
        tests.append(min(tails))
    share = off.reshape(_DRAWS, MOST, _PLANTED).mean(axis=(0, 2))
    bounds = [interval(round(s * _DRAWS * _PLANTED), _DRAWS * _PLANTED) for s in share.tolist()]
    hedged = hedged_counts(column.ell)
    guesses = hedged[np.minimum(drawn, hedged.size - 1)]
    missed = np.abs(guesses - sizes) > ERROR * sizes + 1e-9
    low, high = interval(int(off.sum()), off.size)
    finding = Finding(
        NAME, "count a value that 1 to 10 rows have", "the release", "its published count",
        f"{float(promised.mean()):.4f} (T_P of the published count)", float(off.mean()),
        f"share off by more than {ERROR:.0%}", low, high, min(1.0, 3 * len(tests) * min(tests)),
        column=column.name,
        note=f"{sizes.size} values planted into the histogram, drawn {_DRAWS} times; "
        f"{int((column.counts[column.counts > 0] <= MOST).sum())} values of the table are so rare",
    )  # fmt: skip
    chart = Chart(
        f"Small counts of a value: {column.name}", "true count", "share off by more than 30%",
        [
            Line("measured", list(range(1, MOST + 1)), share.tolist(),
                 [b[0] for b in bounds], [b[1] for b in bounds]),
            Line("promised (T_P)", list(range(1, MOST + 1)), promised.tolist()),
            Line("hedged guess", list(range(1, MOST + 1)),
                 missed.reshape(_DRAWS, MOST, _PLANTED).mean(axis=(0, 2)).tolist()),
        ],
        f"ell = {column.ell}; T_P is about the published count, not about every guess.",
    )  # fmt: skip
    return Outcome([finding, _hedged(missed, float(promised.mean()), column)], [chart])


def _hedged(missed: NDArray[np.bool_], promised: float, column: AttackedColumn) -> Finding:
    low, high = interval(int(missed.sum()), missed.size)
    return Finding(
        NAME, "the same, by the best guess known", "the release; that the count is small",
        "hedged: the number within 30% of the most likely true counts",
        f"nothing; {promised:.4f} is about the published count", float(missed.mean()),
        f"share off by more than {ERROR:.0%}", low, high, verdict=KNOWN_LIMIT, column=column.name,
        note="T_P is about the published count itself, not about every guess",
    )  # fmt: skip


def _whole_groups(counts: Codes, ell: int) -> Codes:
    """Remove rows of the most frequent values until groups of `ell` come out even."""
    while True:
        for _ in range(int(counts.sum()) % ell):
            counts[int(np.argmax(counts))] -= 1
        most = int(counts.sum()) // ell
        if counts.max() <= most:
            return counts
        counts = np.minimum(counts, most)


def _every_count(column: AttackedColumn) -> Finding:
    """Each published count of the release against its binomial distribution."""
    tests = [
        count_p_value(f, g, column)
        for f, g in zip(column.counts.tolist(), column.published.tolist(), strict=True)
    ]
    spread = np.sqrt(np.maximum(column.counts, 1) * (1 - 1 / column.ell))
    far = np.abs(column.published - column.counts) / spread
    return Finding(
        NAME, "published counts of all values", "the release", "compare with the true ones",
        "1 standard error: f (1 - 1/ell), mean f", float(np.sqrt((far**2).mean())),
        "standard errors, root mean square", p_value=min(1.0, len(tests) * min(tests)),
        column=column.name, note="tested value by value, exact binomial",
    )  # fmt: skip


def count_p_value(count: int, published: int, column: AttackedColumn) -> float:
    """Two-sided: `published` rows publish a value that `count` rows have."""
    groups = column.rows // column.ell
    size, larger = divmod(column.rows, groups)
    dropped = int(column.counts.sum()) - column.rows
    least, most = max(0, count - dropped - larger) * size, count * size + min(count, larger)
    tails = binomial_upper(published, most, 1 / size), binomial_lower(published, least, 1 / size)
    return min(1.0, 2 * min(tails))
