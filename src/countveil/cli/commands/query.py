"""`countveil query`: ask a release for counts."""

from __future__ import annotations

from typing import Annotated

import typer

from countveil.cli.options import (
    RELEASE_HELP,
    EngineName,
    EngineOption,
    FormatOption,
    MasterOption,
    QuestionArgument,
)
from countveil.cli.output import Format
from countveil.cli.quick_query import ChannelName, MethodName, QueryOptions, ask


def command(
    folder: Annotated[
        str,
        typer.Argument(
            metavar="DIR",
            help=f"{RELEASE_HELP}; with --engine spark any address that Spark reads.",
        ),
    ],
    sql: QuestionArgument,
    method: Annotated[
        MethodName,
        typer.Option(help="Estimator: shrunk (the best guess), unbiased, or the paper's Bayes."),
    ] = QueryOptions.method,
    channel: Annotated[
        ChannelName,
        typer.Option(
            help="The exact channel, or the one the paper prints (Bayes only, no errors)."
        ),
    ] = QueryOptions.channel,
    level: Annotated[float, typer.Option(help="Level of the intervals.")] = QueryOptions.level,
    within: Annotated[
        float, typer.Option(help="Relative standard error up to which a count is reliable.")
    ] = QueryOptions.within,
    weighted: Annotated[
        bool,
        typer.Option(
            "--weighted",
            help="Count every row with its survey weight (if the publisher named a weight column): "
            "count(*), sum, avg and shares.",
        ),
    ] = False,
    engine: EngineOption = EngineName.EMBEDDED,
    master: MasterOption = None,
    style: FormatOption = Format.TABLE,
) -> None:
    """Count rows of a release, with honest errors.

    SELECT [columns,] count(*), sum(x), avg(x) FROM release [WHERE ...] [GROUP BY ...]
    [HAVING ...] [ORDER BY ...] [LIMIT n]. Every answer is an estimate of the true number with its
    standard error, an interval and a verdict: reliable, indicative or hidden (too uncertain
    to be used as a number).

    Example: countveil query census-release "SELECT gender, count(*) FROM release WHERE age >= 60
    AND occupation = 'nurse' GROUP BY gender"
    """
    options = QueryOptions(method, channel, level, within, style, weighted)
    ask(folder, sql, options, engine, master)
