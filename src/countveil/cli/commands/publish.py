"""`countveil publish`: turn a table into a release."""

from __future__ import annotations

import os
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

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
from countveil.cli.output import Format
from countveil.cli.publishing import Asked, publish_and_print


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
    protecting = {
        "sensitive": with_ell(sensitive, ell), "groups": groups, "residue": residue, "seed": seed,
        "common": with_common(common), "odds": odds, "together": with_together(together),
    }  # fmt: skip
    writing = {
        "to": to, "force": force, "again": again, "dry_run": dry_run,
        "output_format": output_format, "rows_per_file": rows_per_file, "sign": sign,
        "private_report": private_report, "title": title, "contact": contact, "ledger": ledger,
        "ledger_key": ledger_key, "hold": hold, "record": record, "metadata": metadata or (),
    }  # fmt: skip
    options = partial(reading_and_shaping, source, shaping, memory=memory, spill=spill)
    publish_and_print(
        Asked(
            table, protecting, writing, options, partial(with_reasons, reasons), engine, master, k,
            style,
        )
    )  # fmt: skip
