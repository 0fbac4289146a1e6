"""The publisher's path, from a table to a release.

    prepare -> count and check -> form groups -> draw -> deal, shuffle and write -> report -> commit

Enters: a table and the publisher's options. Leaves: a release folder, complete or not there at all.
Must not know: how an engine reads, how groups are formed, how a draw is made.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from countveil.engines.contract import Engine, SourceTable
from countveil.engines.drawn import Drawn
from countveil.engines.local.engine import LocalEngine
from countveil.errors import TargetError
from countveil.maths.mechanism import PublishedTable
from countveil.publishing.counting import (
    Counted,
    about_associated,
    count_values,
    draw,
    plain_values,
    published_counts,
)
from countveil.publishing.manifest_making import make_manifest
from countveil.publishing.prepare import LocalPreparedTable, PreparedTable, prepare
from countveil.publishing.safety import about_odds
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Randomness
from countveil.release import MANIFEST_NAME, REPORT_NAME, About, Manifest, Preparation
from countveil.release.draft import ReleaseDraft, WrittenFile, check_not_input
from countveil.release.formats.data_files import check_kept
from countveil.report.release_page import release_page
from countveil.report.whole_file import PendingFile, check_file
from countveil.tables import Reading, Shaping, input_files
from countveil.tables.encoded.survey import ValueRange
from countveil.tables.levels import MergedValues
from countveil.tables.progress import TimedStages

if TYPE_CHECKING:
    from countveil.engines.local_table import LocalTable
    from countveil.publishing.advise.inspecting.linkability import Linkability
    from countveil.publishing.again.session import LedgerSession
    from countveil.publishing.again.written import Continued, NewBatch
    from countveil.publishing.publications.record import Recording
    from countveil.report.joined import PublishedVectors


@dataclass(frozen=True, slots=True)
class Publication:
    """What a publication did, or, in a dry run, would have done.

    `odds` are sentences for the publisher: what seeing a value published is worth.
    `merged` has the rare values that were given one label. They are for the publisher alone, and
    not part of the release. `linkability` is advice, where it was asked for. `batches` are those
    of a release that continues earlier ones. `unconfirmed` says what failed after the release was
    in its place.
    """

    folder: str
    rows: int
    dropped: int
    ell: Mapping[str, int]
    seeded: bool
    warnings: Sequence[str]
    manifest: Manifest
    odds: Sequence[str] = ()
    merged: Sequence[MergedValues] = ()
    linkability: Linkability | None = None
    batches: Sequence[NewBatch] | None = None
    unconfirmed: str = ""


def run_publish(
    table: object,
    protecting: Protecting,
    writing: Writing,
    *,
    reading: Reading | None = None,
    shaping: Shaping | None = None,
    engine: Engine | None = None,
    before_commit: Callable[[], None] | None = None,
    k: int | None = None,
) -> Publication:
    """Publish `table`; in a dry run do everything but write, except for the private report.

    With `k`, advice about small combinations of plain values comes with it.
    """
    reading, shaping = reading or Reading(), shaping or Shaping()
    engine = engine or LocalEngine()
    stages = TimedStages(reading.progress)
    inputs = [*input_files(table), *shaping.files, *writing.inputs]
    _check_possible(engine, reading, writing, inputs, k)
    randomness = Randomness(protecting.seed)
    # The target comes first, so that nobody waits for one that cannot be written.
    with (
        _ledger_session(writing, engine, shaping) as session,
        engine.open_draft(
            writing.to,
            force=writing.force,
            again=writing.again or (session is not None and session.continues_target),
            dry_run=writing.dry_run,
        ) as draft,
    ):
        check_not_input(Path(writing.to.removeprefix("file://")), "the release", inputs)
        stages("reading", 0, 0)
        reading = _with_spill(replace(reading, progress=stages), engine, draft)
        source = engine.open_source(table, reading, shaping, protecting.names)
        prepared = prepare(
            source, protecting.ell_unless_bounded, shaping, protecting.together, cases=True
        )
        linkability = None if k is None else _linkability(prepared, shaping, k)
        if not writing.plain:
            columns = prepared.roles.published
            check_kept([(column.name, column.type) for column in columns], writing.format)
        _check_first(engine, prepared, protecting, writing, shaping.recoded, session)
        recording = _recording(engine, prepared, protecting, writing, shaping)
        preparation = _recorded(prepared, reading, shaping)
        drawing = _draw(prepared, protecting, shaping, preparation, session, (randomness, stages))
        associated = about_associated(source, protecting, drawing.counted)
        manifest = drawing.manifest(writing.about)
        doubts: list[str] = []
        if draft is not None:
            plain = plain_values(prepared, drawing.counted) if engine.local else {}
            finishing = _Finishing(draft, session, before_commit, doubts)
            manifest = _write(drawing, manifest, finishing, writing, plain)
        elif writing.private_report is not None:
            from countveil.publishing.private_report import write_trial

            write_trial(drawing, manifest, writing, reading.spill)
    said = [*prepared.warnings, *associated, *_about_cases(drawing, session)]
    if recording is not None:
        said += recording.finished(manifest, again=writing.again, dry_run=writing.dry_run)
    if draft is not None and (doubt := draft.confirm()):
        doubts.append(doubt)
    return Publication(
        writing.to, drawing.counted.rows, int(drawing.counted.left_out.size), protecting.ell,
        manifest.randomness == "seeded", said, manifest,
        about_odds(prepared.fineness, protecting.repeating), prepared.recoded.merged,
        linkability, None if session is None else session.batches, " ".join(doubts),
    )  # fmt: skip


def _about_cases(drawing: Drawing, session: LedgerSession | None) -> list[str]:
    """What is to be said where persons have several rows, and of a ledger."""
    said = [] if session is None else session.warnings
    if not drawing.drawn.cases:
        return said
    from countveil.publishing.cases import about_crowded

    return [*about_crowded(drawing.drawn.cases), *said]


def _linkability(
    prepared: PreparedTable[SourceTable], shaping: Shaping, k: int
) -> Linkability | None:
    """Advice about small combinations of plain values."""
    from countveil.publishing.advise.inspecting.linkability import linkability_of

    return linkability_of(cast("LocalPreparedTable", prepared), shaping, k)


def _draw(
    prepared: PreparedTable[SourceTable],
    protecting: Protecting,
    shaping: Shaping,
    preparation: Preparation | None,
    session: LedgerSession | None,
    work: tuple[Randomness, TimedStages],
) -> Drawing:
    """Count the values to protect and draw what is published, or continue what was."""
    if session is None:
        counted = count_values(prepared, protecting, shaping, work[0])
        tables, drawn = draw(prepared.source, counted, protecting, *work)
        return Drawing(prepared, protecting, counted, tables, drawn, preparation, None, *work)
    counted, tables, drawn = session.count_and_draw(
        prepared, protecting, shaping, preparation, work
    )
    continued = session.continued
    return Drawing(prepared, protecting, counted, tables, drawn, preparation, continued, *work)


@dataclass(frozen=True, slots=True)
class _Finishing:
    """A draft, the ledger that changes with it, and what is called when only renaming is left.

    `doubts` takes what fails after the renaming.
    """

    draft: ReleaseDraft
    session: LedgerSession | None
    before: Callable[[], None] | None
    doubts: list[str]

    def commit(self, manifest: Manifest, writing: Writing, pending: PendingFile | None) -> None:
        """Put the release in its place, and the private report after it."""
        step: contextlib.AbstractContextManager[Any] = contextlib.nullcontext(self.before)
        if self.session is not None:
            data = str(self.draft.data)
            step = self.session.committing(data, manifest.rows, self.before)
        with step as before:
            self.draft.commit(manifest, before, writing.sign)
            if pending is not None:
                try:
                    pending.put_in_place()
                except TargetError as error:
                    self.doubts.append(f"The release is in place and complete. {error}")


def _write(
    drawing: Drawing,
    manifest: Manifest,
    finishing: _Finishing,
    writing: Writing,
    plain: Mapping[str, ValueRange],
) -> Manifest:
    """Write the rows, the pages and the manifest, and put the release in its place."""
    draft = finishing.draft
    written = drawing.publish(draft.data)
    private = _private_page(drawing, written, manifest, writing)
    if not writing.plain:
        # Loaded only where files are written anew.
        from countveil.engines.local.output_formats import in_format

        written = in_format(written, manifest, writing.format, writing.rows_per_file)
    files = [(file.path.name, file.rows) for file in written]
    manifest = replace(manifest, files=draft.listed(files))
    page = release_page(manifest, drawing.published, plain, drawing.combinations())
    manifest = replace(manifest, report=draft.add_file(REPORT_NAME, page))
    if writing.metadata:
        # Loaded only where descriptions are wanted.
        from countveil.release.metadata import with_metadata

        manifest = with_metadata(manifest, draft, writing.metadata)
    with private as pending:
        finishing.commit(manifest, writing, pending)
    return manifest


def _private_page(
    drawing: Drawing, written: Sequence[WrittenFile], manifest: Manifest, writing: Writing
) -> contextlib.AbstractContextManager[PendingFile | None]:
    """The private report, written but not yet in its place: it appears with the release."""
    if writing.private_report is None:
        return contextlib.nullcontext()
    # Loaded only where a private report is wanted.
    from countveil.publishing.private_report import pending_report

    return pending_report(drawing, written, manifest, writing)


@dataclass(frozen=True, slots=True)
class Drawing:
    """What was prepared, counted and drawn, before it is written.

    `tables` has, for each column, how many rows with a true value publish which value.
    """

    prepared: PreparedTable[SourceTable]
    protecting: Protecting
    counted: Counted
    tables: Mapping[str, PublishedTable]
    drawn: Drawn
    preparation: Preparation | None
    continued: Continued | None
    randomness: Randomness
    stages: TimedStages

    @property
    def published(self) -> Mapping[str, Mapping[Any, int]]:
        """For each column, how many rows publish each value."""
        return published_counts(self.counted, self.tables)

    def manifest(self, about: About | None) -> Manifest:
        """What the release says about itself, without its files."""
        seeded = self.randomness.seeded or (self.continued is not None and self.continued.seeded)
        manifest = make_manifest(
            self.counted.rows, self.prepared, self.protecting, self.published, self.preparation,
            common=self.counted.common_values(), gammas=self.counted.gammas(),
            cases=self.drawn.cases, seeded=seeded, about=about, continued=self.continued,
        )  # fmt: skip
        facts = self.prepared.source.facts
        if not (facts.labels or facts.column_labels):
            return manifest
        # Loaded only where the source has labels.
        from countveil.publishing.recorded import with_labels

        return with_labels(manifest, self.prepared, whole=not self.counted.left_out.size)

    def publish(self, folder: str | Path) -> Sequence[WrittenFile]:
        """Deal every row one of the values that were drawn, shuffle all rows, write them."""
        more = () if self.continued is None else self.continued.columns
        columns = [*self.prepared.roles.published, *more]
        return self.prepared.source.publish(columns, self.drawn, self.randomness, folder)

    def combinations(self) -> Sequence[PublishedVectors]:
        """Which combinations are published of columns that share one draw."""
        if not self.protecting.together:
            return ()
        # Loaded only where columns are published together.
        from countveil.publishing.columns_together import all_published_vectors

        return all_published_vectors(self.drawn, self.counted.histograms)


def _ledger_session(
    writing: Writing, engine: Engine, shaping: Shaping
) -> contextlib.AbstractContextManager[LedgerSession | None]:
    """The ledger of a publication, open, if it has one."""
    if writing.ledger is None:
        return contextlib.nullcontext()
    from countveil.publishing.again.session import open_session

    return open_session(writing.ledger, writing, engine, shaping)


def _recorded(
    prepared: PreparedTable[SourceTable], reading: Reading, shaping: Shaping
) -> Preparation | None:
    """What the release says about how the table was prepared."""
    declared = shaping.changes_values or shaping.one_per is not None or reading.missing
    if not declared and not prepared.recoded.labels and not prepared.source.facts.filtered_by:
        return None
    from countveil.publishing.recorded import recorded

    return recorded(prepared, reading, shaping)


def _check_possible(
    engine: Engine, reading: Reading, writing: Writing, inputs: Sequence[Path], k: int | None
) -> None:
    """No output replaces an input; and some work cannot be done where rows are elsewhere."""
    if writing.private_report is not None:
        check_file(
            writing.private_report, "the private report", force=writing.force, again=False,
            inputs=inputs, outside=Path(writing.to),
        )  # fmt: skip
    if not engine.local:
        writing.check_elsewhere(engine.name, memory=reading.memory, spill=reading.spill, k=k)


def _check_first(
    engine: Engine,
    prepared: PreparedTable[SourceTable],
    protecting: Protecting,
    writing: Writing,
    recoded: Sequence[str],
    session: LedgerSession | None,
) -> None:
    """Stop if a release of the same people lies beside the new one. A seeded one is a trial."""
    target = Path(writing.to.removeprefix("file://"))
    if writing.again or protecting.seed is not None or not target.parent.is_dir():
        return
    if any(target.parent.glob(f"*/{MANIFEST_NAME}")):
        from countveil.publishing.safety.same_people import check_not_published_before

        changed = {*prepared.roles.sensitive, *recoded}
        plain = [column for column in prepared.roles.published if column.name not in changed]
        drops = [one.ell for one in protecting.columns.values() if one.residue == "drop"]
        ledger = None if session is None else session.book.id
        check_not_published_before(
            prepared.source, plain, target, max(drops, default=0), local=engine.local, ledger=ledger
        )


def _recording(
    engine: Engine,
    prepared: PreparedTable[SourceTable],
    protecting: Protecting,
    writing: Writing,
    shaping: Shaping,
) -> Recording | None:
    """The record of what was published beside the target. A seeded release is a trial."""
    if not writing.record or not engine.local or protecting.seed is not None:
        return None
    # Loaded only where a record is kept.
    from countveil.publishing.publications.record import Recording

    person = next(iter(shaping.persons), None)
    published = [column.name for column in prepared.roles.published]
    source = cast("LocalTable", prepared.source)
    recording = Recording(writing.to, source, person, published)
    if not writing.dry_run:
        recording.sketch()
    return recording


def _with_spill(reading: Reading, engine: Engine, draft: ReleaseDraft | None) -> Reading:
    """Rows that do not fit into memory go beside the draft, unless a folder was named."""
    if reading.spill is None and draft is not None and engine.local:
        return replace(reading, spill=Path(draft.data))
    return reading
