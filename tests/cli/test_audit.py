"""`countveil audit` as a user runs it."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pytest

import countveil as cv
from tests.robustness.conftest import Quick
from tests.robustness.tools import assert_refused

ROWS = 3_000


@pytest.fixture(scope="module")
def census(quick: Quick, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("census") / "census.csv"
    assert quick("generate", "--rows", str(ROWS), "--to", path, "--seed", "1").code == 0
    return path


def test_a_plan_is_attacked_and_reported(quick: Quick, census: Path, tmp_path: Path) -> None:
    words = ("audit", census, "-s", "occupation", "--ell", "4", "--attacks", "elimination")
    done = quick(*words, "--format", "json", "--report", tmp_path / "audit.html")
    found = json.loads(done.out)
    # A false alarm has probability 1e-4; the code must agree with the verdicts either way.
    assert done.code == (0 if found["passed"] else 1)
    assert done.err == ""
    assert found["planned"]
    assert found["rows"] == found["linked"] == ROWS
    names = {finding["adversary"] for finding in found["findings"]}
    assert names == {"elimination", "minimality"}
    page = (tmp_path / "audit.html").read_text()
    assert "<svg" in page
    assert "For the publisher" in page


@pytest.mark.slow
def test_exposure_comes_before_any_claim(quick: Quick, census: Path, tmp_path: Path) -> None:
    words = ("audit", census, "-s", "occupation", "--ell", "4", "--attacks", "elimination")
    about = ("--title", "Jobs <i>2026</i>", "--contact", "<script>x</script>")
    done = quick(*words, *about, "--report", tmp_path / "audit.html")
    said = " ".join(done.out.split())
    assert said.startswith("1 in 100 people: the true occupation is believed at ")
    assert said.index("without the release") < said.index("claims that were tested")
    page = (tmp_path / "audit.html").read_text()
    assert "<script>" not in page
    assert "Jobs &lt;i&gt;2026&lt;/i&gt;" in page
    assert page.index("Average belief") < page.index("claims that were tested")
    assert page.index("Open points") < page.index("<h2>Appendix: the claims")
    # The summary is one sheet of its own when it is printed.
    assert re.search(r"@media print .*\.board \{[^}]*break-after: page", page, re.DOTALL)
    found = json.loads(quick(*words, "--format", "json").out)
    exposure = found["exposure"]["occupation"]
    assert exposure["people"] == exposure["asked_about"] == ROWS
    for figure in (
        exposure["average"],
        exposure["one_in_100_believed_at_least"],
        exposure["most_exposed_1_percent"],
        *exposure["share_believed_at_least"].values(),
    ):
        assert 0 <= figure["without_release"] <= 1
        assert 0 <= figure["with_release"] <= 1
    assert exposure["average"]["with_release"] > exposure["average"]["without_release"]
    assert set(exposure["share_believed_at_least"]) == {"0.5", "0.9", "0.99"}
    assert found["counts_of_1_percent"]["occupation"]["mean_relative_error"] > 0


def test_a_finished_release_is_as_exposed_as_its_rows_can_be_linked(tmp_path: Path) -> None:
    """Everybody is alike, so the release adds nothing about anybody."""
    people = pa.table({"sex": ["F"] * 2_000, "job": ["a", "b", "c", "d", "e"] * 400})
    cv.publish(people, {"job": 3}, tmp_path / "release", keep="sex")
    audit = cv.audit(people, {"job": 3}, release=tmp_path / "release", attacks="elimination")
    found = audit.exposure["job"]
    assert found is not None
    assert found.alone == 0
    assert found.after == pytest.approx(found.before, rel=0.01)
    assert str(audit).startswith("1 in 100 people")


@pytest.mark.slow
def test_a_finished_release_is_attacked(quick: Quick, census: Path, tmp_path: Path) -> None:
    release = tmp_path / "release"
    cv.publish(census, {"occupation": 4}, release, seed=3)
    words = ("audit", census, "-s", "occupation:4", "--release", release)
    done = quick(*words, "--attacks", "implementation")
    assert done.code == 1, "a seeded release is flagged"
    assert "redo the draw from its seed" in done.out
    assert "exceeds" in done.out
    assert "do NOT hold" in done.out


def test_what_cannot_be_served_is_refused_in_one_paragraph(
    quick: Quick, census: Path, tmp_path: Path
) -> None:
    words = ("audit", census, "-s", "occupation", "--ell", "4")
    assert_refused(quick(*words, "--attacks", "magic"), "no attack 'magic'", "linkage")
    assert_refused(quick(*words, "--release", tmp_path), "not a release")
    assert_refused(quick(*words, "--report", tmp_path / "no" / "a.html"), "no folder")
    assert_refused(quick("audit", census, "-s", "occupation:40"), "not eligible")
    assert quick("audit", census, "-s", "occupation").code == 2


@pytest.mark.slow
def test_a_release_that_does_not_fit_is_refused(quick: Quick, census: Path, tmp_path: Path) -> None:
    release = tmp_path / "release"
    cv.publish(census, {"occupation": 4}, release)
    table = pyarrow.csv.read_csv(census)
    ages = table["age"].to_pylist()
    for other, sensitive, said in (
        (table, {"occupation": 5}, "ell = 4, not 5"),
        (table, {"gender": 2}, "'gender' is not protected in the release; 'occupation' is"),
        (table.slice(1), {"occupation": 4}, "3,000 rows and the table 2,999"),
        (table.drop_columns(["race"]), {"occupation": 4}, "'race' that the table does not have"),
        (
            table.set_column(0, "age", pa.array([*ages[1:], ages[0]])),
            {"occupation": 4},
            "other non-sensitive values",
        ),
    ):
        with pytest.raises(cv.CountveilError, match=said):
            cv.audit(other, sensitive, release=release, attacks="linkage")
    with (release / "data" / "part-00000.parquet").open("ab") as data:
        data.write(b"x")
    words = ("audit", census, "-s", "occupation:4", "--release", release)
    assert_refused(quick(*words), "not what was published", "longer", "verify")


@pytest.mark.slow
def test_tables_of_every_kind_can_be_audited(quick: Quick, tmp_path: Path) -> None:
    few = "age,sick,job\n" + "".join(
        f"{20 + row},{'yn'[row % 2]},{('', 'a', 'b')[row % 3]}\n" for row in range(20)
    )
    (tmp_path / "few.csv").write_text(few)
    words = ("audit", tmp_path / "few.csv", "-s", "sick:2", "-s", "job:2", "--keep", "age")
    found = quick(*words)
    assert found.code == 0, found.err
    assert "Not run, and so nothing is known: linkage" in " ".join(found.out.split())


@pytest.mark.slow
def test_a_release_with_classes_is_audited_with_the_same_options(
    quick: Quick, census: Path, tmp_path: Path
) -> None:
    edges = [30, 40, 50, 60]
    cv.publish(census, {"age": 3}, tmp_path / "release", bins={"age": edges})
    words = ("audit", census, "-s", "age:3", "--release", tmp_path / "release")
    assert_refused(quick(*words, "--attacks", "linkage"), "'age'", "--bins")
    found = cv.audit(
        census, {"age": 3}, release=tmp_path / "release", bins={"age": edges},
        attacks="implementation",
    )  # fmt: skip
    assert found.passed
