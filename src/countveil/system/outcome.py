"""What this process has put in its place, and what it could not remove: the truth for an error.

Enters: what is complete, what is left, with their paths. Leaves: sentences about what is still
there. Must not know: what failed, who reads the sentences.

An error that comes after the last step of a command must not sound as if nothing had happened. Only
the command line asks: a command is one process.
"""

from __future__ import annotations

import os
from collections import deque
from pathlib import Path

# A process that lives for long needs the newest only.
_MOST = 20
_in_place: deque[tuple[str, Path | None]] = deque(maxlen=_MOST)
_left: deque[Path] = deque(maxlen=_MOST)


def put_in_place(what: str, path: Path | None) -> None:
    """This is where it should be, and whole; without a path it is not a file."""
    _in_place.append((what, path))


def left_behind(path: Path) -> None:
    """This was in the making and could not be removed."""
    _left.append(path)


def in_place() -> str:
    """A sentence about what is complete; nothing if nothing is."""
    there = [what for what, path in _in_place if path is None or os.path.lexists(path)]
    named = " and ".join(dict.fromkeys(there))
    verb = "is" if len(set(there)) == 1 else "are"
    return f"{named[0].upper()}{named[1:]} {verb} in place and complete." if named else ""


def left() -> str:
    """A sentence about what is left; nothing if nothing is."""
    there = [str(path) for path in dict.fromkeys(_left) if os.path.lexists(path)]
    if not there:
        return ""
    return f"What could not be removed: {' and '.join(there)}. The next run there tries again."
