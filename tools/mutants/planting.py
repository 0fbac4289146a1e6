"""The list of mistakes, and a copy of the package that has one of them.

Enters: the files in `planted/`. Leaves: `Mutant`s, and a folder to import the package from. Must
not know: tests, outcomes.
"""

from __future__ import annotations

import contextlib
import shutil
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "countveil"
PLANTED = Path(__file__).parent / "planted"


@dataclass(frozen=True)
class Mutant:
    """One mistake.

    `file` is relative to the package, `before` occurs in it once. `harm` says what the mistake
    would do to a person, or to what somebody concludes. `tests` are the files, of the same room, of
    which one should fail. With `audit`, `countveil audit` should refuse a claim of that name.
    """

    name: str
    room: str
    file: str
    before: str
    after: str
    harm: str
    tests: tuple[str, ...]
    audit: str = ""

    @property
    def source(self) -> str:
        """The file as it is."""
        return (PACKAGE / self.file).read_text(encoding="utf-8")

    @property
    def edited(self) -> str:
        """The file with the mistake."""
        return self.source.replace(self.before, self.after)


def planted_mutants() -> list[Mutant]:
    """All of them, room by room."""
    mutants = []
    for path in sorted(PLANTED.glob("*.toml")):
        for entry in tomllib.loads(path.read_text(encoding="utf-8"))["mutant"]:
            tests = tuple(entry.pop("tests"))
            mutants.append(Mutant(room=path.stem, tests=tests, **entry))
    return mutants


class Nursery:
    """A copy of the package, in which mistakes are planted one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        # Compiled modules stay behind: an edit within the same second would go unnoticed.
        shutil.copytree(
            PACKAGE, folder / PACKAGE.name, ignore=shutil.ignore_patterns("__pycache__")
        )

    @contextlib.contextmanager
    def planted(self, mutant: Mutant) -> Iterator[None]:
        """The copy has this mistake, and no other."""
        path = self.folder / PACKAGE.name / mutant.file
        path.write_text(mutant.edited, encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(mutant.source, encoding="utf-8")
