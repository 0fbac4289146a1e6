"""Arguments and options that several commands share, and what they say about a table."""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countveil.cli.output import Format

if TYPE_CHECKING:
    from countveil.tables import Choices


class Groups(StrEnum):
    """How decoy groups are formed."""

    MIXED = "mixed"
    ANATOMY = "anatomy"


class Residue(StrEnum):
    """What happens to the rows left over when N is no multiple of ell."""

    ABSORB = "absorb"
    DROP = "drop"


class EngineName(StrEnum):
    """Where the work is done."""

    EMBEDDED = "embedded"
    SPARK = "spark"


EngineOption = Annotated[
    EngineName,
    typer.Option(
        "--engine",
        help="Where the work is done: in this process, or on a Spark cluster (extra: spark).",
    ),
]

MasterOption = Annotated[
    str | None,
    typer.Option(
        "--master",
        metavar="URL",
        help="With --engine spark: spark://HOST:PORT, local[*], local-cluster[2,1,1024], yarn; "
        "without it, what Spark is set up for, or this machine.",
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

ProtectedOption = Annotated[
    list[str],
    typer.Option(
        "-s",
        "--sensitive",
        metavar="COL[:ELL]",
        help="A column to protect, with its own ell or that of --ell. May be repeated.",
    ),
]

EllOption = Annotated[
    int | None,
    typer.Option("--ell", help="How many different values a row hides among (2 or more)."),
]

KeepOption = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="COL",
        help="Publish a column although it looks like an identifier or gives values away.",
    ),
]

PersonOption = Annotated[
    str | None,
    typer.Option(
        "--person",
        metavar="COL",
        help="The column that says who a row is about: each person must have one row. It is "
        "not published.",
    ),
]

GroupsOption = Annotated[
    Groups,
    typer.Option("--groups", help="How decoy groups are formed; anatomy is the paper's rule."),
]

ResidueOption = Annotated[
    Residue,
    typer.Option(
        "--residue", help="Rows left over by ell: absorb them (none is lost) or drop them."
    ),
]

DropOption = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL", help="Leave a column out. May be repeated."),
]

BinsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--bins",
        metavar="COL=SPEC",
        help="Put numbers into classes: COL=10 (rounded edges), COL=q10 (equally many rows in "
        "each) or edges such as COL=18,30,45,65.",
    ),
]

DomainOption = Annotated[
    list[str] | None,
    typer.Option(
        "--domain",
        metavar="COL=FILE",
        help="The values that a column may have, one per line; another one stops.",
    ),
]

MergeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--merge",
        metavar="COL:FILE",
        help="Give values a common label first; the file has lines of value,label.",
    ),
]


def pairs(given: list[str] | None, mark: str, option: str) -> dict[str, str]:
    """COL=SPEC, COL=FILE or COL:FILE. A name may hold the mark too: a file that exists decides."""
    found: dict[str, str] = {}
    for text in given or ():
        parts = text.split(mark)
        splits = [(mark.join(parts[:i]), mark.join(parts[i:])) for i in range(1, len(parts))]
        sound = [(name, value) for name, value in splits if name and value]
        if not sound:
            raise typer.BadParameter(f"{text!r} is not of the form COL{mark}...", param_hint=option)
        files = [(name, value) for name, value in sound if Path(value).is_file()]
        # The bins hold no mark, so what stands before the last one is the name.
        name, value = (files or sound)[0] if option != "--bins" else sound[-1]
        if name in found:
            raise typer.BadParameter(f"column {name!r} is named twice", param_hint=option)
        found[name] = value
    return found


def choices_of(
    *,
    source: Mapping[str, Any],
    drop: list[str] | None = None,
    bins: list[str] | None = None,
    domain: list[str] | None = None,
    merge: list[str] | None = None,
    keep: Sequence[str] | None = None,
    person: str | None = None,
) -> Choices:
    """What the options say about a table's columns and values."""
    from countveil.tables import Choices

    return Choices.of(
        drop=drop or (),
        keep=keep or (),
        person=person,
        bins=pairs(bins, "=", "--bins"),
        domain=pairs(domain, "=", "--domain"),
        merge=pairs(merge, ":", "--merge"),
        **{
            **source,
            "labels": pairs(source.get("labels"), "=", "--labels"),
            "columns": _listed(source.get("columns")),
        },
    )


def _listed(given: list[str] | None) -> list[str]:
    """Names separated by commas; one that holds a comma stands in double quotes."""
    lines = csv.reader(given or (), skipinitialspace=True)
    return [name for line in lines for name in line if name]


def with_ell(sensitive: list[str], common: int | None) -> dict[str, int]:
    """COL:ELL or COL, by the last colon if a whole number follows it."""
    chosen: dict[str, int] = {}
    for text in sensitive:
        name, _, number = text.rpartition(":")
        own = re.fullmatch(r"-?[0-9]+", number) is not None and bool(name)
        if own and len(number) > 9:
            raise typer.BadParameter("ell is far too large", param_hint="-s")
        column = name if own else text
        if column in chosen:
            raise typer.BadParameter(f"column {column!r} is named twice", param_hint="-s")
        if not own and common is None:
            raise typer.BadParameter(
                f"{text!r} has no ell: write -s {text}:5, or add --ell 5", param_hint="-s"
            )
        chosen[column] = int(number) if own else int(common or 0)
    return chosen
