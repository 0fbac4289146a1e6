"""Audits of tables in which persons have several rows: cases are attacked, and rows pooled.

Sound releases hold what they promise; one whose rows were drawn by themselves is caught. Deviations
are tens of standard errors: a broken release escapes with a probability far below 1e-6; a sound one
is accused with a probability of 1e-4 at most (`FALSE_ALARM`), so tests of sound ones are repeated
once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.auditing import linking
from countveil.auditing.attacks.by_method.cases import _most_published
from countveil.auditing.cases import targets_by_case
from countveil.auditing.findings import EXCEEDS, KNOWN_LIMIT, NOT_RUN
from countveil.auditing.linking import TrueColumn
from countveil.auditing.summary import Audit
from countveil.auditing.target import AttackedColumn, CaseRows, Target
from countveil.errors import SettingsError
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.tables import Shaping

ELL = 4
ALIKE = "linkage: rows of a case that publish different values"
POOLED = "linkage: believe what most rows of a person publish"


def visits(persons: int = 300, values: int = 12) -> pa.Table:
    """Of persons with 1 to 24 rows, most of them with one diagnosis and in one ward."""
    rng = np.random.default_rng(7)
    who = np.repeat(np.arange(persons), rng.integers(1, 25, persons))
    usual = rng.integers(0, values, persons)[who]
    what = np.where(rng.random(who.size) < 0.8, usual, rng.integers(0, values, who.size))
    return pa.table({
        "patient": [f"P{number:05d}" for number in who],
        "sex": np.array(["F", "M"])[rng.integers(0, 2, persons)[who]],
        "row": np.arange(who.size),
        "diagnosis": [f"D{number:02d}" for number in what],
        "ward": [f"W{number}" for number in (who + (rng.random(who.size) < 0.05)) % 6],
    })  # fmt: skip


def audited(table: pa.Table, *attacks: str, release: Path | None = None, **options: Any) -> Audit:
    given = {"sensitive": {"diagnosis": ELL}, "person": "patient", "keep": "row", **options}
    return cv.audit(table, release=release, attacks=attacks, **given)


def tripped(audit: Audit) -> set[str]:
    return {f"{f.adversary}: {f.attack}" for f in audit.findings if f.verdict == EXCEEDS}


def passes(audit: Callable[[], Audit]) -> bool:
    return audit().passed or audit().passed


def drawn_row_by_row(table: Any, protecting: Protecting, writing: Writing, **options: Any) -> Any:
    """A publisher that knows nothing of persons."""
    shaping: Shaping = options["shaping"]
    drop = () if shaping.person is None else (shaping.person,)
    return run_publish(table, protecting, writing, shaping=replace(shaping, person=None, drop=drop))


def broken_plan(patch: pytest.MonkeyPatch, table: pa.Table, _folder: Path) -> set[str]:
    patch.setattr(linking, "run_publish", drawn_row_by_row)
    return tripped(audited(table, "linkage"))


def broken_release(_patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    cv.publish(table, {"diagnosis": ELL}, folder, drop="patient", keep="row")
    return tripped(audited(table, "linkage", release=folder))


def broken_together(patch: pytest.MonkeyPatch, table: pa.Table, _folder: Path) -> set[str]:
    patch.setattr(linking, "run_publish", drawn_row_by_row)
    both = {"diagnosis": ELL, "ward": ELL}
    return tripped(audited(table, "linkage", sensitive=both, together=True))


BROKEN = {
    "a plan drawn row by row": (broken_plan, {ALIKE, POOLED}),
    "a release drawn row by row": (broken_release, {ALIKE, POOLED}),
    "columns together, drawn row by row": (broken_together, {ALIKE}),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_rows_that_were_drawn_by_themselves_are_caught(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    breaking, expected = BROKEN[name]
    assert expected <= breaking(monkeypatch, visits(), tmp_path / "release")


@pytest.mark.few(1)
@pytest.mark.parametrize(
    "options",
    [{}, {"groups": "random"}, {"sensitive": {"diagnosis": 3, "ward": 3}, "together": True}],
    ids=["mixed", "random", "together"],
)
def test_a_sound_plan_holds(options: dict[str, Any]) -> None:
    assert passes(lambda: audited(visits(), "linkage", "elimination", **options))


@pytest.mark.slow
def test_a_sound_release_holds(tmp_path: Path) -> None:
    table = visits()
    cv.publish(table, {"diagnosis": ELL}, tmp_path / "r", person="patient", keep="row")
    audit = audited(table, "linkage", "neighbours", release=tmp_path / "r")
    assert audit.passed or audited(table, "linkage", release=tmp_path / "r").passed
    cases = len(set(zip(table["patient"].to_pylist(), table["diagnosis"].to_pylist(), strict=True)))
    assert audit.cases == {"diagnosis": cases}
    assert audit.linked == table.num_rows
    assert f"cases were attacked as rows: {cases:,} of diagnosis" in audit.attacked()
    (flat,) = [f for f in audit.findings if f.attack == "believe the published value"]
    assert flat.note.startswith(f"{cases:,} linked rows")
    assert {f.verdict for f in audit.findings if "several values" in f.attack} == {KNOWN_LIMIT}


@pytest.mark.slow
def test_columns_apart_are_attacked_one_by_one() -> None:
    audit = audited(visits(), "linkage", sensitive={"diagnosis": 3, "ward": 3})
    assert set(audit.cases) == {"diagnosis", "ward"}
    left = [f for f in audit.findings if f.verdict == NOT_RUN]
    assert [f.attack for f in left] == ["columns that were drawn apart, at once"]


def test_a_release_of_cases_needs_to_know_persons(tmp_path: Path) -> None:
    table = visits()
    cv.publish(table, {"diagnosis": ELL}, tmp_path / "r", person="patient", keep="row")
    with pytest.raises(SettingsError, match="person"):
        cv.audit(table, {"diagnosis": ELL}, release=tmp_path / "r", drop="patient", keep="row")


def test_rows_become_cases() -> None:
    """By hand. Persons 0, 0, 0, 1, 1 with values a, a, b, a, a; the fourth row is not linked."""
    codes, persons = np.array([0, 0, 1, 0, 0]), np.array([0, 0, 0, 1, 1])
    linked, shown = np.array([0, 1, 2, 4]), np.array([1, 1, 0, 0])
    column = AttackedColumn(
        "what", 2, "mixed", np.array([4, 1]), np.array([3, 2]), codes[linked], shown
    )
    rows = Target(linked, np.array([3, 1, 0, 2]), [], [column], 5)
    (target,) = targets_by_case(rows, {"what": TrueColumn("ab", codes)}, persons)
    assert target.source_place.tolist() == [0, 2, 4]
    assert target.release_place.tolist() == [3, 0, 2]
    (cases,) = target.sensitive
    assert cases.truth.tolist() == [0, 1, 0]
    assert cases.released.tolist() == [1, 0, 0]
    assert cases.counts.tolist() == [2, 1]
    assert cases.published.tolist() == [2, 1]
    assert target.rows == 3
    assert target.cases is not None
    assert target.cases.case.tolist() == [0, 0, 1, 2]
    assert target.cases.person.tolist() == [0, 0, 0, 1]


def test_what_most_rows_publish() -> None:
    rows = CaseRows(np.array([2, 2, 2, 0, 0]), np.arange(5), np.array([1, 3, 3, 2, 1]))
    assert _most_published(rows, 4).tolist() == [1, -1, 3]
