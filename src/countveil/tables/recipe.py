"""A recipe: the choices of a publication in a TOML file, read and written.

Enters: a file and the options that exist, or the choices of a run. Leaves: choices, checked, by
command; or the text of a recipe. Must not know: any option by what it does. A recipe holds names of
columns and files, and what was chosen; no password, and nothing of the table's content that its
author did not write into it.

At the top stand the choices that several commands share; a section such as [publish] or [audit] has
those of one command, and goes before them. Paths are relative to the recipe.
"""

from __future__ import annotations

import functools
import glob
import inspect
import os
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import Any, ParamSpec, TypeVar, Union, get_args, get_origin, get_type_hints

from countveil.display import visible
from countveil.errors import InputError, SettingsError, nearest
from countveil.system.address import POSTGRES, parse_address, relative_path
from countveil.system.regular import read_regular

# What is decided anew for every run, or cannot be written in a file.
OF_A_RUN = frozenset(
    {"force", "again", "dry_run", "style", "progress", "recipe", "write_recipe", "options"}
    | {"measured"}
)
# The same word for different things, so each command has its own.
_OF_EACH_COMMAND = frozenset({"seed", "report"})
TEXT, TEXTS, WHOLE, NUMBER, FLAG, COLUMNS = (
    "a text", "a list of texts", "a whole number", "a number", "true or false",
    "a table of columns (name.COLUMN = ...)",
)  # fmt: skip
_WIDTH, _MOST_BYTES = 96, 16 << 20
_BARE = re.compile(r"[A-Za-z0-9_-]+")
# A rule such as rare:50, or a list in JSON.
_SPECIFICATION = re.compile(r"[a-z]+:|\s*\{")


@dataclass(frozen=True, slots=True)
class RecipeOption:
    """An option as a recipe knows it: what it takes, whether that names files, and its help."""

    shapes: frozenset[str]
    names_files: bool = False
    explanation: str = ""
    default: Any = None
    metavar: str = ""


Known = Mapping[str, Mapping[str, RecipeOption]]
# The commands, and the public functions, that take a recipe.
COMMANDS = ("publish", "inspect", "advise", "audit", "compare")
_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")


def takes_recipe(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Give a public function what its argument `recipe` says, unless the caller says otherwise."""

    @functools.wraps(function)
    def call(*args: _Parameters.args, **kwargs: _Parameters.kwargs) -> _Result:
        recipe: Any = kwargs.get("recipe")
        if recipe is None:
            return function(*args, **kwargs)
        known = _public_options()
        names = list(inspect.signature(function).parameters)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        chosen = read_recipe(recipe, function.__name__, known)
        missing = {"report"} - {*names}
        whole = {k: v for k, v in {**chosen, **given}.items() if k not in missing}
        checked: Any = function
        result: _Result = checked(**whole)
        return result

    return call


def _public_options() -> Known:
    """What the public functions take. They are known by their names alone."""
    from countveil.tables.options import SourceOptions

    known = {}
    for command in COMMANDS:
        hints = get_type_hints(getattr(import_module("countveil"), command))
        # The page is written by the command line; in Python, by whoever calls.
        hints = {**hints, **get_type_hints(SourceOptions), "report": Path}
        known[command] = {
            name: RecipeOption(*shapes_of(hint))
            for name, hint in hints.items()
            if name not in {*OF_A_RUN, "return"}
        }
    return known


def shapes_of(hint: Any) -> tuple[frozenset[str], bool]:
    """What a parameter of this type takes in a recipe, and whether that names files."""
    shapes: set[str] = set()
    files = False
    for part in get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,):
        kind = get_origin(part) or part
        if kind is bool:
            shapes.add(FLAG)
        elif kind in (int, float):
            shapes.add(WHOLE if kind is int else NUMBER)
        elif kind in (str, tuple) or (
            isinstance(kind, type) and issubclass(kind, Enum | os.PathLike)
        ):
            shapes.add(TEXT)
            files = files or (isinstance(kind, type) and issubclass(kind, os.PathLike))
        elif kind in (list, Sequence):
            shapes.add(TEXTS)
        elif kind is Mapping:
            shapes.add(COLUMNS)
            files = files or "PathLike" in str(part)
        elif kind is object:
            # A table in Python may be any object; in a recipe it is named.
            shapes.add(TEXT)
            files = True
    return frozenset(shapes), files


def read_recipe(path: str | os.PathLike[str], command: str, known: Known) -> dict[str, Any]:
    """The choices of a recipe for one command, checked; `known` has the options of each command."""
    file = Path(path)
    content = _parsed(file)
    shared = {key: value for key, value in content.items() if key not in known}
    sections = {key: value for key, value in content.items() if key in known}
    _check_names(file, shared, sections, known)
    chosen = {name: value for name, value in shared.items() if name in known[command]}
    chosen.update(sections.get(command, {}))
    return {
        name: _checked(file, name, value, known[command][name]) for name, value in chosen.items()
    }


def shared_options(known: Known) -> list[str]:
    """The options that stand at the top of a recipe: several commands have them."""
    names = list(dict.fromkeys(name for options in known.values() for name in options))
    return [
        name
        for name in names
        if name not in _OF_EACH_COMMAND and sum(name in options for options in known.values()) > 1
    ]


def _parsed(file: Path) -> dict[str, Any]:
    import tomllib

    try:
        return tomllib.loads(read_regular(file, _MOST_BYTES).decode())
    except FileNotFoundError:
        raise InputError(f"There is no recipe {file}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{file} is not a recipe: it is not UTF-8 text.") from None
    except OSError as error:
        raise InputError(f"The recipe {file} cannot be read: {error.strerror or error}.") from None
    except tomllib.TOMLDecodeError as error:
        raise InputError(f"{file} is not readable TOML: {error}.") from None


def _check_names(
    file: Path, shared: Mapping[str, Any], sections: Mapping[str, Any], known: Known
) -> None:
    everywhere = shared_options(known)
    for name in shared:
        if name in OF_A_RUN:
            raise SettingsError(f"{file}: {name!r} is decided for every run, not in a recipe.")
        having = [command for command, options in known.items() if name in options]
        if name not in everywhere and having:
            where = " or ".join(f"[{command}]" for command in having)
            raise SettingsError(f"{file}: {name!r} belongs into the section {where}.")
        if not having:
            names = [*everywhere, *known]
            raise SettingsError(f"{file}: there is no option {name!r}. {nearest(name, names)}")
    for command, section in sections.items():
        if not isinstance(section, Mapping):
            raise SettingsError(f"{file}: {command!r} must be a section, [{command}].")
        for name in section:
            if name in OF_A_RUN:
                raise SettingsError(f"{file}: {name!r} is decided for every run, not in a recipe.")
            if name not in known[command]:
                raise SettingsError(
                    f"{file}, [{command}]: there is no option {name!r}. "
                    f"{nearest(name, known[command])}"
                )


def _checked(file: Path, name: str, value: Any, option: RecipeOption) -> Any:
    """A choice of the right kind, with its paths as seen from here."""
    if not shape_of(value) & option.shapes:
        wanted = " or ".join(sorted(option.shapes)).replace("name.", f"{name}.")
        raise SettingsError(f"{file}: {name!r} must be {wanted}.")
    if isinstance(value, dict):
        return {
            column: _column_file(file, each, option) if isinstance(each, str) else each
            for column, each in value.items()
        }
    if option.names_files and isinstance(value, str):
        return resolved(value, file.parent)
    return value


def shape_of(value: Any) -> frozenset[str]:
    """The kinds of choice that a value of TOML can be."""
    simple = {bool: {FLAG}, int: {WHOLE, NUMBER}, float: {NUMBER}, str: {TEXT, TEXTS}}
    if type(value) in simple:
        return frozenset(simple[type(value)])
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return frozenset({TEXTS})
    if isinstance(value, dict) and all(_is_plain(each) for each in value.values()):
        return frozenset({COLUMNS})
    return frozenset()


def _is_plain(value: Any) -> bool:
    parts = value if isinstance(value, list) else [value]
    return all(isinstance(part, str | int | float) for part in parts)


def _column_file(file: Path, value: str, option: RecipeOption) -> str:
    """What is said about a column may be a file: one that exists, or nothing else is possible."""
    beside = resolved(value, file.parent)
    only_a_file = option.names_files and not _SPECIFICATION.match(value)
    return beside if only_a_file or os.path.isfile(beside) else value  # noqa: PTH113


def resolved(text: str, folder: Path) -> str:
    """A path or an address that is relative to a folder, as seen from here."""
    if "://" in text:
        # An address with a password is refused here as everywhere.
        parse_address(text)
        return text
    if os.path.realpath(folder) == os.path.realpath("."):
        return text
    kind, place = _database_file(text)
    joined = os.path.join(folder, place)  # noqa: PTH118 - a pattern is no path
    if glob.has_magic(place) and not os.path.exists(joined):  # noqa: PTH110
        joined = os.path.join(glob.escape(os.fspath(folder)), place)  # noqa: PTH118
    return kind + joined


def relative(text: str, folder: Path) -> str:
    """A path or an address as it is written in a recipe in this folder."""
    kind, place = _database_file(text)
    if "://" in text or os.path.isabs(place):  # noqa: PTH117
        return text
    return kind + relative_path(place, folder)


def _database_file(text: str) -> tuple[str, str]:
    """`sqlite:` and the like, and the rest of an address; or nothing and the path."""
    address = parse_address(text)
    if address is None or address.kind == POSTGRES:
        return "", text
    word, colon, rest = text.partition(":")
    return word + colon, rest


def recipe_text(
    known: Known, chosen: Mapping[str, Mapping[str, Any]], folder: Path, head: Iterable[str]
) -> str:
    """A recipe with every option: those that were chosen, and the others as comments.

    `chosen` has the choices of each command; those that are shared stand under "".
    """
    lines = [*(f"# {line}".rstrip() for line in head), ""]
    shared = shared_options(known)
    first = {name: options[name] for options in known.values() for name in options}
    for name in shared:
        lines += _option_lines(name, first[name], chosen.get("", {}), folder)
    for command, options in known.items():
        special = {name: option for name, option in options.items() if name not in shared}
        if special:
            lines += [f"[{command}]", ""]
            for name, option in special.items():
                lines += _option_lines(name, option, chosen.get(command, {}), folder)
    return "\n".join(lines).rstrip() + "\n"


def _option_lines(
    name: str, option: RecipeOption, chosen: Mapping[str, Any], folder: Path
) -> list[str]:
    about = textwrap.wrap(option.explanation, _WIDTH, break_on_hyphens=False)
    lines = [f"# {line}" for line in about]
    if name not in chosen:
        return [*lines, f"# {name}{_example(option)}", ""]
    value = chosen[name]
    if isinstance(value, Mapping):
        for column, each in value.items():
            said = _relative_file(each, folder) if isinstance(each, str) else each
            lines.append(f"{name}.{toml_key(column)} = {toml_value(said)}")
        return [*lines, ""]
    if option.names_files and isinstance(value, str):
        value = relative(value, folder)
    return [*lines, f"{name} = {toml_value(value)}", ""]


def _relative_file(text: str, folder: Path) -> str:
    return relative(text, folder) if os.path.isfile(text) else text  # noqa: PTH113


def _example(option: RecipeOption) -> str:
    """What the option would look like: its default, or what it takes."""
    if option.default is not None:
        return f" = {toml_value(option.default)}"
    if FLAG in option.shapes:
        return " = true"
    metavar = option.metavar or "N"
    if COLUMNS in option.shapes:
        return f".COLUMN = {toml_value(re.split('[=:]', metavar)[-1].strip('[]'))}"
    if TEXTS in option.shapes and TEXT not in option.shapes:
        return f" = {toml_value([metavar])}"
    return f" = {metavar}" if {WHOLE, NUMBER} & option.shapes else f" = {toml_value(metavar)}"


def comment(text: str) -> str:
    """A text, perhaps from data, that cannot leave its comment."""
    return visible(text)


def toml_key(name: str) -> str:
    """A key of TOML."""
    return name if _BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """A value of TOML: a text, a number, a truth value, or a list of them."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    text = str(value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise SettingsError(
            "A name or text that is not valid Unicode has no place in TOML."
        ) from None
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + re.sub(r"[\x00-\x1f\x7f]", lambda match: f"\\u{ord(match[0]):04x}", escaped) + '"'
