"""The tutorial notebooks run from the first cell to the last, and show what they speak of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

nbformat = pytest.importorskip("nbformat")
TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
NAMES = ("publisher", "analyst")


@pytest.fixture(scope="module", params=NAMES)
def executed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A notebook after a run in a real kernel, and the folder it ran in."""
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    folder = tmp_path_factory.mktemp(request.param)
    book = nbformat.read(TUTORIALS / f"{request.param}.ipynb", as_version=4)
    client = nbclient.NotebookClient(
        book, timeout=900, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    return request.param, book, folder


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_kept_without_outputs(name: str) -> None:
    book = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
    nbformat.validate(book)
    for cell in book.cells:
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)


@pytest.mark.parametrize("name", NAMES)
def test_links_of_a_notebook_lead_somewhere(name: str) -> None:
    book = nbformat.read(TUTORIALS / f"{name}.ipynb", as_version=4)
    links = [link for cell in book.cells for link in re.findall(r"\]\(([^)#]+)", cell.source)]
    assert links
    assert not [link for link in links if not (TUTORIALS / link).exists()]


@pytest.mark.slow
def test_every_cell_runs_and_shows_something(executed: Any) -> None:
    name, book, folder = executed
    shown = [cell.outputs for cell in book.cells if cell.cell_type == "code"]
    assert all(shown)
    kinds = [output.output_type for outputs in shown for output in outputs]
    assert not {"error", "stream"} & {*kinds}
    pages = [
        output.data.get("text/html", "")
        for outputs in shown
        for output in outputs
        if output.output_type == "execute_result"
    ]
    # What comes back is a table in most cells; no page asks for anything.
    assert sum("<table" in text for text in pages) >= 3
    assert not [text for text in pages if "<script" in text or "src=" in text]
    if name == "analyst":
        assert sum("<svg" in text for text in pages) == 1
        # Which one it is depends on the draw.
        assert all(re.search("reliable|indicative|hidden", text) for text in pages[1:3])
    else:
        assert "is sound" in " ".join(pages)
        assert "Tested claims that hold" in (folder / "census-audit.html").read_text()
        assert {path.name for path in folder.iterdir()} >= {
            "census-release", "census-private.html", "census-audit.html"
        }  # fmt: skip
