"""A tiny grid from end to end, ended at any moment and taken up again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from study.data import StudyTable, load
from study.experiments import EXPERIMENTS, Scale
from study.figures import FIGURES, draw_all
from study.grid import FULL, QUICK, Cell, cells
from study.results import Results, gathered, write
from study.runner import Runner, code_digest

ROOT = Path(__file__).parents[2]
TINY = Scale(
    rows=2_500,
    sizes=(2_500, 3_000),
    ells=(2, 5),
    repetitions=2,
    predicates=6,
    two_ells=(2, 3),
    two_repetitions=1,
    two_predicates=3,
    most_queries=(2, 6),
    draws=20,
    times=1,
    asked=3,
)
# Clocks differ, and so does noise from a library that takes no seed.
REPEATED = [name for name, e in EXPERIMENTS.items() if not e.timed and name[:4] != "by_m"]
REPEATED.remove("by_queries")
_ALONE = """
import sys
from pathlib import Path
from study.data import load
from study.runner import Runner
from tests.study.test_runner import TINY, cells

if __name__ == "__main__":
    Runner(load("census", 3_000), Path(sys.argv[1]), 1).run(cells(TINY, ["pools", "alone"]))
"""


@pytest.fixture(scope="module")
def table() -> StudyTable:
    return load("census", 3_000)


@pytest.fixture(scope="module")
def everything(
    table: StudyTable, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, dict[Cell, list[dict[str, object]]]]:
    folder = tmp_path_factory.mktemp("kept")
    return folder, Runner(table, folder, 2).run(cells(TINY))


def test_a_tiny_grid_gives_results_and_every_figure(
    everything: tuple[Path, dict[Cell, list[dict[str, object]]]],
    table: StudyTable,
    tmp_path: Path,
) -> None:
    _, found = everything
    assert all(found.values())
    tables = gathered((cell.experiment, rows) for cell, rows in found.items())
    assert set(tables) == set(EXPERIMENTS)
    about = {"data": table.name, "rows": table.rows}
    write(tmp_path / "results", tables, table.name, about)
    # Figures are made from the files and from nothing else.
    results = Results.read(tmp_path / "results")
    assert results.about["data"] == "made-up census"
    assert {row["data"] for rows in results.tables.values() for row in rows} == {"made-up census"}
    names = draw_all(results, tmp_path / "figures")
    assert set(names) == set(FIGURES)
    for name in names:
        text = (tmp_path / "figures" / f"{name}.svg").read_text()
        assert text.startswith("<svg")
        assert "nan" not in text


def test_finished_cells_are_not_measured_again(
    everything: tuple[Path, dict[Cell, list[dict[str, object]]]], table: StudyTable
) -> None:
    folder, found = everything
    told: list[int] = []
    again = Runner(table, folder, 2).run(cells(TINY), lambda done, _all, _cell: told.append(done))
    assert again == found
    assert told == []


def test_interrupted_and_taken_up_gives_the_same(
    everything: tuple[Path, dict[Cell, list[dict[str, object]]]], table: StudyTable, tmp_path: Path
) -> None:
    _, found = everything
    todo = cells(TINY, REPEATED)

    def stop(done: int, _all: int, _cell: Cell) -> None:
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Runner(table, tmp_path, 2).run(todo, stop)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("*.json")}
    assert 5 <= len(kept) < len(todo)
    told: list[int] = []
    again = Runner(table, tmp_path, 1).run(todo, lambda done, _all, _cell: told.append(done))
    assert len(told) == len(todo) - len(kept)
    assert {path: path.stat().st_mtime_ns for path in kept} == kept
    assert again == {cell: found[cell] for cell in todo}


def test_killed_and_taken_up_gives_the_same(
    everything: tuple[Path, dict[Cell, list[dict[str, object]]]], table: StudyTable, tmp_path: Path
) -> None:
    _, found = everything
    todo = cells(TINY, ["pools", "alone"])
    script = tmp_path / "alone.py"
    script.write_text(_ALONE)
    kept = tmp_path / "kept"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    process = subprocess.Popen(
        [sys.executable, str(script), str(kept)], cwd=ROOT, env=environment, start_new_session=True
    )
    for _ in range(1_200):
        if len(list(kept.glob("*.json"))) >= 3 or process.poll() is not None:
            break
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = len(list(kept.glob("*.json")))
    assert before >= 3
    told: list[int] = []
    again = Runner(table, kept, 1).run(todo, lambda done, _all, _cell: told.append(done))
    assert len(told) == len(todo) - before
    assert again == {cell: found[cell] for cell in todo}


def test_other_data_and_other_code_do_not_share_cells(
    everything: tuple[Path, dict[Cell, list[dict[str, object]]]],
    table: StudyTable,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    folder, _ = everything
    cell = cells(TINY, ["pools"])[0]
    assert Runner(table, folder)._kept(cell) is not None
    other = StudyTable("another", table.columns)
    assert Runner(other, folder)._kept(cell) is None
    monkeypatch.setattr("study.runner.code_digest", lambda: "another")
    assert Runner(table, folder)._kept(cell) is None


def test_the_digest_covers_the_estimators_and_not_the_figures() -> None:
    first = code_digest()
    path = ROOT / "study" / "figures" / "lines.py"
    assert path.exists()
    assert code_digest() == first
    assert len(first) == 16


@pytest.mark.parametrize("scale", [FULL, QUICK, TINY])
def test_cells_have_names_of_their_own(scale: Scale) -> None:
    keys = [cell.key for cell in cells(scale)]
    assert len(set(keys)) == len(keys)
    assert {cell.experiment for cell in cells(scale)} == set(EXPERIMENTS)


def test_the_study_is_what_was_promised() -> None:
    assert FULL.sizes == (100_000, 200_000, 300_000, 400_000, 500_000)
    assert tuple(FULL.ells) == tuple(range(2, 11))
    assert tuple(FULL.two_ells) == tuple(range(2, 9))
    assert tuple(FULL.most_queries) == tuple(range(10, 101, 10))
    assert FULL.repetitions >= 10
    assert FULL.predicates * 50 == 5_000
