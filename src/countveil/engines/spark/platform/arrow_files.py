"""Files that a client of Spark Connect writes: with Arrow, from this process.

Enters: an address that this process and Spark's server both reach. Leaves: what `Files` does. Must
not know: what a release is.

Spark Connect has no way to write, rename or remove a single file, so the few small files of a
release go from here, with the rights that this process has: a folder that both share, or a store
that Arrow reaches (s3, gs, abfs, hdfs). `check_shared` makes sure that both mean the same place.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from countveil.engines.spark.files import Files
from countveil.engines.spark.platform.read_files import ReadFiles
from countveil.errors import TargetError
from countveil.system.address import local_path

_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")
# What Hadoop and Arrow call the same store.
_ARROW_NAMES = {"s3a": "s3", "s3n": "s3"}


class ArrowFiles(Files):
    """The verbs of `Files`, with Arrow's file systems."""

    def __init__(self, session: Any, address: str) -> None:
        self._session = session
        named = _SCHEME.match(address)
        self.scheme = named[1].lower() if named else "file"
        if self.scheme == "file":
            self._arrow: fs.FileSystem = fs.LocalFileSystem()
            # Spark is told whose path it is: its own default may be another file system.
            self.root = f"file:{Path(local_path(address)).absolute().as_posix()}".rstrip("/")
            return
        self.root = address.rstrip("/")
        try:
            self._arrow, _ = fs.FileSystem.from_uri(self._arrow_address(address))
        except (pa.ArrowException, ImportError) as error:
            raise OSError(f"Arrow cannot reach {self.scheme}") from error

    def _arrow_address(self, address: str) -> str:
        name = _ARROW_NAMES.get(self.scheme, self.scheme)
        return _SCHEME.sub(f"{name}:", address)

    def _at(self, address: str) -> str:
        if self.scheme == "file":
            return str(Path(local_path(address)).absolute())
        try:
            return str(fs.FileSystem.from_uri(self._arrow_address(address))[1]).rstrip("/")
        except pa.ArrowException as error:
            raise OSError(f"Arrow cannot reach {self.scheme}") from error

    def _info(self, address: str) -> fs.FileInfo:
        info: fs.FileInfo = self._arrow.get_file_info(self._at(address))
        return info

    def exists(self, address: str) -> bool:
        """Whether something is there."""
        return self._info(address).type != fs.FileType.NotFound

    def is_folder(self, address: str) -> bool:
        """Whether a folder is there."""
        return self._info(address).type == fs.FileType.Directory

    def listing(self, folder: str) -> dict[str, int]:
        """Names in a folder with their sizes, in order; -1 for a folder."""
        entries = self._arrow.get_file_info(fs.FileSelector(self._at(folder)))
        sizes = {
            str(entry.base_name): -1 if entry.type == fs.FileType.Directory else int(entry.size)
            for entry in entries
        }
        return dict(sorted(sizes.items()))

    def size(self, address: str) -> int:
        """The bytes of a file."""
        return int(self._info(address).size)

    def read(self, address: str) -> bytes:
        """A small file."""
        with self._arrow.open_input_stream(self._at(address), compression=None) as stream:
            return bytes(stream.read())

    def write(self, address: str, content: bytes) -> None:
        """A small file, which must not be there."""
        if self.exists(address):
            raise FileExistsError("there is a file already")
        with self._arrow.open_output_stream(self._at(address), compression=None) as stream:
            stream.write(content)

    def make_folder(self, address: str) -> None:
        """A folder, and those above it."""
        self._arrow.create_dir(self._at(address), recursive=True)

    def rename(self, old: str, new: str) -> None:
        """OSError if it is refused."""
        self._arrow.move(self._at(old), self._at(new))

    def remove(self, address: str) -> None:
        """A file, or a folder with all that is in it."""
        kind = self._info(address).type
        if kind == fs.FileType.Directory:
            self._arrow.delete_dir(self._at(address))
        elif kind != fs.FileType.NotFound:
            self._arrow.delete_file(self._at(address))

    def set_rights(self, address: str, rights: str) -> None:
        """Who may read and write, such as 755, where that is said of single files."""
        if self.scheme == "file":
            Path(self._at(address)).chmod(int(rights, 8))

    def set_time(self, address: str, seconds: int) -> None:
        """The modification time of a file or folder, where one can be set."""
        if self.scheme == "file":
            os.utime(self._at(address), (seconds, seconds))

    def check_shared(self, folder: str) -> None:
        """Refuse a folder that Spark's server sees otherwise than this process."""
        probe, content = f"{folder}/probe", uuid.uuid4().hex.encode()
        self.write(probe, content)
        seen = None
        try:
            # Whatever Spark says: it does not see the file.
            with contextlib.suppress(Exception):
                seen = ReadFiles(self._session, probe).read(probe)
        finally:
            self.remove(probe)
        if seen != content:
            raise TargetError(
                f"The server of Spark Connect does not see what this process writes to "
                f"{self.root}. Name a folder that both reach: one that the machines share, or an "
                f"address such as s3a://BUCKET/FOLDER; the server's user must be able to read it."
            )
