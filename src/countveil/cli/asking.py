"""What `countveil query` does, without what reads a command line.

Enters: a release, SQL and options. Leaves: a printed answer. Must not know: typer, so that the
quick way (`quick`) need not load it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from countveil.cli.output import Format, print_rows, warn


class Method(StrEnum):
    """How counts are estimated."""

    SHRUNK = "shrunk"
    UNBIASED = "unbiased"
    BAYES = "bayes"


class Channel(StrEnum):
    """Which transition probabilities are used."""

    EXACT = "exact"
    PRINTED = "printed"


@dataclass(frozen=True)
class Asked:
    """How to answer, and how to print it: the options of the command with their defaults."""

    method: Method = Method.SHRUNK
    channel: Channel = Channel.EXACT
    level: float = 0.95
    within: float = 0.10
    style: Format = Format.TABLE


def ask(
    folder: str, sql: str, asked: Asked, engine: str = "embedded", master: str | None = None
) -> None:
    """Ask a release and print what it answers."""
    from countveil.asking.release import Release

    answer = Release(folder, engine=engine, master=master).sql(
        sql, method=asked.method, channel=asked.channel, level=asked.level, within=asked.within
    )
    for warning in answer.warnings:
        warn(f"Note: {warning}")
    rows = answer.readable_rows() if asked.style is Format.TABLE else answer.rows()
    print_rows(answer.columns, rows, asked.style)
