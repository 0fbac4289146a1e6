"""The publisher's own page about a publication: the truth beside what is published.

Enters: what was prepared, counted and drawn, and the files that were written. Leaves: a page for
the publisher alone, in its file. Must not know: draws, groups. It is loaded only where it is
wanted.
"""

from __future__ import annotations

import contextlib
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, cast

from countveil.publishing.measuring import measured_columns
from countveil.publishing.prepare import LocalPreparedTable
from countveil.release import Manifest
from countveil.release.draft import WrittenFile
from countveil.report.board import codebook_of
from countveil.report.private_page import private_page
from countveil.report.whole_file import PendingFile, pending_file, write_file

if TYPE_CHECKING:
    from countveil.publishing.publisher import Drawing

PRIVATE_REPORT = "the private report"


def private_report(
    of: Drawing, written: Sequence[WrittenFile], manifest: Manifest, *, trial: bool = False
) -> str:
    """The page; a `trial` was not published."""
    # Measuring reads the table once more, which is not part of the other stages.
    of.stages("measuring", 0, 0)
    seconds, started = of.stages.seconds(), time.perf_counter()
    local, counted = cast("LocalPreparedTable", of.prepared), of.counted
    files = [file.path for file in written]
    pairs = {name: (histogram, of.tables[name]) for name, histogram in counted.histograms.items()}
    columns = measured_columns(
        local, of.protecting.columns, pairs, counted.left_out, files, of.randomness, counted.common,
        counted.gammas(), of.drawn.together,
    )  # fmt: skip
    seconds["measuring"] = time.perf_counter() - started
    codebook = codebook_of(manifest, local.source.value_ranges(local.roles.plain))
    dropped = int(counted.left_out.size)
    return private_page(
        counted.rows, dropped, columns, seconds, manifest.about, codebook, trial=trial
    )


def pending_report(
    of: Drawing, written: Sequence[WrittenFile], manifest: Manifest, path: Path
) -> contextlib.AbstractContextManager[PendingFile]:
    """The report, written but not yet in its place: it appears with the release."""
    page = private_report(of, written, manifest)
    return pending_file(path, page, PRIVATE_REPORT, private=True)


def write_trial(of: Drawing, manifest: Manifest, path: Path, spill: Path | None) -> None:
    """The report of a release that was tried out and not published."""
    with tempfile.TemporaryDirectory(prefix="trial-", dir=spill) as folder:
        page = private_report(of, of.publish(folder), manifest, trial=True)
    write_file(path, page, PRIVATE_REPORT, private=True)
