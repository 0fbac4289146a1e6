"""Arguments and options that several commands share, each declared once.

Enters: what was typed. Leaves: values for the functions behind the commands. Must not know: any
command.

A command that reads a table has a parameter `source` (how it is read), and perhaps one of `shaping`
and `recoding` (what is done to its columns). `with_table_options` puts the options of the group in
the place of such a parameter; the command gets a dictionary of those that were given.
"""

from __future__ import annotations

import csv
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countveil.cli.output import Format

if TYPE_CHECKING:
    from countveil.tables import Reading, Shaping
    from countveil.tables.progress import Progress

Given = dict[str, Any]
NOTHING_GIVEN: Given = {}


class Groups(StrEnum):
    """How decoy groups are formed."""

    MIXED = "mixed"
    ANATOMY = "anatomy"


class Residue(StrEnum):
    """What happens to the rows left over when N is not a multiple of ell."""

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
        "by default what Spark is configured for, or this machine.",
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
QuestionArgument = Annotated[str, typer.Argument(metavar="SQL", help="The question, in SQL.")]
_SENSITIVE = typer.Option(
    "-s", "--sensitive", metavar="COL", help="A column to protect. May be repeated."
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
    ),
]
EllOption = Annotated[
    int | None,
    typer.Option("--ell", help="How many different values a row hides among (2 or more)."),
]
GroupsOption = Annotated[
    Groups,
    typer.Option("--groups", help="How decoy groups are formed; anatomy is the paper's rule."),
]
ResidueOption = Annotated[
    Residue,
    typer.Option(
        "--residue", help="Rows left over by groups of ell: absorb (none is lost) or drop them."
    ),
]
ReportOption = Annotated[
    Path | None,
    typer.Option("--report", metavar="FILE", help="Also write an HTML page with charts."),
]


def _text(flag: str, metavar: str, explanation: str) -> tuple[Any, Any]:
    option = typer.Option(flag, metavar=metavar, help=explanation)
    return Annotated[str | None, option], None


def _texts(flag: str, metavar: str, explanation: str) -> tuple[Any, Any]:
    option = typer.Option(flag, metavar=metavar, help=explanation)
    return Annotated[list[str] | None, option], None


def _flag(flag: str, explanation: str, *, default: bool) -> tuple[Any, Any]:
    return Annotated[bool, typer.Option(flag, help=explanation)], default


# name -> its type with help, its default
_SOURCE: dict[str, tuple[Any, Any]] = {
    "missing": _texts("--missing", "TEXT", "A text that means a missing value. Repeatable."),
    "delimiter": _text(
        "--delimiter",
        "CHAR",
        "What separates the cells of a CSV, such as ';' or tab; by default detected in the "
        "first line.",
    ),
    "quote": _text(
        "--quote", "CHAR", "What encloses cells of a CSV, or none; by default the double quote."
    ),
    "encoding": _text(
        "--encoding",
        "NAME",
        "How a CSV is stored: utf-8 (the default), utf-16, latin-1, windows-1252, ...",
    ),
    "decimal_comma": _flag(
        "--decimal-comma", "Numbers in a CSV are written as 1,5.", default=False
    ),
    "header": _flag(
        "--header/--no-header",
        "Whether the first line of a CSV names the columns; without names they are column1, "
        "column2, ...",
        default=True,
    ),
    "where": _text(
        "--where",
        "CONDITION",
        "Only the rows that meet this condition, such as \"age >= 18 AND country = 'CA'\".",
    ),
    "columns": _texts(
        "--columns",
        "COL",
        "Only this column and the protected ones. May be repeated, or separated by commas.",
    ),
    "labels": _texts(
        "--labels",
        "COL=FILE",
        "What the codes of a column stand for; the file has lines of code,label.",
    ),
    "query": _text(
        "--query",
        "SELECT",
        "For a database: the table is the result of this query, which can only read.",
    ),
}
_DROP = {"drop": _texts("--drop", "COL", "Leave a column out. May be repeated.")}
_KEEP = {
    "keep": _texts(
        "--keep",
        "COL",
        "Publish a column although it looks like an identifier or gives values away.",
    ),
    "person": _text(
        "--person",
        "COL",
        "The column that identifies the person of a row: each person must have one row. It is "
        "not published.",
    ),
}
_RECODE = {
    "bins": _texts(
        "--bins",
        "COL=SPEC",
        "Put numbers into classes: COL=10 (rounded edges), COL=q10 (equally many rows in each) or "
        "edges such as COL=18,30,45,65.",
    ),
    "domain": _texts(
        "--domain",
        "COL=FILE",
        "The values that a column may have, one per line; any other value is refused.",
    ),
    "merge": _texts(
        "--merge",
        "COL:FILE",
        "Give values a common label first; the file has lines of value,label.",
    ),
}
# The parameter of a command -> the options that take its place.
_GROUPS = {
    "source": _SOURCE,
    "shaping": {**_DROP, **_KEEP, **_RECODE},
    "recoding": {**_DROP, **_RECODE},
}


def with_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options of each group in the place of the parameter that is named after it."""
    signature = inspect.signature(command, eval_str=True)
    groups = {name: _GROUPS[name] for name in signature.parameters if name in _GROUPS}
    parameters = list(_expanded(signature.parameters))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        for group, options in groups.items():
            values = {name: given.pop(name) for name in options}
            given[group] = {n: v for n, v in values.items() if v != options[n][1]}
        command(**given)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def _expanded(parameters: Mapping[str, inspect.Parameter]) -> Iterator[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    for name, parameter in parameters.items():
        if name not in _GROUPS:
            yield parameter.replace(kind=keyword)
            continue
        for option, (kind, default) in _GROUPS[name].items():
            yield inspect.Parameter(option, keyword, default=default, annotation=kind)


def reading_and_shaping(
    source: Given,
    shaping: Given,
    progress: Progress,
    *,
    memory: str | None = None,
    spill: Path | None = None,
) -> tuple[Reading, Shaping]:
    """How to read and shape a table, from the options that were given."""
    from countveil.tables import table_options

    given = {**source, **shaping}
    for name, mark in (("labels", "="), ("bins", "="), ("domain", "="), ("merge", ":")):
        given[name] = pairs(given.get(name), mark, f"--{name}")
    given["columns"] = _listed(given.get("columns"))
    return table_options(memory=memory, spill=spill, progress=progress, **given)


def pairs(given: list[str] | None, mark: str, option: str) -> dict[str, str]:
    """COL=SPEC, COL=FILE or COL:FILE. A name may hold the mark too: a file that exists decides."""
    values: dict[str, str] = {}
    for text in given or ():
        parts = text.split(mark)
        splits = [(mark.join(parts[:i]), mark.join(parts[i:])) for i in range(1, len(parts))]
        sound = [(name, value) for name, value in splits if name and value]
        if not sound:
            raise typer.BadParameter(f"{text!r} is not of the form COL{mark}...", param_hint=option)
        files = [(name, value) for name, value in sound if Path(value).is_file()]
        # The bins never hold the mark, so the name ends at the last one.
        name, value = (files or sound)[0] if option != "--bins" else sound[-1]
        if name in values:
            raise typer.BadParameter(f"column {name!r} is named twice", param_hint=option)
        values[name] = value
    return values


def _listed(given: list[str] | None) -> list[str]:
    """Names separated by commas; a name with a comma is in double quotes."""
    lines = csv.reader(given or (), skipinitialspace=True)
    return [name for line in lines for name in line if name]


def with_ell(sensitive: list[str], common: int | None) -> dict[str, int]:
    """COL:ELL or COL, by the last colon if a whole number follows it."""
    chosen: dict[str, int] = {}
    for text in sensitive:
        name, _, number = text.rpartition(":")
        has_ell = re.fullmatch(r"-?[0-9]+", number) is not None and bool(name)
        if has_ell and len(number) > 9:
            raise typer.BadParameter("ell is far too large", param_hint="-s")
        column = name if has_ell else text
        if column in chosen:
            raise typer.BadParameter(f"column {column!r} is named twice", param_hint="-s")
        if not has_ell and common is None:
            raise typer.BadParameter(
                f"{text!r} has no ell: write -s {text}:5, or add --ell 5", param_hint="-s"
            )
        chosen[column] = int(number) if has_ell else int(common or 0)
    return chosen


def as_typed(given: Given) -> list[str]:
    """The options that were given, as they are written on a command line."""
    words: list[str] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if name == "header":
            words.append("--no-header")
        elif isinstance(value, bool):
            words.append(option)
        elif isinstance(value, list):
            words += [word for each in value for word in (option, each)]
        else:
            words += [option, str(value)]
    return words
