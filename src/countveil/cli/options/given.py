"""From what was typed to the values that functions take.

Enters: the options of a command line. Leaves: values for the functions behind the commands.
Must not know: any command.

A command that reads a table has a parameter `source` (how it is read), and perhaps one of `shaping`
and `recoding` (what is done to its columns). `with_table_options` puts the options of the group in
the place of such a parameter; the command gets a dictionary of those that were given.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import inspect
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countveil.cli.options.completion import column_equals, column_names
from countveil.cli.options.table_options import GROUPS
from countveil.errors import CountveilError

if TYPE_CHECKING:
    from countveil.tables import Reading, Shaping
    from countveil.tables.progress import Progress

Given = dict[str, Any]
NOTHING_GIVEN: Given = {}
_LAST = ("--bins", "--round", "--top", "--bottom")
_RULE = re.compile(r"(rare|prefix)\s*:\s*[0-9]|public:|\s*\{", re.IGNORECASE)
# The parameters of the commands, by which recipes know their options.
PARAMETERS: dict[str, Mapping[str, inspect.Parameter]] = {}
# No word of a command line can begin with it: what follows comes from a recipe.
EXACT = "\0"


def _read_recipe(context: typer.Context, path: Path | None) -> Path | None:
    """Make what the recipe says the defaults of the command."""
    if path is not None and not context.resilient_parsing:
        from countveil.cli.options.recipe import defaults_from

        context.default_map = defaults_from(path, str(context.info_name))
    return path


_RECIPE = {
    "recipe": Annotated[
        Path | None,
        typer.Option(
            "--recipe",
            metavar="FILE",
            help="A file with the options, as countveil recipe new writes it; those that are typed "
            "go before it.",
            callback=_read_recipe,
            is_eager=True,
        ),
    ],
    "write_recipe": Annotated[
        Path | None,
        typer.Option(
            "--write-recipe",
            metavar="FILE",
            help="Write the options of this run to a new recipe when it is done.",
        ),
    ],
}


def with_table_options(command: Callable[..., None]) -> Callable[..., None]:
    """Put the options of each group in the place of the parameter that is named after it."""
    signature = inspect.signature(command, eval_str=True)
    groups = {name: GROUPS[name] for name in signature.parameters if name in GROUPS}
    parameters = list(_expanded(signature.parameters))
    if not command.__module__.endswith(".recipe"):
        keyword = inspect.Parameter.KEYWORD_ONLY
        parameters += [
            inspect.Parameter(name, keyword, default=None, annotation=kind)
            for name, kind in _RECIPE.items()
        ]

    command_name = command.__module__.rpartition(".")[2]
    PARAMETERS[command_name] = {each.name: each for each in parameters}

    @functools.wraps(command)
    def run(**given: Any) -> None:
        given = {name: _exact(value) for name, value in given.items()}
        typed = dict(given)
        recipe, written = given.pop("recipe", None), given.pop("write_recipe", None)
        for group, options in groups.items():
            values = {name: given.pop(name) for name in options}
            given[group] = {n: v for n, v in values.items() if v != options[n].default}
        if recipe is not None:
            given["source"]["recipe"] = recipe
        with naming_commands(command_name, typed):
            if written is None:
                command(**given)
                return
            from countveil.cli.options.recipe import written_after

            written_after(lambda: command(**given), written, command_name, typed)

    run.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


@contextlib.contextmanager
def naming_commands(command: str, typed: Given) -> Iterator[None]:
    """Let an error that knows options which would work end with the commands that have them."""
    try:
        yield
    except CountveilError as error:
        if error.ways:
            from countveil.cli.options.retyped import retyped

            lines = [f"  {retyped(command, typed, way)}" for way in error.ways]
            error.args = ("\n".join([str(error), "Commands that publish it:", *lines]),)
        raise


def _exact(value: Any) -> Any:
    """What a recipe says about columns, as a dictionary; anything else as it is."""
    if isinstance(value, list) and value and str(value[0]).startswith(EXACT):
        return dict(json.loads(text.removeprefix(EXACT)) for text in value)
    return value


def _expanded(parameters: Mapping[str, inspect.Parameter]) -> Iterator[inspect.Parameter]:
    keyword = inspect.Parameter.KEYWORD_ONLY
    for name, parameter in parameters.items():
        if name not in GROUPS:
            yield parameter.replace(kind=keyword)
            continue
        for option, declared in GROUPS[name].items():
            completion = column_names if declared.mark is None else column_equals
            about_columns = (declared.metavar or "").startswith("COL")
            typed = typer.Option(
                declared.flag,
                metavar=declared.metavar,
                help=declared.explanation,
                autocompletion=completion if about_columns else None,
            )
            kind = Annotated[declared.kind, typed]  # type: ignore[name-defined]
            yield inspect.Parameter(option, keyword, default=declared.default, annotation=kind)


def reading_and_shaping(
    source: Given,
    shaping: Given,
    progress: Progress,
    *,
    memory: str | None = None,
    spill: Path | None = None,
) -> tuple[Reading, Shaping]:
    """How to read and shape a table, from the options that were given."""
    from countveil.tables import table_options

    given = {**source, **shaping}
    recipe = given.pop("recipe", None)
    for name, option in {**GROUPS["source"], **GROUPS["shaping"]}.items():
        if option.mark is not None:
            given[name] = pairs(given.get(name), option.mark, option.flag)
    given["columns"] = listed(given.get("columns"))
    reading, shape = table_options(memory=memory, spill=spill, progress=progress, **given)
    # No output replaces the recipe either.
    return reading, replace(shape, files=(*shape.files, recipe)) if recipe else shape


def pairs(given: list[str] | Mapping[str, str] | None, marks: str, option: str) -> dict[str, str]:
    """COL=SPEC, COL=FILE or COL:FILE. A name may hold a mark too: a file that exists decides.

    What a recipe says is not in doubt.
    """
    if isinstance(given, Mapping):
        return dict(given)
    values: dict[str, str] = {}
    for text in given or ():
        places = [place for place, char in enumerate(text) if char in marks]
        splits = [(text[:place], text[place + 1 :]) for place in places]
        sound = [(name, value) for name, value in splits if name and value]
        if not sound:
            raise typer.BadParameter(
                f"{text!r} is not of the form COL{marks[0]}...", param_hint=option
            )
        # A rule such as rare:50, or a list in JSON, names no file.
        rules = [split for split in sound if _RULE.match(split[1])]
        files = [split for split in sound if _names_file(split[1])]
        # What never holds the mark ends at the last one.
        name, value = (rules or files or sound)[0] if option not in _LAST else sound[-1]
        if name in values:
            raise typer.BadParameter(f"column {name!r} is named twice", param_hint=option)
        values[name] = value
    return values


def _names_file(value: str) -> bool:
    """Whether the text is a file, or a file and a level of it."""
    return any(map(os.path.isfile, (value, value.rpartition(":")[0] or value)))


def listed(given: list[str] | None) -> list[str]:
    """Names separated by commas; a name with a comma is in double quotes."""
    lines = csv.reader(given or (), skipinitialspace=True)
    return [name for line in lines for name in line if name]


def with_ell(sensitive: list[str], common: int | None) -> dict[str, int]:
    """COL:ELL or COL, by the last colon if a whole number follows it."""
    chosen: dict[str, int] = {}
    for text in sensitive:
        name, _, number = text.rpartition(":")
        has_ell = re.fullmatch(r"-?[0-9]+", number) is not None and bool(name)
        if not has_ell and name and re.fullmatch(r"-?([0-9]+\.[0-9]*|\.[0-9]+)", number):
            raise typer.BadParameter(
                f"ell must be a whole number of at least 2; {text!r} says {number}. Write "
                f"-s {name}:{max(2, round(float(number)))}",
                param_hint="-s",
            )
        if has_ell and len(number) > 9:
            raise typer.BadParameter("ell is far too large", param_hint="-s")
        column = name if has_ell else text
        if column in chosen:
            raise typer.BadParameter(f"column {column!r} is named twice", param_hint="-s")
        if not has_ell and common is None:
            raise typer.BadParameter(
                f"{text!r} has no ell: write -s {text}:5, or add --ell 5", param_hint="-s"
            )
        chosen[column] = int(number) if has_ell else int(common or 0)
    return chosen


def with_common(given: list[str] | None) -> dict[str, object] | str | None:
    """`auto`, or COL=VALUE by the first equals sign; COL= names the missing value.

    COL=auto alone is for the frequent values of that column.
    """
    if not given:
        return None
    if given == ["auto"]:
        return "auto"
    chosen: dict[str, list[str | None]] = {}
    for text in given:
        name, mark, value = text.partition("=")
        if not mark or not name:
            raise typer.BadParameter(
                f"write 'auto' alone, or COL=VALUE; got {text!r}", param_hint="--common"
            )
        chosen.setdefault(name, []).append(value or None)
    return {name: "auto" if values == ["auto"] else values for name, values in chosen.items()}


def with_reasons(given: list[str] | None, keep: Sequence[str] = ()) -> dict[str, str]:
    """COL=TEXT by the first equals sign, unless a column that is kept has one in its name."""
    reasons: dict[str, str] = {}
    for text in given or ():
        kept = [name for name in keep if text.startswith(f"{name}=")]
        name, _, reason = text.partition("=")
        if kept:
            name = max(kept, key=len)
            reason = text.removeprefix(f"{name}=")
        if not name or not reason.strip():
            raise typer.BadParameter(
                f"write COL=TEXT, with a column of --keep; got {text!r}", param_hint="--reason"
            )
        reasons[name] = reason.strip()
    return reasons


# What `--together` without columns stands for.
ALL_TOGETHER = "*"


def with_together(given: list[str] | None) -> bool | list[list[str]]:
    """All columns, or lists of columns with commas between them; without commas, one list."""
    if not given:
        return False
    if given == [ALL_TOGETHER]:
        return True
    lists = [[name for name in text.split(",") if name] for text in given]
    single = len(lists) > 1 and all(len(names) == 1 for names in lists)
    return [[name for names in lists for name in names]] if single else lists


def as_typed(given: Given) -> list[str]:
    """The options that were given, as they are written on a command line."""
    words: list[str] = []
    for name, value in given.items():
        option = "--" + name.replace("_", "-")
        if name == "header":
            words.append("--no-header")
        elif isinstance(value, bool):
            words.append(option)
        elif isinstance(value, Mapping):
            mark = {**GROUPS["source"], **GROUPS["shaping"]}[name].mark or "="
            words += [word for c, each in value.items() for word in (option, f"{c}{mark[0]}{each}")]
        elif isinstance(value, list):
            words += [word for each in value for word in (option, each)]
        else:
            words += [option, str(value)]
    return words
