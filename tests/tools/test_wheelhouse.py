"""A wheelhouse installs without an index or is not made, and what is installed is tried."""

from __future__ import annotations

import hashlib
import shutil
import sys
from pathlib import Path

import pytest

import countveil
from tools import wheelhouse
from tools.building import Artifacts, ToolError, build, time_of
from tools.environments import new_environment, publish_and_ask

ROOT = Path(__file__).parents[2]


def test_extras_are_those_that_exist() -> None:
    assert wheelhouse.checked(["stat", "postgres", "stat", "plot"]) == ["stat", "postgres"]
    with pytest.raises(
        ToolError, match=r"no extra 'oracle'. There are: app, dask, excel, models, pandas,"
    ):
        wheelhouse.checked(["stat", "oracle"])


def test_nothing_that_is_no_wheelhouse_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(ToolError, match="exists and is no wheelhouse"):
        wheelhouse.make(tmp_path, [])
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_an_error_is_one_message(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["wheelhouse", "--extras", "oracle", "--to", str(tmp_path / "house")]
    monkeypatch.setattr(sys, "argv", words)
    with pytest.raises(SystemExit) as raised:
        wheelhouse.main()
    assert str(raised.value).startswith("Error: There is no extra 'oracle'.")
    assert capsys.readouterr().out == ""
    assert not (tmp_path / "house").exists()


def test_the_requirements_have_every_pin_and_the_hash_of_the_wheel(tmp_path: Path) -> None:
    own = tmp_path / "own.whl"
    own.write_bytes(b"wheel")
    pins = [ROOT / "requirements/runtime.txt", ROOT / "requirements/postgres.txt"]
    text = wheelhouse.requirements(pins, own)
    for path in pins:
        assert path.read_text() in text
    checksum = hashlib.sha256(b"wheel").hexdigest()
    assert text.endswith(f"countveil=={countveil.__version__} \\\n    --hash=sha256:{checksum}\n")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Artifacts:
    return build(ROOT, tmp_path_factory.mktemp("built"), time_of(ROOT))


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With pip and nothing else."""
    return tmp_path_factory.mktemp("new") / "environment"


@pytest.fixture(scope="module")
def commands(environment: Path) -> Path:
    return new_environment(environment)


def house_of(wheel: Path, requirements: str, folder: Path) -> Path:
    shutil.copy(wheel, folder)
    (folder / "requirements.txt").write_text(requirements)
    return folder


@pytest.mark.slow
def test_a_gap_is_noticed(built: Artifacts, commands: Path, tmp_path: Path) -> None:
    """This machine may have an index: it is not asked."""
    pins = [ROOT / "requirements/runtime.txt"]
    house = house_of(built.wheel, wheelhouse.requirements(pins, built.wheel), tmp_path)
    with pytest.raises(ToolError, match="No matching distribution found for annotated-doc=="):
        wheelhouse.install_from(house, commands)


@pytest.mark.slow
def test_another_wheel_is_noticed(built: Artifacts, commands: Path, tmp_path: Path) -> None:
    house = house_of(built.wheel, wheelhouse.requirements([], built.sdist), tmp_path)
    with pytest.raises(ToolError, match="DO NOT MATCH THE HASHES"):
        wheelhouse.install_from(house, commands)


@pytest.mark.slow
def test_what_is_installed_is_tried(
    built: Artifacts, commands: Path, environment: Path, tmp_path: Path
) -> None:
    house = house_of(built.wheel, wheelhouse.requirements([], built.wheel), tmp_path)
    with pytest.raises(ToolError, match=r"countveil .* requires cryptography, which is not"):
        wheelhouse.install_from(house, commands)
    with pytest.raises(ToolError, match="ModuleNotFoundError"):
        publish_and_ask(commands, tmp_path)
    # The dependencies as they are installed here; countveil itself is the wheel.
    (place,) = environment.rglob("lib/*/site-packages")
    folders = [path for path in sys.path if Path(path).name == "site-packages"]
    lines = [f"import sys; sys.path.append({path!r})\n" for path in folders]
    (place / "dependencies.pth").write_text("".join(lines))
    assert publish_and_ask(commands, tmp_path) == countveil.__version__
