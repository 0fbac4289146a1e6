"""Files on whatever file system Spark reaches: local, HDFS, object stores.

Enters: an address. Leaves: small files read and written, listings, renames. Must not know: what a
release is. All goes through Hadoop's interface in the driver's Java; a client of Spark Connect has
none, and uses `platform/arrow_files.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from countveil.engines.spark.platform.kinds import is_connect

if TYPE_CHECKING:
    from countveil.engines.spark.platform.read_files import ReadFiles

# Where renaming a folder is one step. Elsewhere (object stores) it is a copy, file by file.
RENAMED_IN_ONE_STEP = {"file", "hdfs", "viewfs", "webhdfs", "swebhdfs"}


class Files:
    """A file system, and addresses on it."""

    def __init__(self, session: Any, address: str) -> None:
        self._java = session.sparkContext._jvm  # noqa: SLF001 - the only way to Hadoop's interface
        configuration = session.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001
        system = self._path(address).getFileSystem(configuration)
        self.scheme = str(system.getScheme())
        self._system = system
        if self.scheme == "file":
            # Without the hidden checksum file beside each file.
            self._system = self._java.org.apache.hadoop.fs.RawLocalFileSystem()
            self._system.initialize(self._java.java.net.URI("file:///"), configuration)
        self.root = str(self._system.makeQualified(self._path(address)).toString()).rstrip("/")

    @property
    def renames_in_one_step(self) -> bool:
        """Whether a folder can be put in its place as a whole."""
        return self.scheme in RENAMED_IN_ONE_STEP

    def _path(self, address: str) -> Any:
        return self._java.org.apache.hadoop.fs.Path(address)

    def exists(self, address: str) -> bool:
        """Whether something is there."""
        return bool(self._system.exists(self._path(address)))

    def is_folder(self, address: str) -> bool:
        """Whether a folder is there."""
        return self.exists(address) and bool(
            self._system.getFileStatus(self._path(address)).isDirectory()
        )

    def listing(self, folder: str) -> dict[str, int]:
        """Names in a folder with their sizes, in order; -1 for a folder."""
        entries = self._system.listStatus(self._path(folder))
        sizes = {
            str(entry.getPath().getName()): -1 if entry.isDirectory() else int(entry.getLen())
            for entry in entries
        }
        return dict(sorted(sizes.items()))

    def size(self, address: str) -> int:
        """The bytes of a file."""
        return int(self._system.getFileStatus(self._path(address)).getLen())

    def read(self, address: str) -> bytes:
        """A small file."""
        stream = self._system.open(self._path(address))
        try:
            return bytes(self._java.org.apache.commons.io.IOUtils.toByteArray(stream))
        finally:
            stream.close()

    def write(self, address: str, content: bytes) -> None:
        """A small file, which must not be there."""
        overwrite = False
        stream = self._system.create(self._path(address), overwrite)
        try:
            stream.write(bytearray(content))
            if self.scheme == "hdfs":
                stream.hsync()
        finally:
            stream.close()

    def make_folder(self, address: str) -> None:
        """A folder, and those above it."""
        self._system.mkdirs(self._path(address))

    def rename(self, old: str, new: str) -> None:
        """OSError if it is refused."""
        if not self._system.rename(self._path(old), self._path(new)):
            raise OSError("the file system refused to rename")

    def remove(self, address: str) -> None:
        """A file, or a folder with all that is in it."""
        recursive = True
        self._system.delete(self._path(address), recursive)

    def set_rights(self, address: str, rights: str) -> None:
        """Who may read and write, such as 755."""
        rights_of = self._java.org.apache.hadoop.fs.permission.FsPermission
        self._system.setPermission(self._path(address), rights_of(rights))

    def set_time(self, address: str, seconds: int) -> None:
        """The modification time of a file or folder, where the file system keeps one."""
        self._system.setTimes(self._path(address), seconds * 1000, -1)

    def check_shared(self, folder: str) -> None:
        """Nothing: it is Spark itself that writes here."""


def files_to_write(session: Any, address: str) -> Files:
    """The file system of an address, to be written to."""
    if is_connect(session):
        from countveil.engines.spark.platform.arrow_files import ArrowFiles

        return ArrowFiles(session, address)
    return Files(session, address)


def files_to_read(session: Any, address: str) -> Files | ReadFiles:
    """The file system of an address, to be looked at."""
    if is_connect(session):
        from countveil.engines.spark.platform.read_files import ReadFiles

        return ReadFiles(session, address)
    return Files(session, address)
