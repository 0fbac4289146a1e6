"""A running app without a server: the application itself, and a browser that was let in."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.web.client import HOST, Client

pytest.importorskip("starlette", reason="the extra app is not installed")

NAME, PORT = HOST.split(":")
StartApp = Callable[..., tuple[Client, Any]]


def written(command: str, choices: Mapping[str, Any]) -> str:
    """The command line of the command itself."""
    import countveil.cli.app  # noqa: F401 - all commands are declared there
    from countveil.cli.options.retyped import command_line

    return command_line(command, choices)


@pytest.fixture
def start_app(tmp_path: Path) -> Iterator[StartApp]:
    """Start an app below a folder; its sessions are closed afterwards."""
    from countveil.web.app import AppSettings, make_app

    started: list[Any] = []

    def start(root: Path | None = None, release: Path | None = None) -> tuple[Client, Any]:
        settings = AppSettings(root or tmp_path, written, release, NAME)
        app, sessions = make_app(settings, int(PORT))
        started.append(sessions)
        return Client(app), sessions

    yield start
    for sessions in started:
        sessions.close()


@pytest.fixture
def publisher(start_app: StartApp) -> Client:
    """A browser in the publisher's mode."""
    return _through_the_door(*start_app(), "publisher")


@pytest.fixture
def analyst(start_app: StartApp) -> Client:
    """A browser in the analyst's mode."""
    return _through_the_door(*start_app(), "analyst")


def _through_the_door(client: Client, sessions: Any, mode: str) -> Client:
    assert client.enter(sessions.token).status == 200
    assert client.post(f"/enter-mode/{mode}").status == 303
    return client
