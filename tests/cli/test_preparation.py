"""Preparation on the command line: rehearsed, done, shown, asked about."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.csv
import pytest

from tests.publishing.test_preparation import visits
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused, unchanged

PREPARED = [
    "--one-per", "patient=last by admitted", "--bins", "admitted=year", "--round", "pay=250",
    "--top", "pay=750", "--levels", "diag=prefix:3", "--merge", "diag=rare:5", "--missing", "?",
    "--bottom", "age=18", "--round", "age=10",
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("visits")
    pyarrow.csv.write_csv(visits(), path / "visits.csv")
    (path / "merge.csv").write_text("value,label\n250.1,diabetes\n250.2,diabetes\n")
    (path / "a=b.csv").write_text("value,label\nhere,near\n")
    return path


def test_rehearsed_then_published_then_asked(quick: Quick, folder: Path) -> None:  # noqa: F811
    with unchanged(folder):
        looked = quick("inspect", "visits.csv", "-s", "diag", *PREPARED, "--k", "5", cwd=folder)
        planned = quick(
            "publish", "visits.csv", "-s", "diag:2", *PREPARED, "--to", "r", "--dry-run",
            "--k", "5", cwd=folder,
        )  # fmt: skip
    said = " ".join(looked.out.split())
    assert "150 rows" in said
    assert "--one-per 'patient=last by admitted'" in said
    assert "combination of plain values that fewer than 5 rows have" in said
    told = " ".join(planned.out.split())
    assert "For you only:" in told
    assert "What was changed before." in told
    assert "fewer than 5 rows have" in told
    done = quick("publish", "visits.csv", "-s", "diag:2", *PREPARED, "--to", "r", cwd=folder)
    assert done.code == 0, done.err
    shown = " ".join(quick("show", "r", cwd=folder).out.split())
    assert "One row of each person is published, the last by 'admitted'" in shown
    answer = quick("query", "r", "SELECT count(*) FROM release WHERE diag = '250.1'", cwd=folder)
    assert_refused(answer, "'250.1' was cut to '250' before publishing; ask for '250'.")
    written = quick("sql", "r", "SELECT count(*) FROM release WHERE diag = '250.1'", cwd=folder)
    assert_refused(written, "'250.1' was cut to '250'")


@pytest.mark.few(1)
@pytest.mark.parametrize("mark", [":", "="])
def test_a_merge_is_written_with_either_mark(quick: Quick, folder: Path, mark: str) -> None:  # noqa: F811
    to = f"merged{ord(mark)}"
    done = quick(
        "publish", "visits.csv", "-s", "diag:2", "--columns", "sex", "--merge",
        f"diag{mark}merge.csv", "--to", to, "--again", "--format", "json", cwd=folder,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert "merged" not in json.loads(done.out)
    shown = " ".join(quick("show", to, cwd=folder).out.split())
    assert "diag diabetes 250.1, 250.2" in shown


def test_values_and_labels_may_follow_as_lists(quick: Quick, folder: Path) -> None:  # noqa: F811
    merged = json.dumps({"250.1": "sugar=high: yes", "250.2": "sugar=high: yes"})
    labels = json.dumps({"1": "men", "2": "women, girls"})
    words = ["visits.csv", "-s", "diag:2", "--columns", "sex", "--labels", f"sex={labels}"]
    done = quick(
        "publish", *words, "--merge", f"diag={merged}", "--to", "lists", "--write-recipe",
        "lists.toml", cwd=folder,
    )  # fmt: skip
    assert done.code == 0, done.err
    again = quick(
        "publish", "--recipe", "lists.toml", "--to", "relisted", "--again", cwd=folder
    )  # fmt: skip
    assert again.code == 0, again.err
    for release in ("lists", "relisted"):
        shown = " ".join(quick("show", release, cwd=folder).out.split())
        assert "'sugar=high: yes'" in shown
        assert "women, girls" in shown


def test_a_file_with_a_mark_in_its_name(quick: Quick, folder: Path) -> None:  # noqa: F811
    done = quick(
        "publish", "visits.csv", "-s", "diag:2", "--columns", "town", "--merge", "town=a=b.csv",
        "--merge", "diag:rare:5:few", "--again", "--to", "marked", "--format", "json", cwd=folder,
    )  # fmt: skip
    assert done.code == 0, done.err
    assert set(json.loads(done.out)["merged"]["diag"]) == {"666.6", "777.7", "888.8"}


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--bins", "admitted=fortnight"], "Dates take day, week, month, quarter"),
        (["--round", "pay=some"], "--round of 'pay' needs a number"),
        (["--round", "pay=0"], "the step must be positive"),
        (["--levels", "diag=3"], "are written as prefix:3, or as FILE:LEVEL"),
        (["--one-per", "patient=one"], "Write 'first by COLUMN', 'last by COLUMN' or 'any'"),
        (["--one-per", "patient=first by day"], "There is no column 'day'"),
        (["--merge", "diag=nowhere.csv"], "nowhere.csv cannot be read"),
        (["--top", "town=5"], "holds text and not numbers"),
    ],
)
def test_what_is_refused(quick: Quick, folder: Path, words: list[str], said: str) -> None:  # noqa: F811
    with unchanged(folder):
        outcome = quick(
            "publish", "visits.csv", "-s", "diag:2", *words, "--to", "refused", cwd=folder
        )
    assert_refused(outcome, said)
