"""What was done to a table before: the release says so, and no question gets a wrong 0."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import QueryError, ReleaseError, UnsafeError
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.release import Manifest, Preparation
from countveil.release.steps import InPeriods, Limited, Mapped, MergedRare, Rounded
from countveil.tables import table_options

# Its list of merged values names one that no row has.
pytestmark = pytest.mark.filterwarnings("ignore:1 of the values to merge:UserWarning")

ROWS = 400
CODES = ["250.1", "250.2", "401.9", "414.0", "V57.1"]
MERGE: dict[Any, str] = {"250.1": "diabetes", "250.2": "diabetes", "250.9": "diabetes"}


def visits() -> pa.Table:
    """Five frequent diagnoses, and three that a single row has each; columns are independent."""
    rng = np.random.default_rng(5)
    days = [dt.date(2020, 1, 1) + dt.timedelta(days=int(n)) for n in rng.permutation(ROWS) * 2]
    rare = {7: "666.6", 8: "777.7", 9: "888.8"}
    diagnoses = rng.permutation([CODES[n % 5] for n in range(ROWS)]).tolist()
    return pa.table({
        "patient": [f"P{n % 150:04d}" for n in range(ROWS)],
        "admitted": days,
        "age": rng.integers(0, 90, ROWS).tolist(),
        "pay": rng.integers(0, 1000, ROWS).astype(float).tolist(),
        "sex": rng.integers(1, 3, ROWS).tolist(),
        "town": rng.choice(["here", "there", "?"], ROWS).tolist(),
        "diag": [rare.get(n, diagnosis) for n, diagnosis in enumerate(diagnoses)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    return cv.publish(
        visits(), {"diag": 2}, tmp_path_factory.mktemp("prepared") / "release",
        drop=["patient"], merge={"diag": MERGE, "age": "rare:5"}, bins={"admitted": "quarter"},
        labels={"sex": {1: "F", 2: "M"}}, missing=["?"], round={"pay": 100}, top={"pay": 500},
        where="age >= 3 AND town IS NOT NULL", seed=1,
    )  # fmt: skip


def estimate(release: cv.Release, condition: str) -> float:
    found = release.count(condition).estimate
    assert found is not None
    return found


ANSWERS = {
    "diag = '250.1'": "'250.1' was merged into 'diabetes' before publishing; ask for 'diabetes'.",
    "diag <> '250.1'": "was merged into 'diabetes'",
    "diag IN ('401.9', '250.9')": "'250.9' was merged into 'diabetes'",
    "'250.2' = diag": "'250.2' was merged into 'diabetes'",
    "sex = 1": "1 was labelled 'F' before publishing; ask for 'F'.",
    "admitted = '2020-05-05'": "replaced by its quarter, '2020-Q2', before publishing",
    "admitted >= '2020-05-05'": "such as '2020-Q2'",
    "pay = 140": "140 was rounded to 100 before publishing; ask for 100.",
    "pay = 900": "900 was replaced by 500 before publishing; ask for 500.",
    "pay > 500": "numbers above 500 were replaced by it",
    "600 < pay": "numbers above 500 were replaced by it",
    "town = '?'": "'?' stood for a missing value before publishing. Ask for town IS NULL.",
    "age = '89'": "values with fewer than 5 rows were merged into 'other'; whether this one",
}


@pytest.mark.few(3)
@pytest.mark.parametrize("condition", ANSWERS)
def test_a_question_about_what_was_replaced_is_answered_by_saying_so(
    release: cv.Release, condition: str
) -> None:
    query = f"SELECT count(*) FROM release WHERE {condition}"
    asked: list[Callable[[], object]] = [
        lambda: release.sql(query),
        lambda: release.count(condition),
        lambda: release.counts(["diag = 'diabetes'", condition]),
        lambda: release.crosstab("sex", "diag", condition),
        lambda: release.plain_sql(query),
        # A second time: nothing that was refused is remembered as an answer.
        lambda: release.count(condition),
    ]
    for ask in asked:
        with pytest.raises(QueryError) as caught:
            ask()
        assert ANSWERS[condition] in str(caught.value)


def test_a_value_as_a_keyword_is_answered_alike(release: cv.Release) -> None:
    for values, said in (({"diag": "250.1"}, "merged into"), ({"sex": 2}, "labelled 'M'")):
        with pytest.raises(QueryError, match=said):
            release.count(**values)


@pytest.mark.filterwarnings("ignore:The release has no row with diag = '999':UserWarning")
def test_what_is_published_is_answered(release: cv.Release) -> None:
    for condition in (
        "diag = 'diabetes'", "sex = 'F'", "admitted >= '2020-Q2'", "pay <= 400", "pay < 500",
        "pay >= 500", "town IS NULL", "age <> 'other'", "diag = '999'",
    ):  # fmt: skip
        assert estimate(release, condition) >= 0
    assert estimate(release, "pay < 500") + estimate(release, "pay = 500") == release.rows
    assert "Did you mean" not in str(release.sql("SELECT count(*) FROM release WHERE sex = 'F'"))


def test_a_database_answers_alike(release: cv.Release, tmp_path: Path) -> None:
    address = f"duckdb:{tmp_path}/out.duckdb#release"
    cv.export(release.folder, address)
    with pytest.raises(QueryError, match="was merged into 'diabetes'"):
        cv.open(address).count("diag = '250.1'")


def test_the_release_says_what_was_done(release: cv.Release) -> None:
    prepared = release.manifest.preparation
    assert prepared is not None
    assert prepared.columns["diag"] == (Mapped("merge", MERGE),)
    assert prepared.columns["admitted"] == (InPeriods("quarter"),)
    assert prepared.columns["pay"] == (Rounded(100), Limited(None, 500))
    assert prepared.columns["age"] == (MergedRare(5, "other"),)
    assert (prepared.filtered_by, prepared.missing) == (("age", "town"), ("?",))
    said = " ".join(release.manifest.statement)
    for words in (
        "What was changed before.", "Rows were chosen by a condition on 'age', 'town'.",
        "3 declared values were merged into 'diabetes'", "dates were replaced by their quarter",
        "numbers were rounded to multiples of 100, then numbers above 500 were replaced by it",
        "apart from what the next paragraph says", "'?'",
    ):  # fmt: skip
        assert words in said
    page = (release.folder / "report.html").read_text()
    assert "What published values stand for" in page
    assert "250.9" in page
    assert ">prepared<" in page


def test_a_table_that_was_not_prepared_has_no_such_paragraph(tmp_path: Path) -> None:
    plain = cv.publish(visits(), {"diag": 2}, tmp_path / "plain", drop=["patient", "admitted"])
    assert plain.manifest.preparation is None
    assert '"preparation"' not in plain.manifest.to_json()
    assert "published unchanged. The rows" in plain.manifest.statement[0]
    assert not any("changed before" in text for text in plain.manifest.statement)


def test_rare_values_reach_the_publisher_and_not_the_release(tmp_path: Path) -> None:
    reading, shaping = table_options(merge={"diag": "rare:10"}, drop=["patient", "admitted"])
    done = run_publish(
        visits(), Protecting.of({"diag": 2}), Writing.of(tmp_path / "release"),
        reading=reading, shaping=shaping,
    )  # fmt: skip
    (merged,) = done.merged
    assert dict(merged.rows) == {"666.6": 1, "777.7": 1, "888.8": 1}
    assert "'666.6' (1)" in merged.sentence()
    for path in (tmp_path / "release").rglob("*.*"):
        content = path.read_bytes()
        assert b"666.6" not in content
    published = pq.read_table(tmp_path / "release" / "data")
    assert set(published["diag"].to_pylist()) <= {*CODES, "other"}
    with pytest.raises(QueryError, match="whether this one is among them is not published"):
        cv.open(tmp_path / "release").count(diag="666.6")


@pytest.mark.parametrize("keep", [[], ["diag"]])
def test_a_condition_on_a_protected_column_is_confirmed(tmp_path: Path, keep: list[str]) -> None:
    options: dict[str, Any] = {"where": "diag <> 'V57.1'", "drop": ["patient", "admitted"]}
    if not keep:
        with pytest.raises(UnsafeError, match="chooses rows by 'diag', which is protected"):
            cv.publish(visits(), {"diag": 2}, tmp_path / "release", **options)
        assert not (tmp_path / "release").exists()
        return
    release = cv.publish(visits(), {"diag": 2}, tmp_path / "release", keep=keep, **options)
    assert release.manifest.preparation == Preparation(filtered_by=("diag",))
    # What it was compared with is not said.
    assert "V57.1" not in release.manifest.to_json()


def test_constants_of_a_condition_are_not_published(tmp_path: Path) -> None:
    release = cv.publish(
        visits(), {"diag": 2}, tmp_path / "release", drop=["patient", "admitted", "pay"],
        where="pay <> 123.456",
    )  # fmt: skip
    assert "123.456" not in "".join(p.read_text("latin-1") for p in release.folder.rglob("*.*"))


@pytest.mark.slow
def test_one_row_of_each_person(tmp_path: Path) -> None:
    rows = zip(*(visits()[name].to_pylist() for name in ("patient", "admitted")), strict=True)
    days: dict[str, list[dt.date]] = {}
    for patient, day in rows:
        days.setdefault(patient, []).append(day)
    for how, chosen in (("first by admitted", min), ("last by admitted", max)):
        release = cv.publish(
            visits(), {"diag": 2}, tmp_path / how[:4], one_per={"patient": how}, keep=["admitted"],
            drop=["pay"], record=False,
        )  # fmt: skip
        table = pq.read_table(release.folder / "data")
        assert "patient" not in table.column_names
        assert sorted(table["admitted"].to_pylist()) == sorted(map(chosen, days.values()))
        assert how.replace("by ", "by '") in release.manifest.statement[1]
    again = cv.publish(
        visits(), {"diag": 2}, tmp_path / "any", one_per={"patient": "any"},
        drop=["admitted", "pay"],
    )  # fmt: skip
    assert again.rows == 150
    assert "drawn from the person's rows" in again.manifest.statement[1]


def test_neither_days_nor_extremes_of_dates_are_published(tmp_path: Path) -> None:
    release = cv.publish(
        visits(), {"admitted": 3, "age": 2}, tmp_path / "release", columns=["sex"],
        bins={"admitted": "month", "age": "20,40,60"},
    )  # fmt: skip
    first, last = dt.date(2020, 1, 1), dt.date(2020, 1, 1) + dt.timedelta(days=2 * (ROWS - 1))
    content = "".join(p.read_text("latin-1") for p in release.folder.rglob("*.*"))
    assert first.isoformat() not in content
    assert last.isoformat() not in content
    entry = release.manifest.sensitive["admitted"]
    published = pq.read_table(release.folder / "data")["admitted"].to_pylist()
    assert not entry.declared
    assert set(entry.domain) == set(published)
    assert estimate(release, "admitted >= '2020-06'") > 0
    with pytest.raises(QueryError, match="such as '2020-06'"):
        release.count("admitted >= '2020-06-15'")


def test_numbers_compared_with_the_classes_of_a_plain_column(tmp_path: Path) -> None:
    release = cv.publish(
        visits(), {"diag": 2}, tmp_path / "release", columns=["age"], bins={"age": "20,40,60"},
    )  # fmt: skip
    truth: list[Any] = visits()["age"].to_pylist()
    for condition, count in (
        ("age >= 40", sum(age >= 40 for age in truth)),
        ("40 > age", sum(age < 40 for age in truth)),
        ("age BETWEEN 20 AND 59", sum(20 <= age <= 59 for age in truth)),
        ("age = '20 to 39'", sum(20 <= age <= 39 for age in truth)),
    ):
        assert release.count(condition).estimate == count, condition
    for condition in ("age = 37", "age > 50"):
        with pytest.raises(QueryError, match="class"):
            release.count(condition)


def test_a_pattern_that_asks_for_replaced_values_is_refused(tmp_path: Path) -> None:
    release = cv.publish(
        visits(), {"age": 2}, tmp_path / "release", columns=["diag", "town"],
        bins={"age": "30,60"}, merge={"diag": MERGE}, levels={"town": "prefix:2"},
    )  # fmt: skip
    refused = {
        "diag LIKE '250%'": "such as '250.1', which was merged into 'diabetes'",
        "diag ILIKE '%.2'": "such as '250.2'",
        "NOT diag LIKE '250._'": "'250.1'",
        "town LIKE 'here%'": "such as 'here', which was cut to 'he'",
    }
    for condition, said in refused.items():
        with pytest.raises(QueryError) as caught:
            release.count(condition)
        assert said in str(caught.value)
    for condition in ("diag LIKE '4%'", "diag LIKE 'dia%'", "town LIKE 'h%'", "town LIKE '%e'"):
        assert estimate(release, condition) > 0


def _broken(change: Callable[[dict[str, Any]], object]) -> str:
    """A manifest with something changed, and a checksum that fits."""
    import hashlib

    golden = Path(__file__).parents[1] / "release" / "golden-v1" / "manifest.json"
    manifest = Manifest.from_json(golden.read_text())
    steps = {manifest.columns[0].name: (Rounded(5),)}
    content = json.loads(replace(manifest, preparation=Preparation(steps, ("?",))).to_json())
    change(content["preparation"])
    del content["checksum"]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    content["checksum"] = hashlib.sha256(canonical.encode()).hexdigest()
    return json.dumps(content)


def test_what_a_manifest_says_is_read_strictly() -> None:
    assert Manifest.from_json(_broken(lambda _: None)).preparation is not None

    def first(prepared: dict[str, Any]) -> dict[str, Any]:
        step: dict[str, Any] = next(iter(prepared["columns"].values()))[0]
        return step

    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda p: p.update(more=1),
        lambda p: p.update(missing="?"),
        lambda p: p.update(filtered_by=[1]),
        lambda p: p.update(one_per={"row": "some"}),
        lambda p: p.update(one_per={"row": "first"}),
        lambda p: p.update(columns={"nobody": []}),
        lambda p: p.update(columns=[]),
        lambda p: p.clear(),
        lambda p: first(p).update(what="guess"),
        lambda p: first(p).update(step=0),
        lambda p: first(p).update(step="5"),
        lambda p: first(p).update(more=2),
        lambda p: first(p).pop("what"),
    ]
    for change in changes:
        text = _broken(change)
        with pytest.raises(ReleaseError):
            Manifest.from_json(text)
