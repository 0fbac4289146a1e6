"""A bound on the odds: noise over declared values, seen through by estimates, stated exactly."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv

import countveil as cv
from countveil.errors import InputError, QueryError, ReleaseError, SettingsError
from countveil.maths.guarantees.odds import epsilon_of, gamma_for, largest_odds
from countveil.release import Manifest

ROWS, K, ELL = 8_000, 30, 4
DECLARED = [*(f"job {n}" for n in range(12)), "nobody's"]
METHODS: dict[str, dict[str, Any]] = {
    "mixed": {},
    "random": {"groups": "random"},
    "common": {"common": {"job": ["job 0"]}},
}


def workers() -> pa.Table:
    rng = np.random.default_rng(8)
    jobs = rng.choice(DECLARED[:12], ROWS, p=np.arange(12, 0, -1) / 78)
    town = np.where(rng.random(ROWS) < 0.5, "here", "there")
    return pa.table({"row": list(range(ROWS)), "town": town.tolist(), "job": jobs.tolist()})


def published(to: Path, seed: int = 3, **options: Any) -> cv.Release:
    options = {"odds": K, "domain": {"job": DECLARED}, "keep": ["row"], "seed": seed, **options}
    return cv.publish(workers(), {"job": ELL}, to, **options)


@pytest.fixture(scope="module", params=list(METHODS))
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    return published(tmp_path_factory.mktemp("odds") / "release", **METHODS[request.param])


def test_the_manifest_says_what_was_done(release: cv.Release) -> None:
    entry = release.manifest.sensitive["job"]
    different = entry.groups == "mixed" and not entry.common
    assert entry.odds is not None
    assert entry.odds.at_most == K
    assert entry.odds.gamma == gamma_for(K, 13, ELL, different=different)
    assert entry.odds.epsilon == epsilon_of(entry.odds.gamma, 13)
    assert largest_odds(entry.odds.gamma, 13, ELL, different=different) <= K
    assert entry.domain == tuple(DECLARED)
    text = " ".join(release.manifest.statement)
    assert f"with epsilon = {entry.odds.epsilon:.4g}" in text
    assert f"at most K = {K}" in text
    assert "were fixed without looking at this table" in text
    assert cv.verify(release.folder) == []
    assert cv.open(release.folder).manifest == release.manifest


def test_values_that_nobody_has_are_published(release: cv.Release) -> None:
    """About ROWS * gamma / 13 rows publish the one that nobody has."""
    values = Counter(pq.read_table(release.folder / "data")["job"].to_pylist())
    assert values["nobody's"] > 0


def test_rows_publish_as_often_as_noise_and_groups_say(release: cv.Release) -> None:
    """P(publish own value) = kept a + (1 - kept) b, averaged; six standard errors of a binomial."""
    entry = release.manifest.sensitive["job"]
    assert entry.odds is not None
    true = dict(zip(*(workers()[name].to_pylist() for name in ("row", "job")), strict=True))
    rows = pq.read_table(release.folder / "data").to_pylist()
    counts = np.array([Counter(true.values())[job] for job in DECLARED], np.float64)
    view = release.view_of("job", np.array([Counter(r["job"] for r in rows)[j] for j in DECLARED]))
    own = sum(true[row["row"]] == row["job"] for row in rows)
    expected = float(view.a @ counts)
    assert abs(own - expected) < 6 * math.sqrt(expected)


@pytest.mark.few(1)
@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
def test_counts_are_seen_through_the_noise(release: cv.Release, method: str) -> None:
    table = workers().to_pylist()
    for job in DECLARED:
        truth = sum(row["town"] == "here" and row["job"] == job for row in table)
        cell = release.count("town = 'here'", job=job, method=method)
        assert cell.low is not None
        assert cell.high is not None
        # Intervals of 95% hold the truth; six standard errors hold it but once in 1e8.
        width = cell.high - cell.low
        assert cell.low - 2 * width <= truth <= cell.high + 2 * width
    whole = release.count(job="job 0", method=method)
    assert whole.estimate == pytest.approx(
        sum(row["job"] == "job 0" for row in table), abs=6 * float(whole.std_error or 0)
    )


@pytest.mark.slow
def test_plain_sql_says_the_same(release: cv.Release) -> None:
    import duckdb

    for query in (
        "SELECT count(*) FROM release WHERE town = 'here' AND job = 'job 1'",
        "SELECT count(*) FROM release WHERE job = 'job 1'",
    ):
        text = release.plain_sql(query, dialect="duckdb")
        with duckdb.connect() as connection:
            connection.register("release", pq.read_table(release.folder / "data"))
            estimate, error = connection.execute(text).fetchall()[0]
        asked = release.sql(query, method="unbiased").blocks[0].estimates[0]
        assert estimate == pytest.approx(asked.estimate, rel=1e-6)
        assert error == pytest.approx(asked.std_error, rel=1e-6)


@pytest.mark.slow
def test_the_iteration_sees_through_the_noise(release: cv.Release) -> None:
    asked: dict[str, Any] = {"where": "town = 'here'", "job": "job 1"}
    iterated, unbiased = (release.count(**asked, method=m) for m in ("bayes", "unbiased"))
    # Mixed groups: the unbiased answer is corrected by the whole channel, by a few rows.
    near = 0.2 * float(unbiased.std_error or 0)
    assert iterated.estimate == pytest.approx(unbiased.estimate, abs=near)
    with pytest.raises(QueryError, match="random groups, common values or noise"):
        release.count(**asked, method="bayes", channel="printed")


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"domain": None}, SettingsError, "needs its values to be declared"),
        ({"odds": 1}, SettingsError, "above 1"),
        ({"odds": 0.5}, SettingsError, "above 1"),
        ({"odds": math.inf}, SettingsError, "above 1"),
        ({"odds": "20"}, SettingsError, "a number above 1"),
        ({"groups": "anatomy"}, SettingsError, "mixed and random groups"),
        ({"domain": {"job": DECLARED[:5]}}, InputError, "outside its declared domain"),
    ],
)
def test_what_is_refused(
    options: dict[str, Any], error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        published(tmp_path / "release", **options)
    assert list(tmp_path.iterdir()) == []


def test_classes_with_edges_are_declared_and_others_are_not(tmp_path: Path) -> None:
    ages = pa.table({"age": [n % 80 for n in range(800)]})
    options: dict[str, Any] = {"odds": 10, "seed": 1}
    release = cv.publish(ages, {"age": 2}, tmp_path / "r", bins={"age": [20, 40, 60]}, **options)
    assert release.manifest.sensitive["age"].odds is not None
    with pytest.raises(SettingsError, match="with edges of your choice"):
        cv.publish(ages, {"age": 2}, tmp_path / "s", bins={"age": "q4"}, **options)


def test_a_missing_value_is_refused(tmp_path: Path) -> None:
    table = pa.table({"job": ["a", "b", None, "c"] * 20})
    with pytest.raises(InputError, match="a line of two double quotes in the file"):
        cv.publish(table, {"job": 2}, tmp_path / "r", odds=10, domain={"job": ["a", "b", "c"]})


MISSING = [None, *DECLARED]


def with_missing() -> pa.Table:
    table = workers()
    jobs = [None if n % 9 == 0 else job for n, job in enumerate(table["job"].to_pylist())]
    return table.set_column(2, "job", pa.array(jobs))


@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["frame", "csv", "parquet", "sqlite"])
def test_the_missing_value_can_be_declared(kind: str, tmp_path: Path) -> None:
    """It takes part in the noise as any other value; rows publish it, and it is estimated."""
    file = tmp_path / "jobs.txt"
    file.write_text("\n".join(["value", '""', *DECLARED]) + "\n\n")
    table, source = with_missing(), tmp_path / f"people.{kind}"
    address: Any = source
    if kind == "frame":
        address = table
    elif kind == "csv":
        csv.write_csv(table, source)
    elif kind == "parquet":
        pq.write_table(table, source)
    else:
        address = f"sqlite:{source}#people"
        with contextlib.closing(sqlite3.connect(source)) as connection, connection:
            connection.execute("CREATE TABLE people (row INTEGER, town TEXT, job TEXT)")
            rows = zip(*table.to_pydict().values(), strict=True)
            connection.executemany("INSERT INTO people VALUES (?, ?, ?)", rows)
    domain: Any = {"job": MISSING if kind == "frame" else file}
    release = cv.publish(
        address, {"job": ELL}, tmp_path / "r", odds=K, domain=domain, keep=["row"], seed=5
    )
    entry = release.manifest.sensitive["job"]
    assert entry.domain == tuple(MISSING)
    assert entry.odds is not None
    assert entry.odds.gamma == gamma_for(K, 14, ELL)
    assert not entry.confirmed
    assert cv.verify(release.folder) == []
    truth = table["job"].null_count
    found = release.sql("SELECT count(*) FROM release WHERE job IS NULL").blocks[0].estimates[0]
    # Six standard errors: once in 1e8.
    assert found.estimate is not None
    assert abs(found.estimate - truth) < 6 * float(found.std_error or 0)
    asked = release.sql("SELECT count(*) FROM release WHERE town = 'here' AND job IS NULL")
    here = sum(r["town"] == "here" and r["job"] is None for r in table.to_pylist())
    estimate = asked.blocks[0].estimates[0]
    assert estimate.estimate is not None
    assert abs(estimate.estimate - here) < 6 * float(estimate.std_error or 0)


def test_a_missing_value_that_nobody_has_is_published_if_it_is_declared(tmp_path: Path) -> None:
    """With 8,000 gamma / 14 rows expected, none is published less than once in 1e6."""
    release = published(tmp_path / "r", domain={"job": MISSING})
    entry = release.manifest.sensitive["job"]
    assert entry.odds is not None
    assert math.exp(-ROWS * entry.odds.gamma / 14) < 1e-6
    values = Counter(pq.read_table(release.folder / "data")["job"].to_pylist())
    assert values[None] > 0


def test_values_that_occur_can_be_confirmed_as_public(tmp_path: Path) -> None:
    release = cv.publish(
        with_missing(), {"job": ELL}, tmp_path / "r", odds=K, seed=5, keep=["row"],
        domain={"job": "public:occurring"},
    )  # fmt: skip
    entry = release.manifest.sensitive["job"]
    assert entry.confirmed
    assert set(entry.domain) == {None, *DECLARED[:12]}
    assert cv.open(release.folder).manifest == release.manifest
    text = " ".join(release.manifest.statement)
    assert "the publisher confirms that it is public" in text
    assert "were fixed without looking at this table" not in text
    assert json.loads(release.manifest.to_json())["sensitive"]["job"]["confirmed"] is True


def test_confirmed_values_without_a_bound_and_of_classes(tmp_path: Path) -> None:
    table = pa.table({"age": [None if n % 10 == 0 else n % 80 for n in range(800)]})
    release = cv.publish(
        table, {"age": 2}, tmp_path / "r", domain={"age": "public:occurring"}, seed=1,
    )  # fmt: skip
    assert release.manifest.sensitive["age"].confirmed
    assert "public knowledge" in " ".join(release.manifest.statement)
    bounded = cv.publish(
        table, {"age": 2}, tmp_path / "s", bins={"age": "q4"}, odds=10, seed=1,
        domain={"age": "public:occurring"},
    )  # fmt: skip
    domain = bounded.manifest.sensitive["age"].domain
    assert domain[0] is None
    assert len(domain) == 5
    with pytest.raises(InputError, match="For classes it is declared with"):
        cv.publish(table, {"age": 2}, tmp_path / "t", bins={"age": [20, 40]}, odds=10, seed=1)


def test_a_manifest_cannot_confirm_what_was_not_declared(tmp_path: Path) -> None:
    manifest = published(tmp_path / "r").manifest
    entry = manifest.sensitive["job"]
    for wrong in ({"confirmed": "yes"}, {"confirmed": True, "declared": False, "odds": None}):
        changed: Any = replace(manifest, sensitive={"job": replace(entry, **wrong)})
        with pytest.raises(ReleaseError, match="'confirmed' is not true"):
            Manifest.from_json(changed.to_json())


@pytest.mark.parametrize("given", ["public:", "public:all", "public:occuring"])
def test_only_one_word_confirms(given: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="public:occurring stands for the values that occur"):
        published(tmp_path / "r", domain={"job": given})


def test_a_file_of_that_name_is_never_taken_for_the_word(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("public:occurring").write_text("\n".join(DECLARED))
    with pytest.raises(SettingsError, match=r"write \./public:occurring"):
        published(tmp_path / "r", domain={"job": "public:occurring"})
    release = published(tmp_path / "r", domain={"job": "./public:occurring"})
    assert not release.manifest.sensitive["job"].confirmed


@pytest.mark.few(1)
@pytest.mark.parametrize("odds", [1.000001, 1.001])
def test_a_bound_that_only_noise_alone_would_keep(odds: float, tmp_path: Path) -> None:
    with pytest.raises(
        SettingsError, match=r"nothing could be estimated.* choose K from 1\.0"
    ) as e:
        published(tmp_path / "r", odds=odds)
    least = float(str(e.value).partition("choose K from ")[2].partition(" on")[0])
    assert gamma_for(least, 13, ELL) <= 0.999
    assert gamma_for(least - 0.001, 13, ELL) > 0.999
    assert published(tmp_path / "r", odds=least).manifest.sensitive["job"].odds is not None


def test_a_bound_that_the_noise_does_not_keep_is_not_believed(tmp_path: Path) -> None:
    manifest = published(tmp_path / "r").manifest
    entry = manifest.sensitive["job"]
    assert entry.odds is not None
    for wrong, message in (
        (replace(entry.odds, at_most=5.0), "does not keep"),
        (replace(entry.odds, gamma=entry.odds.gamma / 2), "does not keep"),
        (replace(entry.odds, epsilon=0.1), "epsilon"),
        (replace(entry.odds, gamma=0.0), "cannot be right"),
    ):
        sensitive = {"job": replace(entry, odds=wrong)}
        with pytest.raises(ReleaseError, match=message):
            Manifest.from_json(replace(manifest, sensitive=sensitive).to_json())
    content = json.loads(manifest.to_json())
    assert content["sensitive"]["job"]["odds"] == {
        "at_most": K, "gamma": entry.odds.gamma, "epsilon": entry.odds.epsilon,
    }  # fmt: skip
