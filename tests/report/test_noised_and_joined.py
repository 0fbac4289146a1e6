"""The pages of a release with bounded odds, and of one whose columns were published together."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.maths.guarantees.frontier import mean_belief
from countveil.maths.guarantees.odds import epsilon_of, gamma_for
from countveil.release import REPORT_NAME, OddsBound, read_manifest
from countveil.report.guarantee_sections import Protected
from countveil.report.joined import JoinedColumns, PublishedVectors
from countveil.report.noised import NoisedColumn
from countveil.report.release_page import release_page
from tests.report.test_release_page import assert_harmless, blocks, page_of, plain_ranges, published
from tests.report.test_repeating import text_of
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture

ROWS, ELL, K = 5_000, 4, 20
JOBS = [f"job {n:02}" for n in range(12)]
KINDS: dict[str, dict[str, Any]] = {
    "odds": {"odds": K, "domain": {"job": JOBS}},
    "odds random": {"odds": K, "domain": {"job": JOBS}, "groups": "random"},
    "odds common": {"odds": K, "domain": {"job": JOBS}, "common": {"job": JOBS[0]}},
}


def workers() -> pa.Table:
    rng = np.random.default_rng(11)
    jobs = rng.choice(JOBS, ROWS, p=np.arange(12, 0, -1) / 78)
    pay = np.char.add("pay ", (rng.integers(0, 3, ROWS) + np.char.count(jobs, "0")).astype(str))
    town = np.where(rng.random(ROWS) < 0.4, "here", "there")
    health = rng.choice(["well", "ill", "unknown"], ROWS, p=[0.8, 0.15, 0.05])
    columns = {"town": town, "job": jobs, "pay": pay, "health": health}
    return pa.table({name: column.tolist() for name, column in columns.items()})


@pytest.fixture(scope="module", params=list(KINDS))
def noised(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("noised") / "release"
    private, options = folder.parent / "private.html", KINDS[request.param]
    table = workers().select(["town", "job"])
    cv.publish(table, {"job": ELL}, folder, seed=5, private_report=private, **options)
    return folder


@pytest.fixture(scope="module")
def joined(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two columns together, a third one apart."""
    folder = tmp_path_factory.mktemp("joined") / "release"
    columns = {"job": ELL, "pay": ELL, "health": ELL}
    cv.publish(
        workers(), columns, folder, seed=5, together=["job", "pay"], groups="random",
        private_report=folder.parent / "private.html",
    )  # fmt: skip
    return folder


def vectors(folder: Path) -> PublishedVectors:
    """What anybody can count in the data."""
    data = pq.read_table(folder / "data")
    values = [sorted(data[name].unique().to_pylist()) for name in ("job", "pay")]
    pairs = Counter(zip(*(data[name].to_pylist() for name in ("job", "pay")), strict=True))
    known = sorted(pairs)
    places = [np.array([values[c].index(pair[c]) for pair in known]) for c in range(2)]
    counts = np.array([pairs[pair] for pair in known])
    return PublishedVectors.of(("job", "pay"), counts, places, values)


@pytest.mark.few(1)
def test_the_pages_are_made_of_the_release_alone(noised: Path, joined: Path) -> None:
    for folder, together in ((noised, []), (joined, [vectors(joined)])):
        manifest = replace(read_manifest(folder), report=None)
        page = release_page(manifest, published(folder), plain_ranges(folder), together)
        assert page == page_of(folder)
        assert_harmless(page)
        assert cv.verify(folder) == []


def test_bounded_odds_are_on_the_page(noised: Path) -> None:
    entry = read_manifest(noised).sensitive["job"]
    different = entry.groups == "mixed" and not entry.common
    gamma = gamma_for(K, 12, ELL, different=different)
    text = text_of(noised / REPORT_NAME)
    assert f"gamma = {gamma:.6g}" in text
    assert f"epsilon = {epsilon_of(gamma, 12):.4g}" in text
    assert f"at most {K} times" in text
    assert "fixed without looking at the table" in text
    assert "What does the noise cost in counts of job?" in text
    assert "the estimate of how many had it before the noise" in text
    assert "published nearly as it is" not in text
    assert "is a strong hint. " not in text.partition("The promise")[0]
    private = text_of(noised.parent / "private.html")
    assert "true published estimate difference" in private
    assert "(estimated - true) / true" in private


def test_the_published_estimates_are_those_of_a_query(noised: Path) -> None:
    """The table of the page is what `SELECT job, count(*) GROUP BY job` says."""
    counts = published(noised)["job"]
    entry = read_manifest(noised).sensitive["job"]
    assert entry.odds is not None
    answers = cv.open(noised).sql("SELECT job, count(*) FROM release GROUP BY job")
    q = entry.odds.gamma / 12
    text = text_of(noised / REPORT_NAME)
    for row in answers.to_dicts():
        estimate = (counts[row["job"]] - q * ROWS) / (1 - entry.odds.gamma)
        assert row["estimate"] == pytest.approx(estimate, abs=0.51)
        assert f"{row['job']} {counts[row['job']]:,} {round(estimate):,} " in text


@pytest.mark.slow
def test_lines_to_copy(quick: Quick, noised: Path, joined: Path) -> None:  # noqa: F811
    for folder in (noised, joined):
        shell, _, more, *_ = blocks(folder)
        for line in (*shell.splitlines(), *more.splitlines()[2:]):
            words = shlex.split(line)[1:]
            done = quick(*(str(folder) if word == "." else word for word in words))
            assert (done.code, done.err) == (0, ""), line
    assert 'job\\" = ' in shell


def test_combinations_are_on_the_page(joined: Path) -> None:
    text, found = text_of(joined / REPORT_NAME), vectors(joined)
    assert "Protected: job and pay together (ell = 4), health (ell = 4, random groups)" in text
    assert "those of job and pay from one row of it" in text
    assert "Columns together: job and pay" in text
    (job, pay), count = found.named[0]
    share = count / ROWS
    assert f"{job}, {pay} {count:,} {share:.2%}" in text
    assert f"{1 / ELL + (1 - 1 / ELL) * share:.3f}" in text
    shares = found.counts / ROWS
    own = 1 / ELL + (1 - 1 / ELL) * float(shares @ shares)
    assert f"its own combination with probability {own:.3f}" in text
    assert "exchanging a single column does not" in text
    # One section for both of its examples.
    assert text.count("How near to the truth: job and pay combined with other columns") == 1
    assert "From which count on can an answer about job and pay, as frequent as" in text
    private = text_of(joined.parent / "private.html")
    assert "Exposure: job and pay" in private
    assert "True and published counts: job and pay" in private
    assert "Measured error by size of count: job and pay" in private


def test_what_is_published_together_is_said_everywhere(
    quick: Quick,  # noqa: F811
    joined: Path,
    noised: Path,
) -> None:
    shown = quick("show", joined).out
    assert "together: job, pay" in shown
    table = quick("show", noised, "--format", "csv").out
    assert f"odds at most {K}" in table


def _noised(rows: int, counts: dict[str, int], odds: float = K) -> NoisedColumn:
    gamma = gamma_for(odds, len(counts), ELL)
    grouped = Protected("job", ELL, rows, counts)
    bound = OddsBound(odds, gamma, epsilon_of(gamma, len(counts)))
    return NoisedColumn("job", ELL, rows, counts, grouped, bound, len(counts))


def test_a_noised_column_by_hand() -> None:
    column = _noised(1_000, {"a": 400, "b": 300, "c": 200, "d": 100})
    gamma = column.odds.gamma
    q = gamma / 4
    assert column.estimate(400) == pytest.approx((400 - 250 * gamma) / (1 - gamma))
    kept = 1 - gamma + q
    noise = 100 * kept * (1 - kept) + 900 * q * (1 - q)
    groups = (100 * kept + 900 * q) * 3 / 4
    assert column.std_error(100) == pytest.approx(math.sqrt(noise + groups) / (1 - gamma))
    # Hardly any noise: as without it.
    loose = _noised(1_000, {"a": 400, "b": 300, "c": 200, "d": 100}, 1e6)
    assert loose.std_error(100) == pytest.approx(loose.grouped.std_error(100), rel=0.01)
    assert loose.beliefs()[0] == pytest.approx(loose.grouped.beliefs()[0], rel=0.02)


def test_the_belief_after_noise_is_that_of_the_whole_channel() -> None:
    """Equal shares: noise and groups mix evenly, so two states are exact."""
    column = _noised(1_200, dict.fromkeys("abcdef", 200))
    gamma = column.odds.gamma
    noise = (1 - gamma) * np.eye(6) + gamma / 6
    groups = np.full((6, 6), 3 / 4 / 5)
    np.fill_diagonal(groups, 1 / 4)
    expected = mean_belief(noise @ groups, np.full(6, 1 / 6))
    assert column.beliefs()[0] == pytest.approx(expected)


def test_joined_columns_by_hand() -> None:
    counts = np.array([50, 30, 20])
    found = PublishedVectors.of(
        ("a", "b"), counts, [np.array([0, 1, 1]), np.array([0, 0, 1])], [["x", None], ["u", "v"]]
    )
    assert found.named == ((("x", "u"), 50), ((None, "u"), 30), ((None, "v"), 20))
    column = JoinedColumns.from_vectors(found, 2, 100)
    shares = counts / 100
    kept = 1 / 2 + shares / 2
    rest = shares * (1 - kept) / (1 - shares)
    average = float((shares * (kept**2 + (1 - kept) * rest)).sum())
    assert column.beliefs()[0] == pytest.approx(average)
    assert column.median == ((None, "u"), 30)
    assert column.label((None, "u")) == "'(missing), u'"
    assert column.std_error(30) == pytest.approx(math.sqrt(30 * 0.7 / 2))
    assert "(missing), v" in str(column.section().rows)
