"""What a request must be before any page sees it.

Enters: raw ASGI requests. Leaves: those that came from the person at this machine, each with
`scope["countveil.mode"]`; all others get a refusal of one line. Must not know: any page.

It looks at raw headers and the raw path, so that nothing is decided on what a library made of them:

- another `Host` than the random name of this run: 421 (a page elsewhere that points its name here);
- a path or method that no page has: 404, 405;
- no cookie of the mode that the path belongs to: 403;
- a POST that this app's own pages did not send: 403; one that is too long or no form: 413, 415.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from countveil.web.sessions import COOKIE_SECONDS, Mode, Sessions, mode_of

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

ENTRY = "/enter"
MOST_BYTES = 1 << 20
_PATH = re.compile(rb"/[A-Za-z0-9/_.-]{0,500}")
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
_HEADERS = (
    (b"content-security-policy", _POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    # Not "no-referrer": forms would then say that they come from nowhere.
    (b"referrer-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"permissions-policy", b"camera=(), microphone=(), geolocation=(), payment=()"),
)
_FORM = b"application/x-www-form-urlencoded"


class Guard:
    """The app behind it answers only whom it is for. `host` is the name and port of this run."""

    def __init__(self, app: App, host: str, sessions: Sessions) -> None:
        self._app, self._host, self._sessions = app, host.encode(), sessions
        self._origin = b"http://" + self._host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            # There are no websockets here; closing before accepting refuses them.
            await send({"type": "websocket.close", "code": 1008})
            return
        send = _with_headers(send)
        refusal = self._refusal(scope)
        if refusal is not None:
            await _say(send, *refusal)
        elif scope["path"] == ENTRY:
            await self._enter(scope, send)
        else:
            await self._app(scope, _limited(receive), send)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """Why a request is not answered; None if it is."""
        headers, method = scope["headers"], scope["method"]
        if _values(headers, b"host") != [self._host]:
            return 421, "This address does not belong to the app. Use the link that it printed."
        raw = scope.get("raw_path") or scope["path"].encode("utf-8", "replace")
        sound = _PATH.fullmatch(raw) and b"//" not in raw and b"/." not in raw
        # Pages are chosen by the other one.
        if not sound or raw.decode("ascii") != scope["path"]:
            return 404, "There is no such page."
        if method not in ("GET", "HEAD", "POST"):
            return 405, "Pages are read with GET and changed with POST."
        path = raw.decode("ascii")
        if path == ENTRY:
            return None if method == "GET" else (405, "The link is opened with GET.")
        return self._not_admitted(scope, path) or (
            self._refused_post(headers) if method == "POST" else None
        )

    def _not_admitted(self, scope: Scope, path: str) -> tuple[int, str] | None:
        """Why a page is closed to whoever asks for it."""
        mode = mode_of(path)
        if not self._sessions.offers(mode):
            return 404, "There is no such page: this app was started for a release alone."
        if not self._sessions.admits(mode, _cookies(scope["headers"])):
            return 403, "This page needs the link that the app printed when it started."
        scope["countveil.mode"] = mode
        return None

    def _refused_post(self, headers: Sequence[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        """Why what was sent is not taken: only this app's own pages may send."""
        if _values(headers, b"origin") != [self._origin]:
            return 403, "This did not come from a page of the app."
        if _values(headers, b"sec-fetch-site") not in ([], [b"same-origin"]):
            return 403, "This did not come from a page of the app."
        kinds = _values(headers, b"content-type")
        if [kind.partition(b";")[0].strip().lower() for kind in kinds] != [_FORM]:
            return 415, "The app takes forms, and no files."
        lengths = _values(headers, b"content-length")
        if len(lengths) > 1 or any(not n.isdigit() or int(n) > MOST_BYTES for n in lengths):
            return 413, "That is more than a form of the app can hold."
        return None

    async def _enter(self, scope: Scope, send: Send) -> None:
        """Turn the token of the link into cookies."""
        query = scope.get("query_string", b"")[:1_000].decode("ascii", "replace")
        given = parse_qs(query).get("token", [""])[0]
        secrets = self._sessions.use_token(given)
        if secrets is None:
            if self._sessions.admits(Mode.DOOR, _cookies(scope["headers"])):
                # The link was opened a second time, in the browser that it let in.
                await _let_in(send, self._sessions.opened.home, [])
                return
            text = "This link was used before, or is not that of this run. Start the app again."
            await _say(send, 403, text)
            return
        cookies = [set_cookie(mode, secret) for mode, secret in secrets.items()]
        await _let_in(send, self._sessions.opened.home, cookies)


def set_cookie(mode: Mode, secret: str) -> str:
    """The header that gives a browser the secret of a mode."""
    return (
        f"{mode.cookie}={secret}; Path={mode.path}; Max-Age={COOKIE_SECONDS}; HttpOnly; "
        f"SameSite=Strict"
    )


def _values(headers: Sequence[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def _cookies(headers: Sequence[tuple[bytes, bytes]]) -> dict[str, str]:
    """The cookies that were sent; one that is sent twice counts as none."""
    cookies: dict[str, str] = {}
    twice: set[str] = set()
    for value in _values(headers, b"cookie"):
        for part in value.decode("latin-1").split(";"):
            try:
                parsed = SimpleCookie(part.strip())
            except CookieError:
                continue
            for name, morsel in parsed.items():
                twice |= {name} & cookies.keys()
                cookies[name] = morsel.value
    return {name: value for name, value in cookies.items() if name not in twice}


def _limited(receive: Receive) -> Receive:
    """What is received, cut off where a body is longer than it may be."""
    received = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal received
        message = await receive()
        received += len(message.get("body", b""))
        if received > MOST_BYTES:
            return {"type": "http.disconnect"}
        return message

    return limited


def _with_headers(send: Send) -> Send:
    """Every answer says what a browser may do with it."""

    async def sending(message: MutableMapping[str, Any]) -> None:
        if message["type"] == "http.response.start":
            given = [pair for pair in message.get("headers", ()) if pair[0].lower() != b"server"]
            names = {name.lower() for name, _ in given}
            more = [pair for pair in _HEADERS if pair[0] not in names]
            if b"cache-control" not in names:
                more.append((b"cache-control", b"no-store"))
            message = {**message, "headers": [*given, *more]}
        await send(message)

    return sending


async def _say(send: Send, status: int, text: str) -> None:
    body = (text + "\n").encode()
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})


async def _let_in(send: Send, path: str, cookies: Sequence[str]) -> None:
    """A page that leads on.

    A redirect would not do: where a link was opened from another page, the browser keeps strict
    cookies back until a page of the app itself asks for the next one.
    """
    body = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>countveil</title>'
        f'<link rel="icon" href="/static/icon.svg">'
        f'<meta http-equiv="refresh" content="0;url={path}"><a href="{path}">Open countveil</a>'
    ).encode()
    headers = [
        (b"content-type", b"text/html; charset=utf-8"),
        (b"content-length", str(len(body)).encode()),
        *((b"set-cookie", text.encode()) for text in cookies),
    ]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": body})
