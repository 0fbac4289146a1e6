"""Which modules does one `publish` go through, and which one `query`?

Runs both commands on a small census, in this process, and records every call of a function of
countveil. For each walk it prints the modules whose functions were called, the edges between them
(a module that called, a module that was called; libraries in between are skipped, and a new thread
starts without a caller) and the edges that lead back: from a module to one of a room that comes
later in the import order (tests/contracts/rooms.txt). Such an edge is a callback, since no module
imports from a later room.

    python -m benchmarks.walks            the figures
    python -m benchmarks.walks --list     also the modules, in the order of their first call
    python -m benchmarks.walks --back     also the edges that lead back
    python -m benchmarks.walks --json     everything, for programs
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import inspect
import io
import json
import os
import sys
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NoReturn

import countveil
from countveil.cli.entry import main as run_command

SOURCE = Path(countveil.__file__).parent
ROOMS = Path(__file__).parents[1] / "tests" / "contracts" / "rooms.txt"
QUESTION = (
    "SELECT gender, count(*) FROM release WHERE age >= 60 AND occupation = 'nurse' GROUP BY gender"
)

Edge = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Walk:
    """What one command went through, in the order of the first call."""

    command: str
    modules: list[str]
    edges: list[Edge]
    edges_back: list[Edge]


def main() -> None:
    """Trace both walks and print them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="the modules, in the order of calls")
    parser.add_argument("--back", action="store_true", help="the edges that lead back")
    parser.add_argument("--json", action="store_true", help="everything, as JSON")
    options = parser.parse_args()
    walks = trace_both()
    if options.json:
        print(json.dumps([asdict(walk) for walk in walks]))
        return
    print("| walk | modules | edges | edges that lead back |\n|---|---|---|---|")
    for walk in walks:
        counts = (len(walk.modules), len(walk.edges), len(walk.edges_back))
        print(f"| {walk.command} |", *(f"{count} |" for count in counts))
    for walk in walks:
        if options.list:
            print(f"\n{walk.command}:", *walk.modules, sep="\n  ")
        if options.back:
            print(f"\n{walk.command}, back:", *map(" -> ".join, walk.edges_back), sep="\n  ")


def trace_both() -> list[Walk]:
    """The walks of publishing a CSV file and of asking the release."""
    with tempfile.TemporaryDirectory() as folder:
        table, release = f"{folder}/census.csv", f"{folder}/release"
        countveil.generate(5000, table, seed=1)
        return [
            trace("publish", table, "-s", "occupation:5", "--to", release),
            trace("query", release, QUESTION),
        ]


def trace(*words: str) -> Walk:
    """Run one command and record its calls."""
    modules: dict[str, None] = {}
    edges: dict[Edge, None] = {}

    def record(frame: FrameType, event: str, _argument: Any) -> None:
        module = _module_of(frame.f_code) if event == "call" else None
        if module is None or not _is_function(frame.f_code):
            return
        modules.setdefault(module)
        caller = frame.f_back
        while caller is not None and _module_of(caller.f_code) is None:
            caller = caller.f_back
        if caller is not None and _is_function(caller.f_code):
            edge = (str(_module_of(caller.f_code)), module)
            if edge[0] != edge[1]:
                edges.setdefault(edge)

    with _as_command(words):
        threading.setprofile(record)
        sys.setprofile(record)
        try:
            run_command()
        except SystemExit as end:
            code = end.code
        finally:
            sys.setprofile(None)
            threading.setprofile(None)
    assert code == 0, f"{words[0]} ended with {code}"
    order = rooms()
    back = [edge for edge in edges if position(edge[1], order) > position(edge[0], order)]
    return Walk(words[0], list(modules), list(edges), back)


def rooms() -> list[str]:
    """The rooms in import order."""
    lines = ROOMS.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and not line.startswith("#")]


def position(module: str, order: list[str]) -> int:
    """A module's place in the import order; a package of listed rooms has that of its first."""
    names = [room for room in order if f"{module}.".startswith(f"{room}.")]
    inside = [room for room in order if room.startswith(f"{module}.")]
    return order.index(max(names, key=len) if names else inside[0])


@contextlib.contextmanager
def _as_command(words: tuple[str, ...]) -> Iterator[None]:
    """The process looks like the command's own, and outlives it."""

    def leave(status: int) -> NoReturn:
        raise SystemExit(status)

    arguments, leave_at_once = sys.argv, os._exit
    sys.argv, os._exit = ["countveil", *words], leave
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        sys.argv, os._exit = arguments, leave_at_once


@functools.cache
def _module_of(code: CodeType) -> str | None:
    """The module's name below the package; None for the code of others."""
    path = code.co_filename
    if not path.startswith(f"{SOURCE}{os.sep}"):
        return None
    parts = Path(path).relative_to(SOURCE).with_suffix("").parts
    return ".".join(parts).removesuffix(".__init__")


def _is_function(code: CodeType) -> bool:
    """Neither a module's nor a class's body, which runs when it is imported."""
    return bool(code.co_flags & inspect.CO_OPTIMIZED)


if __name__ == "__main__":
    main()
