"""`countveil query`: ask a release for counts."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.output import Format, FormatOption, print_rows, warn


class Method(StrEnum):
    """How counts are estimated."""

    UNBIASED = "unbiased"
    BAYES = "bayes"


class Channel(StrEnum):
    """Which transition probabilities are used."""

    EXACT = "exact"
    PRINTED = "printed"


def command(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The release.", readable=False)],
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

    SELECT [columns,] count(*), sum(x), avg(x) FROM release [WHERE ...] [GROUP BY ...]
    [HAVING ...] [ORDER BY ...] [LIMIT n]. Every answer is an estimate of the true number with its
    standard error, an interval and a verdict: reliable, indicative or hidden (too small to say
    anything, by design).

    Example: countveil query census-release "SELECT gender, count(*) FROM release WHERE age >= 60
    AND occupation = 'nurse' GROUP BY gender"
    """
    from countveil.analyst import Release

    answer = Release(folder).sql(sql, method=method, channel=channel, level=level, within=within)
    for warning in answer.warnings:
        warn(f"Note: {warning}")
    rows = answer.readable_rows() if style is Format.TABLE else answer.rows()
    print_rows(answer.columns, rows, style)
