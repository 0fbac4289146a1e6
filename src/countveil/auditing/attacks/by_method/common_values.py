"""Common values: belief in one that is published, and in another one if it is ruled out.

Enters: a target. Leaves: findings. Must not know: files, values.

Knows: whose row is whose, the share of each value; the second adversary also that the person has
none of the common values. What such a person publishes is then his own value, or one of the few
others in his group, most places of which common values fill.

Claims. A published common value of share s is right with probability s + (1 - s)/ell, or a little
less where the others are few, since these do not repeat: as the design says. Somebody who
has ruled the common values out believes another one that is published at the figure of the promise
(`beliefs_without_common`), and no more: people without a common value publish their own as often as
everybody else does, and some value that is not common as often as the design of the groups says.
If common values were spread evenly over the groups, hardly anything else would be published for
them, and he would be nearly sure.
"""

from __future__ import annotations

import numpy as np

from countveil.auditing.attacks.reconstruction import design_of
from countveil.auditing.chance import bounded_tail, interval
from countveil.auditing.findings import WITH_NOISE, Finding, Outcome, left_out, not_run
from countveil.auditing.promised import (
    conceded,
    copies_of,
    kept_chances,
    kept_p_value,
    kept_p_values,
    slack,
)
from countveil.auditing.target import AttackedColumn, Floats, Target
from countveil.maths.channel.common import beliefs_without_common, common_belief
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT
from countveil.randomness import Stream

NAME = "linkage"
_KNOWS = "whose row is whose, all other columns, the share of each value"
_RULED_OUT = _KNOWS + ", and that the person has no common value"
_OTHERS = "believe another value, common ones ruled out"


def attack(target: Target, _stream: Stream) -> Outcome:
    """Attack every column that has common values."""
    outcome = Outcome()
    for column in target.sensitive:
        if not column.common:
            continue
        if column.odds is not None:
            why = "what is promised of common values is said of noised ones, which nobody has"
            outcome.findings.append(left_out(NAME, "common values", column.name, WITH_NOISE, why))
            continue
        outcome.findings.append(_common(column))
        if column.small_domain:
            outcome.findings.append(_ruled_out(column, everybody=target.n_linked == target.rows))
        else:
            outcome.findings.append(
                not_run(NAME, _OTHERS, column.name, column.n_values, WHOLE_DOMAIN_LIMIT)
            )
    return outcome


def _common(column: AttackedColumn) -> Finding:
    common = list(column.common)
    shows = np.isin(column.released, common)
    right, believed = int(column.kept[shows].sum()), int(shows.sum())
    shares = column.counts[common] / column.counts.sum()
    promised = [common_belief(share, column.ell) for share in shares.tolist()]
    designed = float(np.average(kept_chances(column)[common], weights=shares))
    p_values = kept_p_values(column)
    low, high = interval(right, believed)
    return Finding(
        NAME, "believe a published common value", _KNOWS, "prior odds x a/b, prior = share",
        f"{designed:.4f} (about s + (1 - s)/ell = "
        f"{float(np.average(promised, weights=shares)):.4f})",
        right / max(1, believed), "share right", low, high,
        min(1.0, len(common) * min(p_values[value] for value in common)), column=column.name,
        note=f"{len(common)} common {'values' if len(common) > 1 else 'value'}, in "
        f"{float(shares.sum()):.1%} of the rows; before, the belief was the share. Tested against "
        f"the design of the groups",
    )  # fmt: skip


def _ruled_out(column: AttackedColumn, *, everybody: bool) -> Finding:
    rare = ~np.isin(np.arange(column.n_values), column.common)
    others = column.rows_at(np.flatnonzero(rare[column.truth]))
    shows = rare[others.released]
    right, believed = int(others.kept[shows].sum()), int(shows.sum())
    average, most = beliefs_without_common(
        column.counts, column.ell, np.array(column.common, np.int64)
    )
    has = np.bincount(others.truth, minlength=column.n_values).astype(np.float64)
    shown = bounded_tail(believed, has, *shown_between(column, everybody=everybody))
    low, high = interval(right, believed)
    return Finding(
        NAME, _OTHERS, _RULED_OUT, "the published value, if it is not common",
        f"{average:.4f} on average, up to {most:.4f}", right / max(1, believed), "share right",
        low, high, min(1.0, 2 * min(shown, kept_p_value(others))), column=column.name,
        note=f"{others.truth.size:,} linked rows without a common value, of which {believed:,} "
        f"publish none either; tested: how many do, and how many publish their own",
    )  # fmt: skip


def shown_between(column: AttackedColumn, *, everybody: bool) -> tuple[Floats, Floats]:
    """The least and the most chance of the rows of each value to publish one that is not common."""
    common, counts = list(column.common), column.counts
    design = design_of(column)
    met = design[:, common] * column.ell * counts[:, None]
    pairs = float(len(common)) * copies_of(column)
    unsure = np.array([conceded(m, pairs) for m in met.sum(axis=1).tolist()]) / column.ell
    each = (unsure + slack(column)) / np.maximum(counts, 1)
    if everybody:
        # Over all rows, what is too much for one value is too little for another.
        rare = np.delete(np.arange(column.n_values), common)
        total = conceded(float(met[rare].sum()), pairs * rare.size) / column.ell + slack(column)
        each = np.full(each.size, total / max(1, int(counts[rare].sum())))
    shown = 1 - design[:, common].sum(axis=1)
    return shown - each, shown + each
