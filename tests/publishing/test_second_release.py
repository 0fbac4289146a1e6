"""A second release of the same people breaks the promise: it is made only by those who insist."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import TargetError
from tests.robustness.conftest import Quick
from tests.robustness.tools import assert_refused, unchanged

JOBS = ("baker", "clerk", "driver", "nurse")


def people(rows: int = 400, first: int = 0) -> pa.Table:
    numbers = np.arange(first, first + rows)
    return pa.table(
        {
            "age": (numbers * numbers) % 61 + 18,
            "town": [f"town {number * 7 % 23}" for number in numbers.tolist()],
            "job": [JOBS[number % 4] for number in numbers.tolist()],
        }
    )


def publish(table: Any, to: Path, **options: Any) -> cv.Release:
    return cv.publish(table, {"job": 3}, to, **options)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ({}, "add force=True and again=True"),
        ({"force": True}, "add again=True"),
        ({"again": True}, "add force=True"),
    ],
)
def test_a_release_is_replaced_only_by_those_who_say_it_twice(
    given: dict[str, bool], asked: str, tmp_path: Path
) -> None:
    publish(people(), tmp_path / "r")
    with unchanged(tmp_path):
        for more in ({}, {"dry_run": True}):
            with pytest.raises(TargetError, match=asked) as refused:
                publish(people(), tmp_path / "r", **given, **more)
            assert "combine the draws" in str(refused.value)
            assert "If nobody else has ever had it" in str(refused.value)
    publish(people(), tmp_path / "r", force=True, again=True)
    assert cv.verify(tmp_path / "r") == []


@pytest.mark.slow
def test_the_command_line_says_it_with_flags(tmp_path: Path, quick: Quick) -> None:
    cv.generate(500, tmp_path / "census.csv", seed=1)
    words = ("publish", tmp_path / "census.csv", "-s", "occupation:3", "--to")
    assert quick(*words, tmp_path / "r").code == 0
    with unchanged(tmp_path):
        assert_refused(quick(*words, tmp_path / "r", "--force"), "promise", "add --again to")
        assert_refused(quick(*words, tmp_path / "s"), "same people", "add --again;")
    assert quick(*words, tmp_path / "r", "--force", "--again").code == 0
    assert quick(*words, tmp_path / "s", "--again").code == 0


def test_a_release_of_the_same_people_beside_it_stops(tmp_path: Path) -> None:
    publish(people(), tmp_path / "first")
    order = np.random.default_rng(1).permutation(400)
    with unchanged(tmp_path):
        # Another order of rows, other columns and another ell are still the same people.
        with pytest.raises(TargetError, match="first seems to be a release of the same people"):
            publish(people().take(pa.array(order)), tmp_path / "second")
        with pytest.raises(TargetError, match="first seems to be"):
            cv.publish(people(), {"job": 2}, tmp_path / "second", drop="age")
        with pytest.raises(TargetError, match="first seems to be"):
            publish(people(), tmp_path / "second", dry_run=True)
    assert publish(people(), tmp_path / "second", again=True).rows == 400


def test_rows_that_are_left_over_do_not_hide_the_people(tmp_path: Path) -> None:
    publish(people(401), tmp_path / "first", residue="drop")
    with pytest.raises(TargetError, match="first seems to be"):
        publish(people(401), tmp_path / "second")
    with pytest.raises(TargetError, match="first seems to be"):
        publish(people(401), tmp_path / "second", residue="drop")


@pytest.mark.slow
def test_other_people_trials_and_other_folders_do_not_stop(tmp_path: Path) -> None:
    publish(people(), tmp_path / "first")
    publish(people(first=1_000), tmp_path / "other people")
    publish(people(404), tmp_path / "more people")
    publish(people(), tmp_path / "a trial", seed=1)
    (tmp_path / "elsewhere").mkdir()
    publish(people(), tmp_path / "elsewhere" / "again")
    (tmp_path / "elsewhere" / "broken").mkdir()
    (tmp_path / "elsewhere" / "broken" / "manifest.json").write_text("{}")
    publish(people(404), tmp_path / "elsewhere" / "more people")


def test_a_trial_is_no_release_that_others_have(tmp_path: Path) -> None:
    publish(people(), tmp_path / "trial", seed=1)
    publish(people(), tmp_path / "first")
    assert cv.open(tmp_path / "first").manifest.randomness == "cryptographic"
