"""The system calls of a process, one by one, before they happen: seen, refused, or its last.

Enters: a process that asked to be watched. Leaves: which file each call is about; and what the
watcher decides becomes of it. Must not know: the command that runs, what is tested.

Linux hands the calls that a filter names to a watcher (seccomp, "user notification"). The filter is
put on by the process itself, through C's own library, so nothing has to be installed or compiled,
and it covers every library in the process. Nothing here works elsewhere, or before Linux 5.19.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import select
import socket
import struct
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

# By machine: the number of the call that puts on a filter, and those of the calls we look at.
_X86 = {
    "write": 1, "pread64": 17, "pwrite64": 18, "writev": 20, "pwritev": 296, "sendto": 44,
    "fsync": 74, "fdatasync": 75, "sync_file_range": 277,
    "open": 2, "openat": 257, "creat": 85, "close": 3,
    "rename": 82, "renameat": 264, "renameat2": 316, "link": 86, "linkat": 265,
    "unlink": 87, "unlinkat": 263, "rmdir": 84, "mkdir": 83, "mkdirat": 258,
    "truncate": 76, "ftruncate": 77, "fallocate": 285,
    "chmod": 90, "fchmod": 91, "fchmodat": 268, "utimensat": 280,
    "clone": 56, "clone3": 435, "mmap": 9, "brk": 12,
}  # fmt: skip
_ARM = {
    "write": 64, "pread64": 67, "pwrite64": 68, "writev": 66, "pwritev": 70, "sendto": 206,
    "fsync": 82, "fdatasync": 83, "sync_file_range": 84,
    "openat": 56, "close": 57, "renameat": 38, "renameat2": 276, "linkat": 37,
    "unlinkat": 35, "mkdirat": 34, "truncate": 45, "ftruncate": 46, "fallocate": 47,
    "fchmod": 52, "fchmodat": 53, "utimensat": 88,
    "clone": 220, "clone3": 435, "mmap": 222, "brk": 214,
}  # fmt: skip
_MACHINES = {"x86_64": (317, _X86), "aarch64": (277, _ARM)}

FILE_CALLS = frozenset(_X86) - {"pread64", "sendto", "clone", "clone3", "mmap", "brk"}
# Calls whose first argument is an open file, a path, or a folder with a path behind it.
_OPEN_FILE = {
    "write", "pread64", "pwrite64", "writev", "pwritev", "sendto", "fsync", "fdatasync",
    "sync_file_range", "close", "ftruncate", "fallocate", "fchmod",
}  # fmt: skip
_BEHIND_FOLDER = {
    "openat", "renameat", "renameat2", "linkat", "unlinkat", "mkdirat", "fchmodat", "utimensat",
}  # fmt: skip
_FLAGS_OF = {"open": 1, "openat": 2}
_READS_ONLY = os.O_WRONLY | os.O_RDWR | os.O_CREAT

_NO_NEW_RIGHTS, _SET_FILTER, _LISTENER, _ONLY_KILLED = 38, 1, 1 << 3, 1 << 5
_LOAD, _EQUALS, _RETURN, _ALLOW, _NOTIFY = 0x20, 0x15, 0x06, 0x7FFF0000, 0x7FC00000
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_CALL, _ANSWER = struct.Struct("=QIIiIQ6Q"), struct.Struct("=QqiI")
_GO_ON = 1
_HERE = -100
_LONGEST_PATH = 4096


@dataclass(frozen=True, slots=True)
class Call:
    """A call that waits for an answer: its name, the file it is about, and which argument it is."""

    id: int
    thread: int
    name: str
    path: str
    handle: int | None
    reads: bool


def supported() -> str:
    """Why calls cannot be watched here; nothing if they can."""
    if sys.platform != "linux" or platform.machine() not in _MACHINES:
        return "calls of the system are watched on Linux alone, on x86-64 and ARM"
    actions = Path("/proc/sys/kernel/seccomp/actions_avail")
    if not actions.exists() or "user_notif" not in actions.read_text():
        return "this Linux cannot hand calls to a watcher (seccomp user notification)"
    return ""


def be_watched(names: frozenset[str], to: socket.socket) -> None:
    """From here on the calls of these names of this process wait for who holds the other end."""
    number, known = _MACHINES[platform.machine()]
    numbers = [known[name] for name in sorted(names & known.keys())]
    lines = [(_LOAD, 0, 0, 0)]
    lines += [(_EQUALS, len(numbers) - place, 0, call) for place, call in enumerate(numbers)]
    lines += [(_RETURN, 0, 0, _ALLOW), (_RETURN, 0, 0, _NOTIFY)]
    program = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in lines))
    # The number of lines, and where they are.
    head = ctypes.create_string_buffer(struct.pack("@HP", len(lines), ctypes.addressof(program)))
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_NO_NEW_RIGHTS, 1, 0, 0, 0)
    listener = library.syscall(number, _SET_FILTER, _LISTENER | _ONLY_KILLED, head)
    if listener < 0:
        raise OSError(ctypes.get_errno(), "the filter was refused")
    # What the filter says holds already, except for this way of sending.
    socket.send_fds(to, [b"!"], [listener])


def received(from_: socket.socket) -> int:
    """The other end: where calls arrive."""
    return int(socket.recv_fds(from_, 1, 1)[1][0])


class Watch:
    """Calls as they arrive; each has to be answered."""

    def __init__(self, listener: int) -> None:
        self._listener = listener
        _, known = _MACHINES[platform.machine()]
        self._names = {number: name for name, number in known.items()}

    def calls(self, seconds: float) -> Iterator[Call]:
        """All calls until the process is over; TimeoutError if none comes for so long."""
        waiting = select.poll()
        waiting.register(self._listener, select.POLLIN)
        while True:
            events = waiting.poll(seconds * 1000)
            if not events:
                raise TimeoutError("nothing happened for a long time")
            if not events[0][1] & select.POLLIN:
                return
            content = bytearray(_CALL.size)
            try:
                fcntl.ioctl(self._listener, _RECEIVE, content)
            except OSError as error:
                # The thread was killed before its call could be looked at.
                if error.errno in (errno.ENOENT, errno.EINTR):
                    continue
                raise
            known, thread, _, number, _, _, *arguments = _CALL.unpack(content)
            yield self._described(known, thread, self._names[number], arguments)

    def _described(self, known: int, thread: int, name: str, arguments: list[int]) -> Call:
        path, handle = "", None
        try:
            if name in _OPEN_FILE:
                handle = _signed(arguments[0])
                path = str(Path(f"/proc/{thread}/fd/{handle}").readlink())
            elif name in _BEHIND_FOLDER:
                path = self._joined(thread, arguments[0], arguments[1])
            elif name not in ("clone", "clone3", "mmap", "brk"):
                path = self._joined(thread, _HERE, arguments[0])
        except OSError:
            path = ""
        flags = arguments[_FLAGS_OF[name]] if name in _FLAGS_OF else _READS_ONLY
        return Call(known, thread, name, path, handle, not flags & _READS_ONLY)

    @staticmethod
    def _joined(thread: int, folder: int, address: int) -> str:
        path = Path(_text(thread, address))
        from_ = _signed(folder)
        where = "cwd" if from_ == _HERE else f"fd/{from_}"
        return str(
            path if path.is_absolute() else Path(f"/proc/{thread}/{where}").readlink() / path
        )

    def go_on(self, call: Call) -> None:
        """Let it happen."""
        self._answer(call, 0, _GO_ON)

    def refuse(self, call: Call, number: int) -> None:
        """It does not happen, and fails with this error."""
        self._answer(call, -number, 0)

    def _answer(self, call: Call, error: int, flags: int) -> None:
        try:
            fcntl.ioctl(self._listener, _SEND, _ANSWER.pack(call.id, 0, error, flags))
        except OSError as gone:
            # The process was killed meanwhile.
            if gone.errno != errno.ENOENT:
                raise


def _signed(argument: int) -> int:
    return ctypes.c_int32(argument & 0xFFFFFFFF).value


def _text(thread: int, address: int) -> str:
    """The text at an address of another process."""
    if not address:
        return ""
    content = b""
    with Path(f"/proc/{thread}/mem").open("rb", buffering=0) as memory:
        # Not beyond a page, which may be the last one.
        while b"\0" not in content and len(content) < _LONGEST_PATH:
            place = address + len(content)
            memory.seek(place)
            block = memory.read(min(256, 4096 - place % 4096))
            if not block:
                break
            content += block
    return os.fsdecode(content.partition(b"\0")[0])
