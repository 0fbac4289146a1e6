"""Is a release still what was published?

Enters: a folder. Leaves: a list of findings, each naming a file and what is wrong with it; an empty
list means sound. Must not know: how releases are made. Checksums detect accidents, not malice:
whoever can change a file can change its checksum too. A signature detects malice, for those who
have the publisher's public key from elsewhere.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countveil.errors import ReleaseError
from countveil.release.folder import DATA_FOLDER, MANIFEST_NAME, REPORT_NAME, read_manifest
from countveil.release.formats.data_files import PARQUET, format_of, read_rows
from countveil.release.manifest import DataFile, Manifest, ReportFile
from countveil.release.signature import SIGNATURE_NAME, signature_problem
from countveil.release.values import python_values

_CHUNK = 1 << 20
NOT_PART = "not part of the release"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong: a file, relative to the release, and what is wrong with it."""

    file: str
    problem: str


def verify(
    folder: str | os.PathLike[str], *, signed_by: str | os.PathLike[str] | None = None
) -> list[Finding]:
    """What is wrong with a release: a list of findings, empty when it is sound.

    With `signed_by`, a file with the publisher's Ed25519 public key, its signature is checked too.
    """
    key = None if signed_by is None else Path(signed_by)
    return verify_release(Path(folder), signed_by=key)


def verify_release(
    folder: Path,
    progress: Callable[[int, int], None] | None = None,
    signed_by: Path | None = None,
) -> list[Finding]:
    """Compare the folder with its manifest, byte by byte; and the manifest with its signature."""
    try:
        manifest = read_manifest(folder)
    except ReleaseError as error:
        if not os.path.exists(folder / MANIFEST_NAME):  # noqa: PTH110 - False where it cannot look
            raise
        return [Finding(MANIFEST_NAME, str(error).removeprefix(f"{folder / MANIFEST_NAME}: "))]
    try:
        findings = extra_files(folder, manifest) + _links(folder)
        if signed_by is not None:
            problem = signature_problem(folder, MANIFEST_NAME, signed_by)
            findings += [Finding(SIGNATURE_NAME, problem)] if problem else []
        findings += _check_files(folder, manifest, progress)
        return findings or _check_values(folder, manifest)
    except OSError as error:
        where = error.filename or folder
        raise ReleaseError(f"{where} cannot be read: {error.strerror or error}.") from error


def _check_files(
    folder: Path, manifest: Manifest, progress: Callable[[int, int], None] | None
) -> list[Finding]:
    findings = []
    if manifest.report is not None:
        problem = _check_file(folder / REPORT_NAME, manifest.report)
        findings += [Finding(REPORT_NAME, problem)] if problem else []
    total = sum(file.bytes for file in manifest.files)
    done = 0
    for file in manifest.files:
        problem = _check_file(folder / file.path, file) or _check_content(folder, file, manifest)
        if problem:
            findings.append(Finding(file.path, problem))
        done += file.bytes
        if progress is not None:
            progress(done, total)
    return findings


def _links(folder: Path) -> list[Finding]:
    return [
        Finding(name, "is a symbolic link; a release holds its own data")
        for name in (MANIFEST_NAME, SIGNATURE_NAME, DATA_FOLDER)
        if (folder / name).is_symlink()
    ]


def _check_values(folder: Path, manifest: Manifest) -> list[Finding]:
    """The domain in the manifest must be the values that are published, or else declared."""
    import pyarrow.compute as pc

    findings = []
    for name, entry in manifest.sensitive.items():
        found: set[object] = set()
        for file in manifest.files:
            found.update(python_values(pc.unique(_column(folder / file.path, name, manifest))))
        listed = set(entry.domain)
        # Declared values need not occur; missing is listed only if it does.
        fits = (
            found == {v for v in listed if v in found or v is None}
            if entry.declared
            else (found == listed)
        )
        if not fits:
            findings.append(
                Finding(MANIFEST_NAME, f"lists other values of {name!r} than are published")
            )
    return findings


def _column(path: Path, name: str, manifest: Manifest) -> Any:
    import pyarrow.parquet as pq

    if format_of(path.name) != PARQUET:
        return read_rows(path, manifest.columns).column(name)
    # In this thread only: Arrow's threads, reading a file of Python's, may outlive it and end the
    # process with an abort.
    with path.open("rb") as raw, pq.ParquetFile(raw) as data:
        return data.read(columns=[name], use_threads=False).column(0)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            digest.update(chunk)
    return digest.hexdigest()


def extra_files(folder: Path, manifest: Manifest) -> list[Finding]:
    """What lies in the folder beside the release."""
    expected = {MANIFEST_NAME, SIGNATURE_NAME, DATA_FOLDER, *(file.path for file in manifest.files)}
    if manifest.report is not None:
        expected.add(REPORT_NAME)
    present = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
    return [Finding(name, NOT_PART) for name in present if name not in expected]


def _check_file(path: Path, file: DataFile | ReportFile) -> str | None:
    if path.is_symlink():
        return "is a symbolic link; a release holds its own data"
    if not path.is_file():
        return "missing"
    size = path.stat().st_size
    if size != file.bytes:
        change = "truncated" if size < file.bytes else "longer than published"
        return f"{change}: {size} bytes instead of {file.bytes}"
    if file_sha256(path) != file.sha256:
        return "changed: its checksum differs from the published one"
    return None


def _check_content(folder: Path, file: DataFile, manifest: Manifest) -> str | None:
    """A sound checksum in a manifest that does not fit the data is still a broken release."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if format_of(file.path) == PARQUET:
        try:
            with (folder / file.path).open("rb") as raw:
                data = pq.ParquetFile(raw)
        except (pa.ArrowException, OSError):
            return "is not a readable Parquet file"
        rows, schema = data.metadata.num_rows, data.schema_arrow
    else:
        try:
            table = read_rows(folder / file.path, manifest.columns)
        except ReleaseError:
            return f"is not a readable {format_of(file.path)} file with the types of the manifest"
        rows, schema = table.num_rows, table.schema
    if rows != file.rows:
        return f"holds {rows} rows instead of {file.rows}"
    found = [(field.name, str(field.type)) for field in schema]
    if found != [(column.name, column.type) for column in manifest.columns]:
        return "has other columns than the manifest lists"
    return None
