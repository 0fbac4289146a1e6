"""Survey weights and averages of sensitive numbers: in Python, in SQL, on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil.cli.app import app
from countveil.cli.quick_query import answered_quickly
from countveil.errors import InputError, QueryError, ReleaseError, SettingsError, UnsafeError
from countveil.release import Manifest, read_manifest

ROWS = 3_000
EDGES = [20, 40, 60, 80]


def table() -> pa.Table:
    rng = np.random.default_rng(5)
    job = rng.choice(list("abcdefgh"), ROWS, p=np.array([16, 16, 15, 14, 13, 12, 10, 4]) / 100)
    return pa.table({
        "job": job,
        "sex": rng.choice(["F", "M"], ROWS),
        "age": rng.integers(10, 95, ROWS),
        "children": rng.choice([0, 1, 2, 3], ROWS, p=[0.3, 0.3, 0.25, 0.15]),
        "w": 10.0 * rng.integers(1, 40, ROWS),
        "wage": np.rint(rng.gamma(4, 500, ROWS)),
    })  # fmt: skip


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    return cv.publish(
        table(), {"job": 4, "age": 3, "children": 2}, tmp_path_factory.mktemp("w") / "release",
        weight="w", bins={"age": EDGES}, class_values={"age": [15, 87]}, seed=1,
    )  # fmt: skip


def column(name: str) -> np.ndarray:
    return np.asarray(table()[name].to_numpy())


def test_plain_weighted_totals_are_exact(release: cv.Release) -> None:
    w, wage, women = column("w"), column("wage"), column("sex") == "F"
    assert release.weight == "w"
    count = release.count("sex = 'F'", weighted=True)
    assert count.estimate == pytest.approx(w[women].sum())
    assert count.std_error == 0
    mean = release.sql("SELECT avg(wage) FROM release WHERE sex = 'F'", weighted=True).estimates[0]
    assert mean.estimate == pytest.approx((w * wage)[women].sum() / w[women].sum())
    share = "SELECT count(*) FILTER (WHERE sex = 'F') / count(*) FROM release"
    assert release.sql(share, weighted=True).estimates[0].estimate == pytest.approx(
        w[women].sum() / w.sum()
    )


def test_a_weighted_count_is_the_sum_of_weights(release: cv.Release) -> None:
    one = release.sql("SELECT job, count(*) FROM release GROUP BY job", weighted=True)
    two = release.sql("SELECT job, sum(w) FROM release GROUP BY job")
    for weighted, summed in zip(one.estimates, two.estimates, strict=True):
        assert weighted.estimate == pytest.approx(summed.estimate)
        assert weighted.low == pytest.approx(summed.low)
    total = sum(cell.estimate or 0 for cell in one.estimates)
    assert total == pytest.approx(column("w").sum(), rel=0.05)
    assert release.count(job="a", weighted=True) == one.estimates[0]
    assert release.counts(["job = 'a'"], weighted=True).estimates[0] == one.estimates[0]
    table = release.crosstab("job", "sex", weighted=True)
    assert table is not None


def test_every_truth_is_in_a_wide_interval(release: cv.Release) -> None:
    """At level 1 - 1e-8, with 40 intervals, a miss has a probability below 1e-6."""
    job, w, wage, women = column("job"), column("w"), column("wage"), column("sex") == "F"
    asked: dict[str, Callable[[np.ndarray], float]] = {
        "count(*)": lambda rows: w[rows].sum(),
        "avg(wage)": lambda rows: (w * wage)[rows].sum() / w[rows].sum(),
        "count(*) FILTER (WHERE sex = 'F') / count(*)": lambda rows: (
            w[rows & women].sum() / w[rows].sum()
        ),
    }
    for measure, truth in asked.items():
        answer = release.sql(
            f"SELECT job, {measure} FROM release GROUP BY job", weighted=True, level=1 - 1e-8
        )
        for (value,), cell in zip(answer.groups, answer.estimates, strict=True):
            low = -np.inf if cell.low is None else cell.low
            high = np.inf if cell.high is None else cell.high
            assert low <= truth(job == value) <= high, (measure, value)
            assert "FILTER" not in measure or (low >= 0 and high <= 1)


def test_averages_of_classes_use_their_numbers(release: cv.Release) -> None:
    numbers = np.array([15, 29.5, 49.5, 69.5, 87])[np.searchsorted(EDGES, column("age"), "right")]
    answer = release.sql("SELECT sex, avg(age) FROM release GROUP BY sex", level=1 - 1e-8)
    for (sex,), cell in zip(answer.groups, answer.estimates, strict=True):
        assert cell.low is not None and cell.high is not None  # noqa: PT018
        assert 15 <= cell.low <= numbers[column("sex") == sex].mean() <= cell.high <= 87
    assert "declared by the publisher" in answer.warnings[0]
    assert "within a class" in answer.warnings[0]
    whole = release.sql("SELECT sum(children) FROM release", level=1 - 1e-8).estimates[0]
    assert whole.low is not None and whole.high is not None  # noqa: PT018
    assert whole.low <= column("children").sum() <= whole.high
    # The whole table: what is published, weighed by the numbers.
    parquet = f"{release.folder}/data/*.parquet"
    ((published,),) = duckdb.connect().execute(f"SELECT sum(children) FROM '{parquet}'").fetchall()
    assert whole.estimate == pytest.approx(published)


def test_a_class_without_an_end_needs_a_number(tmp_path: Path) -> None:
    plain = cv.publish(table(), {"age": 3}, tmp_path / "r", bins={"age": EDGES}, seed=1)
    with pytest.raises(QueryError, match=r"'below 20'.*age >= 20 AND age < 80.*class_values"):
        plain.sql("SELECT avg(age) FROM release")
    inside = plain.sql("SELECT avg(age) FROM release WHERE age >= 20 AND age < 80", level=1 - 1e-8)
    ages = column("age")
    truth = ages[(ages >= 20) & (ages < 80)].mean()
    cell = inside.estimates[0]
    assert cell.low is not None and cell.high is not None  # noqa: PT018
    assert cell.low - 5 <= truth <= cell.high + 5
    assert "midpoints" in inside.warnings[0]
    with pytest.raises(SettingsError, match="no survey weights"):
        plain.count(weighted=True)


def test_plain_sql_gives_the_unbiased_answers(release: cv.Release) -> None:
    queries = [
        "SELECT job, count(*) FROM release GROUP BY job",
        "SELECT sex, avg(wage) FROM release WHERE job = 'a' GROUP BY sex",
        "SELECT job, count(*) FILTER (WHERE sex = 'F') / count(*) FROM release GROUP BY job",
    ]
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE release AS SELECT * FROM '{release.folder}/data/*.parquet'")
    for query in queries:
        text = release.plain_sql(query, dialect="duckdb", weighted=True)
        theirs = sorted(connection.execute(text).fetchall())
        answer = release.sql(query, method="unbiased", weighted=True)
        ours = sorted(
            (*group, cell.estimate, cell.std_error)
            for group, cell in zip(answer.groups, answer.estimates, strict=True)
        )
        for row, other in zip(ours, theirs, strict=True):
            assert row[0] == other[0]
            assert row[1] == pytest.approx(other[1], rel=1e-6), query
        # What rows share in the draw is no sum over rows: the database's errors are larger.
        assert 0 < sum(row[2] for row in ours) <= 1.25 * sum(row[2] for row in theirs), query
    with pytest.raises(QueryError, match="average of a sensitive column"):
        release.plain_sql("SELECT avg(age) FROM release")


@pytest.mark.slow
def test_the_command_line_asks_weighted(
    release: cv.Release, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(release.folder)
    words = ["query", folder, "SELECT count(*) FROM release", "--weighted", "--format", "json"]
    assert answered_quickly(words)
    quick = json.loads(capsys.readouterr().out)
    assert quick[0]["estimate"] == pytest.approx(column("w").sum())
    done = CliRunner().invoke(app, words)
    assert json.loads(done.stdout) == quick
    shown = CliRunner().invoke(app, ["show", folder]).stdout
    assert "Survey weight: w." in shown
    assert "15, 29.5, 49.5, 69.5, 87" in shown
    report = (release.folder / "report.html").read_text()
    assert "survey weight" in report


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ({"weight": "job"}, "weight"),
        ({"weight": "nobody"}, "weight"),
        ({"weight": 3}, "weight"),
        ({"weight": "sex"}, "weight"),
    ],
)
def test_a_manifest_with_another_weight_is_refused(
    release: cv.Release, damage: dict[str, object], message: str
) -> None:
    from dataclasses import replace

    manifest = read_manifest(release.folder)
    text = replace(manifest, **damage).to_json()  # type: ignore[arg-type]
    with pytest.raises(ReleaseError, match=message):
        Manifest.from_json(text)


@pytest.mark.parametrize("values", [(15, 30), (1, 2, 3, 4, 5), (15, 30, 50, 70, "x"), ()])
def test_a_manifest_with_other_numbers_of_classes_is_refused(
    release: cv.Release, values: tuple[object, ...]
) -> None:
    from dataclasses import replace

    manifest = read_manifest(release.folder)
    age = replace(manifest.sensitive["age"], class_values=values)  # type: ignore[arg-type]
    text = replace(manifest, sensitive={**manifest.sensitive, "age": age}).to_json()
    if values:
        with pytest.raises(ReleaseError, match=r"numbers|classes"):
            Manifest.from_json(text)
    else:
        assert Manifest.from_json(text).sensitive["age"].class_values is None


def test_a_manifest_without_weights_does_not_mention_them(tmp_path: Path) -> None:
    plain = cv.publish(table(), {"job": 4}, tmp_path / "r", seed=1)
    text = plain.manifest.to_json()
    assert '"weight"' not in text
    assert "class_values" not in text


def _published(tmp_path: Path, changed: pa.Table, **options: object) -> cv.Release:
    chosen: dict[str, object] = {"weight": "w", "seed": 1, **options}
    return cv.publish(changed, {"job": 4}, tmp_path / "r", **chosen)  # type: ignore[arg-type]


def _with_weights(weights: Any) -> pa.Table:
    return table().set_column(4, "w", pa.array(weights))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([None, *[10.0] * (ROWS - 1)], "missing in 1 of 3,000 rows"),
        ([float("nan"), *[10.0] * (ROWS - 1)], "missing in 1 of"),
        ([-1.0, *[10.0] * (ROWS - 1)], "negative or infinite in 1 of"),
        ([float("inf"), *[10.0] * (ROWS - 1)], "negative or infinite in 1 of"),
        ([0.0] * ROWS, "0 in every row"),
    ],
)
def test_what_cannot_be_a_weight_is_refused(
    tmp_path: Path, weights: list[float | None], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        _published(tmp_path, _with_weights(weights))
    assert not (tmp_path / "r").exists()


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "job"}, "both sensitive and the weight"),
        ({"drop": ["w"]}, "both dropped and the weight"),
        ({"weight": "sex"}, "a weight is a number"),
        ({"class_values": {"age": [1, 2]}}, "give the classes of 'age'"),
        ({"bins": {"age": EDGES}, "class_values": {"age": [1, 2, 3]}}, "5 classes, and 3 numbers"),
        ({"bins": {"age": EDGES}, "class_values": {"age": [25, 90]}}, "not in it"),
        ({"bins": {"age": EDGES}, "class_values": {"age": "old,older"}}, "cannot be read"),
    ],
)
def test_wrong_choices_are_refused(
    tmp_path: Path, options: dict[str, object], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        _published(tmp_path, table(), **options)


def test_weights_that_find_people_stop(tmp_path: Path) -> None:
    fine = np.random.default_rng(2).lognormal(4, 0.5, ROWS)
    with pytest.raises(UnsafeError, match=r"100% of the rows.*round=.'w': \d+.*keep=") as stopped:
        _published(tmp_path, _with_weights(fine))
    assert f"{fine[0]}" not in str(stopped.value)
    assert _published(tmp_path, _with_weights(fine), keep=["w"]).weight == "w"


def test_the_weight_is_read_although_only_some_columns_are(tmp_path: Path) -> None:
    some = _published(tmp_path, table(), columns=["sex"])
    assert [column.name for column in some.columns] == ["job", "sex", "w"]


@pytest.mark.slow
def test_inspect_rehearses_the_weight() -> None:
    fine = _with_weights(np.random.default_rng(2).lognormal(4, 0.5, ROWS))
    inspection = cv.inspect(fine, sensitive="job", weight="w")
    assert "100% of the rows have a weight" in str(inspection)
    line = inspection.publish_line("in.csv", options=["--weight", "w"])
    assert f"--round w={inspection.rounding['w']}" in line
    assert "--drop w" not in line
    rounded = cv.inspect(fine, sensitive="job", weight="w", round=dict(inspection.rounding))
    assert not rounded.rounding
    assert "find hardly anybody" in str(rounded)


def test_rounded_weights_are_published(tmp_path: Path) -> None:
    weights = np.random.default_rng(2).lognormal(4, 0.5, ROWS)
    release = _published(tmp_path, _with_weights(weights), round={"w": 10})
    total = release.count(weighted=True).estimate
    assert total == pytest.approx(weights.sum(), rel=0.01)
    assert total == pytest.approx((np.rint(weights / 10) * 10).sum())
