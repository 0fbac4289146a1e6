"""Files as a client of Spark Connect sees them: through Spark's own reader.

Enters: an address, on any file system that the server reaches. Leaves: whether something is there,
names, contents of small files. Must not know: what a release is. Nothing is written.
"""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import unquote

_PATTERN = re.compile(r"([\\{}\[\]*?])")
_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:/*")


class ReadFiles:
    """A file system, read by the server."""

    def __init__(self, session: Any, address: str) -> None:
        self._session = session
        self.root = address.rstrip("/")

    def exists(self, address: str) -> bool:
        """Whether something is there."""
        return self._inside(address) is not None

    def is_folder(self, address: str) -> bool:
        """Whether a folder is there."""
        inside = self._inside(address)
        return inside is not None and "" not in inside

    def listing(self, folder: str) -> dict[str, int]:
        """Names in a folder, in order; -1 for a folder, 0 for a file. Hidden files are left out."""
        sizes: dict[str, int] = {}
        for path in self._inside(folder) or ():
            name, deeper, _ = path.partition("/")
            sizes[name] = -1 if deeper else 0
        return dict(sorted(sizes.items()))

    def size(self, address: str) -> int:
        """The bytes of a file."""
        return int(self._reader(address).select("length").collect()[0][0])

    def read(self, address: str) -> bytes:
        """A small file."""
        return bytes(self._reader(address).select("content").collect()[0][0])

    def _reader(self, address: str) -> Any:
        reader = self._session.read.format("binaryFile").option("recursiveFileLookup", "true")
        # What would be a pattern is meant as it is.
        return reader.load(_PATTERN.sub(r"\\\1", address))

    def _inside(self, address: str) -> list[str] | None:
        """The files below an address, as seen from there; None if nothing is there."""
        from pyspark.errors import AnalysisException

        path = _SCHEME.sub("/", address).rstrip("/")
        try:
            files = self._reader(address).inputFiles()
        except AnalysisException as error:
            if error.getCondition() == "PATH_NOT_FOUND":
                return None
            raise
        names = [f"{unquote(file)}/" for file in files]
        if path.startswith("/"):
            return [name.partition(f"{path}/")[2].rstrip("/") for name in names]
        # A relative path is one of the server's; wherever that is, it ends like this.
        return [name.rpartition(f"{path}/")[2].rstrip("/") for name in names]
