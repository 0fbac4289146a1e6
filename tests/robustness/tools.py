"""What these tests share: the real command, snapshots of folders, a small table."""

from __future__ import annotations

import contextlib
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from countveil.publishing.publications.record import RECORD_NAME

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("countveil")
BUG = "failed in a way it should not"
CANARY = "CANARY-58204"

JOBS = ("baker", "clerk", "driver", "nurse", "painter", "tailor", "teacher", "welder")
SMALL_ROWS = 80
LARGE_ROWS = 200_000
# Ends what hangs. However busy the machine, nothing else takes so many seconds.
PATIENCE = 900


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command did."""

    code: int
    out: str
    err: str
    # Processor time, where it is known; it does not depend on how busy the machine is.
    seconds: float = field(default=0.0, compare=False)


def run(
    *words: str | bytes | os.PathLike[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    through: Sequence[str] = (),
) -> Outcome:
    """Run the installed command; `through` is a launcher that ends in executing it."""
    done = subprocess.run(
        [*through, COMMAND, *words],
        capture_output=True,
        check=False,
        cwd=cwd,
        env=None if env is None else {**os.environ, **env},
        timeout=PATIENCE,
    )
    return Outcome(done.returncode, done.stdout.decode(), done.stderr.decode())


def start(*words: str | os.PathLike[str]) -> subprocess.Popen[bytes]:
    """Start the installed command and go on."""
    return subprocess.Popen([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def assert_refused(outcome: Outcome, *fragments: str, out: str = "") -> None:
    """Exit code 1 and one clear paragraph that names these things."""
    assert outcome.code == 1, outcome
    assert outcome.out == out
    assert_one_paragraph(outcome.err)
    for fragment in fragments:
        assert fragment.lower() in outcome.err.lower(), outcome.err


def assert_one_paragraph(text: str) -> None:
    """One paragraph; only commands that would work, to be copied, have lines of their own."""
    text, _, commands = text.partition("Commands that publish it:\n")
    assert all(line.startswith("  ") for line in commands.splitlines()), commands
    assert text.startswith("Error: "), text
    assert text.endswith((".\n", "?\n")), text
    assert text.count("\n") == 1, text
    assert "Traceback" not in text
    assert BUG not in text


def snapshot(folder: Path) -> dict[str, str]:
    """Everything below a folder, hidden things included: names, kinds, modes and content."""
    found = {}
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            content = f"link to {path.readlink()}"
        elif path.is_dir():
            content = "folder"
        else:
            content = hashlib.sha256(path.read_bytes()).hexdigest()
        found[path.relative_to(folder).as_posix()] = f"{path.lstat().st_mode:o} {content}"
    return found


def names_in(folder: Path) -> list[str]:
    """What lies in a folder, hidden things included."""
    return sorted(entry.name for entry in folder.iterdir())


def released(*names: str) -> list[str]:
    """What lies in a folder into which these were published: the private record, too."""
    return sorted([RECORD_NAME, *names])


@contextlib.contextmanager
def unchanged(folder: Path) -> Iterator[None]:
    """Whatever happens inside leaves this folder exactly as it was."""
    before = snapshot(folder)
    yield
    assert snapshot(folder) == before


def small_csv(rows: int = SMALL_ROWS) -> str:
    """Columns row, sex and job; every job equally often."""
    lines = (f"{row},{'FM'[row % 2]},{JOBS[row % len(JOBS)]}\n" for row in range(rows))
    return "row,sex,job\n" + "".join(lines)


def small_columns(rows: int = SMALL_ROWS) -> dict[str, list[Any]]:
    """The same table, by columns."""
    return {
        "row": list(range(rows)),
        "sex": ["FM"[row % 2] for row in range(rows)],
        "job": [JOBS[row % len(JOBS)] for row in range(rows)],
    }


def repeated(values: Sequence[Any], rows: int = SMALL_ROWS) -> list[Any]:
    """These values over and over."""
    return [values[row % len(values)] for row in range(rows)]


def without_privileges() -> list[str]:
    """A launcher for a command that respects file permissions even when the tests run as root.

    Root stays root (the interpreter may live in a folder that only root can read) but loses the
    capabilities that let it read and write anything.
    """
    if os.geteuid() != 0:
        return []
    launcher = [sys.executable, "-S", "-c", _DROP_FILE_RIGHTS]
    if subprocess.run([*launcher, "/bin/true"], capture_output=True, check=False).returncode:
        pytest.skip("root can write anywhere, and this system does not let it give that up")
    return launcher


# What the bounding set lacks is lost with the next program: DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER.
_DROP_FILE_RIGHTS = """
import ctypes, os, sys
prctl, drop = ctypes.CDLL(None).prctl, 24
if any(prctl(drop, right, 0, 0, 0) for right in (1, 2, 3)):
    sys.exit(1)
os.execv(sys.argv[1], sys.argv[1:])
"""


def with_largest_file(size: int) -> list[str]:
    """A launcher for a command that cannot write files larger than this."""
    script = (
        f"import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, ({size}, {size})); "
        f"os.execv(sys.argv[1], sys.argv[1:])"
    )
    return [sys.executable, "-c", script]
