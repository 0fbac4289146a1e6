"""A release in the making: built aside, then put in its place in one step.

Enters: the target folder and, one by one, the files. Leaves: a complete release at the target, or
nothing. Must not know: what is in the files.

The draft is a hidden folder beside the target, readable by its owner only and locked while its
process lives. Its manifest is written last, after the data are on disk; then the draft is renamed.
All its files and folders get the same time: the real times would reveal in which order the files
were written, and how long the publisher's machine worked on them.
An old release is exchanged with the new one in a single system call where the system has one;
elsewhere it is moved aside first, and put back if the second step fails. A process that is killed
leaves at most a hidden draft, which the next publish into the same folder removes.

Whatever fails before the renaming leaves the target as it was. What fails after it does not undo
the release: it becomes a doubt, which `confirm` states.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from countveil.errors import CountveilError, ReleaseError, TargetError, option
from countveil.release.manifest import (
    DATA_FOLDER,
    MANIFEST_NAME,
    METADATA_NAMES,
    REPORT_NAME,
    SIGNATURE_NAME,
    DataFile,
    Manifest,
    ReportFile,
    file_sha256,
)
from countveil.release.opening import read_manifest
from countveil.release.signature import Signer
from countveil.system import offers, outcome
from countveil.system.address import refuse_as_folder, refuse_device_name
from countveil.system.exchange import exchange, put_back
from countveil.system.files import (
    Lock,
    dead_leftovers,
    is_for_a_file,
    locked_leftover,
    new_folder_beside,
    remove_folder,
    rename,
    sync_file,
    sync_folder,
)
from countveil.system.process import signals_deferred
from countveil.system.whole_files import sync_path, unconfirmed

PARTS = {DATA_FOLDER, REPORT_NAME, SIGNATURE_NAME, MANIFEST_NAME, *METADATA_NAMES.values()}


@dataclass(frozen=True, slots=True)
class WrittenFile:
    """A data file that an engine wrote into a draft."""

    path: Path
    rows: int


class ReleaseDraft(Protocol):
    """A release in the making, on whatever file system it will be."""

    @property
    def data(self) -> str | Path:
        """The folder for data files."""

    def listed(self, files: Iterable[tuple[str, int]]) -> tuple[DataFile, ...]:
        """Data files (name and rows) as the manifest lists them."""

    def add_file(self, name: str, text: str) -> ReportFile:
        """Put a page or a description beside the data; the manifest has to name the result."""

    def commit(
        self,
        manifest: Manifest,
        before: Callable[[], None] | None = None,
        signer: Signer | None = None,
    ) -> None:
        """Write the manifest and put the release in its place."""

    def confirm(self) -> str:
        """After the commit: what could not be confirmed, or nothing; TargetError if it is gone."""


class Draft:
    """An open draft. Put data files into `data`, add pages, then `commit`."""

    def __init__(
        self, target: Path, folder: Path, lock: Lock, named: Path, *, replaces: bool
    ) -> None:
        """`target` is the real folder, `named` what the publisher calls it."""
        self._target, self._named = target, named
        self._doubts: list[str] = []
        self._replaces = replaces
        self._folder = folder
        self._lock = lock
        self.data = folder / DATA_FOLDER

    def listed(self, files: Iterable[tuple[str, int]]) -> tuple[DataFile, ...]:
        """Data files (name and rows) as the manifest lists them."""
        listed = []
        for name, rows in files:
            path = self.data / name
            sync_path(path)
            listed.append(
                DataFile(f"{DATA_FOLDER}/{name}", rows, path.stat().st_size, file_sha256(path))
            )
        return tuple(listed)

    def add_file(self, name: str, text: str) -> ReportFile:
        """Put a page or a description beside the data; the manifest must list the result."""
        content = text.encode()
        _write_synced(self._folder / name, content)
        return ReportFile(len(content), hashlib.sha256(content).hexdigest())

    def commit(
        self,
        manifest: Manifest,
        before: Callable[[], None] | None = None,
        signer: Signer | None = None,
    ) -> None:
        """Write the manifest, sign it if asked to, and put the release in its place.

        `before` is called when only the final renaming is left to fail; the command line ignores
        Ctrl-C from there on.
        """
        content = manifest.to_json().encode()
        if signer is not None:
            _write_synced(self._folder / SIGNATURE_NAME, signer.sign(content))
        _write_synced(self._folder / MANIFEST_NAME, content)
        for folder in (self.data, self._folder):
            sync_folder(folder)
        for entry in [self._folder, *self._folder.rglob("*")]:
            entry.chmod(0o755 if entry.is_dir() else 0o644)
        set_one_time(self._folder)
        if before is not None:
            before()
        with signals_deferred():
            self._put_in_place()
            try:
                sync_folder(self._target.parent)
            except OSError as error:
                self._doubts.append(unconfirmed(self._what, error))

    @property
    def _what(self) -> str:
        return f"the release {self._named}"

    def confirm(self) -> str:
        """What could not be confirmed of a release that is in its place; nothing, as a rule."""
        try:
            there = (self._target / MANIFEST_NAME).stat().st_size > 0
        except (FileNotFoundError, NotADirectoryError):
            there = False
        except OSError as error:
            self._doubts.append(unconfirmed(self._what, error))
            there = True
        if not there:
            raise TargetError(
                f"The release was put in its place, but it is not at {self._named} any more: "
                f"somebody removed or moved its folder meanwhile. Publish again."
            )
        return " ".join(self._doubts)

    def _put_in_place(self) -> None:
        try:
            # If the target is missing or an empty folder, this is one step.
            rename(self._folder, self._target)
            outcome.put_in_place(self._what, self._target)
        except OSError as error:
            if error.errno not in (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR):
                raise
            # Something may have been put there since the draft was opened.
            check_target(self._target, force=self._replaces, again=self._replaces)
            exchange(self._folder, self._target)
            outcome.put_in_place(self._what, self._target)
            remove_folder(self._folder)
            if self._folder.exists():
                self._doubts.append(
                    f"{self._what[0].upper()}{self._what[1:]} is in place and complete, but the "
                    f"one before could not be removed: it is {self._folder}. The next publication "
                    f"there removes it."
                )

    def discard(self) -> None:
        """Remove what is left of the draft; harmless after a commit."""
        with signals_deferred():
            if self._lock.is_open:
                remove_folder(self._folder)
                self._lock.close()


@contextlib.contextmanager
def open_draft(
    target: str | os.PathLike[str], *, force: bool = False, again: bool = False
) -> Iterator[Draft]:
    """A draft for `target`, which must not exist, be empty or (if allowed) be a release."""
    draft = None
    try:
        path = check_target(Path(target), force=force, again=again)
        with signals_deferred():
            remove_dead_leftovers(path.parent)
            folder, lock = locked_leftover(lambda: new_folder_beside(path))
            draft = Draft(path, folder, lock, Path(target), replaces=force and again)
            draft.data.mkdir()
        yield draft
    except OSError as error:
        if draft is not None:
            draft.discard()
        raise _target_error(Path(target), error) from error
    finally:
        if draft is not None:
            draft.discard()


def set_one_time(folder: Path) -> None:
    """Give a folder and everything in it the same time, in whole seconds."""
    moment = int(time.time())
    for entry in [*folder.rglob("*"), folder]:
        os.utime(entry, (moment, moment))


def check_target(target: Path, *, force: bool, again: bool) -> Path:
    """The folder that a release at `target` would be, if one may be put there."""
    try:
        str(target).encode()
    except UnicodeEncodeError as error:
        raise TargetError("The name of the target folder is not valid text.") from error
    if not target.name:
        raise TargetError(f"{target} cannot be the release folder. Name a new folder.")
    refuse_device_name(target)
    # A symbolic link stays; the folder that it points to is replaced.
    path = Path(os.path.realpath(target))
    if not path.parent.is_dir():
        refuse_as_folder(target)
        raise TargetError(f"The folder {target.parent} does not exist. Create it first.")
    if not path.exists():
        return path
    if not path.is_dir():
        raise TargetError(f"{target} is a file. Name a new folder for the release.")
    if not any(path.iterdir()):
        return path
    try:
        manifest = read_manifest(path)
    except ReleaseError as error:
        raise TargetError(
            f"{target} exists and is not empty. It is not a release, so {option('force', True)} "
            f"does not replace it. Name another folder."
        ) from error
    if not (force and again):
        from countveil.release.second_release import refuse_to_replace

        refuse_to_replace(target, force=force, again=again)
    foreign = foreign_files(path, manifest)
    if foreign:
        raise TargetError(
            f"{target} holds something that is not part of the release ({foreign[0]}), which "
            f"{option('force', True)} would delete. Please move it elsewhere first."
        )
    return path


def check_not_input(path: Path, what: str, inputs: Iterable[Path]) -> None:
    """Refuse to write where something is read: the same file under any name, or in its folder."""
    real = Path(os.path.realpath(path))
    for given in inputs:
        read = Path(os.path.realpath(given))
        if read.is_dir() and _lies_in(real, read):
            raise TargetError(
                f"{path} lies in {given}, which is read here: {what} would become a part of it. "
                f"Name a place elsewhere."
            )
        if _same(real, read):
            raise TargetError(
                f"{path} is read here, and {what} would replace it. Name another place for {what}; "
                f"{option('force', True)} does not replace an input."
            )
        if _lies_in(read, real):
            raise TargetError(
                f"{given} is read here and lies in {path}, which {what} would replace. Name "
                f"another place for {what}."
            )


def _lies_in(path: Path, folder: Path) -> bool:
    """Whether a path leads through a folder, whatever name the folder was given by."""
    return any(_same(parent, folder) for parent in path.parents)


def _same(one: Path, other: Path) -> bool:
    """Whether two names are those of one file: by a link, or as capitals mean nothing there."""
    try:
        return one.samefile(other)
    except OSError:
        return one == other


def remove_dead_leftovers(folder: Path) -> None:
    """Remove drafts and pending files whose process is gone: nobody has them locked.

    If the process was killed while it replaced a release, the old one is put back first.
    """
    for leftover in dead_leftovers(folder):
        with contextlib.suppress(OSError):
            if not leftover.is_dir():
                leftover.unlink()
            elif {inside.name for inside in leftover.iterdir()} <= PARTS:
                # Nothing but parts of a release: it is a draft, and not merely named like one.
                put_back(leftover)
                remove_folder(leftover)
            elif is_for_a_file(leftover):
                remove_folder(leftover)


def _write_synced(path: Path, content: bytes) -> None:
    with path.open("xb") as file:
        file.write(content)
        file.flush()
        sync_file(file.fileno())


def _target_error(target: Path, error: OSError) -> CountveilError:
    if error.errno in offers.DISK_FULL:
        why = "The disk is full, or a size limit was reached"
        left = outcome.left() or "Nothing was left behind."
        return TargetError(f"{why} while writing {target}. {left}")
    if error.errno in offers.NO_PERMISSION:
        closed = ", and close programs that have something in it open" * offers.OPEN_FILES_STAY
        return TargetError(
            f"No permission to write {target}. Name a folder you may write to{closed}."
        )
    return TargetError(f"Writing {target} failed: {error.strerror or error}.")


def foreign_files(folder: Path, manifest: Manifest) -> list[str]:
    """What lies in the folder and is not part of the release."""
    expected = {MANIFEST_NAME, SIGNATURE_NAME, DATA_FOLDER, *(file.path for file in manifest.files)}
    if manifest.report is not None:
        expected.add(REPORT_NAME)
    expected.update(METADATA_NAMES[name] for name in manifest.metadata)
    present = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return [name for name in present if name not in expected]
