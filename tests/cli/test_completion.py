"""The shell completes commands, options and names of columns; half an ell is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

import countveil as cv
from tests.robustness.conftest import Quick
from tests.robustness.tools import run


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("typed")
    cv.generate(20, folder / "census.parquet", seed=1)
    (folder / "in.csv").write_text('age;"a; b";alter\x1b;job\n1;2;3;SECRET\n')
    (folder / "bad.parquet").write_text("no")
    return folder


def completed(place: Path, *words: str) -> list[str]:
    """What a shell would offer for the last word."""
    line = " ".join(["countveil", *words])
    shell = {
        "_COUNTVEIL_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(words)),
    }  # fmt: skip
    outcome = run(cwd=place, env=shell)
    assert (outcome.code, outcome.err) == (0, "")
    return outcome.out.split("\n")[:-1]


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("pub",), ["publish"]),
        (("publish", "in.csv", "--gr"), ["--groups"]),
        (("publish", "census.parquet", "-s", "occ"), ["occupation"]),
        (("inspect", "census.parquet", "--columns", "ma"), ["marital"]),
        (("publish", "in.csv", "--bins", "a"), ["age=", "a; b="]),
        (("publish", "in.csv", "--drop", "SEC"), []),
        (("publish", "bad.parquet", "--drop", "a"), []),
        (("publish", "none.csv", "--drop", "a"), []),
    ],
)
def test_completion(words: tuple[str, ...], offered: list[str], place: Path) -> None:
    assert [name for name in completed(place, *words) if name] == offered


def test_completion_is_offered(quick: Quick) -> None:
    assert "--install-completion" in quick("--help").out


@pytest.mark.few(1)
@pytest.mark.parametrize(("ell", "hint"), [("2.5", "2"), ("3.7", "4"), (".5", "2"), ("-1.5", "2")])
def test_half_an_ell_is_refused(ell: str, hint: str, place: Path, quick: Quick) -> None:
    words = ("publish", "census.parquet", "-s", f"occupation:{ell}", "--to", "r")
    outcome = quick(*words, cwd=place)
    assert outcome.code == 2
    said = " ".join(outcome.err.split())
    assert f"ell must be a whole number of at least 2; 'occupation:{ell}' says {ell}" in said
    assert f"-s occupation:{hint}" in said
