"""The quick way to `countveil query` does what the long way does, or leaves it alone."""

from __future__ import annotations

import gc
import inspect
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path

import pytest

import countveil as cv
from countveil.asking.questions import counting as analyst
from countveil.cli import app
from countveil.cli.commands import query
from countveil.cli.quick_query import QueryOptions, answered_quickly

SQL = "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("quick") / "release"
    cv.publish(cv.generate(2_000, seed=1), {"occupation": 5}, folder, seed=1)
    return str(folder)


@contextmanager
def collecting_afterwards() -> Iterator[None]:
    """The quick way is for a process that ends after it, and these tests are not."""
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--format", "json"],
        ["--format=csv", "--level", "0.8"],
        ["--method=bayes", "--channel", "printed", "--within", ".3"],
        ["--method", "unbiased", "--channel=exact", "--level=0.99", "--within=1"],
    ],
)
def test_both_ways_print_the_same(
    folder: str, options: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with collecting_afterwards():
        assert answered_quickly(["query", *options, folder, SQL])
    quick = capsys.readouterr()
    app.app(["query", folder, SQL, *options], standalone_mode=False)
    assert capsys.readouterr() == quick


@pytest.mark.few(6)
@pytest.mark.parametrize(
    "words",
    [
        [], ["show", "x"], ["query"], ["query", "--help"], ["query", "x", SQL, "--help"],
        ["query", "x"], ["query", "x", SQL, "more"], ["query", "", SQL], ["query", "x", ""],
        ["query", "x", SQL, "--format"], ["query", "x", SQL, "--format", "xml"],
        ["query", "x", SQL, "--level", "high"], ["query", "x", SQL, "--level", "-1"],
        ["query", "x", SQL, "--level", "1e-1"], ["query", "x", SQL, "--level", "nan"],
        ["query", "x", SQL, "--levle", "0.9"], ["query", "x", SQL, "--style", "json"],
        ["query", "x", SQL, "--level", "0.9", "--level", "0.8"], ["query", "--", "x", SQL],
        ["query", "x", SQL, "--engine", "spark"], ["query", "x", SQL, "--master", "local[2]"],
        ["query", "x", "-- a comment\n" + SQL], ["query", "x", SQL, "-f"], ["--version"],
    ],
)  # fmt: skip
def test_what_is_not_plain_is_left_alone(words: list[str]) -> None:
    assert not answered_quickly(words)


def test_the_options_are_those_of_the_command() -> None:
    parameters = inspect.signature(query.command).parameters
    # An engine and its master, another release, parameters and tables, a key and limits are not
    # for the quick way.
    other = {"folder", "sql", "engine", "master", "since", "param", "table"}
    other |= {"signed_by", "larger", "timeout"}
    described = {name: p.default for name, p in parameters.items() if name not in other}
    assert described == {field.name: field.default for field in fields(QueryOptions)}
    defaults = QueryOptions()
    assert defaults.method == analyst.DEFAULT_METHOD
    assert defaults.channel == analyst.DEFAULT_CHANNEL
    assert (defaults.level, defaults.within) == (analyst.DEFAULT_LEVEL, analyst.DEFAULT_WITHIN)


@pytest.mark.few(1)
@pytest.mark.parametrize("style", ["table", "json"])
def test_a_query_loads_nothing_that_it_does_not_need(folder: str, style: str) -> None:
    program = (
        "import sys; from countveil.cli.quick_query import answered_quickly\n"
        f"assert answered_quickly(['query', {folder!r}, {SQL!r}, '--format', {style!r}])\n"
        "heavy = {'typer', 'pydantic', 'rich', 'pandas', 'polars', 'cryptography', 'scipy',\n"
        "         'pyarrow.compute', 'pyarrow.parquet', 'numpy.random',\n"
        "         'countveil.maths.mechanism',\n"
        "         'countveil.engines.local.in_memory.release'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.slow
def test_an_error_is_told_as_on_the_long_way(tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("countveil")
    told = [
        subprocess.run(
            [command, "query", tmp_path, SQL, *more], capture_output=True, text=True, check=False
        )
        for more in ((), ("--level", "9.5e-1"))
    ]
    assert [done.returncode for done in told] == [1, 1]
    assert told[0].stderr == told[1].stderr
    assert "is not a release" in told[0].stderr


@pytest.mark.slow
def test_a_reader_that_goes_away_is_no_reason_to_complain(folder: str) -> None:
    command = Path(sys.executable).with_name("countveil")
    sql = "SELECT age, occupation, country, count(*) FROM release GROUP BY ALL"
    with subprocess.Popen(
        [command, "query", folder, sql, "--format", "csv"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 1
