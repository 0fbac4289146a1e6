"""The scripts of the web app: made from tools/assets and put where the package serves them.

What tools/assets pins (package.json, package-lock.json) and the editor's source enter; a folder
leaves with htmx as it is shipped, the editor in one file, the licences of both, and assets.json,
which says what they are. The same sources give the same bytes, wherever they are built. Needs node
and npm; whoever installs or runs the app needs neither. Must not know what the app does with them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.building import ToolError, run

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "tools/assets"
VENDOR = ROOT / "src/countveil/web/static/vendor"
EDITOR, HTMX, LICENCES, LISTED = "editor.js", "htmx.min.js", "LICENSES.txt", "assets.json"
# Licences under which a script may be part of the wheel.
ALLOWED = {"0BSD", "MIT"}


@dataclass(frozen=True)
class Package:
    """A package that is in a script: under which name and version it was published."""

    name: str
    version: str
    licence: str


def main() -> int:
    """Build the scripts, into the package or elsewhere."""
    parser = argparse.ArgumentParser(prog="python -m tools.web_assets", description=main.__doc__)
    parser.add_argument("--to", type=Path, default=VENDOR, help="folder for the scripts")
    to: Path = parser.parse_args().to
    try:
        with tempfile.TemporaryDirectory() as folder:
            make(Path(folder), to)
    except ToolError as error:
        print(f"Error: {error}", file=sys.stderr)
        return 1
    for name in sorted(path.name for path in to.iterdir()):
        print(f"{(to / name).stat().st_size:>8,} bytes  {name}")
    return 0


def make(folder: Path, to: Path) -> None:
    """Install what is pinned into a new folder, bundle, and write all files of the result."""
    for command in ("node", "npm"):
        if shutil.which(command) is None:
            raise ToolError(f"The scripts are built with {command}, which is not installed.")
    shutil.copytree(SOURCE, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("node_mod*"))
    # No package runs anything of its own while it is installed.
    run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder)
    packages = {EDITOR: bundled(folder), HTMX: [package(folder, "htmx.org")]}
    every = [one for listed in packages.values() for one in listed]
    if other := {one.licence for one in every} - ALLOWED:
        raise ToolError(f"Packages have licences that are not known here: {sorted(other)}")
    to.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(folder / "bundle.js", to / EDITOR)
    shutil.copyfile(folder / "node_modules/htmx.org/dist" / HTMX, to / HTMX)
    (to / LICENCES).write_text(licences(folder, every), encoding="utf-8", newline="\n")
    (to / LISTED).write_text(listing(to, packages), encoding="utf-8", newline="\n")


def bundled(folder: Path) -> list[Package]:
    """Make one file of the editor; the packages of which something is in it."""
    options = [
        "--bundle", "--minify", "--charset=utf8", "--format=iife", "--legal-comments=none",
        "--metafile=meta.json", "--outfile=bundle.js", "--target=es2023",
    ]  # fmt: skip
    run(["node", "node_modules/esbuild/bin/esbuild", EDITOR, *options], cwd=folder)
    (output,) = json.loads((folder / "meta.json").read_text())["outputs"].values()
    names = {
        name_of(path)
        for path, part in output["inputs"].items()
        if path.startswith("node_modules/") and part["bytesInOutput"] > 0
    }
    return [package(folder, name) for name in sorted(names)]


def name_of(path: str) -> str:
    """The package that a file below node_modules belongs to: `a`, or `@scope/a`."""
    parts = path.split("/")[1:]
    return "/".join(parts[: 2 if parts[0].startswith("@") else 1])


def package(folder: Path, name: str) -> Package:
    described = json.loads((folder / "node_modules" / name / "package.json").read_text())
    return Package(name, described["version"], described["license"])


def licences(folder: Path, packages: list[Package]) -> str:
    """The words of every licence, under the packages that they are the licence of."""
    texts: dict[str, list[Package]] = {}
    for one in packages:
        text = (folder / "node_modules" / one.name / "LICENSE").read_text(encoding="utf-8")
        texts.setdefault(text.strip(), []).append(one)
    parts = [
        "\n".join(f"{one.name} {one.version} ({one.licence})" for one in ones) + f"\n\n{text}\n"
        for text, ones in texts.items()
    ]
    return f"\n{'-' * 72}\n\n".join(parts)


def listing(to: Path, packages: dict[str, list[Package]]) -> str:
    """What assets.json says: the checksum of every file, and the packages that are in it."""
    files: dict[str, Any] = {
        name: {
            "sha256": hashlib.sha256((to / name).read_bytes()).hexdigest(),
            "packages": [asdict(one) for one in packages.get(name, [])],
        }
        for name in sorted([EDITOR, HTMX, LICENCES])
    }
    return json.dumps({"files": files}, indent=2) + "\n"


if __name__ == "__main__":
    sys.exit(main())
