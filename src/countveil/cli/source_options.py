"""The options that say how a table is read, for every command that reads one.

Enters: a command that has a parameter `source`. Leaves: the same command with these options in its
place; it gets what was said as a dictionary for `Choices.of`. Must not know: any command.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

_PLACE = "source"
NOTHING_SAID: dict[str, Any] = {}
# name -> its type with help, its default
_OPTIONS: dict[str, tuple[Any, Any]] = {
    "missing": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--missing",
                metavar="TEXT",
                help="A text that stands for a missing value. Repeatable.",
            ),
        ],
        None,
    ),
    "delimiter": (
        Annotated[
            str | None,
            typer.Option(
                "--delimiter",
                metavar="CHAR",
                help="What separates the cells of a CSV, such as ';' or tab; without it, the first "
                "line tells.",
            ),
        ],
        None,
    ),
    "quote": (
        Annotated[
            str | None,
            typer.Option(
                "--quote",
                metavar="CHAR",
                help="What encloses cells of a CSV, or none; without it, the double quote.",
            ),
        ],
        None,
    ),
    "encoding": (
        Annotated[
            str | None,
            typer.Option(
                "--encoding",
                metavar="NAME",
                help="How a CSV is stored: utf-8 (the default), utf-16, latin-1, windows-1252, ...",
            ),
        ],
        None,
    ),
    "decimal_comma": (
        Annotated[
            bool,
            typer.Option("--decimal-comma", help="Numbers in a CSV are written as 1,5."),
        ],
        False,
    ),
    "header": (
        Annotated[
            bool,
            typer.Option(
                "--header/--no-header",
                help="Whether the first line of a CSV names the columns; without names they are "
                "column1, column2, ...",
            ),
        ],
        True,
    ),
    "where": (
        Annotated[
            str | None,
            typer.Option(
                "--where",
                metavar="CONDITION",
                help='Only the rows that meet this condition, such as "age >= 18 AND country = '
                "'CA'\".",
            ),
        ],
        None,
    ),
    "columns": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--columns",
                metavar="COL",
                help="Only this column and the protected ones. May be repeated, or separated by "
                "commas.",
            ),
        ],
        None,
    ),
    "labels": (
        Annotated[
            list[str] | None,
            typer.Option(
                "--labels",
                metavar="COL=FILE",
                help="What the codes of a column stand for; the file has lines of code,label.",
            ),
        ],
        None,
    ),
    "query": (
        Annotated[
            str | None,
            typer.Option(
                "--query",
                metavar="SELECT",
                help="For a database: the table is the result of this query, which can only read.",
            ),
        ],
        None,
    ),
}


def with_source_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options in the place of the parameter `source`."""
    own = inspect.signature(command, eval_str=True)
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.parameters.items():
        if name == _PLACE:
            parameters += [
                inspect.Parameter(
                    option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
                )
                for option, (kind, default) in _OPTIONS.items()
            ]
        else:
            parameters.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))

    @functools.wraps(command)
    def run(**given: Any) -> None:
        said = {name: given.pop(name) for name in _OPTIONS}
        command(**given, **{_PLACE: {n: v for n, v in said.items() if v != _OPTIONS[n][1]}})

    run.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def words(source: Mapping[str, Any]) -> list[str]:
    """What was said, as it is written on a command line."""
    found: list[str] = []
    for name, value in source.items():
        option = "--" + name.replace("_", "-")
        if name == "header":
            found.append("--no-header")
        elif isinstance(value, bool):
            found.append(option)
        elif isinstance(value, list):
            found += [word for each in value for word in (option, each)]
        else:
            found += [option, str(value)]
    return found
