"""Messages name options as their reader writes them: as flags, or as keywords of Python."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import countveil as cv
from countveil import errors
from countveil.errors import option
from tests.robustness.conftest import Quick

SOURCE = Path(cv.__file__).parent
FLAG = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")
# Commands to copy on pages, and the options of programs and styles that are not ours.
MAY_WRITE_FLAGS = {
    "errors.py", "publishing/advise/inspecting/inspection.py", "publishing/advise/advice.py",
    "report/release_page.py", "report/look/stylesheet.py",
}  # fmt: skip


def messages(path: Path) -> Iterator[str]:
    """The texts of a module, without its docstrings."""
    tree = ast.parse(path.read_text())
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and id(node) not in docstrings:
            yield str(node.value)


@pytest.mark.slow
def test_only_the_command_line_writes_flags() -> None:
    written = {
        f"{name}: {text}"
        for path in SOURCE.rglob("*.py")
        if (name := path.relative_to(SOURCE).as_posix()) not in MAY_WRITE_FLAGS
        and not name.startswith("cli/")
        for text in messages(path)
        if re.search(r"(?<![\w-])--[a-z]", text) and "'countveil " not in text
    }
    assert not written, "name options with countveil.errors.option"


OPTIONS = [
    (("bins",), "--bins", "bins=..."),
    (("bins", {"age": 10}), "--bins age=10", "bins={'age': 10}"),
    (("bins", {"my age": [18, 30]}), "--bins 'my age=18,30'", "bins={'my age': [18, 30]}"),
    (("merge", {"job": "FILE"}), "--merge job=FILE", "merge={'job': 'FILE'}"),
    (("sensitive", {"job": 5}), "-s job:5", "sensitive={'job': 5}"),
    (("force", True), "--force", "force=True"),
    (("header", False), "--no-header", "header=False"),
    (("private_report",), "--private-report", "private_report=..."),
    (("engine", "spark"), "--engine spark", "engine='spark'"),
    (("missing", ""), "--missing ''", "missing=''"),
]


@pytest.mark.parametrize(("given", "typed", "called"), OPTIONS)
def test_an_option_is_written_for_its_reader(
    given: tuple[str, object], typed: str, called: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert option(*given) == called
    monkeypatch.setattr(errors, "reader", "command line")
    assert option(*given) == typed


def test_the_same_mistake_is_explained_to_both(tmp_path: Path, quick: Quick) -> None:
    table = tmp_path / "table.csv"
    table.write_text("age,job\n" + "".join(f"{n},{'abc'[n % 3]}\n" for n in range(150)))
    wrong = quick("publish", table, "-s", "age:2", "--keep", "job", "--to", tmp_path / "r").err
    assert "--bins age=10" in wrong
    assert "--domain age=FILE" in wrong
    with pytest.raises(cv.CountveilError) as refused:
        cv.publish(table, {"age": 2}, tmp_path / "r", keep="job")
    assert "bins={'age': 10}" in str(refused.value)
    assert "domain={'age': 'FILE'}" in str(refused.value)
    assert not FLAG.search(str(refused.value))
