"""All releases of a series together: does a second one tell more than the first?

Enters: a linked series. Leaves: findings and a curve. Must not know: files, values.

Knows: whose row is whose in every release. If a case (a person with one value) had a draw of its
own in each release, the values that come up most often would be the true ones. Claims:

- all releases were made with one ledger
- a case publishes the same in all its rows, in all releases: a single one that does not contradicts
  it
- the value that all releases show of a case is the true one as often as promised for one release.
  Asked about cases that are linked in more than one release and publish alike. In a sound series
  these are all of them, chosen without looking at the draws, so the test is that of a single
  release. Independent releases agree where they show the truth
- so is the value that most rows of a person publish, in all releases together. Asked about persons
  of whom one case has more rows than all others: what most rows publish is then what it publishes
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.chance import interval
from countveil.auditing.findings import Finding, Outcome, none_expected, too_few
from countveil.auditing.promised import kept_p_value, kept_share
from countveil.auditing.series.linked import LinkedSeries, SeriesColumn
from countveil.auditing.target import LEAST_LINKED, AttackedColumn, Codes
from countveil.maths.guarantees.binomial import binomial_upper
from countveil.randomness import Stream
from countveil.report.chart import Chart, Line

NAME = "series of releases"
_KNOWS = "whose row is whose in every release"


def attack(series: LinkedSeries, _stream: Stream) -> Outcome:
    """Attack every column that was drawn, or columns together."""
    outcome = Outcome([none_expected(
        NAME, "releases that were made without the ledger", "the manifests",
        "compare the names of ledgers", series.strangers, "releases",
        f"{series.releases} releases; a further draw for the same people undoes the others",
    )])  # fmt: skip
    for column in series.columns:
        if column.truth.size < LEAST_LINKED:
            few = too_few(NAME, column.truth.size, LEAST_LINKED)
            outcome.findings.append(replace(few, unit="cases linked", column=column.name))
            continue
        outcome.findings += [_alike(column), _agreed(column), _most(column)]
        outcome.charts.append(_curve(column))
    return outcome


def _alike(column: SeriesColumn) -> Finding:
    finding = none_expected(
        NAME, "cases that publish different values", _KNOWS,
        "compare the rows of a person with one true value", int(column.different.sum()), "cases",
        f"{int(column.several.sum()):,} of {column.truth.size:,} cases are linked in several "
        f"releases",
    )  # fmt: skip
    return replace(finding, column=column.name)


def _agreed(column: SeriesColumn) -> Finding:
    asked = column.several & ~column.different
    return believed(
        column, "believe what all releases show", "compare what the releases show of a case",
        (_KNOWS, "cases in several releases"), asked, column.shown,
    )  # fmt: skip


def _most(column: SeriesColumn) -> Finding:
    """Rows of all releases, of persons of whom one case has most rows."""
    rows = np.bincount(np.concatenate(list(column.case)), minlength=column.truth.size)
    of_person = np.bincount(column.person, weights=rows)[column.person]
    asked = (2 * rows > of_person) & (of_person > 1)
    return believed(
        column, "believe what most rows of a person show", "count values in all releases",
        (_KNOWS, "persons with several rows, most of them with one value"), asked,
        column.most_shown()[column.person],
    )  # fmt: skip


def believed(
    column: SeriesColumn,
    attack_name: str,
    method: str,
    about: tuple[str, str],
    asked: NDArray[np.bool_],
    guess: Codes,
) -> Finding:
    """How often a guess about some cases is right; `about` is what he knows, and who they are."""
    knows, whom = about
    batches = batches_of(column, asked, guess)
    right = sum(int(one.kept.sum()) for one in batches)
    cases = sum(one.truth.size for one in batches)
    return Finding(
        NAME, attack_name, knows, method, promised_text(batches, column.ell),
        right / max(1, cases), "share right", *interval(right, cases),
        p_value(batches, column), column=column.name, note=f"{cases:,} {whom}",
    )  # fmt: skip


def batches_of(
    column: SeriesColumn, asked: NDArray[np.bool_], guess: Codes
) -> list[AttackedColumn]:
    """The cases that are asked about, batch by batch, with the guess in the place of a release."""
    batches = []
    for number, whole in column.batches().items():
        cases = np.flatnonzero(column.batch == number)
        chosen = np.flatnonzero(asked[cases])
        batches.append(replace(whole.rows_at(chosen), released=guess[cases[chosen]]))
    return batches


def promised_text(batches: list[AttackedColumn], ell: int) -> str:
    """What share is promised to be right."""
    if not any(one.repeats for one in batches):
        return f"{1 / ell:.4f} (1/ell)"
    cases = max(1, sum(one.truth.size for one in batches))
    share = sum(one.truth.size * kept_share(one) for one in batches if one.truth.size) / cases
    return f"{share:.4f} (1/ell, more where a value may repeat)"


def p_value(batches: list[AttackedColumn], column: SeriesColumn) -> float:
    """One-sided where groups have different values, over all such batches; else batch by batch.

    A batch in which values may repeat is tested if all of its cases are known: what chance allows
    depends on them.
    """
    apart = [one for one in batches if not one.repeats]
    kept, cases = (sum(int(n) for n in ns) for ns in (
        [one.kept.sum() for one in apart], [one.truth.size for one in apart],
    ))  # fmt: skip
    tests = [binomial_upper(kept, cases, 1 / column.ell) if cases else 1.0]
    complete = [way.complete for _, way in sorted(column.ways.items())]
    tests += [
        kept_p_value(one)
        for one, known in zip(batches, complete, strict=True)
        if one.repeats and known
    ]
    return min(1.0, len(tests) * min(tests))


def _curve(column: SeriesColumn) -> Chart:
    """The share right after so many releases, of the cases that are in all of them."""
    everywhere = np.ones(column.truth.size, bool)
    for case in column.case:
        everywhere &= np.bincount(case, minlength=column.truth.size) > 0
    chosen = np.flatnonzero(everywhere)
    votes = np.zeros((chosen.size, column.n_values), np.int32)
    shares, bounds = [], []
    place = np.full(column.truth.size, -1, np.int64)
    place[chosen] = np.arange(chosen.size)
    for rows, case in zip(column.releases, column.case, strict=True):
        first = np.unique(case, return_index=True)[1]
        linked = first[place[case[first]] >= 0]
        votes[place[case[linked]], rows.shown[linked]] += 1
        right = int((votes.argmax(axis=1) == column.truth[chosen]).sum())
        shares.append(right / max(1, chosen.size))
        bounds.append(interval(right, chosen.size))
    steps = list(range(1, len(shares) + 1))
    return Chart(
        f"Does a series of releases reveal more of {column.name}?",
        "releases of the series", "share right",
        [Line("measured", steps, shares, [low for low, _ in bounds], [high for _, high in bounds])],
        f"ell = {column.ell}; {chosen.size:,} cases that are in all releases, guessed by what most "
        f"releases show.",
    )  # fmt: skip
