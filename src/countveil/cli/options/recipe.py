"""`--recipe` and `--write-recipe`: the choices of a command from a file, and into one.

Enters: what was typed, and a recipe. Leaves: defaults for the options that were not typed; the
recipe of a run. Must not know: any command, or any option by what it does. Whatever options the
commands declare are known here without being listed.
"""

from __future__ import annotations

import csv
import datetime as dt
import inspect
import io
import json
import os
import re
from collections.abc import Callable, Mapping
from enum import Enum
from pathlib import Path
from typing import Any, get_args

import typer

from countveil import __version__
from countveil.cli.options.given import (
    ALL_TOGETHER,
    EXACT,
    PARAMETERS,
    listed,
    pairs,
    with_common,
    with_ell,
    with_reasons,
)
from countveil.cli.options.table_options import GROUPS
from countveil.report.whole_file import check_file, write_file
from countveil.tables import input_files
from countveil.tables.recipe import (
    COLUMNS,
    COMMANDS,
    FLAG,
    OF_A_RUN,
    Known,
    RecipeOption,
    read_recipe,
    recipe_text,
    shapes_of,
    shared_options,
)

_WHAT = "the recipe"


def known_options() -> Known:
    """The options of all commands that take a recipe."""
    return {
        command: {
            name: _recipe_option(name, parameter)
            for name, parameter in PARAMETERS[command].items()
            if name not in OF_A_RUN
        }
        for command in COMMANDS
    }


def _recipe_option(name: str, parameter: inspect.Parameter) -> RecipeOption:
    kind, declared = get_args(parameter.annotation)[:2]
    metavar = declared.metavar or ""
    shapes, files = shapes_of(kind)
    group = {**GROUPS["source"], **GROUPS["shaping"]}.get(name)
    if name == "sensitive":
        shapes |= {COLUMNS}
    elif metavar.startswith("["):
        # What follows the option may be left out.
        shapes |= {FLAG}
    elif group is None and "COL=" in metavar:
        shapes |= {COLUMNS}
    elif group is not None and group.mark is not None:
        shapes = frozenset({COLUMNS})
    default = None if parameter.default is inspect.Parameter.empty else parameter.default
    default = default.value if isinstance(default, Enum) else default
    named = files or re.search("FILE|DIR|INPUT", metavar) is not None
    # In a file nothing is repeated: there are lists.
    about = re.sub(r" (May be repeated[^.]*|Repeatable)\.", "", declared.help or "")
    return RecipeOption(shapes, named, about, default, metavar)


def defaults_from(path: Path, command: str) -> dict[str, Any]:
    """What a recipe says about a command, as if it had been typed."""
    chosen = read_recipe(path, command, known_options())
    return {name: as_typed_choice(name, value, command) for name, value in chosen.items()}


def as_typed_choice(name: str, value: Any, command: str) -> Any:
    """A choice of a recipe as the command line would have it."""
    kind, declared = get_args(PARAMETERS[command][name].annotation)[:2]
    metavar = declared.metavar or ""
    if isinstance(value, Mapping):
        return _columns_as_typed(name, value, metavar)
    if isinstance(value, bool) and metavar.startswith("["):
        return [ALL_TOGETHER] if value else None
    if re.match(r"list\b", str(kind)) and isinstance(value, str):
        value = [value]
    return [_quoted(each) for each in value] if name == "columns" else value


def _columns_as_typed(name: str, value: Mapping[str, Any], metavar: str) -> list[str]:
    """What a recipe says about columns."""
    if name == "sensitive":
        return [f"{c}:{ell}" if "ELL" in metavar else c for c, ell in value.items()]
    if "COL=VALUE" in metavar or "COL=TEXT" in metavar:
        return [f"{c}={each}" for c, values in value.items() for each in _listed(values)]
    return [EXACT + json.dumps([c, _joined(each)]) for c, each in value.items()]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _joined(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, list) else str(value)


def _quoted(name: str) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow([name])
    return text.getvalue()


def written_after(
    run: Callable[[], None], path: Path, command: str, typed: Mapping[str, Any]
) -> None:
    """Run a command and write its recipe, also when it ends with an exit code of its own."""
    options = known_options()[command]
    named = [Path(str(typed[n])) for n, o in options.items() if o.names_files and typed.get(n)]
    named = [file for file in [typed.get("recipe"), *named] if file is not None]
    chosen = chosen_options(command, typed)
    of_columns = [v for c in chosen.values() if isinstance(c, Mapping) for v in c.values()]
    named += [Path(v) for v in of_columns if isinstance(v, str) and os.path.isfile(v)]  # noqa: PTH113
    read = [*input_files(typed["table"]), *named]
    check_file(path, _WHAT, force=bool(typed.get("force")), again=False, inputs=read)
    end = None
    try:
        run()
    except typer.Exit as exit_code:
        end = exit_code
    today = dt.datetime.now(dt.UTC).date().isoformat()
    head = [
        f"Recipe of a run of countveil {command} ({__version__}) on {today}.",
        "",
        *about_recipes(path.name, command),
    ]
    write_file(path, text_of(path, command, chosen, head, typed.get("recipe")), _WHAT)
    if end is not None:
        raise end


def about_recipes(name: str, command: str) -> list[str]:
    """What a reader of a recipe has to know."""
    return [
        f"Use it: countveil {command} --recipe {name}",
        "",
        "An option that is typed goes before the same option here. At the top stand the options",
        "that several commands share; those of one command stand in its section. A line that",
        "begins with # is a comment: options that were not chosen are shown with their defaults,",
        "or with what they take. Paths are relative to this file.",
        "",
        "Keep it, with the private report: it is the record of what was decided. It is not for",
        "those who get the release.",
    ]


def text_of(
    path: Path,
    command: str,
    chosen: Mapping[str, Any],
    head: list[str],
    recipe: Path | None = None,
) -> str:
    """A recipe with these choices of a command, and those of a recipe for other commands."""
    known = known_options()
    shared = shared_options(known)
    sections: dict[str, dict[str, Any]] = {"": {}, command: {}}
    for name, value in chosen.items():
        sections["" if name in shared else command][name] = value
    for other in known if recipe is not None else ():
        if other != command:
            theirs = read_recipe(recipe or "", other, known)
            sections[other] = {n: v for n, v in theirs.items() if n not in shared}
            # What this command does not take stays for those that do.
            kept = {n: v for n, v in theirs.items() if n in shared and n not in known[command]}
            sections[""] = {**kept, **sections[""]}
    return recipe_text(known, sections, path.parent, head)


def chosen_options(command: str, typed: Mapping[str, Any]) -> dict[str, Any]:
    """The options that are not as they would be anyway, as a recipe has them."""
    options = known_options()[command]
    chosen = {}
    for name, given in typed.items():
        value = given.value if isinstance(given, Enum) else given
        if name in OF_A_RUN or value in (None, [], (), options[name].default):
            continue
        chosen[name] = _for_recipe(name, value, options[name], typed.get("ell"))
    if isinstance(chosen.get("sensitive"), Mapping):
        # Each column has its ell.
        chosen.pop("ell", None)
    return chosen


def _for_recipe(name: str, value: Any, option: RecipeOption, ell: int | None) -> Any:
    declared = {**GROUPS["source"], **GROUPS["shaping"]}.get(name)
    if declared is not None and declared.mark is not None:
        return pairs(value, declared.mark, declared.flag)
    if name == "columns":
        return listed(value)
    if name == "sensitive" and "ELL" in option.metavar:
        return with_ell(value, ell)
    if "COL=TEXT" in option.metavar or value == [ALL_TOGETHER]:
        return value == [ALL_TOGETHER] or with_reasons(value)
    if "COL=VALUE" in option.metavar:
        common = with_common(value)
        return (
            common
            if not isinstance(common, Mapping)
            else {c: [each or "" for each in _listed(v)] for c, v in common.items()}
        )
    return str(value) if isinstance(value, Path) else value
