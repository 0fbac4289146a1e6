"""Small counts of a value alone: how often is an adversary's count off by more than 30%?

Enters: a column under attack, a stream. Leaves: findings and a curve. Must not know: files, rows.

Claim: the published count of a value that f rows have is binomial with f ell trials and chance
1/ell, so it is off by more than 30% with exactly the probability T_P, whatever else is in the
table. One release draws each count once; therefore rare values are planted into the histogram and
drawn many times by the publisher's code. Every count of the release itself is tested as well.
In random groups two rows with the value may meet, which makes its count a little less uncertain;
what that takes from T_P is conceded, and is next to nothing for so few rows.

T_P is about the published count as it is. An adversary who only wants to be within 30% can do
better than repeat it: he names the number that is within 30% of the most likely true counts (2.6
covers 2 and 3). That is measured too, and nothing is claimed against it.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.chance import interval
from countveil.auditing.findings import KNOWN_LIMIT, WITH_NOISE, Finding, Outcome, left_out
from countveil.auditing.promised import count_p_values
from countveil.auditing.random_chance import RandomGroups
from countveil.auditing.target import AttackedColumn, Codes, Floats
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.guarantees import chance_off
from countveil.maths.guarantees.binomial import binomial_lower, binomial_pmf, binomial_upper
from countveil.maths.mechanism import draw
from countveil.randomness import Stream
from countveil.report.chart import Chart, Line

NAME = "small count"
_PLANT = "count a value that 1 to 10 rows have"
ERROR = 0.3
MOST = 10
_PLANTED, _DRAWS, _PLANTED_ROWS = 10, 60, 50_000
_HEDGED_UP_TO = 40
_SPREAD = {"random": "1 standard error: f (1 - f/N) (1 - 1/ell), mean f"}


def attack(column: AttackedColumn, stream: Stream) -> Outcome:
    """Attack the counts of single values."""
    outcome = Outcome()
    if column.odds is None:
        outcome = planted(column, stream)
    else:
        why = "T_P is promised of counts without noise; all counts are tested with it"
        outcome.findings.append(left_out(NAME, _PLANT, column.name, WITH_NOISE, why))
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
    counts = _whole_groups(np.concatenate([column.counts // shrink, sizes]), column)
    drawn = np.stack([table.published()[-sizes.size :] for table in _drawn(counts, column, stream)])
    off = np.abs(drawn - sizes) > ERROR * sizes + 1e-9
    promised = np.array([chance_off(size, column.ell, ERROR) for size in range(1, MOST + 1)])
    tests = _planted_p_values(drawn, off, promised, int(counts.sum()), column)
    share = off.reshape(_DRAWS, MOST, _PLANTED).mean(axis=(0, 2))
    bounds = [interval(round(s * _DRAWS * _PLANTED), _DRAWS * _PLANTED) for s in share.tolist()]
    hedged = hedged_counts(column.ell)
    guesses = hedged[np.minimum(drawn, hedged.size - 1)]
    missed = np.abs(guesses - sizes) > ERROR * sizes + 1e-9
    low, high = interval(int(off.sum()), off.size)
    finding = Finding(
        NAME, _PLANT, "the release", "its published count",
        f"{float(promised.mean()):.4f} (T_P of the published count)", float(off.mean()),
        f"share off by more than {ERROR:.0%}", low, high, min(1.0, len(tests) * min(tests)),
        column=column.name,
        note=f"{sizes.size} values planted into the histogram, drawn {_DRAWS} times; "
        f"{int((column.counts[column.counts > 0] <= MOST).sum())} values of the table are so rare",
    )  # fmt: skip
    chart = Chart(
        f"How often is a small count of {column.name} far off?",
        "true count", "share off by more than 30%",
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


def _drawn(counts: Codes, column: AttackedColumn, stream: Stream) -> Iterator[draw.PublishedTable]:
    """Many draws by the publisher's code; of groups that are formed once, unless at random."""
    settings = ColumnSettings(column.ell, column.groups)
    if column.groups == "random":
        for _ in range(_DRAWS):
            yield draw.draw_column(counts, settings, (stream.spawn(), stream.spawn()))
        return
    groups = form_groups(counts, settings, stream.spawn(), common=column.common)
    for _ in range(_DRAWS):
        yield draw.draw_published(groups, stream.spawn())


def _planted_p_values(
    drawn: Codes, off: NDArray[np.bool_], promised: Floats, rows: int, column: AttackedColumn
) -> list[float]:
    """Of every planted value: its total in all draws, two-sided, and how seldom it was off."""
    sizes = np.repeat(np.arange(1, MOST + 1), _PLANTED)
    totals, seldom, ell = drawn.sum(axis=0), off.sum(axis=0).tolist(), column.ell
    if column.groups == "random":
        groups = RandomGroups(rows, ell, draws=_DRAWS)
        tests: list[float] = groups.published_p_values(totals, sizes).tolist()
        # T_P holds for rows that are all in groups of their own.
        alone = np.cumprod(1 - np.arange(MOST) * (ell - 1) / (rows - 1))
        promised = promised * np.maximum(alone, 0.0)
    else:
        tests = []
        for size, total in zip(sizes.tolist(), totals.tolist(), strict=True):
            trials = _DRAWS * size * ell
            tails = binomial_upper(total, trials, 1 / ell), binomial_lower(total, trials, 1 / ell)
            tests.append(min(1.0, 2 * min(tails)))
    return tests + [
        binomial_lower(times, _DRAWS, float(promised[size - 1]))
        for size, times in zip(sizes.tolist(), seldom, strict=True)
    ]


def _hedged(missed: NDArray[np.bool_], promised: float, column: AttackedColumn) -> Finding:
    low, high = interval(int(missed.sum()), missed.size)
    return Finding(
        NAME, "the same, by the best guess known", "the release; that the count is small",
        "hedged: the number within 30% of the most likely true counts",
        f"nothing; {promised:.4f} is about the published count", float(missed.mean()),
        f"share off by more than {ERROR:.0%}", low, high, verdict=KNOWN_LIMIT, column=column.name,
        note="T_P is about the published count itself, not about every guess",
    )  # fmt: skip


def _whole_groups(counts: Codes, column: AttackedColumn) -> Codes:
    """Remove rows of the most frequent values until groups of `ell` come out even."""
    ell, common = column.ell, list(column.common)
    while True:
        for _ in range(int(counts.sum()) % ell):
            counts[int(np.argmax(counts))] -= 1
        most = np.full(counts.size, int(counts.sum()) // ell)
        most[common] = counts[common]
        if column.groups == "random" or (counts <= most).all():
            return counts
        counts = np.minimum(counts, most)


def _every_count(column: AttackedColumn) -> Finding:
    """Each published count of the release against its binomial distribution."""
    tests = count_p_values(column)
    spread = np.sqrt(np.maximum(column.view.whole_variance(np.maximum(column.counts, 1.0)), 1e-9))
    estimate = column.view.of_whole_table(column.published.astype(np.float64))
    far = np.abs(estimate - column.counts) / spread
    return Finding(
        NAME, "published counts of all values", "the release", "compare with the true ones",
        "1 standard error of the estimate" if column.odds is not None
        else _SPREAD.get(column.groups, "1 standard error: f (1 - 1/ell), mean f"),
        float(np.sqrt((far**2).mean())),
        "standard errors, root mean square", p_value=min(1.0, len(tests) * min(tests)),
        column=column.name, note="tested value by value, "
        + ("proven bounds" if column.repeats or column.odds is not None else "exact binomial"),
    )  # fmt: skip
