"""A page or a picture put into a file: whole, or not at all, and never in the place of an input.

Enters: a path, a text, the files that the command reads. Leaves: the file. Must not know: what the
text says.

The text is written beside its place and synced to disk before it is renamed
(`system/whole_files.py`): whatever happens, the path holds the old content or the whole new text. A
private file is readable by its owner only, from the first byte on. What a killed process left
beside it is removed by the next one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path

from countveil.errors import ReleaseError, TargetError, option
from countveil.release.draft import check_not_input
from countveil.release.manifest import MANIFEST_NAME
from countveil.release.opening import read_manifest
from countveil.system.whole_files import PendingFile, pending_file, write_file

__all__ = ["GENERATOR", "PendingFile", "check_file", "pending_file", "write_file"]

# What a page or a picture of ours has in its first bytes.
GENERATOR = 'name="generator" content="countveil"'
_FIRST_BYTES = 400


def check_file(
    path: Path,
    what: str,
    *,
    force: bool,
    again: bool = True,
    inputs: Iterable[Path] = (),
    outside: Path | None = None,
) -> None:
    """Refuse a path that cannot be written, before the work for the file begins.

    A file that exists is replaced with `force` alone, unless it is one of ours that may be written
    `again`. Nothing replaces one of the `inputs` or changes a release; `outside` is a folder that
    will be one.
    """
    try:
        path.lstat()
        there = True
    except FileNotFoundError:
        there = False
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not valid"
        raise TargetError(f"{path} cannot be used for {what}: {why}.") from error
    if path.is_dir():
        raise TargetError(f"{path} is a folder. Name a file for {what}.")
    if not path.parent.is_dir():
        raise TargetError(f"There is no folder {path.parent} to write {what} to.")
    check_not_input(path, what, inputs)
    _check_outside(path, what, outside)
    if there and not force and not (again and _is_ours(path)):
        raise TargetError(
            f"{path} exists. Name another file for {what}, or replace it with "
            f"{option('force', True)}."
        )


def _check_outside(path: Path, what: str, outside: Path | None) -> None:
    real = Path(os.path.realpath(path))
    if outside is not None and real.is_relative_to(os.path.realpath(outside)):
        raise TargetError(
            f"{path} lies in the release {outside}, and would be published with it. Name a file "
            f"elsewhere for {what}."
        )
    for folder in (real.parent, real.parent.parent):
        if (folder / MANIFEST_NAME).is_file():
            with contextlib.suppress(ReleaseError):
                read_manifest(folder)
                raise TargetError(
                    f"{path} lies in the release {folder}, which would be changed. Name a file "
                    f"elsewhere for {what}."
                )


def _is_ours(path: Path) -> bool:
    """Whether the file is a page or a picture that we wrote."""
    try:
        with path.open("rb") as file:
            return GENERATOR.encode() in file.read(_FIRST_BYTES)
    except OSError:
        return False
