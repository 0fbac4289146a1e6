"""`countveil sql`: plain SQL that answers a question in any database."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from countveil.cli.options import (
    LargerOption,
    QuestionArgument,
    ReleaseArgument,
    SignedByOption,
)
from countveil.display import visible
from countveil.errors import QueryError


class DialectName(StrEnum):
    """The database whose SQL is written."""

    POSTGRES = "postgres"
    SQLITE = "sqlite"
    DUCKDB = "duckdb"


def command(
    folder: ReleaseArgument,
    sql: QuestionArgument,
    dialect: Annotated[
        DialectName, typer.Option("--dialect", help="The database that will run it.")
    ] = DialectName.POSTGRES,
    table: Annotated[
        str,
        typer.Option(
            "--table", metavar="NAME", help="The table with the release's rows there, or its view."
        ),
    ] = "release",
    weighted: Annotated[
        bool,
        typer.Option("--weighted", help="Count every row with its survey weight."),
    ] = False,
    signed_by: SignedByOption = None,
    larger: LargerOption = 1,
) -> None:
    """Print SQL that answers the question in your own database, without countveil.

    It sums weights over the published rows: the estimates are the unbiased ones of `countveil
    query`, with their standard errors. The weights in the text belong to this release. The question
    is written as for `countveil query`; what a database would answer differently, and errors that
    no sum over rows can give, are refused.

    Example: countveil sql census-release "SELECT gender, count(*) FROM release WHERE
    occupation = 'nurse' GROUP BY gender" --dialect sqlite --table census
    """
    from countveil.asking.release import Release

    release = Release(folder, signed_by=signed_by, larger=larger)
    text = release.plain_sql(sql, dialect=dialect, table=table, weighted=weighted)
    if visible(text) != text:
        # Literals hold no control characters; names can be written in no other way.
        raise QueryError(
            "A column or a name in the query has control characters, which could steer the "
            "terminal that shows the SQL. Name columns with AS, without them; or get the text in "
            "Python, with release.plain_sql."
        )
    print(text)
