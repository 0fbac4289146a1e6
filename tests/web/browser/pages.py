"""A server with a few pages, to try the recorder and the editor without the app around them.

Enters: pages by their paths. Leaves: an origin, and the forms that were submitted. It sends the
strict policy that the app sends, and the scripts that the wheel has. Must not know: what is tested.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl

from tools.web_assets import VENDOR

STRICT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TYPES = {"js": "text/javascript", "css": "text/css", "json": "application/json"}
CONTENT = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<meta name="viewport" content="width=device-width"><link rel="icon" href="/none.css">
{head}</head><body><main><h1>A page</h1>{body}</main></body></html>"""


def page(body: str, head: str = "") -> str:
    """A page with a heading, and nothing that is not asked for."""
    return CONTENT.format(head=head, body=body)


@dataclass
class Site:
    """Pages by path; `submitted` has the fields of every form that was posted."""

    origin: str = ""
    pages: dict[str, str] = field(default_factory=dict)
    policy: str | None = STRICT
    asked: list[str] = field(default_factory=list)
    submitted: list[dict[str, str]] = field(default_factory=list)

    def put(self, path: str, text: str | Mapping[str, object]) -> str:
        """Put a page, a script, a style sheet or data at a path; the address of it."""
        self.pages[path] = text if isinstance(text, str) else json.dumps(text)
        return self.origin + path

    def content(self, path: str) -> bytes | None:
        """What is at a path; the scripts of the wheel are in /vendor."""
        if path.startswith("/vendor/"):
            return (VENDOR / path.removeprefix("/vendor/")).read_bytes()
        return self.pages[path].encode() if path in self.pages else None


@contextlib.contextmanager
def served() -> Iterator[Site]:
    """A site on a free port of this machine, in a thread, under a name below localhost."""
    site = Site()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            self.answer(site.content(self.path))

        def do_POST(self) -> None:
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            site.submitted.append(dict(parse_qsl(sent, keep_blank_values=True)))
            self.answer(page("<p id='thanks'>Thank you.</p>").encode())

        def answer(self, content: bytes | None) -> None:
            self.send_response(404 if content is None else 200)
            content = page("<p>There is nothing here.</p>").encode() if content is None else content
            kind = TYPES.get(self.path.rpartition(".")[2], "text/html")
            self.send_header("Content-Type", f"{kind}; charset=utf-8")
            self.send_header("Content-Length", str(len(content)))
            if site.policy is not None:
                self.send_header("Content-Security-Policy", site.policy)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.origin = f"http://pages.localhost:{server.server_port}"
    site.put("/none.css", "")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield site
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
