"""`countveil publish`: turn a table into a release."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countveil.cli.commands.show import print_manifest
from countveil.cli.entry import ignore_interrupts
from countveil.cli.options import (
    NOTHING_GIVEN,
    CommonOption,
    ContactOption,
    EllOption,
    EngineName,
    EngineOption,
    FormatOption,
    Given,
    Groups,
    GroupsOption,
    InputArgument,
    KOption,
    LedgerKeyOption,
    MasterOption,
    OddsOption,
    ProtectedOption,
    Residue,
    ResidueOption,
    TitleOption,
    TogetherOption,
    reading_and_shaping,
    with_common,
    with_ell,
    with_reasons,
    with_table_options,
    with_together,
)
from countveil.cli.output import (
    Format,
    as_json,
    command_name,
    print_paragraph,
    progress_shown,
    warn,
)
from countveil.display import visible
from countveil.errors import UnconfirmedError
from countveil.system.files import about_readers

if TYPE_CHECKING:
    from countveil.publishing.publisher import Publication


class OutputFormat(StrEnum):
    """How the data of a release are written."""

    PARQUET = "parquet"
    CSV = "csv"
    CSV_GZ = "csv.gz"
    ARROW = "arrow"
    STATA = "stata"
    SPSS = "spss"


@with_table_options
def command(
    table: InputArgument,
    sensitive: ProtectedOption,
    to: Annotated[
        str,
        typer.Option(
            "--to", metavar="DIR", help="Folder for the release; with --engine spark any address."
        ),
    ],
    ell: EllOption = None,
    shaping: Given = NOTHING_GIVEN,
    reasons: Annotated[
        list[str] | None,
        typer.Option(
            "--reason",
            metavar="COL=TEXT",
            help="Why a column of --keep is published, for the private report alone. May be "
            "repeated.",
        ),
    ] = None,
    groups: GroupsOption = Groups.MIXED,
    common: CommonOption = None,
    odds: OddsOption = None,
    together: TogetherOption = None,
    residue: ResidueOption = Residue.ABSORB,
    seed: Annotated[
        int | None,
        typer.Option(
            help="For experiments only: anybody who knows the seed can undo the protection."
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Replace the release in DIR (with --again), and the private report. No input is "
            "ever replaced.",
        ),
    ] = False,
    again: Annotated[
        bool,
        typer.Option(
            "--again",
            help="Publish although a release of these people seems to exist. Two releases of the "
            "same people, combined, reveal more than either: only if nobody else has ever had "
            "the other one, or it is about other people.",
        ),
    ] = False,
    record: Annotated[
        bool,
        typer.Option(
            "--record/--no-record",
            help="Whether to keep a private record beside DIR of who was published, as hashes for "
            "you only, and to warn if they were published before.",
        ),
    ] = True,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Do everything but publish, and say what would be published."
        ),
    ] = False,
    ledger: Annotated[
        Path | None,
        typer.Option(
            "--ledger",
            metavar="FILE",
            help="Continue the releases of this private ledger (countveil ledger init): known "
            "cases publish what they did, only new ones are drawn. Needs --person.",
        ),
    ] = None,
    ledger_key: LedgerKeyOption = None,
    hold: Annotated[
        bool,
        typer.Option(
            "--hold",
            help="With --ledger: new cases that are too few, or too much alike, for groups wait "
            "for a later release, all of them.",
        ),
    ] = False,
    k: KOption = None,
    sign: Annotated[
        Path | None,
        typer.Option("--sign", metavar="KEYFILE", help="Sign with this Ed25519 private key."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            help="How much memory to use, such as 1GB; by default half of what is free. Rows that "
            "do not fit go through an encrypted file.",
        ),
    ] = None,
    spill: Annotated[
        Path | None,
        typer.Option(
            "--spill",
            metavar="DIR",
            help="Folder for that file, which nobody else can open; by default next to the "
            "release.",
        ),
    ] = None,
    private_report: Annotated[
        Path | None,
        typer.Option(
            "--private-report",
            metavar="FILE",
            help="Also write an HTML page for you only: true beside published counts, errors "
            "measured in this release, eligibility, timings. Not inside DIR.",
        ),
    ] = None,
    output_format: Annotated[
        OutputFormat, typer.Option("--output-format", help="Format of the data files.")
    ] = OutputFormat.PARQUET,
    rows_per_file: Annotated[
        int | None,
        typer.Option("--rows-per-file", metavar="N", help="Rows of each data file.", min=1),
    ] = None,
    title: TitleOption = "",
    contact: ContactOption = "",
    metadata: Annotated[
        list[str] | None,
        typer.Option(
            "--metadata",
            metavar="FORMATS",
            help="Also describe the release for archives and catalogues: ddi (DDI-Codebook 2.5), "
            "croissant, dcat, or several, such as ddi,dcat. They hold only what is published "
            "anyway.",
        ),
    ] = None,
    engine: EngineOption = EngineName.EMBEDDED,
    master: MasterOption = None,
    source: Given = NOTHING_GIVEN,
    style: FormatOption = Format.TABLE,
) -> None:
    """Publish a table: large counts stay right, single people and small combinations uncertain.

    Every row's sensitive value is put into a secret group of at least ELL rows with different
    values; each row publishes one of its group's values, all with the same probability. The other
    columns are published unchanged, the rows in random order. The release is a folder with data
    files, a report.html for people and a manifest; it appears when it is complete.

    Columns that look like identifiers, columns that reveal a sensitive value (everywhere or in a
    part of the table), and sensitive values too rare to be hidden stop the publication until each
    column is named with --drop or --keep. Look at the table first: countveil inspect.

    Example: countveil publish census.csv -s occupation:5 --to census-release
    """
    # The cores are for our threads; those of the algebra library burn time while they wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from countveil.engines.choice import chosen_engine
    from countveil.publishing.publisher import run_publish
    from countveil.publishing.settings import Protecting, Writing

    started = time.monotonic()
    protecting = Protecting.of(
        with_ell(sensitive, ell), groups=groups, residue=residue, seed=seed,
        common=with_common(common), odds=odds, together=with_together(together),
    )  # fmt: skip
    with progress_shown() as progress:
        reading, shape = reading_and_shaping(source, shaping, progress, memory=memory, spill=spill)
        progress("starting", 0, 0)
        chosen = chosen_engine(engine, table, master)
        writing = Writing.of(
            to, force=force, again=again, dry_run=dry_run, output_format=output_format,
            rows_per_file=rows_per_file, sign=sign, private_report=private_report,
            title=title, contact=contact, ledger=ledger, ledger_key=ledger_key, hold=hold,
            record=record, metadata=metadata or (), reasons=with_reasons(reasons, shape.keep),
        )  # fmt: skip
        writing.check_reasons(shape.keep)
        done = run_publish(
            table, protecting, writing, reading=reading, shaping=shape.seeded(seed), engine=chosen,
            before_commit=ignore_interrupts, k=k,
        )  # fmt: skip
    seconds = round(time.monotonic() - started, 3)
    for warning in done.warnings:
        warn(warning)
    if style is not Format.TABLE:
        print(_as_text(done, seconds, style))
    elif dry_run:
        _print_plan(done, private_report, writing.metadata)
    else:
        _print_done(done, seconds, private_report)
    if done.unconfirmed:
        raise UnconfirmedError(done.unconfirmed)


def _print_done(done: Publication, seconds: float, private_report: Path | None) -> None:
    protected = ", ".join(f"{name} (ell {ell})" for name, ell in done.ell.items())
    print(visible(f"Published {done.rows:,} rows to {done.folder} in {seconds:.1f} s."))
    print(f"Protected: {visible(protected)}.")
    _print_left_out(done, "Dropped: {} rows, so that a multiple of ell is left.")
    if done.seeded:
        print_paragraph(
            "SEEDED: this release was drawn with a seed and is for experiments only. Anybody who "
            "knows or guesses the seed can undo the protection."
        )
    _print_for_publisher(done)
    if private_report is not None:
        print(visible(f"For you only, because it shows true counts: {private_report}"))
        if note := about_readers(private_report):
            print_paragraph(note)
    print(visible(f"Next: {command_name()} {_next_step(done.folder)}"))


def _print_left_out(done: Publication, sentence: str) -> None:
    """Rows that were dropped; with a ledger, known and new cases."""
    for batch in done.batches or ():
        known = f"{batch.known:,} known cases of {', '.join(batch.columns)}"
        new = f"{batch.new:,} new ones in batch {batch.number}" if batch.new else "no new ones"
        print(visible(f"Ledger: {known}, {new}."))
    if done.dropped and done.batches is None:
        print(sentence.format(done.dropped))


def _print_for_publisher(done: Publication) -> None:
    """What is not part of the release: which rare values were merged, advice."""
    for merged in done.merged:
        print_paragraph(f"For you only: {merged.sentence()}")
    for sentence in done.linkability.sentences() if done.linkability is not None else ():
        print_paragraph(sentence)


def _next_step(folder: str) -> str:
    """What to do with a release: show it, or query it where only a cluster reaches it."""
    if re.match(r"(?!file:)[a-z][a-z0-9+.-]*://", folder):
        question = shlex.quote("SELECT count(*) FROM release")
        return f"query {shlex.quote(folder)} {question} --engine spark"
    return f"show {shlex.quote(folder.removeprefix('file://'))}"


def _print_plan(done: Publication, private_report: Path | None, metadata: tuple[str, ...]) -> None:
    """What would have been published."""
    from countveil.release import METADATA_NAMES

    where = f"{done.rows:,} rows would be published to {done.folder}"
    print(visible(f"Nothing was published. {where}:"))
    print_manifest(done.manifest)
    for sentence in done.odds:
        print_paragraph(sentence)
    _print_left_out(done, "{} rows would be dropped, so that a multiple of ell is left.")
    if metadata:
        names = ", ".join(METADATA_NAMES[name] for name in metadata)
        print(f"Beside the data, for archives and catalogues: {names}.")
    if private_report is not None:
        print(visible(f"For you only, with the figures of a trial: {private_report}"))
    _print_for_publisher(done)
    print("To publish, run the same command without --dry-run.")


def _as_text(done: Publication, seconds: float, style: Format) -> str:
    summary: dict[str, Any] = {
        "release": done.folder,
        "rows": done.rows,
        "ell": dict(done.ell),
        "dropped": done.dropped if done.batches is None else 0,
        "seconds": seconds,
    }
    if done.batches is not None and style is Format.JSON:
        summary["on_hold"] = done.dropped
        summary["batches"] = [asdict(batch) for batch in done.batches]
    # What only the publisher may see, where there is something of it.
    merged = {values.column: dict(values.rows) for values in done.merged}
    if style is Format.JSON:
        summary |= {"merged": merged} if merged else {}
        if done.linkability is not None:
            summary["linkability"] = asdict(done.linkability)
    if style is Format.JSON:
        return as_json(summary)
    import csv
    import io

    flat = {**summary, "ell": json.dumps(summary["ell"], ensure_ascii=False)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([flat.keys(), flat.values()])
    return text.getvalue().rstrip("\n")
