"""Damage to a release is found and named; a manifest that lies is refused."""

from __future__ import annotations

import copy
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from tests.robustness.conftest import Quick
from tests.robustness.tools import BUG, assert_refused, run, small_columns

DATA = "data/part-00000.parquet"
MANIFEST = "manifest.json"
COUNT = "SELECT job, count(*) FROM release GROUP BY job"


def found_in(folder: Path) -> list[str]:
    """The files that verify complains about."""
    return [finding.file for finding in cv.verify(folder)]


def test_a_sound_release(published: Path) -> None:
    outcome = run("verify", published)
    assert (outcome.code, outcome.err) == (0, "")
    assert "sound" in outcome.out


@pytest.mark.parametrize("name", [DATA, MANIFEST])
def test_any_flipped_byte_is_found(release: Path, name: str) -> None:
    path = release / name
    content = path.read_bytes()
    places = sorted({0, 1, 4, len(content) - 1, *range(0, len(content), len(content) // 40)})
    for place in places:
        for mask in (0x01, 0x20, 0x80):
            changed = bytes([content[place] ^ mask])
            path.write_bytes(content[:place] + changed + content[place + 1 :])
            # White space of the manifest's layout is not content.
            if changed.isspace() and content[place : place + 1].isspace():
                continue
            assert name in found_in(release), (place, mask)
    path.write_bytes(content)
    assert found_in(release) == []


def flip(release: Path) -> None:
    content = bytearray((release / DATA).read_bytes())
    content[len(content) // 2] ^= 1
    (release / DATA).write_bytes(content)


def truncate(release: Path) -> None:
    os.truncate(release / DATA, (release / DATA).stat().st_size - 1)


def empty(release: Path) -> None:
    os.truncate(release / DATA, 0)


def grow(release: Path) -> None:
    with (release / DATA).open("ab") as file:
        file.write(b"\n")


def truncate_manifest(release: Path) -> None:
    os.truncate(release / MANIFEST, (release / MANIFEST).stat().st_size // 2)


def empty_manifest(release: Path) -> None:
    os.truncate(release / MANIFEST, 0)


def grow_manifest(release: Path) -> None:
    with (release / MANIFEST).open("a") as file:
        file.write("{}")


def remove(release: Path) -> None:
    (release / DATA).unlink()


def remove_folder(release: Path) -> None:
    shutil.rmtree(release / "data")


def add_file(release: Path) -> None:
    (release / "notes.txt").write_text("mine")


def add_hidden_file(release: Path) -> None:
    (release / "data" / ".hidden").write_text("mine")


def add_data_file(release: Path) -> None:
    shutil.copy(release / DATA, release / "data" / "part-00001.parquet")


def add_folder(release: Path) -> None:
    (release / "data" / "more").mkdir()


def link(release: Path, name: str) -> None:
    moved = release.parent / "moved"
    (release / name).rename(moved)
    (release / name).symlink_to(moved)


def link_data(release: Path) -> None:
    link(release, DATA)


def link_data_folder(release: Path) -> None:
    link(release, "data")


def link_manifest(release: Path) -> None:
    link(release, MANIFEST)


def pipe(release: Path) -> None:
    (release / DATA).unlink()
    os.mkfifo(release / DATA)


def swap(release: Path) -> None:
    other = release.parent / "other"
    cv.publish(pa.table(small_columns()), {"job": 5}, other, keep="row", again=True)
    shutil.copy(other / DATA, release / DATA)


def swap_manifest(release: Path) -> None:
    other = release.parent / "other"
    cv.publish(pa.table(small_columns()), {"job": 5}, other, keep="row", again=True)
    shutil.copy(other / MANIFEST, release / MANIFEST)


DAMAGES: dict[Callable[[Path], None], str] = {
    flip: DATA,
    truncate: DATA,
    empty: DATA,
    grow: DATA,
    truncate_manifest: MANIFEST,
    empty_manifest: MANIFEST,
    grow_manifest: MANIFEST,
    remove: DATA,
    remove_folder: DATA,
    add_file: "notes.txt",
    add_hidden_file: "data/.hidden",
    add_data_file: "data/part-00001.parquet",
    add_folder: "data/more",
    link_data: DATA,
    link_data_folder: "data",
    link_manifest: MANIFEST,
    pipe: DATA,
    swap: DATA,
    swap_manifest: DATA,
}


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("damage", "name"), DAMAGES.items(), ids=lambda x: getattr(x, "__name__", "")
)
def test_damage_is_named(
    quick: Quick, release: Path, damage: Callable[[Path], None], name: str
) -> None:
    damage(release)
    assert name in found_in(release)
    outcome = quick("verify", release)
    assert (outcome.code, outcome.err) == (1, "")
    assert name in outcome.out
    listed = json.loads(quick("verify", release, "--format", "json").out)
    assert name in [finding["file"] for finding in listed]
    assert all(finding["problem"] for finding in listed)


def test_damage_is_named_by_the_real_command(release: Path) -> None:
    truncate(release)
    outcome = run("verify", release)
    assert (outcome.code, outcome.err) == (1, "")
    assert DATA in outcome.out
    assert "truncated" in outcome.out


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda place: place / "nowhere", ("nowhere", "does not exist")),
        (lambda place: place, ("no manifest.json",)),
        (lambda place: place / "file", ("is a file",)),
    ],
)
@pytest.mark.parametrize("command", [("verify",), ("show",), ("query", COUNT)])
def test_what_is_no_release(
    quick: Quick,
    tmp_path: Path,
    make: Callable[[Path], Path],
    told: tuple[str, ...],
    command: tuple[str, ...],
) -> None:
    (tmp_path / "file").write_text("mine")
    assert_refused(quick(command[0], make(tmp_path), *command[1:]), *told)


@pytest.mark.few(2)
@pytest.mark.parametrize("damage", [flip, empty, remove, truncate], ids=lambda x: x.__name__)
def test_damaged_data_are_not_counted_wrongly(
    quick: Quick, release: Path, damage: Callable[[Path], None]
) -> None:
    sound = quick("query", release, "SELECT sex, count(*) FROM release GROUP BY sex")
    damage(release)
    outcome = quick("query", release, "SELECT sex, count(*) FROM release GROUP BY sex")
    assert BUG not in outcome.err
    if outcome.code == 0:
        assert outcome.out == sound.out
    else:
        assert_refused(outcome, "verify")


# --- manifests that were edited --------------------------------------------------------------


def parts(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """The place of everything in a manifest; of long lists, the first two."""
    if path:
        yield path
    if isinstance(value, dict | list):
        below = value.items() if isinstance(value, dict) else enumerate(value[:2])
        for key, part in below:
            yield from parts(part, (*path, key))


def changed(content: Any, path: tuple[str | int, ...], to: Any) -> dict[str, Any]:
    """A copy of the manifest with something else at this place; a callable changes the old one."""
    whole: dict[str, Any] = copy.deepcopy(content)
    place: Any = whole
    for key in path[:-1]:
        place = place[key]
    # The last key may be one that is not there yet.
    place[path[-1]] = to(place[path[-1]]) if callable(to) else to
    return whole


def write_manifest(release: Path, content: dict[str, Any], *, checksum: bool) -> None:
    if checksum:
        # As the format prescribes, so that nothing but the content is wrong.
        rest = {key: value for key, value in content.items() if key != "checksum"}
        canonical = json.dumps(rest, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
        content = {**rest, "checksum": hashlib.sha256(canonical.encode()).hexdigest()}
    (release / MANIFEST).write_text(json.dumps(content))


def test_any_edited_field_is_noticed(release: Path) -> None:
    content = json.loads((release / MANIFEST).read_text())
    places = list(parts(content))
    assert len(places) > 40
    others: tuple[Any, ...] = (None, 3, "x", [], {}, lambda old: [old])
    for path in places:
        for to in others:
            edited = changed(content, path, to)
            if edited == content:
                continue
            write_manifest(release, edited, checksum=False)
            assert found_in(release) == [MANIFEST], path
            with pytest.raises(cv.CountveilError):
                cv.open(release)


def test_own_checksum_is_what_the_format_says(release: Path) -> None:
    content = json.loads((release / MANIFEST).read_text())
    write_manifest(release, content, checksum=True)
    assert found_in(release) == []


FILE = ("files", 0)
JOB = ("sensitive", "job")
LIES: dict[str, tuple[tuple[str | int, ...], Any]] = {
    "path outside": ((*FILE, "path"), "../../etc/passwd"),
    "absolute path": ((*FILE, "path"), "/etc/passwd"),
    "path up and down": ((*FILE, "path"), "data/../manifest.json"),
    "path in a sub-folder": ((*FILE, "path"), "data/more/part.parquet"),
    "path with a backslash": ((*FILE, "path"), "data/..\\part.parquet"),
    "path with a null": ((*FILE, "path"), "data/a\x00b"),
    "no path": ((*FILE, "path"), ""),
    "the data folder as a file": ((*FILE, "path"), "data/"),
    "a pattern as a path": ((*FILE, "path"), "data/*.parquet"),
    "a number as a path": ((*FILE, "path"), 5),
    "file twice": (("files",), lambda files: files * 2),
    "unknown field": (("surprise",), 1),
    "unknown field of a column": (("columns", 0, "surprise"), 1),
    "unknown field of a file": ((*FILE, "surprise"), 1),
    "unknown field of a protected column": ((*JOB, "surprise"), 1),
    "a newer version": (("format_version",), 2),
    "version in letters": (("format_version",), "1"),
    "version true": (("format_version",), True),
    "another format": (("format",), "something else"),
    "no rows": (("rows",), 0),
    "negative rows": (("rows",), -80),
    "half a row": (("rows",), 80.5),
    "more rows than the files have": (("rows",), 81),
    "rows in letters": (("rows",), "80"),
    "negative size": ((*FILE, "bytes"), -1),
    "negative rows of a file": ((*FILE, "rows"), -80),
    "no files": (("files",), []),
    "no columns": (("columns",), []),
    "a column twice": (("columns",), lambda columns: [*columns, columns[0]]),
    "no protected column": (("sensitive",), {}),
    "protected column without its role": (("columns", 2, "role"), "plain"),
    "role without its protected column": (("columns", 0, "role"), "sensitive"),
    "unknown role": (("columns", 0, "role"), "secret"),
    "a number as a name": (("columns", 0, "name"), 5),
    "nothing as a name": (("columns", 0, "name"), ""),
    "a number as a type": (("columns", 0, "type"), 5),
    "ell of one": ((*JOB, "ell"), 1),
    "ell of two and a half": ((*JOB, "ell"), 2.5),
    "ell true": ((*JOB, "ell"), True),
    "ell beyond the rows": ((*JOB, "ell"), 81),
    "unknown group method": ((*JOB, "groups"), "magic"),
    "unknown residue": ((*JOB, "residue"), "magic"),
    "a value twice": ((*JOB, "domain"), lambda domain: [*domain, domain[0]]),
    "no values": ((*JOB, "domain"), []),
    "a number among texts": ((*JOB, "domain", 0), 5),
    "text as a list of values": ((*JOB, "domain"), "bc"),
    "no guarantees": ((*JOB, "guarantee"), []),
    "a guarantee without numbers": ((*JOB, "guarantee", 0), {}),
    "a guarantee in letters": ((*JOB, "guarantee", 0, "chance_off"), "all"),
    "a probability of two": ((*JOB, "guarantee", 0, "chance_off"), 2),
    "a probability that is no number": ((*JOB, "guarantee", 0, "chance_off"), float("nan")),
    "a negative count": ((*JOB, "guarantee", 0, "count"), -5),
    "an infinite count": ((*JOB, "guarantee", 0, "count"), float("inf")),
    "an error beyond all numbers": ((*JOB, "guarantee", 0, "error"), 10**400),
    "unknown randomness": (("randomness",), "dice"),
    "a statement in one piece": (("statement",), "trust me"),
    "a number as the author": (("written_by",), 5),
}  # fmt: skip


@pytest.mark.few(12)
@pytest.mark.parametrize(("path", "to"), LIES.values(), ids=LIES.keys())
def test_a_manifest_that_cannot_be_right(
    quick: Quick, release: Path, path: tuple[str | int, ...], to: Any
) -> None:
    content = json.loads((release / MANIFEST).read_text())
    write_manifest(release, changed(content, path, to), checksum=True)
    assert_refused(quick("show", release), "manifest")
    assert found_in(release) == [MANIFEST]
    with pytest.raises(cv.CountveilError, match="manifest"):
        cv.open(release)


@pytest.mark.slow
def test_a_manifest_that_lies_to_every_command(release: Path) -> None:
    content = json.loads((release / MANIFEST).read_text())
    write_manifest(release, changed(content, *LIES["path outside"]), checksum=True)
    for words in (("show", release), ("query", release, COUNT)):
        assert_refused(run(*words), "manifest", "outside")
    outcome = run("verify", release)
    assert (outcome.code, outcome.err) == (1, "")
    assert MANIFEST in outcome.out
    assert "outside" in outcome.out


def test_a_manifest_of_other_data_is_found_out(release: Path) -> None:
    """A manifest can be right in itself and still not fit the data it names."""
    content = json.loads((release / MANIFEST).read_text())
    for path, to in (
        (("columns", 0, "name"), "renamed"),
        (("columns", 0, "type"), "string"),
        (("columns",), lambda columns: [columns[1], columns[0], *columns[2:]]),
        ((*FILE, "bytes"), lambda size: size + 1),
        ((*FILE, "sha256"), "0" * 64),
    ):
        write_manifest(release, changed(content, path, to), checksum=True)
        assert found_in(release) == [DATA], path


def test_a_file_with_other_rows_than_the_manifest_lists_is_found(release: Path) -> None:
    content = json.loads((release / MANIFEST).read_text())
    more = changed(content, (*FILE, "rows"), lambda rows: rows + 1)
    write_manifest(release, changed(more, ("rows",), lambda rows: rows + 1), checksum=True)
    (discrepancy,) = [each for each in cv.verify(release) if each.file == DATA]
    rows = content["rows"]
    assert discrepancy.problem == f"holds {rows} rows instead of {rows + 1}"


def test_values_that_the_manifest_does_not_list(quick: Quick, release: Path) -> None:
    content = json.loads((release / MANIFEST).read_text())
    write_manifest(release, changed(content, (*JOB, "domain"), ["nurse"]), checksum=True)
    assert_refused(quick("query", release, COUNT), "does not list")
    # Nor is such a release sound.
    assert found_in(release) != []


JUNK: tuple[Any, ...] = (None, 10**30, "\x1b[31mx", [], {"a": {}})


@pytest.mark.slow
@pytest.mark.parametrize("junk", JUNK, ids=repr)
def test_no_manifest_makes_a_command_fail(release: Path, junk: Any) -> None:
    """Whatever stands in a manifest: an answer or a refusal, never a crash, never an escape."""
    from typer.testing import CliRunner

    from countveil.cli.app import app

    runner = CliRunner()
    content = json.loads((release / MANIFEST).read_text())
    crashed = []
    for path in parts(content):
        write_manifest(release, changed(content, path, junk), checksum=True)
        for words in (("show",), ("query", COUNT)):
            outcome = runner.invoke(app, [words[0], str(release), *words[1:]])
            refused = outcome.exception is None or isinstance(
                outcome.exception, cv.CountveilError | SystemExit
            )
            if not refused or "\x1b" in outcome.output:
                crashed.append((words[0], path, outcome.exception))
            if outcome.exception is not None:
                break
    assert crashed == []


def test_extra_column_in_the_data(release: Path) -> None:
    table = pq.read_table(release / DATA)
    pq.write_table(table.append_column("id", pa.array(range(table.num_rows))), release / DATA)
    assert found_in(release) == [DATA]


def test_python_gets_a_list_that_prints(release: Path) -> None:
    sound = cv.verify(release)
    assert sound == []
    assert not sound
    assert str(sound) == repr(sound)
    assert str(sound) == (
        f"{release} is sound: every file matches the manifest.\n"
        f"This does not prove who made it: it is not signed."
    )
    assert "not signed" in sound._repr_html_()
    (release / "note\x1b.txt").write_text("x")
    (finding,) = found = cv.verify(release)
    assert isinstance(found, list)
    assert finding.problem == "not part of the release"
    assert str(found).startswith(f"{release} is not what was published:\n  note")
    assert "\x1b" not in str(found)


@pytest.mark.parametrize("name", ["data", "data/part-00000.parquet"])
def test_links_that_lead_nowhere_are_said_in_a_sentence(release: Path, name: str) -> None:
    place = release / name
    shutil.rmtree(place) if place.is_dir() else place.unlink()
    place.symlink_to(place.name)
    with pytest.raises(cv.CountveilError, match="cannot be read"):
        cv.open(release).sql("SELECT sex, count(*) FROM release GROUP BY sex")
    assert "symbolic link" in str(cv.verify(release))
