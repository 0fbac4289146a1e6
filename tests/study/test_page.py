"""The page says what the committed results say, and these are what the study has to show."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from study.charts import FIGURES, draw_all
from study.grid import FULL
from study.page import CLAIMS, PAGE, judged, study_page
from study.page.captions import CAPTIONS
from study.page.claims import FAILS, HOLDS, WITH_ERRATUM, Judged
from study.page.numbers import BANDS, Numbers, slope, span
from study.page.sections import HEADINGS, TARGETS
from study.results import RESULTS, Results

STUDY = RESULTS.parent


@pytest.fixture(scope="module")
def results() -> Results:
    return Results.read()


@pytest.fixture(scope="module")
def numbers(results: Results) -> Numbers:
    return Numbers(results)


@pytest.mark.slow
def test_the_page_agrees_with_the_results(results: Results) -> None:
    assert PAGE.read_text() == study_page(results)


@pytest.mark.slow
def test_the_figures_agree_with_the_results(results: Results, tmp_path: Path) -> None:
    assert set(draw_all(results, tmp_path)) == set(FIGURES)
    assert {path.name for path in (STUDY / "figures").iterdir()} == {f"{n}.svg" for n in FIGURES}
    for name in FIGURES:
        drawn = (tmp_path / f"{name}.svg").read_text()
        assert (STUDY / "figures" / f"{name}.svg").read_text() == drawn


@pytest.mark.slow
def test_every_figure_has_a_heading_and_two_sentences(numbers: Numbers) -> None:
    assert list(FIGURES) == list(HEADINGS) == list(CAPTIONS)
    for caption in CAPTIONS.values():
        sentences = re.split(r"(?<=[.:])\s+(?=[A-Z])", caption(numbers))
        assert 2 <= len(sentences) <= 4


@pytest.mark.slow
def test_every_claim_has_a_verdict(results: Results) -> None:
    found = judged(results)
    assert len(found) == len(CLAIMS)
    assert {claim.verdict for claim in found} == {HOLDS, WITH_ERRATUM, FAILS}
    for claim in found:
        assert "|" not in claim.claim + claim.paper + claim.ours


def test_verdicts_follow_from_what_was_found() -> None:
    assert Judged("", "", "", paper_holds=True, ours_hold=False).verdict == HOLDS
    assert Judged("", "", "", paper_holds=False, ours_hold=True).verdict == WITH_ERRATUM
    assert Judged("", "", "", paper_holds=False, ours_hold=False).verdict == FAILS


@pytest.mark.slow
def test_the_committed_results_are_of_the_real_table(results: Results) -> None:
    assert results.about["data"] == "ACS 2024"
    assert results.about["rows"] == 500_000
    for rows in results.tables.values():
        assert {row["data"] for row in rows} == {"ACS 2024"}


@pytest.mark.slow
def test_our_errors_are_within_the_targets(numbers: Numbers) -> None:
    assert len(numbers.results.values("by_ell", "error", method="ours", kind="small", ell=5)) >= 10
    found = numbers.bands("by_ell", method="ours", ell=5)
    for error, target in zip(found, TARGETS, strict=True):
        assert error <= target


@pytest.mark.slow
def test_we_are_below_anatomy_everywhere(numbers: Numbers) -> None:
    for rows in FULL.sizes:
        ours = numbers.bands("by_rows", method="ours", rows=rows)
        anatomy = numbers.bands("by_rows", method="anatomy", rows=rows)
        assert all(mine < theirs for mine, theirs in zip(ours, anatomy, strict=True))


@pytest.mark.slow
@pytest.mark.parametrize("ell", range(5, 11))
def test_small_counts_are_hidden(numbers: Numbers, ell: int) -> None:
    assert numbers.mean("by_ell", "off", method="ours", kind="small", ell=ell) >= 0.6


@pytest.mark.slow
def test_the_papers_choices_have_the_shapes_of_its_text(numbers: Numbers) -> None:
    large, middle, smaller = numbers.bands("by_ell", method="paper", ell=5)
    assert 0.15 < large < 0.25
    assert large < middle < smaller
    assert 0.35 < smaller < 0.55
    small = numbers.by("by_ell", "ell", method="paper", kind="small")
    assert slope(small)[1] > 0.95
    noise = numbers.by("by_queries", "queries", method="laplace-0.05")
    assert slope(noise)[1] > 0.98


def test_no_raw_data_lies_beside_the_results() -> None:
    files = sorted(path.name for path in RESULTS.iterdir())
    assert "about.json" in files
    for path in RESULTS.glob("*.csv"):
        header = path.read_text().split("\n", 1)[0].split(",")
        assert header[0] == "data"
        assert not {"Age", "AGEP", "Occupation", "SERIALNO"} & set(header)
        assert path.stat().st_size < 1_500_000


def test_numbers_by_hand() -> None:
    results = Results({}, {"t": [{"x": 1, "error": 2.0}, {"x": 1, "error": 4.0}, {"x": 2}]})
    found = Numbers(results)
    assert found.mean("t", x=1) == 3.0
    assert found.interval("t", x=1) == "3.000 ± 1.960"
    with pytest.raises(LookupError, match=r"t\.csv"):
        found.mean("t", x=3)
    assert span([0.5, 0.25]) == "0.25 to 0.50"
    assert slope({1: 2.0, 2: 4.0, 3: 6.0}) == pytest.approx((2.0, 1.0))
    assert len(BANDS) == len(TARGETS)
