"""What the command says if the system does not give it what it needs."""

from __future__ import annotations

import resource
import subprocess
import sys

import duckdb
import pytest

from countveil import errors
from countveil.cli import entry


def raised(cause: Exception | None) -> errors.CountveilError:
    """An error of ours, as one that reads files raises it."""
    try:
        raise errors.ReleaseError("The data cannot be read.") from cause
    except errors.CountveilError as error:
        return error


def test_a_file_is_not_called_damaged_for_want_of_memory() -> None:
    with duckdb.connect(config={"memory_limit": "1MB", "threads": 1}) as connection:
        connection.execute("SET temp_directory = ''")
        with pytest.raises(duckdb.Error) as caught:
            connection.execute("SELECT list(range) FROM range(10000000)").fetchall()
    assert "not enough memory" in entry._in_words(raised(caught.value))
    assert "not enough memory" in entry._in_words(raised(MemoryError()))
    assert "another thread" in entry._in_words(raised(RuntimeError("can't start new thread")))


def test_other_causes_are_told_as_they_are() -> None:
    assert entry._in_words(raised(None)) == "The data cannot be read."
    # A value of the table, which an error of a library quotes, decides nothing.
    quoted = ValueError(f"{'could not convert this value of a column':60} 'out of memory'")
    assert entry._in_words(raised(quoted)) == "The data cannot be read."


def test_an_error_after_the_last_step_is_told_though_memory_was_short() -> None:
    error = errors.UnconfirmedError("It is in place.")
    error.__cause__ = MemoryError()
    assert entry._in_words(error) == "It is in place."


@pytest.mark.slow
@pytest.mark.parametrize(("most", "said"), [(900 * 10**6, True), (8 * 10**9, False)])
def test_little_room_is_said_before_anything_fails(most: int, said: bool) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "countveil", "--version"],
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ("may map 900 MB of memory (ulimit -v)" in done.stderr) == said
    assert done.stdout.startswith("countveil ")
