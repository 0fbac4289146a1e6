"""What jobs do: the public functions, each in a process of its own.

Enters: a table, the arguments of a function, how to report. Leaves: its result, as a value that can
be sent to the app. Must not know: pages, drafts.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import countveil as cv
from countveil.web.jobs.worker import Reporter

if TYPE_CHECKING:
    from countveil.auditing.summary import Audit
    from countveil.publishing.advise.advice import Advice
    from countveil.publishing.advise.inspecting.inspection import Inspection
    from countveil.publishing.advise.inspecting.preview import Preview
    from countveil.publishing.advise.inspecting.values import ColumnValues
    from countveil.publishing.advise.methods import MethodFigures
    from countveil.release import Manifest

# The algebra library's threads burn time while they wait.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
Arguments = Mapping[str, Any]


def facts(reporter: Reporter, table: str, arguments: Arguments) -> Inspection:
    """What is known about every column, whatever becomes of it."""
    return cv.inspect(table, progress=reporter.progress, **arguments)


def before(reporter: Reporter, table: str, arguments: Arguments) -> Inspection:
    """The same of the values as they are in the table, to compare with."""
    return facts(reporter, table, arguments)


def one_row(reporter: Reporter, table: str, arguments: Arguments) -> Inspection:
    """The same of one row of each person."""
    return facts(reporter, table, arguments)


def dangers(reporter: Reporter, table: str, arguments: Arguments) -> Inspection:
    """What an inspection finds in the table as it would be published."""
    return cv.inspect(table, progress=reporter.progress, **arguments)


def preview(reporter: Reporter, table: str, arguments: Arguments) -> Preview:
    """A few rows."""
    from countveil.publishing.advise.inspecting.preview import run_preview
    from countveil.tables import table_options

    reading, shaping = table_options(progress=reporter.progress, **arguments)
    return run_preview(table, reading=reading, shaping=shaping)


def values(reporter: Reporter, table: str, column: str, arguments: Arguments) -> ColumnValues:
    """The values of a column, to merge and label them."""
    from countveil.publishing.advise.inspecting.values import run_values
    from countveil.tables import table_options

    reading, shaping = table_options(progress=reporter.progress, **arguments)
    return run_values(table, column, reading=reading, shaping=shaping)


def advise(reporter: Reporter, table: str, arguments: Arguments) -> Advice:
    """What every method and ell would do; each as a part as soon as it is known."""

    def measured(column: str, figures: MethodFigures) -> None:
        reporter.part((column, figures))

    return cv.advise(table, progress=reporter.progress, measured=measured, **arguments)


def rehearse(reporter: Reporter, table: str, arguments: Arguments) -> Manifest:
    """What a release would say about itself."""
    planned = cv.publish(table, dry_run=True, progress=reporter.progress, **arguments)
    return planned.manifest


def publish(reporter: Reporter, table: str, arguments: Arguments) -> Manifest:
    """Publish."""
    return cv.publish(table, progress=reporter.progress, **arguments).manifest


def audit(reporter: Reporter, table: str, arguments: Arguments, made: str) -> Audit:  # noqa: ARG001
    """Attack a release; `made` says which one it is, if several were made in one place."""
    return cv.audit(table, progress=reporter.progress, **arguments)


def verify(reporter: Reporter, release: str, made: str) -> list[tuple[str, str]]:  # noqa: ARG001
    """What of a release does not match its manifest: files and what is wrong with them.

    `made` says which one it is, if several were made in one place.
    """
    from countveil.release.verify import verify_release

    problems = verify_release(
        Path(release), lambda done, total: reporter.progress("checking", done, total)
    )
    return [(each.file, each.problem) for each in problems]
