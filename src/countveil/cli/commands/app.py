"""`countveil app`: the whole of it in a browser, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from countveil.cli.quick_app import StartOptions, start


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
    start(StartOptions(release, root, port, browser))
