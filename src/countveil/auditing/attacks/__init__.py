"""Attacks on our own releases, one file each, and the table of all of them.

Enters: a case (a release beside the truth) and a stream. Leaves: an `Outcome`: findings (what was
claimed beside what was measured, with a p-value where there is a claim to test) and charts. Must
not know: how a report looks. No finding contains a value of any row.

To add an attack:

1. Write a module in this folder, or in `by_method` if it is for some ways of publishing only. Its
   docstring opens with what the adversary knows, what he does and what is claimed against him. Its
   function `attack(target, stream)` gets the linked rows as arrays; if it needs files or the
   publisher's path, `attack(case, stream)` gets the whole case.
2. Add one line to `ATTACKS`: as a new attack, or as a further stage of one. The name is what
   `--attack` takes; the label is shown while the stage runs.
3. For every claim that it tests, add a broken release to
   `tests/auditing/test_every_claim_can_fail.py`; a test there requires it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from countveil.auditing.attacks import (
    associated_columns,
    canaries,
    correlation,
    elimination,
    file_traces,
    layout,
    linkage,
    minimality,
    neighbours,
    reconstruction,
    repetition,
    series,
    small_counts,
    source_traces,
    value_counts,
)
from countveil.auditing.attacks.by_method import (
    bounded_odds,
    cases,
    common_values,
    neighbouring_tables,
    vectors,
)
from countveil.auditing.case import AuditCase
from countveil.auditing.findings import Outcome
from countveil.auditing.target import Target
from countveil.randomness import Stream

Stage = Callable[[AuditCase, Stream], Outcome]


@dataclass(frozen=True, slots=True)
class Attack:
    """Stages by their labels; `needs_rows` if all of them need rows that are linked.

    An attack on series runs if it is asked for, or if there is a series.
    """

    adversary: str
    stages: Mapping[str, Stage]
    needs_rows: bool = False
    on_series: bool = False


def _on_rows(attack: Callable[[Target, Stream], Outcome]) -> Stage:
    """An attack that uses nothing but the linked rows; cases, where persons have several rows."""

    def stage(case: AuditCase, stream: Stream) -> Outcome:
        outcome = Outcome()
        for target in case.units:
            outcome.add(attack(target, stream))
        return outcome

    return stage


ATTACKS: Mapping[str, Attack] = {
    "linkage": Attack(
        linkage.NAME,
        {
            "linkage": _on_rows(linkage.attack),
            "rows of a person": _on_rows(cases.attack),
            "common values": _on_rows(common_values.attack),
            "associated columns": _on_rows(associated_columns.attack),
            "columns together": _on_rows(vectors.attack),
        },
        needs_rows=True,
    ),
    "reconstruction": Attack(
        reconstruction.NAME,
        {
            "group reconstruction": _on_rows(reconstruction.attack),
            "order of rows": lambda case, stream: layout.attack(case.target, stream),
            "files": file_traces.attack,
        },
    ),
    "elimination": Attack(
        elimination.NAME,
        {"elimination": _on_rows(elimination.attack), "minimality": minimality.attack},
    ),
    "neighbours": Attack(
        neighbours.NAME, {"known neighbours": _on_rows(neighbours.attack)}, needs_rows=True
    ),
    "small-counts": Attack(value_counts.NAME, {"small counts": _on_rows(small_counts.attack)}),
    "repetition": Attack(
        repetition.NAME, {"repeated release": _on_rows(repetition.attack)}, needs_rows=True
    ),
    "correlation": Attack(
        correlation.NAME, {"correlation": _on_rows(correlation.attack)}, needs_rows=True
    ),
    "odds": Attack(
        bounded_odds.NAME,
        {
            "bound on the odds": _on_rows(bounded_odds.attack),
            "neighbouring tables": neighbouring_tables.attack,
        },
    ),
    "implementation": Attack(
        source_traces.NAME,
        {"bytes of the release": source_traces.attack, "canaries": canaries.attack},
    ),
    "series": Attack(series.NAME, {"series of releases": series.attack}, on_series=True),
}
