"""Files that somebody else made, read without waiting for anybody and not beyond a limit.

Enters: a path, a number of bytes. Leaves: the bytes of a regular file. Must not know: what is in
it. A pipe, a device and a socket are not opened: to read one could take for ever.
"""

from __future__ import annotations

import io
import os
import stat
from pathlib import Path

from countveil.system import offers

_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
    (stat.S_ISSOCK, "a socket"),
)


class UnfitFileError(OSError):
    """A file that is not read: `strerror` says why, as the end of a sentence."""

    def __init__(self, why: str) -> None:
        super().__init__(0, why)


def regular_size(path: Path) -> int:
    """The bytes of a regular file; UnfitFileError if it is something else. A link is followed."""
    status = path.stat()
    _check(status)
    return status.st_size


def open_regular(path: Path) -> io.BufferedReader:
    """A regular file, opened to be read; UnfitFileError if it is something else."""
    _check(path.stat())
    handle = os.open(path, os.O_RDONLY | offers.NO_WAIT | offers.BINARY)
    try:
        # What was looked at may have been replaced meanwhile.
        _check(os.fstat(handle))
        return os.fdopen(handle, "rb")
    except BaseException:
        os.close(handle)
        raise


def read_regular(path: Path, most: int) -> bytes:
    """The content of a regular file; UnfitFileError if it has more than so many bytes."""
    with open_regular(path) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(most + 1) if size <= most else b""
    if size > most or len(content) > most:
        raise UnfitFileError(f"it has {max(size, len(content)):,} bytes, more than {most:,}")
    return content


def _check(status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        kind = next((name for fits, name in _KINDS if fits(status.st_mode)), "no regular file")
        raise UnfitFileError(f"it is {kind} and not a regular file")
