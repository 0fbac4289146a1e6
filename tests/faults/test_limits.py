"""No more threads, no more memory, killed by a limit: one sentence, and nothing for ever."""

from __future__ import annotations

import errno
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import countveil as cv
from tests.faults.injected import Fault, Run
from tests.faults.points import spread
from tests.faults.trials import Server
from tests.robustness.tools import BUG, COMMAND, names_in, released

pytestmark = pytest.mark.faults

THREADS = ["clone", "clone3"]
# What libraries do to the process where they cannot go on; nothing in it can say a word then.
_ABORTED = {-signal.SIGABRT, -signal.SIGSEGV, 127, 128 + signal.SIGABRT}
# So much room for all that is mapped is too little for any table, and enough to say so.
_LEAST_BYTES, _STEP_BYTES = 240 << 20, 30 << 20


def words_for(name: str, given: Path, place: Path) -> list[str]:
    publish = ["publish", f"{given}/in.csv", "-s", "job:2", "--keep", "row", "--to", f"{place}/r"]
    return {
        "publish": publish,
        "publish csv": [*publish, "--output-format", "csv"],
        "publish where": [*publish, "--where", "row > 3"],
        "export": ["export", f"{given}/new", "--to", f"duckdb:{place}/x.duckdb#t"],
        "verify": ["verify", f"{given}/new"],
        "query": ["query", f"{given}/new", "SELECT sex, count(*) FROM release GROUP BY sex"],
    }[name]


@pytest.mark.parametrize(
    "name", ["publish", "publish csv", "publish where", "export", "verify", "query"]
)
def test_no_thread_can_be_started(name: str, server: Server, given: Path, tmp_path: Path) -> None:
    words = words_for(name, given, tmp_path)
    count = len(server(Run(words, str(given), str(tmp_path / "other"), names=THREADS)).calls)
    for entry in tmp_path.iterdir():
        subprocess.run(["rm", "-r", entry], check=True)
    for point in spread(count, 4):
        fault = Fault(errno.EAGAIN, lasting=True)
        ended = server(Run(words, str(given), str(tmp_path), point, fault, THREADS))
        assert BUG not in ended.err, ended
        # A library whose threads cannot start may crash the process after all is said.
        assert ended.code in {0, 1, *_ABORTED}, ended
        if ended.code != 0:
            assert "start another thread" in ended.err, ended
            assert names_in(tmp_path) == [], ended
        for entry in tmp_path.iterdir():
            subprocess.run(["rm", "-r", entry], check=True)


def test_little_memory_is_a_sentence_and_no_release(tmp_path: Path) -> None:
    table = tmp_path / "in.csv"
    cv.generate(60_000, table, seed=1)
    told, aborted = 0, []
    for step in range(8):
        place, most = tmp_path / str(step), _LEAST_BYTES + step * _STEP_BYTES
        place.mkdir()
        script = (
            f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({most}, {most})); "
            f"os.execv(sys.argv[1], sys.argv[1:])"
        )
        done = subprocess.run(
            [sys.executable, "-c", script, *published(table, place)],
            capture_output=True,
            check=False,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
            timeout=300,
        )
        if done.returncode == 0:
            break
        assert not (place / "release").exists()
        assert BUG.encode() not in done.stderr, done
        # Whatever a library does then, this was said before.
        assert b"(ulimit -v)" in done.stderr, done
        # The stack of a thread needs room as well.
        if b"not enough memory" in done.stderr or b"start another thread" in done.stderr:
            told += 1
            assert (done.returncode, names_in(place)) == (1, []), done
        else:
            # A library ended the process; that of the algebra does so with a line of its own.
            assert done.returncode in _ABORTED or b"OpenBLAS error: Memory" in done.stderr, done
            aborted.append(place)
    assert told > 0
    # What an abort has left is gone after the next publication.
    for place in aborted[:1]:
        subprocess.run(published(table, place), check=True, capture_output=True, timeout=300)
        assert names_in(place) == released("release")


def published(table: Path, place: Path) -> list[str]:
    return [str(COMMAND), "publish", str(table), "-s", "occupation:5", "--to", f"{place}/release"]


def test_a_limit_of_processor_time_leaves_nothing_for_ever(tmp_path: Path) -> None:
    table, place = tmp_path / "in.parquet", tmp_path / "place"
    place.mkdir()
    cv.generate(300_000, table, seed=1)
    words = [*published(table, place), "--private-report", f"{place}/own.html"]

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (2, 2))

    done = subprocess.run(words, capture_output=True, check=False, preexec_fn=limited, timeout=300)
    assert done.returncode in (-signal.SIGXCPU, -signal.SIGKILL), done
    assert not (place / "release").exists()
    subprocess.run(words, check=True, capture_output=True, timeout=600)
    assert names_in(place) == released("own.html", "release")
