"""The command line as it was typed, with some options changed.

Enters: a command, and what it was given with options that would work instead, or choices as Python
has them. Leaves: a whole command, to copy. Must not know: what any option does.
"""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Mapping
from enum import Enum
from typing import Any, get_args

import typer

from countveil.cli.options.given import PARAMETERS, as_typed, with_ell
from countveil.cli.options.table_options import GROUPS
from countveil.cli.output import command_name


def retyped(command: str, typed: Mapping[str, Any], changes: Mapping[str, Any]) -> str:
    """A command with everything that it was given, but for these options."""
    kept = {name: value for name, value in typed.items() if name not in _of_recipe(command, typed)}
    chosen = {**kept, **changes, **_adapted(typed, changes)}
    return _line(command, chosen)


def command_line(command: str, choices: Mapping[str, Any]) -> str:
    """A command that makes these choices, which are those of Python and of recipes."""
    from countveil.cli.options.recipe import as_typed_choice

    typed = {
        name: value
        if isinstance(value, Mapping) and (name in GROUPS["source"] or name in GROUPS["shaping"])
        else as_typed_choice(name, value, command)
        for name, value in choices.items()
        if name in PARAMETERS[command] and value not in (None, False, "", (), [], {})
    }
    return _line(command, typed)


def _line(command: str, chosen: Mapping[str, Any]) -> str:
    """The words of a command with these options, as a shell takes them."""
    words = [*command_name().split(), command]
    for name, parameter in PARAMETERS[command].items():
        value = chosen.get(name)
        if value in (None, parameter.default):
            continue
        if name in GROUPS["source"] or name in GROUPS["shaping"]:
            words += as_typed({name: value})
        else:
            words += _written(parameter, name, value)
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """A word for a shell; conditions, which are full of quotes, stay readable."""
    if "'" not in word or set("!$`\\") & set(word):
        return shlex.quote(word)
    return '"' + word.replace('"', '\\"') + '"'


def _of_recipe(command: str, typed: Mapping[str, Any]) -> set[str]:
    """The options that the recipe gives."""
    if typed.get("recipe") is None:
        return set()
    from countveil.cli.options.recipe import defaults_from

    given = defaults_from(typed["recipe"], command)
    return {name for name, value in given.items() if name != "table" and typed[name] == value}


def _adapted(typed: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Changes that leave what was said about other columns as it is."""
    adapted: dict[str, Any] = {}
    ells = with_ell(typed["sensitive"], typed["ell"])
    if "sensitive" in changes:
        adapted["sensitive"] = [f"{c}:{n}" for c, n in {**ells, **changes["sensitive"]}.items()]
        adapted["ell"] = None
    if changes.get("common"):
        (name,) = changes["common"]
        others = [text for text in typed["common"] or () if not text.startswith(f"{name}=")]
        adapted["common"] = ["auto"] if len(ells) == 1 else [*others, f"{name}=auto"]
    if "where" in changes and typed.get("where"):
        adapted["where"] = f"({typed['where']}) AND ({changes['where']})"
    if "keep" in changes:
        adapted["keep"] = list(dict.fromkeys([*(typed.get("keep") or ()), *changes["keep"]]))
    return adapted


def _written(parameter: inspect.Parameter, name: str, value: Any) -> list[str]:
    declared = get_args(parameter.annotation)[1]
    named = [declared.default, *(declared.param_decls or ())]
    flags = [flag for flag in named if isinstance(flag, str) and flag.startswith("-")]
    flag = min(flags, key=len, default="--" + name.replace("_", "-"))
    if isinstance(declared, typer.models.ArgumentInfo):
        return [str(value)]
    if isinstance(value, bool):
        yes, _, no = flag.partition("/")
        return [yes if value else no]
    several = value if isinstance(value, list | tuple) else [value]
    texts = [str(each.value if isinstance(each, Enum) else each) for each in several]
    return [word for text in texts for word in (flag, text)]
