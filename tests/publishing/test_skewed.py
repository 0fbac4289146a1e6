"""Columns with very frequent values: random groups, common values, and what is refused."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import IneligibleError, QueryError, ReleaseError, SettingsError
from countveil.release import Manifest
from tests.strategies import examples

HOME, ROWS = "United States", 6_000
METHODS: dict[str, dict[str, Any]] = {
    "random": {"groups": "random"},
    "common": {"common": {"country": HOME}},
    "auto": {"common": "auto"},
}


def skewed() -> pa.Table:
    rng = np.random.default_rng(5)
    others = [f"country {n}" for n in range(20)]
    country = np.where(rng.random(ROWS) < 0.8, HOME, rng.choice(others, ROWS))
    region = np.where(rng.random(ROWS) < 0.4, "north", "south")
    return pa.table({"region": region.tolist(), "country": country.tolist()})


@pytest.fixture(scope="module", params=list(METHODS))
def release(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    to = tmp_path_factory.mktemp("skewed") / "release"
    return cv.publish(skewed(), {"country": 5}, to, seed=11, **METHODS[request.param])


def test_the_whole_table_is_counted(release: cv.Release) -> None:
    assert cv.verify(release.folder) == []
    truth = Counter(skewed()["country"].to_pylist())
    answer = release.sql("SELECT country, count(*) FROM release GROUP BY country")
    inside = [
        float(cell.low or 0) <= truth[key[0]] <= float(cell.high or 0)
        for key, cell in zip(answer.groups, answer.blocks[0].estimates, strict=True)
    ]
    # 21 intervals of 95%; 13 or fewer hold the truth with probability below 1e-6.
    assert sum(inside) > 13


@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
def test_the_common_value_is_estimated_in_a_part(release: cv.Release, method: str) -> None:
    table = skewed().to_pylist()
    truth = sum(row["region"] == "north" and row["country"] == HOME for row in table)
    cell = release.count("region = 'north'", country=HOME, method=method)
    assert cell.estimate is not None
    assert cell.std_error is not None
    # Six standard errors: a false alarm with probability below 1e-8.
    assert abs(cell.estimate - truth) < 6 * cell.std_error < 0.6 * truth


@pytest.mark.slow
def test_plain_sql_says_the_same(release: cv.Release) -> None:
    import duckdb

    for query in (
        f"SELECT count(*) FROM release WHERE region = 'north' AND country = '{HOME}'",
        f"SELECT count(*) FROM release WHERE country = '{HOME}'",
        "SELECT count(*) FROM release WHERE region = 'south' AND country = 'country 3'",
    ):
        text = release.plain_sql(query, dialect="duckdb")
        with duckdb.connect() as connection:
            connection.register("release", pq.read_table(release.folder / "data"))
            estimate, error = connection.execute(text).fetchall()[0]
        asked = release.sql(query, method="unbiased").blocks[0].estimates[0]
        assert estimate == pytest.approx(asked.estimate, rel=1e-9)
        assert error == pytest.approx(asked.std_error, rel=1e-6)


def test_the_iteration_ends_at_the_unbiased_count_that_is_possible(release: cv.Release) -> None:
    query = "SELECT region, country, count(*) FROM release GROUP BY ALL"
    iterated, unbiased = (release.sql(query, method=method) for method in ("bayes", "unbiased"))
    rows = {group[0]: 0.0 for group in unbiased.groups}
    for (region, _), cell in zip(unbiased.groups, unbiased.estimates, strict=True):
        rows[region] += cell.estimate or 0.0
    for group, one, two in zip(
        iterated.groups, iterated.estimates, unbiased.estimates, strict=True
    ):
        # Common values: the unbiased answer is corrected by the whole channel, by a few rows.
        near = 1e-3 if release.manifest.sensitive["country"].groups == "random" else 0.2
        possible = min(max(two.estimate or 0.0, 0.0), rows[group[0]])
        assert one.estimate == pytest.approx(possible, abs=near * (two.std_error or 1.0))
        assert (one.std_error, one.low, one.high) == (two.std_error, two.low, two.high)
    assert "Iterations" in " ".join(iterated.warnings)


def test_the_printed_channel_is_refused_with_what_works(release: cv.Release) -> None:
    with pytest.raises(QueryError, match=r"groups of different values.*use channel 'exact'"):
        release.count("region = 'north'", country=HOME, method="bayes", channel="printed")


def test_the_promise_says_what_is_different(release: cv.Release) -> None:
    text = " ".join(release.manifest.statement)
    entry = release.manifest.sensitive["country"]
    if entry.groups == "random":
        assert "chosen at random whatever their values" in text
        assert "1/ell + (1 - 1/ell) p" in text
        assert entry.common == ()
    else:
        assert f"except that '{HOME}', which is a common value" in text
        published = Counter(pq.read_table(release.folder / "data")["country"].to_pylist())
        share = published[HOME] / ROWS
        # 20 values share what is not common; their own is one of 20 that they do not meet.
        expected = 1 / (1 + 4 * (1 - share) * 0.95)
        said = float(text.partition("if it is not common, with probability ")[2][:4])
        assert said == pytest.approx(expected, abs=0.02)
        # A common value meets itself a little less often than chance would have it.
        believed = float(text.partition(f" for '{HOME}'")[0][-4:])
        assert believed == pytest.approx(share + (1 - share) / 5, abs=0.01)
        assert entry.common == (HOME,)
    assert "at least ell rows with different values" not in text


def test_without_a_method_for_it_every_way_is_named(tmp_path: Path) -> None:
    with pytest.raises(IneligibleError) as caught:
        cv.publish(skewed(), {"country": 5}, tmp_path / "release")
    text = str(caught.value)
    assert "common='auto'" in text
    assert "groups='random'" in text
    assert "leaving" in text
    assert not (tmp_path / "release").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"common": {"country": "Untied States"}}, "no value 'Untied States'.*United States"),
        ({"common": {"country": None}}, "no missing value"),
        ({"common": {"region": "north"}}, "'region' is not one of them"),
        ({"common": "all"}, "common='auto' for the frequent ones"),
        ({"common": "auto", "groups": "random"}, "for mixed groups"),
        ({"common": "auto", "groups": "anatomy"}, "for mixed groups"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=message):
        cv.publish(skewed(), {"country": 5}, tmp_path / "release", **options)
    assert list(tmp_path.iterdir()) == []


def test_another_value_that_is_too_frequent_is_named(tmp_path: Path) -> None:
    table = pa.table({"job": ["a"] * 60 + ["b"] * 30 + [f"c{n}" for n in range(10)]})
    with pytest.raises(IneligibleError, match=r"'b' occurs 30 times.*unless it is common"):
        cv.publish(table, {"job": 5}, tmp_path / "release", common={"job": "a"}, keep=["job"])


def test_more_rows_in_a_group_than_there_are(tmp_path: Path) -> None:
    table = pa.table({"job": ["a", "b", "a"]})
    with pytest.raises(SettingsError, match="but the table of column 'job' has only 3"):
        cv.publish(table, {"job": 5}, tmp_path / "release", groups="random", keep=["job"])


def test_common_values_that_are_not_there_are_not_believed(tmp_path: Path) -> None:
    release = cv.publish(skewed(), {"country": 5}, tmp_path / "r", seed=1, common="auto")
    manifest, entry = release.manifest, release.manifest.sensitive["country"]
    assert Manifest.from_json(manifest.to_json()) == manifest
    for wrong in (
        replace(entry, common=("Mars",)),
        replace(entry, common=(HOME, HOME)),
        replace(entry, groups="random"),
    ):
        text = replace(manifest, sensitive={"country": wrong}).to_json()
        with pytest.raises(ReleaseError, match="malformed: common values"):
            Manifest.from_json(text)


@pytest.mark.slow
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.sampled_from(["a", "a", "a", "b", "c", None]), min_size=6, max_size=60),
    st.integers(2, 6),
    st.sampled_from(["absorb", "drop"]),
)
def test_any_column_can_be_published_with_random_groups(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[str | None],
    ell: int,
    residue: str,
) -> None:
    table = pa.table({"row": list(range(len(values))), "job": pa.array(values, pa.string())})
    to = tmp_path_factory.mktemp("any") / "release"
    release = cv.publish(
        table, {"job": ell}, to, groups="random", residue=residue, keep=["row", "job"]
    )
    rows = pq.read_table(to / "data").to_pylist()
    assert len(rows) == release.rows == len(values) - (len(values) % ell) * (residue == "drop")
    assert {row["job"] for row in rows} <= set(values)
    assert len({row["row"] for row in rows}) == len(rows)
