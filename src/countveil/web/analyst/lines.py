"""The command line and the Python that do the same as a screen.

Enters: what a screen does. Leaves: text to copy. Must not know: pages. Both are run by tests, and
give the numbers of the screen.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any, NamedTuple

from countveil.web.analyst.opened import OpenRelease
from countveil.web.analyst.questions import DEFAULTS


class Lines(NamedTuple):
    """A command and Python."""

    command: str
    python: str


def open_lines(place: str, key: str = "") -> Lines:
    """Look at a release and verify it."""
    signed = f" {_flag('signed_by')} {quoted(key)}" if key else ""
    signed_by = f", signed_by={key!r}" if key else ""
    return Lines(
        f"countveil show {quoted(place)}\ncountveil verify {quoted(place)}{signed}",
        f"import countveil as cv\n\nrelease = cv.open({place!r})\nprint(release)\n"
        f"print(cv.verify({place!r}{signed_by}))",
    )


def column_lines(place: str, column: str) -> Lines:
    """The values of a column with their counts."""
    query = f'SELECT "{column}", count(*) FROM release GROUP BY ALL'.replace("\0", "")
    return Lines(
        f"countveil query {quoted(place)} {quoted('DESCRIBE release')}\n"
        f"countveil query {quoted(place)} {quoted(query)}",
        f"import countveil as cv\n\nrelease = cv.open({place!r})\n"
        f"print(release.sql('DESCRIBE release'))\nprint(release.sql({query!r}))",
    )


def ask_lines(place: str, sql: str, options: Mapping[str, Any]) -> Lines:
    """Ask a question."""
    changed = {name: value for name, value in options.items() if value != DEFAULTS.get(name)}
    words = ["countveil", "query", quoted(place), quoted(sql)]
    for name, value in changed.items():
        words += [_flag(name)] if value is True else [_flag(name), quoted(str(value))]
    return Lines(
        " ".join(words),
        f"import countveil as cv\n\nrelease = cv.open({place!r})\n"
        f"answer = release.sql(\n{_in_quotes(sql)}{_arguments(changed)}\n)\nprint(answer)",
    )


def script(opened: OpenRelease, sql: str, options: Mapping[str, Any]) -> str:
    """Python that asks again, and makes sure first that it asks the same release."""
    head, _, rest = ask_lines(opened.typed, sql, options).python.partition("\n\n")
    return (
        f"import hashlib\nfrom pathlib import Path\n\n{head}\n\n"
        f"manifest = Path({opened.typed!r}, 'manifest.json').read_bytes()\n"
        f"if hashlib.sha256(manifest).hexdigest() != {opened.checksum!r}:\n"
        f"    raise SystemExit('This is another release than the answer was from.')\n{rest}"
    )


def crosstab_lines(
    place: str, axes: tuple[str, str], where: str, sql: str, options: Mapping[str, Any]
) -> Lines:
    """The same as a matrix."""
    changed = {name: value for name, value in options.items() if value != DEFAULTS.get(name)}
    condition = f",\n    {where!r}" if where else ""
    return Lines(
        ask_lines(place, sql, options).command,
        f"import countveil as cv\n\nrelease = cv.open({place!r})\ntable = release.crosstab(\n"
        f"    {axes[0]!r}, {axes[1]!r}{condition}{_arguments(changed)}\n)\nprint(table)",
    )


def quoted(word: str) -> str:
    """A word for a shell; SQL, which is full of quotes, stays readable."""
    if "'" not in word or set('!$`\\"') & set(word):
        return shlex.quote(word)
    return f'"{word}"'


def _flag(name: str) -> str:
    """An option of Python as it is typed."""
    return "--" + name.replace("_", "-")


def _arguments(changed: Mapping[str, Any]) -> str:
    return "".join(f",\n    {name}={value!r}" for name, value in changed.items())


def _in_quotes(sql: str) -> str:
    """A text in Python's quotes, over several lines if it has several."""
    lines = sql.splitlines(keepends=True)
    return "\n".join(f"    {line!r}" for line in lines) if len(lines) > 1 else f"    {sql!r}"
