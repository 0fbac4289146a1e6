"""Rows spilled to disk, where nobody can read them.

Enters: bytes, and a folder. Leaves: the same bytes again, or an error. Must not know: what they
are.

Every entry is encrypted (AES-256-GCM) under a key that only this process has, and the file is gone
when the process is, however that ends. What remains on a disk is noise.
"""

from __future__ import annotations

import threading
from pathlib import Path

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from countveil.errors import TargetError, option
from countveil.randomness import fresh_key
from countveil.system import offers
from countveil.system.scratch import ScratchFile


class Spill:
    """An encrypted file that nobody else can open or read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        # Not derived from the publication's key: a seed must not decrypt true values.
        self._cipher = AESGCM(fresh_key())
        self._places: list[tuple[int, int]] = []
        self._end = 0
        try:
            self._file = ScratchFile(folder)
        except OSError as error:
            raise self._failed(error) from error

    def put(self, content: bytes) -> int:
        """Write some bytes; returns the number under which `get` gives them back."""
        with self._lock:
            number, place = len(self._places), self._end
            size = len(content) + 16
            self._places.append((place, size))
            self._end += size
        sealed = self._cipher.encrypt(number.to_bytes(12, "little"), content, None)
        try:
            self._file.write(sealed, place)
        except OSError as error:
            raise self._failed(error) from error
        return number

    def get(self, number: int) -> bytes:
        """The bytes again."""
        place, size = self._places[number]
        try:
            sealed = self._file.read(size, place)
            # One that is cut short does not bear its seal either.
            return self._cipher.decrypt(number.to_bytes(12, "little"), sealed, None)
        except (OSError, InvalidTag) as error:
            why = getattr(error, "strerror", None) or "they are not what was written"
            raise TargetError(
                f"Rows spilled to {self._folder} cannot be read back: {why}; the disk may be "
                f"failing. Name another folder with {option('spill')}."
            ) from error

    def close(self) -> None:
        """Free the space."""
        self._file.close()

    def _failed(self, error: OSError) -> TargetError:
        if error.errno in offers.DISK_FULL:
            return TargetError(
                f"The disk is full, or a size limit was reached, while rows were spilled to "
                f"{self._folder}. Name another folder with {option('spill')}, or allow more with "
                f"{option('memory')}. Nothing was left behind."
            )
        return TargetError(
            f"Rows cannot be spilled to {self._folder}: {error.strerror or error}. Name another "
            f"folder with {option('spill')}."
        )
