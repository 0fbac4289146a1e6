"""Is a release still what was published?

Enters: a folder. Leaves: a list of discrepancies, each a file and what is wrong with it; an empty
list means sound. Must not know: how releases are made. Checksums detect accidents, not tampering:
whoever can change a file can change its checksum too. A signature detects tampering, for those who
got the publisher's public key from elsewhere.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.display import html_of, progress_shown, visible
from countveil.errors import ReleaseError, option
from countveil.release.draft import foreign_files
from countveil.release.formats.csv_rows import ExpectedRows
from countveil.release.formats.data_files import read_rows
from countveil.release.formats.fit import different, unfit
from countveil.release.limits import check_rows
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
from countveil.release.opening import Expected, manifest_bytes, read_manifest, signature_in
from countveil.release.signature import signature_problem
from countveil.release.values import PARQUET, format_of, python_values
from countveil.system.regular import open_regular

if TYPE_CHECKING:
    from countveil.release.batches import BatchedColumns

NOT_PART = "not part of the release"


@dataclass(frozen=True, slots=True)
class Discrepancy:
    """One thing that is wrong with a release.

    Attributes:
        file: The file, relative to the release.
        problem: What is wrong with it.
    """

    file: str
    problem: str


class Discrepancies(list[Discrepancy]):
    """What is wrong with a release; empty, and so false, when it is sound. Print it."""

    def __init__(
        self, place: Path, discrepancies: Iterable[Discrepancy], proved: str | None = None
    ) -> None:
        """`proved` is what to say if there are none."""
        super().__init__(discrepancies)
        self._place = place
        self._proved = proved or f"{place} is sound: every file matches the manifest."

    def __str__(self) -> str:
        if not self:
            return visible(self._proved)
        lines = [f"  {each.file}: {each.problem}" for each in self]
        return "\n".join(map(visible, [f"{self._place} is not what was published:", *lines]))

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        first, *_ = str(self).splitlines() if self else [str(self)]
        rows = [(each.file, each.problem) for each in self]
        return html_of([first, *([(("file", "problem"), rows)] if rows else [])])


def soundness(folder: Path, signed_by: Path | None) -> str:
    """What is proved of a release in which nothing is wrong, and what is not."""
    sound = f"{folder} is sound: every file matches the manifest"
    if signed_by is not None:
        return f"{sound}, which is signed by {signed_by}."
    if os.path.lexists(folder / SIGNATURE_NAME):
        signed = f"its signature was not checked ({option('signed_by', 'PUBKEY')} does)"
    else:
        signed = "it is not signed"
    return f"{sound}.\nThis does not prove who made it: {signed}."


def verify(
    folder: str | os.PathLike[str],
    *,
    signed_by: str | os.PathLike[str] | None = None,
    larger: float = 1,
) -> Discrepancies:
    """Whether the files of a release agree with its manifest, and who signed that.

    Without a key, nothing is proved about who made the release: whoever changes a file can change
    the manifest too. With the publisher's key, every file is the one that the publisher signed.

    Args:
        folder: The folder of a release.
        signed_by: A file with the publisher's Ed25519 public key: its signature is checked too.
        larger: How many times as large as usual the release may be.

    Returns:
        What is wrong; empty, and so false, when the release is sound. Print it.

    Raises:
        SettingsError: The file has no Ed25519 public key.

    Example:
        >>> cv.verify("census-release")
        census-release is sound: every file matches the manifest.
        This does not prove who made it: it is not signed.
        >>> bool(cv.verify("census-release"))
        False
    """
    key = None if signed_by is None else Path(signed_by)
    with progress_shown() as shown:
        discrepancies = verify_release(
            Path(folder), lambda done, total: shown("checking", done, total), key, larger
        )
    return Discrepancies(Path(folder), discrepancies, soundness(Path(folder), key))


def verify_release(
    folder: Path,
    progress: Callable[[int, int], None] | None = None,
    signed_by: Path | None = None,
    larger: float = 1,
) -> list[Discrepancy]:
    """Compare the folder with its manifest, byte by byte; and the manifest with its signature."""
    try:
        manifest = read_manifest(folder, Expected(larger=larger))
    except ReleaseError as error:
        if not os.path.exists(folder / MANIFEST_NAME):  # noqa: PTH110 - False where it cannot look
            raise
        return [Discrepancy(MANIFEST_NAME, str(error).removeprefix(f"{folder / MANIFEST_NAME}: "))]
    try:
        discrepancies = [Discrepancy(name, NOT_PART) for name in foreign_files(folder, manifest)]
        discrepancies += _links(folder)
        if signed_by is not None:
            discrepancies += _check_signature(folder, signed_by, larger)
        discrepancies += _check_files(folder, manifest, progress, larger)
        return discrepancies or _check_values(folder, manifest, larger)
    except OSError as error:
        where = error.filename or folder
        raise ReleaseError(f"{where} cannot be read: {error.strerror or error}.") from error


def _check_signature(folder: Path, signed_by: Path, larger: float) -> list[Discrepancy]:
    content = manifest_bytes(folder, larger)
    try:
        problem = signature_problem(content, signature_in(folder), signed_by)
    except ReleaseError as error:
        problem = str(error).removeprefix(f"{folder / SIGNATURE_NAME} ").removesuffix(".")
    return [Discrepancy(SIGNATURE_NAME, problem)] if problem else []


def _check_files(
    folder: Path,
    manifest: Manifest,
    progress: Callable[[int, int], None] | None,
    larger: float,
) -> list[Discrepancy]:
    discrepancies = []
    pages = {METADATA_NAMES[name]: file for name, file in manifest.metadata.items()}
    if manifest.report is not None:
        pages[REPORT_NAME] = manifest.report
    for name, page in pages.items():
        problem = _check_file(folder / name, page)
        discrepancies += [Discrepancy(name, problem)] if problem else []
    total = sum(file.bytes for file in manifest.files)
    done = 0
    for file in manifest.files:
        problem = _check_file(folder / file.path, file) or _check_content(
            folder, file, manifest, larger
        )
        if problem:
            discrepancies.append(Discrepancy(file.path, problem))
        done += file.bytes
        if progress is not None:
            progress(done, total)
    return discrepancies


def _links(folder: Path) -> list[Discrepancy]:
    return [
        Discrepancy(name, "is a symbolic link; a release holds its own data")
        for name in (MANIFEST_NAME, SIGNATURE_NAME, DATA_FOLDER)
        if (folder / name).is_symlink()
    ]


def _check_values(folder: Path, manifest: Manifest, larger: float) -> list[Discrepancy]:
    """The domain in the manifest must be the values that are published, or else declared."""
    import pyarrow.compute as pc

    discrepancies = []
    for name, entry in manifest.sensitive.items():
        published: set[object] = set()
        for file in manifest.files:
            column = _column(folder, file, name, manifest, larger)
            published.update(python_values(pc.unique(column)))
        listed = set(entry.domain)
        # Declared values need not occur, the missing one neither; nor need those of a case that
        # left since it was drawn.
        may_lack = entry.declared or any(name in drawn.columns for drawn in manifest.batches)
        fits = published <= listed if may_lack else published == listed
        if not fits:
            discrepancies.append(
                Discrepancy(MANIFEST_NAME, f"lists other values of {name!r} than are published")
            )
    discrepancies += [
        Discrepancy(MANIFEST_NAME, f"lists other batches in {drawn.batch!r} than rows have")
        for drawn in manifest.batches
        if drawn.batch is not None and not _batches_fit(folder, manifest, drawn, larger)
    ]
    return discrepancies


def _batches_fit(folder: Path, manifest: Manifest, drawn: BatchedColumns, larger: float) -> bool:
    """Whether the manifest lists every batch that a row has."""
    import pyarrow.compute as pc

    numbers: set[object] = set()
    for file in manifest.files:
        column = _column(folder, file, str(drawn.batch), manifest, larger)
        numbers.update(python_values(pc.unique(column)))
    return numbers <= {batch.number for batch in drawn.drawn}


def _column(folder: Path, file: DataFile, name: str, manifest: Manifest, larger: float) -> Any:
    import pyarrow.parquet as pq

    path = folder / file.path
    if format_of(path.name) != PARQUET:
        expected = ExpectedRows.of(file, len(manifest.columns), larger)
        return read_rows(path, manifest.columns, expected).column(name)
    # In this thread only: Arrow's threads may still read from Python's file object while the
    # interpreter exits, which aborts the process. As a dictionary, so that a long text that many
    # rows have is there once.
    with open_regular(path) as raw, pq.ParquetFile(raw, read_dictionary=[name]) as data:
        return data.read(columns=[name], use_threads=False).column(0)


def _check_file(path: Path, file: DataFile | ReportFile) -> str | None:
    if path.is_symlink():
        return "is a symbolic link; a release holds its own data"
    if not os.path.lexists(path):
        return "missing"
    if not path.is_file():
        return "not a regular file"
    size = path.stat().st_size
    if size != file.bytes:
        change = "truncated" if size < file.bytes else "longer than published"
        return f"{change}: {size} bytes instead of {file.bytes}"
    if file_sha256(path) != file.sha256:
        return "changed: its checksum differs from the published one"
    return None


def _check_content(folder: Path, file: DataFile, manifest: Manifest, larger: float) -> str | None:
    """A sound checksum in a manifest that does not fit the data is still a broken release."""
    path = folder / file.path
    try:
        check_rows(file.rows, file.bytes, larger)
    except ReleaseError as error:
        return str(error).removesuffix(".")
    problem = unfit(path, file, manifest.columns, larger)
    if problem is not None or format_of(file.path) == PARQUET:
        return problem
    expected = ExpectedRows.of(file, len(manifest.columns), larger)
    try:
        table = read_rows(path, manifest.columns, expected)
    except ReleaseError as error:
        if "unpack" in str(error):
            return str(error).removeprefix(f"{path.name} of the release ").removesuffix(".")
        return f"is not a readable {format_of(file.path)} file with the types of the manifest"
    return different(table.num_rows, table.schema, file, manifest.columns)
