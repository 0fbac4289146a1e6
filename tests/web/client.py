"""A small client of ASGI applications: requests by hand, with cookies, as browsers send them.

It sends what it is told, right or wrong: headers can be left out, repeated and forged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode, urlsplit

HOST = "countveil-test.localhost:8000"
Headers = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    cookies: Sequence[str]
    body: bytes

    @property
    def text(self) -> str:
        return self.body.decode("utf-8")


@dataclass(slots=True)
class Client:
    """One browser. `host` is what it thinks it talks to."""

    app: Any
    host: str = HOST
    jar: dict[str, tuple[str, str]] = field(default_factory=dict)

    def get(self, path: str, *, headers: Headers = (), htmx: bool = False) -> Reply:
        more = [*headers, *([("hx-request", "true")] if htmx else [])]
        return self.request("GET", path, more)

    def post(
        self,
        path: str,
        fields: Mapping[str, str] | Sequence[tuple[str, str]] = (),
        *,
        headers: Headers = (),
        htmx: bool = False,
    ) -> Reply:
        body = urlencode(fields).encode()
        sent = [
            ("origin", f"http://{self.host}"),
            ("content-type", "application/x-www-form-urlencoded"),
            ("content-length", str(len(body))),
            *headers,
            *([("hx-request", "true")] if htmx else []),
        ]
        return self.request("POST", path, sent, body)

    def followed(self, reply: Reply) -> Reply:
        """The page that a redirect leads to."""
        assert reply.status == 303, (reply.status, reply.text[:500])
        return self.get(reply.headers["location"])

    def enter(self, token: str | None) -> Reply:
        """Open the link."""
        return self.get(f"/enter?token={token}")

    def request(self, method: str, path: str, headers: Headers = (), body: bytes = b"") -> Reply:
        """Any request; `host` and cookies are added unless they are given."""
        names = {name.lower() for name, _ in headers}
        sent = list(headers)
        if "host" not in names:
            sent.append(("host", self.host))
        if "cookie" not in names and (cookies := self._cookies_for(path)):
            sent.append(("cookie", cookies))
        reply = asyncio.run(self._ask(method, path, sent, body))
        for text in reply.cookies:
            pair, *rest = text.split("; ")
            name, _, value = pair.partition("=")
            where = next((r[5:] for r in rest if r.startswith("Path=")), "/")
            self.jar[name] = (value, where)
        return reply

    def _cookies_for(self, path: str) -> str:
        place = urlsplit(path).path
        sent = [
            f"{name}={value}"
            for name, (value, where) in self.jar.items()
            if where in ("/", place) or place.startswith(f"{where}/")
        ]
        return "; ".join(sent)

    async def _ask(self, method: str, path: str, headers: Headers, body: bytes) -> Reply:
        raw, _, query = path.partition("?")
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method,
            "scheme": "http", "path": raw, "raw_path": raw.encode(), "root_path": "",
            "query_string": query.encode(), "server": ("127.0.0.1", 8000),
            "client": ("127.0.0.1", 50_000),
            "headers": [(n.lower().encode("latin-1"), v.encode("latin-1")) for n, v in headers],
        }  # fmt: skip
        received = [{"type": "http.request", "body": body, "more_body": False}]
        sent: list[Any] = []

        async def receive() -> Any:
            return received.pop(0) if received else {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            sent.append(message)

        await self.app(scope, receive, send)
        start = next(m for m in sent if m["type"] == "http.response.start")
        pairs = [(n.decode().lower(), v.decode("latin-1")) for n, v in start["headers"]]
        return Reply(
            start["status"],
            dict(pairs),
            [value for name, value in pairs if name == "set-cookie"],
            b"".join(m.get("body", b"") for m in sent if m["type"] == "http.response.body"),
        )
