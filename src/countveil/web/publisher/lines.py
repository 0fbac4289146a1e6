"""The command and the Python that do what a screen does.

Enters: a function and what it is handed. Leaves: two texts to copy. Must not know: any screen. A
shell takes the one and Python the other, and both make the same choices.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from countveil.web.publisher.draft import LISTS

CommandWriter = Callable[[str, Mapping[str, Any]], str]
_RESULTS = {
    "inspect": "inspection", "advise": "advice", "publish": "release", "audit": "audit",
}  # fmt: skip
_WIDTH = 68


@dataclass(frozen=True, slots=True)
class Lines:
    """The same by command and in Python."""

    command: str
    python: str


def lines_of(
    write_command: CommandWriter, function: str, table: str, arguments: Mapping[str, Any]
) -> Lines:
    """The call of a public function, both ways."""
    return Lines(
        write_command(function, {"table": table, **_for_command(arguments)}),
        python_call(function, table, arguments),
    )


def python_call(function: str, table: str, arguments: Mapping[str, Any]) -> str:
    """The call in Python; what it gives is printed."""
    result = _RESULTS[function]
    parts = [repr(table), *(f"{name}={value!r}" for name, value in arguments.items())]
    call = f"{result} = cv.{function}({', '.join(parts)})"
    if len(call) > _WIDTH:
        inside = "".join(f"    {part},\n" for part in parts)
        call = f"{result} = cv.{function}(\n{inside})"
    return f"import countveil as cv\n\n{call}\nprint({result})"


def handing_over(release: str, question: str) -> Lines:
    """What analysts type, wherever they are."""
    command = "countveil"
    folder = shlex.quote(release)
    return Lines(
        "\n".join(
            [
                f"{command} verify {folder}",
                f"{command} query {folder} {shlex.quote(question)}",
                f"{command} app {folder}",
            ]
        ),
        f"import countveil as cv\n\nprint(cv.verify({release!r}))\n"
        f"release = cv.open({release!r})\nprint(release.sql({question!r}))",
    )


def _for_command(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Lists of columns, formats, and values with their labels, as a command takes them."""
    written = dict(arguments)
    if arguments.get("together"):
        written["together"] = [",".join(names) for names in arguments["together"]]
    if arguments.get("metadata"):
        written["metadata"] = [",".join(arguments["metadata"])]
    for option in LISTS:
        if option in arguments:
            written[option] = {c: _in_json(each) for c, each in arguments[option].items()}
    return written


def _in_json(given: Any) -> Any:
    return json.dumps(given, ensure_ascii=False) if isinstance(given, Mapping) else given
