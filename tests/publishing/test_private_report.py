"""The publisher's own page: true figures, nobody else's to read, never in a release."""

from __future__ import annotations

import html
import re
import stat
from functools import partial
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.maths.channel import view_of_release
from countveil.publishing.measuring import Measuring, ReleaseFiles
from countveil.publishing.prepare import open_table, prepare
from countveil.publishing.publications.record import RECORD_NAME
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Randomness
from countveil.tables import Reading, Shaping
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused, unchanged

NOTHING = np.zeros(0, np.int64)


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("private") / "census.parquet"
    cv.generate(3_000, path, seed=1)
    return path


@pytest.fixture(scope="module")
def small(census: Path) -> Path:
    """A part of it, for what does not depend on the rows."""
    path = census.with_name("small.parquet")
    columns = ["gender", "marital", "salary"]
    pq.write_table(pq.read_table(census).select(columns).slice(0, 600), path)
    return path


def tables(page: str) -> list[list[list[str]]]:
    """The cells of every table."""
    root = ET.fromstring(re.sub(r"<!doctype html>|<meta[^>]*>", "", page))
    return [
        [["".join(cell.itertext()) for cell in row] for row in table.iter("tr")]
        for table in root.iter("table")
    ]


def test_it_holds_true_and_published_counts(census: Path, tmp_path: Path) -> None:
    own, folder = tmp_path / "own.html", tmp_path / "release"
    cv.publish(census, {"salary": 3}, folder, private_report=own)
    assert stat.S_IMODE(own.stat().st_mode) == 0o600
    true = pq.read_table(census)["salary"].value_counts().to_pylist()
    published = pq.read_table(folder / "data")["salary"].value_counts().to_pylist()
    said = {entry["values"]: entry["counts"] for entry in published}
    summary, exposure, profiles, *others, codebook = tables(own.read_text())
    eligibility, counts, measured, timings = others
    top = max(true, key=lambda entry: entry["counts"])
    assert eligibility[1][:6] == [
        "salary", "3", str(3_000 // top["counts"]), "1,000", top["values"], f"{top['counts']:,}"
    ]  # fmt: skip
    assert {tuple(row[:3]) for row in counts[1:]} == {
        (e["values"], f"{e['counts']:,}", f"{said.get(e['values'], 0):,}") for e in true
    }
    assert measured[0][-1] == "covered"
    assert summary[0] == ["column", "holds", "role", "values"]
    assert {row[0] for row in codebook[1:]} == set(pq.read_table(census).column_names)
    # All people are in the table of beliefs, without the release and with it.
    for column in (1, 3):
        assert sum(int(row[column].replace(",", "")) for row in exposure[1:]) == 3_000
    people = [int(row[-4].replace(",", "")) for row in profiles[1:]]
    exposed = [int(row[-3].replace(",", "")) for row in profiles[1:]]
    assert 0 < sum(exposed) <= 60
    assert all(some <= all_of_them for some, all_of_them in zip(exposed, people, strict=True))
    assert len(measured) > 5
    assert {row[0] for row in timings[1:]} >= {"reading", "grouping salary", "writing"}
    assert "Never publish this page" in own.read_text()
    # Nothing of it is in the release, nor anything else that was not there before.
    assert cv.verify(folder) == []
    assert {path.name for path in tmp_path.iterdir()} == {RECORD_NAME, "own.html", "release"}


@pytest.mark.slow
def test_profiles_are_plain_and_told_apart_from_the_release(tmp_path: Path) -> None:
    """A slice gives its value away: before any release, and named by its plain values alone."""
    rng = np.random.default_rng(1)
    treated = rng.choice(["yes", "no"], 4_000, p=[0.8, 0.2])
    drug = np.where(treated == "no", "none", rng.choice(["a1", "b2", "c3", "d4"], 4_000))
    people = pa.table({"treated": treated, "ward": rng.choice(["x", "y"], 4_000), "drug": drug})
    own = tmp_path / "own.html"
    cv.publish(
        people, {"drug": 3}, tmp_path / "release", private_report=own, keep=["treated"],
        title="Drugs </title><script>", contact="<b>me</b>",
    )  # fmt: skip
    text = own.read_text()
    assert "<script>" not in text
    assert "<b>me" not in text
    _, beliefs, profiles, *_ = tables(text)
    assert profiles[0][0] == "treated"
    # Every fifth person is known without the release, which adds nothing there.
    assert profiles[1][0] == "no"
    assert float(profiles[1][-2]) > 0.98
    assert float(profiles[1][-1]) > 0.98
    known = int(beliefs[-1][1].replace(",", ""))
    assert known == int((treated == "no").sum())
    listed = [cell for row in profiles for cell in row]
    assert not {"none", "a1", "b2", "c3", "d4"} & set(listed)
    assert "believed at 0.9 or more without any release" in text
    assert "Confidential" in text


@pytest.mark.slow
def test_what_is_measured_is_what_an_analyst_gets(census: Path, tmp_path: Path) -> None:
    """Every cell, against the release's own answer to the same question."""
    table = pq.read_table(census).select(["gender", "education", "occupation"])
    protecting = Protecting.of({"occupation": 4}, residue="drop", seed=3)
    table = table.slice(0, 2_999)
    done = run_publish(table, protecting, Writing.of(tmp_path / "release"))
    assert done.dropped == 3
    release = cv.open(tmp_path / "release")
    data = tmp_path / "release" / "data"
    # The rows that were dropped are known to the publisher only; without them it is this table.
    source = open_table(table, Reading(), Shaping(), ["occupation"])
    kept = prepare(source, ["occupation"], Shaping())
    without = Randomness(3).stream("residue").choose(3, 2_999)
    files = ReleaseFiles(data, [path.name for path in sorted(data.iterdir())], 2_996)
    measuring = Measuring(kept, files, without)
    found = measuring.answers(
        "occupation", partial(view_of_release, ell=4, groups="mixed"), Randomness(1).stream("ask")
    )
    assert found is not None
    assert found.true.shape[0] > 20
    people = table.take(np.delete(np.arange(2_999), without))
    answers: set[tuple[float, ...]] = set()
    for names in (["gender"], ["education"], ["gender", "education"]):
        keys = [*names, "occupation"]
        counts = people.group_by(keys).aggregate([([], "count_all")]).to_pylist()
        true = {tuple(row[key] for key in keys): row["count_all"] for row in counts}
        asked = f"SELECT {', '.join(keys)}, count(*) FROM release GROUP BY ALL"
        for row in release.sql(asked).rows():
            cell, (estimate, _, low, high, _) = tuple(row[: len(keys)]), row[len(keys) :]
            answers.add(rounded(true.get(cell, 0), estimate, low, high))
    # An analyst cannot ask about a value that was never drawn.
    drawn = set(pq.read_table(data)["occupation"].to_pylist())
    published = [value in drawn for value in kept.source.histogram("occupation", NOTHING).values]
    figures = (found.true, found.estimate, found.low, found.high)
    measured = {
        rounded(*cell) for cell in zip(*(f[:, published].ravel() for f in figures), strict=True)
    }
    assert len(measured) > 500
    assert measured <= answers


def rounded(*figures: float) -> tuple[float, ...]:
    return tuple(round(float(figure), 6) for figure in figures)


def test_places_that_are_refused(quick: Quick, small: Path, tmp_path: Path) -> None:  # noqa: F811
    words = ("publish", small, "-s", "salary:3", "--to", tmp_path / "release", "--private-report")
    (tmp_path / "old.html").write_text("old")
    (tmp_path / "link").symlink_to(tmp_path / "release")
    with unchanged(tmp_path):
        for place, text in (
            (tmp_path / "release" / "own.html", "no folder"),
            (tmp_path / "release", "would be published"),
            (tmp_path / "link", "would be published"),
            (tmp_path / "old.html", "--force"),
            (tmp_path / "none" / "own.html", "no folder"),
            (tmp_path, "is a folder"),
        ):
            assert_refused(quick(*words, place), text)
    assert quick(*words, tmp_path / "own.html").code == 0
    with unchanged(tmp_path):
        for inside in (
            tmp_path / "release" / "own.html",
            tmp_path / "release" / "data" / "own.html",
            tmp_path / "link" / "own.html",
            tmp_path / "release" / ".." / "release" / "own.html",
        ):
            assert_refused(quick(*words, inside, "--force"), "would be published")
    assert quick(*words, tmp_path / "own.html", "--force", "--again").code == 0
    assert {path.name for path in tmp_path.iterdir()} == {
        RECORD_NAME, "release", "old.html", "own.html", "link"
    }  # fmt: skip


@pytest.mark.slow
def test_a_dry_run_writes_the_page_and_nothing_else(
    quick: Quick,  # noqa: F811
    census: Path,
    tmp_path: Path,
) -> None:
    words = ("publish", census, "-s", "salary:3", "--to", tmp_path / "release", "--dry-run")
    outcome = quick(*words, "--private-report", tmp_path / "dry.html", "--spill", tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    assert "dry.html" in outcome.out
    assert [path.name for path in tmp_path.iterdir()] == ["dry.html"]
    page = (tmp_path / "dry.html").read_text()
    assert "This was a dry run: nothing was published." in page
    assert "true" in page
    assert (tmp_path / "dry.html").stat().st_mode & 0o077 == 0


def test_a_publication_that_fails_leaves_no_page(
    small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from countveil.release.draft import Draft

    def fail(*_words: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Draft, "commit", fail)
    with pytest.raises(cv.CountveilError, match="disk is full"):
        cv.publish(small, {"salary": 3}, tmp_path / "release", private_report=tmp_path / "own")
    assert list(tmp_path.iterdir()) == []


def test_odd_tables_and_hostile_text(tmp_path: Path) -> None:
    """No other column; missing and hostile values; a value that the draw may remove."""
    evil = "</td><script>alert(1)</script>\x1b[31m"
    values = [evil, None, "c", "d"] * 30
    cv.publish(
        pa.table({"a": values}), {"a": 2}, tmp_path / "one", private_report=tmp_path / "one.html"
    )
    page = (tmp_path / "one.html").read_text()
    assert "<script" not in page
    assert "\x1b" not in page
    assert "Not measured" in page
    assert html.escape("</td><script>") in page
    numbers = pa.table(
        {
            "a": values,
            "x": [float("nan"), 1.5, None, 2.0, 3.25, -1.0] * 20,
            "time": pa.array([row % 7 for row in range(120)], pa.timestamp("ns")),
        }
    )
    own = tmp_path / "two.html"
    cv.publish(numbers, {"a": 2}, tmp_path / "two", residue="drop", private_report=own)
    assert "predicates, answered from this release" in own.read_text()


@pytest.mark.slow
def test_greedy_groups_are_measured_too(census: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.html"
    cv.publish(
        census, {"salary": 3, "occupation": 4}, tmp_path / "release", groups="anatomy",
        private_report=own,
    )  # fmt: skip
    assert own.read_text().count("answered from this release") == 2
