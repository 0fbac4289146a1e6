"""HAVING goes by the estimate that is shown, and lists nothing of which nothing is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv

JOBS = [f"job {number:02d}" for number in range(12)]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    """Twelve jobs, of which few are frequent; five towns that fill all groups."""
    rng = np.random.default_rng(3)
    shares = np.linspace(20, 1, len(JOBS))
    table = pa.table(
        {
            "age": rng.integers(20, 60, 3_000),
            "job": rng.choice(JOBS, 3_000, p=shares / shares.sum()),
            "town": rng.permutation([f"town {number}" for number in range(5)] * 600),
        }
    )
    folder: Path = tmp_path_factory.mktemp("having") / "release"
    return cv.publish(table, {"job": 3, "town": 5}, folder, seed=4, record=False)


GROUPED = "SELECT job, count(*) FROM release WHERE age < 40 GROUP BY job"


@pytest.mark.parametrize("comparison", [">", ">=", "<", "<="])
def test_it_compares_the_estimate(release: cv.Release, comparison: str) -> None:
    """With a limit that lies inside of many intervals."""
    cells = {line["job"]: line for line in release.sql(GROUPED).to_dicts()}
    limit = 140
    between = [job for job, cell in cells.items() if cell["estimate"] < limit < cell["high"]]
    above = [job for job, cell in cells.items() if cell["low"] < limit < cell["estimate"]]
    assert between
    assert above
    listed = [
        line["job"]
        for line in release.sql(f"{GROUPED} HAVING count(*) {comparison} {limit}").to_dicts()
    ]
    expected = between if "<" in comparison else above
    other = above if "<" in comparison else between
    assert set(expected) <= set(listed)
    assert not set(other) & set(listed), "groups are listed by an end of their interval"


def test_what_is_not_known_is_not_listed(release: cv.Release) -> None:
    """Five towns with a fifth of the rows each: what a row publishes says nothing about it."""
    asked = "SELECT town, avg(age) FROM release GROUP BY town"
    assert all(line["estimate"] is None for line in release.sql(asked).to_dicts())
    for condition in ("> 0", "< 1000", "<> 30"):
        listed = release.sql(f"{asked} HAVING avg(age) {condition}").to_dicts()
        assert not listed, "a group of which nothing is known passes HAVING"
