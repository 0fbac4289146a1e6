"""`countveil recipe new`: the choices of a publication in a file, to be read, edited and kept."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countveil.cli.options import (
    NOTHING_GIVEN,
    Given,
    InputArgument,
    SensitiveIfAnyOption,
    as_typed,
    reading_and_shaping,
    with_table_options,
)
from countveil.cli.output import command_name, print_paragraph, progress_shown
from countveil.display import visible

if TYPE_CHECKING:
    from countveil.publishing.advise.inspecting.inspection import Inspection

app = typer.Typer(
    help="The choices of a publication in a file: written once, used by every command.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def _group() -> None:
    """A group, so that `new` is a command of it."""


@with_table_options
def command(
    table: InputArgument,
    sensitive: SensitiveIfAnyOption = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="The recipe, a .toml file; else it is printed."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
    source: Given = NOTHING_GIVEN,
) -> None:
    """Look at a table, and write a recipe for publishing it.

    The recipe is a TOML file with every option of publish, inspect, advise, audit and compare:
    those that countveil inspect suggests are set, the others are comments with one line of
    explanation each. Read it, change it, and give it to any of these commands with --recipe. It
    names columns and holds no values of the table (but for marks such as ? that stand for a missing
    value).

    Example: countveil recipe new census.csv --to census.toml
    """
    from countveil.cli.options.recipe import about_recipes, chosen_options, text_of
    from countveil.publishing.advise.inspecting.inspect import run_inspect
    from countveil.report.whole_file import check_file, write_file
    from countveil.tables import input_files

    with progress_shown() as progress:
        progress("looking", 0, 0)
        reading, shaping = reading_and_shaping(source, {}, progress)
        if to is not None:
            read = [*input_files(table), *shaping.files]
            check_file(to, "the recipe", force=force, again=False, inputs=read)
        inspection = run_inspect(table, sensitive or (), reading=reading, shaping=shaping)
    path = to or Path("recipe.toml")
    head = ["Recipe of countveil: how a table is read, protected and published.", ""]
    head += [*about_recipes(path.name, "publish"), "", *_columns(inspection)]
    chosen = chosen_options("publish", _suggested(inspection, table, as_typed(source)))
    text = text_of(path, "publish", chosen, head)
    if to is None:
        print(text, end="")
        return
    write_file(to, text, "the recipe")
    print(visible(f"Wrote {to}. Read it, change it, and try it out:"))
    name = shlex.quote(str(to))
    print(visible(f"  {command_name()} publish --recipe {name} --dry-run"))
    if not inspection.sensitive:
        print_paragraph("No column is protected yet: name one under 'sensitive'.")


def _suggested(inspection: Inspection, table: str, options: list[str]) -> dict[str, Any]:
    """The options of the command that an inspection suggests."""
    from countveil.cli.app import app as whole

    words = shlex.split(inspection.publish_line(table, "countveil", options))[2:]
    group: Any = typer.main.get_command(whole)
    parsed = group.commands["publish"].make_context("publish", words, resilient_parsing=True)
    return dict(parsed.params)


def _columns(inspection: Inspection) -> list[str]:
    """The columns and what was found about each, in words."""
    lines = ["The columns, as countveil inspect sees them (names, and no values):"]
    for column in inspection.columns:
        words = f"{column.type[:30]}, {column.distinct:,} different values, {column.role}"
        if column.role == "sensitive" and column.largest_ell > 1:
            words += f", largest ell {column.largest_ell:,}"
        why = f" ({column.why})" if column.why else ""
        lines.append(visible(f"  {column.name}: {words}{why}"))
    return lines


app.command(name="new")(command)
