"""Persons with several rows: one draw for a case, and no way to put a person's rows together."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import (
    IneligibleError,
    InputError,
    ReleaseError,
    SettingsError,
)
from countveil.publishing.cases import _rounded
from countveil.release import Manifest

VISITS = 12_000


def visits(persons: int = 3_000, values: int = 12) -> pa.Table:
    rng = np.random.default_rng(11)
    who = rng.integers(0, persons, VISITS)
    usual = rng.integers(0, values, persons)
    what = np.where(rng.random(VISITS) < 0.6, usual[who], rng.integers(0, values, VISITS))
    return pa.table({
        "patient": [f"P{n:05d}" for n in who],
        "sex": np.where(rng.integers(0, 2, persons)[who] > 0, "F", "M").tolist(),
        "number": np.arange(VISITS),
        "diagnosis": [f"D{n:02d}" for n in what],
        "ward": [f"W{n}" for n in rng.integers(0, 8, VISITS)],
    })  # fmt: skip


def published(to: Path) -> pa.Table:
    rows: pa.Table = pq.read_table(to / "data").sort_by("number")
    return rows


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return visits()


@pytest.mark.few(1)
@pytest.mark.parametrize("groups", ["mixed", "random"])
def test_all_rows_of_a_case_publish_the_same(table: pa.Table, groups: str, tmp_path: Path) -> None:
    cv.publish(
        table, {"diagnosis": 4, "ward": 3}, tmp_path / "r", person="patient", keep="number",
        groups=groups,
    )  # fmt: skip
    released = published(tmp_path / "r")
    assert released.column_names == ["sex", "number", "diagnosis", "ward"]
    assert released["sex"].equals(table["sex"])
    for name in ("diagnosis", "ward"):
        cases: dict[tuple[str, str], set[str]] = {}
        columns = table["patient"], table[name], released[name]
        for person, true, drawn in zip(*(c.to_pylist() for c in columns), strict=True):
            cases.setdefault((person, true), set()).add(drawn)
        assert {len(drawn) for drawn in cases.values()} == {1}
        changed = sum({true} != drawn for (_, true), drawn in cases.items())
        assert 0.5 < changed / len(cases) < 0.9


def test_what_a_release_says_of_cases(table: pa.Table, tmp_path: Path) -> None:
    release = cv.publish(table, {"diagnosis": 4}, tmp_path / "r", person="patient", drop="number")
    figures = release.manifest.sensitive["diagnosis"].cases
    assert figures is not None
    pairs = zip(table["patient"].to_pylist(), table["diagnosis"].to_pylist(), strict=True)
    cases = len(set(pairs))
    assert figures.rows_per_case == pytest.approx(VISITS / cases, rel=0.02)
    assert len(figures.by_value) == 12
    text = " ".join(release.manifest.statement)
    assert "Persons with several rows." in text
    assert "several rows of one person" not in text
    assert "The unit of protection is one case." in text
    content = (tmp_path / "r" / "manifest.json").read_text()
    assert "patient" not in content.lower()
    assert not cv.verify(tmp_path / "r")


def test_persons_with_one_row_are_published_as_ever(tmp_path: Path) -> None:
    table = visits()
    single = table.set_column(0, "patient", pa.array([f"P{n:05d}" for n in range(VISITS)]))
    cv.publish(single, {"diagnosis": 4}, tmp_path / "a", person="patient", keep="number", seed=3)
    cv.publish(
        single.drop_columns("patient"), {"diagnosis": 4}, tmp_path / "b", keep="number", seed=3,
        again=True,
    )  # fmt: skip
    assert published(tmp_path / "a").equals(published(tmp_path / "b"))
    content = json.loads((tmp_path / "a" / "manifest.json").read_text())
    assert "cases" not in content["sensitive"]["diagnosis"]


def test_answers_are_near_the_truth(table: pa.Table, tmp_path: Path) -> None:
    """Nine standard errors: false-alarm rate below 1e-6 by any margin that intervals leave."""
    release = cv.publish(table, {"diagnosis": 4}, tmp_path / "r", person="patient", drop="number")
    truth = table.group_by(["sex", "diagnosis"]).aggregate([([], "count_all")]).to_pylist()
    answer = release.sql(
        "SELECT sex, diagnosis, count(*) FROM release GROUP BY ALL", method="unbiased"
    )
    estimates = {
        (row["sex"], row["diagnosis"]): (row["estimate"], row["std_error"])
        for row in answer.to_arrow().to_pylist()
    }
    for row in truth:
        estimate, error = estimates[row["sex"], row["diagnosis"]]
        assert abs(estimate - row["count_all"]) < 9 * error
        # The error is that of cases, which is larger than that of as many rows.
        assert error > 10


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"odds": 20.0, "domain": {"diagnosis": [f"D{n:02d}" for n in range(12)]}}, "odds"),
        ({"residue": "drop"}, "residue"),
        ({"keep": ["patient", "number"]}, "rows of a person together"),
    ],
    ids=["odds", "drop", "keep"],
)
def test_what_cases_do_not_go_with(
    table: pa.Table, options: dict[str, object], says: str, tmp_path: Path
) -> None:
    given: dict[str, object] = {"keep": "number", "person": "patient", **options}
    with pytest.raises(SettingsError, match=says):
        cv.publish(table, {"diagnosis": 3}, tmp_path / "r", **given)  # type: ignore[arg-type]
    assert not (tmp_path / "r").exists()


@pytest.mark.slow
@pytest.mark.parametrize("together", [False, True])
def test_a_private_report_counts_cases(table: pa.Table, together: bool, tmp_path: Path) -> None:
    page = tmp_path / "private.html"
    cv.publish(
        table, {"diagnosis": 4, "ward": 4}, tmp_path / "r", person="patient", drop="number",
        private_report=page, together=together,
    )  # fmt: skip
    text = page.read_text()
    names = ("patient", "diagnosis", "ward") if together else ("patient", "diagnosis")
    cases = Counter(zip(*(table[name].to_pylist() for name in names), strict=True))
    assert f"12 values in {len(cases):,} cases" in text
    assert "Persons have several rows" in text
    having = Counter(diagnosis for _, diagnosis, *_ in cases)
    listed = re.search(">D01</th><td[^>]*>([0-9,]+)</td>", text)
    assert listed is not None
    assert listed[1] == f"{having['D01']:,}"
    assert ("Exposure: diagnosis and ward" in text) == together


def test_eligibility_is_said_of_cases(tmp_path: Path) -> None:
    """Most rows have one value, but they are one person's: most cases do not."""
    table = pa.table({
        "who": ["A"] * 60 + [f"B{n}" for n in range(40)] * 2,
        "what": ["x"] * 60 + ["x", "y", "z", "w"] * 20,
    })  # fmt: skip
    release = cv.publish(table, {"what": 3}, tmp_path / "r", person="who", keep="what")
    assert release.rows == 140
    few = pa.table({"who": ["A", "A", "B", "C"], "what": ["x", "x", "x", "y"]})
    with pytest.raises(IneligibleError, match="among cases"):
        cv.publish(few, {"what": 2}, tmp_path / "s", person="who", keep="what")


def test_rows_without_a_person_are_refused(tmp_path: Path) -> None:
    table = pa.table({"who": ["A", None, "A"], "what": ["x", "y", "z"]})
    with pytest.raises(InputError, match="1 rows have no value"):
        cv.publish(table, {"what": 2}, tmp_path / "r", person="who")


@pytest.mark.parametrize(
    ("rows", "cases"), [(20, 20), (50, 20), (1_234, 400), (99_999, 40_000), (7.0e6, 1.1e6)]
)
def test_rounding_leaves_the_number_of_cases_uncertain(rows: float, cases: float) -> None:
    """Rows are exact. By hand: 1,234 / 400 = 3.085, in steps of 1/16 = 0.0625: 3.0625."""
    told = _rounded(rows, cases)
    assert abs(rows / told - cases) <= 0.3 * np.sqrt(cases)
    assert _rounded(1_234, 400) == 3.0625


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "change",
    [
        {"rows_per_case": 0.5},
        {"design_effect": 1.0},
        {"by_value": [2.0]},
        {"by_value": "many"},
        {"design_effect": "large"},
    ],
)
def test_figures_of_cases_that_cannot_be_right(
    table: pa.Table, change: dict[str, object], tmp_path: Path
) -> None:
    release = cv.publish(table, {"diagnosis": 4}, tmp_path / "r", person="patient", drop="number")
    content = json.loads(release.manifest.to_json())
    content["sensitive"]["diagnosis"]["cases"] |= change
    del content["checksum"]
    from countveil.release.manifest import _checksum

    content["checksum"] = _checksum(content)
    with pytest.raises(ReleaseError, match="manifest"):
        Manifest.from_json(json.dumps(content))
