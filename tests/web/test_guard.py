"""Who is let in, and what is refused: each line of the guard is attacked."""

from __future__ import annotations

from typing import Any

import pytest

from countveil.web.guard import MOST_BYTES
from tests.web.client import HOST, Client
from tests.web.conftest import StartApp


@pytest.fixture
def admitted(start_app: StartApp) -> Client:
    client, sessions = start_app()
    client.enter(sessions.token)
    return client


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1:8000", "localhost:8000", "evil.example", "evil.example:8000",
        "countveil-test.localhost", "countveil-test.localhost:8001",
        "countveil-other.localhost:8000", "countveil-test.localhost.evil.example:8000",
        f"user@{HOST}", HOST.upper(), f"{HOST}.", "",
    ],
)  # fmt: skip
def test_another_host_is_misdirected(admitted: Client, host: str) -> None:
    reply = admitted.get("/", headers=[("host", host)])
    assert reply.status == 421
    assert "count<b>veil" not in reply.text


def test_two_hosts_are_misdirected(admitted: Client) -> None:
    assert admitted.get("/", headers=[("host", HOST), ("host", HOST)]).status == 421


@pytest.mark.parametrize(
    "path", ["/", "/play/", "/look.css", "/static/app.css", "/publish/", "/ask/", "/nothing"]
)
def test_nothing_is_shown_without_the_link(start_app: StartApp, path: str) -> None:
    client, _ = start_app()
    assert client.get(path).status == 403
    assert client.get(path, headers=[("cookie", "countveil-door=")]).status == 403
    forged = f"countveil-door={'0' * 64}; countveil-publisher={'0' * 64}"
    assert client.get(path, headers=[("cookie", forged)]).status == 403


def test_the_link_works_once(start_app: StartApp) -> None:
    client, sessions = start_app()
    token = sessions.token
    assert client.enter("0" * 64).status == 403
    assert client.enter("").status == 403
    assert client.enter(token).status == 200
    assert client.get("/").status == 200
    stranger = Client(client.app)
    assert stranger.enter(token).status == 403
    assert stranger.get("/").status == 403
    # Whoever was let in may open the link again.
    assert client.enter(token).status == 200


def test_cookies_are_kept_from_scripts_and_other_sites(start_app: StartApp) -> None:
    client, sessions = start_app()
    texts = [*client.enter(sessions.token).cookies, *client.post("/enter-mode/publisher").cookies]
    assert len(texts) == 2
    for text in texts:
        attributes = text.split("; ")[1:]
        assert "HttpOnly" in attributes
        assert "SameSite=Strict" in attributes
        assert any(a.startswith("Max-Age=") for a in attributes)
        assert not any(a.startswith("Domain") for a in attributes)
    assert "Path=/publish" in texts[1].split("; ")


def test_a_mode_needs_its_own_cookie(start_app: StartApp) -> None:
    client, sessions = start_app()
    client.enter(sessions.token)
    assert client.get("/publish/").status == 403
    assert client.get("/ask/").status == 403
    client.post("/enter-mode/analyst")
    assert client.get("/ask/").status != 403
    assert client.get("/publish/").status == 403
    # The secret of one mode does not open the other, under whatever name it is sent.
    secret = client.jar["countveil-analyst"][0]
    forged = f"countveil-publisher={secret}; countveil-door={secret}"
    assert client.get("/publish/", headers=[("cookie", forged)]).status == 403


def test_a_cookie_that_is_sent_twice_counts_as_none(admitted: Client) -> None:
    value = admitted.jar["countveil-door"][0]
    twice = f"countveil-door={value}; countveil-door=x"
    assert admitted.get("/", headers=[("cookie", twice)]).status == 403


@pytest.mark.parametrize(
    "origin",
    [
        None, "null", "http://evil.example", "http://countveil-test.localhost:8001",
        "http://localhost:8000", "http://127.0.0.1:8000", f"https://{HOST}",
        f"http://{HOST}.evil.example", f"http://{HOST}/",
    ],
)  # fmt: skip
def test_a_post_from_elsewhere_is_refused(admitted: Client, origin: str | None) -> None:
    headers = [("content-type", "application/x-www-form-urlencoded"), ("content-length", "0")]
    headers += [] if origin is None else [("origin", origin)]
    reply = admitted.request("POST", "/enter-mode/publisher", headers)
    assert reply.status == 403
    assert not reply.cookies


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "nonsense"])
def test_a_post_that_the_browser_calls_foreign_is_refused(admitted: Client, site: str) -> None:
    reply = admitted.post("/enter-mode/publisher", headers=[("sec-fetch-site", site)])
    assert reply.status == 403


def test_a_post_of_our_own_page_is_taken(admitted: Client) -> None:
    reply = admitted.post("/enter-mode/publisher", headers=[("sec-fetch-site", "same-origin")])
    assert reply.status == 303


@pytest.mark.parametrize(
    "kind", ["multipart/form-data; boundary=x", "text/plain", "application/json", ""]
)
def test_only_forms_are_taken(admitted: Client, kind: str) -> None:
    headers = [("origin", f"http://{HOST}"), ("content-type", kind), ("content-length", "0")]
    assert admitted.request("POST", "/enter-mode/publisher", headers).status == 415


def test_a_form_that_is_too_long_is_refused(admitted: Client) -> None:
    headers = [
        ("origin", f"http://{HOST}"),
        ("content-type", "application/x-www-form-urlencoded"),
        ("content-length", str(MOST_BYTES + 1)),
    ]
    assert admitted.request("POST", "/enter-mode/publisher", headers).status == 413
    assert admitted.request("POST", "/", [*headers[:2], ("content-length", "-1")]).status == 413


@pytest.mark.parametrize("method", ["PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"])
def test_other_methods_are_refused(admitted: Client, method: str) -> None:
    assert admitted.request(method, "/").status == 405


@pytest.mark.parametrize(
    "path",
    [
        "//", "/%2e%2e/", "/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2fapp.py",
        "/static/.hidden", "/pub%6cish/", "/publish%2f", "/a\\b", "/a;b", "/" + "a" * 600, "/é",
        "/static//app.css", "/static/../../../../../../etc/passwd",
    ],
)  # fmt: skip
def test_a_path_that_no_page_has_is_refused_unread(admitted: Client, path: str) -> None:
    assert admitted.get(path).status == 404


def test_raw_and_decoded_paths_cannot_disagree(admitted: Client) -> None:
    """A server hands over both; what a page is chosen by is the decoded one."""
    import asyncio

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "http.request", "body": b"", "more_body": False}

    cookie = f"countveil-door={admitted.jar['countveil-door'][0]}"
    scope = {
        "type": "http", "method": "GET", "path": "/publish/", "raw_path": b"/%70ublish/",
        "query_string": b"", "headers": [(b"host", HOST.encode()), (b"cookie", cookie.encode())],
        "root_path": "", "scheme": "http", "server": ("127.0.0.1", 8000),
    }  # fmt: skip
    asyncio.run(admitted.app(scope, receive, send))
    assert sent[0]["status"] == 404
    sent.clear()
    asyncio.run(admitted.app({**scope, "raw_path": b"/play/"}, receive, send))
    assert sent[0]["status"] in (403, 404)


def test_websockets_are_closed(admitted: Client) -> None:
    import asyncio

    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": "websocket.connect"}

    scope = {"type": "websocket", "path": "/", "headers": [(b"host", HOST.encode())]}
    asyncio.run(admitted.app(scope, receive, send))
    assert sent == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize("path", ["/", "/look.css", "/static/app.css", "/nothing", "/publish/"])
def test_every_answer_says_what_a_browser_may_do(admitted: Client, path: str) -> None:
    headers = admitted.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert headers["cache-control"] == "no-store"
    assert "server" not in headers


def test_for_a_release_alone_the_publisher_does_not_exist(
    start_app: StartApp, tmp_path: Any
) -> None:
    client, sessions = start_app(release=tmp_path)
    client.enter(sessions.token)
    assert client.get("/publish/").status == 404
    assert client.post("/enter-mode/publisher").status == 404


def test_an_error_page_holds_what_was_asked_for_as_text_only(admitted: Client) -> None:
    reply = admitted.get("/nothing-here")
    assert reply.status == 404
    assert "There is no such page." in reply.text
    assert "nothing-here" not in reply.text
