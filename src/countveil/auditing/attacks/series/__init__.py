"""Attacks on series of releases, one file each.

Enters: a series, or the case of a planned release, for which a series like it is published with a
ledger of its own. Leaves: an `Outcome`. Must not know: how a report looks.
"""

from __future__ import annotations

from countveil.auditing.attacks.series import differences, frozen_cases, leaked_ledger
from countveil.auditing.case import AuditCase
from countveil.auditing.findings import Outcome, left_out
from countveil.auditing.series.linked import LinkedSeries
from countveil.auditing.series.simulated import simulated
from countveil.randomness import Stream

NAME = frozen_cases.NAME


def attack(case: AuditCase, stream: Stream) -> Outcome:
    """Attack a series like the planned one."""
    if not case.planned:
        return Outcome()
    series = simulated(case, stream)
    if isinstance(series, str):
        rows = (case.target.rows, "rows")
        return Outcome([left_out(NAME, "a planned series", "", rows, series.rstrip("."))])
    return attack_series(series, stream)


def attack_series(series: LinkedSeries, stream: Stream) -> Outcome:
    """All attacks on a series."""
    outcome = Outcome()
    for one in (frozen_cases.attack, differences.attack, leaked_ledger.attack):
        outcome.add(one(series, stream))
    return outcome
