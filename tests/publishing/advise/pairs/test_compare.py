"""`advise` on several columns: apart beside together, and the command for the way it would take."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil.cli.app import app, with_optional_values
from countveil.display import text_table
from countveil.errors import SettingsError
from countveil.maths.adversary.two_columns import together
from countveil.publishing.advise.advice import Advice
from countveil.publishing.advise.pairs.advice import pair_table

ROWS = 5_000


def workers(rows: int = ROWS) -> pa.Table:
    """A branch for every two of ten jobs; pay that has nothing to do with either."""
    rng = np.random.default_rng(5)
    jobs = rng.integers(0, 10, rows)
    branch = np.where(rng.random(rows) < 0.2, rng.integers(0, 5, rows), jobs // 2)
    return pa.table({
        "sex": rng.choice(["F", "M"], rows).tolist(),
        "region": rng.choice(list("nesw"), rows).tolist(),
        "job": [f"j{n}" for n in jobs],
        "branch": [f"b{n}" for n in branch],
        "pay": [f"p{n}" for n in rng.integers(0, 8, rows)],
    })  # fmt: skip


@pytest.fixture(scope="module")
def advice() -> Advice:
    # Only random groups for each column alone: that is tried elsewhere.
    return cv.advise(workers(), ["job", "branch"], seed=1, drop=["pay"], groups="random")


@pytest.mark.slow
def test_both_ways_have_a_line_for_every_ell(advice: Advice) -> None:
    (pair,) = advice.pairs
    assert pair.columns == ("job", "branch")
    assert pair.strength > 0.7
    assert {line.way for line in pair.lines} == {"apart", "together"}
    for line in pair.lines:
        if line.way == "together":
            assert line.distance == pytest.approx(1.0)
            assert line.above == (0.0, 0.0)
    table = workers()
    codes = [
        np.unique(np.array(table[n].to_pylist()), return_inverse=True)[1] for n in pair.columns
    ]
    counts = np.zeros((10, 5))
    np.add.at(counts, tuple(codes), 1)
    expected = together(counts / ROWS, 3)
    at = next(line for line in pair.lines if (line.way, line.ell) == ("together", 3))
    assert at.mean_belief == pytest.approx(expected.mean)
    assert at.largest_belief == pytest.approx(expected.largest)


def test_together_counts_pairs_more_accurately(advice: Advice) -> None:
    """Trial releases: by a factor of more than two at every ell, which chance does not reach."""
    (pair,) = advice.pairs
    share = pair.wished_share
    assert share is not None
    for ell in (3, 5):
        apart, joined = (
            next(line for line in pair.lines if (line.way, line.ell) == (way, ell)).errors[share]
            for way in ("apart", "together")
        )
        assert apart is not None
        assert joined is not None
        assert joined < apart / 2


def test_associated_columns_are_recommended_together(advice: Advice) -> None:
    (pair,) = advice.pairs
    assert pair.recommendation.method == "together"
    ell = pair.recommendation.ell
    chosen = advice.arguments()
    assert chosen["together"] == [["job", "branch"]]
    assert chosen["sensitive"] == {"job": ell, "branch": ell}
    line = advice.publish_line("in.csv")
    assert f"-s job:{ell} -s branch:{ell} --together job,branch" in line
    assert f"together={[['job', 'branch']]!r}" in advice.publish_call()
    assert "job and branch, apart and together" in str(advice)
    assert "<svg" in advice.to_html()


def test_the_table_fits_a_terminal(advice: Advice) -> None:
    """No word is broken at 80 columns, however large the errors."""
    (pair,) = advice.pairs
    wide = [replace(line, errors=dict.fromkeys(line.errors, 14.07)) for line in pair.lines]
    for lines in (pair.lines, wide):
        text = text_table(*pair_table(replace(pair, lines=lines)), width=80)
        assert len(text.strip().splitlines()) == 2 + len(lines)


@pytest.mark.slow
def test_columns_that_are_not_associated_stay_apart() -> None:
    advice = cv.advise(workers(), ["job", "pay"], seed=1, drop=["branch"], groups="random")
    (pair,) = advice.pairs
    assert pair.recommendation.method == "apart"
    assert "hardly associated" in pair.recommendation.why
    assert "together" not in advice.arguments()


@pytest.mark.slow
def test_together_alone_can_be_asked_for() -> None:
    advice = cv.advise(
        workers(), ["job", "pay"], seed=1, drop=["branch"], groups="random", together=True
    )
    (pair,) = advice.pairs
    assert {line.way for line in pair.lines} == {"together"}
    assert advice.arguments()["together"] == [["job", "pay"]]


@pytest.mark.slow
def test_three_columns_of_which_two_belong_together() -> None:
    names = ["job", "branch", "pay"]
    advice = cv.advise(workers(2_000), names, seed=1, groups="random")
    assert len(advice.pairs) == 3
    chosen = advice.arguments()
    assert chosen["together"] == [["job", "branch"]]
    assert set(chosen["sensitive"]) == set(names)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"together": ["job", "jop"]}, "'jop' is not one of them. Did you mean 'job'"),
        ({"together": "job,sex"}, "'sex' is not one of them"),
        ({"together": ["job"]}, "from two on"),
        ({"together": True, "odds": 20}, "published apart"),
        ({"together": True, "groups": "mixed"}, "random groups"),
        ({"together": True, "common": "auto"}, "random groups"),
        ({"together": True, "groups": "anatomy"}, "Only mixed and random groups"),
    ],
)
def test_what_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        cv.advise(workers(500), ["job", "branch"], **options)


@pytest.mark.slow
def test_the_command_line(tmp_path: Path) -> None:
    pc.write_csv(workers(1_500), tmp_path / "in.csv")
    words = ["advise", str(tmp_path / "in.csv"), "-s", "job", "-s", "branch", "--seed", "1"]
    words += ["--drop", "pay", "--groups", "random"]
    done = CliRunner().invoke(app, with_optional_values([*words, "--together"]))
    assert done.exit_code == 0, done.exception
    assert "job and branch, apart and together: counts of pairs:" in done.output
    line = done.output.strip().splitlines()[-1]
    assert "--together job,branch" in line
    again = shlex.split(line)
    again = again[again.index("publish") :]
    again[again.index("--to") + 1] = str(tmp_path / "release")
    done = CliRunner().invoke(app, with_optional_values([*again, "--keep", "job"]))
    assert done.exit_code == 0, (again, done.exception)
    assert cv.open(tmp_path / "release").manifest.together == (("job", "branch"),)
    done = CliRunner().invoke(app, [*words, "--format", "json"])
    (told,) = json.loads(done.output)["pairs"]
    assert {line["way"] for line in told["lines"]} == {"apart", "together"}
