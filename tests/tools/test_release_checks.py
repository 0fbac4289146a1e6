"""Every check of a version passes on a sound one, and finds what is wrong with a broken one.

A small project with countveil's own pyproject.toml is built for real; then something is broken.
"""

from __future__ import annotations

import io
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from tools import release_checks as checks
from tools.building import Artifacts, ToolError, build, copy_elsewhere, time_of, tracked
from tools.release_check import from_sdist, report

ROOT = Path(__file__).parents[2]
EPOCH = 1_700_000_000
PARTS = (
    "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", ".gitignore",
    "src/countveil/__init__.py", "src/countveil/errors.py", "src/countveil/py.typed",
    "src/countveil/web/static/vendor/LICENSES.txt",
)  # fmt: skip


def small_project(folder: Path) -> Path:
    for name in PARTS:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "tests").mkdir()
    (folder / "tests/test_it.py").write_text("def test_it(): ...\n")
    (folder / "census.csv").write_text("age\n7\n")
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return small_project(tmp_path / "project")


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Artifacts]:
    """A project, and what was built from it."""
    folder = tmp_path_factory.mktemp("sound")
    root = small_project(folder / "project")
    return root, build(root, folder / "built", EPOCH)


Change = Callable[[dict[str, bytes]], None]


def changed_wheel(wheel: Path, to: Path, change: Change) -> Path:
    with zipfile.ZipFile(wheel) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    with zipfile.ZipFile(to / wheel.name, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return to / wheel.name


def changed_sdist(sdist: Path, to: Path, change: Change) -> Path:
    with tarfile.open(sdist) as archive:
        files = {
            member.name: packed.read()
            for member in archive
            if (packed := archive.extractfile(member)) is not None
        }
    change(files)
    with tarfile.open(to / sdist.name, "w:gz") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return to / sdist.name


def named(files: dict[str, bytes], end: str) -> str:
    (name,) = (name for name in files if name.endswith(end))
    return name


def test_this_checkout_names_one_version() -> None:
    assert checks.versions(ROOT) == []


def test_the_parts_of_a_sound_version_have_no_problem(sound: tuple[Path, Artifacts]) -> None:
    root, built = sound
    assert checks.versions(root) == []
    assert checks.wheel_contents(root, built.wheel) == []
    assert checks.sdist_contents(root, built.sdist) == []
    assert checks.metadata(root, built) == []


@pytest.mark.parametrize(
    ("name", "old", "new", "problem"),
    [
        ("src/countveil/__init__.py", '__version__ = "', '__version__ = "9', "CITATION.cff has"),
        ("src/countveil/__init__.py", '__version__ = "', '__version__ = "v', "usually written"),
        ("src/countveil/__init__.py", '__version__ = "', '__version__ = "x', "no version"),
        ("CITATION.cff", "version: 0", "version: 9", "CITATION.cff has version 9"),
        ("CHANGELOG.md", "## 0", "## 9", "CHANGELOG.md begins with '9"),
        ("CHANGELOG.md", "(unreleased)", "(soon)", "CHANGELOG.md has '(soon)'"),
        ("CITATION.cff", "type: software", "date-released: 2026-01-02", "CITATION.cff says 2026"),
    ],
)
def test_versions_that_differ(project: Path, name: str, old: str, new: str, problem: str) -> None:
    text = (project / name).read_text()
    assert old in text
    (project / name).write_text(text.replace(old, new, 1))
    assert any(problem in found for found in checks.versions(project))


def test_a_version_that_leaves_has_a_day(project: Path) -> None:
    page = project / "CHANGELOG.md"
    text = page.read_text()
    for day, problems in (("(unreleased)", 1), ("(2026-01-02)", 0), ("(2026-1-2)", 1)):
        page.write_text(text.replace("(unreleased)", day, 1))
        assert len(checks.versions(project, dated=True)) == problems


def add(name: str) -> Change:
    return lambda files: files.update({name: b"x"})


def alter_a_module(files: dict[str, bytes]) -> None:
    files["countveil/errors.py"] += b"# after the build\n"


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (add("tests/test_it.py"), "tests/test_it.py does not belong"),
        (add("countveil/people.csv"), "countveil/people.csv looks like data"),
        (add("countveil/errors.py"), "not as RECORD has it"),
        (alter_a_module, "not as RECORD has it"),
        (lambda files: files.pop("countveil/py.typed"), "countveil/py.typed is missing"),
        (lambda files: files.pop("countveil/errors.py"), "countveil/errors.py is missing"),
        (lambda files: files.pop(named(files, "/LICENSE")), "licenses/LICENSE is missing"),
        (lambda files: files.pop(named(files, "entry_points.txt")), "entry_points.txt is missing"),
    ],
)
def test_wheels_with_other_contents(
    sound: tuple[Path, Artifacts], tmp_path: Path, change: Change, problem: str
) -> None:
    root, built = sound
    wheel = changed_wheel(built.wheel, tmp_path, change)
    assert any(problem in found for found in checks.wheel_contents(root, wheel))


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (add("countveil-0/tests/test_it.py"), "tests/test_it.py does not belong"),
        (add("countveil-0/src/countveil/people.parquet"), "people.parquet looks like data"),
        (lambda files: files.pop(named(files, "/LICENSE")), "LICENSE is missing"),
        (lambda files: files.pop(named(files, "countveil/errors.py")), "errors.py is missing"),
    ],
)
def test_source_distributions_with_other_contents(
    sound: tuple[Path, Artifacts], tmp_path: Path, change: Change, problem: str
) -> None:
    root, built = sound
    sdist = changed_sdist(built.sdist, tmp_path, change)
    assert any(problem in found for found in checks.sdist_contents(root, sdist))


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        (b"Metadata-Version: 2", b"Metadata-Version: 7", "is not a valid metadata version"),
        (b"Requires-Python: >=3.11", b"Requires-Python: three", "requires-python"),
        (b"Requires-Python: >=3.11", b"Requires-Python: >=3.9", "Requires-Python is '>=3.9'"),
        (b"Provides-Extra: stat\n", b"", "Provides-Extra is"),
        (b"License-File: LICENSE", b"License-File: COPYING", "License-File is"),
        (b"\n# countveil", b"\n# another", "the description is"),
        (b"Keywords: ", b"Keywords: new,", "have different metadata"),
    ],
)
def test_metadata_that_are_wrong(
    sound: tuple[Path, Artifacts], tmp_path: Path, old: bytes, new: bytes, problem: str
) -> None:
    def change(files: dict[str, bytes]) -> None:
        name = named(files, "/METADATA")
        assert old in files[name]
        files[name] = files[name].replace(old, new, 1)

    root, built = sound
    broken = Artifacts(changed_wheel(built.wheel, tmp_path, change), built.sdist)
    assert any(problem in found for found in checks.metadata(root, broken))


@pytest.mark.slow
def test_another_place_and_time_give_the_same_bytes(
    sound: tuple[Path, Artifacts], tmp_path: Path
) -> None:
    _, built = sound
    again = build(small_project(tmp_path / "elsewhere"), tmp_path / "built", EPOCH)
    assert checks.reproducible(built, again) == []
    assert from_sdist(built, tmp_path, EPOCH) == []


@pytest.mark.slow
def test_builds_that_differ(sound: tuple[Path, Artifacts], tmp_path: Path, project: Path) -> None:
    _, built = sound
    later = build(project, tmp_path / "later", EPOCH + 86_400)
    assert len(checks.reproducible(built, later)) == 2
    (project / "src/countveil/errors.py").write_text("")
    other = build(project, tmp_path / "other", EPOCH)
    assert checks.reproducible(built, other) == [
        f"{path.name} differs between two builds" for path in built
    ]


@pytest.mark.slow
def test_this_checkout_builds_what_it_should(tmp_path: Path) -> None:
    built = build(ROOT, tmp_path / "built", time_of(ROOT))
    assert checks.wheel_contents(ROOT, built.wheel) == []
    assert checks.sdist_contents(ROOT, built.sdist) == []
    assert checks.metadata(ROOT, built) == []
    copy = copy_elsewhere(ROOT, tmp_path / "copy")
    assert checks.reproducible(built, build(copy, tmp_path / "again", time_of(ROOT))) == []


def test_what_belongs_to_the_project_leaves_out_what_git_ignores() -> None:
    names = {path.as_posix() for path in tracked(ROOT)}
    assert {"pyproject.toml", "src/countveil/__init__.py"} <= names
    assert not any(name.startswith(".venv") or "__pycache__" in name for name in names)


def test_a_report_counts_problems(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> list[str]:
        raise ToolError("pip is gone")

    assert report("first", list) == 0
    assert report("second", lambda: ["this", "that"]) == 2
    assert report("third", fails) == 1
    printed = "ok  first\nNO  second\n    this\n    that\nNO  third\n    pip is gone\n"
    assert capsys.readouterr().out == printed
