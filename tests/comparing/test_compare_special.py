"""`compare` with columns together, and with a bound on the odds."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import countveil as cv
from countveil.comparing import Comparison
from countveil.comparing.baselines.measure import JOINT_BINS, OnFrontier
from countveil.errors import InputError, SettingsError
from countveil.maths.guarantees.odds import epsilon_of, gamma_for
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture

TOGETHER = [
    "countveil, together", "together, unbiased", "countveil, apart", "apart, unbiased",
    "together, larger ell", "Anatomy", "Laplace, eps 0.05", "k-RR, same belief",
    "PRAM, same belief",
]  # fmt: skip
ODDS = [
    "ours, bounded", "ours, unbiased", "ours, random", "ours, no noise", "k-RR, same K",
    "k-RR, same eps", "k-RR, same belief", "PRAM, same belief", "Anatomy", "Laplace, same K",
    "Laplace, eps 0.05",
]  # fmt: skip


@pytest.fixture(scope="module")
def census() -> pa.Table:
    table = cv.generate(6_000, seed=1)
    assert table is not None
    return table.select(["gender", "education", "workclass", "salary", "marital"])


@pytest.fixture(scope="module")
def together(census: pa.Table) -> Comparison:
    columns = {"salary": 3, "workclass": 3}
    return cv.compare(census, columns, together=True, releases=1, seed=3)


@pytest.fixture(scope="module")
def bounded(census: pa.Table) -> Comparison:
    values = [*census["salary"].unique().to_pylist(), "never seen"]
    return cv.compare(census, {"salary": 4}, odds=15, domain={"salary": values}, releases=1, seed=3)


def _place(comparison: Comparison, method: str) -> OnFrontier:
    figures = comparison[method].figures
    assert figures is not None
    assert figures.frontier is not None
    return figures.frontier


def test_together_and_apart_by_hand(census: pa.Table, together: Comparison) -> None:
    """B of random groups is 1/9 + 8/9 h of the pairs; the others have it by their parameter."""
    assert [line.method for line in together.methods] == TOGETHER
    assert together.column == "salary and workclass"
    assert together.bins == JOINT_BINS
    pairs = census.group_by(["salary", "workclass"]).aggregate([([], "count_all")])["count_all"]
    shares = np.array(pairs) / 6_000
    h = float(shares @ shares)
    assert together.agreement == pytest.approx(h)
    assert together.values == shares.size
    ours = _place(together, "countveil, together")
    assert ours.mean_belief == pytest.approx(1 / 9 + 8 / 9 * h, abs=1e-3)
    assert ours.distance == pytest.approx(1, abs=1e-6)
    for name in ("k-RR, same belief", "PRAM, same belief"):
        assert _place(together, name).mean_belief == pytest.approx(ours.mean_belief, abs=1e-6)
    apart, larger = _place(together, "countveil, apart"), _place(together, "together, larger ell")
    assert larger.mean_belief <= apart.mean_belief < ours.mean_belief
    # Mixed groups of workclass do not exist: most people have one value.
    assert "(mixed and random)" in together["countveil, apart"].about
    for line in together.methods:
        if line.figures is not None and line.figures.frontier is not None:
            distance = line.figures.frontier.distance
            assert distance is None or distance > 1 - 1e-9


def test_pairs_are_more_accurate_together(together: Comparison) -> None:
    """At ell = 3 the weights of two columns multiply: apart has many times the variance."""
    ours, apart = _place(together, "together, unbiased"), _place(together, "apart, unbiased")
    assert ours.error is not None
    assert apart.error is not None
    assert apart.error > 2 * ours.error


def test_a_bound_on_the_odds_by_hand(bounded: Comparison) -> None:
    """Of eleven declared values ten occur; nobody changes odds by more than was asked."""
    assert [line.method for line in bounded.methods] == ODDS
    assert bounded.values == 10
    gamma = gamma_for(15, 11, 4)
    assert f"gamma = {gamma:.3g}" in bounded["ours, bounded"].about
    assert f"epsilon {epsilon_of(gamma, 11):.3g}" in bounded["ours, bounded"].about
    for name in ("ours, bounded", "ours, random", "k-RR, same K"):
        odds = _place(bounded, name).odds
        assert odds is not None
        assert odds <= 15 * (1 + 1e-5), name
    assert _place(bounded, "k-RR, same K").odds == pytest.approx(15)
    noise = _place(bounded, "k-RR, same eps").odds
    assert noise == pytest.approx(math.exp(epsilon_of(gamma, 11)))
    assert noise is not None
    assert noise > 15
    ours = _place(bounded, "ours, bounded")
    for name in ("k-RR, same belief", "PRAM, same belief"):
        assert _place(bounded, name).mean_belief == pytest.approx(ours.mean_belief, abs=1e-6)
    free, response = _place(bounded, "ours, no noise"), _place(bounded, "k-RR, same K")
    assert free.error is not None
    assert ours.error is not None
    assert response.error is not None
    # The noise costs accuracy. At the same K plain randomised response is more accurate, and is
    # believed more.
    assert free.error < ours.error
    assert response.error < ours.error
    assert response.mean_belief > ours.mean_belief


def test_in_words_and_pictures(together: Comparison, bounded: Comparison) -> None:
    assert str(together).startswith("salary and workclass together: 6,000 rows, ell = 3\n")
    assert "in the true combination of values of a row" in together.terms()
    assert "odds at most 15" in bounded.head()
    names, rows = bounded.frontier_table()
    assert names[-1] == "odds"
    assert rows[4][-1] == "15"
    assert "odds" not in together.frontier_table()[0]
    for found in (together, bounded):
        page = found.to_html()
        assert page.count("<figure") == 4
        assert "Which method errs least in counts of" in page


def test_what_is_refused(census: pa.Table) -> None:
    pair = {"salary": 3, "workclass": 3}
    with pytest.raises(SettingsError, match="values to be declared"):
        cv.compare(census, {"salary": 4}, odds=15)
    with pytest.raises(SettingsError, match="above 1"):
        cv.compare(census, {"salary": 4}, odds=1, domain={"salary": ["a"]})
    with pytest.raises(SettingsError, match="share one ell"):
        cv.compare(census, {"salary": 3, "workclass": 4}, together=True)
    with pytest.raises(SettingsError, match="columns that are published apart"):
        cv.compare(census, pair, together=True, odds=20)
    with pytest.raises(SettingsError, match="published together; 3 were named"):
        cv.compare(census, {**pair, "marital": 3}, together=["salary", "workclass"])
    many = pa.table({"a": np.arange(9_000) % 50, "b": np.arange(9_000) % 41, "c": [1, 2] * 4_500})
    with pytest.raises(InputError, match="2,050 possible combinations"):
        cv.compare(many, {"a": 3, "b": 3}, together=True)


@pytest.mark.slow
def test_the_command(quick: Quick, census: pa.Table, tmp_path: Path) -> None:  # noqa: F811
    table, values = tmp_path / "census.csv", tmp_path / "salaries.txt"
    pyarrow.csv.write_csv(census.slice(0, 2_000), table)
    values.write_text("\n".join(map(str, census["salary"].unique().to_pylist())))
    words = ("compare", table, "--releases", "1", "--seed", "1")
    joint = quick(*words, "-s", "salary:3", "-s", "workclass:3", "--together")
    assert (joint.code, joint.err) == (0, "")
    assert "together, larger ell" in joint.out
    bound = quick(*words, "-s", "salary:3", "--odds", "20", "--domain", f"salary={values}")
    assert (bound.code, bound.err) == (0, "")
    assert max(map(len, bound.out.splitlines())) <= 80
    assert "k-RR, same K" in bound.out
