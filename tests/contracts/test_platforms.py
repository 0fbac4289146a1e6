"""The operating system is asked in one room, and what is said about systems and Pythons agrees."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

import countveil

SOURCE = Path(countveil.__file__).parent
ROOT = Path(__file__).parents[2]
OUTSIDE = sorted(set(SOURCE.rglob("*.py")) - set((SOURCE / "system").rglob("*.py")))
PAGE = ROOT / "docs" / "reference" / "platforms.md"

# What some systems lack: modules, and names in modules that all systems have.
MODULES = {
    "_winapi", "ctypes", "fcntl", "grp", "mmap", "msvcrt", "platform", "posix", "pty", "pwd",
    "readline", "resource", "syslog", "termios", "tty", "winreg",
}  # fmt: skip
NAMES = {
    "os": {
        "chown", "fchmod", "fchown", "fork", "forkpty", "fsync", "fdatasync", "getegid", "geteuid",
        "getgid", "getuid", "getpgid", "kill", "killpg", "lchown", "link", "lockf", "memfd_create",
        "mkfifo", "mknod", "name", "nice", "open", "pread", "pwrite", "replace", "rename",
        "sched_getaffinity", "sendfile", "setsid", "statvfs", "sync", "sysconf", "umask", "uname",
        "O_BINARY", "O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "O_TMPFILE",
    },
    "signal": {
        "SIGALRM", "SIGBREAK", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGTERM", "SIGUSR1", "SIGUSR2",
        "alarm", "pause", "pthread_kill", "pthread_sigmask", "setitimer", "sigwait",
    },
    "sys": {"platform", "getwindowsversion"},
    "time": {"tzset"},
    "tempfile": {"TemporaryFile", "mkdtemp"},
}  # fmt: skip
PLACES = ("/proc/", "/sys/", "/dev/")
# Which handle a process has as its error output is the same everywhere.
ALLOWED = {"engines/spark/session.py: os.open"}


def asked_of_the_system(text: str) -> Iterator[str]:
    """What a module imports or calls that not every system has."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from {alias.name.split(".")[0] for alias in node.names} & MODULES
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            yield from {module.split(".")[0]} & MODULES
            names = {alias.name for alias in node.names}
            yield from (f"{module}.{name}" for name in names & NAMES.get(module, set()))
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.attr in NAMES.get(node.value.id, set()):
                yield f"{node.value.id}.{node.attr}"
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield from (place for place in PLACES if node.value.startswith(place))
            yield from {node.value} & (MODULES - {"platform"})
        elif isinstance(node, ast.keyword) and node.arg in ("dir_fd", "src_dir_fd", "dst_dir_fd"):
            yield node.arg


def without_encoding(text: str) -> Iterator[str]:
    """Texts that are read or written in whatever encoding the system prefers."""
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        name = node.func.id if isinstance(node.func, ast.Name) else name
        given = {word.arg for word in node.keywords}
        modes = [arg.value for arg in node.args if isinstance(arg, ast.Constant)]
        as_text = any(isinstance(m, str) and re.fullmatch("[rwax]+[+]?t?", m) for m in modes)
        if "encoding" not in given and (
            name in ("read_text", "write_text")
            or (name in ("open", "fdopen", "NamedTemporaryFile") and as_text)
        ):
            yield f"{name} in line {node.lineno}"


@pytest.mark.slow
def test_only_the_room_system_asks_the_system() -> None:
    assert OUTSIDE
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in OUTSIDE}
    asked = {f"{name}: {one}" for name, text in texts.items() for one in asked_of_the_system(text)}
    assert asked - ALLOWED == set()
    preferred = {f"{name}: {one}" for name, text in texts.items() for one in without_encoding(text)}
    assert preferred == set()


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("import fcntl", "fcntl"),
        ("from ctypes import CDLL", "ctypes"),
        ("def f():\n    import resource", "resource"),
        ("importlib.import_module('pwd')", "pwd"),
        ("import os\nos.fchmod(1, 2)", "os.fchmod"),
        ("from os import geteuid", "os.geteuid"),
        ("signal.signal(signal.SIGHUP, f)", "signal.SIGHUP"),
        ("Path('/proc/meminfo')", "/proc/"),
        ("os.unlink(name, dir_fd=3)", "dir_fd"),
        ("if sys.platform == 'linux': pass", "sys.platform"),
    ],
)
def test_what_asks_the_system_is_noticed(text: str, asked: str) -> None:
    assert asked in set(asked_of_the_system(text))


def test_a_missing_encoding_is_noticed() -> None:
    assert list(without_encoding("p.write_text(t)\np.open('w')\nopen(p, 'r')")) != []
    assert not list(without_encoding("p.open('rb')\np.read_text(encoding='ascii')\np.open()"))


def versions_in(text: str) -> set[str]:
    return set(re.findall(r"\b3\.\d\d\b", text))


def test_the_same_pythons_are_named_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    classified = {
        name.rpartition(" ")[2]
        for name in project["classifiers"]
        if re.fullmatch(r"Programming Language :: Python :: 3\.\d+", name)
    }
    assert project["requires-python"] == f">={min(classified)}"
    (matrix,) = re.findall(
        r"python: \[(.*)\]",
        (ROOT / ".github" / "workflows" / "tests.yml").read_text(encoding="utf-8"),
    )
    assert versions_in(matrix) == classified
    lines = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "| tested" in line]
    assert set().union(*map(versions_in, lines)) == classified


def test_systems_are_claimed_as_far_as_they_were_tried() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    claimed = {name for name in project["classifiers"] if name.startswith("Operating System")}
    text = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| (Linux|macOS|Windows) \| (tested|simulated)", text, re.MULTILINE))
    assert rows == {"Linux": "tested", "macOS": "simulated", "Windows": "simulated"}
    assert claimed == {"Operating System :: POSIX :: Linux"}
