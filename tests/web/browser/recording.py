"""What a browser did that it should not have done.

Enters: a context of Playwright, before its first page. Leaves: sentences, one for each request to
another origin, error on the console, exception of a script, and violation of the page's policy.
Must not know: what is on a page.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import BrowserContext, ConsoleMessage, Page, Request, WebError, WebSocket

VIOLATION = "recordedPolicyViolation"
LISTENER = f"""
window.addEventListener("securitypolicyviolation", (event) => {{
  const from = event.sourceFile ? ` (${{event.sourceFile}}:${{event.lineNumber}})` : "";
  window.{VIOLATION}(`${{event.effectiveDirective}} blocked ${{event.blockedURI}}${{from}}`);
}}, true);
"""
# Makes a page in a new context, with options of Playwright's.
Opening = Callable[..., Page]
# What is inside of a page itself, and reaches no host.
WITHIN = ("about", "blob", "data")


class Recorder:
    """Listens to all pages of a context. The origin of the first request is the app's.

    A test that provokes something on purpose excuses it: `recorder.excuse("status of 403")`.
    An excuse for what did not happen is a problem too.
    """

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.origin: str | None = None
        self.requests: list[str] = []
        self._problems: list[str] = []
        self._excuses: list[str] = []
        context.expose_function(VIOLATION, self._violated)
        context.add_init_script(LISTENER)
        context.on("request", self._requested)
        context.on("console", self._said)
        context.on("weberror", self._raised)
        context.on("page", self._opened)

    def excuse(self, pattern: str) -> None:
        """Problems that this regular expression is found in are what the test is about."""
        self._excuses.append(pattern)

    def problems(self) -> list[str]:
        """What was recorded up to now and not excused, and excuses that nothing needed."""
        for page in self.context.pages:
            # What pages have reported so far arrives before the answer to this.
            page.evaluate("null")
        unneeded = [
            f"excused, but nothing was recorded that contains {pattern!r}"
            for pattern in self._excuses
            if not any(re.search(pattern, problem) for problem in self._problems)
        ]
        return [
            problem
            for problem in self._problems
            if not any(re.search(pattern, problem) for pattern in self._excuses)
        ] + unneeded

    def _requested(self, request: Request) -> None:
        self._went_to(request.url)

    def _went_to(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme in WITHIN:
            return
        scheme = {"ws": "http", "wss": "https"}.get(parts.scheme, parts.scheme)
        origin = f"{scheme}://{parts.netloc}"
        self.requests.append(url)
        if self.origin is None:
            self.origin = origin
            if parts.hostname not in ("127.0.0.1", "localhost") and not is_local(parts.hostname):
                self._problems.append(f"the app is not on this machine: {url}")
        elif origin != self.origin:
            self._problems.append(f"request to another origin than {self.origin}: {url}")

    def _said(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning", "assert"):
            place = message.location
            at = f" ({place['url']})" if place.get("url") else ""
            self._problems.append(f"console {message.type}: {message.text}{at}")

    def _raised(self, error: WebError) -> None:
        self._problems.append(f"exception in a script: {error.error}")

    def _violated(self, told: str) -> None:
        self._problems.append(f"policy violated: {told}")

    def _opened(self, page: Page) -> None:
        page.on("websocket", self._connected)

    def _connected(self, socket: WebSocket) -> None:
        self._went_to(socket.url)


def is_local(host: str | None) -> bool:
    """Browsers take every name below localhost for this machine."""
    return host is not None and host.endswith(".localhost")
