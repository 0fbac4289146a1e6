"""The record of publications: a private file beside the releases of a folder.

Enters: the folder of a release, the table that was published there. Leaves: one more line in the
file; its entries, for whoever asks what was published there before. Must not know: how a release
is drawn. Nothing here stops a publication: what cannot be read or written becomes a sentence.

The file has one line for the key of its hashes, and one for each publication: the day, the name of
the folder, the number of rows, the manifest's checksum, the ledger if there is one, and a sketch of
who was in the table (`sketch`). No value, no identifier and no path is in it. Whoever gets it can
still try out guesses of who was in a table, so it is readable by its owner only. It is replaced
whole, under a lock on the folder, so that two publishers at once leave two lines.
"""

from __future__ import annotations

import base64
import contextlib
import datetime as dt
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from countveil.engines.local_table import LocalTable
from countveil.errors import CountveilError, UnconfirmedError, option
from countveil.publishing.publications.sketch import Sketch, sketch_of
from countveil.randomness import fresh_key
from countveil.release.manifest import MANIFEST_NAME, Manifest, file_sha256, is_whole
from countveil.system.address import local_path
from countveil.system.files import (
    LOCK,
    is_ours,
    lock_patiently,
    open_itself,
    readable_by_others,
)
from countveil.system.whole_files import write_file

RECORD_NAME = ".countveil-publications.jsonl"
_FORMAT = 1
_WHAT = "the record of publications"
_KEY, _DIGEST, _ID = "[0-9a-f]{64}", "[0-9a-f]{64}", "[0-9a-f]{32}"
_DAY = r"\d{4}-\d{2}-\d{2}"
_MOST_BYTES = 1 << 26
_PATIENCE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Entry:
    """One publication: of which day, into which folder, and who was in the table."""

    release: str
    day: str
    rows: int
    manifest: str
    ledger_id: str | None = None
    ledger_release: int | None = None
    sketch: Sketch | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """What the file of a folder says. Without a key, it must be left alone.

    `problem` is a sentence about what is wrong with it.
    """

    key: bytes | None
    entries: Sequence[Entry] = ()
    problem: str | None = None


class _UnusableError(Exception):
    """Why a file cannot be read."""


def entries_beside(target: str | os.PathLike[str]) -> Sequence[Entry]:
    """The publications that are recorded in the folder of a release, the oldest first."""
    return read_record(_place_of(target).parent).entries


def read_record(folder: Path, new_key: bytes = b"") -> Record:
    """The record of a folder; a new one, with this key or a fresh one, if there is none."""
    path = folder / RECORD_NAME
    try:
        lines, status = _lines(path)
        key = _key(lines[0] if lines else b"")
    except FileNotFoundError:
        return Record(new_key or fresh_key())
    except (OSError, _UnusableError) as error:
        why = (error.strerror or "it cannot be read") if isinstance(error, OSError) else str(error)
        return Record(None, (), f"{_named(path)} cannot be used: {why}. {_new_one(path)}")
    entries = [entry for entry in map(_entry, lines[1:]) if entry is not None]
    problem = None
    if damaged := len(lines[1:]) - len(entries):
        problem = (
            f"{_named(path)} is damaged: {damaged:,} of its {len(lines) - 1:,} entries cannot be "
            f"read, and those publications will not be recognised."
        )
    elif readable_by_others(status):
        problem = (
            f"{_named(path)} could be read by others. It is for you only: whoever has it can try "
            f"out who was in your tables."
        )
    return Record(key, entries, problem)


class Recording:
    """The record of a folder while a table is published into it."""

    def __init__(
        self, target: str, source: LocalTable, person: str | None, published: Sequence[str]
    ) -> None:
        self._release, self._source, self._person = _place_of(target), source, person
        self._published = published
        self._record = read_record(self._release.parent)
        self._sketches: dict[bytes, Sketch | None] = {}

    def sketch(self) -> None:
        """Look at the table, as long as its rows are at hand."""
        if self._record.key is not None:
            self._sketch(self._record.key)

    def _sketch(self, key: bytes) -> Sketch | None:
        if key not in self._sketches:
            self._sketches[key] = sketch_of(self._source, self._person, key, self._published)
        return self._sketches[key]

    def warnings(self) -> list[str]:
        """That the same people were published before, where the entries show it."""
        record = self._record
        known = [entry for entry in record.entries if entry.sketch is not None]
        if not known or record.key is None or (sketch := self._sketch(record.key)) is None:
            return []
        # Loaded only where something was published before.
        from countveil.publishing.publications.overlap import about_earlier

        return about_earlier(sketch, known)

    def problems(self) -> list[str]:
        """What is wrong with the file."""
        return [] if self._record.problem is None else [self._record.problem]

    def finished(self, manifest: Manifest, *, again: bool, dry_run: bool) -> list[str]:
        """Add the publication; what is to be said of earlier ones, and of the file.

        Nothing of earlier ones, if it is `again` on purpose or continues them.
        """
        said = [] if again or manifest.ledger is not None else self.warnings()
        return [*said, *(self.problems() if dry_run else self.add(manifest))]

    def add(self, manifest: Manifest) -> list[str]:
        """Add the publication to the file; what went wrong, in sentences."""
        folder = self._release.parent
        try:
            with _locked(folder):
                # Another publication may have ended meanwhile.
                record = read_record(folder, self._record.key or b"")
                if record.key is not None:
                    sketch = self._sketch(record.key)
                    entry = _entry_of(self._release, manifest, sketch)
                    _write(folder, record.key, _with(record.entries, entry))
                return [] if record.problem is None else [record.problem]
        except UnconfirmedError as error:
            return [str(error)]
        except (OSError, CountveilError) as error:
            why = getattr(error, "strerror", None) or str(error)
            sentence = (
                f"The release is complete, but could not be added to {_WHAT}, "
                f"{folder / RECORD_NAME}: {why.rstrip('.')}. A second release of the same people "
                f"may not be noticed. {option('record', False)} keeps no record."
            )
            return [sentence]


def _entry_of(release: Path, manifest: Manifest, sketch: Sketch | None) -> Entry:
    mark = manifest.ledger
    return Entry(
        release.name,
        dt.datetime.now(dt.UTC).date().isoformat(),
        manifest.rows,
        file_sha256(release / MANIFEST_NAME),
        None if mark is None else mark.id,
        None if mark is None else mark.release,
        None if sketch is None else sketch.stored(),
    )


def _with(entries: Sequence[Entry], new: Entry) -> list[Entry]:
    """A release that replaced another one does so here, unless a ledger may ask for it."""
    replaced = [old for old in entries if old.release == new.release and old.ledger_id is None]
    return [*(old for old in entries if old not in replaced), new]


def _write(folder: Path, key: bytes, entries: Sequence[Entry]) -> None:
    lines: list[dict[str, Any]] = [
        {"countveil": _WHAT, "format": _FORMAT, "key": key.hex()},
        *map(_as_json, entries),
    ]
    text = "".join(f"{json.dumps(line)}\n" for line in lines)
    write_file(folder / RECORD_NAME, text, _WHAT, private=True, noted=False)


def _as_json(entry: Entry) -> dict[str, Any]:
    sketch = entry.sketch
    return {
        "format": _FORMAT,
        "day": entry.day,
        "release": entry.release,
        "rows": entry.rows,
        "manifest": entry.manifest,
        "ledger": None
        if entry.ledger_id is None
        else {"id": entry.ledger_id, "release": entry.ledger_release},
        "sketch": None
        if sketch is None
        else {
            "of": "persons" if sketch.persons else "rows",
            "whole": sketch.whole,
            "hashes": base64.b64encode(sketch.hashes.astype("<u8").tobytes()).decode(),
        },
    }


def _entry(line: bytes) -> Entry | None:
    """The entry in a line; None if it is damaged."""
    try:
        given = json.loads(line)
        ledger, sketch = given["ledger"] or {}, given["sketch"]
        entry = Entry(
            given["release"], given["day"], given["rows"], given["manifest"],
            ledger.get("id"), ledger.get("release"), None if sketch is None else _sketch(sketch),
        )  # fmt: skip
        sound = (
            given["format"] == _FORMAT
            and isinstance(entry.release, str)
            and entry.release.isprintable()
            and is_whole(entry.rows, 0)
            and re.fullmatch(_DAY, entry.day)
            and re.fullmatch(_DIGEST, entry.manifest)
            and (not ledger or (re.fullmatch(_ID, ledger["id"]) and is_whole(ledger["release"], 1)))
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return entry if sound else None


def _sketch(given: Any) -> Sketch:
    hashes = np.frombuffer(base64.b64decode(given["hashes"], validate=True), "<u8")
    if np.any(hashes[1:] <= hashes[:-1]) or given["of"] not in ("persons", "rows"):
        raise ValueError("not a sketch")
    return Sketch(hashes.astype(np.uint64), given["whole"] is True, given["of"] == "persons")


def _key(line: bytes) -> bytes:
    try:
        head = json.loads(line)
        version, key = head["format"], head["key"]
        sound = re.fullmatch(_KEY, key) is not None
    except (ValueError, KeyError, TypeError, RecursionError):
        sound = False
    if not sound:
        raise _UnusableError("its first line is damaged")
    if version != _FORMAT:
        raise _UnusableError("a later version of countveil wrote it")
    return bytes.fromhex(key)


def _lines(path: Path) -> tuple[list[bytes], os.stat_result]:
    """The lines of a file of ours, and what it is. A symbolic link is not followed."""
    if path.is_symlink():
        raise _UnusableError("it is a symbolic link")
    handle = open_itself(path)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise _UnusableError("it is not a file")
        if not is_ours(status):
            raise _UnusableError("it belongs to somebody else")
        if status.st_size > _MOST_BYTES:
            raise _UnusableError(f"it is larger than {_MOST_BYTES >> 20} MB")
        with open(handle, "rb", closefd=False) as file:
            return file.read(_MOST_BYTES).splitlines(), status
    finally:
        os.close(handle)


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """The folder, for one publisher at a time."""
    lock = lock_patiently(folder, _PATIENCE_SECONDS, folder / f"{RECORD_NAME}{LOCK}")
    try:
        yield
    finally:
        lock.close()


def _place_of(target: str | os.PathLike[str]) -> Path:
    """Where the release is; a symbolic link to it stays."""
    return Path(os.path.realpath(local_path(os.fspath(target))))


def _named(path: Path) -> str:
    return f"The record of publications, {path},"


def _new_one(path: Path) -> str:
    return (
        f"So it is not known whether these people were published before. Move {path.name} away to "
        f"begin a new one, or leave it alone with {option('record', False)}."
    )
