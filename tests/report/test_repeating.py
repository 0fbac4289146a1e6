"""The page of a release whose groups may hold a value more than once: every figure is its own."""

from __future__ import annotations

import html
import math
import re
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
from countveil.maths.channel import view_of_release
from countveil.maths.guarantees.special import beliefs_in_truth
from countveil.release import REPORT_NAME, read_manifest
from countveil.report.release_page import release_page
from tests.report.test_release_page import plain_ranges, published
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused

HOME, ROWS, ELL = "United States", 6_000, 5
METHODS: dict[str, dict[str, Any]] = {
    "random": {"groups": "random"},
    "common": {"common": {"country": HOME}},
}


@pytest.fixture(scope="module", params=list(METHODS))
def released(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(5)
    others = rng.choice([f"country {n}" for n in range(20)], ROWS)
    country = np.where(rng.random(ROWS) < 0.8, HOME, others)
    region = np.where(rng.random(ROWS) < 0.4, "north", "south")
    table = pa.table({"region": region.tolist(), "country": country.tolist()})
    folder = tmp_path_factory.mktemp(request.param) / "release"
    private = folder.parent / "private.html"
    options = METHODS[request.param]
    cv.publish(table, {"country": ELL}, folder, seed=3, private_report=private, **options)
    return folder


def text_of(path: Path) -> str:
    """The words of a page, without its manifest."""
    text = path.read_text(encoding="utf-8").partition("Show the manifest")[0]
    return " ".join(html.unescape(re.sub(r"<nav.*?</nav>|<[^>]+>", " ", text)).split())


def channel(folder: Path) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any], int]:
    """The shares and W as an analyst computes them, and the place of the frequent value."""
    counts = published(folder)["country"]
    entry = read_manifest(folder).sensitive["country"]
    values = list(counts)
    home = values.index(HOME)
    histogram = np.array(list(counts.values()))
    common = (home,) if entry.common else ()
    view = view_of_release(histogram, ROWS, ELL, entry.groups, common)
    assert view.whole is not None
    return histogram / ROWS, view.whole, home


@pytest.mark.few(1)
def test_the_page_is_made_of_the_release_alone(released: Path) -> None:
    manifest = replace(read_manifest(released), report=None)
    made = release_page(manifest, published(released), plain_ranges(released))
    assert made == (released / REPORT_NAME).read_text(encoding="utf-8")


def test_the_beliefs_are_those_of_the_channel(released: Path) -> None:
    """By Bayes' rule, from the whole channel: what somebody believes who knows row and shares."""
    text = text_of(released / REPORT_NAME)
    shares, whole, _ = channel(released)
    both = shares[:, None] * whole
    beliefs = both / both.sum(axis=0)
    average = float((both * beliefs).sum())
    order = np.argsort(-beliefs, axis=None)
    people = np.cumsum(both.ravel()[order])
    reached = float(beliefs.ravel()[order][np.searchsorted(people, 0.01)])
    said = re.search(r"Average belief in a person's true country about ([.\d]+)", text)
    assert said is not None
    assert float(said[1]) == pytest.approx(average, abs=0.011)
    said = re.search(r"Most exposed 1% of the people, country about ([.\d]+)", text)
    assert said is not None
    assert float(said[1]) == pytest.approx(reached, abs=0.011)
    assert reached > 0.8


def test_standard_errors_are_those_of_the_method(released: Path) -> None:
    """A published count has the variance f (1 - W[v, v])."""
    text = text_of(released / REPORT_NAME)
    counts = Counter(pq.read_table(released / "data")["country"].to_pylist())
    _, whole, home = channel(released)
    said = re.search(rf"{HOME} {counts[HOME]:,} ([.\d]+)", text)
    assert said is not None
    error = math.sqrt(counts[HOME] * (1 - whole[home, home]))
    assert float(said[1]) == pytest.approx(error, abs=0.06)
    # Groups of different values would give 2.2 times as much.
    assert error < 0.6 * math.sqrt(counts[HOME] * (1 - 1 / ELL))


def test_the_error_of_combined_counts_is_that_of_answers(released: Path) -> None:
    """What the page says to be reliable, an answer of this release is."""
    text = text_of(released / REPORT_NAME)
    said = re.search(rf"'{HOME}' 50% of the table ([\d,]+) ([\d,]+) ([\d,]+) ([\d,]+)", text)
    assert said is not None
    size, hidden, reliable, most = (int(number.replace(",", "")) for number in said.groups())
    assert (size, most) == (ROWS // 2, ROWS // 2)
    assert hidden < reliable < 0.5 * most
    cell = cv.open(released).count("region = 'north'", country=HOME, method="unbiased")
    assert cell.verdict == "reliable"
    assert cell.estimate is not None
    assert cell.estimate > reliable


def test_it_says_the_method_and_the_three_beliefs(released: Path) -> None:
    text = text_of(released / REPORT_NAME)
    assert "group of rows with different values, so whose" not in text
    shares, whole, home = channel(released)
    own = whole[home, home]
    if "random" in str(released):
        assert "country (ell = 5, random groups)" in text
        assert "protected, ell = 5, random groups" in text
        rare = 1 / ELL + (1 - 1 / ELL) * shares.min()
        assert f"{rare:.2f} at the rarest published value" in text
        assert f"{own:.2f} at the most frequent one" in text
        return
    assert f"country (ell = 5, common value: {HOME})" in text
    assert "protected, ell = 5, 1 common value" in text
    assert f"with probability 0.20, a common one with {own:.2f} ('{HOME}')" in text
    said = re.search(r"does not have the common value believes .*? ([.\d]+) on average", text)
    assert said is not None
    assert float(said[1]) == pytest.approx(1 / (1 + 4 * (1 - shares[home]) * 0.95), abs=0.02)


@pytest.mark.slow
def test_the_lines_to_copy_work(released: Path, quick: Quick) -> None:  # noqa: F811
    text = (released / REPORT_NAME).read_text(encoding="utf-8")
    lines = [
        line
        for block in re.findall(r"<pre>(.*?)</pre>", text, re.DOTALL)
        for line in html.unescape(block).splitlines()
        if line.startswith("countveil ")
    ]
    assert len(lines) == 7
    asked = [line for line in lines if "--share" in line]
    assert ("--groups random" in asked[0]) == ("random" in str(released))
    for line in lines:
        words = [str(released) if word == "." else word for word in shlex.split(line)[1:]]
        outcome = quick(*words)
        assert (outcome.code, outcome.err) == (0, ""), line


def test_show_names_the_method(released: Path, quick: Quick) -> None:  # noqa: F811
    outcome = quick("show", str(released), "--format", "csv")
    last = outcome.out.splitlines()[-1]
    if "random" in str(released):
        assert last == "country,string,sensitive,5,21,random"
    else:
        assert last == f'country,string,sensitive,5,21,"mixed, common: {HOME}"'
    assert "off less often" in quick("show", str(released)).out


def test_the_private_page_says_why_any_share_is_possible(released: Path) -> None:
    text = text_of(released.parent / "private.html")
    why = text.partition("Eligibility")[2].partition("True and published counts")[0]
    word = "random groups" if "random" in str(released) else "common values"
    assert word in why
    # The columns of groups, the frequent value, its rows and share; there is no room to speak of.
    assert re.search(rf"1,200 {HOME} [\d,]+ [.\d]+% -$", why.strip()), why
    # In its own standard errors the frequent value is off by little: six have a chance of 2e-9.
    said = re.search(rf"{HOME} [\d,]+ [\d,]+ -?[\d,]+ [-+.\d]+% ([-+.\d]+)", text)
    assert said is not None
    assert abs(float(said[1])) < 6


def test_the_average_belief_of_random_groups_is_known() -> None:
    """1/ell^2 + h (1 - 1/ell^2), for any shares."""
    shares = np.array([0.5, 0.3, 0.15, 0.05])
    kept = 1 / ELL + (1 - 1 / ELL) * shares
    average, reached = beliefs_in_truth(shares, kept)
    agreement = float((shares**2).sum())
    assert average == pytest.approx(1 / ELL**2 + agreement * (1 - 1 / ELL**2))
    assert reached == pytest.approx(0.6)


def test_guarantees_of_a_frequent_value(quick: Quick) -> None:  # noqa: F811
    asked = ("guarantee", "utility", "--ell", "5", "--error", "0.1", "--probability", "0.05")
    predicate = ("--rows", "100000", "--size", "10000", "--share", "0.8")
    assert_refused(quick(*asked, *predicate), "--groups random")
    outcome = quick(*asked, *predicate, "--groups", "random")
    words = " ".join(outcome.out.split())
    assert (outcome.code, outcome.err) == (0, "")
    assert "with probability 0.840 (1/ell = 0.200)" in words
    assert "its odds by 1.3" in words
    assert_refused(quick(*asked, "--groups", "random"), "--rows")
    assert_refused(quick(*asked, *predicate, "--groups", "anatomy"), "mixed and random")
