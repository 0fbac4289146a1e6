"""All commands in one application.

Enters: the arguments. Leaves: an exit code. Must not know: what the commands do.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from countveil import __version__
from countveil.cli.commands import (
    advise,
    audit,
    compare,
    demo,
    export,
    generate,
    inspect,
    publish,
    query,
    show,
    sql,
    verify,
)
from countveil.cli.commands import app as web_app
from countveil.cli.commands.groups import guarantee, ledger, recipe
from countveil.cli.options import ALL_TOGETHER

app = typer.Typer(
    name="countveil",
    help="Publish microdata so that large counts stay right, while single people and small "
    "combinations stay uncertain.",
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)

for module in (
    demo, generate, inspect, advise, publish, show, verify, query, sql, export, audit, compare,
):  # fmt: skip
    app.command(name=module.__name__.rsplit(".", 1)[-1])(module.command)
app.command(name="app")(web_app.command)
app.add_typer(recipe.app, name="recipe")
app.add_typer(ledger.app, name="ledger")
app.add_typer(guarantee.app, name="guarantee")


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"countveil {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    pass


@functools.cache
def parser() -> Any:
    """What reads the arguments of all commands and runs one; making it takes a while."""
    return typer.main.get_command(app)


def run_app() -> int:
    """Run the command that the arguments name."""
    parser()(with_optional_values(sys.argv[1:]), prog_name="countveil")
    return 0


def with_optional_values(arguments: Sequence[str]) -> list[str]:
    """`--together` may stand alone, which the parser of options does not know."""
    written: list[str] = []
    for place, argument in enumerate(arguments):
        following = arguments[place + 1 : place + 2]
        alone = argument == "--together" and (not following or following[0].startswith("-"))
        written.append(f"{argument}={ALL_TOGETHER}" if alone else argument)
    return written
