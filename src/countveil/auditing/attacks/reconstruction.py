"""Group reconstruction: the adversary re-runs the public group creation on the published histogram.

Enters: a target. Leaves: findings. Must not know: files, values.

Knows: the program, ell, the release, whose row is whose. He does not know the key. From the
published histogram he computes how often two values share a group, and with it how many candidates
a published value leaves. Effective candidates: exp of the average surprise of the truth under his
beliefs; the truth would be as surprising among that many equally likely values.

Claim for mixed groups: pairs of values meet as the maximum-entropy design says, and no rule that he
could re-run explains them better. Tested by betting: for any ratio r[u, v] > 0 the product of
r[true, published] over rows, divided by its mean under the design, is at least x with probability
at most 1/x (Markov). The bets are on greedy groups and on groups dealt in the order of values, in
all of the groups or in a small part of them. As whole groups follow the design up to a few meetings
per pair, that much is conceded: about what `benchmarks/groups.py` measures, and a test checks the
groups against it. If a rule made a fifth of the groups, it would still be detected (tested).
Common values are copies that groups treat as different; a rule would spread them evenly.

Claim for random groups: who meets whom is chance, so rows publish a value of any set that they are
in as often as the size of the set says. Tested for sets of neighbouring values, by name and by
frequency, of every size: groups by a rule would take like or unlike values together.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.chance import interval
from countveil.auditing.findings import (
    BY_DESIGN,
    KNOWN_LIMIT,
    WITH_NOISE,
    Finding,
    Outcome,
    left_out,
    not_run,
    too_few,
)
from countveil.auditing.promised import (
    MEETINGS,
    MEETINGS_PART,
    conceded_meetings,
    kept_chances,
    staying_p_value,
)
from countveil.auditing.target import LEAST_LINKED, AttackedColumn, Codes, Floats, Target
from countveil.maths.adversary import published_chances
from countveil.maths.channel import (
    Templates,
    channel_matrix,
    greedy_templates,
    view_of_release,
)
from countveil.maths.channel.common import Copies
from countveil.maths.groups.trades import wrap_around
from countveil.randomness import Stream

NAME = "reconstruction"
_KNOWS = "the program and ell, the release, whose row is whose; not the key"
_METHODS = {
    "mixed": "the fitted design",
    "random": "the shares of all values",
    "anatomy": "the greedy creation, re-run",
}
_RULE = "explain the release by a rule"
MOST_VALUES = 1_000
_EVEN_COUNT = 300
# The share of the groups that a bet supposes to follow the rule.
_STAKES = (0.5, 0.1, 0.02, 0.005)


def attack(target: Target, _stream: Stream) -> Outcome:
    """Attack every sensitive column."""
    outcome = Outcome()
    if target.n_linked < LEAST_LINKED:
        outcome.findings.append(too_few(NAME, target.n_linked, LEAST_LINKED))
        return outcome
    for column in target.sensitive:
        if not column.small_domain or column.n_values > MOST_VALUES:
            outcome.findings.append(
                not_run(
                    NAME, "re-run the group creation", column.name, column.n_values, MOST_VALUES
                )
            )
            continue
        outcome.findings += [_candidates(column, method) for method in _comparable(column)]
        if column.groups == "random":
            outcome.findings.append(_sets_of_values(column))
        elif column.odds is not None:
            why = "groups are formed of noised values, which nobody has"
            outcome.findings.append(left_out(NAME, _RULE, column.name, WITH_NOISE, why))
        elif column.groups == "mixed" and (column.common or column.different):
            outcome.findings.append(_better_rule(column))
    return outcome


def _comparable(column: AttackedColumn) -> list[str]:
    """The column's own way to form groups, and those that need different values, if possible."""
    others = ("mixed", "anatomy") if column.different and not column.common else ()
    if column.odds is not None or column.vector_of:
        others = ()
    return list(dict.fromkeys([column.groups, *others]))


def beliefs_by_rule(column: AttackedColumn, method: str) -> Floats | None:
    """Belief in each true value (rows) given each published one, by re-running `method`."""
    common = column.common if method == column.groups else ()
    noise = column.noise
    view = view_of_release(column.published, column.rows, column.ell, method, common, noise)
    whole = view.whole if noise is None else published_chances(view, column.published)
    if whole is None:
        return None
    joint = column.shares[:, None] * (whole + 1e-12)
    beliefs: Floats = joint / joint.sum(axis=0)
    return beliefs


def perplexity(beliefs: Floats) -> Floats:
    """Candidates that each published value leaves."""
    entropy = -(beliefs * np.log(np.maximum(beliefs, 1e-300))).sum(axis=0)
    candidates: Floats = np.exp(entropy)
    return candidates


def _candidates(column: AttackedColumn, method: str) -> Finding:
    used = method == column.groups
    beliefs = beliefs_by_rule(column, method)
    if beliefs is None:
        beliefs = np.tile(column.shares[:, None], (1, column.n_values))
    each = perplexity(beliefs)[column.released]
    surprise = -np.log(np.maximum(beliefs[column.truth, column.released], 1e-12))
    note = f"a published value leaves {float(np.median(each)):.1f} candidates in the median row"
    measured = math.exp(float(surprise.mean())) if used else float(np.exp(np.log(each).mean()))
    if not used:
        note = f"for comparison: what {method} groups would leave; {note}"
    elif method == "anatomy":
        note += "; the re-run misses the true groups here and there, which costs him little"
    elif not column.different:
        note += "; no groups of different values exist for him to re-run"
    error = 1.96 * float(surprise.std()) / math.sqrt(max(1, surprise.size))
    return Finding(
        NAME, f"candidates left by {method} groups", _KNOWS, _METHODS[method],
        f"{float(np.exp(np.log(each).mean())):.1f} by his own beliefs", measured,
        "effective candidates",
        measured * math.exp(-error) if used else None,
        measured * math.exp(error) if used else None,
        verdict=KNOWN_LIMIT if method == "anatomy" else BY_DESIGN, column=column.name, note=note,
    )  # fmt: skip


def _better_rule(column: AttackedColumn) -> Finding:
    """Does a rule that anybody could re-run explain who publishes what better than the design?"""
    design = design_of(column)
    copies = Copies.of(_fitting(column), column.ell, np.array(column.common, np.int64))
    rows, times = wrap_around(copies.counts, int(copies.counts.sum()) // column.ell)
    ordered = Templates.from_rows(copies.counts.size, [(rows, times)])
    rules = {
        "greedy": copies.by_value(channel_matrix(greedy_templates(copies.counts, column.ell))),
        "in order": copies.by_value(channel_matrix(ordered)),
    }
    gains = {
        (name, stake): _gain(column, design, rule, stake)
        for name, rule in rules.items()
        for stake in _STAKES
    }
    best = max(gains, key=lambda bet: gains[bet])
    p_value = min(1.0, len(gains) * math.exp(-max(0.0, gains[best])))
    return Finding(
        NAME, _RULE, _KNOWS, "bet on greedy and on ordered groups",
        "no rule beats the design (0 or less)", gains[best], "log of the stake won",
        p_value=p_value, column=column.name,
        note=f"best bet: {best[1]:.1%} of the groups {best[0]}; {MEETINGS:.0f} meetings of a pair "
        f"and {MEETINGS_PART:.1%} conceded",
    )  # fmt: skip


def design_of(column: AttackedColumn) -> Floats:
    """P(published | true) by the groups that the publisher should have formed."""
    if column.groups == "random":
        gap = kept_chances(column) - _met_at_random(column)
        return np.diag(gap) + _met_at_random(column)
    if column.groups == "anatomy":
        return channel_matrix(greedy_templates(column.counts, column.ell))
    copies = Copies.of(column.counts, column.ell, np.array(column.common, np.int64))
    return copies.channel(column.ell)


def _met_at_random(column: AttackedColumn) -> Floats:
    view = view_of_release(column.counts, int(column.counts.sum()), column.ell, "random")
    return view.b


def _sets_of_values(column: AttackedColumn) -> Finding:
    """Do rows publish a value of their own set as often as groups formed at random make them?"""
    by_frequency = np.argsort(-column.counts, kind="stable")
    sets: dict[bytes, NDArray[np.bool_]] = {}
    for order in (np.arange(column.n_values), by_frequency):
        width = column.n_values
        while width > 1:
            width = -(-width // 2)
            for start in range(0, column.n_values, width):
                mask = np.zeros(column.n_values, bool)
                mask[order[start : start + width]] = True
                sets[mask.tobytes()] = mask
    masks = list(sets.values()) or [np.ones(column.n_values, bool)]
    p_value = staying_p_value(column, masks)
    largest = max(masks, key=lambda mask: int(column.counts[mask].sum() * (~mask).any()))
    inside = largest[column.truth]
    stayed, of = int((inside & largest[column.released]).sum()), int(inside.sum())
    rows = int(column.counts.sum())
    groups = column.rows // column.ell
    met = (1 - groups / column.rows) * max(0, int(column.counts[largest].sum()) - 1)
    expected = groups / column.rows + met / max(1, rows - 1)
    expected = (1 - column.gamma) * expected + column.gamma * float(largest.mean())
    low, high = interval(stayed, of)
    return Finding(
        NAME, _RULE, _KNOWS, "count rows that publish a value of their own set of values",
        f"{expected:.4f} (random groups)", stayed / max(1, of), "share of the rows of a set",
        low, high, p_value=p_value, column=column.name,
        note=f"{len(masks):,} sets of neighbouring values tested, by name and by frequency; shown "
        f"is one of {of:,} rows. Who meets whom follows no rule that he could re-run",
    )  # fmt: skip


def _fitting(column: AttackedColumn) -> Codes:
    """The table's counts, cut to whole groups for rules that need them."""
    counts = column.counts.copy()
    for _ in range(int(counts.sum()) % column.ell):
        counts[int(np.argmax(counts))] -= 1
    return counts


def fair_mean(
    column: AttackedColumn, design: Floats, rule: Floats, stake: float
) -> tuple[Floats, Floats]:
    """What a bet that a share `stake` of the groups follow the rule pays for each pair of values.

    Also the most that it pays on average for each true value, if groups follow the design.
    """
    often = column.counts >= _EVEN_COUNT
    both = often[:, None] & often[None, :] & (design > 0)
    ratio = np.where(both, 1 - stake + stake * rule / np.maximum(design, 1e-300), 1.0)
    met = design * column.ell * column.counts[:, None]
    unsure = conceded_meetings(column, met) / (column.ell * np.maximum(column.counts, 1)[:, None])
    # Own values are met once, in every group; common ones are met by their copies.
    inexact = ~np.eye(column.n_values, dtype=bool)
    inexact[list(column.common), list(column.common)] = True
    conceded = (unsure * np.abs(ratio - 1) * both * inexact).sum(axis=1)
    return ratio, (design * ratio).sum(axis=1) + conceded


def _gain(column: AttackedColumn, design: Floats, rule: Floats, stake: float) -> float:
    ratio, mean = fair_mean(column, design, rule, stake)
    pairs = column.pairs()
    has = pairs.sum(axis=1)
    some = has > 0
    return float((pairs * np.log(ratio)).sum() - (has[some] * np.log(mean[some])).sum())
