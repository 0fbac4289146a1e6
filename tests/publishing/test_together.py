"""Columns together: whole vectors are published, and any set of them is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
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
from countveil.errors import QueryError, ReleaseError, SettingsError, UnsafeError
from countveil.release import Manifest
from tests.strategies import examples

ROWS, ELL = 20_000, 4


def people() -> pa.Table:
    rng = np.random.default_rng(4)
    job = rng.choice(12, ROWS, p=np.arange(12, 0, -1) / 78)
    illness = np.where(rng.random(ROWS) < 0.3, job // 2, rng.integers(0, 6, ROWS))
    town = np.where(rng.random(ROWS) < 0.3 + 0.03 * job, "here", "there")
    return pa.table({
        "town": town.tolist(),
        "years": rng.integers(1, 9, ROWS).tolist(),
        "job": [f"job {n:02d}" for n in job],
        "illness": [f"illness {n}" for n in illness],
        "colour": rng.choice(["red", "green", "blue", "white"], ROWS).tolist(),
    })  # fmt: skip


Row = dict[str, Any]
SETS: dict[str, Callable[[Row], bool]] = {
    "town = 'here' AND job = 'job 02' AND illness = 'illness 1'": lambda r: (
        r["town"] == "here" and r["job"] == "job 02" and r["illness"] == "illness 1"
    ),
    "town = 'here' AND (job = 'job 02' OR illness = 'illness 1')": lambda r: (
        r["town"] == "here" and (r["job"] == "job 02" or r["illness"] == "illness 1")
    ),
    "town = 'here' AND job IN ('job 01', 'job 03') AND illness <> 'illness 1'": lambda r: (
        r["town"] == "here" and r["job"] in ("job 01", "job 03") and r["illness"] != "illness 1"
    ),
    "town = 'here' AND illness = 'illness 2'": lambda r: (
        r["town"] == "here" and r["illness"] == "illness 2"
    ),
    "job = 'job 00' AND illness = 'illness 0'": lambda r: (
        r["job"] == "job 00" and r["illness"] == "illness 0"
    ),
}


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    to = tmp_path_factory.mktemp("together") / "release"
    return cv.publish(people(), {"job": ELL, "illness": ELL}, to, together=True, seed=2)


@pytest.mark.few(2)
@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
@pytest.mark.parametrize("condition", SETS)
def test_any_set_of_vectors_is_counted(release: cv.Release, condition: str, method: str) -> None:
    """Six standard errors: a false alarm with probability below 1e-8."""
    truth = sum(map(SETS[condition], people().to_pylist()))
    cell = release.count(condition, method=method)
    assert cell.estimate is not None
    assert cell.std_error is not None
    assert abs(cell.estimate - truth) < 6 * cell.std_error
    assert cell.std_error < 0.25 * truth


@pytest.mark.parametrize("condition", SETS)
def test_bayes_is_the_unbiased_count_that_is_possible(release: cv.Release, condition: str) -> None:
    iterated, unbiased = (release.count(condition, method=m) for m in ("bayes", "unbiased"))
    assert iterated.estimate == pytest.approx(unbiased.estimate, rel=1e-4)
    assert iterated.std_error == unbiased.std_error
    if "AND illness" in condition or "OR illness" in condition:
        with pytest.raises(QueryError, match="together with others; use channel 'exact'"):
            release.count(condition, method="bayes", channel="printed")


def test_many_counts_at_once_are_those_of_each(release: cv.Release) -> None:
    together = release.counts(list(SETS)).blocks[0].estimates
    for cell, condition in zip(together, SETS, strict=True):
        alone = release.count(condition)
        assert cell.estimate == pytest.approx(alone.estimate)
        assert cell.std_error == pytest.approx(alone.std_error)


def test_pairs_are_counted_with_intervals_that_cover(release: cv.Release) -> None:
    answer = release.sql(
        "SELECT job, illness, count(*) FROM release WHERE town = 'here' GROUP BY job, illness"
    )
    rows = people().to_pylist()
    truth = Counter((r["job"], r["illness"]) for r in rows if r["town"] == "here")
    inside = [
        float(cell.low or 0) <= truth[key] <= float(cell.high or 0)
        for key, cell in zip(answer.groups, answer.blocks[0].estimates, strict=True)
    ]
    # Of 72 intervals of 95%, 56 or fewer hold the truth with probability below 1e-7.
    assert len(inside) == 72
    assert sum(inside) > 56


def test_the_whole_table_is_what_was_published(release: cv.Release) -> None:
    answer = release.sql("SELECT job, illness, count(*) FROM release GROUP BY ALL")
    data = pq.read_table(release.folder / "data").to_pylist()
    published = Counter((row["job"], row["illness"]) for row in data)
    for key, cell in zip(answer.groups, answer.blocks[0].estimates, strict=True):
        assert cell.estimate in (None, pytest.approx(published[key]))


def test_sums_and_averages_over_pairs(release: cv.Release) -> None:
    rows = [r for r in people().to_pylist() if r["job"] == "job 00" and r["illness"] == "illness 0"]
    where = "WHERE job = 'job 00' AND illness = 'illness 0'"
    years = sum(row["years"] for row in rows)
    for query, truth in (
        (f"SELECT sum(years) FROM release {where}", years),
        (f"SELECT avg(years) FROM release {where}", years / len(rows)),
    ):
        cell = release.sql(query).blocks[0].estimates[0]
        assert abs(float(cell.estimate or 0) - truth) < 6 * float(cell.std_error or 0)


def test_a_published_vector_is_that_of_a_row(release: cv.Release) -> None:
    real = {(row["job"], row["illness"]) for row in people().to_pylist()}
    data = pq.read_table(release.folder / "data").to_pylist()
    assert {(row["job"], row["illness"]) for row in data} <= real


def test_the_promise_speaks_of_vectors(release: cv.Release) -> None:
    text = " ".join(release.manifest.statement)
    assert "Columns together. job and illness have the same groups and one draw" in text
    assert f"by a factor of about {1 + ROWS / (ELL - 1):,.0f}" in text
    assert release.manifest.together == (("job", "illness"),)
    assert cv.verify(release.folder) == []
    assert cv.open(release.folder).manifest == release.manifest


@pytest.mark.slow
def test_another_column_apart_can_be_crossed(tmp_path: Path) -> None:
    ells = {"job": ELL, "illness": ELL, "colour": 2}
    release = cv.publish(people(), ells, tmp_path / "r", together=["job", "illness"], seed=1)
    assert release.manifest.sensitive["colour"].groups == "mixed"
    rows = people().to_pylist()
    truth = sum(
        (r["job"], r["illness"], r["colour"]) == ("job 00", "illness 0", "red") for r in rows
    )
    where = "job = 'job 00' AND illness = 'illness 0' AND colour = 'red'"
    for method in ("shrunk", "unbiased"):
        cell = release.count(where, method=method)
        assert abs(float(cell.estimate or 0) - truth) < 6 * float(cell.std_error or 0)
    either = sum(
        (r["job"], r["illness"]) == ("job 00", "illness 0") or r["colour"] == "blue" for r in rows
    )
    for method in ("shrunk", "unbiased"):
        where = "(job = 'job 00' AND illness = 'illness 0') OR colour = 'blue'"
        cell = release.count(where, method=method)
        assert abs(float(cell.estimate or 0) - either) < 6 * float(cell.std_error or 0)
        assert float(cell.std_error or 0) < 0.2 * either


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"together": ["job"]}, "from two on"),
        ({"together": ["job", "town"]}, "'town' is not one of them"),
        ({"together": [["job", "illness"], ["illness", "job"]]}, "named twice"),
        ({"together": True, "ells": {"job": 3, "illness": 4}}, "share one ell"),
        ({"together": True, "groups": "anatomy"}, "not with the paper's rule"),
        ({"together": True, "common": "auto"}, "cannot have common values"),
        ({"together": True, "odds": 20}, "published apart"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    ells = options.pop("ells", {"job": ELL, "illness": ELL})
    with pytest.raises(SettingsError, match=message):
        cv.publish(people(), ells, tmp_path / "release", **options)
    assert list(tmp_path.iterdir()) == []


def test_a_manifest_with_impossible_sets_is_refused(release: cv.Release) -> None:
    manifest = release.manifest
    entry = manifest.sensitive["job"]
    for wrong in (
        replace(manifest, together=(("job", "town"),)),
        replace(manifest, together=(("job",),)),
        replace(manifest, together=(("job", "job"),)),
        replace(manifest, sensitive={**manifest.sensitive, "job": replace(entry, ell=5)}),
        replace(manifest, sensitive={**manifest.sensitive, "job": replace(entry, groups="mixed")}),
    ):
        with pytest.raises(ReleaseError, match="published together"):
            Manifest.from_json(wrong.to_json())


@examples(40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), st.integers(0, 2), st.booleans()),
        min_size=4,
        max_size=40,
    ),
    st.integers(2, 4),
    st.sampled_from(["absorb", "drop"]),
)
def test_rows_publish_vectors_of_rows(
    tmp_path_factory: pytest.TempPathFactory,
    vectors: list[tuple[str | None, int, bool]],
    ell: int,
    residue: str,
) -> None:
    a, b, c = zip(*vectors, strict=True)
    table = pa.table({
        "row": list(range(len(vectors))), "a": pa.array(a, pa.string()), "b": b, "c": c,
    })  # fmt: skip
    to = tmp_path_factory.mktemp("any") / "release"
    cv.publish(
        table, {"a": ell, "b": ell, "c": ell}, to, together=True, residue=residue,
        keep=["row", "a", "b", "c"],
    )  # fmt: skip
    rows = pq.read_table(to / "data").to_pylist()
    left_out = len(vectors) % ell if residue == "drop" else 0
    assert len(rows) == len({row["row"] for row in rows}) == len(vectors) - left_out
    assert {(row["a"], row["b"], row["c"]) for row in rows} <= set(vectors)


def test_columns_that_determine_each_other_are_no_harm_in_one_draw(tmp_path: Path) -> None:
    """A code beside its name stops a publication apart, and says how both can be published."""
    jobs = [f"job {n % 7}" for n in range(700)]
    table = pa.table(
        {"job": jobs, "code": [f"c{job[-1]}" for job in jobs], "sex": ["F", "M"] * 350}
    )
    ells = {"job": 3, "code": 3}
    with pytest.raises(UnsafeError, match=r"together=\['job', 'code'\]"):
        cv.publish(table, ells, tmp_path / "r")
    release = cv.publish(table, ells, tmp_path / "r", together=True, seed=1)
    assert release.manifest.together == (("job", "code"),)
    # Another column that tells the code still stops.
    more = table.append_column("label", pa.array([f"L{job[-1]}" for job in jobs]))
    with pytest.raises(UnsafeError, match="'label' gives"):
        cv.publish(more, ells, tmp_path / "s", together=True, seed=1)
