"""`countveil app` without the library that reads command lines.

Enters: perhaps a release, and options. Leaves: a running app. Must not know: typer, any page.

Loading typer takes half as long as the rest of the start, and a person waits for the first page. So
a plain `app [RELEASE] [--option value ...]` is read here; anything else, such as help or a mistake,
is left to typer.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countveil.errors import InputError, MissingExtraError

_PORT = re.compile(r"[0-9]{1,5}", re.ASCII)
_HIGHEST_PORT = 65535


@dataclass(frozen=True)
class StartOptions:
    """How the app starts: the options of the command with their defaults."""

    release: Path | None = None
    root: Path = Path()
    port: int = 0
    browser: bool = True


def started_quickly(words: Sequence[str]) -> bool:
    """Run the command if it is plain; else do nothing and return False."""
    options = plain_start(words)
    if options is None:
        return False
    start(options)
    return True


def start(options: StartOptions) -> None:
    """Serve until the person ends it."""
    # The threads of the algebra library cost time at the start, and pages need none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # What is loaded here stays: looking for garbage in it takes time and finds none.
    gc.disable()
    try:
        from countveil.web.app import AppSettings
        from countveil.web.serve import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("countveil"):
            raise
        raise MissingExtraError(str(error.name), "app") from None
    finally:
        gc.freeze()
        gc.enable()
    release = options.release
    if release is not None and not (release / "manifest.json").is_file():
        raise InputError(
            f"There is no release in {release}: a release is a folder with a manifest."
        )
    where = options.root if release is None else release.resolve().parent
    settings = AppSettings(where, _command_line, release)
    serve(settings, options.port, say=_say_link, open_link=options.browser)


def plain_start(words: Sequence[str]) -> StartOptions | None:
    """The options; None if anything needs a closer look."""
    if words[:1] != ["app"]:
        return None
    values: dict[str, Any] = {}
    remaining = iter(words[1:])
    for word in remaining:
        name, value = _given(word, remaining)
        if value is None or name in values:
            return None
        values[name] = value
    return StartOptions(**values)


def _given(word: str, following: Any) -> tuple[str, Any]:
    """An option and its value; None for one that needs a closer look."""
    if word in ("--browser", "--no-browser"):
        return "browser", word == "--browser"
    if not word.startswith("-"):
        return "release", Path(word) if word else None
    name, equals, text = word.partition("=")
    text = text if equals else next(following, "-")
    if name == "--root" and text and not text.startswith("-"):
        return "root", Path(text)
    if name == "--port" and _PORT.fullmatch(text) and int(text) <= _HIGHEST_PORT:
        return "port", int(text)
    return name, None


def _command_line(command: str, choices: Mapping[str, Any]) -> str:
    """The publisher's pages show commands; only then the options of all commands are loaded."""
    import countveil.cli.app  # noqa: F401 - there every command says which options it has
    from countveil.cli.options.retyped import command_line

    return command_line(command, choices)


def _say_link(link: str) -> None:
    """The one line that matters, and how to end it."""
    from countveil.cli.output import print_paragraph

    print(f"\n  {link}\n", flush=True)
    print_paragraph(
        "Open this link in a browser on this machine. It works once. Ctrl-C ends the app."
    )
