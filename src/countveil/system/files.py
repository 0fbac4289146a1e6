"""Files that are whole or not there, locks that end with a process, and what a dead one left.

Enters: paths, content. Leaves: files in their place; locks. Must not know: what is in a file, what
a folder is for.

What is built aside is named after what it will become, and locked while its process lives. Where
folders can be opened, a folder or a file is locked itself. Elsewhere an open file could not be
renamed, so a second file, beside it and with `LOCK` behind its name, is locked in its place; it is
removed with the lock.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from countveil.system import offers, outcome

# A folder in the making, and a file beside its place.
DRAFT, PENDING = ".draft-", ".pending-"
# What stands behind the name of a lock, and of an old folder while a new one takes its place.
LOCK, ASIDE = ".lock", ".previous"
LEFTOVER = re.compile(
    rf"\.(?P<target>.+)({re.escape(DRAFT)}|{re.escape(PENDING)})([a-z0-9_]{{8}}|[0-9a-f]{{12}})"
    rf"(?P<aside>{re.escape(ASIDE)})?(?P<lock>{re.escape(LOCK)})?"
)
_PAUSE_SECONDS = 0.05
# A virus scanner opens what is new, for a moment.
_PATIENCE_SECONDS = 3.0


class Lock:
    """A lock that ends with the process, or when it is closed; closing it twice is harmless."""

    def __init__(self, handle: int, beside: Path | None = None) -> None:
        self.handle, self._beside = handle, beside

    @property
    def is_open(self) -> bool:
        """Whether it was not closed yet."""
        return self.handle >= 0

    def take(self, *, wait: bool) -> None:
        """Lock the open file; if another has it, its file stays and ours is closed."""
        try:
            _take(self.handle, wait=wait)
        except BaseException:
            os.close(self.handle)
            self.handle = -1
            raise

    def close(self) -> None:
        """Let others have it."""
        if not self.is_open:
            return
        handle, self.handle = self.handle, -1
        if self._beside is None:
            _close(handle)
            return
        # While it is locked nobody else can make one. Where an open file stays, it is removed
        # afterwards; if somebody has opened it by then, it is theirs, and stays again.
        with contextlib.suppress(OSError):
            if not offers.OPEN_FILES_STAY:
                self._beside.unlink()
        _close(handle)
        with contextlib.suppress(OSError):
            if offers.OPEN_FILES_STAY:
                self._beside.unlink()


def _close(handle: int) -> None:
    """Close an open file that nothing was written through: whatever is said, it is closed."""
    with contextlib.suppress(OSError):
        os.close(handle)


def lock_place(place: Path, *, wait: bool, beside: Path | None = None) -> Lock:
    """Lock a folder or a file that is there; `beside` is what is locked if it cannot be.

    Raises FileNotFoundError if it is not there, BlockingIOError if another has it and we do not
    wait.
    """
    if _locks_themselves():
        locked, lock = place, Lock(os.open(place, os.O_RDONLY | offers.NO_FOLLOW))
    else:
        locked = beside or place.with_name(place.name + LOCK)
        flags = os.O_RDWR | os.O_CREAT | offers.NO_FOLLOW
        lock = Lock(os.open(locked, flags, 0o600), locked)
    lock.take(wait=wait)
    if _is_still(locked, lock) and os.path.lexists(place):
        return lock
    lock.close()
    raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))


def lock_patiently(place: Path, seconds: float, beside: Path) -> Lock:
    """Lock what is there, or raise BlockingIOError if another has it for so long."""
    patience = time.monotonic() + seconds
    while True:
        try:
            return lock_place(place, wait=False, beside=beside)
        except (BlockingIOError, FileNotFoundError) as error:
            # Another may just have removed the file beside it.
            gone = isinstance(error, FileNotFoundError) and not place.exists()
            if gone or time.monotonic() > patience:
                raise
            time.sleep(_PAUSE_SECONDS)


def _locks_themselves() -> bool:
    return offers.FCNTL is not None and offers.FOLDERS_OPEN


def _take(handle: int, *, wait: bool) -> None:
    if offers.FCNTL is not None:
        now = 0 if wait else offers.FCNTL.LOCK_NB
        offers.FCNTL.flock(handle, offers.FCNTL.LOCK_EX | now)
        return
    if offers.MSVCRT is None:
        raise OSError(errno.ENOLCK, "this system offers no locks on files")
    while True:
        try:
            # One byte, which need not be there.
            offers.MSVCRT.locking(handle, offers.MSVCRT.LK_NBLCK, 1)
        except OSError as error:
            if not wait:
                raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from error
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def _is_still(path: Path, lock: Lock) -> bool:
    """Whether the open file is the one at the path: another process may have removed it."""
    if offers.OPEN_FILES_STAY:
        return True
    try:
        return os.path.samestat(path.lstat(), os.fstat(lock.handle))
    except FileNotFoundError:
        return False


def locked_leftover(make: Callable[[], str]) -> tuple[Path, Lock]:
    """Something that would be left if we were killed, with a lock that shows that we live.

    Before it is locked, another process may take it for dead and remove it; then another is made.
    """
    while True:
        place = Path(make())
        try:
            return place, lock_place(place, wait=True)
        except FileNotFoundError:
            continue
        except BaseException:
            remove(place)
            raise


def dead_leftovers(folder: Path) -> Iterator[Path]:
    """What processes that are gone left in a folder, each locked by us while it is looked at."""
    with contextlib.suppress(OSError):
        for entry in sorted(folder.iterdir()):
            if (named := LEFTOVER.fullmatch(entry.name)) is None:
                continue
            # The old folder was moved aside, and the new one may not be in its place yet.
            if named["aside"] and not (folder / named["target"]).exists():
                continue
            with contextlib.suppress(OSError):
                yield from _if_dead(entry, is_lock=named["lock"] is not None)


def _if_dead(leftover: Path, *, is_lock: bool) -> Iterator[Path]:
    beside = leftover.with_name(leftover.name + LOCK)
    if _locks_themselves() and (is_lock or beside.exists()):
        # A system without locks on folders uses this folder too: only it can see who lives.
        return
    if is_lock:
        _remove_lock(leftover)
        return
    lock = lock_place(leftover, wait=False)
    try:
        if is_ours(leftover.lstat()):
            yield leftover
    finally:
        lock.close()


def _remove_lock(path: Path) -> None:
    """Remove the file of a lock that no process has any more, and that is for nothing."""
    if path.with_name(path.name.removesuffix(LOCK)).exists():
        return
    lock = Lock(os.open(path, os.O_RDWR | offers.NO_FOLLOW), path)
    lock.take(wait=False)
    lock.close()


def remove_dead_files(folder: Path) -> None:
    """Remove files in the making whose process is gone: nobody has them locked."""
    for leftover in dead_leftovers(folder):
        with contextlib.suppress(OSError):
            if not leftover.is_dir():
                leftover.unlink()
            elif is_for_a_file(leftover):
                remove_folder(leftover)


def is_for_a_file(leftover: Path) -> bool:
    """Whether a folder in the making is one for a file, and what a library puts beside that."""
    named = LEFTOVER.fullmatch(leftover.name)
    return named is not None and all(
        inside.name.startswith(named["target"]) for inside in leftover.iterdir()
    )


def is_ours(status: os.stat_result) -> bool:
    """Whether a file belongs to who runs this process; so does all where files have no owner."""
    return offers.OWN_NUMBER is None or status.st_uid == os.geteuid()


def readable_by_others(status: os.stat_result) -> bool:
    """Whether the permissions of a file let others read or change it; False if it has none."""
    return offers.PERMISSIONS and bool(status.st_mode & 0o077)


def about_readers(*paths: Path) -> str:
    """A sentence where a private file cannot be made one for its owner alone; else nothing."""
    if offers.PERMISSIONS:
        return ""
    named = " and ".join(map(str, paths))
    return (
        f"On this system countveil cannot keep others from reading {named}: "
        f"the rights are those of the folder. Keep private files where nobody else may read."
    )


def open_itself(path: Path) -> int:
    """A handle to read a file, but never what a link or a pipe in its place leads to.

    Where the system has no flag for that, a link is followed: look for one before.
    """
    return os.open(path, os.O_RDONLY | offers.NO_FOLLOW | offers.NO_WAIT | offers.BINARY)


def new_folder_beside(place: Path) -> str:
    """A new folder for what will be at a place: for its owner alone where folders have rights."""
    if offers.PERMISSIONS:
        return tempfile.mkdtemp(prefix=f".{place.name}{DRAFT}", dir=place.parent)
    # One for its owner alone would stay so for ever, as its rights cannot be changed by a mode.
    folder = place.with_name(f".{place.name}{DRAFT}{os.urandom(6).hex()}")
    folder.mkdir()
    return str(folder)


def new_private_file(path: Path) -> int:
    """A handle of a new file, for its owner alone; FileExistsError if there is one."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | offers.BINARY
    return os.open(path, flags, 0o600)


def rename(old: Path, new: Path) -> None:
    """Rename a file or a folder; where an open file stays, wait a little for it to be closed."""
    _patiently(lambda: old.rename(new))


def replace(old: Path, new: Path) -> None:
    """Rename a file, also if the new name has one already; as patiently."""
    _patiently(lambda: old.replace(new))


def rename_new(old: Path, new: Path) -> None:
    """Rename a file; FileExistsError if there is one of the new name."""
    try:
        os.link(old, new)
    except FileExistsError:
        raise
    except (AttributeError, NotImplementedError, OSError):
        # Not every file system gives a file two names.
        if os.path.lexists(new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), str(new)) from None
        rename(old, new)
    else:
        remove(old)


def remove_file(path: Path) -> None:
    """Remove a file if it is there, as patiently."""
    _patiently(lambda: path.unlink(missing_ok=True))


def remove_folder(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that is possible; else it is noted."""
    shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        # What failed may work a second time.
        shutil.rmtree(folder, ignore_errors=True)
    if os.path.lexists(folder):
        outcome.left_behind(folder)


def remove(place: Path) -> None:
    """Remove a file or a folder that was in the making; if that is impossible, it is noted."""
    if place.is_dir() and not place.is_symlink():
        remove_folder(place)
        return
    for _ in range(2):
        with contextlib.suppress(OSError):
            remove_file(place)
            return
    outcome.left_behind(place)


def _patiently(step: Callable[[], object]) -> None:
    patience = time.monotonic() + _PATIENCE_SECONDS * offers.OPEN_FILES_STAY
    while True:
        try:
            step()
        except PermissionError:
            if time.monotonic() >= patience:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def sync_file(handle: int) -> None:
    """Wait until what was written is on the disk itself."""
    # On macOS, fsync waits for the drive's cache only.
    whole = getattr(offers.FCNTL, "F_FULLFSYNC", None)
    if whole is not None:
        with contextlib.suppress(OSError):
            offers.FCNTL.fcntl(handle, whole)
            return
    os.fsync(handle)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, where a folder can be opened."""
    if not offers.FOLDERS_OPEN:
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        sync_file(handle)
    finally:
        os.close(handle)
