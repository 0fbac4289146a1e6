"""Attacks on series of releases, one file each.

Enters: an `AuditCase`, a stream. Leaves: an `Outcome`. Must not know: how a report looks.

The series is that of the case, if it has one. Else, if the release is only planned, one like it is
published with a ledger of its own.
"""

from __future__ import annotations

from countveil.auditing.attacks.series import differences, frozen_cases, leaked_ledger
from countveil.auditing.case import AuditCase
from countveil.auditing.findings import Outcome, left_out
from countveil.auditing.series.simulated import simulated
from countveil.randomness import Stream

NAME = frozen_cases.NAME


def attack(case: AuditCase, stream: Stream) -> Outcome:
    """All attacks on a series."""
    series = case.series
    if series is None:
        if not case.planned:
            return Outcome()
        planned = simulated(case, None, stream)
        if isinstance(planned, str):
            rows = (case.target.rows, "rows")
            return Outcome([left_out(NAME, "a planned series", "", rows, planned.rstrip("."))])
        series = planned
    outcome = Outcome()
    for one in (frozen_cases.attack, differences.attack, leaked_ledger.attack):
        outcome.add(one(series, stream))
    return outcome
