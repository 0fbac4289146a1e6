"""How soon the app shows its first page, and what an answer costs in it.

`make bench`. The first page: `countveil app --no-browser` is started, its link is opened, the page
that it leads to is read; then the CPU time of the process is taken from the kernel. The reference
is a process that imports Starlette, uvicorn and Jinja and does nothing else. Both take turns.

An answer: a release of the made-up census, opened in the app and asked different questions over
HTTP as a browser without scripts does: the form is sent, and the page with the answer is read
whole. The reference is the same question to the release in Python, without the app, where reading
the release into memory falls upon one of the first questions; the app does that while it counts
the values of the columns. `--all` prints every question.

Linux only. Prints Markdown, as kept in RESULTS.md, and writes it to --to.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode

import countveil as cv

LIBRARIES = "starlette.applications, starlette.routing, starlette.staticfiles, uvicorn, jinja2"
LINK = re.compile(r"http://(countveil-[a-z2-7]{16}\.localhost):(\d+)(/enter\?token=[0-9a-f]{64})")
FORM = "application/x-www-form-urlencoded"
QUESTIONS = (
    "SELECT count(*) FROM release WHERE occupation = 'nurse' AND age >= 60",
    "SELECT occupation, count(*) FROM release GROUP BY occupation",
    "SELECT gender, count(*) FROM release WHERE occupation = 'lawyer' GROUP BY gender",
    "SELECT education, occupation, count(*) FROM release GROUP BY education, occupation",
    "SELECT occupation, count(*) FROM release WHERE age BETWEEN 30 AND 39 GROUP BY occupation",
    "SELECT race, count(*) FROM release WHERE occupation IN ('nurse', 'lawyer') GROUP BY race",
    "SELECT country, count(*) FROM release WHERE occupation = 'nurse' GROUP BY country",
    "SELECT race, gender, count(*) FROM release WHERE occupation = 'lawyer' GROUP BY race, gender",
    "SELECT workclass, count(*) FROM release WHERE occupation <> 'nurse' GROUP BY workclass",
    "SELECT age, count(*) FROM release WHERE occupation = 'lawyer' AND age < 40 GROUP BY age",
    "SELECT salary, count(*) FROM release WHERE occupation = 'nurse' GROUP BY salary",
    "SELECT occupation, avg(age) FROM release GROUP BY occupation",
)
# Shown as a heat map.
CROSSED = (QUESTIONS[3],)


@dataclass
class Visitor:
    """A browser without scripts, in front of a running app."""

    process: subprocess.Popen[str]
    host: str
    port: int
    cookies: dict[str, str] = field(default_factory=dict)

    def get(self, path: str, fields: dict[str, str] | None = None) -> str:
        """The page at a path, or the one that a form leads to."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        host = f"{self.host}:{self.port}"
        headers = {"Host": host, "Cookie": "; ".join(f"{k}={v}" for k, v in self.cookies.items())}
        body = None
        if fields is not None:
            headers |= {"Origin": f"http://{host}", "Content-Type": FORM}
            body = urlencode(fields)
        connection.request("GET" if body is None else "POST", path, body, headers)
        reply = connection.getresponse()
        text = reply.read().decode()
        for cookie in reply.headers.get_all("set-cookie", []):
            name, _, value = cookie.partition(";")[0].partition("=")
            self.cookies[name] = value
        there = reply.headers.get("location")
        connection.close()
        if there:
            return self.get(there.partition("#")[0])
        assert reply.status == 200, (path, reply.status)
        return text

    def cpu(self) -> float:
        """Seconds of CPU time that the app took so far."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextlib.contextmanager
def app(*words: str, environment: dict[str, str]) -> Iterator[Visitor]:
    """A running app whose link was opened."""
    command = [sys.executable, "-m", "countveil", "app", "--no-browser", *words]
    with subprocess.Popen(  # noqa: S603 - our own command
        command, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        try:
            assert process.stdout is not None
            link = next(filter(None, map(LINK.search, process.stdout)))
            visitor = Visitor(process, link[1], int(link[2]))
            page = visitor.get(link[3])
            follow = re.search(r"url=([^\"]+)", page)
            assert follow is not None
            visitor.get(follow[1])
            yield visitor
        finally:
            process.terminate()


def imports_alone(environment: dict[str, str]) -> float:
    """CPU seconds of a process that only imports the libraries of the app."""
    process = subprocess.Popen([sys.executable, "-c", f"import {LIBRARIES}"], env=environment)  # noqa: S603
    _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return used.ru_utime + used.ru_stime


def first_pages(times: int) -> Iterator[str]:
    """From the start to the first page, with the modules compiled before and compiled anew."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    alone, pages = [], []
    with tempfile.TemporaryDirectory() as root:
        for _ in range(times + 1):
            alone.append(imports_alone(kept))
            with app("--root", root, environment=kept) as visitor:
                pages.append(visitor.cpu())
    # The first of each compiled what was not compiled yet.
    imports, page = statistics.median(alone[1:]), statistics.median(pages[1:])
    yield "| what | CPU seconds | over imports |\n|---|---|---|"
    yield f"| importing Starlette, uvicorn and Jinja | {imports:.2f} | 1.00 |"
    yield f"| countveil app, first page | {page:.2f} | {page / imports:.2f} |"
    yield (
        f"\nMedian of {times}, {min(pages[1:]):.2f} to {max(pages[1:]):.2f} s; the libraries alone "
        f"{min(alone[1:]):.2f} to {max(alone[1:]):.2f} s."
    )


def answers(release: Path, *, every: bool) -> Iterator[str]:
    """Questions one by one, in the app and without it."""
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    rows = []
    with app(str(release), environment=kept) as visitor:
        page = visitor.get("/ask/")
        known = re.search(r"/ask/ask/([0-9a-f]{16})", page)
        assert known is not None
        visitor.get(f"/ask/ask/{known[1]}")
        for sql in QUESTIONS:
            before, begun = visitor.cpu(), time.perf_counter()
            fields = {"sql": sql, "view": "crosstab" if sql in CROSSED else "ask"}
            page = visitor.get(f"/ask/question/{known[1]}", fields)
            rows.append((sql, time.perf_counter() - begun, visitor.cpu() - before))
            assert 'id="answer"' in page, sql
    opened = cv.open(release)
    alone = []
    for sql in QUESTIONS:
        begun, spent = time.perf_counter(), time.process_time()
        opened.sql(sql)
        alone.append((time.perf_counter() - begun, time.process_time() - spent))
    yield "| question | seconds in the app | CPU | in Python | CPU |\n|---|---|---|---|---|"
    lines = [(*row, *other) for row, other in zip(rows, alone, strict=True)]
    if every:
        yield from (_line(f"`{sql}`", figures) for sql, *figures in lines)
    yield _line("first", lines[0][1:])
    later = list(zip(*(line[1:] for line in lines[1:]), strict=True))
    yield _line(f"mean of {len(lines) - 1} others", [statistics.fmean(c) for c in later])
    yield _line("slowest of them", [max(column) for column in later])


def _line(name: str, figures: Sequence[float]) -> str:
    return f"| {name} | " + " | ".join(f"{figure:.3f}" for figure in figures) + " |"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--times", type=int, default=9, help="starts of each kind")
    parser.add_argument("--rows", type=int, default=500_000, help="of the release that is asked")
    parser.add_argument("--release", type=Path, help="one of the census that is there already")
    parser.add_argument("--all", action="store_true", help="print every question")
    parser.add_argument("--to", type=Path, help="a file for the same text")
    options = parser.parse_args()
    lines = [f"Python {platform.python_version()}, {os.cpu_count()} cores.\n"]
    lines += first_pages(options.times)
    lines.append("")
    with tempfile.TemporaryDirectory() as folder:
        release = options.release or Path(folder, "release")
        if options.release is None:
            cv.generate(options.rows, f"{folder}/census.parquet", seed=1)
            cv.publish(f"{folder}/census.parquet", sensitive={"occupation": 5}, to=release)
        lines += answers(release, every=options.all)
    text = "\n".join(lines)
    print(text)
    if options.to is not None:
        options.to.write_text(text + "\n")


if __name__ == "__main__":
    main()
