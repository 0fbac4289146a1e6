"""The place for the release: what is refused, what survives, what is cleaned up."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from tests.robustness.conftest import Quick
from tests.robustness.tools import (
    BUG,
    COMMAND,
    SMALL_ROWS,
    assert_refused,
    names_in,
    released,
    run,
    small_columns,
    snapshot,
    unchanged,
    with_largest_file,
    without_privileges,
)


def publish_small(small: Path, target: Path | str, *words: str) -> tuple[str | Path, ...]:
    return ("publish", small, "-s", "job:2", "--keep", "row", "--to", target, *words)


def folder_with_notes(place: Path, _published: Path) -> Path:
    (place / "target").mkdir()
    (place / "target" / "notes.txt").write_text("mine")
    return place / "target"


def old_release(place: Path, published: Path) -> Path:
    return Path(shutil.copytree(published, place / "target"))


def release_with(name: str) -> Callable[[Path, Path], Path]:
    def make(place: Path, published: Path) -> Path:
        target = old_release(place, published)
        (target / name).write_text("mine")
        return target

    return make


def damaged_release(place: Path, published: Path) -> Path:
    target = old_release(place, published)
    manifest = target / "manifest.json"
    manifest.write_text(manifest.read_text().replace(f'"rows": {SMALL_ROWS}', '"rows": 81', 1))
    return target


def a_file(place: Path, _published: Path) -> Path:
    (place / "target").write_text("mine")
    return place / "target"


def below_a_file(place: Path, published: Path) -> Path:
    return a_file(place, published) / "release"


def below_nothing(place: Path, _published: Path) -> Path:
    return place / "gone" / "release"


OCCUPIED: dict[str, tuple[Callable[[Path, Path], Path], list[str], tuple[str, ...]]] = {
    "a release": (old_release, [], ("target", "not empty", "--force")),
    "another folder": (folder_with_notes, [], ("target", "not empty")),
    "another folder, forced": (
        folder_with_notes,
        ["--force", "--again"],
        ("target", "not a release"),
    ),
    "a foreign file in a release": (
        release_with("notes.txt"),
        ["--force", "--again"],
        ("notes.txt", "move it elsewhere"),
    ),
    "a hidden file in a release": (release_with(".notes"), ["--force", "--again"], (".notes",)),
    "a foreign file among the data": (
        release_with("data/notes.txt"),
        ["--force", "--again"],
        ("notes.txt", "move it elsewhere"),
    ),
    "a damaged release": (damaged_release, ["--force", "--again"], ("target", "not a release")),
    "a file": (a_file, [], ("target", "is a file")),
    "a file, forced": (a_file, ["--force"], ("target", "is a file")),
    "below a file": (below_a_file, [], ("target", "create it")),
    "below nothing": (below_nothing, [], ("gone", "create it")),
}


@pytest.mark.few(5)
@pytest.mark.parametrize(("make", "words", "told"), OCCUPIED.values(), ids=OCCUPIED.keys())
def test_occupied_place_is_left_alone(
    quick: Quick,
    small: Path,
    published: Path,
    tmp_path: Path,
    make: Callable[[Path, Path], Path],
    words: list[str],
    told: tuple[str, ...],
) -> None:
    target = make(tmp_path, published)
    with unchanged(tmp_path):
        outcome = quick(*publish_small(small, target, *words))
    assert_refused(outcome, *told)


@pytest.mark.parametrize("target", [".", "", "/"])
def test_no_name_for_the_folder(quick: Quick, small: Path, tmp_path: Path, target: str) -> None:
    with unchanged(tmp_path):
        outcome = quick(*publish_small(small, target), cwd=tmp_path)
    assert_refused(outcome, "name a new folder")


def test_an_empty_folder_is_filled(quick: Quick, small: Path, tmp_path: Path) -> None:
    (tmp_path / "release").mkdir()
    assert quick(*publish_small(small, tmp_path / "release")).code == 0
    assert cv.verify(tmp_path / "release") == []
    assert names_in(tmp_path) == released("release")


@pytest.mark.slow
def test_force_replaces_a_release_and_leaves_nothing_else(small: Path, release: Path) -> None:
    before = snapshot(release)
    assert run(*publish_small(small, release, "--force", "--again")).code == 0
    assert snapshot(release) != before
    assert cv.verify(release) == []
    assert names_in(release.parent) == released(release.name)


def test_a_link_stays_and_what_it_points_to_is_replaced(
    quick: Quick, small: Path, release: Path, tmp_path: Path
) -> None:
    (tmp_path / "latest").symlink_to(release)
    before = snapshot(release)
    assert quick(*publish_small(small, tmp_path / "latest", "--force", "--again")).code == 0
    assert (tmp_path / "latest").readlink() == release
    assert snapshot(release) != before
    assert cv.verify(tmp_path / "latest") == []


def test_published_files_can_be_read_by_everyone(published: Path) -> None:
    modes = {path.stat().st_mode & 0o777 for path in published.rglob("*") if path.is_file()}
    assert modes == {0o644}
    assert published.stat().st_mode & 0o777 == 0o755


def test_a_folder_that_appears_meanwhile_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "release"

    def someone_else_writes(stage: str, _done: int, _total: int) -> None:
        if stage == "writing" and not target.exists():
            target.mkdir()
            (target / "notes.txt").write_text("mine")

    table = pa.table(small_columns())
    with pytest.raises(cv.CountveilError, match="not empty"):
        cv.publish(table, {"job": 2}, target, keep="row", progress=someone_else_writes)
    assert (target / "notes.txt").read_text() == "mine"
    assert names_in(tmp_path) == ["release"]


def test_two_publications_at_once_do_not_remove_each_other(small: Path, tmp_path: Path) -> None:
    inner: list[cv.Release] = []

    def publish_beside(stage: str, _done: int, _total: int) -> None:
        if stage == "writing" and not inner:
            inner.append(cv.publish(small, {"job": 2}, tmp_path / "inner", keep="row"))

    outer = tmp_path / "outer"
    cv.publish(pa.table(small_columns()), {"job": 2}, outer, keep="row", progress=publish_beside)
    assert cv.verify(outer) == cv.verify(tmp_path / "inner") == []
    assert names_in(tmp_path) == released("inner", "outer")


class TestPermissions:
    @pytest.fixture
    def locked(self, tmp_path: Path) -> Iterator[Path]:
        """A folder that can be looked into but not changed."""
        folder = tmp_path / "locked"
        folder.mkdir()
        folder.chmod(0o555)
        yield folder
        folder.chmod(0o755)

    @pytest.mark.slow
    def test_parent_that_cannot_be_written(self, small: Path, locked: Path) -> None:
        with unchanged(locked):
            outcome = run(*publish_small(small, locked / "release"), through=without_privileges())
        assert_refused(outcome, "permission", "write", "locked/release")

    @pytest.mark.slow
    def test_parent_that_cannot_be_read(self, small: Path, locked: Path) -> None:
        locked.chmod(0)
        outcome = run(*publish_small(small, locked / "release"), through=without_privileges())
        locked.chmod(0o755)
        assert_refused(outcome, "permission", "locked/release")
        assert names_in(locked) == []

    @pytest.mark.slow
    def test_force_where_nothing_can_be_written(
        self, small: Path, published: Path, locked: Path
    ) -> None:
        locked.chmod(0o755)
        target = shutil.copytree(published, locked / "release")
        locked.chmod(0o555)
        with unchanged(locked):
            outcome = run(
                *publish_small(small, target, "--force", "--again"), through=without_privileges()
            )
        assert_refused(outcome, "permission", "write")

    @pytest.mark.slow
    @pytest.mark.parametrize(
        "name", ["in.csv", "in.csv.gz", "in.csv.zst", "in.parquet", "in.arrow"]
    )
    def test_input_that_cannot_be_read(self, tmp_path: Path, name: str) -> None:
        source = tmp_path / name
        source.write_text("anything")
        source.chmod(0)
        outcome = run(*publish_small(source, tmp_path / "release"), through=without_privileges())
        assert_refused(outcome, "permission", "read", name)
        assert names_in(tmp_path) == [name]

    @pytest.mark.slow
    def test_input_in_a_folder_that_cannot_be_read(self, small: Path, locked: Path) -> None:
        locked.chmod(0o755)
        shutil.copy(small, locked / "in.csv")
        locked.chmod(0)
        target = locked.parent / "release"
        outcome = run(*publish_small(locked / "in.csv", target), through=without_privileges())
        assert_refused(outcome, "permission", "read", "in.csv")
        assert names_in(locked.parent) == ["locked"]

    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["data/part-00000.parquet", "data", "manifest.json", "."])
    def test_release_that_cannot_be_read(self, release: Path, name: str) -> None:
        through = without_privileges()
        place = release / name
        mode = place.stat().st_mode
        place.chmod(0)
        verified = run("verify", release, through=through)
        asked = run("query", release, "SELECT count(*) FROM release", through=through)
        place.chmod(mode)
        assert verified.code == asked.code == 1
        assert_refused(asked, "release")
        assert BUG not in verified.err
        assert place.name in verified.out + verified.err


class TestFullDisk:
    @pytest.mark.slow
    @pytest.mark.parametrize("largest", [0, 300_000])
    def test_size_limit(self, large: Path, tmp_path: Path, largest: int) -> None:
        words = ("publish", large, "-s", "occupation:5", "--to", tmp_path / "release")
        outcome = run(*words, through=with_largest_file(largest))
        assert_refused(outcome, "full", "limit", "release")
        assert names_in(tmp_path) == []

    @pytest.mark.slow
    def test_old_release_survives(self, large: Path, release: Path) -> None:
        words = ("publish", large, "-s", "occupation:5", "--to", release, "--force", "--again")
        with unchanged(release.parent):
            outcome = run(*words, through=with_largest_file(300_000))
        assert_refused(outcome, "full", "limit")
        assert cv.verify(release) == []

    @pytest.fixture
    def tiny_disk(self, tmp_path: Path) -> Iterator[Path]:
        """A file system with room for 400 kB."""
        place = tmp_path / "disk"
        place.mkdir()
        if os.geteuid() != 0 or not sys.platform.startswith("linux"):
            pytest.skip("mounting a small file system needs root on Linux")
        mount = ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(place)]
        if subprocess.run(mount, capture_output=True, check=False).returncode != 0:
            pytest.skip("this container may not mount a small file system")
        yield place
        subprocess.run(["umount", str(place)], check=True)

    def test_disk_full(self, large: Path, tiny_disk: Path) -> None:
        words = ("publish", large, "-s", "occupation:5", "--to", tiny_disk / "release")
        assert_refused(run(*words), "full", "release")
        assert names_in(tiny_disk) == []

    @pytest.mark.slow
    def test_disk_full_with_an_old_release(
        self, large: Path, published: Path, tiny_disk: Path
    ) -> None:
        target = shutil.copytree(published, tiny_disk / "release")
        words = ("publish", large, "-s", "occupation:5", "--to", target, "--force", "--again")
        with unchanged(tiny_disk):
            assert_refused(run(*words), "full")
        assert cv.verify(target) == []


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_screen_that_fails_does_not_deny_the_release(small: Path, tmp_path: Path) -> None:
    target = tmp_path / "release"
    with Path("/dev/full").open("w") as full:
        words = [Path(sys.executable).with_name("countveil"), *publish_small(small, target)]
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, check=False)
    assert cv.verify(target) == []
    assert b"nothing was published" not in done.stderr
    assert f"The release {target} is in place and complete.".encode() in done.stderr
    assert b"Traceback" not in done.stderr
    assert done.returncode == 3


@pytest.mark.slow
@pytest.mark.parametrize("closed", ["1", "0 1", "1 2", "0 1 2"])
def test_no_standard_output_at_all(small: Path, tmp_path: Path, closed: str) -> None:
    """Nothing of what is printed ends in a file that took the number of the closed one."""
    words = [str(word) for word in publish_small(small, tmp_path / "release")]
    script = (
        "import os, sys\n"
        "for number in map(int, sys.argv[1].split()): os.close(number)\n"
        "os.execv(sys.argv[2], sys.argv[2:])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, closed, COMMAND, *words], capture_output=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert cv.verify(tmp_path / "release") == []
    assert names_in(tmp_path) == released("release")


@pytest.mark.slow
def test_no_standard_error_at_all(small: Path, tmp_path: Path) -> None:
    command = 'exec "$@" 2>&-'
    outcome = run(*publish_small(small, tmp_path / "release"), through=["sh", "-c", command, "sh"])
    assert outcome.code == 0
    assert cv.verify(tmp_path / "release") == []


AWKWARD_FOLDERS = ["sex=Q", "with space", "star*", "mark?", "[1]", "quo'te", "per%20cent", "ö😀"]


@pytest.mark.few(2)
@pytest.mark.parametrize("name", AWKWARD_FOLDERS)
def test_awkward_folder_names(tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.mkdir()
    source = place / "in.parquet"
    pq.write_table(pa.table(small_columns()), source)
    release = cv.publish(source, {"job": 2}, place / "release", keep="row")
    # Beside it, what the name means when it is taken for a pattern.
    sibling = name.replace("*", "x").replace("?", "x").replace("[1]", "1")
    if sibling != name:
        shutil.copytree(place, tmp_path / sibling)
    answer = release.sql("SELECT sex, count(*) FROM release GROUP BY sex")
    assert [(row["sex"], row["estimate"]) for row in answer.to_dicts()] == [
        ("F", SMALL_ROWS / 2),
        ("M", SMALL_ROWS / 2),
    ]


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["sex=Q", "star*", "[1]", "quo'te"])
def test_awkward_folder_names_of_csv_files(small: Path, tmp_path: Path, name: str) -> None:
    place = tmp_path / name
    place.mkdir()
    source = Path(shutil.copy(small, place / "in.csv"))
    cv.publish(source, {"job": 2}, tmp_path / "release", keep="row")
    rows = pq.read_table(tmp_path / "release" / "data").to_pydict()
    assert sorted(rows["row"]) == list(range(SMALL_ROWS))
    assert sorted(rows["sex"]) == ["F"] * (SMALL_ROWS // 2) + ["M"] * (SMALL_ROWS // 2)


@pytest.mark.slow
def test_a_path_that_is_not_unicode(small: Path, tmp_path: Path) -> None:
    source = os.fsencode(tmp_path) + b"/in\xff.csv"
    Path(os.fsdecode(source)).write_bytes(small.read_bytes())
    words = (b"publish", source, b"-s", b"job:2", b"--keep", b"row")
    outcome = run(*words, b"--to", os.fsencode(tmp_path) + b"/release")
    assert BUG not in outcome.err
    assert outcome.code == 0 or "in" in outcome.err
