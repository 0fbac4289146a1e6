"""Persons with several rows: the adversary puts the rows of a person together.

Enters: a target whose units are cases. Leaves: findings. Must not know: files, values.

Knows: which rows are a person's. If every row had a draw of its own, the value that most of them
publish would probably be the true one. Claims:

- all rows of a case (a person with one value) publish the same; a single case that does not
  contradicts it
- the value that most rows of a person publish is the true one of these rows as often as promised
  for one case. Asked about persons of whom one case has more rows than all others together: what
  most rows publish is then what this case publishes, whatever the others do, so that the test is
  that of linkage

Nothing is claimed about the number of hints: a person with r different values gives r of them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from countveil.auditing.chance import interval
from countveil.auditing.findings import KNOWN_LIMIT, Finding, Outcome, none_expected
from countveil.auditing.promised import kept_p_value, kept_text
from countveil.auditing.target import AttackedColumn, CaseRows, Codes, Target
from countveil.randomness import Stream

NAME = "linkage"
_KNOWS = "which rows are a person's, all other columns"


def attack(target: Target, _stream: Stream) -> Outcome:
    """Attack what was drawn: the vectors, if columns are published together."""
    if target.cases is None:
        return Outcome()
    column, rows = target.sensitive[-1], target.cases
    return Outcome([_alike(column, rows), _pooled(column, rows), _hints(column, rows)])


def _alike(column: AttackedColumn, rows: CaseRows) -> Finding:
    pairs = np.unique(rows.case * column.n_values + rows.released)
    different = int((np.bincount(pairs // column.n_values) > 1).sum())
    several = int((np.bincount(rows.case) > 1).sum())
    finding = none_expected(
        NAME, "rows of a case that publish different values", _KNOWS,
        "compare the rows of a person with one true value", different, "cases",
        f"{several:,} cases with several linked rows",
    )  # fmt: skip
    return replace(finding, column=column.name)


def _pooled(column: AttackedColumn, rows: CaseRows) -> Finding:
    """What most rows of a person publish, of persons of whom one case has most rows."""
    of_case = np.bincount(rows.case)
    of_person = np.bincount(rows.person)
    person = np.empty(of_case.size, np.int64)
    person[rows.case] = rows.person
    asked = np.flatnonzero((2 * of_case > of_person[person]) & (of_person[person] > 1))
    shown = _most_published(rows, column.n_values)[person[asked]]
    believed = replace(column.rows_at(asked), released=shown)
    right = int(believed.kept.sum())
    low, high = interval(right, asked.size)
    return Finding(
        NAME, "believe what most rows of a person publish", _KNOWS,
        "count the published values of the person's rows",
        kept_text(believed), right / max(1, asked.size), "share right", low, high,
        kept_p_value(believed), column=column.name,
        note=f"{asked.size:,} persons with several linked rows, most of them with one value",
    )  # fmt: skip


def _most_published(rows: CaseRows, n_values: int) -> Codes:
    """For every person, the value that most of the rows publish; the first of several."""
    pairs, times = np.unique(rows.person * n_values + rows.released, return_counts=True)
    order = np.lexsort((pairs, -times))
    person = pairs[order] // n_values
    _, first = np.unique(person, return_index=True)
    most = np.full(int(rows.person.max(initial=-1)) + 1, -1, np.int64)
    most[person[first]] = pairs[order][first] % n_values
    return most


def _hints(column: AttackedColumn, rows: CaseRows) -> Finding:
    """How many persons publish one of their own values at least once."""
    person = np.empty(column.truth.size, np.int64)
    person[rows.case] = rows.person
    cases = np.bincount(person)
    several = cases > 1
    kept = np.bincount(person[column.kept], minlength=cases.size) > 0
    right, asked = int((kept & several).sum()), int(several.sum())
    return Finding(
        NAME, "persons with several values, one of them published as it is", _KNOWS,
        "look at all published values of a person", f"{kept_text(column)} for each case",
        right / max(1, asked), "share of persons", *interval(right, asked),
        verdict=KNOWN_LIMIT, column=column.name,
        note=f"{asked:,} persons with {cases[several].mean() if asked else 0:.1f} values on "
        f"average: every different value is a hint of its own",
    )  # fmt: skip
