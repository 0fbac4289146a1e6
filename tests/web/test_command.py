"""The command itself: one link, loopback only, an end that leaves nothing."""

from __future__ import annotations

import http.client
import os
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

LINK = re.compile(r"http://(countveil-[a-z2-7]{16}\.localhost):(\d+)/enter\?token=([0-9a-f]{64})")


@contextmanager
def running(
    *arguments: str, program: Sequence[str] = ()
) -> Iterator[tuple[subprocess.Popen[str], re.Match[str]]]:
    """The app and its link; `program` starts it in another way."""
    words = program or ["-m", "countveil", "app", "--no-browser", *arguments]
    command = [sys.executable, *words]
    app = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert app.stdout is not None
        link = None
        while link is None:
            line = app.stdout.readline()
            assert line, app.stderr and app.stderr.read()
            link = LINK.search(line)
        yield app, link
    finally:
        app.kill()
        app.communicate()


def ask(
    link: re.Match[str], path: str, headers: dict[str, str], form: str | None = None
) -> tuple[int, Any, bytes]:
    """What a page answers; a form is sent as the app's own pages send it."""
    connection = http.client.HTTPConnection("127.0.0.1", int(link[2]), timeout=60)
    host = f"{link[1]}:{link[2]}"
    headers = {"Host": host, **headers}
    if form is not None:
        kind = "application/x-www-form-urlencoded"
        headers |= {"Origin": f"http://{host}", "Content-Type": kind}
    connection.request("GET" if form is None else "POST", path, form, headers)
    reply = connection.getresponse()
    result = reply.status, reply.headers, reply.read()
    connection.close()
    return result


def enter(link: re.Match[str]) -> str:
    """The cookie of whoever opens the link."""
    parts = urlsplit(link[0])
    _, headers, _ = ask(link, f"{parts.path}?{parts.query}", {})
    return str(headers["set-cookie"]).partition(";")[0]


@pytest.mark.slow
def test_one_link_leads_in_and_ctrl_c_ends_it(tmp_path: Path) -> None:
    with running("--root", str(tmp_path)) as (app, link):
        parts = urlsplit(link[0])
        assert ask(link, "/", {})[0] == 403
        assert ask(link, "/", {"Host": f"127.0.0.1:{link[2]}"})[0] == 421
        status, headers, _ = ask(link, f"{parts.path}?{parts.query}", {})
        assert status == 200
        cookie = headers["set-cookie"].partition(";")[0]
        status, headers, body = ask(link, "/", {"Cookie": cookie})
        assert status == 200
        assert b"Publish a table" in body
        assert "server" not in {name.lower() for name in headers}
        app.send_signal(signal.SIGINT)
        out, errors = app.communicate(timeout=120)
        assert (app.returncode, out.count("http"), errors) == (0, 0, "")


@pytest.mark.slow
def test_commands_stand_beside_the_screens_of_a_real_start(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    with running("--root", str(tmp_path)) as (_, link):
        entered = ask(link, "/enter-mode/publisher", {"Cookie": enter(link)}, "")[1]
        cookie = {"Cookie": str(entered["set-cookie"]).partition(";")[0]}
        file = re.search(
            rb'name="file" value="([0-9a-f]+)"', ask(link, "/publish/table", cookie)[2]
        )
        assert file is not None
        assert ask(link, "/publish/table/pick", cookie, f"file={file[1].decode()}")[0] == 303
        status, _, page = ask(link, "/publish/table", cookie)
        assert status == 200
        assert re.search(rb" inspect \S*t.csv", page)


FAULTY = """
import sys
from countveil.web import look
def faulty(request): raise ValueError("secret 4711")
look.shared_styles = faulty
sys.argv = ["countveil", "app", "--no-browser", "--root", sys.argv[1]]
from countveil.cli.entry import main; main()
"""


@pytest.mark.slow
def test_a_fault_says_nothing_of_data(tmp_path: Path) -> None:
    with running(program=["-c", FAULTY, str(tmp_path)]) as (app, link):
        status, _, body = ask(link, "/look.css", {"Cookie": enter(link)})
        assert status == 500
        assert b"ValueError" in body
        assert b"4711" not in body
        app.send_signal(signal.SIGINT)
        assert app.communicate(timeout=120)[1] == ""


@pytest.mark.slow
def test_only_this_machine_reaches_it(tmp_path: Path) -> None:
    if not Path("/proc/net/tcp").exists():
        pytest.skip("this system does not list its sockets in /proc")
    with running("--root", str(tmp_path)) as (_, link):
        wanted = f":{int(link[2]):04X}"
        lines = [
            line.split()
            for name in ("tcp", "tcp6")
            for line in Path(f"/proc/net/{name}").read_text(encoding="ascii").splitlines()[1:]
        ]
        listening = [line[1] for line in lines if line[3] == "0A" and line[1].endswith(wanted)]
        assert listening == [f"0100007F{wanted}"]


@pytest.mark.slow
def test_a_busy_port_is_named(tmp_path: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "countveil", "app", "--port", str(port)], cwd=tmp_path,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_without_a_release_is_refused(tmp_path: Path, quick: Any) -> None:
    done = quick("app", str(tmp_path))
    assert done.code == 1
    assert "no release" in done.err


def test_a_root_that_is_no_folder_is_refused(tmp_path: Path, quick: Any) -> None:
    done = quick("app", "--root", str(tmp_path / "nowhere"))
    assert done.code == 1
    assert "--root" in done.err


@pytest.mark.slow
def test_without_the_extra_the_error_says_what_to_install(tmp_path: Path) -> None:
    script = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "sys.argv = ['countveil', 'app', '--root', sys.argv[1]]\n"
        "from countveil.cli.entry import main; main()"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)],
        capture_output=True, text=True, check=False, env={**os.environ},
    )  # fmt: skip
    assert done.returncode == 1
    assert "uvicorn" in done.stderr
    assert ".[app]" in done.stderr
