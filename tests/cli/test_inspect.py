"""`countveil inspect` and `publish --dry-run`: look first, write nothing."""

from __future__ import annotations

import csv
import io
import json
import shlex
from pathlib import Path

import pytest

import countveil as cv
from tests.publishing.test_safety_net import hospital, patients
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused, unchanged


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import pyarrow.csv

    path = tmp_path_factory.mktemp("inspect") / "patients.csv"
    pyarrow.csv.write_csv(patients(), path)
    return path


def test_what_is_found(quick: Quick, table: Path) -> None:  # noqa: F811
    with unchanged(table.parent):
        outcome = quick("inspect", table.name, "-s", "diagnosis", cwd=table.parent)
    assert (outcome.code, outcome.err) == (0, "")
    assert max(map(len, outcome.out.split("To publish it")[0].splitlines())) <= 80
    said = " ".join(outcome.out.split())
    assert "'patient_id' looks like a direct identifier" in said
    assert "'icd' gives 'diagnosis' away: the value of 100% of the rows" in said
    assert "rows have a unique combination" in said
    assert "▁" in said or "▇" in said
    assert "P00001" not in said


@pytest.mark.slow
def test_the_line_to_copy_works(quick: Quick, table: Path, tmp_path: Path) -> None:  # noqa: F811
    for sensitive in (["-s", "diagnosis"], ["-s", "income"], []):
        line = quick("inspect", table, *sensitive).out.splitlines()[-1].strip()
        words = shlex.split(line)
        assert words[1] == "publish"
        words[-1] = str(tmp_path / "-".join(["release", *sensitive[1:]]))
        outcome = quick(*words[1:], "--again")
        assert (outcome.code, outcome.err) == (0, ""), line
        assert cv.verify(words[-1]) == []


def test_formats(quick: Quick, table: Path) -> None:  # noqa: F811
    found = json.loads(quick("inspect", table, "-s", "diagnosis", "--format", "json").out)
    roles = {column["name"]: column["role"] for column in found["columns"]}
    assert roles == {
        "patient_id": "identifier", "age": "plain", "ward": "plain", "income": "plain",
        "icd": "giveaway", "diagnosis": "sensitive",
    }  # fmt: skip
    assert found["rows"] == 1_200
    assert found["giveaways"][0]["columns"] == ["icd"]
    assert 0.9 < found["linkable"] <= 1
    assert found["publish"].endswith("--to release")
    lines = list(csv.DictReader(io.StringIO(quick("inspect", table, "--format", "csv").out)))
    assert [line["name"] for line in lines] == list(roles)
    assert lines[3]["bins"] == "q10"


def test_slices_persons_and_odds(quick: Quick, tmp_path: Path) -> None:  # noqa: F811
    import pyarrow.csv

    pyarrow.csv.write_csv(hospital(), tmp_path / "hospital.csv")
    words = ("inspect", tmp_path / "hospital.csv", "-s", "insulin")
    said = " ".join(quick(*words).out.split())
    assert "'who' looks like a person number" in said
    assert "'since' looks like a date of birth" in said
    assert "where treated = 'no' (2" in said
    assert "100.0% have the same value of 'insulin'" in said
    assert "'insulin' at ell 2: seeing its value published multiplies the odds" in said
    found = json.loads(quick(*words, "--format", "json").out)
    kinds = {column["name"]: column["looks_like"] for column in found["columns"]}
    assert kinds["who"] == "person number"
    assert kinds["sex"] == ""
    (slices,) = found["slices"]
    assert slices["columns"] == ["treated"]
    assert slices["stops"]
    assert slices["slices"][0]["where"] == {"treated": "no"}
    assert 0.2 < slices["rows"] < 0.3
    assert found["fineness"]["insulin"]["belief"] < 0.1
    published = shlex.split(found["publish"])
    dropped = {published[n + 1] for n, word in enumerate(published) if word == "--drop"}
    assert dropped == {"who", "since", "treated"}, "what is flagged is never published"


def test_a_dry_run_names_the_odds(quick: Quick, table: Path, tmp_path: Path) -> None:  # noqa: F811
    outcome = quick("publish", table, *DRY, "--to", tmp_path / "release")
    said = " ".join(outcome.out.split())
    assert "'diagnosis' at ell 3: seeing its value published multiplies the odds" in said


def test_python_says_the_same(table: Path) -> None:
    found = cv.inspect(table, sensitive="diagnosis")
    assert found.sensitive == ("diagnosis",)
    assert "patient_id" in str(found)
    by_name = {column.name: column for column in found.columns}
    assert by_name["diagnosis"].largest_ell == 6
    assert by_name["income"].largest_ell >= 5
    assert by_name["patient_id"].distinct == 1_200


def test_guesses_and_hints(tmp_path: Path) -> None:
    rows = "".join(f"{'?' if row % 9 == 0 else row % 4},{'ab'[row % 2]}\n" for row in range(90))
    (tmp_path / "in.csv").write_text("grade,half\n" + rows)
    found = cv.inspect(tmp_path / "in.csv")
    assert found.sensitive == ("grade",)
    assert list(found.missing_marks) == ["?"]
    assert "--missing '?'" in found.publish_line("in.csv")
    assert cv.inspect(tmp_path / "in.csv", missing="?").columns[0].missing == 10
    (tmp_path / "none.csv").write_text("x,y\n" + "1,2\n3,4\n" * 20)
    assert "No column has a name that sounds sensitive" in " ".join(
        cv.inspect(tmp_path / "none.csv").hints
    )


def test_wrong_input(quick: Quick, table: Path, tmp_path: Path) -> None:  # noqa: F811
    assert_refused(quick("inspect", table, "-s", "diagnoses"), "'diagnoses'", "mean 'diagnosis'")
    assert_refused(quick("inspect", tmp_path / "none.csv"), "no file")
    (tmp_path / "empty.csv").write_text("x,y\n")
    assert_refused(quick("inspect", tmp_path / "empty.csv"), "no rows")


DRY = ("-s", "diagnosis:3", "--drop", "patient_id", "--drop", "icd", "--dry-run")


def test_a_dry_run_says_everything_and_writes_nothing(
    quick: Quick,  # noqa: F811
    table: Path,
    tmp_path: Path,
) -> None:
    with unchanged(tmp_path):
        outcome = quick("publish", table, *DRY, "--to", tmp_path / "release")
    assert (outcome.code, outcome.err) == (0, "")
    said = " ".join(outcome.out.split())
    assert said.startswith("Nothing was published. 1,200 rows would be published")
    assert "not differential privacy" in said
    assert "off by more than" in said
    assert "icd" not in said


def test_a_dry_run_finds_what_would_stop(quick: Quick, table: Path, tmp_path: Path) -> None:  # noqa: F811
    target = tmp_path / "release"
    with unchanged(tmp_path):
        stopped = quick("publish", table, *DRY[:4], "--dry-run", "--to", target)
    assert_refused(stopped, "'icd' gives 'diagnosis' away")
    target.mkdir()
    (target / "mine").write_text("mine")
    with unchanged(tmp_path):
        assert_refused(quick("publish", table, *DRY, "--to", target), "not empty")
    missing = tmp_path / "none" / "release"
    assert_refused(quick("publish", table, *DRY, "--to", missing), "does not exist")


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--bins", "age"], "COL="),
        (["--bins", "=10"], "COL="),
        (["--bins", "age=10", "--bins", "age=5"], "named twice"),
        (["--merge", "age"], "COL="),
        (["--domain", "age"], "COL="),
    ],
)
def test_options_that_are_not_written_so(
    quick: Quick,  # noqa: F811
    table: Path,
    tmp_path: Path,
    words: list[str],
    told: str,
) -> None:
    outcome = quick("publish", table, *DRY, *words, "--to", tmp_path / "release")
    assert outcome.code == 2
    assert told in outcome.err


@pytest.mark.slow
def test_names_that_hold_the_marks(quick: Quick, tmp_path: Path) -> None:  # noqa: F811
    rows = "".join(f"{row},{'abc'[row % 3]},{'xyz'[row // 3 % 3]}\n" for row in range(90))
    (tmp_path / "in.csv").write_text("a=1,b:2,c=3\n" + rows)
    (tmp_path / "merge.csv").write_text("c,b\n")
    (tmp_path / "domain=1.txt").write_text("x\ny\nz\n")
    words = (
        "publish", "in.csv", "-s", "c=3:2", "-s", "b:2:2", "-s", "a=1:2", "--bins", "a=1=30,60",
        "--merge", "b:2:merge.csv", "--domain", "c=3=domain=1.txt", "--residue", "absorb",
    )  # fmt: skip
    outcome = quick(*words, "--to", "release", cwd=tmp_path)
    assert_refused(outcome, "'b:2' is not eligible")
    (tmp_path / "merge.csv").write_text("c,d\n")
    outcome = quick(*words, "--to", "release", cwd=tmp_path)
    assert (outcome.code, outcome.err) == (0, "")
    found = cv.open(tmp_path / "release").manifest.sensitive
    assert found["a=1"].domain == ("below 30", "30 to 59", "60 or more")
    assert found["c=3"].domain == ("x", "y", "z")
    assert set(found["b:2"].domain) == {"a", "b", "d"}


def test_the_whole_net_on_the_command_line(quick: Quick, table: Path, tmp_path: Path) -> None:  # noqa: F811
    (tmp_path / "merge.csv").write_text("gout,other\nflu,other\n")
    (tmp_path / "wards.txt").write_text("A\nB\nC\nD\n")
    words = (
        "publish", table, "-s", "diagnosis:3", "-s", "income:4", "-s", "ward:2", "--drop", "icd",
        "--person", "patient_id", "--bins", "income=q8", "--bins", "age=10",
        "--merge", f"diagnosis:{tmp_path / 'merge.csv'}",
        "--domain", f"ward={tmp_path / 'wards.txt'}", "--to", tmp_path / "release",
    )  # fmt: skip
    outcome = quick(*words)
    assert (outcome.code, outcome.err) == (0, "")
    release = cv.open(tmp_path / "release")
    assert [column.name for column in release.columns] == [
        "age", "ward", "income", "diagnosis",
    ]  # fmt: skip
    assert release.manifest.sensitive["ward"].domain == ("A", "B", "C", "D")
    assert "other" in release.manifest.sensitive["diagnosis"].domain
    shown = quick("show", tmp_path / "release").out
    assert "Classes of income: below" in shown
    for name in ("merge.csv", "wards.txt", "patients.csv", str(tmp_path)):
        assert name not in (tmp_path / "release" / "manifest.json").read_text()
