"""Files and folders that a person may pick: those below one root, known to pages by ids alone.

Enters: the root, ids that pages sent back. Leaves: listings and paths. Must not know: what is in
the files. An id says nothing about a path, and no id leads out of the root, not by a link either.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from countveil.errors import InputError, option
from countveil.randomness import fresh_key

_MOST_ENTRIES = 2_000


@dataclass(frozen=True, slots=True)
class Entry:
    """A file or a folder. `size` is None for folders; `is_release`: a folder with a manifest."""

    id: str
    name: str
    is_folder: bool
    is_release: bool
    size: int | None


@dataclass(frozen=True, slots=True)
class Listing:
    """A folder: the way to it from the root, and what is in it; `more` entries are not listed."""

    id: str
    way: Sequence[Entry]
    entries: Sequence[Entry]
    more: int


@dataclass(slots=True)
class Places:
    """What lies below `root`."""

    root: Path
    _key: bytes = field(default_factory=fresh_key)
    _paths: dict[str, Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """The root itself has an id from the start."""
        self.root = Path(os.path.realpath(self.root))
        if not self.root.is_dir():
            raise InputError(
                f"There is no folder {self.root} to pick files from ({option('root')})."
            )
        self.id_of(self.root)

    def id_of(self, path: Path) -> str:
        """The id by which pages know a path below the root."""
        place = os.fsencode(self._inside(path))
        known = hashlib.blake2b(place, key=self._key, digest_size=10).hexdigest()
        self._paths[known] = path
        return known

    def path(self, known: str) -> Path:
        """The path behind an id."""
        path = self._paths.get(known)
        if path is None:
            raise InputError("That file or folder is not known any more. Pick it again.")
        self._inside(path)
        return path

    def shown(self, path: Path) -> str:
        """A path as a person sees it: from the root."""
        try:
            return str(path.relative_to(self.root))
        except ValueError:
            return path.name

    def listing(self, known: str | None = None) -> Listing:
        """A folder, first its folders, then its files; hidden ones are left out."""
        folder = self.root if known is None else self.path(known)
        try:
            with os.scandir(folder) as scanned:
                names = sorted(e.name for e in scanned if not e.name.startswith("."))
        except OSError as error:
            raise InputError(
                f"The folder {self.shown(folder)!r} cannot be read: {error.strerror or error}."
            ) from None
        entries = [e for name in names[:_MOST_ENTRIES] if (e := self._entry(folder / name))]
        entries.sort(key=lambda entry: (not entry.is_folder, entry.name.casefold()))
        inside = folder.relative_to(self.root)
        steps = [
            self.root,
            *(self.root.joinpath(*inside.parts[: n + 1]) for n in range(len(inside.parts))),
        ]
        way = [e for step in steps if (e := self._entry(step))]
        return Listing(self.id_of(folder), way, entries, max(0, len(names) - _MOST_ENTRIES))

    def _entry(self, path: Path) -> Entry | None:
        """None for what leads out of the root or is neither a file nor a folder."""
        try:
            known = self.id_of(path)
            folder, size = path.is_dir(), path.stat().st_size
            if not folder and not path.is_file():
                return None
            release = folder and (path / "manifest.json").is_file()
        except (InputError, OSError):
            return None
        name = path.name if path != self.root else (path.name or str(path))
        return Entry(known, name, folder, release, None if folder else size)

    def _inside(self, path: Path) -> str:
        """The real path, which must lie below the root."""
        real = os.path.realpath(path)
        root = os.fspath(self.root)
        if real != root and not real.startswith(root.rstrip(os.sep) + os.sep):
            raise InputError(
                f"That file lies outside of the folder that the app may read ({option('root')})."
            )
        return real
