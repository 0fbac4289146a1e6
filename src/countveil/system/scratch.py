"""A file that is gone when the process is, however that ends.

Enters: a folder; bytes and their places. Leaves: the bytes again. Must not know: what they are.

The file has no name where the system can take it away from an open file; elsewhere (Windows) it
has one, for its owner, and the system deletes it when it is closed.
"""

from __future__ import annotations

import tempfile
import threading
from pathlib import Path

from countveil.system import offers


class ScratchFile:
    """An open file, for several threads."""

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder, buffering=0)  # noqa: SIM115
        self._lock = threading.Lock()

    def write(self, content: bytes, place: int) -> None:
        """Put bytes at a place."""
        written = 0
        while written < len(content):
            written += self._write(memoryview(content)[written:], place + written)

    def read(self, size: int, place: int) -> bytes:
        """The bytes at a place; fewer if the file ends before."""
        content = bytearray()
        while len(content) < size:
            block = self._read(size - len(content), place + len(content))
            if not block:
                break
            content += block
        return bytes(content)

    def close(self) -> None:
        """Free the space."""
        self._file.close()

    def _write(self, content: memoryview, place: int) -> int:
        if offers.WRITE_AT is not None:
            return int(offers.WRITE_AT(self._file.fileno(), content, place))
        with self._lock:
            self._file.seek(place)
            return self._file.write(content)

    def _read(self, size: int, place: int) -> bytes:
        if offers.READ_AT is not None:
            return bytes(offers.READ_AT(self._file.fileno(), size, place))
        with self._lock:
            self._file.seek(place)
            return self._file.read(size)
