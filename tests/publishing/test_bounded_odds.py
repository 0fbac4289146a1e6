"""A bound on the odds: noise over declared values, seen through by estimates, stated exactly."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

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


def test_bayes_is_refused(release: cv.Release) -> None:
    with pytest.raises(QueryError, match="random groups, common values or noise"):
        release.count("town = 'here'", job="job 1", method="bayes")


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
    with pytest.raises(InputError, match="rows without a value"):
        cv.publish(table, {"job": 2}, tmp_path / "r", odds=10, domain={"job": ["a", "b", "c"]})


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
