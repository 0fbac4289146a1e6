"""The quick way to `countveil app` reads what the long way reads, or leaves it alone."""

from __future__ import annotations

import inspect
import subprocess
import sys
from dataclasses import asdict, fields

import pytest

from countveil.cli.app import parser
from countveil.cli.commands import app
from countveil.cli.quick_app import StartOptions, plain_start


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--no-browser"],
        ["--browser", "--port", "0"],
        ["release", "--port=8080"],
        ["--root", "a folder", "--port", "65535", "--no-browser"],
        ["--root=./x=y", "other/release"],
    ],
)
def test_both_ways_read_the_same(words: list[str]) -> None:
    read = parser().commands["app"].make_context("app", list(words)).params
    options = plain_start(["app", *words])
    assert options is not None
    assert asdict(options) == read


@pytest.mark.parametrize(
    "words",
    [
        [], ["query"], ["app", "--help"], ["app", "a", "b"], ["app", ""], ["app", "--"],
        ["app", "--port"], ["app", "--port", "65536"], ["app", "--port", "-1"],
        ["app", "--port", "many"], ["app", "--port", "1", "--port", "2"], ["app", "--root"],
        ["app", "--root="], ["app", "--root", "--no-browser"], ["app", "--no-browser=1"],
        ["app", "--no-browser", "--browser"], ["app", "--rot", "x"], ["app", "-h"],
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_alone(words: list[str]) -> None:
    assert plain_start(words) is None


def test_the_options_are_those_of_the_command() -> None:
    parameters = inspect.signature(app.command).parameters
    described = {name: parameter.default for name, parameter in parameters.items()}
    assert described == {field.name: field.default for field in fields(StartOptions)}


@pytest.mark.slow
def test_the_first_page_loads_nothing_that_it_does_not_need() -> None:
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from countveil.cli import quick_app\n"
        "from countveil.web import serve\n"
        "from countveil.web.app import AppSettings, make_app\n"
        "make_app(AppSettings(Path(), quick_app.plain_start), 1)\n"
        "heavy = {'typer', 'pydantic', 'rich', 'numpy', 'pyarrow', 'duckdb', 'sqlglot',\n"
        "         'cryptography', 'websockets', 'httptools', 'uvloop', 'countveil.asking',\n"
        "         'countveil.publishing', 'countveil.web.publisher.state'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
