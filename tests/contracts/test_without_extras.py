"""An environment with countveil and what it needs, and nothing else: every extra has its hint.

A fresh virtual environment gets links to the distributions that countveil requires, directly or
through others, as they are installed here. Nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import countveil as cv
from tests.robustness.tools import ROOT, Outcome, assert_refused, names_in

pytestmark = pytest.mark.slow

EXTRAS = {
    "app": "starlette",
    "dask": "dask",
    "excel": "python_calamine",
    "models": "formulaic",
    "pandas": "pandas",
    "polars": "polars",
    "postgres": "adbc_driver_postgresql",
    "spark": "pyspark",
    "stat": "pyreadstat",
    "study": "opendp",
}


def needed(name: str, extras: frozenset[str], found: dict[str, metadata.Distribution]) -> None:
    """A distribution and what it requires here, added to what was found."""
    key = str(canonicalize_name(name))
    if key in found and not extras:
        return
    found[key] = metadata.distribution(name)
    for text in found[key].requires or []:
        wanted = Requirement(text)
        if wanted.marker is None or any(
            wanted.marker.evaluate({"extra": extra}) for extra in extras or {""}
        ):
            needed(wanted.name, frozenset(wanted.extras), found)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of the new environment."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder, symlinks=True, with_pip=False)
    paths = sysconfig.get_paths(vars={"base": str(folder), "platbase": str(folder)})
    place = Path(paths["purelib"])
    found: dict[str, metadata.Distribution] = {}
    needed("countveil", frozenset(), found)
    assert "numpy" in found
    assert not {"pandas", "polars", "opendp"} & set(found)
    for distribution in found.values():
        for name in {file.parts[0] for file in distribution.files or []}:
            source = Path(str(distribution.locate_file(name)))
            if name not in ("..", "__pycache__") and not (place / name).exists():
                (place / name).symlink_to(source)
    # Also where countveil itself is installed as files and not as a link to its source.
    (place / "countveil.pth").write_text(str(ROOT / "src"))
    return folder / "bin" / "python"


def run(python: Path, code: str, *words: object) -> Outcome:
    env = {key: text for key, text in os.environ.items() if key != "PYTHONPATH"}
    done = subprocess.run(
        [python, "-c", code, *map(str, words)], env=env, capture_output=True, text=True, check=False
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


def command(python: Path, *words: object) -> Outcome:
    return run(python, "from countveil.cli.entry import main; main()", *words)


def hint(extra: str) -> str:
    return f"pip install '.[{extra}]'"


@pytest.fixture(scope="module")
def release(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Made in the new environment: nothing of the ordinary path needs an extra."""
    folder = tmp_path_factory.mktemp("made")
    census = folder / "census.csv"
    assert command(python, "generate", "--rows", 500, "--to", census).code == 0
    assert command(python, "inspect", census, "-s", "occupation").code == 0
    words = ("publish", census, "-s", "occupation:3", "-s", "education:2", "--to")
    outcome = command(python, *words, folder / "release", "--private-report", folder / "own.html")
    assert outcome.code == 0
    assert outcome.err.startswith("'occupation' and 'education' are associated")
    return folder / "release"


def test_there_is_really_nothing_else(python: Path) -> None:
    names = [*EXTRAS.values(), "pytest", "hypothesis", "pip"]
    code = "import importlib.util as u, sys; print([n for n in sys.argv[1:] if u.find_spec(n)])"
    assert run(python, code, *names).out == "[]\n"
    extras = metadata.metadata("countveil").get_all("Provides-Extra")
    # `plot` is empty: charts are drawn without any library.
    assert set(extras or ()) == {*EXTRAS, "plot"}, "an extra without a test of its hint"


def test_a_release_can_be_asked(python: Path, release: Path) -> None:
    sql = "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"
    outcome = command(python, "query", release, sql, "--format", "json")
    assert len(json.loads(outcome.out)) == 2
    assert cv.verify(release) == []
    assert command(python, "verify", release).code == 0
    outcome = command(python, "export", release, "--to", f"duckdb:{release.parent / 'r.duckdb'}#r")
    assert outcome.code == 0, outcome.err


@pytest.mark.parametrize(
    ("source", "extra"),
    [("in.xlsx", "excel"), ("in.ods", "excel"), ("in.sav", "stat"), ("in.dta", "stat"),
     ("in.sas7bdat", "stat"), ("postgresql://me@localhost/db#t", "postgres")],
)  # fmt: skip
def test_sources(python: Path, tmp_path: Path, source: str, extra: str) -> None:
    name = source
    if "://" not in source:
        name = str(tmp_path / source)
        Path(name).write_bytes(b"x")
    before = names_in(tmp_path)
    outcome = command(python, "publish", name, "-s", "job:3", "--to", tmp_path / "release")
    told = outcome.err.replace("\n", " ")
    assert outcome.code == 1
    assert told.startswith("Error: This needs ")
    assert hint(extra) in told
    assert names_in(tmp_path) == before


@pytest.mark.parametrize("engine", ["spark", "dask"])
def test_a_cluster(python: Path, release: Path, tmp_path: Path, engine: str) -> None:
    census = release.parent / "census.csv"
    words = ("publish", census, "-s", "occupation:3", "--to", tmp_path / "r", "--engine", engine)
    outcome = command(python, *words)
    assert outcome.code == 1
    assert hint(engine) in outcome.err


def test_the_app(python: Path, release: Path) -> None:
    outcome = command(python, "app", release, "--no-browser")
    assert outcome.code == 1
    assert hint("app") in outcome.err


def test_releases_in_a_server(python: Path, release: Path) -> None:
    address = "postgresql://me@localhost/db#t"
    for words in (
        ("query", address, "SELECT count(*) FROM release"),
        ("export", release, "--to", address),
    ):
        outcome = command(python, *words)
        assert outcome.code == 1
        assert hint("postgres") in outcome.err


@pytest.mark.parametrize(
    ("call", "extra"),
    [
        ("release.sql('SELECT count(*) FROM release').to_pandas()", "pandas"),
        ("release.sql('SELECT count(*) FROM release').to_polars()", "polars"),
        ("release.regress('age ~ gender')", "models"),
    ],
)
def test_answers(python: Path, release: Path, call: str, extra: str) -> None:
    code = (
        "import sys, countveil as cv\n"
        "release = cv.open(sys.argv[1])\n"
        f"try:\n    {call}\nexcept cv.CountveilError as error:\n    print(error)\n"
    )
    outcome = run(python, code, release)
    assert (outcome.code, outcome.err) == (0, "")
    assert hint(extra) in outcome.out


def test_a_chart_needs_no_library(python: Path, release: Path) -> None:
    code = (
        "import sys, countveil as cv\n"
        "print(cv.open(sys.argv[1]).crosstab('gender', 'occupation').plot().svg)\n"
    )
    outcome = run(python, code, release)
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("<svg")


def test_comparing_goes_on_without_noise(python: Path, release: Path) -> None:
    census = release.parent / "census.csv"
    outcome = command(python, "compare", census, "-s", "occupation", "--ell", 3, "--format", "json")
    assert outcome.code == 0, outcome.err
    assert hint("study").replace("'", "") in outcome.out.replace("'", "")


def test_the_interpreter_is_another_one(python: Path) -> None:
    assert run(python, "import sys; print(sys.prefix)").out.strip() != sys.prefix
    assert_refused(command(python, "inspect", "nowhere.csv"), "no file")
