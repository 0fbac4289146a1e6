"""Repeated release: the same rows published again and again, independently.

Enters: a target, a stream. Leaves: findings and the curve. Must not know: files, values.

Knows: whose row is whose in every release. Beliefs multiply: with each release the odds of the
truth rise by about the same factor as with the first. For persons in two overlapping tables, two
releases have the same effect. Nothing is claimed against it: this is why it must not be done. The
releases are drawn in memory with the publisher's groups, draws and deals.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from countveil.auditing.chance import interval
from countveil.auditing.findings import KNOWN_LIMIT, Finding, Outcome, not_run, tried_text
from countveil.auditing.promised import kept_text
from countveil.auditing.target import AttackedColumn, Codes, Floats, Target
from countveil.maths.adversary import log_evidence, published_chances
from countveil.maths.channel import view_of_release
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.mechanism import Dealer, draw_column
from countveil.maths.mechanism.noise import draw_noise
from countveil.randomness import Stream
from countveil.report.chart import Chart, Line

NAME = "repeated release"
MOST_RELEASES = 20
_MOST_ROWS = 20_000
_MOST_VALUES = 600
_FAR = 6.0


def attack(target: Target, stream: Stream) -> Outcome:
    """Attack every sensitive column."""
    outcome = Outcome()
    for column in target.sample(_MOST_ROWS).sensitive:
        if column.n_values <= _MOST_VALUES:
            repeated = _repeat(column, stream)
            tried = tried_text(column.truth.size, target.n_linked)
            repeated.findings = [replace(finding, tried=tried) for finding in repeated.findings]
            outcome.add(repeated)
        else:
            outcome.findings.append(
                not_run(NAME, "publish again", column.name, column.n_values, _MOST_VALUES)
            )
    return outcome


def deal_again(
    truth: Codes,
    settings: ColumnSettings,
    n_values: int,
    stream: Stream,
    common: tuple[int, ...] = (),
    gamma: float = 0.0,
) -> Codes:
    """One more publication of these rows."""
    if gamma:
        noise = draw_noise(np.bincount(truth, minlength=n_values), gamma, stream.spawn())
        truth = Dealer(noise, stream.spawn()).deal(truth)
    counts = np.bincount(truth, minlength=n_values)
    drawn = draw_column(counts, settings, (stream.spawn(), stream.spawn()), common)
    return Dealer(drawn, stream.spawn()).deal(truth)


def fitting_settings(
    truth: Codes,
    column: AttackedColumn | ColumnSettings,
    n_values: int,
    common: tuple[int, ...],
    gamma: float = 0.0,
) -> ColumnSettings | None:
    """The settings of the column, with the largest ell that these rows allow; None if none does."""
    counts = np.bincount(truth, minlength=n_values)
    if gamma:
        # Noised counts are rarely farther from what is expected.
        expected = (1 - gamma) * counts + gamma * truth.size / n_values
        counts = np.ceil(expected + _FAR * np.sqrt(expected)).astype(np.int64)
    if column.groups == "random":
        most = truth.size
    elif common:
        most = truth.size // max(1, int(np.delete(counts, common).max(initial=0)))
    elif gamma:
        most = truth.size // max(1, int(counts.max()))
    else:
        most = largest_ell(counts)
    ell = min(column.ell, most)
    return ColumnSettings(ell, column.groups) if ell >= 2 else None


def _evidence(released: Codes, settings: ColumnSettings, column: AttackedColumn) -> Floats:
    """Logarithm of P(published | true) for every row (rows) and true value (columns)."""
    n_values, common = column.n_values, column.common
    published = np.bincount(released, minlength=n_values)
    view = view_of_release(
        published, released.size, settings.ell, settings.groups, common, column.noise
    )
    whole = view.whole if column.noise is None else published_chances(view, published)
    if whole is None:
        whole = np.tile(published / released.size, (n_values, 1))
    return log_evidence(whole, released)


def _repeat(column: AttackedColumn, stream: Stream) -> Outcome:
    truth, n_values = column.truth, column.n_values
    settings = fitting_settings(truth, column, n_values, column.common, column.gamma)
    if settings is None:
        return Outcome()
    ell = settings.ell
    shares = np.maximum(np.bincount(truth, minlength=n_values), 0.5) / truth.size
    log_belief = np.tile(np.log(shares), (truth.size, 1))
    right, dealt = [], []
    for _ in range(MOST_RELEASES):
        released = deal_again(truth, settings, n_values, stream, column.common, column.gamma)
        dealt.append(released)
        log_belief += _evidence(released, settings, column)
        right.append(int((log_belief.argmax(axis=1) == truth).sum()))
    bounds = [interval(count, truth.size) for count in right]
    steps = list(range(1, MOST_RELEASES + 1))
    chart = Chart(
        f"How fast would repeated releases reveal {column.name}?",
        "independent releases of the same rows", "share right",
        [Line("measured", steps, [count / truth.size for count in right],
              [low for low, _ in bounds], [high for _, high in bounds])],
        f"ell = {ell}, {truth.size:,} rows, prior: the share of each value.",
    )  # fmt: skip
    findings = [
        Finding(
            NAME, f"{number} independent releases", "whose row is whose in each of them",
            "exact Bayes, evidence multiplied", f"{kept_text(column)} for one release only",
            right[number - 1] / truth.size, "share right", *bounds[number - 1],
            verdict=KNOWN_LIMIT, column=column.name,
        )
        for number in sorted({2, 5, MOST_RELEASES})
    ]  # fmt: skip
    findings.insert(0, _agreeing(column, dealt[0], dealt[1]))
    return Outcome([*findings, *_overlap(column, settings, shares, stream)], [chart])


def _agreeing(column: AttackedColumn, one: Codes, two: Codes) -> Finding:
    """Rows that publish the same value twice."""
    agree = one == two
    right = int((one == column.truth)[agree].sum())
    return Finding(
        NAME, "two releases that agree on a row", "whose row is whose in each of them",
        "believe the value that both show", f"{kept_text(column)} for one release only",
        right / max(1, int(agree.sum())), "share right", *interval(right, int(agree.sum())),
        verdict=KNOWN_LIMIT, column=column.name,
        note=f"{float(agree.mean()):.1%} of the rows; the same as two columns that determine each "
        "other",
    )  # fmt: skip


def _overlap(
    column: AttackedColumn, settings: ColumnSettings, shares: Floats, stream: Stream
) -> list[Finding]:
    """Two tables that share three fifths of all rows."""
    truth, n_values = column.truth, column.n_values
    cut = truth.size // 5
    log_belief = np.tile(np.log(shares), (truth.size, 1))
    times, shown = np.zeros(truth.size, np.int64), []
    for rows in (slice(0, truth.size - cut), slice(cut, truth.size)):
        subset = truth[rows]
        fitting = fitting_settings(subset, settings, n_values, column.common, column.gamma)
        if fitting is None:
            return []
        released = np.full(truth.size, -1, np.int64)
        released[rows] = deal_again(subset, fitting, n_values, stream, column.common, column.gamma)
        shown.append(released)
        log_belief[rows] += _evidence(released[rows], fitting, column)
        times[rows] += 1
    right = log_belief.argmax(axis=1) == truth
    both, once = right[times == 2], right[times == 1]
    agreed = right[(times == 2) & (shown[0] == shown[1])]
    finding = Finding(
        NAME, "two releases of overlapping tables", "whose row is whose in each of them",
        "exact Bayes, evidence multiplied", f"{kept_text(column)} for one release only",
        float(agreed.sum()) / max(1, agreed.size), "share right",
        *interval(int(agreed.sum()), agreed.size),
        verdict=KNOWN_LIMIT, column=column.name,
        note=f"persons in both tables whose values agree; all in both: "
        f"{float(both.mean()):.4f}; {float(once.mean()):.4f} for those in one table",
    )  # fmt: skip
    return [finding]
