"""New virtual environments, and whether countveil works in them.

A folder for the environment and what pip is to install enter; what the installed command printed
leaves, or an error. Nothing of this checkout is on the way: neither its folder nor its PYTHONPATH.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from tools.building import ToolError, run

QUESTION = "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"


def new_environment(folder: Path) -> Path:
    """The folder with the commands of a new environment, which has nothing but pip."""
    run([sys.executable, "-m", "venv", folder])
    return folder / ("Scripts" if os.name == "nt" else "bin")


def install(commands: Path, *words: object) -> None:
    """Pip, in that environment, from wherever this machine is set up to install from."""
    pip_install(commands, words, bare())


def install_offline(commands: Path, folder: Path, *words: object) -> None:
    """Pip with one folder and nothing else, whatever this machine's settings of pip say."""
    env = {key: text for key, text in bare().items() if not key.startswith("PIP_")}
    env["PIP_CONFIG_FILE"] = os.devnull
    pip_install(commands, ("--no-index", "--find-links", folder, *words), env)


def pip_install(commands: Path, words: Iterable[object], env: dict[str, str]) -> None:
    quiet = ("--quiet", "--disable-pip-version-check", "--no-compile")
    run([commands / "python", "-m", "pip", "install", *quiet, *words], env=env)


def publish_and_ask(commands: Path, folder: Path) -> str:
    """The version that is installed, once it has published a table and answered a question."""

    def countveil(*words: object) -> str:
        return run([commands / "countveil", *words], cwd=folder, env=bare())

    version = countveil("--version").split()[-1]
    countveil("generate", "--rows", 2_000, "--to", "census.csv", "--seed", 1)
    countveil("publish", "census.csv", "-s", "occupation:3", "--to", "release")
    countveil("verify", "release")
    rows = json.loads(countveil("query", "release", QUESTION, "--format", "json"))
    if sorted(row["gender"] for row in rows) != ["F", "M"]:
        raise ToolError(f"The installed countveil answered {rows} when asked: {QUESTION}")
    return version


def bare() -> dict[str, str]:
    """The variables of this process without those that would let Python look elsewhere."""
    leads = ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")
    return {key: text for key, text in os.environ.items() if key not in leads}
