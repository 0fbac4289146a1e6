"""Arguments and options that several commands share, each declared once.

Enters, leaves: nothing; these are declarations. Must not know: any command, any table.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.options.completion import column_names
from countveil.cli.output import Format


class Groups(StrEnum):
    """How decoy groups are formed."""

    MIXED = "mixed"
    RANDOM = "random"
    ANATOMY = "anatomy"


class Residue(StrEnum):
    """What happens to the rows left over when N is not a multiple of ell."""

    ABSORB = "absorb"
    DROP = "drop"


class EngineName(StrEnum):
    """Where the work is done."""

    EMBEDDED = "embedded"
    SPARK = "spark"
    DASK = "dask"


EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        help="Where the work is done: in this process, or on a cluster of Spark or Dask "
        "(extras: spark, dask).",
    ),
]
MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="With --engine spark: spark://HOST:PORT, local[*], local-cluster[2,1,1024], yarn, "
        "sc://HOST:PORT (Spark Connect); by default what Spark is configured for, or this machine. "
        "With --engine dask: tcp://HOST:PORT or tls://HOST:PORT; by default threads.",
    ),
]
FormatOption = Annotated[Format, typer.Option("--format", help="How to print the result.")]
InputArgument = Annotated[
    str,
    typer.Argument(
        metavar="INPUT",
        help="CSV (also .gz, .zst, .zip), Parquet, Arrow, SPSS, Stata, SAS or Excel; a file, a "
        "folder or a pattern; "
        "sqlite:FILE#table, duckdb:FILE#table or postgresql://user@host/database#schema.table.",
    ),
]
RELEASE_HELP = "The release: a folder, postgresql://user@host/db#table or duckdb:FILE#table"
ReleaseArgument = Annotated[str, typer.Argument(metavar="DIR", help=f"{RELEASE_HELP}.")]
SignedByOption = Annotated[
    Path | None,
    typer.Option(
        "--signed-by",
        metavar="PUBKEY",
        help="The publisher's Ed25519 public key, which you got from elsewhere: check the "
        "signature, and every data file with it. Without it, anybody may have made the release.",
    ),
]
LargerOption = Annotated[
    float,
    typer.Option(
        "--larger",
        metavar="N",
        help="Allow a release N times as large as usual: its manifest, the values of its columns, "
        "what its files unpack to. For a release that you trust.",
    ),
]
QuestionArgument = Annotated[str, typer.Argument(metavar="SQL", help="The question, in SQL.")]
_SENSITIVE = typer.Option(
    "-s",
    "--sensitive",
    metavar="COL",
    help="A column to protect. May be repeated.",
    autocompletion=column_names,
)
SensitiveOption = Annotated[list[str], _SENSITIVE]
SensitiveIfAnyOption = Annotated[list[str] | None, _SENSITIVE]
ProtectedOption = Annotated[
    list[str],
    typer.Option(
        "-s",
        "--sensitive",
        metavar="COL[:ELL]",
        help="A column to protect, with its own ell or that of --ell. May be repeated.",
        autocompletion=column_names,
    ),
]
EllOption = Annotated[
    int | None,
    typer.Option("--ell", help="How many different values a row hides among (2 or more)."),
]
GroupsOption = Annotated[
    Groups,
    typer.Option(
        "--groups",
        help="How decoy groups are formed: mixed (different values), random (any rows, for columns "
        "with very frequent values) or anatomy (the paper's rule).",
    ),
]
CommonOption = Annotated[
    list[str] | None,
    typer.Option(
        "--common",
        metavar="auto|COL=VALUE",
        help="Values that may repeat in a mixed group: auto for the frequent ones (COL=auto: of "
        "one column), or one value of a column; COL= is the missing value. May be repeated.",
    ),
]
ResidueOption = Annotated[
    Residue,
    typer.Option(
        "--residue", help="Rows left over by groups of ell: absorb (none is lost) or drop them."
    ),
]
OddsOption = Annotated[
    float | None,
    typer.Option(
        "--odds",
        metavar="K",
        help="Put noise over the declared values (--domain) before the groups, so that no row "
        "changes the odds of a value by more than K: local differential privacy.",
    ),
]
TogetherOption = Annotated[
    list[str] | None,
    typer.Option(
        "--together",
        metavar="[COL,COL]",
        help="Publish all protected columns together, or these: a row then publishes all its "
        "values of one row of its group, and groups are random. May be repeated.",
    ),
]
TitleOption = Annotated[
    str,
    typer.Option("--title", metavar="TEXT", help="What it is called, at the top of its pages."),
]
ContactOption = Annotated[
    str,
    typer.Option("--contact", metavar="TEXT", help="Whom to ask about it, such as an address."),
]
KOption = Annotated[
    int | None,
    typer.Option(
        "--k",
        metavar="ROWS",
        min=2,
        help="Advice: how many rows have a combination of plain values that fewer than this many "
        "rows have, and what coarsening would help.",
    ),
]
LedgerKeyOption = Annotated[
    Path | None,
    typer.Option(
        "--ledger-key",
        metavar="KEYFILE",
        help="The key of the ledger; by default FILE.key beside it.",
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Also write an HTML page with charts."),
]
ForceReportOption = Annotated[
    bool,
    typer.Option(
        "--force",
        help="Replace the file of --report, whatever it is; a page of ours is replaced anyway.",
    ),
]
