"""A release that somebody hands over, opened: its manifest, and whether its files are fit to read.

Enters: a folder, and what is expected of it. Leaves: a checked manifest; or a `ReleaseError`. Must
not know: how rows are read. Nothing is read that is not a regular file inside the folder and as
large as the manifest says.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from countveil.errors import ReleaseError
from countveil.release.formats.fit import check_fit
from countveil.release.limits import MANIFEST_BYTES, check_larger, check_limit, check_rows
from countveil.release.manifest import (
    MANIFEST_NAME,
    SIGNATURE_NAME,
    DataFile,
    Manifest,
    file_sha256,
)
from countveil.system.address import refuse_as_folder
from countveil.system.regular import UnfitFileError, open_regular, regular_size

_VERIFY = "'countveil verify' says what is wrong."


@dataclass(frozen=True, slots=True)
class Expected:
    """What whoever opens a release expects of it.

    Attributes:
        signed_by: The public key of its publisher; None if anybody may have made it.
        larger: How many times as large as usual it may be.
        timeout: Seconds that a database may take for a question; None for any number.
    """

    signed_by: Path | None = None
    larger: float = 1
    timeout: float | None = None


ANY = Expected()


def read_manifest(folder: Path, expected: Expected = ANY) -> Manifest:
    """The manifest of the release in `folder`."""
    check_larger(expected.larger)
    path = folder / MANIFEST_NAME
    content = manifest_bytes(folder, expected.larger)
    if expected.signed_by is not None:
        from countveil.release.signature import check_signature

        check_signature(content, signature_in(folder), expected.signed_by)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReleaseError(f"{path} is damaged: it is not UTF-8 text.") from error
    try:
        manifest = Manifest.from_json(text, expected.larger)
    except ReleaseError as error:
        raise ReleaseError(f"{path}: {error}") from error
    if expected.signed_by is not None:
        _check_checksums(folder, manifest, expected.larger)
    return manifest


def manifest_bytes(folder: Path, larger: float) -> bytes:
    """The content of a manifest, whatever it is."""
    path = folder / MANIFEST_NAME
    try:
        if not folder.exists():
            refuse_as_folder(folder)
            raise ReleaseError(f"There is no release at {folder}: the folder does not exist.")
        if not folder.is_dir():
            raise ReleaseError(f"{folder} is a file. A release is a folder with a {MANIFEST_NAME}.")
        if not os.path.lexists(path):
            raise ReleaseError(f"{folder} is not a release: it has no {MANIFEST_NAME}.")
        _check_inside(folder, path)
        size = regular_size(path)
        check_limit("bytes in its manifest", size, MANIFEST_BYTES, larger)
        with open_regular(path) as file:
            return file.read(size)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not valid"
        raise ReleaseError(f"{path} cannot be read: {why}.") from error


def signature_in(folder: Path) -> bytes | None:
    """The signature of a release; None if it has none."""
    from countveil.release.signature import SIGNATURE_BYTES

    path = folder / SIGNATURE_NAME
    try:
        if not os.path.lexists(path):
            return None
        _check_inside(folder, path)
        with open_regular(path) as file:
            return file.read(SIGNATURE_BYTES + 1)
    except OSError as error:
        raise ReleaseError(f"{path} cannot be read: {error.strerror}.") from error


def check_data_files(folder: Path, manifest: Manifest, larger: float) -> None:
    """Refuse files that are not what the manifest says, or that are dangerous to read."""
    for file in manifest.files:
        _check_size(folder, file, larger)
        check_fit(folder / file.path, file, manifest.columns, larger)


def _check_size(folder: Path, file: DataFile, larger: float) -> None:
    """Refuse what is not a regular file inside the folder, or not as large as published."""
    path = folder / file.path
    try:
        if path.is_symlink() or path.parent.is_symlink():
            _check_inside(folder, path)
        size = regular_size(path)
    except OSError as error:
        why = error.strerror or "it is not there"
        raise ReleaseError(
            f"{path} cannot be read: {why[0].lower()}{why[1:]}. {_VERIFY}"
        ) from error
    if size != file.bytes:
        raise ReleaseError(
            f"{path} has {size:,} bytes, and the manifest says {file.bytes:,}. {_VERIFY}"
        )
    check_rows(file.rows, size, larger)


def _check_checksums(folder: Path, manifest: Manifest, larger: float) -> None:
    """A signature is that of the manifest, which has the checksums of the data."""
    for file in manifest.files:
        path = folder / file.path
        _check_size(folder, file, larger)
        if file_sha256(path) != file.sha256:
            raise ReleaseError(f"{path} is not the file that was signed. {_VERIFY}")


def _check_inside(folder: Path, path: Path) -> None:
    """A link may lead to another file of the folder, and nowhere else."""
    real, inside = os.path.realpath(path), os.path.realpath(folder)
    if os.path.commonpath([real, inside]) != inside:
        raise UnfitFileError("it is a link that leads out of the release")
