"""`countveil publish` without the library that reads command lines.

Enters: a table, what to protect, where to, and the options that are used most. Leaves: a release,
and what is said about it. Must not know: any other option, how a table is published.

Loading typer and describing every command to it takes as long as publishing a small table. So a
plain `publish INPUT -s COL:ELL --to DIR [--option value ...]` is read here; anything else, such as
help, a mistake or an option that is used less, is left to typer.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.errors import CountveilError

if TYPE_CHECKING:
    from countveil.cli.publishing import Asked
    from countveil.tables import Reading, Shaping
    from countveil.tables.progress import Progress

_TEXTS = ("--to", "--memory", "--title", "--contact", "--where")
_FILES = ("--spill", "--private-report")
_NUMBERS = ("--ell", "--seed")
_LISTS = ("-s", "--sensitive", "--keep", "--drop")
_SWITCHES = {
    "--force": ("force", True),
    "--again": ("again", True),
    "--record": ("record", True),
    "--no-record": ("record", False),
}
_OF_READING = ("memory", "spill", "keep", "drop", "where")
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
# What looks like an ell after a column, but may be a mistake.
_DOUBTFUL = re.compile(r"-?\.?[0-9].*", re.ASCII)


@dataclass(frozen=True)
class PlainPublication:
    """What a plain command line says, by the names of the options in Python."""

    table: str
    ells: dict[str, int]
    values: dict[str, Any] = field(default_factory=dict)


def published_quickly(words: Sequence[str]) -> bool:
    """Run the command if it is plain; else do nothing and return False."""
    plain = plain_publication(words)
    if plain is None:
        return False
    # The cores are for our threads; those of the algebra library burn time while they wait.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What is loaded here stays: looking for garbage in it takes time and finds none.
    gc.disable()
    try:
        from countveil.cli.publishing import publish_and_print
        from countveil.publishing import publisher  # noqa: F401 - with all that it needs
    finally:
        gc.freeze()
        gc.enable()
    try:
        publish_and_print(_asked(plain))
    except CountveilError as error:
        if not error.ways:
            raise
        # Loaded only where whole commands are to be named.
        from countveil.cli.app import parser
        from countveil.cli.options.given import naming_commands

        read = parser().commands["publish"].make_context("publish", list(words[1:])).params
        # As typer hands them on: lists, and None in the place of an empty one.
        typed = {n: (list(v) or None) if isinstance(v, tuple) else v for n, v in read.items()}
        with naming_commands("publish", typed):
            raise
    return True


def plain_publication(words: Sequence[str]) -> PlainPublication | None:
    """What a command line says; None if anything needs a closer look."""
    if words[:1] != ["publish"]:
        return None
    values: dict[str, Any] = {}
    for name, value in _given(words[1:]):
        if value is None or (name in values and not isinstance(value, list)):
            return None
        values[name] = [*values.get(name, ()), *value] if isinstance(value, list) else value
    ells = _ells(values.pop("sensitive", []), values.pop("ell", None))
    table = values.pop("table", None)
    if not ells or table is None or "to" not in values:
        return None
    return PlainPublication(table, ells, values)


def _given(words: Sequence[str]) -> Iterator[tuple[str, Any]]:
    """Options with their values; None for one that needs a closer look."""
    remaining = iter(words)
    for word in remaining:
        if word in _SWITCHES:
            yield _SWITCHES[word]
        elif not word.startswith("-"):
            yield "table", word or None
        else:
            flag, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
            text = text if equals else next(remaining, "-")
            name = "sensitive" if flag == "-s" else flag[2:].replace("-", "_")
            yield name, _value(flag, text)


def _value(flag: str, text: str) -> Any:
    if not text or text.startswith("-"):
        return None
    if flag in _NUMBERS:
        return int(text) if _NUMBER.fullmatch(text) else None
    if flag in _LISTS:
        return [text]
    if flag in _FILES:
        return Path(text)
    return text if flag in _TEXTS else None


def _ells(sensitive: Sequence[str], common: int | None) -> dict[str, int] | None:
    """The ell of each column; None if a column has none, or comes twice."""
    chosen: dict[str, int] = {}
    for text in sensitive:
        name, _, number = text.rpartition(":")
        if name and _NUMBER.fullmatch(number):
            column, ell = name, int(number)
        elif common is None or (name and _DOUBTFUL.match(number)):
            return None
        else:
            column, ell = text, common
        if column in chosen:
            return None
        chosen[column] = ell
    return chosen


def _asked(plain: PlainPublication) -> Asked:
    from countveil.cli.publishing import Asked

    values = dict(plain.values)
    protecting = {"sensitive": plain.ells, "seed": values.pop("seed", None)}
    reading = {name: values.pop(name) for name in _OF_READING if name in values}

    def table_options(progress: Progress) -> tuple[Reading, Shaping]:
        from countveil.tables import table_options as options_of

        return options_of(progress=progress, **reading)

    return Asked(plain.table, protecting, values, table_options)
