"""Other operating systems, as far as they can be had on this one.

What they lack is taken away from Python's own modules, so that code which uses it all the same
fails; what they do otherwise is refused here as it is there; and the switches of
`countveil.system.offers` are set to what they would be. `python -m tests.system.other_systems NAME
WORDS` runs a command of countveil on such a system.
"""

from __future__ import annotations

import builtins
import contextlib
import ctypes
import errno
import fcntl
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from countveil.system import exchange, offers

POSIX_MODULES = ("fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty")
POSIX_CALLS = (
    "fchmod", "fchown", "fork", "geteuid", "getuid", "lchown", "mkfifo", "pread", "pwrite",
    "sched_getaffinity", "statvfs", "sysconf", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK",
    "O_TMPFILE",
)  # fmt: skip
POSIX_SIGNALS = ("SIGHUP", "SIGPIPE", "SIGALRM", "SIGUSR1", "pthread_sigmask")


class LocksOfWindows:
    """`msvcrt.locking`: one byte of an open file, never waited for here."""

    LK_NBLCK = 2

    def locking(self, handle: int, mode: int, size: int) -> None:
        assert (mode, size) == (self.LK_NBLCK, 1)
        assert not Path(f"/proc/self/fd/{handle}").resolve().is_dir()
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise PermissionError(errno.EACCES, "Permission denied") from error


def windows(patch: pytest.MonkeyPatch) -> None:
    """No POSIX, folders that cannot be opened, open files that cannot be moved or removed."""
    for switch, value in {
        "FCNTL": None, "MSVCRT": LocksOfWindows(), "FOLDERS_OPEN": False, "OPEN_FILES_STAY": True,
        "PERMISSIONS": False, "DEVICE_NAMES": True, "NO_FOLLOW": 0, "NO_WAIT": 0,
        "READ_AT": None, "WRITE_AT": None, "OWN_NUMBER": None, "MEMORY_FILE": Path("/nowhere"),
        "CONTAINER_FOLDER": Path("/nowhere"),
    }.items():  # fmt: skip
        patch.setattr(offers, switch, value)
    without_exchange(patch)
    refuse_what_windows_refuses(patch)
    # There, these modules of Python's own know a way without what is taken away here.
    patch.setattr(shutil, "_use_fd_functions", False)
    # From Python 3.14 on, the way is chosen when the module is loaded.
    patch.setattr(shutil, "_rmtree_impl", shutil._rmtree_unsafe, raising=False)  # type: ignore[attr-defined]
    patch.setattr(tempfile, "_O_TMPFILE_WORKS", False)
    patch.setattr(tempfile, "TemporaryFile", tempfile.NamedTemporaryFile)
    for name in POSIX_CALLS:
        patch.delattr(os, name, raising=False)
    for name in POSIX_SIGNALS:
        patch.delattr(signal, name, raising=False)


def macos(patch: pytest.MonkeyPatch) -> None:
    """POSIX, with another call to swap folders, no /proc, no list of cores."""

    def swap(new: bytes, old: bytes, flag: int) -> int:
        library = ctypes.CDLL(None, use_errno=True)
        return int(library.renameat2(-100, new, -100, old, flag))

    calls = exchange._swap_call
    only = SimpleNamespace(renamex_np=swap)
    patch.setattr(exchange, "_swap_call", lambda _library: calls(only))
    patch.setattr(offers, "MEMORY_FILE", Path("/nowhere"))
    patch.setattr(offers, "CONTAINER_FOLDER", Path("/nowhere"))
    patch.delattr(os, "sched_getaffinity")


def without_exchange(patch: pytest.MonkeyPatch) -> None:
    """No call that swaps two folders."""

    def none(_name: object, **_options: object) -> None:
        raise TypeError("a name is needed")

    patch.setattr(ctypes, "CDLL", none)


def refuse_what_windows_refuses(patch: pytest.MonkeyPatch) -> None:
    """Folders are not opened; nothing that is open, or has something open in it, is moved."""
    opened = os.open

    def open_file(path: Any, flags: int, *rest: Any, **options: Any) -> int:
        if Path(path).is_dir():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return opened(path, flags, *rest, **options)

    patch.setattr(os, "open", open_file)
    for name in ("rename", "replace", "unlink"):
        patch.setattr(os, name, _if_closed(getattr(os, name), takes_place=name != "unlink"))


def _if_closed(call: Callable[..., None], *, takes_place: bool) -> Callable[..., None]:
    def guarded(path: Any, *others: Any, **options: Any) -> None:
        if not options:
            for place in (path, *others):
                _check_closed(Path(os.path.realpath(place)))
            if takes_place and call.__name__ == "rename" and os.path.lexists(others[0]):
                raise FileExistsError(errno.EEXIST, "File exists", str(others[0]))
        call(path, *others, **options)

    return guarded


def _check_closed(place: Path) -> None:
    opened = []
    for link in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            opened.append(link.readlink())
    if any(file == place or place in file.parents for file in opened):
        raise PermissionError(errno.EACCES, "The file is in use", str(place))


def without_modules(*names: str) -> None:
    """Nobody can import these modules any more, except who has them already."""
    importing = builtins.__import__

    def refuse(name: str, *rest: Any, **options: Any) -> Any:
        if name in names:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return importing(name, *rest, **options)

    builtins.__import__ = refuse


SYSTEMS = {"windows": windows, "macos": macos}

if __name__ == "__main__":
    SYSTEMS[sys.argv[1]](pytest.MonkeyPatch())
    sys.argv = ["countveil", *sys.argv[2:]]
    from countveil.cli.entry import command

    command()
