"""A quick way to the command that is started most often.

Enters: the arguments. Leaves: whether they were a plain `query DIR SQL [--option value ...]`, which
is then done. Must not know: any other command. Loading the library that reads all other command
lines takes as long as an answer; whatever is not plain, help and mistakes among it, is left
to that library.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?|\.[0-9]{1,9}", re.ASCII)


def answered_quickly(words: Sequence[str]) -> bool:
    """Run the command if it is a plain query."""
    if words[:1] != ["query"]:
        return False
    from countveil.cli.asking import Asked, ask

    named: dict[str, str] = {}
    rest: list[str] = []
    waiting = iter(words[1:])
    for word in waiting:
        if not word.startswith("-"):
            rest.append(word)
            continue
        name, equals, value = word.partition("=")
        if name in named or not name.startswith("--"):
            return False
        named[name] = value if equals else next(waiting, "-")
    options: dict[str, Any] = {}
    for field in fields(Asked):
        text = named.pop("--format" if field.name == "style" else f"--{field.name}", None)
        if text is not None:
            value = _value(text, type(field.default))
            if value is None:
                return False
            options[field.name] = value
    if named or len(rest) != 2 or not all(rest):
        return False
    # What an answer leaves behind goes with the process.
    gc.disable()
    ask(rest[0], rest[1], Asked(**options))
    return True


def _value(text: str, kind: Any) -> Any:
    """The text as a value of an option; None if there is anything to look at more closely."""
    if kind is float:
        return float(text) if _NUMBER.fullmatch(text) else None
    return kind(text) if text in set(kind) else None
