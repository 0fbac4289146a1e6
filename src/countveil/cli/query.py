"""`countveil query`: ask a release for counts."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countveil.cli.output import Format, FormatOption, print_rows, warn

if TYPE_CHECKING:
    from countveil.result import Answer


class Method(StrEnum):
    """How counts are estimated."""

    UNBIASED = "unbiased"
    BAYES = "bayes"


class Channel(StrEnum):
    """Which transition probabilities are used."""

    EXACT = "exact"
    PRINTED = "printed"


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The release.")],
    sql: Annotated[str, typer.Argument(metavar="SQL", help="The question, in SQL.")],
    method: Annotated[
        Method, typer.Option(help="Estimator: unbiased, or the paper's iterative Bayes.")
    ] = Method.UNBIASED,
    channel: Annotated[
        Channel,
        typer.Option(
            help="The exact channel, or the one the paper prints (Bayes only, no errors)."
        ),
    ] = Channel.EXACT,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = 0.95,
    within: Annotated[
        float, typer.Option(help="Relative standard error up to which a count is reliable.")
    ] = 0.10,
    style: FormatOption = Format.TABLE,
) -> None:
    """Count rows of a release, with honest errors.

    SELECT [columns,] count(*) FROM release [WHERE conditions joined by AND] [GROUP BY columns].
    Conditions on a sensitive column are = and IS NULL; it can also be grouped by. Every answer is
    an estimate of the true count with its standard error, an interval and a verdict: reliable,
    indicative or hidden (too small to say anything, by design).

    Example: countveil query census-release "SELECT gender, count(*) FROM release WHERE age >= 60
    AND occupation = 'nurse' GROUP BY gender"
    """
    from countveil.analyst import Release

    answer = Release(folder).sql(sql, method=method, channel=channel, level=level, within=within)
    for warning in answer.warnings:
        warn(f"Note: {warning}")
    print_rows(
        answer.columns, answer.rows() if style is not Format.TABLE else _readable(answer), style
    )


def _readable(answer: Answer) -> Iterator[tuple[Any, ...]]:
    """Rows for people: what is hidden shows no number that could be taken for an answer."""
    n_groups = len(answer.group_columns)
    for row in answer.rows():
        hidden = row[-1] == "hidden"
        yield (
            *row[:n_groups],
            *(("hidden", None) if hidden else row[n_groups : n_groups + 2]),
            *row[n_groups + 2 :],
        )
