"""Releases of strangers: a sentence or an answer, soon, in little memory, and nothing else."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import pytest

import countveil as cv
from countveil.cli.app import parser
from countveil.display import visible
from tests.robustness.hostile_releases import FORMATS, HOSTILE, content_of, data_file, refit, seal
from tests.robustness.tools import BUG, COMMAND, assert_one_paragraph, small_csv

SQL = "SELECT sex, count(*) FROM release WHERE job = 'nurse' GROUP BY sex"
COMMANDS = {
    "query": ("query", SQL), "sql": ("sql", SQL), "show": ("show",), "verify": ("verify",),
}  # fmt: skip
# Of a run that takes a tenth of a second when nothing else runs.
SECONDS = 60
# Most memory of a command, in bytes: what it takes to answer any question, and a few limits.
MEMORY = 700 << 20
# One of each kind, for every change.
SAMPLE = (
    "rows: a huge number", "columns.0.type: a text", "an infinite number", "a deep manifest",
    "a statement of one long line", "manifest.json is a pipe", "data file is a pipe",
    "manifest.sig is a pipe", "data file is a link out", "csv.gz: a bomb of lines",
    "arrow: a buffer that lies", "parquet: a column less",
)  # fmt: skip


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound release in every format."""
    folder = tmp_path_factory.mktemp("sound")
    (folder / "in.csv").write_text(small_csv(), encoding="utf-8")
    first = folder / "parquet"
    cv.publish(folder / "in.csv", {"job": 2}, first, seed=1, keep="row")
    return folder


def release_of(sound: Path, output_format: str, place: Path) -> Path:
    """A sound release of a format, for this test alone."""
    made = sound / output_format
    if not made.exists():
        table = sound / "in.csv"
        cv.publish(
            table, {"job": 2}, made, seed=1, output_format=output_format, keep="row", again=True
        )
    shutil.copytree(made, place)
    return place


@contextlib.contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """Ends whatever waits for ever, where there are alarms."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome_of(words: tuple[str, ...], folder: Path) -> tuple[str | None, str]:
    """What a command refuses with, None if it does not, and what it prints."""
    out = io.StringIO()
    refusal = None
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), at_most(SECONDS):
            code = parser()([words[0], str(folder), *words[1:]], standalone_mode=False)
        refusal = f"exit {code}" if code else None
    except cv.CountveilError as error:
        refusal = str(error)
    return refusal, out.getvalue()


def check(name: str, sound: Path, place: Path) -> None:
    """Every command on a hostile release: a sentence, or an answer if it is still a release."""
    hostile = HOSTILE[name]
    folder = release_of(sound, hostile.format, place)
    hostile.spoil(folder)
    for command, words in COMMANDS.items():
        refusal, out = outcome_of(words, folder)
        assert len(out) < 200_000, (name, command)
        assert visible(out) == out, (name, command, out[:300])
        if refusal is not None:
            assert len(refusal) < 1_500, (name, command, refusal[:300])
            assert_one_paragraph(f"Error: {visible(refusal)}{'' if refusal[-1] in '.?' else '.'}\n")
        if command == "verify":
            assert refusal is not None or hostile.may_answer, (name, "verify finds nothing")
        if command == "query":
            assert refusal is not None or hostile.may_answer, (name, out[:300])


def test_the_set_is_large_and_the_sample_is_of_it() -> None:
    assert len(HOSTILE) >= 250
    assert set(SAMPLE) <= set(HOSTILE)


@pytest.mark.parametrize("name", SAMPLE)
def test_a_hostile_release_ends_in_a_sentence(name: str, sound: Path, tmp_path: Path) -> None:
    check(name, sound, tmp_path / "release")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(HOSTILE) - set(SAMPLE)))
def test_every_hostile_release_ends_in_a_sentence(name: str, sound: Path, tmp_path: Path) -> None:
    check(name, sound, tmp_path / "release")


def test_a_csv_file_that_ends_between_two_rows_is_refused(sound: Path, tmp_path: Path) -> None:
    folder = release_of(sound, "csv", tmp_path / "release")
    path = data_file(folder)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-2]))
    refit(folder)
    refusal, _ = outcome_of(COMMANDS["query"], folder)
    assert refusal is not None
    assert f"holds {len(lines) - 3:,} rows instead of {len(lines) - 1:,}" in refusal


@pytest.mark.slow
@pytest.mark.parametrize("output_format", FORMATS)
def test_the_sound_ones_answer(output_format: str, sound: Path, tmp_path: Path) -> None:
    folder = release_of(sound, output_format, tmp_path / "release")
    for words in COMMANDS.values():
        refusal, out = outcome_of(words, folder)
        assert refusal is None, refusal
        assert out


BOMBS = (
    "a domain of 600,000 values", "a manifest of lists", "a manifest of entries",
    "a manifest too long", "a statement of a million lines", "parquet: one value of megabytes",
    "parquet: a long value in a dictionary", "csv.gz: a bomb", "csv.gz: a bomb of lines",
    "csv.gz: a bomb in quotes", "arrow: one value of megabytes", "arrow: a buffer that lies",
    "data file is a sparse file", "manifest.json is a link to a device",
)  # fmt: skip
_MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], capture_output=True, text=True)
print(done.returncode, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
print(done.stderr, end="")
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_takes_little_memory(name: str, sound: Path, tmp_path: Path) -> None:
    hostile = HOSTILE[name]
    folder = release_of(sound, hostile.format, tmp_path / "release")
    hostile.spoil(folder)
    for words in COMMANDS.values():
        command = [str(COMMAND), words[0], str(folder), *words[1:]]
        done = subprocess.run(
            [sys.executable, "-c", _MEASURE, *command],
            capture_output=True, text=True, check=True, timeout=300,
        )  # fmt: skip
        first, _, err = done.stdout.partition("\n")
        code, memory = map(int, first.split())
        assert BUG not in err
        assert code in (0, 1)
        assert memory < MEMORY, (words[0], memory >> 20)


def test_a_limit_is_raised_by_who_trusts_the_release(sound: Path, tmp_path: Path) -> None:
    folder = release_of(sound, "parquet", tmp_path / "release")
    content = content_of(folder)
    content["statement"] = ["A line."] * 3_000
    seal(folder, content)
    with pytest.raises(cv.CountveilError, match=r"3,000 lines in its statement.*larger=10 allows"):
        cv.open(folder)
    assert cv.open(folder, larger=10).rows == 80
    assert not cv.verify(folder, larger=10)
    for wrong in (0, -1, float("nan"), True):
        with pytest.raises(cv.CountveilError, match="number of at least 1"):
            cv.open(folder, larger=wrong)


def test_show_ends_after_a_while(sound: Path, tmp_path: Path) -> None:
    folder = release_of(sound, "parquet", tmp_path / "release")
    content = content_of(folder)
    content["statement"] = [f"Line {number}." for number in range(2_000)]
    seal(folder, content)
    refusal, out = outcome_of(("show",), folder)
    assert refusal is None
    assert "Line 199." in out
    assert "Line 200." not in out
    assert "--format json prints all of it" in out


def test_data_of_another_size_are_not_read(sound: Path, tmp_path: Path) -> None:
    folder = release_of(sound, "parquet", tmp_path / "release")
    path = data_file(folder)
    size = path.stat().st_size
    with path.open("ab") as file:
        file.write(b"x")
    with pytest.raises(cv.CountveilError, match=f"has {size + 1:,} bytes, and the manifest says"):
        cv.open(folder).sql(SQL)
    refit(folder)
    with pytest.raises(cv.CountveilError, match="not a readable Parquet file"):
        cv.open(folder).sql(SQL)


def test_a_link_inside_a_release_is_followed_to_answer(sound: Path, tmp_path: Path) -> None:
    folder = release_of(sound, "parquet", tmp_path / "release")
    path = data_file(folder)
    path.rename(folder / "elsewhere")
    path.symlink_to(folder / "elsewhere")
    assert cv.open(folder).sql(SQL)
    assert "symbolic link" in str(cv.verify(folder))


def test_nothing_waits_for_a_pipe(sound: Path, tmp_path: Path) -> None:
    folder = release_of(sound, "parquet", tmp_path / "release")
    os.mkfifo(folder / "manifest.sig")
    key = tmp_path / "key.pem"
    key.write_text("none")
    began = time.monotonic()
    with at_most(SECONDS), pytest.raises(cv.CountveilError, match="pipe"):
        cv.open(folder, signed_by=key)
    assert time.monotonic() - began < SECONDS
