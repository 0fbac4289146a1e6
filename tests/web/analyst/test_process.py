"""The process of `countveil app RELEASE`: what it loads, and how it ends."""

from __future__ import annotations

import http.client
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode, urlsplit

import pytest

pytestmark = pytest.mark.slow


class Browser:
    """Speaks HTTP to the process, with the cookies that it gave."""

    def __init__(self, link: str) -> None:
        parts = urlsplit(link)
        self.host, self._port = parts.netloc, parts.port
        self._cookies: dict[str, str] = {}
        assert self.get(f"{parts.path}?{parts.query}")[0] == 200

    def get(self, path: str) -> tuple[int, str, str]:
        return self._send("GET", path, "")

    def post(self, path: str, **fields: str) -> tuple[int, str, str]:
        return self._send("POST", path, urlencode(fields))

    @staticmethod
    def _connect(connection: http.client.HTTPConnection) -> None:
        """The link is printed a moment before the server listens."""
        for _ in range(200):
            try:
                return connection.connect()
            except ConnectionRefusedError:
                time.sleep(0.05)
        raise AssertionError("the server never listened")

    def _send(self, method: str, path: str, body: str) -> tuple[int, str, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        headers = {
            "Host": self.host,
            "Cookie": "; ".join(f"{k}={v}" for k, v in self._cookies.items()),
        }
        if method == "POST":
            headers |= {
                "Origin": f"http://{self.host}",
                "Content-Type": "application/x-www-form-urlencoded",
            }
        self._connect(connection)
        connection.request(method, path, body, headers)
        reply = connection.getresponse()
        for cookie in reply.headers.get_all("set-cookie") or []:
            name, _, value = cookie.partition(";")[0].partition("=")
            self._cookies[name] = value
        text = reply.read().decode()
        connection.close()
        return reply.status, reply.headers.get("location", ""), text


@pytest.fixture
def process(published: Path, tmp_path: Path) -> Iterator[Any]:
    """The real command; every module that it loads is written to a file."""
    with (tmp_path / "imports").open("w") as imports:
        started = subprocess.Popen(
            [
                *(sys.executable, "-X", "importtime", "-m", "countveil"),
                *("app", str(published), "--no-browser"),
            ],
            stdout=subprocess.PIPE, stderr=imports, text=True,
        )  # fmt: skip
        assert started.stdout is not None
        yield started
        started.kill()
        started.wait(20)
        started.stdout.close()


def link_of(process: Any) -> str:
    for line in process.stdout:
        match = re.search(r"http://\S+/enter\?token=\S+", line)
        if match:
            return match[0]
    raise AssertionError("no link was printed")


def test_an_analysts_process_loads_nothing_of_the_publishers(process: Any, tmp_path: Path) -> None:
    browser = Browser(link_of(process))
    status, place, _ = browser.get("/ask/")
    assert status == 303
    known = place.rsplit("/", 1)[1]
    assert "20,000" in browser.get(place)[2]
    assert browser.get(f"/ask/columns/{known}")[0] == 200
    sql = "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"
    status, place, _ = browser.post(f"/ask/question/{known}", sql=sql)
    assert status == 303
    assert browser.get(place.partition("#")[0])[0] == 200
    assert browser.get("/publish/")[0] == 404
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0
    loaded = re.findall(r"\| +([\w.]+)$", (tmp_path / "imports").read_text(), re.MULTILINE)
    assert "countveil.web.analyst.routes" in loaded
    assert "countveil.asking.release" in loaded
    sides = ("countveil.publishing", "countveil.web.publisher")
    assert [name for name in loaded if name.startswith(sides)] == []
