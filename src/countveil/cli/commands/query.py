"""`countveil query`: ask a release for counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

import typer

from countveil.cli.options import (
    RELEASE_HELP,
    EngineName,
    EngineOption,
    FormatOption,
    LargerOption,
    MasterOption,
    QuestionArgument,
    SignedByOption,
)
from countveil.cli.output import Format
from countveil.cli.quick_query import ChannelName, MethodName, QueryOptions, ask, print_answer
from countveil.errors import SettingsError, option


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
        float,
        typer.Option(
            help="Standard error, over the estimate, up to which an answer is called reliable. It "
            "is one standard error: at 0.1, about 95 of 100 such answers are within 20% of the "
            "truth."
        ),
    ] = QueryOptions.within,
    weighted: Annotated[
        bool,
        typer.Option(
            "--weighted",
            help="Count every row with its survey weight (if the publisher named a weight column): "
            "count(*), sum, avg and shares.",
        ),
    ] = False,
    since: Annotated[
        str | None,
        typer.Option(
            metavar="DIR",
            help="An earlier release of the same ledger: print by how much counts and sums changed "
            "since then. Groups without a change are left out.",
        ),
    ] = None,
    param: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="The value of $NAME in the query. Several times for several parameters.",
        ),
    ] = None,
    table: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=FILE.csv",
            help="A small lookup table that the query may join with the release, by this name.",
        ),
    ] = None,
    engine: EngineOption = EngineName.EMBEDDED,
    master: MasterOption = None,
    signed_by: SignedByOption = None,
    larger: LargerOption = 1,
    timeout: Annotated[
        float | None,
        typer.Option(
            metavar="SECONDS", help="Give up when there is no answer after so many seconds."
        ),
    ] = None,
    style: FormatOption = Format.TABLE,
) -> None:
    """Count rows of a release, with honest errors.

    SELECT [columns,] count(*), sum(x), avg(x) FROM release [JOIN lookup ...] [WHERE ...] [GROUP
    BY ...] [HAVING ...] [ORDER BY ...] [LIMIT n], with WITH, subqueries, CASE and FILTER. Every
    answer is an estimate of the true number with its standard error, an interval and a verdict:
    reliable, indicative or hidden (too uncertain to be used as a number). DESCRIBE release lists
    the columns.

    Example: countveil query census-release "SELECT gender, count(*) FROM release WHERE age >= 60
    AND occupation = 'nurse' GROUP BY gender"
    """
    options = QueryOptions(method, channel, level, within, style, weighted)
    inputs = _inputs(param or [], table or [])
    opening = {"engine": engine, "master": master, "signed_by": signed_by, "larger": larger}
    opening["timeout"] = timeout
    if since is None:
        ask(folder, sql, options, opening, inputs)
    else:
        if inputs:
            raise SettingsError(
                f"Changes take no {option('params')} and no {option('tables')}. Write the values "
                f"into the query."
            )
        _ask_since(folder, since, sql, options, opening)


def _inputs(params: Sequence[str], tables: Sequence[str]) -> dict[str, Any]:
    """Parameters and lookup tables, read."""
    if not params and not tables:
        return {}
    from countveil.asking.questions.inputs import read_lookups, read_parameters

    return {"params": read_parameters(params), "tables": read_lookups(tables)}


def _ask_since(
    folder: str, since: str, sql: str, options: QueryOptions, opening: Mapping[str, Any]
) -> None:
    """Print by how much answers changed."""
    from countveil.asking.opening import open as open_releases

    if options.channel is not ChannelName.EXACT:
        raise SettingsError(f"Changes have no {option('channel', 'printed')}: it gives no errors.")
    series = open_releases([since, folder], **opening)
    if series.releases[0].place != since:
        raise SettingsError(
            f"{since} is release {series.numbers[1]} of the ledger, and {folder} release "
            f"{series.numbers[0]}: {option('since', folder)} asks what changed in {since}."
        )
    answer = series.changes(
        sql,
        method=options.method,
        level=options.level,
        within=options.within,
        weighted=options.weighted,
    )
    print_answer(answer, options.style)
