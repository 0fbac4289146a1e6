"""Watching a command that runs, so that tests wait for events and not for a length of time.

Enters: a process that was started. Leaves: what it has opened, how much it has computed, and a way
to hold it still. Linux shows these things in /proc; elsewhere the tests that need them are skipped.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.robustness.tools import PATIENCE

Process = subprocess.Popen[bytes]

needs_proc = pytest.mark.skipif(
    not Path("/proc/self/fdinfo").exists(), reason="only /proc shows what a process does"
)
_TICKS = os.sysconf("SC_CLK_TCK")


def wait_for(event: Callable[[], object], seconds: float = PATIENCE, every: float = 0.02) -> None:
    """Return as soon as it has happened."""
    last = time.monotonic() + seconds
    while not event():
        assert time.monotonic() < last, "it never happened"
        time.sleep(every)


def is_over(process: Process) -> bool:
    return process.poll() is not None


def bytes_read(process: Process, path: Path) -> int | None:
    """How far the process is in a file that it has open; None if it has not."""
    furthest = None
    for link in _entries(process, "fd"):
        with contextlib.suppress(OSError):
            if link.readlink() == path:
                info = Path(f"/proc/{process.pid}/fdinfo/{link.name}").read_text()
                furthest = max(furthest or 0, int(info.split()[1]))
    return furthest


def wait_until_read(process: Process, path: Path, position: float = 0) -> None:
    """Until it has come so far in a file that it reads, or is over."""

    def reached() -> bool:
        furthest = bytes_read(process, path)
        return furthest is not None and furthest >= position

    wait_for(lambda: is_over(process) or reached(), every=0.002)


def seconds_computed(process: Process) -> float:
    """Processor time of all threads, which does not depend on how busy the machine is."""
    with contextlib.suppress(OSError):
        # The name of the program, in brackets, may contain anything.
        fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    return 0.0


def seconds_of_children() -> float:
    """Processor time of all processes that were started here and have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def wait_until_computed(process: Process, seconds: float) -> None:
    """Until it has used so much processor time, or is over."""
    wait_for(lambda: is_over(process) or seconds_computed(process) >= seconds, every=0.005)


def wait_until_taken(process: Process) -> None:
    """Until no signal waits to be delivered, or the process is over."""

    def taken() -> bool:
        with contextlib.suppress(OSError):
            status = Path(f"/proc/{process.pid}/status").read_text()
            (pending,) = [line for line in status.splitlines() if line.startswith("ShdPnd")]
            return int(pending.split()[1], 16) == 0
        return True

    wait_for(lambda: is_over(process) or taken(), every=0.001)


@contextlib.contextmanager
def standing_still(process: Process) -> Iterator[None]:
    """Nothing happens in the process meanwhile; signals sent to it arrive when it goes on."""
    if is_over(process):
        yield
        return
    process.send_signal(signal.SIGSTOP)
    wait_for(lambda: is_over(process) or _state(process) in "TZ", every=0.001)
    try:
        yield
    finally:
        process.send_signal(signal.SIGCONT)


def _state(process: Process) -> str:
    """T: stopped, Z: over."""
    return Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0]


def _entries(process: Process, name: str) -> list[Path]:
    with contextlib.suppress(OSError):
        return list(Path(f"/proc/{process.pid}/{name}").iterdir())
    return []
