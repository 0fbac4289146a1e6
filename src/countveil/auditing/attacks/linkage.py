"""Linkage: the adversary knows which row is whose, and updates his beliefs by Bayes' rule.

Enters: a target. Leaves: findings and the reliability diagram. Must not know: files, values.

Knows: everybody's non-sensitive values, hence whose row is whose; the share of each value in the
table; the program, ell, the release. Once with nothing more, once with a good prior: a classifier
that was trained on the true values of other people.

Claims. With the population's shares as prior, the published value is right in 1/ell of the rows,
exactly in expectation; seeing a value multiplies its odds by a/b = (N - f) / ((ell - 1) f). Where
groups may hold a value several times, a is larger, and so is the belief (`promised`).
With a good prior, updated beliefs are right as often as exact Bayes says, and no more.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.beliefs import (
    Beliefs,
    attacked_rows,
    beliefs_after,
    dealt_chances,
    score,
)
from countveil.auditing.chance import interval
from countveil.auditing.findings import Finding, Outcome, not_run, tried_text
from countveil.auditing.promised import (
    claimed_view,
    count_p_values,
    kept_chances,
    kept_p_value,
    kept_p_values,
    kept_text,
)
from countveil.auditing.target import AttackedColumn, Codes, Floats, Target
from countveil.maths.adversary import cross_fitted
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT
from countveil.maths.guarantees.binomial import binomial_lower, binomial_upper
from countveil.randomness import Stream
from countveil.report.chart import Chart, Line

NAME = "linkage"
_KNOWS = "whose row is whose, all other columns, the share of each value"
_WITH_PRIOR = _KNOWS + ", and a classifier trained on the true values of other people"
_FACTOR = {"random": "1 x (1 + N/((ell - 1) f))"}
_RARE_SHARE = 0.001
_EXPOSED = 0.01


def attack(target: Target, stream: Stream) -> Outcome:
    """Attack every sensitive column."""
    outcome = Outcome()
    for column in target.sensitive:
        outcome.findings += [_flat(column), _rare(column), _odds(column, target)]
        if not column.small_domain:
            outcome.findings.append(
                not_run(
                    NAME, "guess with a prior", column.name, column.n_values, WHOLE_DOMAIN_LIMIT
                )
            )
        elif target.plain:
            outcome.add(_with_prior(target, column, stream))
    return outcome


def _flat(column: AttackedColumn) -> Finding:
    kept, rows = int(column.kept.sum()), column.truth.size
    without = column.counts.max() / column.counts.sum()
    low, high = interval(kept, rows)
    return Finding(
        NAME, "believe the published value", _KNOWS, "prior odds x a/b, prior = share",
        kept_text(column), kept / max(1, rows), "share right", low, high,
        kept_p_value(column), column=column.name,
        note=f"{rows:,} linked rows; the most frequent value, guessed without the release, is "
        f"right for {without:.4f}"
        + ("; tested for halves of the values" if column.groups == "random" else ""),
    )  # fmt: skip


def rare_values(counts: Codes) -> Codes:
    """Values that at most 0.1% of the rows have; if there are none, the rarest tenth of them."""
    occurring = np.flatnonzero(counts)
    few: Codes = occurring[counts[occurring] <= _RARE_SHARE * counts.sum()]
    if few.size:
        return few
    by_count = np.argsort(counts[occurring], kind="stable")
    rarest: Codes = occurring[by_count[: -(-occurring.size // 10)]]
    return rarest


def _rare(column: AttackedColumn) -> Finding:
    rare = np.zeros(column.n_values, bool)
    rare[rare_values(column.counts)] = True
    has, shows = rare[column.truth], rare[column.released]
    right, believed = int(column.kept[shows].sum()), int(shows.sum())
    most = int(column.counts[rare].max())
    having = column.rows_at(np.flatnonzero(has))
    factor = float(_factors(column)[rare].min())
    low, high = interval(right, believed)
    return Finding(
        NAME, "believe a published rare value", _KNOWS, "prior odds x a/b, prior = share",
        _rare_text(column, rare, having), right / max(1, believed), "share right", low, high,
        kept_p_value(having), column=column.name,
        note=f"{int(rare.sum())} such values, of at most {most:,} rows; before, the belief "
        f"was below {most / column.rows:.4%}: odds rise by {factor:,.0f} or more",
    )  # fmt: skip


def _rare_text(column: AttackedColumn, rare: NDArray[np.bool_], rows: AttackedColumn) -> str:
    """How often a published rare value is right: noise makes many of them."""
    if column.odds is None:
        return kept_text(rows)
    right = float(column.counts[rare] @ kept_chances(column)[rare])
    return f"{right / max(1, int(column.grouped[rare].sum())):.4f} (groups of noised values)"


def _odds(column: AttackedColumn, target: Target) -> Finding:
    """Every value: how often it is published by those who have it, and by the others."""
    everybody = target.n_linked == target.rows
    n = column.n_values
    has = np.bincount(column.truth, minlength=n)
    kept = np.bincount(column.truth[column.kept], minlength=n)
    false = np.bincount(column.released, minlength=n) - kept
    tests = kept_p_values(column)
    if everybody and (column.repeats or column.odds is not None):
        tests += count_p_values(column)
    elif everybody:
        least, largest = column.chances
        size = round(1 / largest)
        for f, others_publish in zip(has.tolist(), false.tolist(), strict=True):
            trials, more = f * (size - 1), f if least < largest else 0
            upper = binomial_upper(others_publish, trials + more, largest)
            tests.append(min(1.0, 2 * min(upper, binomial_lower(others_publish, trials, least))))
    usual = has >= max(100, 20 * column.ell)
    others = np.maximum(1, column.truth.size - has)
    with np.errstate(divide="ignore", invalid="ignore"):
        measured = (kept / has) / (false / others)
        claimed = _factors(column)
        ratio = (measured / claimed)[usual & (false > 0)]
    middle = float(np.median(ratio)) if ratio.size else 1.0
    low, high = (np.quantile(ratio, [0.05, 0.95]).tolist()) if ratio.size else (None, None)
    return Finding(
        NAME, "odds of every value", _KNOWS, "a/b of each value, counted",
        "1 x a/b through the noise" if column.odds is not None
        else _FACTOR.get(column.groups, "1 x (N - f)/((ell - 1) f)"),
        middle, "measured / claimed factor", low, high,
        min(1.0, len(tests) * min(tests)), column=column.name,
        note="median and 90% range over values; tested value by value, "
        + ("proven bounds" if column.repeats or column.odds is not None else "exact binomial")
        + ("" if everybody else "; only those who have it, as not everybody is linked"),
    )  # fmt: skip


def _factors(column: AttackedColumn) -> Floats:
    """By which seeing a value multiplies its odds: a/b, with b = f (1 - a)/(N - f)."""
    if column.odds is not None:
        view = claimed_view(column)
        return np.asarray(view.a / view.b)
    a, counts = kept_chances(column), column.counts
    with np.errstate(divide="ignore", invalid="ignore"):
        factors: Floats = a * (counts.sum() - counts) / ((1 - a) * counts)
    return factors


def _with_prior(target: Target, column: AttackedColumn, stream: Stream) -> Outcome:
    asked = np.linspace(0, target.n_linked - 1, attacked_rows(column, target.n_linked)).astype(
        np.int64
    )
    shares = np.maximum(column.counts, 0.5) / column.counts.sum()
    identity = np.eye(column.n_values)
    prior, _ = cross_fitted(list(target.plain), shares, column.truth, identity, stream, asked=asked)
    beliefs = beliefs_after(prior, column)
    chosen = column.rows_at(asked)
    return Outcome(
        informed_findings(NAME, _WITH_PRIOR, beliefs, prior, chosen, linked=target.n_linked),
        [reliability(f"Is who links {column.name} right as often as believed?", beliefs, chosen)],
    )


def informed_findings(
    name: str,
    knows: str,
    beliefs: Beliefs,
    prior: NDArray[np.float32],
    column: AttackedColumn,
    folds: Sequence[Codes] = (),
    *,
    linked: int,
) -> list[Finding]:
    """Overall and for the most exposed: right as often as exact Bayes, not more.

    `folds` are the sets of rows whose beliefs were learnt from what other rows publish.
    """
    rows = np.arange(column.truth.size)
    tried = tried_text(rows.size, linked)
    right = beliefs.guess == column.truth[:, None]
    overall = score(right, column, folds)
    # What he starts from: the chance of publishing the truth.
    kept = kept_p_value(column)
    without = int((prior.argmax(axis=1) == column.truth).sum())
    low, high = interval(overall.successes, overall.rows)
    findings = [
        Finding(
            name, "best guess with a prior", knows, "exact Bayes, belief of the classifier x W",
            f"{overall.expected / overall.rows:.4f} (what the channel gives him)",
            overall.successes / overall.rows, "share right", low, high,
            min(1.0, 2 * min(overall.p_value, kept)), column=column.name,
            note=f"{overall.rows:,} rows; without the release he is right for "
            f"{without / overall.rows:.4f}", tried=tried,
        )
    ]  # fmt: skip
    # The threshold must not depend on what was dealt to whom: take the 1% in expectation.
    levels = np.empty(rows.size, np.float32)
    for fold in folds or [rows]:
        levels[fold] = _exposed_level(beliefs.belief[fold], column.rows_at(fold))
    exposed = beliefs.belief >= levels[:, None]
    hit = score(right & exposed, column, folds)
    shown = exposed[rows, column.released]
    believed = float(beliefs.belief[rows, column.released][shown].mean()) if shown.any() else 0.0
    low, high = interval(hit.successes, int(shown.sum()))
    exposed_finding = Finding(
        name, "the most exposed 1%", knows, f"the same, belief {levels.min():.2f} or more",
        f"{believed:.4f} (his own belief); right in {hit.expected:,.1f} rows",
        hit.successes / max(1, int(shown.sum())), "share right", low, high, hit.p_value,
        column=column.name,
        note=f"right in {hit.successes:,} of {int(shown.sum()):,} rows; open by design to whoever "
        "has such a prior", tried=tried,
    )  # fmt: skip
    by_tenths = _calibration(name, knows, beliefs, column, folds)
    return [*findings, exposed_finding, replace(by_tenths, tried=tried)]


def _calibration(
    name: str, knows: str, beliefs: Beliefs, column: AttackedColumn, folds: Sequence[Codes]
) -> Finding:
    """Beliefs by tenths: how near to the belief, and as often right as exact Bayes is."""
    rows = np.arange(column.truth.size)
    tenth = np.minimum((beliefs.belief * 10).astype(np.int8), 9)
    right = beliefs.guess == column.truth[:, None]
    gap, tests = 0.0, []
    for number in range(10):
        inside = tenth == number
        result = score(right & inside, column, folds)
        shown = inside[rows, column.released]
        tests.append(result.p_value)
        gap += abs(result.successes - float(beliefs.belief[rows, column.released][shown].sum()))
    return Finding(
        name, "beliefs by tenths", knows, "share right against belief",
        "0 if his prior is calibrated", gap / column.truth.size, "mean gap, belief to share right",
        p_value=min(1.0, len(tests) * min(tests)), column=column.name,
        note="tested tenth by tenth against what exact Bayes gives on average; see the diagram",
    )  # fmt: skip


def _exposed_level(belief: NDArray[np.float32], column: AttackedColumn) -> float:
    chances = dealt_chances(column)[column.truth]
    flat, weight = belief.ravel(), chances.ravel()
    order = np.argsort(-flat)
    passed = np.cumsum(weight[order])
    place = int(np.searchsorted(passed, _EXPOSED * column.truth.size))
    return float(flat[order[min(place, order.size - 1)]])


def reliability(title: str, beliefs: Beliefs, column: AttackedColumn) -> Chart:
    """How often a belief is right."""
    rows = np.arange(column.truth.size)
    belief = beliefs.belief[rows, column.released]
    right = beliefs.guess[rows, column.released] == column.truth
    place = np.minimum((belief * 10).astype(int), 9)
    x, y, low, high = [], [], [], []
    for number in range(10):
        inside = place == number
        if inside.sum() < 20:
            continue
        x.append(float(belief[inside].mean()))
        y.append(float(right[inside].mean()))
        bounds = interval(int(right[inside].sum()), int(inside.sum()))
        low.append(bounds[0])
        high.append(bounds[1])
    return Chart(
        title, "his belief in his best guess", "share right",
        [Line("measured", x, y, low, high), Line("calibrated", [0.0, 1.0], [0.0, 1.0])],
        "Tenths with at least 20 rows; bars are exact 95% intervals.",
    )  # fmt: skip
