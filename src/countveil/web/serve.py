"""The server: a loopback socket, one link, and an end that leaves nothing.

Enters: the settings of a run. Leaves: an exit when the person stops it. Must not know: any page.
Nothing is logged: an address or a form could hold data.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import uvicorn

from countveil.errors import SettingsError, option
from countveil.system.offers import STOP_SIGNALS
from countveil.web.app import AppSettings, make_app


def serve(settings: AppSettings, port: int, *, say: Callable[[str], None], open_link: bool) -> None:
    """Serve until interrupted. `say` prints the link; `open_link` also opens it in a browser."""
    listening = _bound(port)
    chosen = listening.getsockname()[1]
    app, sessions = make_app(settings, chosen)
    link = f"http://{settings.name}:{chosen}/enter?token={sessions.token}"
    config = uvicorn.Config(
        app, log_config=None, access_log=False, server_header=False, date_header=False,
        lifespan="off", h11_max_incomplete_event_size=64 * 1024, limit_concurrency=200,
        timeout_keep_alive=20, timeout_graceful_shutdown=2, ws="none", loop="asyncio", http="h11",
    )  # fmt: skip
    _say_nothing_of_faults()
    server = _Server(config)
    say(link)
    if open_link:
        threading.Thread(target=_open, args=(link,), daemon=True).start()
    try:
        server.run(sockets=[listening])
    finally:
        sessions.close()
        with contextlib.suppress(OSError):
            listening.close()


class _Server(uvicorn.Server):
    """Ctrl-C is how the app ends, and no fault: the signal is not raised again afterwards."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Take the signals that end the app while it runs."""
        before = {number: signal.signal(number, self.handle_exit) for number in STOP_SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _say_nothing_of_faults() -> None:
    """A traceback may quote values of a table: the page names the fault, and a developer may ask.

    COUNTVEIL_TRACEBACK=1 prints it, as for every command.
    """
    if not os.environ.get("COUNTVEIL_TRACEBACK"):
        logger = logging.getLogger("uvicorn")
        logger.addHandler(logging.NullHandler())
        logger.propagate = False


def _bound(port: int) -> socket.socket:
    """A socket that nobody but this machine reaches."""
    try:
        # It listens from here on: a browser that is quicker than the server is kept on the line.
        return socket.create_server(("127.0.0.1", port), backlog=128)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise SettingsError(
            f"The app cannot listen on port {port}: {why}. Without {option('port')}, a free one is "
            f"taken."
        ) from None


def _open(link: str) -> Any:
    import webbrowser

    with contextlib.suppress(webbrowser.Error, OSError):
        webbrowser.open(link)
