"""`countveil query` without the library that reads command lines.

Enters: a release, SQL and options. Leaves: a printed answer. Must not know: typer, any other
command.

Loading typer takes as long as answering a question, and `query` is run most often. So a plain
`query DIR SQL [--option value ...]` is read here; anything else, such as help or a mistake, is left
to typer.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from countveil.cli.output import Format, print_rows, warn

if TYPE_CHECKING:
    from countveil.asking.result import Answer

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?|\.[0-9]{1,9}", re.ASCII)


class MethodName(StrEnum):
    """How counts are estimated."""

    SHRUNK = "shrunk"
    UNBIASED = "unbiased"
    BAYES = "bayes"


class ChannelName(StrEnum):
    """Which transition probabilities are used."""

    EXACT = "exact"
    PRINTED = "printed"


@dataclass(frozen=True)
class QueryOptions:
    """How to answer, and how to print it: the options of the command with their defaults."""

    method: MethodName = MethodName.SHRUNK
    channel: ChannelName = ChannelName.EXACT
    level: float = 0.95
    within: float = 0.10
    style: Format = Format.TABLE
    weighted: bool = False


def ask(
    folder: str,
    sql: str,
    options: QueryOptions,
    opening: Mapping[str, Any] | None = None,
    inputs: Mapping[str, Any] | None = None,
) -> None:
    """Ask a release and print its answer.

    `opening` has the options of opening it; `inputs` are parameters and lookup tables.
    """
    from countveil.asking.release import Release

    answer = Release(folder, **(opening or {})).sql(
        sql,
        method=options.method,
        channel=options.channel,
        level=options.level,
        within=options.within,
        weighted=options.weighted,
        **(inputs or {}),
    )
    print_answer(answer, options.style)


def print_answer(answer: Answer, style: Format) -> None:
    """Print an answer, and what has to be said about it."""
    for warning in answer.warnings:
        warn(f"Note: {warning}")
    columns, rows = answer.readable() if style is Format.TABLE else (answer.columns, answer.rows())
    print_rows(columns, rows, style)


def answered_quickly(words: Sequence[str]) -> bool:
    """Run the command if it is a plain query; else do nothing and return False."""
    plain = _plain_query(words)
    if plain is None:
        return False
    # The process ends after the answer, so nothing has to be collected.
    gc.disable()
    ask(*plain)
    return True


def _plain_query(words: Sequence[str]) -> tuple[str, str, QueryOptions] | None:
    """The release, the SQL and the options; None if anything needs a closer look."""
    if words[:1] != ["query"]:
        return None
    texts: dict[str, str] = {}
    values: dict[str, Any] = {}
    arguments: list[str] = []
    remaining = iter(words[1:])
    for word in remaining:
        if not word.startswith("-"):
            arguments.append(word)
            continue
        if word == "--weighted":
            values["weighted"] = True
            continue
        name, equals, value = word.partition("=")
        if name in texts or not name.startswith("--"):
            return None
        texts[name] = value if equals else next(remaining, "-")
    for field in fields(QueryOptions):
        text = texts.pop("--format" if field.name == "style" else f"--{field.name}", None)
        if text is not None:
            values[field.name] = _value(text, type(field.default))
    if texts or None in values.values() or len(arguments) != 2 or not all(arguments):
        return None
    return arguments[0], arguments[1], QueryOptions(**values)


def _value(text: str, kind: Any) -> Any:
    """The text as a value of an option; None if it needs a closer look."""
    if kind is float:
        return float(text) if _NUMBER.fullmatch(text) else None
    return kind(text) if text in set(kind) else None
