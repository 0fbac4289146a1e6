"""Looking at the places of releases, whatever file system they are on.

Enters: the address of a place. Leaves: whether a release is there, and which. Must not know: what
it is asked for, how a release comes into being. Loaded only where a series of releases has a
ledger.

What is not there and what cannot be reached are not the same: `OSError` says that nobody can tell.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Protocol

from countveil.errors import ReleaseError
from countveil.release.manifest import MANIFEST_NAME, Manifest
from countveil.release.opening import read_manifest
from countveil.release.second_release import releases_beside
from countveil.system.address import local_path

_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]+:/")


class Places(Protocol):
    """Places of releases, and of their drafts."""

    def full(self, address: str) -> str:
        """The address by which a place is known, whoever asks from where."""

    def manifest(self, place: str) -> bytes | None:
        """The manifest at a place, None if there is none."""

    def exists(self, place: str) -> bool:
        """Whether anything is at a place."""

    def in_one_step(self, place: str) -> bool:
        """Whether a release comes to its place in one step, so that a draft means it is not."""

    def releases(self, target: str) -> Iterator[tuple[str, Manifest]]:
        """The release at a target, if there is one, and those beside it."""


class LocalPlaces:
    """Folders that this machine reaches; see `Places`."""

    def full(self, address: str) -> str:
        """The path of a folder without links."""
        return os.path.realpath(local_path(address))

    def manifest(self, place: str) -> bytes | None:
        """The manifest of a folder."""
        self._check(place)
        try:
            return (Path(place) / MANIFEST_NAME).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    def exists(self, place: str) -> bool:
        """Whether a folder is there."""
        self._check(place)
        return Path(place).exists()

    def in_one_step(self, place: str) -> bool:  # noqa: ARG002 - so are all folders
        """Folders are renamed."""
        return True

    def releases(self, target: str) -> Iterator[tuple[str, Manifest]]:
        """The releases in the folder of a target."""
        with contextlib.suppress(ReleaseError):
            yield target, read_manifest(Path(target))
        for folder, manifest in releases_beside(Path(target)):
            yield str(folder), manifest

    def _check(self, place: str) -> None:
        if is_elsewhere(place):
            raise OSError("it is on a file system that Spark reaches")


def is_elsewhere(place: str) -> bool:
    """Whether a place is on a file system with a name of its own, such as hdfs://HOST/FOLDER."""
    return _ELSEWHERE.match(place) is not None
