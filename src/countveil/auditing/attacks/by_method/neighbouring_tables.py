"""Neighbouring tables: how well do releases tell two tables apart that differ in one row?

Enters: a case, a stream. Leaves: findings. Must not know: how noise is drawn and groups are formed.

Claim: whatever anybody knows, no set of releases is more than exp(epsilon) times as likely if a row
has one value as if it has another. Two experiments, both with the publisher's code:

**The noise alone**, with the gamma and the values of the release. He knows the groups, all draws
and the noised values of everybody else, so that he sees what the noise made of one row: no
adversary can know more. Millions of rows with one value, and with another one, are noised.

**Whole releases** of a table of two rows in one group, so that he knows the groups; two values are
declared. In one table the first row has a value that the second does not have; in the other, nobody
has it. Both are published many times, from the declared values to what each row publishes. If noise
came after the groups, two rows that both publish the value would tell more than exp(epsilon); if
values were those of the rows, the value would never be published where nobody has it. The same
releases test K: how often the first row alone publishes the value.

The tests are exact: two binomial counts, whose chances must not have a larger ratio.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import cast

import numpy as np
import pyarrow as pa

from countveil.auditing.attacks.by_method.bounded_odds import NAME
from countveil.auditing.case import AuditCase
from countveil.auditing.chance import ratio_p_value
from countveil.auditing.findings import Finding, Outcome
from countveil.auditing.target import AttackedColumn
from countveil.engines.contract import SourceTable
from countveil.maths.groups import ColumnSettings
from countveil.publishing.bounded_odds import add_noise, gamma_of
from countveil.publishing.counting import count_values, draw_apart
from countveil.publishing.prepare import PreparedTable, open_table, prepare
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness, Stream
from countveil.tables import Reading, Shaping
from countveil.tables.encoded.survey import Histogram

NOISED_ROWS = 2_000_000
RELEASES = 1_500
# With two rows in one group and two values, K = 1/gamma, so exp(epsilon) = 1 + 2 (K - 1).
_ODDS = 6.25
_RATIO = 1 + 2 * (_ODDS - 1)
_VALUE, _OTHER = "first", "second"


def attack(case: AuditCase, stream: Stream) -> Outcome:
    """Attack every column that promises a bound, and the code that keeps it."""
    bounded = [column for column in case.target.columns if column.odds is not None]
    outcome = Outcome([
        _noise_alone(column, case.settings[column.name], stream) for column in bounded
    ])  # fmt: skip
    if bounded:
        outcome.findings += _whole_releases(stream)
    return outcome


def _noise_alone(column: AttackedColumn, settings: ColumnSettings, stream: Stream) -> Finding:
    assert column.odds is not None  # noqa: S101 - only such columns are attacked
    if not math.isclose(gamma_of(settings, column.n_values), column.odds.gamma):
        # Values that noise made common: their bound is that of random groups.
        settings = replace(settings, groups="random", common=(), common_auto=False)
    counts = np.zeros(column.n_values, np.int64)
    places = 0, column.n_values - 1
    counts[list(places)] = NOISED_ROWS
    histogram = Histogram(list(range(column.n_values)), counts)
    noised = add_noise({"value": histogram}, {"value": settings}, _fresh(stream))["value"].table
    shown = np.zeros((2, 2), np.int64)
    for row, true in enumerate(places):
        cells = slice(noised.indptr[true], noised.indptr[true + 1])
        taken = np.bincount(noised.values[cells], noised.counts[cells], column.n_values)
        shown[row] = taken[list(places)]
    most = math.exp(column.odds.epsilon)
    p_values = [
        ratio_p_value(int(shown[v, v]), int(shown[1 - v, v]), NOISED_ROWS, most) for v in (0, 1)
    ]
    ratios = [float(shown[v, v]) / max(1.0, float(shown[1 - v, v])) for v in (0, 1)]
    return Finding(
        NAME, "tell two values of a row apart, all else known",
        "the groups, all draws, the true and noised values of everybody else",
        "noise two values again and again", f"exp(epsilon) = {most:,.4g} at most", max(ratios),
        "times as likely", p_value=min(1.0, 2 * min(p_values)), column=column.name,
        note=f"gamma = {column.odds.gamma:.6g}, {column.n_values:,} values; {NOISED_ROWS:,} rows "
        f"with each of two values",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Published:
    """In how many releases at least one row, both rows, and the first row publish the value."""

    one: int
    both: int
    first: int


def _whole_releases(stream: Stream) -> list[Finding]:
    has, lacks = (_published(rows, stream) for rows in ((_VALUE, _OTHER), (_OTHER, _OTHER)))
    pairs = ((has.one, lacks.one), (has.both, lacks.both))
    p_values = [ratio_p_value(*pair, RELEASES, _RATIO) for pair in pairs]
    ratios = [often / max(1, seldom) for often, seldom in pairs]
    note = f"two rows, two values, ell = 2; {RELEASES:,} releases of each table, by the same code"
    return [
        Finding(
            NAME, "tell two tables apart that differ in one row",
            "the groups, the true values of everybody else, the release",
            "publish both again and again", f"exp(epsilon) = {_RATIO:g} at most", max(ratios),
            "times as likely", p_value=min(1.0, 2 * min(p_values)), note=note,
        ),
        Finding(
            NAME, "tell two values of a linked row apart", "whose row is whose; not the groups",
            "publish both tables again and again", f"K = {_ODDS:g} at most",
            has.first / max(1, lacks.first), "times as likely",
            p_value=ratio_p_value(has.first, lacks.first, RELEASES, _ODDS), note=note,
        ),
    ]  # fmt: skip


def _published(rows: tuple[str, str], stream: Stream) -> _Published:
    """Publish a table of two rows again and again."""
    protecting = Protecting({"value": ColumnSettings(2, "random", odds=_ODDS)})
    shaping = Shaping(keep=("row", "value"), domain={"value": [_VALUE, _OTHER]})
    table = pa.table({"row": [1, 2], "value": list(rows)})
    source = open_table(table, Reading(), shaping, protecting.names)
    local = prepare(source, protecting.ell_unless_bounded, shaping)
    prepared = cast("PreparedTable[SourceTable]", local)
    one, both, first = 0, 0, 0
    coins = stream.below(2, RELEASES)
    for coin in coins.tolist():
        randomness = _fresh(stream)
        counted = count_values(prepared, protecting, shaping, randomness)
        drawn = draw_apart("value", counted, protecting, randomness, _silent)
        values = list(counted.histograms["value"].values)
        place = values.index(_VALUE) if _VALUE in values else -1
        shown = drawn.values == place
        one += int(drawn.counts[shown].sum()) >= 1
        both += int(drawn.counts[shown].sum()) >= 2
        true = values.index(rows[0])
        cells = slice(drawn.indptr[true], drawn.indptr[true + 1])
        # Rows with one value are dealt what they publish in random order.
        dealt = np.repeat(drawn.values[cells], drawn.counts[cells])
        first += int(dealt[coin % dealt.size]) == place
    return _Published(one, both, first)


def _fresh(stream: Stream) -> Randomness:
    return Randomness(int(stream.below(1 << 62, 1)[0]))


def _silent(_stage: str, _done: int, _total: int) -> None:
    pass
