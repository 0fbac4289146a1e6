"""`python -m tools.wheelhouse`: a folder from which countveil installs where there is no index.

The pins of the runtime and of the extras that are named enter; a folder leaves with their wheels,
countveil's own and a `requirements.txt` that has the hash of each. It is for the system and the
version of Python that made it. Before it appears, everything in it is installed into a new
environment with no index, and a table is published and asked there.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import sys
import tempfile
import tomllib
from pathlib import Path

from tools.building import ToolError, build, run, time_of
from tools.environments import bare, install_offline, new_environment, publish_and_ask
from tools.release_checks import version_of

ROOT = Path(__file__).parents[1]


def main() -> None:
    """Make the folder, or say in one sentence why not."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--to", type=Path, default=Path("wheelhouse"))
    parser.add_argument("--extras", default="", help="names of extras, with commas")
    options = parser.parse_args()
    extras = [name for name in options.extras.replace(",", " ").split() if name]
    try:
        make(options.to, extras)
    except ToolError as error:
        sys.exit(f"Error: {error}")
    size = sum(path.stat().st_size for path in options.to.iterdir()) / 1e6
    print(f"{options.to}: {size:.0f} MB, installed from and tried. On the other side:")
    print(f"  {command_for(options.to.name)}")


def command_for(folder: str) -> str:
    """What installs from the folder, into an environment that has pip."""
    return (
        f"python -m pip install --no-index --find-links {folder} --no-deps --require-hashes"
        f" -r {folder}/requirements.txt"
    )


def make(to: Path, extras: list[str]) -> None:
    """Fill the folder aside, try it, and only then put it in its place."""
    pins = [ROOT / "requirements" / f"{name}.txt" for name in ("runtime", *checked(extras))]
    if to.exists() and not (to / "requirements.txt").exists():
        raise ToolError(f"{to} exists and is no wheelhouse. Name another folder with --to.")
    with tempfile.TemporaryDirectory() as folder:
        filled = Path(folder) / "wheelhouse"
        download(pins, filled)
        own = build(ROOT, Path(folder) / "built", time_of(ROOT)).wheel
        shutil.copy(own, filled)
        (filled / "requirements.txt").write_text(requirements(pins, own))
        try_out(filled, Path(folder))
        shutil.rmtree(to, ignore_errors=True)
        shutil.move(filled, to)


def checked(extras: list[str]) -> list[str]:
    """The extras, once each, that have anything to install."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    known: dict[str, list[str]] = project["optional-dependencies"]
    unknown = sorted(set(extras) - set(known))
    if unknown:
        raise ToolError(f"There is no extra {unknown[0]!r}. There are: {', '.join(known)}.")
    return [name for name in dict.fromkeys(extras) if known[name]]


def download(pins: list[Path], to: Path) -> None:
    words = ["--only-binary", ":all:", "--no-deps", "--require-hashes", "--quiet"]
    files = [word for path in pins for word in ("-r", path)]
    quiet = "--disable-pip-version-check"
    run([sys.executable, "-m", "pip", "download", quiet, *words, *files, "--dest", to], env=bare())


def requirements(pins: list[Path], own: Path) -> str:
    """Every pin with its hashes, and countveil itself."""
    checksum = hashlib.sha256(own.read_bytes()).hexdigest()
    ours = f"countveil=={version_of(ROOT)} \\\n    --hash=sha256:{checksum}\n"
    return "".join([*(path.read_text() for path in pins), ours])


def try_out(wheelhouse: Path, folder: Path) -> None:
    """All of it into a new environment; then a publication and a question there."""
    commands = new_environment(folder / "environment")
    install_from(wheelhouse, commands)
    publish_and_ask(commands, folder)


def install_from(wheelhouse: Path, commands: Path) -> None:
    """With no index, and nothing of it missing."""
    words = ("--no-deps", "--require-hashes", "-r", wheelhouse / "requirements.txt")
    install_offline(commands, wheelhouse, *words)
    run([commands / "python", "-m", "pip", "--disable-pip-version-check", "check"], env=bare())


if __name__ == "__main__":
    main()
