"""Build the wheel and the source distribution of a folder, as anybody else would build them.

A folder of the project enters, two files leave. The same sources give the same bytes: the only time
in them is that of the last commit (SOURCE_DATE_EPOCH). Must not know what the files should contain.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# For sources that come without their history; a zip archive cannot say anything before 1980.
WITHOUT_HISTORY = 1_600_000_000


class ToolError(Exception):
    """Something that was asked for cannot be done; the message says why."""


@dataclass(frozen=True)
class Artifacts:
    """The two files of a version."""

    wheel: Path
    sdist: Path

    def __iter__(self) -> Iterator[Path]:
        return iter((self.wheel, self.sdist))


def build(source: Path, to: Path, epoch: int) -> Artifacts:
    """The wheel and the source distribution of a folder, with one time for all of their files."""
    run(
        [sys.executable, "-m", "hatchling", "build", "--directory", to.resolve()],
        cwd=source,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(epoch)},
    )
    (wheel,), (sdist,) = to.glob("*.whl"), to.glob("*.tar.gz")
    return Artifacts(wheel, sdist)


def time_of(root: Path) -> int:
    """When the last commit was made."""
    if not (root / ".git").exists():
        return WITHOUT_HISTORY
    return int(run(["git", "log", "-1", "--format=%ct"], cwd=root))


def tracked(root: Path) -> list[Path]:
    """The files that belong to the project, relative to its folder."""
    words = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = run(words, cwd=root).split("\0")
    return [Path(name) for name in names if name and (root / name).is_file()]


def copy_elsewhere(root: Path, to: Path) -> Path:
    """A copy of what belongs to the project, with other times and permissions of its files."""
    for name in tracked(root):
        (to / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(root / name, to / name)
        (to / name).chmod(0o600)
    return to


def run(
    words: Sequence[object], cwd: Path | None = None, env: Mapping[str, str] | None = None
) -> str:
    """What a command prints. If it fails, the error is its last words."""
    done = subprocess.run(  # noqa: S603 - commands of this folder's own
        list(map(str, words)), cwd=cwd, env=env, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        shown = " ".join(map(str, words))
        raise ToolError(f"`{shown}` failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}".rstrip())
    return done.stdout
