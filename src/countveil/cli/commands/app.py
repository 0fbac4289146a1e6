"""`countveil app`: the whole of it in a browser, on this machine."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.output import print_paragraph
from countveil.errors import InputError, MissingExtraError


def command(
    release: Annotated[
        Path | None,
        typer.Argument(
            metavar="RELEASE",
            help="Ask this release; the pages of publishers do not exist then.",
            show_default=False,
        ),
    ] = None,
    root: Annotated[
        Path,
        typer.Option(
            "--root",
            metavar="DIR",
            help="The folder below which tables and releases are picked, and releases written.",
        ),
    ] = Path(),
    port: Annotated[
        int,
        typer.Option(
            "--port", metavar="N", help="Listen on this port; 0: a free one.", min=0, max=65535
        ),
    ] = 0,
    browser: Annotated[
        bool,
        typer.Option("--browser/--no-browser", help="Whether to open the link in a browser."),
    ] = True,
) -> None:
    """Publish and ask in a browser; nothing leaves this machine.

    Starts a server that only this machine reaches, prints one link and opens it. The link works
    once; the browser that used it may come back until the app ends. Ctrl-C ends the app, stops what
    it does and leaves nothing half-done behind.

    Example: countveil app --root surveys
    """
    # The threads of the algebra library cost time at the start, and pages need none.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from countveil.web.app import AppSettings
        from countveil.web.serve import serve
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("countveil"):
            raise
        raise MissingExtraError(str(error.name), "app") from None
    from countveil.cli.options.retyped import command_line

    if release is not None and not (release / "manifest.json").is_file():
        raise InputError(
            f"There is no release in {release}: a release is a folder with a manifest."
        )
    where = root if release is None else release.resolve().parent
    serve(
        AppSettings(where, command_line, release),
        port,
        say=_say_link,
        open_link=browser,
    )


def _say_link(link: str) -> None:
    """The one line that matters, and how to end it."""
    print(f"\n  {link}\n", flush=True)
    print_paragraph(
        "Open this link in a browser on this machine. It works once. Ctrl-C ends the app."
    )
