"""Who is in front of the app: a token for the link, a cookie for the browser, one state a mode.

Enters: cookies and tokens as they were sent. Leaves: the state that belongs to them, or nothing.
Must not know: pages, tables, releases. A publisher's and an analyst's session are different ones:
each has a secret of its own, which the browser sends to the pages of its mode alone.
"""

from __future__ import annotations

import hmac
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from countveil.randomness import fresh_key

# A cookie outlives a restart of the browser; the app it belongs to ends long before.
COOKIE_SECONDS = 7 * 24 * 3600


class Mode(StrEnum):
    """What a cookie opens. `DOOR` is what both sides share: the first page, styles, play."""

    DOOR = "door"
    PUBLISHER = "publisher"
    ANALYST = "analyst"

    @property
    def cookie(self) -> str:
        """The name of its cookie."""
        return f"countveil-{self.value}"

    @property
    def path(self) -> str:
        """Where its pages are, and where its cookie is sent to."""
        return {Mode.PUBLISHER: "/publish", Mode.ANALYST: "/ask"}.get(self, "/")

    @property
    def home(self) -> str:
        """Its first page."""
        return self.path.rstrip("/") + "/"


def mode_of(path: str) -> Mode:
    """The mode whose cookie a path needs."""
    for mode in (Mode.PUBLISHER, Mode.ANALYST):
        if path == mode.path or path.startswith(f"{mode.path}/"):
            return mode
    return Mode.DOOR


@dataclass(slots=True)
class Sessions:
    """The secrets of one run of the app, and the state behind each mode.

    `states` makes the state of a mode when it is entered first; a mode without one does not exist
    in this run. `opened` is the mode that the link opens at once.
    """

    states: Mapping[Mode, Callable[[], Any]]
    opened: Mode = Mode.DOOR
    _token: str | None = field(default_factory=lambda: fresh_key().hex())
    _secrets: dict[Mode, str] = field(default_factory=dict)
    _entered: dict[Mode, Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def token(self) -> str | None:
        """What the link carries, until it is used."""
        return self._token

    def use_token(self, given: str) -> dict[Mode, str] | None:
        """The cookies for whoever brings the token, which is then worth nothing any more."""
        with self._lock:
            if self._token is None or not hmac.compare_digest(_bytes(self._token), _bytes(given)):
                return None
            self._token = None
        modes = {Mode.DOOR, self.opened}
        return {mode: self.enter(mode) for mode in modes}

    def enter(self, mode: Mode) -> str:
        """The secret of a mode, whose state is made if this is the first time."""
        with self._lock:
            if mode not in self._secrets:
                if mode in self.states:
                    self._entered[mode] = self.states[mode]()
                self._secrets[mode] = fresh_key().hex()
            return self._secrets[mode]

    def offers(self, mode: Mode) -> bool:
        """Whether this run of the app has the mode."""
        return mode is Mode.DOOR or mode in self.states

    def admits(self, mode: Mode, cookies: Mapping[str, str]) -> bool:
        """Whether the cookies open the pages of a mode."""
        secret = self._secrets.get(mode)
        given = cookies.get(mode.cookie, "")
        return secret is not None and hmac.compare_digest(_bytes(secret), _bytes(given))

    def state(self, mode: Mode) -> Any:
        """The state of a mode that was entered."""
        return self._entered[mode]

    def close(self) -> None:
        """End what the states still do."""
        for state in self._entered.values():
            state.close()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
