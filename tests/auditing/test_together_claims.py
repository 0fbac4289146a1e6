"""Columns together: sound releases hold what they promise of vectors, broken ones are caught.

The attacks on values are run on vectors too; what is special about vectors has claims of its own.
Every claim about them is tripped by a broken release here. Deviations are many standard errors: a
broken release escapes with a probability far below 1e-6.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.auditing.attacks import repetition
from countveil.auditing.attacks.by_method import vectors
from countveil.auditing.target import AttackedColumn
from countveil.errors import SettingsError
from countveil.maths.mechanism import random_groups
from countveil.release import MANIFEST_NAME, read_manifest
from tests.auditing import broken
from tests.robustness.tools import run

# Associated columns are published apart on purpose here.
pytestmark = pytest.mark.filterwarnings("ignore:.* are associated:UserWarning")

ROWS, ELL = 6_000, 4
SET = ("job", "hobby", "drug")
VECTOR = "job, hobby, drug"
SENSITIVE = dict.fromkeys(SET, ELL)
REAL = {"linkage: find a published combination that no row has"}
PAIRS = {"linkage: believe a published pair of values"}
OWN = {
    "linkage: believe the published value",
    "linkage: believe a published rare value",
    "linkage: odds of every value",
    "elimination: rule out the 3 likeliest wrong values",
}
COUNTED = {
    "small count: count a value that 1 to 10 rows have",
    "small count: published counts of all values",
}
MET = {"reconstruction: explain the release by a rule"}


def patients(rows: int = ROWS) -> pa.Table:
    """Three associated columns, in which a third of all combinations occur."""
    rng = np.random.default_rng(5)
    job = rng.choice(6, rows, p=np.linspace(2, 1, 6) / np.linspace(2, 1, 6).sum())
    hobby = np.where(rng.random(rows) < 0.7, job % 4, (job + 1) % 4)
    drug = np.where(rng.random(rows) < 0.7, hobby % 3, rng.integers(0, 2, rows))
    return pa.table(
        {
            "band": rng.integers(0, 6, rows),
            **{
                name: [f"{name} {code}" for code in codes]
                for name, codes in zip(SET, (job, hobby, drug), strict=True)
            },
        }
    )


def audited(table: pa.Table, *attacks: str, **options: Any) -> Any:
    keep = [name for name in ("row", *SET) if name in table.column_names]
    return cv.audit(table, SENSITIVE, attacks=attacks, keep=keep, **options)


def exceeded(found: Any) -> set[str]:
    """Claims about vectors that do not hold."""
    pairs = {"job, hobby", "job, drug", "hobby, drug"}
    return {
        f"{own.adversary}: {own.attack}"
        for own in found.exceeded
        if own.column == VECTOR or own.column in pairs
    }


Broken = tuple[Callable[..., object], list[str], set[str]]
BROKEN: dict[str, Broken] = {
    "the truth too often": (
        broken.draws_random_groups_with_the_truth_too_often, ["linkage", "elimination"],
        OWN | PAIRS,
    ),
    "one vector in the place of another": (
        broken.draws_random_groups_with_the_first_value_too_often, ["small-counts"], COUNTED,
    ),
    "vectors spread evenly over the groups": (
        broken.draws_groups_that_are_not_random, ["reconstruction"], MET,
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_release_trips_its_claims(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    instead, attacks, expected = BROKEN[name]
    monkeypatch.setattr(random_groups, "draw_random_groups", instead)
    caught = exceeded(audited(patients(3 * ROWS), *attacks, together=True))
    assert expected <= caught, expected - caught


def numbered(rows: int) -> pa.Table:
    return patients(rows).append_column("row", pa.array(np.arange(rows)))


@pytest.mark.slow
def test_columns_that_were_drawn_apart_are_caught(tmp_path: Path) -> None:
    """The manifest says that whole vectors are published, and each column has its own draw."""
    table, folder = numbered(ROWS), tmp_path / "release"
    cv.publish(table, SENSITIVE, folder, groups="random", keep=["row", *SET])
    changed = replace(read_manifest(folder), together=(SET,))
    (folder / MANIFEST_NAME).write_text(changed.to_json())
    found = audited(table, "linkage", release=folder)
    expected = REAL | PAIRS | {"linkage: believe the published value"}
    assert expected <= exceeded(found)
    # Each column by itself is as it should be.
    assert {own.column for own in found.exceeded}.isdisjoint(SET)


@pytest.mark.slow
def test_a_sound_release_passes_and_every_claim_about_vectors_can_fail(tmp_path: Path) -> None:
    """One audit in 10,000 may fail; two that both do have probability 1e-8."""
    table, folder = numbered(ROWS), tmp_path / "release"
    cv.publish(table, SENSITIVE, folder, together=True, keep=["row", *SET])
    attacks = ["linkage", "elimination", "small-counts", "reconstruction"]
    # The release says how its columns were published.
    finished = audited(table, *attacks, release=folder)
    planned = audited(patients(), *attacks, together=[list(SET)])
    assert finished.passed or planned.passed, [finished.exceeded, planned.exceeded]
    assert finished.linked == ROWS
    tripped = set().union(REAL, *(expected for *_, expected in BROKEN.values()))
    about_vectors = {
        f"{own.adversary}: {own.attack}"
        for own in planned.findings
        if own.p_value is not None and ", " in own.column and "prior" not in own.knows
    }
    # What is left is about how published values are dealt and ordered: the same for all groups.
    left = {name for name in about_vectors - tripped if not name.startswith("minimality")}
    assert left == {
        "linkage: best guess with a prior",
        "linkage: the most exposed 1%",
        "linkage: beliefs by tenths",
        "reconstruction: published values of neighbouring rows",
        "reconstruction: true values of neighbouring rows",
        "reconstruction: what early rows of the source publish",
    }
    assert tripped <= about_vectors


@pytest.mark.slow
def test_what_does_not_fit_vectors_is_left_out_with_a_reason() -> None:
    attacks = "linkage", "small-counts"
    found = audited(patients(1_500), *attacks, together=["job", "hobby"], groups="random")
    left_out = {(own.column, own.attack) for own in found.findings if own.verdict == "not run"}
    assert left_out == {
        ("job, hobby", "both columns, as if drawn apart"),
        ("job, hobby", "two queries that differ in one person"),
    }
    assert "attacked as vectors instead" in str(found)
    # A column that is published apart is attacked with each of the others.
    both = {own.column for own in found.findings if own.attack.startswith("rows that publish")}
    assert both == {"job, drug", "hobby, drug"}


@pytest.mark.slow
def test_whoever_knows_one_column_believes_the_others() -> None:
    """Those with the same value in the group are few: 1/(1 + (ell - 1) p) for one of share p."""
    found = audited(patients(), "linkage", together=True)
    limits = {own.attack: own for own in found.findings if own.verdict == "known limit"}
    own = limits["believe all of a combination, job known"]
    table = patients()
    p = [table["job"].to_pylist().count(f"job {code}") / ROWS for code in range(6)]
    codes = list(zip(*(table[name].to_pylist() for name in SET), strict=True))
    q = [codes.count(one) / ROWS for one in set(codes)]
    keep = 1 / ELL
    expected = (keep + (1 - keep) * sum(s * s for s in q)) / (
        keep + (1 - keep) * sum(s * s for s in p)
    )
    # Without the one row in N that is the row itself.
    assert float(own.claimed.rsplit(" ", 1)[1]) == pytest.approx(expected, abs=3 / ROWS)
    # About 1,800 rows: seven standard errors.
    assert own.measured == pytest.approx(expected, abs=0.08)


def test_the_audit_names_what_is_published_together() -> None:
    found = audited(patients(1_500), "linkage", together=True)
    facts = json.loads(json.dumps(found.as_dict()))
    assert facts["together"] == [list(SET)]
    assert set(facts["exposure"]) == {*SET, VECTOR}
    assert set(facts["promised_beliefs"]) == {*SET, VECTOR}
    assert "job and hobby and drug are published together" in str(found)
    page = found.to_html()
    assert "a published combination of values of share p" in page
    assert facts["exposure"][VECTOR]["people"] == 1_500


def test_parts_of_vectors_are_their_margins() -> None:
    """By hand: three vectors of two columns; the first column has two values."""
    column = AttackedColumn(
        "a, b", 2, "random", np.array([2, 1, 3]), np.array([1, 2, 3]), np.array([0, 1, 2]),
        np.array([1, 1, 0]), vector_of=("a", "b"), places=np.array([[0, 0, 1], [0, 1, 0]]),
    )  # fmt: skip
    first = vectors.part_of(column, (0,))
    assert (first.counts.tolist(), first.published.tolist()) == ([3, 3], [3, 3])
    assert (first.truth.tolist(), first.released.tolist()) == ([0, 0, 1], [0, 0, 0])
    assert first.name == "a"


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "another set": ({"together": ["job", "drug"]}, "'job', 'drug' together: together are"),
    "an odds bound": ({"odds": 20, "groups": "random"}, "with no bound on its odds, not 20"),
}


@pytest.mark.parametrize("name", WRONG)
def test_settings_that_are_not_those_of_the_release(name: str, tmp_path: Path) -> None:
    options, message = WRONG[name]
    table = patients(600)
    together = {"together": ["job", "hobby"], "groups": "random"}
    cv.publish(table, SENSITIVE, tmp_path / "r", keep=list(SET), **together)  # type: ignore[arg-type]
    with pytest.raises(SettingsError, match=message) as caught:
        audited(table, release=tmp_path / "r", **options)
    assert "\n" not in str(caught.value)


def test_together_is_not_true_of_a_release_of_single_columns(tmp_path: Path) -> None:
    table = patients(600)
    cv.publish(table, SENSITIVE, tmp_path / "r", groups="random", keep=list(SET))
    with pytest.raises(SettingsError, match="every column has its own groups"):
        audited(table, release=tmp_path / "r", together=True)


@pytest.mark.slow
def test_some_columns_of_a_set_can_be_audited(tmp_path: Path) -> None:
    """The margin of two columns has the same law."""
    table, folder = numbered(1_000), tmp_path / "release"
    cv.publish(table, SENSITIVE, folder, together=True, keep=["row", *SET])
    found = [
        cv.audit(
            table, {"job": ELL, "drug": ELL}, release=folder, keep=["row", *SET],
            attacks=["linkage"],
        )
        for _ in range(2)
    ]  # fmt: skip
    assert found[0].together == (("job", "drug"),)
    assert found[0].passed
    assert {own.column for own in found[0].findings} == {"job", "drug", "job, drug"}


@pytest.mark.slow
def test_every_attack_runs_on_vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both of two audits fail with probability 1e-8 at most."""
    monkeypatch.setattr(repetition, "MOST_RELEASES", 5)
    table = numbered(1_199)
    options = {"together": True, "residue": "drop"}
    planned = cv.audit(patients(1_199), SENSITIVE, keep=list(SET), **options)  # type: ignore[arg-type]
    cv.publish(table, SENSITIVE, tmp_path / "r", keep=["row", *SET], **options)  # type: ignore[arg-type]
    finished = audited(table, release=tmp_path / "r")
    assert planned.passed or finished.passed, [planned.exceeded, finished.exceeded]
    assert all(np.isfinite(own.measured) for own in (*planned.findings, *finished.findings))


@pytest.mark.slow
def test_the_command_takes_columns_together(tmp_path: Path) -> None:
    import pyarrow.csv

    path = tmp_path / "table.csv"
    pyarrow.csv.write_csv(patients(800), path)
    found = run(
        "audit", path, "-s", "job", "-s", "hobby", "--ell", "4", "--together", "--keep", "job",
        "--keep", "hobby", "--keep", "drug", "--attacks", "linkage", "--format", "json",
        "--report", tmp_path / "audit.html",
    )  # fmt: skip
    assert found.code == 0, found.err
    assert json.loads(found.out)["together"] == [["job", "hobby"]]
    assert "job, hobby" in (tmp_path / "audit.html").read_text()
