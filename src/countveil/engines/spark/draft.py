"""A release in the making on any file system that Spark reaches.

Enters: the target's address and, one by one, the files. Leaves: a complete release at the
target, or nothing. Must not know: what is in the files.

As on one machine, the draft is a hidden folder beside the target, its manifest is written last, and
all files have the same time where the file system keeps one. Where a folder is renamed in one step,
so is the draft. In object stores renaming is a copy, so there the manifest follows last: until then
the target is not a release. A driver that is killed leaves a hidden draft, never a release; on this
machine's own file system the next publication into the same folder removes it, and elsewhere, where
nobody can know whether its driver lives, it stays until somebody does.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.engines.spark import jobs
from countveil.engines.spark.files import Files, files_to_write
from countveil.engines.spark.platform.checksums import checksums
from countveil.errors import ReleaseError, TargetError, option
from countveil.release.draft import PARTS, remove_dead_leftovers
from countveil.release.limits import MANIFEST_BYTES, check_larger, check_limit
from countveil.release.manifest import (
    DATA_FOLDER,
    MANIFEST_NAME,
    SIGNATURE_NAME,
    DataFile,
    Manifest,
    ReportFile,
)
from countveil.release.opening import ANY, Expected
from countveil.release.places import LocalPlaces, is_elsewhere
from countveil.release.second_release import refuse_to_replace
from countveil.release.signature import SIGNATURE_BYTES, Signer, check_signature
from countveil.system.address import local_path
from countveil.system.files import Lock, locked_leftover

if TYPE_CHECKING:
    from countveil.engines.spark.platform.read_files import ReadFiles

_PATTERN = set("{}[]*?\\")


class SparkDraft:
    """See `ReleaseDraft` in `release/draft.py`."""

    def __init__(
        self, session: Any, files: Files, target: str, folder: str, *, replaces: bool
    ) -> None:
        self._session, self._files, self._replaces = session, files, replaces
        self._target, self._folder = target, folder
        # On this machine's own file system, a lock shows others that the draft is in use.
        self._lock: Lock | None = None
        self.data = f"{folder}/{DATA_FOLDER}"

    def listed(self, files: Iterable[tuple[str, int]]) -> tuple[DataFile, ...]:
        """Data files as the manifest lists them; their checksums are computed on the cluster."""
        digest = jobs.run(self._session, lambda: checksums(self._session, self.data))
        sizes = self._files.listing(self.data)
        return tuple(
            DataFile(f"{DATA_FOLDER}/{name}", rows, sizes[name], digest[name])
            for name, rows in files
        )

    def add_file(self, name: str, text: str) -> ReportFile:
        """Put a page or a description beside the data."""
        content = text.encode()
        self._files.write(f"{self._folder}/{name}", content)
        return ReportFile(len(content), hashlib.sha256(content).hexdigest())

    def commit(
        self,
        manifest: Manifest,
        before: Callable[[], None] | None = None,
        signer: Signer | None = None,
    ) -> None:
        """Write the manifest, sign it if asked to, and put the release in its place."""
        content = manifest.to_json().encode()
        if signer is not None:
            self._files.write(f"{self._folder}/{SIGNATURE_NAME}", signer.sign(content))
        self._files.write(f"{self._folder}/{MANIFEST_NAME}", content)
        self._tidy()
        if before is not None:
            before()
        self._put_in_place()

    def confirm(self) -> str:
        """Nothing: a file system that Spark writes to says at once what it could not do."""
        if not self._files.exists(f"{self._target}/{MANIFEST_NAME}"):
            raise TargetError(
                f"The release was put in its place, but it is not at {self._target} any more: "
                f"somebody removed or moved its folder meanwhile. Publish again."
            )
        return ""

    def _tidy(self) -> None:
        """One time and plain rights for all files."""
        moment = int(time.time())
        inside = [f"{self._folder}/{name}" for name in self._files.listing(self._folder)]
        data = [f"{self.data}/{name}" for name in self._files.listing(self.data)]
        for place in [*data, *inside, self._folder]:
            folder = place in (self.data, self._folder)
            self._files.set_rights(place, "755" if folder else "644")
            self._files.set_time(place, moment)

    def _put_in_place(self) -> None:
        files, target = self._files, self._target
        aside = None
        if files.exists(target):
            # Somebody may have put something there since the draft was begun.
            check_target(self._session, target, force=self._replaces, again=self._replaces)
            aside = f"{self._folder}.previous"
            files.rename(target, aside)
        try:
            if files.renames_in_one_step:
                files.rename(self._folder, target)
            else:
                files.make_folder(target)
                names = [name for name in files.listing(self._folder) if name != MANIFEST_NAME]
                for name in [*names, MANIFEST_NAME]:
                    files.rename(f"{self._folder}/{name}", f"{target}/{name}")
        except BaseException:
            if aside is not None or not files.renames_in_one_step:
                files.remove(target)
            if aside is not None:
                files.rename(aside, target)
            raise
        if aside is not None:
            files.remove(aside)

    def discard(self) -> None:
        """Remove what is left of the draft; harmless after a commit."""
        with contextlib.suppress(*jobs.java_errors()):
            self._files.remove(self._folder)
        if self._lock is not None:
            self._lock.close()

    def begin(self) -> None:
        """Make the folder; where others can see a lock, lock it, and remove what is not locked."""
        if self._files.scheme != "file":
            self._make()
        else:
            remove_dead_leftovers(Path(local_path(self._folder)).parent)
            _, self._lock = locked_leftover(self._make)
        self._files.check_shared(self._folder)

    def _make(self) -> str:
        """Make the folder, and name it as this machine does."""
        self._files.make_folder(self.data)
        self._files.set_rights(self._folder, "700")
        return local_path(self._folder)


@contextlib.contextmanager
def open_draft(session: Any, target: str, *, force: bool, again: bool) -> Iterator[SparkDraft]:
    """A draft for `target`, which must not exist, be empty or (if allowed) be a release."""
    draft = None
    try:
        files, root = check_target(session, target, force=force, again=again)
        above, _, name = root.rpartition("/")
        folder = f"{above}/.{name}.draft-{uuid.uuid4().hex[:12]}"
        draft = SparkDraft(session, files, root, folder, replaces=force and again)
        draft.begin()
        yield draft
    except jobs.java_errors() as error:
        raise TargetError(
            f"The release could not be written to {target} ({jobs.condition(error)}). Do you "
            f"have permission to write there, and is there space? Nothing was left behind."
        ) from None
    finally:
        if draft is not None:
            draft.discard()


def check_target(session: Any, target: str, *, force: bool, again: bool) -> tuple[Files, str]:
    """The file system and the full address of a target, if a release may be put there."""
    if set(target) & _PATTERN:
        raise TargetError(
            f"{target} holds a character that Spark takes for a pattern when it reads. Name a "
            f"folder without any of {' '.join(sorted(_PATTERN))}."
        )
    with _writable(target):
        return _free_place(files_to_write(session, target), target, force=force, again=again)


@contextlib.contextmanager
def _writable(target: str) -> Iterator[None]:
    """Say of an address in a sentence that it is none."""
    try:
        yield
    except jobs.java_errors() as error:
        raise TargetError(
            f"{target} is not an address that this Spark can write to ({jobs.condition(error)}). "
            f"What works: a path, or an address of a file system that is set up, such as "
            f"hdfs://HOST/FOLDER or s3a://..."
        ) from None


def _free_place(files: Files, target: str, *, force: bool, again: bool) -> tuple[Files, str]:
    root = files.root
    above, _, name = root.rpartition("/")
    if not name or name.endswith(":"):
        raise TargetError(f"{target} cannot be the release folder. Name a new folder.")
    if not files.is_folder(f"{above}/") and files.renames_in_one_step:
        written = target.rstrip("/").rpartition("/")[0] or above
        raise TargetError(f"The folder {written} does not exist. Create it first.")
    if not files.exists(root):
        return files, root
    if not files.is_folder(root):
        raise TargetError(f"{target} is a file. Name a new folder for the release.")
    inside = files.listing(root)
    if inside:
        _check_replaceable(files, target, set(inside), force=force, again=again)
    return files, root


def _check_replaceable(
    files: Files, target: str, inside: set[str], *, force: bool, again: bool
) -> None:
    try:
        manifest = read_manifest(files, files.root)
    except ReleaseError:
        raise TargetError(
            f"{target} exists and is not empty. It is not a release, so {option('force', True)} "
            f"does not replace it. Name another folder."
        ) from None
    refuse_to_replace(target, force=force, again=again)
    listed = {file.path.rpartition("/")[2] for file in manifest.files}
    foreign = (inside - PARTS) | (set(files.listing(f"{files.root}/{DATA_FOLDER}")) - listed)
    if foreign:
        raise TargetError(
            f"{target} holds something that is not part of the release ({min(foreign)}), which "
            f"{option('force', True)} would delete. Please move it elsewhere first."
        )


def read_manifest(files: Files | ReadFiles, root: str, expected: Expected = ANY) -> Manifest:
    """The manifest of a release on any file system, and whether its publisher signed it."""
    check_larger(expected.larger)
    place = f"{root}/{MANIFEST_NAME}"
    if not files.exists(place):
        raise ReleaseError(f"{root} is not a release: it has no {MANIFEST_NAME}.")
    try:
        check_limit("bytes in its manifest", files.size(place), MANIFEST_BYTES, expected.larger)
        content = files.read(place)
        if expected.signed_by is not None:
            _check_signed(files, root, content, expected.signed_by)
        return Manifest.from_json(content.decode(), expected.larger)
    except UnicodeDecodeError:
        raise ReleaseError(f"{place} is damaged: it is not UTF-8 text.") from None


def _check_signed(files: Files | ReadFiles, root: str, content: bytes, key: Path) -> None:
    place = f"{root}/{SIGNATURE_NAME}"
    signature = None
    if files.exists(place):
        # A longer file is none; it need not be read.
        signature = files.read(place) if files.size(place) <= SIGNATURE_BYTES else b""
    check_signature(content, signature, key)


class SparkPlaces(LocalPlaces):
    """Folders of this machine, and of other file systems through Spark; see `Places`."""

    def __init__(self, session: Any) -> None:
        self._session = session

    def full(self, address: str) -> str:
        """A path, if the file system is that of this machine, else the whole address."""
        with _writable(address):
            files = files_to_write(self._session, address)
        return super().full(files.root) if files.scheme == "file" else files.root

    def manifest(self, place: str) -> bytes | None:
        """The manifest at a place."""
        if not is_elsewhere(place):
            return super().manifest(place)
        with _reached():
            files, address = files_to_write(self._session, place), f"{place}/{MANIFEST_NAME}"
            return files.read(address) if files.exists(address) else None

    def exists(self, place: str) -> bool:
        """Whether anything is at a place."""
        if not is_elsewhere(place):
            return super().exists(place)
        with _reached():
            return files_to_write(self._session, place).exists(place)

    def in_one_step(self, place: str) -> bool:
        """Object stores copy, file by file."""
        with _reached():
            return files_to_write(
                self._session, f"file:{place}" if place[0] == "/" else place
            ).renames_in_one_step

    def releases(self, target: str) -> Iterator[tuple[str, Manifest]]:
        """The releases in the folder of a target."""
        if not is_elsewhere(target):
            yield from super().releases(target)
            return
        with _writable(target):
            files, above = files_to_write(self._session, target), target.rpartition("/")[0]
            names = files.listing(above) if files.is_folder(f"{above}/") else {}
        beside = [f"{above}/{name}" for name in names if name[0] != "."]
        unreadable: tuple[type[Exception], ...] = (ReleaseError, *jobs.java_errors())
        for place in dict.fromkeys([target, *beside]):
            try:
                manifest = read_manifest(files, place)
            except unreadable:
                continue
            yield place, manifest


@contextlib.contextmanager
def _reached() -> Iterator[None]:
    """What fails in Java says that nobody can tell."""
    try:
        yield
    except jobs.java_errors() as error:
        raise OSError(jobs.condition(error)) from None
