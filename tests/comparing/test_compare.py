"""`cv.compare` and `countveil compare`."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

import countveil as cv
from countveil.comparing import Compared, Comparison, lineup
from countveil.comparing.baselines.measure import BINS, Figures, Mean, OnFrontier
from countveil.errors import InputError, SettingsError, UnknownColumnError
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused, unchanged

NAMES = [
    "countveil", "countveil, unbiased", "countveil, common", "countveil, random",
    "the paper's choices", "Anatomy", "Laplace, eps 0.05", "mechanism A", "mechanism A, printed",
    "k-RR, same average", "k-RR, same largest", "invariant PRAM",
]  # fmt: skip


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("compare") / "census.csv"
    table = cv.generate(4_000, seed=1)
    assert table is not None
    pyarrow.csv.write_csv(table.select(["gender", "marital", "education", "salary"]), path)
    return path


@pytest.fixture(scope="module")
def found(census: Path) -> Comparison:
    return cv.compare(census, {"salary": 4}, releases=2, seed=3)


@pytest.mark.slow
def test_all_methods_are_measured(found: Comparison) -> None:
    assert [line.method for line in found.methods] == NAMES
    assert (found.rows, found.of_rows, found.ell, found.releases) == (4_000, 4_000, 4, 2)
    for line in found.methods:
        figures = line.figures
        assert figures is not None
        assert len(figures.errors) == len(BINS)
        assert all(error is not None and error.value > 0 for error in figures.errors)
        assert 0 < figures.belief.value <= figures.most_believed.value < 1
        assert 1 <= figures.candidates.value <= 10
        assert list(figures.beliefs) == sorted(figures.beliefs)


@pytest.mark.slow
def test_what_follows_from_the_methods(found: Comparison) -> None:
    """Nothing here depends on chance, but for Laplace noise of scale 2,000 in 4,000 rows."""
    anatomy = found["Anatomy"].figures
    assert anatomy is not None
    assert anatomy.belief.value == pytest.approx(1 / 4)
    assert anatomy.candidates.value == pytest.approx(4)
    ours, printed = found["mechanism A"].figures, found["mechanism A, printed"].figures
    response, noise = found["k-RR, same average"].figures, found["Laplace, eps 0.05"].figures
    assert ours is not None
    assert printed is not None
    assert response is not None
    assert noise is not None
    assert ours.belief == printed.belief
    assert ours.errors[0] != printed.errors[0]
    assert response.belief.value == pytest.approx(ours.belief.value, rel=0.02)
    assert noise.errors[0] is not None
    assert noise.errors[0].value > 10


@pytest.mark.slow
def test_a_seed_repeats_all_but_the_noise(census: Path, found: Comparison) -> None:
    again = cv.compare(census, "salary", ell=4, releases=2, seed=3)
    for one, other in zip(found.methods, again.methods, strict=True):
        assert (one == other) == (not one.method.startswith("Laplace"))


def test_a_table_is_compared_on_its_own_columns() -> None:
    """A predicate that tells nothing: independence is the truth."""
    codes = np.arange(1_200) % 6
    table = pa.table({"group": (np.arange(1_200) // 6) % 2, "value": codes})
    found = cv.compare(table, "value", ell=3, releases=1)
    assert found.predicates == 2
    assert found.bins == BINS
    figures = found["countveil"].figures
    assert figures is not None
    assert figures.belief.std_error is None
    # All counts are 100 of 1,200 rows: none is small, none is below 5%.
    assert figures.small_off is None
    assert figures.errors == [None] * 4


@pytest.mark.slow
def test_without_opendp_the_others_are_compared(
    census: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opendp.prelude", None)
    found = cv.compare(census, {"salary": 4}, releases=1)
    assert [line.method for line in found.methods if line.figures is None] == ["Laplace, eps 0.05"]
    assert "pip install '.[study]'" in found["Laplace, eps 0.05"].about
    assert "pip install '.[study]'" in str(found)
    assert found.table()[1][6] == ["Laplace, eps 0.05", *[None] * 21]


def test_columns_that_would_stop_a_publication_are_named() -> None:
    codes = np.arange(1_200) % 6
    table = pa.table({"half": np.arange(1_200) // 600, "code": codes * 10, "value": codes})
    (note,) = cv.compare(table, {"value": 3}, releases=1).notes
    assert "publish would stop at 'code', which" in note
    assert not cv.compare(table, {"value": 3}, releases=1, drop="code").notes


def test_what_cannot_be_matched_says_why() -> None:
    by_name = {entrant.name: entrant for entrant in lineup(np.array([5, 5, 5]), 3, 0.1, 10)}
    for name in ("k-RR, same average", "k-RR, same largest"):
        assert by_name[name].method is None
        assert by_name[name].about.startswith("not compared. Randomised response cannot be matched")
    assert by_name["invariant PRAM"].method is not None


@pytest.mark.slow
def test_where_methods_stand_by_hand(found: Comparison) -> None:
    """B of random groups is 1/16 + 15/16 h at ell = 4; nothing is below the bound."""
    h = found.agreement
    place = {
        line.method: line.figures.frontier for line in found.methods if line.figures is not None
    }
    random = place["countveil, random"]
    assert random is not None
    assert random.mean_belief == pytest.approx(1 / 16 + 15 / 16 * h, abs=1e-3)
    assert random.distance == pytest.approx(1, abs=1e-6)
    assert random.error == pytest.approx((1_000 * (1 - h) * 15 / found.values) ** 0.5, rel=2e-3)
    for one in place.values():
        assert one is not None
        assert h < one.mean_belief < 1
        assert one.distance is None or one.distance > 1 - 1e-9
    noise, anatomy = place["Laplace, eps 0.05"], place["Anatomy"]
    assert noise is not None
    assert anatomy is not None
    assert (noise.error, noise.least_error, noise.distance) == (None, None, None)
    assert anatomy.mean_belief == pytest.approx(1 / 4)
    assert place["mechanism A"] == place["mechanism A, printed"]


@pytest.mark.slow
def test_a_skewed_column_is_compared_without_groups_of_different_values() -> None:
    """Four of five rows share a value: mixed groups do not exist from ell = 2 on."""
    rng = np.random.default_rng(7)
    country = np.where(rng.random(3_000) < 0.8, "home", rng.integers(0, 12, 3_000).astype(str))
    table = pa.table({"region": rng.integers(0, 4, 3_000), "country": country})
    found = cv.compare(table, {"country": 4}, releases=1, seed=1)
    left_out = {line.method for line in found.methods if line.figures is None}
    assert left_out == {
        "countveil", "countveil, unbiased", "the paper's choices", "Anatomy", "k-RR, same largest",
    }  # fmt: skip
    assert "may have 1/4" in found["countveil"].about
    assert "the value with more than 1/8 of the rows may repeat" in found["countveil, common"].about
    # Where no match exists, PRAM keeps a value one time in ell: the channel of random groups.
    pram, random = found["invariant PRAM"].figures, found["countveil, random"].figures
    assert pram is not None
    assert random is not None
    assert pram.frontier is not None
    assert random.frontier is not None
    assert pram.frontier.mean_belief == pytest.approx(random.frontier.mean_belief, abs=1e-3)
    common = found["countveil, common"].figures
    assert common is not None
    assert common.frontier is not None
    assert common.frontier.distance is not None
    assert 1 < common.frontier.distance < 1.2
    assert "countveil, common" in found.to_html()


def test_too_few_values_leave_random_groups() -> None:
    table = pa.table({"half": np.arange(900) % 2, "answer": np.arange(900) % 3 == 0})
    found = cv.compare(table, {"answer": 5}, releases=1, seed=1)
    assert found["countveil"].figures is None
    assert found["countveil, random"].figures is not None


def test_tables_by_hand() -> None:
    means = [Mean(0.1234, 0.001), None, Mean(2.5, 0.2), Mean(0.5, None)]
    place = OnFrontier(0.0512, 1_234.56, 30.0, 1.03)
    figures = Figures(
        means, Mean(0.7, 0.01), Mean(0.05, 0), Mean(0.2, 0), Mean(9.04, 0), [0.05], place
    )
    lines = [Compared("one", "about one", figures), Compared("two", "not compared.", None)]
    found = Comparison("job", 10, 20, 5, 2, 7, BINS, lines)
    assert found.accuracy_table()[1] == [["one", "12.3% ±0.1", None, "250% ±20", "50.0%"]]
    assert found.protection_table()[1] == [["one", "5.0% ±0.0", "20.0% ±0.0", "9.0", "70.0% ±1.0"]]
    assert found.frontier_table()[1] == [["one", "5.12%", "1,234.6", "30.0", "1.030"]]
    assert found.head() == "job: 20 rows (10 of them, spread evenly), ell = 5"
    assert found.abouts() == ["one: about one", "two: not compared."]
    names, rows = found.table()
    assert names[:3] == ["method", "error_0.1-0.5%", "error_0.1-0.5%_std_error"]
    assert rows[0][:5] == ["one", 0.1234, 0.001, None, None]
    assert len(names) == len(rows[0]) == len(rows[1])


@pytest.mark.slow
def test_what_is_refused(census: Path) -> None:
    with pytest.raises(SettingsError, match="has only 4,000"):
        cv.compare(census, {"salary": 4_001})
    with pytest.raises(SettingsError, match="at least 2"):
        cv.compare(census, {"salary": 1})
    with pytest.raises(SettingsError, match="epsilon must be a number above 0"):
        cv.compare(census, {"salary": 4}, epsilon=0)
    with pytest.raises(SettingsError, match="number of queries"):
        cv.compare(census, {"salary": 4}, queries=0)
    with pytest.raises(SettingsError, match="releases must be a whole number of at least 1"):
        cv.compare(census, {"salary": 4}, releases=0)
    with pytest.raises(SettingsError, match="published together; 2 were named"):
        cv.compare(census, {"salary": 4, "occupation": 4})
    with pytest.raises(UnknownColumnError, match="'salery'"):
        cv.compare(census, {"salery": 4})
    with pytest.raises(InputError, match="no column besides 'value'"):
        cv.compare(pa.table({"value": np.arange(90) % 6}), {"value": 3})
    many = pa.table(
        {"plain": np.arange(6_000) % 2, "value": [f"v{n % 2_001}" for n in range(6_000)]}
    )
    with pytest.raises(InputError, match=r"2,001 different values; at most 2,000"):
        cv.compare(many, {"value": 3})


@pytest.mark.slow
def test_the_command(quick: Quick, census: Path, tmp_path: Path) -> None:  # noqa: F811
    words = ("compare", census, "-s", "salary", "--ell", "4", "--releases", "2", "--seed", "3")
    report = tmp_path / "compare.html"
    with unchanged(census.parent):
        done = quick(*words, "--report", report)
    assert (done.code, done.err) == (0, "")
    assert max(map(len, done.out.splitlines())) <= 80
    for name in NAMES:
        assert done.out.count(f" {name} ") >= 3
        assert f"- {name}: " in done.out
    page = report.read_text()
    assert page.count("<figure") == 4
    assert "the bound" in page
    assert "<script" not in page
    assert "the paper&#x27;s choices" in page


@pytest.mark.slow
def test_formats(quick: Quick, census: Path, found: Comparison) -> None:  # noqa: F811
    words = ("compare", census, "-s", "salary:4", "--releases", "2", "--seed", "3")
    told = json.loads(quick(*words, "--format", "json").out)
    assert told["ell"] == 4
    assert [line["method"] for line in told["methods"]] == NAMES
    first, same = told["methods"][0]["figures"], found["countveil"].figures
    assert same is not None
    assert first["belief"]["value"] == pytest.approx(same.belief.value)
    assert told["bins"][0] == {"from": 0.001, "to": 0.005}
    assert same.frontier is not None
    assert first["frontier"]["mean_belief"] == same.frontier.mean_belief
    assert told["agreement"] == found.agreement
    lines = list(csv.DictReader(io.StringIO(quick(*words, "--format", "csv").out)))
    assert [line["method"] for line in lines] == NAMES
    assert float(lines[0]["belief"]) == pytest.approx(same.belief.value)
    assert float(lines[0]["distance"]) == same.frontier.distance


def test_the_command_refuses_in_one_paragraph(
    quick: Quick,  # noqa: F811
    census: Path,
    tmp_path: Path,
) -> None:
    words = ("compare", census, "-s", "salary", "--ell", "4")
    assert_refused(quick(*words, "--report", tmp_path / "no" / "a.html"), "no folder")
    assert_refused(quick(*words, "--epsilon", "-1"), "above 0")
    assert_refused(quick("compare", census, "-s", "salary:5000"), "has only 4,000")
    assert_refused(quick(*words, "-s", "occupation"), "one sensitive column at a time")
    assert quick("compare", census, "-s", "salary").code == 2


def test_a_hostile_name_steers_nothing() -> None:
    name = "<img src=x>\x1b[31mjob"
    table = pa.table({"group": (np.arange(600) // 6) % 2, name: np.arange(600) % 6})
    found = cv.compare(table, {name: 3}, releases=1)
    assert "\x1b" not in str(found)
    page = found.to_html()
    assert "<img" not in page
    assert "\x1b" not in page
