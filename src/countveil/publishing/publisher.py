"""The publisher's path, from a table to a release.

    prepare -> count -> (drop the residue) -> check -> form groups -> draw -> deal and shuffle ->
    write -> report -> commit

Enters: a table and the publisher's choices. Leaves: a release folder, complete or not there at all.
Must not know: how an engine reads, how groups are formed, how a draw is made.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from countveil import __version__
from countveil.engines.contract import Engine, LocalTable, Reading, SourceTable, WrittenFile
from countveil.engines.local.engine import LocalEngine
from countveil.errors import InputError, SettingsError
from countveil.maths.groups import ColumnSettings, check_eligible, form_groups, rows_over
from countveil.maths.guarantees import guarantee_table, statement
from countveil.maths.mechanism import PublishedTable, draw_published
from countveil.publishing.prepare import LocalPrepared, Prepared, prepare
from countveil.randomness import Randomness
from countveil.release import (
    ClassEdges,
    Manifest,
    PublishedColumn,
    SensitiveColumn,
    Signer,
)
from countveil.release.formats.data_files import PARQUET, check_kept
from countveil.report.private_page import Stages, private_page
from countveil.report.release_page import release_page
from countveil.report.whole_file import check_file, pending_file
from countveil.tables import Choices, Classes
from countveil.tables.counted import Histogram
from countveil.tables.progress import Progress

MOST_VALUES = 100_000
_OWN = "the private report"


@dataclass(frozen=True, slots=True)
class Output:
    """How the data are written: the format, and how many rows a file has."""

    format: str = PARQUET
    rows_per_file: int | None = None

    def __post_init__(self) -> None:
        if self.rows_per_file is not None and self.rows_per_file < 1:
            raise SettingsError(f"A file has at least one row; got {self.rows_per_file}.")


@dataclass(frozen=True, slots=True)
class Published:
    """What a publication did, or, in a dry run, would have done."""

    folder: str
    rows: int
    dropped: int
    ell: Mapping[str, int]
    seeded: bool
    warnings: Sequence[str]
    manifest: Manifest


def run_publish(
    table: object,
    settings: Mapping[str, ColumnSettings],
    to: str | os.PathLike[str],
    *,
    choices: Choices | None = None,
    seed: int | None = None,
    force: bool = False,
    dry_run: bool = False,
    sign: Signer | None = None,
    progress: Progress | None = None,
    before_commit: Callable[[], None] | None = None,
    memory: str | int | None = None,
    spill: str | os.PathLike[str] | None = None,
    private_report: str | os.PathLike[str] | None = None,
    output: Output | None = None,
    engine: Engine | None = None,
) -> Published:
    """Publish `table` to the folder `to`; in a dry run do everything but write.

    `private_report` is a file for the publisher's own page: the truth beside what is published.
    `memory` bounds what is held at once; more rows go, encrypted, through a file in `spill` (or
    beside the target) that no other process can open.
    """
    report = Stages(progress)
    where = engine or LocalEngine()
    place = os.fspath(to)
    own = None if private_report is None else Path(private_report)
    if own is not None:
        check_file(own, _OWN, replace=force, outside=Path(place))
    wished = output or Output()
    _check_local_wishes(where, own, memory, spill, wished)
    randomness = Randomness(seed)
    with contextlib.ExitStack() as stack:
        # First of all, so that nobody waits for a target that cannot be written.
        draft = stack.enter_context(where.open_draft(place, force=force, dry_run=dry_run))
        report("reading", 0, 0)
        beside = Path(draft.data) if draft is not None and where.local else None
        reading = Reading(memory, beside if spill is None else Path(spill), report)
        chosen = choices or Choices()
        opened = where.open_source(table, chosen, list(settings), reading)
        prepared = prepare(opened, list(settings), chosen)
        source = prepared.source
        check_kept([(c.name, c.type) for c in prepared.roles.published], wished.format)
        without, histograms = _count(source, settings, randomness)
        drawn = {
            name: _draw(name, histogram.counts, settings[name], randomness, report)
            for name, histogram in histograms.items()
        }
        written: Sequence[WrittenFile] = ()
        if draft is not None:
            columns = prepared.roles.published
            written = source.publish(columns, drawn, without, randomness, draft.data, report)
        own_text = None
        if draft is not None and own is not None and isinstance(source, LocalTable):
            counted = {name: (histograms[name], drawn[name]) for name in settings}
            local = cast("LocalPrepared", prepared)
            own_text = _own_report(local, settings, counted, without, written, randomness, report)
        if draft is not None and wished != Output():
            written = _rewritten(written, wished)
        rows = source.rows - without.size
        published = {name: _published(histograms[name], drawn[name]) for name in settings}
        manifest = _manifest(rows, prepared, settings, published, randomness)
        if draft is not None:
            listed = draft.listed([(file.path.name, file.rows) for file in written])
            manifest = replace(manifest, files=listed)
            page = draft.add_report(release_page(manifest, published))
            put = None
            if own is not None and own_text is not None:
                put = stack.enter_context(pending_file(own, own_text, _OWN, private=True))
            draft.commit(replace(manifest, report=page), before_commit, sign)
            if put is not None:
                put.put_in_place()
    ells = {name: choice.ell for name, choice in settings.items()}
    return Published(
        place, rows, int(without.size), ells, randomness.seeded, prepared.warnings, manifest
    )


def _draw(
    name: str,
    counts: NDArray[np.int64],
    settings: ColumnSettings,
    randomness: Randomness,
    report: Progress,
) -> PublishedTable:
    """Form groups, and draw how many rows of each true value publish which."""
    told = _rows_done(report, f"grouping {name}", int(counts.sum()))
    groups = form_groups(counts, settings, randomness.stream("groups", name), told)
    return draw_published(groups, randomness.stream("draw", name))


def _check_local_wishes(
    engine: Engine,
    own: Path | None,
    memory: str | int | None,
    spill: str | os.PathLike[str] | None,
    output: Output,
) -> None:
    """What is done in this process cannot be done where the rows are on other machines."""
    wishes = {
        "--private-report": own is not None,
        "--memory": memory is not None,
        "--spill": spill is not None,
        "--output-format": output.format != PARQUET,
        "--rows-per-file": output.rows_per_file is not None,
    }
    for option, wished in wishes.items():
        if wished and not engine.local:
            raise SettingsError(
                f"{option} is for tables on this machine; it does not go with --engine spark. "
                f"Leave it out."
            )


def _rewritten(written: Sequence[WrittenFile], wished: Output) -> Sequence[WrittenFile]:
    from countveil.engines.local.output_formats import rewrite

    return rewrite(written, wished.format, wished.rows_per_file)


def _own_report(
    prepared: LocalPrepared,
    settings: Mapping[str, ColumnSettings],
    counted: Mapping[str, tuple[Histogram, PublishedTable]],
    without: NDArray[np.int64],
    written: Sequence[WrittenFile],
    randomness: Randomness,
    stages: Stages,
) -> str:
    # Only for those who ask for it.
    from countveil.publishing.measuring import measured_columns

    # Measuring reads the table once more, which is not part of the other stages.
    stages("measuring", 0, 0)
    seconds, started = stages.seconds(), time.perf_counter()
    files = [file.path for file in written]
    columns = measured_columns(prepared, settings, counted, without, files, randomness)
    seconds["measuring"] = time.perf_counter() - started
    rows = prepared.source.rows - without.size
    return private_page(rows, int(without.size), columns, seconds)


def column_settings(
    sensitive: Mapping[str, int] | Sequence[str] | str, ell: int | None, groups: str, residue: str
) -> dict[str, ColumnSettings]:
    """The settings of each sensitive column, from what a caller may write."""
    if isinstance(sensitive, str):
        sensitive = [sensitive]
    chosen: dict[str, int | None] = (
        dict(sensitive) if isinstance(sensitive, Mapping) else dict.fromkeys(sensitive, None)
    )
    if not chosen:
        raise SettingsError("Name at least one sensitive column: without one, nothing is hidden.")
    missing = [name for name, own in chosen.items() if own is None]
    if missing and ell is None:
        raise SettingsError(
            f"Column {missing[0]!r} has no ell. Say how many different values a group should "
            f"have, such as ell = 5."
        )
    return {
        name: ColumnSettings(own if own is not None else _given(ell), groups, residue)
        for name, own in chosen.items()
    }


def _rows_done(report: Progress, stage: str, rows: int) -> Callable[[float], None]:
    """Tell of a share of the work as of that share of the rows."""
    report(stage, 0, 0)
    return lambda share: report(stage, int(share * rows), rows)


def _given(ell: int | None) -> int:
    assert ell is not None  # noqa: S101 - checked by the caller, for the type checker
    return ell


def _count(
    source: SourceTable, settings: Mapping[str, ColumnSettings], randomness: Randomness
) -> tuple[NDArray[np.int64], dict[str, Histogram]]:
    """The histograms to publish, and the numbers of the rows that the residue costs."""
    nothing = np.zeros(0, np.int64)
    full = {name: source.histogram(name) for name in settings}
    drops = any(choice.residue == "drop" for choice in settings.values())
    over = rows_over(source.rows, (choice.ell for choice in settings.values())) if drops else 0
    for name, choice in settings.items():
        histogram = full[name]
        if histogram.counts.size > MOST_VALUES:
            raise InputError(
                f"Column {name!r} has {histogram.counts.size:,} different values; at most "
                f"{MOST_VALUES:,} can be protected. Put them into classes first."
            )
        left = source.rows - over if over else None
        check_eligible(name, histogram.counts, choice.ell, namer(histogram), rows=left)
    if not over:
        return nothing, full
    without = randomness.stream("residue").choose(over, source.rows)
    return without, {name: source.histogram(name, without) for name in settings}


def namer(histogram: Histogram) -> Callable[[int], str]:
    """How a value is called in a sentence for the publisher."""

    def name(position: int) -> str:
        value = histogram.values[position]
        return "the missing value" if value is None else f"the value {_shortened(value)}"

    return name


def _shortened(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _manifest(
    rows: int,
    prepared: Prepared[SourceTable],
    settings: Mapping[str, ColumnSettings],
    published: Mapping[str, Mapping[Any, int]],
    randomness: Randomness,
) -> Manifest:
    sensitive = {}
    for name, choice in settings.items():
        sensitive[name] = SensitiveColumn(
            choice.ell,
            choice.groups,
            choice.residue,
            domain=_domain(list(published[name]), prepared.domains.get(name)),
            guarantee=tuple(guarantee_table(choice.ell)),
            declared=name in prepared.domains,
            classes=_class_edges(prepared.classes.get(name)),
        )
    columns = tuple(
        PublishedColumn(
            column.name, column.type, "sensitive" if column.name in settings else "plain"
        )
        for column in prepared.roles.published
    )
    ells = {name: choice.ell for name, choice in settings.items()}
    return Manifest(
        rows=rows,
        columns=columns,
        sensitive=sensitive,
        files=(),
        randomness="seeded" if randomness.seeded else "cryptographic",
        statement=tuple(
            statement(rows, ells, {name: counts.values() for name, counts in published.items()})
        ),
        written_by=f"countveil {__version__}",
    )


def _published(histogram: Histogram, drawn: PublishedTable) -> dict[Any, int]:
    """How many rows publish each of the values that were drawn: what the release itself says."""
    counts = drawn.published()
    return {histogram.values[i]: int(counts[i]) for i in np.flatnonzero(counts).tolist()}


def _domain(published: Sequence[Any], declared: Sequence[Any] | None) -> tuple[Any, ...]:
    """The values to name.

    If they were not declared, only those that were drawn: to name another would tell that someone
    has it.
    """
    if declared is None:
        return tuple(published)
    # Missing is nobody's to declare; it is named if it was drawn.
    return (*(value for value in published if value is None), *declared)


def _class_edges(classes: Classes | None) -> ClassEdges | None:
    if classes is None:
        return None
    edges = (int(edge) if float(edge).is_integer() else edge for edge in classes.edges)
    return ClassEdges(tuple(edges), classes.whole)
