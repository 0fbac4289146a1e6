"""A tiny grid from end to end, and runs that are ended at any moment and taken up again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from study.__main__ import main
from study.charts import FIGURES, draw_all
from study.data import StudyTable, load
from study.experiments import EXPERIMENTS, Row, Scale
from study.grid import FULL, QUICK, Cell, cells
from study.page import study_page
from study.results import Results, gathered, write
from study.runner import Runner, Spoken, code_digest
from tests.robustness.processes import wait_for
from tests.robustness.tools import PATIENCE

ROOT = Path(__file__).parents[2]
# Every ell, size and number of queries that the page speaks of, on few rows.
TINY = Scale(
    rows=2_500,
    sizes=(2_500, 3_000),
    ells=(2, 5, 10),
    repetitions=2,
    predicates=10,
    two_ells=(2, 5, 8),
    two_repetitions=1,
    two_predicates=3,
    most_queries=(10, 100),
    draws=20,
    times=1,
    asked=3,
)
CHEAP = ("pools", "alone")
_ALONE = """
import signal
import sys
from pathlib import Path
from study.data import load
from study.runner import Runner
from tests.study.test_runner import CHEAP, TINY, cells

if __name__ == "__main__":
    # Whoever started the tests in the background has Ctrl-C ignored, and that is inherited.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    Runner(load("census", 3_000), Path(sys.argv[1]), 1).run(cells(TINY, CHEAP))
"""


@pytest.fixture(scope="module")
def table() -> StudyTable:
    return load("census", 3_000)


def measured_here(table: StudyTable) -> dict[Cell, list[Row]]:
    """What the cheap cells find, without processes and files."""
    return {
        cell: EXPERIMENTS[cell.experiment].measure(table, **cell.parameters)
        for cell in cells(TINY, CHEAP)
    }


@pytest.mark.slow
def test_a_tiny_grid_gives_results_figures_and_a_page(table: StudyTable, tmp_path: Path) -> None:
    todo = [
        cell
        for cell in cells(TINY)
        # Iterations that hardly converge take longest.
        if cell.experiment != "errata" or cell.parameters["ell"] != 10
    ]
    found = Runner(table, tmp_path / "kept", 2).run(todo)
    assert all(one["rows"] for one in found.values())
    tables = gathered((cell.experiment, one["rows"]) for cell, one in found.items())
    assert set(tables) == set(EXPERIMENTS)
    about = {"data": table.name, "rows": table.rows, "cores": 2, "cells": 9, "cpu_seconds": 600}
    write(tmp_path / "results", tables, table.name, about)
    # What follows is made from the files and from nothing else.
    results = Results.read(tmp_path / "results")
    assert {row["data"] for rows in results.tables.values() for row in rows} == {"made-up census"}
    for name, rows in tables.items():
        assert len(results.tables[name]) == len(rows)
    names = draw_all(results, tmp_path / "figures")
    assert set(names) == set(FIGURES)
    for name in names:
        text = (tmp_path / "figures" / f"{name}.svg").read_text()
        assert text.startswith("<svg")
        assert "nan" not in text
    page = study_page(results)
    assert "made-up census" in page
    assert all(f"figures/{name}.svg" in page for name in FIGURES)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_ended_and_taken_up_gives_the_same(
    table: StudyTable, tmp_path: Path, how: signal.Signals
) -> None:
    todo = cells(TINY, CHEAP)
    script, folder = tmp_path / "alone.py", tmp_path / "kept"
    script.write_text(_ALONE)
    process = subprocess.Popen(
        [sys.executable, str(script), str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    wait_for(
        lambda: len(list(folder.glob("*.json"))) >= 3 or process.poll() is not None, every=0.01
    )
    # As a terminal does: every process of the group.
    os.killpg(process.pid, how)
    assert process.wait(PATIENCE) != 0
    kept = {path: path.stat().st_mtime_ns for path in folder.glob("*.json")}
    assert 3 <= len(kept) < len(todo)
    told: list[int] = []
    again = Runner(table, folder, 1).run(todo, lambda done, _all, _cell: told.append(done))
    assert len(told) == len(todo) - len(kept)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert {cell: one["rows"] for cell, one in again.items()} == measured_here(table)
    # Everything is there: nothing is measured, no process is started.
    assert Runner(table, folder, 1).run(todo, lambda *_: pytest.fail("measured")) == again


@pytest.mark.slow
def test_what_is_kept_of_other_data_or_code_is_not_taken(
    table: StudyTable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cell = cells(TINY, ["pools"])[0]
    runner = Runner(table, tmp_path)
    runner._keep(cell, {"rows": [{"error": 1.0}], "cpu_seconds": 1.0})
    assert runner._kept(cell) == {"rows": [{"error": 1.0}], "cpu_seconds": 1.0}
    other = StudyTable("another", table.columns)
    assert Runner(other, tmp_path)._kept(cell) is None
    monkeypatch.setattr("study.runner.code_digest", lambda _experiment: "another")
    assert Runner(table, tmp_path)._kept(cell) is None
    runner.forget([cell])
    assert runner._kept(cell) is None


@pytest.mark.slow
def test_the_digest_changes_with_an_estimator(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import shutil

    import countveil

    package = tmp_path / "countveil"
    shutil.copytree(Path(countveil.__file__).parent, package)
    monkeypatch.setattr("study.runner.countveil.__file__", str(package / "__init__.py"))
    first = {name: code_digest(name) for name in EXPERIMENTS}
    assert len(set(first.values())) == len(EXPERIMENTS)
    (package / "cli" / "app.py").write_text("# another command line")
    assert {name: code_digest(name) for name in EXPERIMENTS} == first
    with (package / "maths" / "estimate" / "shrunk.py").open("a") as file:
        file.write("# another estimator\n")
    assert all(code_digest(name) != before for name, before in first.items())


@pytest.mark.parametrize("scale", [FULL, QUICK, TINY])
def test_cells_have_names_of_their_own(scale: Scale) -> None:
    keys = [cell.key for cell in cells(scale)]
    assert len(set(keys)) == len(keys)
    assert {cell.experiment for cell in cells(scale)} == set(EXPERIMENTS)


def test_the_grid_is_the_one_of_the_paper() -> None:
    assert FULL.sizes == (100_000, 200_000, 300_000, 400_000, 500_000)
    assert tuple(FULL.ells) == tuple(range(2, 11))
    assert tuple(FULL.two_ells) == tuple(range(2, 9))
    assert tuple(FULL.most_queries) == tuple(range(10, 101, 10))
    assert FULL.repetitions >= 10
    assert FULL.predicates * 50 == 5_000


def test_a_wrong_path_is_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--data", str(tmp_path / "nowhere.zip")]) == 1
    assert capsys.readouterr().err.startswith("There is nothing at")


@pytest.mark.parametrize("terminal", [True, False])
def test_progress_is_told(terminal: bool) -> None:
    said: list[str] = []
    tell = Spoken(terminal=terminal, write=said.append)
    some = cells(TINY, ["pools"])
    for done, cell in enumerate(some, start=1):
        tell(done, len(some), cell)
    # A log gets the last line at least, a terminal every one.
    assert len(said) == (len(some) if terminal else 1)
    assert f"{len(some)} of {len(some)} cells" in said[-1]
    assert said[-1].endswith("\n")
