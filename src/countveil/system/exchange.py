"""Two folders change places.

Enters: two folders on one file system. Leaves: each under the other's name. Must not know: what
they are.

Linux (`renameat2`) and macOS (`renamex_np`) do it in one step. Elsewhere the old one is moved aside
first, and put back if the next step fails; a process that is killed in between leaves it there,
under the name of the new one with `ASIDE` behind it, and the new one under its own.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from countveil.system import offers, outcome
from countveil.system.files import ASIDE, LEFTOVER, rename

_HERE = -100  # AT_FDCWD: paths are relative to the working folder
_SWAP = 2  # RENAME_EXCHANGE on Linux, RENAME_SWAP on macOS


def exchange(new: Path, old: Path) -> None:
    """Swap two folders: in one step where the system can, else in steps that can be undone."""
    if _swapped(new, old):
        return
    aside = new.with_name(new.name + ASIDE)
    rename(old, aside)
    try:
        rename(new, old)
    except BaseException:
        rename(aside, old)
        raise
    try:
        rename(aside, new)
    except OSError:
        # They have changed places; only the name of the old one is another.
        outcome.left_behind(aside)


def put_back(new: Path) -> None:
    """Undo the first step of an exchange whose process is gone, and which never came further."""
    aside, named = new.with_name(new.name + ASIDE), LEFTOVER.fullmatch(new.name)
    if named is None or named["aside"] or not aside.is_dir():
        return
    old = new.with_name(named["target"])
    if not old.exists():
        rename(aside, old)


def _swapped(new: Path, old: Path) -> bool:
    """Whether the system swapped them; False if it cannot."""
    try:
        import ctypes

        swap = _swap_call(ctypes.CDLL(None, use_errno=True))
    except (ImportError, OSError, TypeError):
        # Without C's own library there is nothing to look for: Windows has no such call.
        return False
    if swap is None:
        return False
    if swap(os.fsencode(new), os.fsencode(old)) == 0:
        return True
    number = ctypes.get_errno()
    if number in offers.NOT_OFFERED:
        return False
    raise OSError(number, os.strerror(number))


def _swap_call(library: Any) -> Callable[[bytes, bytes], int] | None:
    """The call that swaps two paths, if this library has one."""
    linux, mac = getattr(library, "renameat2", None), getattr(library, "renamex_np", None)
    if linux is not None:
        return lambda new, old: int(linux(_HERE, new, _HERE, old, _SWAP))
    if mac is not None:
        return lambda new, old: int(mac(new, old, _SWAP))
    return None
