"""Windows and macOS, simulated: publish, replace, ask, lock, spill, stop; each absence alone."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest

import countveil as cv
from countveil.cli.commands.groups.ledger import init
from countveil.cli.output import Format, print_rows
from countveil.engines.local import publish_rows
from countveil.publishing.publications.record import RECORD_NAME
from countveil.release.draft import check_not_input
from countveil.system import address, exchange, files, offers, process
from countveil.system.scratch import ScratchFile
from countveil.tables.storage import memory
from tests.publishing.again.hospital import Hospital, publish
from tests.robustness.tools import PATIENCE, ROOT, names_in
from tests.system import other_systems
from tests.system.other_systems import POSIX_CALLS, SYSTEMS, LocksOfWindows

QUESTION = "SELECT count(*) FROM release WHERE occupation = 'nurse'"


@pytest.fixture(params=sorted(SYSTEMS))
def system(request: pytest.FixtureRequest) -> Iterator[str]:
    """Another system, until the end of the test."""
    with pytest.MonkeyPatch.context() as patch:
        SYSTEMS[request.param](patch)
        yield request.param


@pytest.fixture
def windows() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        other_systems.windows(patch)
        yield


@pytest.fixture(scope="module")
def table() -> pa.Table:
    return cv.generate(400, seed=1)


def publish_replace_and_ask(table: pa.Table, folder: Path) -> None:
    """A release, asked, replaced by another one, asked again; nothing else is left."""
    cv.publish(table, {"occupation": 3}, folder / "release")
    first = cv.open(folder / "release")
    assert first.sql(QUESTION).to_arrow().num_rows == 1
    again = table.slice(0, 300)
    cv.publish(again, {"occupation": 3}, folder / "release", force=True, again=True)
    assert cv.open(folder / "release").rows == 300
    assert cv.verify(folder / "release") == []
    assert names_in(folder) == [RECORD_NAME, "release"]


@pytest.mark.few(1)
@pytest.mark.usefixtures("system")
def test_publish_replace_and_ask(table: pa.Table, tmp_path: Path) -> None:
    publish_replace_and_ask(table, tmp_path)


# Switches that are set, and calls that are taken away.
NOWHERE = Path("/nowhere")
ABSENCES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "locks on folders": ({"FOLDERS_OPEN": False}, ()),
    "fcntl": ({"FCNTL": None, "MSVCRT": LocksOfWindows()}, ()),
    "permissions": ({"PERMISSIONS": False}, ()),
    "owners": ({"OWN_NUMBER": None}, ("geteuid", "getuid")),
    "reads at places": ({"READ_AT": None, "WRITE_AT": None}, ("pread", "pwrite")),
    "flags": ({"NO_FOLLOW": 0, "NO_WAIT": 0}, ("O_TMPFILE",)),
    "memory": ({"MEMORY_FILE": NOWHERE, "CONTAINER_FOLDER": NOWHERE}, ("sysconf",)),
    "cores": ({}, ("sched_getaffinity",)),
    "fchmod": ({}, ("fchmod",)),
    "exchange": ({}, ()),
}


@pytest.mark.slow
@pytest.mark.parametrize("absence", ABSENCES)
def test_each_absence_alone(
    absence: str, table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    switches, calls = ABSENCES[absence]
    if absence == "exchange":
        other_systems.without_exchange(monkeypatch)
    if "O_TMPFILE" in calls:
        monkeypatch.setattr(tempfile, "_O_TMPFILE_WORKS", False)
    for name, value in switches.items():
        monkeypatch.setattr(offers, name, value)
    for name in calls:
        monkeypatch.delattr(os, name)
    publish_replace_and_ask(table, tmp_path)


@pytest.mark.slow
@pytest.mark.usefixtures("windows")
def test_rows_spilled_on_windows_are_gone_before_the_release_is_there(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "COLUMNS_SHARE", 0.0)
    monkeypatch.setattr(memory, "ROWS_SHARE", 0.0)
    monkeypatch.setattr(publish_rows, "BUCKET_ROWS", 1 << 8)
    (tmp_path / "spill").mkdir()
    cv.publish(table, {"occupation": 3}, tmp_path / "one")
    cv.publish(table, {"occupation": 3}, tmp_path / "two", again=True, spill=tmp_path / "spill")
    assert cv.verify(tmp_path / "one") == cv.verify(tmp_path / "two") == []
    assert names_in(tmp_path / "spill") == []


def test_a_file_without_reads_at_places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offers, "READ_AT", None)
    monkeypatch.setattr(offers, "WRITE_AT", None)
    file = ScratchFile(tmp_path)
    file.write(b"second", 5)
    file.write(b"first", 0)
    assert file.read(11, 0) == b"firstsecond"
    assert file.read(100, 5) == b"second"
    file.close()
    assert names_in(tmp_path) == []


@pytest.mark.slow
@pytest.mark.usefixtures("windows")
def test_a_ledger_on_windows(tmp_path: Path) -> None:
    hospital = Hospital(range(120))
    ledger = cv.Ledger.init(tmp_path / "ledger").path
    key = (tmp_path / "ledger.key").read_bytes()
    assert b"\r" not in key
    publish(hospital.table(), tmp_path / "one", ledger)
    hospital.admit(range(120, 240))
    publish(hospital.table(), tmp_path / "two", ledger)
    assert [release.state for release in cv.Ledger(ledger).show().releases] == ["done", "done"]
    assert names_in(tmp_path) == [RECORD_NAME, "ledger", "ledger.key", "one", "two"]


@pytest.mark.slow
@pytest.mark.usefixtures("system")
def test_a_private_report(table: pa.Table, tmp_path: Path) -> None:
    own = tmp_path / "own.html"
    own.write_text("old")
    given: dict[str, Any] = {"seed": 1, "private_report": own, "force": True}
    cv.publish(table, {"occupation": 3}, tmp_path / "one", **given)
    assert b"countveil" in own.read_bytes()
    assert b"\r" not in own.read_bytes()
    assert names_in(tmp_path) == ["one", "own.html"]


@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_who_can_read_private_files_is_said_where_we_cannot_decide_it(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        SYSTEMS[name](patch)
        init(tmp_path / "ledger")
    said = " ".join(capsys.readouterr().out.split())
    assert ("cannot keep others from reading" in said) == (name == "windows")
    assert "Made the ledger" in said


@pytest.mark.usefixtures("windows")
def test_dead_and_living_drafts_on_windows(tmp_path: Path) -> None:
    dead, living = (tmp_path / f".one.draft-{letter * 8}" for letter in "ab")
    for folder in (dead, living):
        folder.mkdir()
        (folder / "manifest.json").write_text("x")
    (tmp_path / f".gone.draft-{'c' * 8}{files.LOCK}").touch()
    lock = files.lock_place(living, wait=False)
    with pytest.raises(BlockingIOError):
        files.lock_place(living, wait=False)
    cv.publish(cv.generate(300, seed=1), {"occupation": 3}, tmp_path / "two", seed=1)
    assert names_in(tmp_path) == [living.name, living.name + files.LOCK, "two"]
    lock.close()
    assert names_in(tmp_path) == [living.name, "two"]


def test_a_living_draft_of_another_system_stays(tmp_path: Path) -> None:
    draft = tmp_path / ".one.draft-aaaaaaaa"
    draft.mkdir()
    draft.with_name(draft.name + files.LOCK).touch()
    assert list(files.dead_leftovers(tmp_path)) == []
    draft.with_name(draft.name + files.LOCK).unlink()
    assert list(files.dead_leftovers(tmp_path)) == [draft]


@pytest.mark.usefixtures("windows")
def test_one_publisher_at_a_time_writes_the_record(tmp_path: Path) -> None:
    beside = tmp_path / "record.lock"
    lock = files.lock_patiently(tmp_path, 0.0, beside)
    with pytest.raises(BlockingIOError):
        files.lock_patiently(tmp_path, 0.0, beside)
    lock.close()
    files.lock_patiently(tmp_path, 0.0, beside).close()
    assert names_in(tmp_path) == []


def test_without_any_locks_the_message_says_so(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offers, "FCNTL", None)
    monkeypatch.setattr(offers, "MSVCRT", None)
    with pytest.raises(cv.CountveilError, match="this system offers no locks on files"):
        cv.publish(table, {"occupation": 3}, tmp_path / "release")
    assert not (tmp_path / "release").exists()


@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("patience", [0.0, 5.0])
def test_what_is_open_elsewhere_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, patience: float
) -> None:
    new, old = tmp_path / "new", tmp_path / "old"
    for folder in (new, old):
        folder.mkdir()
        (folder / "name").write_text(folder.name)
    opened = (old / "name").open()
    monkeypatch.setattr(files, "_PATIENCE_SECONDS", patience)
    monkeypatch.setattr(files, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(time, "sleep", lambda _seconds: opened.close())
    if patience:
        exchange.exchange(new, old)
    else:
        with pytest.raises(PermissionError):
            exchange.exchange(new, old)
        opened.close()
    names = ("old", "new") if patience else ("new", "old")
    assert ((new / "name").read_text(), (old / "name").read_text()) == names
    assert names_in(tmp_path) == ["new", "old"]


def test_an_exchange_that_fails_half_way_is_undone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other_systems.without_exchange(monkeypatch)
    new, old = tmp_path / "new", tmp_path / "old"
    old.mkdir()
    with pytest.raises(FileNotFoundError):
        exchange.exchange(new, old)
    assert names_in(tmp_path) == ["old"]


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SYSTEMS))
def test_killed_between_the_two_steps_the_old_release_comes_back(
    name: str, table: pa.Table, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        SYSTEMS[name](patch)
        other_systems.without_exchange(patch)
        cv.publish(table, {"occupation": 3}, tmp_path / "release", seed=1)
        new = tmp_path / ".release.draft-aaaaaaaa"
        cv.publish(table.slice(0, 300), {"occupation": 3}, new, seed=2, again=True)
        (tmp_path / "release").rename(new.with_name(new.name + ".previous"))
        cv.publish(table, {"occupation": 3}, tmp_path / "other", seed=3, again=True)
        assert names_in(tmp_path) == ["other", "release"]
        assert cv.open(tmp_path / "release").rows == 400
        assert cv.verify(tmp_path / "release") == []


@pytest.mark.slow
def test_ctrl_c_on_windows_leaves_nothing(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "to" / "release"
    cv.generate(600_000, source, seed=1)
    target.parent.mkdir()
    words = ["publish", str(source), "-s", "occupation:3", "--to", str(target)]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.system.other_systems", "windows", *words],
        cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    while not names_in(target.parent):
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=PATIENCE)
    assert said == b"Interrupted. Nothing was left behind.\n"
    assert process.returncode == 128 + signal.SIGINT
    assert names_in(target.parent) == []


ANALYST = f"""
import os, signal, sys
from tests.system.other_systems import *
for name in ("numpy", "pyarrow", "duckdb", "cryptography.hazmat.bindings._rust", "sqlite3"):
    __import__(name)  # what others load is theirs
for name in [name for name in sys.modules if name.split(".")[0] == "countveil"]:
    del sys.modules[name]
for name in POSIX_MODULES:
    sys.modules.pop(name, None)
without_modules(*POSIX_MODULES)
for name in POSIX_CALLS:
    if hasattr(os, name):
        delattr(os, name)
for name in POSIX_SIGNALS:
    if hasattr(signal, name):
        delattr(signal, name)
import countveil as cv
assert cv.__file__ and "fcntl" not in sys.modules
print(len(cv.open(sys.argv[1]).sql({QUESTION!r})), list(cv.verify(sys.argv[1])))
"""


@pytest.mark.slow
def test_an_analyst_needs_nothing_that_only_posix_has() -> None:
    golden = ROOT / "tests" / "release" / "golden-v1"
    done = subprocess.run(
        [sys.executable, "-c", ANALYST, golden],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("1 []\n", 0), done.stderr


ZONES = """
import datetime as dt, sys, zoneinfo
import pyarrow as pa
import countveil as cv
assert zoneinfo.TZPATH == ()
days = [dt.datetime(2020, 1, 1 + row % 9, tzinfo=dt.UTC) for row in range(300)]
seen = pa.array(days, pa.timestamp("us", tz="Europe/Berlin"))
table = cv.generate(300, seed=1).append_column("seen", seen)
cv.publish(table, {"occupation": 3}, sys.argv[1], keep=["seen"], seed=1)
answer = cv.open(sys.argv[1]).sql("SELECT seen, count(*) FROM release GROUP BY seen")
print(sorted({row["seen"] for row in answer.to_arrow().to_pylist()}) == sorted(set(days)))
"""


@pytest.mark.slow
def test_time_zones_come_from_the_package_where_the_system_has_none(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", ZONES, tmp_path / "release"],
        cwd=ROOT, env={**os.environ, "PYTHONTZPATH": ""}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert (done.stdout, done.returncode) == ("True\n", 0), done.stderr


@pytest.mark.parametrize(
    "name", ["NUL", "con", "Aux.release", "COM1", "lpt9.x.y", "a:b", "end.", "end "]
)
def test_names_that_windows_keeps_for_itself(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    address.refuse_device_name(Path(name))
    monkeypatch.setattr(offers, "DEVICE_NAMES", True)
    with pytest.raises(cv.CountveilError, match="cannot be the name of a folder"):
        address.refuse_device_name(Path(name))
    address.refuse_device_name(Path(f"release-{name.strip('.: ').replace(':', '')}"))


@pytest.mark.parametrize(
    ("place", "path"),
    [
        ("file:///data/release", "/data/release"),
        ("file:/C:/data", "C:/data"),
        ("file:///c:/data", "c:/data"),
        ("C:/data", "C:/data"),
        ("/C:/data", "/C:/data"),
        ("release", "release"),
    ],
)
def test_paths_of_addresses(place: str, path: str) -> None:
    assert address.local_path(place) == path


def test_capitals_do_not_hide_that_an_input_would_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def same(one: Path, other: Path) -> bool:
        return str(one).casefold() == str(other).casefold()

    (tmp_path / "Tables").mkdir()
    check_not_input(tmp_path / "tables" / "new", "the release", [tmp_path / "Tables"])
    monkeypatch.setattr(Path, "samefile", same)
    for place, given in (("tables/new", "Tables"), ("tables", "Tables"), ("TABLES", "Tables/a")):
        with pytest.raises(cv.CountveilError, match="read here"):
            check_not_input(tmp_path / place, "the release", [tmp_path / given])


def test_json_can_be_read_whatever_the_encoding_of_the_output(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ["Łódź", "naïve", "\x81", "😀"]
    content = io.BytesIO()
    output = io.TextIOWrapper(content, "cp1252", errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", output)
    print_rows(["name"], [[name] for name in names], Format.JSON)
    output.flush()
    assert [row["name"] for row in json.loads(content.getvalue().decode("cp1252"))] == names


def test_two_drives_have_no_way_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    assert address.relative_path("a/b.csv", "a") == "b.csv"

    def refuse(_path: str, _start: str) -> str:
        raise ValueError("path is on mount 'C:', start on mount 'D:'")

    monkeypatch.setattr(os.path, "relpath", refuse)
    assert address.relative_path("a/b.csv", "a") == str(Path.cwd() / "a" / "b.csv")


def test_free_memory_is_known_on_every_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import ctypes

    monkeypatch.setattr(offers, "MEMORY_FILE", tmp_path / "meminfo")
    monkeypatch.setattr(offers, "CONTAINER_FOLDER", tmp_path)
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:  2000 kB\n")
    assert process.available_memory() == 2000 * 1024
    (tmp_path / "memory.max").write_text("1000000\n")
    (tmp_path / "memory.current").write_text("400000\n")
    assert process.available_memory() == 600_000
    for name in ("meminfo", "memory.max"):
        (tmp_path / name).unlink()
    pages, size = os.sysconf("SC_PHYS_PAGES"), os.sysconf("SC_PAGE_SIZE")
    assert process.available_memory() == pages * size // 2

    def status(given: Any) -> int:
        assert given._obj.length == 64
        given._obj.free = 123_456_789
        return 1

    library = SimpleNamespace(kernel32=SimpleNamespace(GlobalMemoryStatusEx=status))
    monkeypatch.setattr(ctypes, "windll", library, raising=False)
    assert process.available_memory() == 123_456_789
    monkeypatch.delattr(ctypes, "windll")
    monkeypatch.delattr(os, "sysconf")
    assert process.available_memory() == process._UNKNOWN


def test_macos_waits_for_the_drive_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []

    def full(_handle: int, what: int) -> None:
        asked.append(what)
        if len(asked) > 1:
            raise OSError("not on this file system")

    synced: list[int] = []
    monkeypatch.setattr(offers, "FCNTL", SimpleNamespace(F_FULLFSYNC=51, fcntl=full))
    monkeypatch.setattr(os, "fsync", synced.append)
    with (tmp_path / "file").open("wb") as file:
        files.sync_file(file.fileno())
        assert (asked, synced) == ([51], [])
        files.sync_file(file.fileno())
        assert (asked, synced) == ([51, 51], [file.fileno()])


def test_what_is_taken_away_is_there_on_linux() -> None:
    if sys.platform == "linux":
        assert all(hasattr(os, name) for name in POSIX_CALLS)
        assert offers.FCNTL is not None
        assert offers.STOP_SIGNALS == (signal.SIGINT, signal.SIGTERM)
