"""A second release of the same people: why it is refused, and where an earlier one may be.

Enters: the folder for a release. Leaves: sentences, and the releases beside that folder. Must not
know: the table. Loaded only where a release may be the second one.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from countveil.errors import ReleaseError, TargetError, option
from countveil.release.manifest import MANIFEST_NAME, Manifest
from countveil.release.opening import read_manifest
from countveil.system.files import LEFTOVER

_MOST_FOLDERS = 1_000
_WHY = (
    "A second release of the same people breaks the promise: every release draws anew, and whoever "
    "has two of them can combine the draws and learn more about a person than either one allows."
)


def refuse_to_replace(target: str | Path, *, force: bool, again: bool) -> None:
    """Raise unless the release at the target may be replaced: it has to be said twice."""
    missing = [name for name, given in (("force", force), ("again", again)) if not given]
    if missing:
        wanted = " and ".join(option(name, True) for name in missing)
        raise TargetError(
            f"{target} exists and is not empty: it is a release. {_WHY} If others have this "
            f"release, keep it, and publish nothing else about these people. If nobody else has "
            f"ever had it, or it is about other people, add {wanted} to replace it. Or name "
            f"another folder."
        )


def published_before(folder: Path, columns: list[str], *, in_series: bool) -> TargetError:
    """The error for a table that has the same people as a release, perhaps one of a ledger."""
    listed = ", ".join(map(repr, columns))
    if in_series:
        return TargetError(
            f"Nothing was published: {folder} seems to be a release of the same people, and it "
            f"belongs to a ledger. It has the same number of rows, and {listed} hold the same "
            f"values there as in this table. {_WHY} Publish with that ledger, {option('ledger')}: "
            f"then everybody publishes what they did. If that release is about other people, add "
            f"{option('again', True)}."
        )
    return TargetError(
        f"Nothing was published: {folder} seems to be a release of the same people. It has the "
        f"same number of rows, and {listed} hold the same values there as in this table. "
        f"{_WHY} If others have that release, publish nothing else about these people. If nobody "
        f"else has ever had it, delete it, or add {option('again', True)}; add it too if that "
        f"release is about other people."
    )


def releases_beside(target: Path) -> Iterator[tuple[Path, Manifest]]:
    """The other releases in the folder of a target, without drafts that were left there."""
    try:
        folders = sorted(path.parent for path in target.parent.glob(f"*/{MANIFEST_NAME}"))
    except OSError:
        return
    for folder in folders[:_MOST_FOLDERS]:
        if LEFTOVER.fullmatch(folder.name):
            continue
        if os.path.realpath(folder) != os.path.realpath(target):
            with contextlib.suppress(OSError, ReleaseError):
                yield folder, read_manifest(folder)
