"""`advise --odds`: what a bound on the odds costs on a table, before anything is published."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil.cli.app import app
from countveil.errors import InputError, SettingsError
from countveil.maths.guarantees.odds import cost_of, epsilon_of, gamma_for
from countveil.publishing.advise.advice import Advice

ROWS, K = 4_000, 25
JOBS = [f"j{n}" for n in range(8)]
DECLARED = [*JOBS, "nobody's", "nobody's either"]


def workers() -> pa.Table:
    rng = np.random.default_rng(6)
    jobs = rng.choice(JOBS, ROWS, p=np.arange(8, 0, -1) / 36)
    return pa.table({
        "sex": rng.choice(["F", "M"], ROWS).tolist(),
        "region": rng.choice(list("nesw"), ROWS).tolist(),
        "job": jobs.tolist(),
    })  # fmt: skip


@pytest.fixture(scope="module")
def advice() -> Advice:
    return cv.advise(workers(), "job", seed=1, odds=K, domain={"job": DECLARED})


@pytest.mark.slow
def test_every_method_is_tried_with_noise_too(advice: Advice) -> None:
    column = advice["job"]
    bounded = [line for line in column.methods if line.odds is not None]
    assert {line.method for line in bounded} >= {"mixed after noise", "random after noise"}
    for line in bounded:
        assert line.odds == K
        different = line.method.startswith("mixed")
        assert line.gamma == gamma_for(K, 10, line.ell, different=different)
        assert line.epsilon == epsilon_of(line.gamma, 10)
        plain = line.method.removesuffix(" after noise")
        without = next(
            (one for one in column.methods if (one.method, one.ell) == (plain, line.ell)), None
        )
        if without is not None:
            assert line.mean_belief is not None
            assert without.mean_belief is not None
            assert line.mean_belief < without.mean_belief


@pytest.mark.slow
def test_noise_costs_about_as_much_as_its_formula_says(advice: Advice) -> None:
    """Unbiased errors grow by 1 / (1 - gamma), and by a little more where noise adds rows."""
    for line in advice["job"].methods:
        if line.method == "random after noise" and line.ell <= 5:
            without = next(
                one for one in advice["job"].methods
                if (one.method, one.ell) == ("random", line.ell)
            )  # fmt: skip
            assert line.error is not None
            assert without.error is not None
            # Mean over the declared values here, over those that occur there.
            ratio = line.error * 10**0.5 / (without.error * 8**0.5)
            expected = cost_of(K, 10, line.ell, different=False).error_times
            assert 0.95 * expected < ratio < 1.6 * expected


def test_the_costs_of_other_bounds(advice: Advice) -> None:
    column = advice["job"]
    ell = column.recommendation.ell
    assert ell is not None
    assert [cost.odds for cost in column.costs] == [10, 20, K, 50, 200, 1_000]
    assert [cost.gamma for cost in column.costs] == sorted(
        (cost.gamma for cost in column.costs), reverse=True
    )
    for cost in column.costs:
        assert cost.error_times == pytest.approx(1 / (1 - cost.gamma))


def test_known_costs() -> None:
    """V = 50 at ell 5: errors 2.1, 1.5, 1.2, 1.05 and 1.01 times."""
    times = [cost_of(k, 50, 5).error_times for k in (10, 20, 50, 200, 1_000)]
    assert [round(one, 1) for one in times[:3]] == [2.1, 1.5, 1.2]
    assert [round(one, 2) for one in times[3:]] == [1.05, 1.01]


def test_the_recommendation_keeps_the_bound(advice: Advice) -> None:
    chosen = advice["job"].recommendation
    assert chosen.method.endswith(" after noise")
    assert f"K = {K}" in chosen.why
    assert advice.arguments()["odds"] == K
    assert f"--odds {K}" in advice.publish_line("in.csv")
    assert "What a bound on the odds costs" in advice.to_html()
    assert "errors times" in str(advice)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"odds": 20}, SettingsError, "needs its values to be declared"),
        ({"odds": 1, "domain": {"job": DECLARED}}, SettingsError, "above 1"),
        ({"odds": "20", "domain": {"job": DECLARED}}, SettingsError, "a number above 1"),
        ({"odds": 1.0001, "domain": {"job": DECLARED}}, SettingsError, "choose K from 1.0"),
        ({"odds": 20, "domain": {"job": JOBS[:4]}}, InputError, "outside its declared domain"),
    ],
)
def test_what_is_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        cv.advise(workers(), "job", **options)


@pytest.mark.slow
def test_the_command_that_is_printed_publishes(tmp_path: Path) -> None:
    pc.write_csv(workers(), tmp_path / "in.csv")
    file = tmp_path / "jobs.txt"
    file.write_text("\n".join(DECLARED))
    words = ["advise", str(tmp_path / "in.csv"), "-s", "job", "--seed", "1", "--odds", "40"]
    done = CliRunner().invoke(app, [*words, "--domain", f"job={file}", "--groups", "random"])
    assert done.exit_code == 0, done.exception
    line = shlex.split(done.output.strip().splitlines()[-1])
    line = line[line.index("publish") :]
    assert line[line.index("--groups") + 1] == "random"
    assert line[line.index("--odds") + 1] == "40"
    line[line.index("--to") + 1] = str(tmp_path / "release")
    done = CliRunner().invoke(app, line)
    assert done.exit_code == 0, (line, done.exception)
    odds = cv.open(tmp_path / "release").manifest.sensitive["job"].odds
    assert odds is not None
    assert odds.at_most == 40
