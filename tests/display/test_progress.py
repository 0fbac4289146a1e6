"""Where progress is shown: in a terminal and in a notebook, and nowhere else."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest

import countveil as cv
from tests.robustness.tools import PATIENCE

TABLE = pa.table({"job": ["a", "b", "c", "d"] * 50, "town": ["x", "y"] * 100})
WORK = """
import time
from countveil.display import progress_shown

with progress_shown({wanted}) as show:
    for done in range(8):
        show("counting <b>", done, 8)
        time.sleep(0.1)
"""

# Keeps everything that is drawn: a notebook keeps what was drawn last.
RECORD = """
from countveil.display import _NotebookBar

drawings, draw = [], _NotebookBar._draw
_NotebookBar._draw = lambda bar, text: (drawings.append(text), draw(bar, text))
"""


def in_terminal(code: str) -> str:
    """What a program writes to the terminal that its errors go to."""
    parent, child = pty.openpty()
    with subprocess.Popen([sys.executable, "-c", code], stderr=child) as process:
        os.close(child)
        written = b""
        while True:
            try:
                part = os.read(parent, 4096)
            except OSError:  # The other end is closed.
                break
            if not part:
                break
            written += part
        assert process.wait() == 0
    os.close(parent)
    return written.decode()


def test_a_terminal_shows_a_bar() -> None:
    written = in_terminal(WORK.format(wanted=""))
    assert "counting <b>" in written
    assert "of 8 rows" in written


def test_a_terminal_shows_nothing_that_is_not_wanted() -> None:
    assert in_terminal(WORK.format(wanted="False")) == ""


def test_a_file_or_a_pipe_gets_nothing() -> None:
    done = subprocess.run(
        [sys.executable, "-c", WORK.format(wanted="")], capture_output=True, check=True
    )
    assert (done.stdout, done.stderr) == (b"", b"")


def test_a_function_is_called(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    stages: list[str] = []
    cv.publish(
        TABLE, {"job": 2}, tmp_path / "release", progress=lambda stage, *_: stages.append(stage)
    )
    assert len(set(stages)) > 2
    cv.publish(TABLE, {"job": 2}, tmp_path / "two", progress=False, again=True)
    assert capfd.readouterr().err == ""


@pytest.mark.slow
def test_a_notebook_shows_a_bar_and_takes_it_away() -> None:
    """In a real kernel: the bar is one output, which changes; at the end it is empty."""
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    cells = [RECORD, WORK.format(wanted=""), "print('\\n'.join(drawings))"]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(cell) for cell in cells])
    nbclient.NotebookClient(book, timeout=PATIENCE, kernel_name="python3").execute()
    (shown,) = book.cells[1].outputs
    assert shown.output_type == "display_data"
    assert shown.data["text/html"] == ""
    drawn = book.cells[2].outputs[0].text.splitlines()
    assert "counting &lt;b&gt;" in drawn[0]
    assert ' max="8"></progress>' in drawn[0]
    assert drawn[-1] == ""
