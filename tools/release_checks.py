"""What must be true of a version before it leaves: each check gives the problems that it finds.

A checkout and the files built from it enter, sentences leave; none means that the check passed.
Must not know how files are built or where they go.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import re
import tarfile
import tomllib
import zipfile
from email import message_from_bytes
from pathlib import Path, PurePosixPath
from typing import Any

from packaging.metadata import InvalidMetadata, Metadata
from packaging.version import InvalidVersion, Version

from tools.building import Artifacts

# What a source distribution consists of, beside the package.
OF_SDIST = {
    "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "PKG-INFO",
    ".gitignore",
}  # fmt: skip
DATA = {
    ".arrow", ".csv", ".db", ".dta", ".duckdb", ".feather", ".gz", ".parquet", ".sas7bdat", ".sav",
    ".sqlite", ".tsv", ".xlsx", ".zip", ".zst",
}  # fmt: skip


def version_of(root: Path) -> str:
    """What the package says of itself."""
    text = (root / "src/countveil/__init__.py").read_text()
    return first(r'^__version__ = "(.*)"$', text) or "none"


def versions(root: Path, *, dated: bool = False) -> list[str]:
    """The package, the citation and the changelog name one version; dated: and its day."""
    version = version_of(root)
    citation = (root / "CITATION.cff").read_text()
    heading = first(r"^## (.*)$", (root / "CHANGELOG.md").read_text()) or ""
    cited, (latest, _, day) = first(r"^version: (.*)$", citation), heading.partition(" ")
    problems = []
    try:
        if str(Version(version)) != version:
            problems.append(f"__version__ {version!r} is usually written {Version(version)}")
    except InvalidVersion:
        problems.append(f"__version__ is {version!r}, which is no version")
    if cited != version:
        problems.append(f"CITATION.cff has version {cited}, the package {version}")
    if latest != version:
        problems.append(f"CHANGELOG.md begins with {heading!r}, the package is {version}")
    if not re.fullmatch(r"\(\d{4}-\d\d-\d\d\)" + ("" if dated else r"|\(unreleased\)"), day):
        problems.append(f"CHANGELOG.md has {day!r} in its first heading in place of a day")
    released = first(r"^date-released: (.*)$", citation)
    if released and f"({released})" != day:
        problems.append(f"CITATION.cff says {released}, CHANGELOG.md {day}")
    return problems


def wheel_contents(root: Path, wheel: Path) -> list[str]:
    """The package and all of it: no tests, no data, its types and its licence."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        records = next(name for name in names if name.endswith(".dist-info/RECORD"))
        problems = [*wrong_checksums(archive, records)]
    about = records.removesuffix("RECORD")
    package = {name for name in names if not name.startswith(about)}
    source = root / "src"
    expected = {
        path.relative_to(source).as_posix()
        for path in (source / "countveil").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    problems += [f"{name} is missing" for name in sorted(expected - package)]
    problems += [f"{name} does not belong there" for name in sorted(package - expected)]
    wanted = {"countveil/py.typed", f"{about}licenses/LICENSE", f"{about}entry_points.txt"}
    problems += [f"{name} is missing" for name in sorted(wanted - names - expected)]
    return [f"{wheel.name}: {problem}" for problem in [*problems, *no_data(names)]]


def wrong_checksums(archive: zipfile.ZipFile, records: str) -> list[str]:
    rows = csv.reader(archive.read(records).decode().splitlines())
    listed = {name: checksum for name, checksum, _ in rows}
    return [
        f"{name} is not as RECORD has it"
        for name in archive.namelist()
        if name != records and listed.get(name) != checksum_of(archive.read(name))
    ]


def checksum_of(content: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest())
    return f"sha256={digest.rstrip(b'=').decode()}"


def sdist_contents(root: Path, sdist: Path) -> list[str]:
    """What is needed to build the package, and nothing else."""
    with tarfile.open(sdist) as archive:
        paths = [PurePosixPath(name).parts for name in archive.getnames()]
    names = {"/".join(parts[1:]) for parts in paths}
    problems = [f"{name} is missing" for name in sorted(OF_SDIST - names)]
    problems += [
        f"{name} does not belong there"
        for name in sorted(names - OF_SDIST)
        if not name.startswith("src/countveil/")
    ]
    modules = {path.relative_to(root).as_posix() for path in (root / "src").rglob("*.py")}
    problems += [f"{name} is missing" for name in sorted(modules - names)]
    return [f"{sdist.name}: {problem}" for problem in [*problems, *no_data(names)]]


def no_data(names: set[str]) -> list[str]:
    found = sorted(name for name in names if PurePosixPath(name).suffix.lower() in DATA)
    return [f"{name} looks like data" for name in found]


def metadata(root: Path, artifacts: Artifacts) -> list[str]:
    """Valid by the standard, the same in both files, and what pyproject.toml says."""
    texts = {artifacts.wheel.name: metadata_of(artifacts.wheel)}
    with tarfile.open(artifacts.sdist) as archive:
        member = next(m for m in archive if m.name.count("/") == 1 and m.name.endswith("PKG-INFO"))
        content = archive.extractfile(member)
        texts[artifacts.sdist.name] = content.read() if content else b""
    problems = []
    for name, text in texts.items():
        try:
            Metadata.from_email(text, validate=True)
        except (ExceptionGroup, InvalidMetadata) as error:
            causes = error.exceptions if isinstance(error, ExceptionGroup) else [error]
            problems += [f"{name}: {cause}" for cause in causes]
    if len(set(texts.values())) > 1:
        problems.append(f"{' and '.join(texts)} have different metadata")
    return problems + disagreements(root, texts[artifacts.wheel.name])


def metadata_of(wheel: Path) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(next(n for n in archive.namelist() if n.endswith("/METADATA")))


def disagreements(root: Path, text: bytes) -> list[str]:
    """Where the metadata are not those of the checkout."""
    project: dict[str, Any] = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    message = message_from_bytes(text)
    pairs = {
        "Name": (message["Name"], project["name"]),
        "Version": (message["Version"], version_of(root)),
        "Requires-Python": (message["Requires-Python"], project["requires-python"]),
        "License-Expression": (message["License-Expression"], project["license"]),
        "License-File": (message.get_all("License-File"), project["license-files"]),
        "Description-Content-Type": (message["Description-Content-Type"], "text/markdown"),
        "the description": (message.get_payload(decode=True), (root / "README.md").read_bytes()),
        "Provides-Extra": (
            sorted(message.get_all("Provides-Extra") or []),
            sorted(project["optional-dependencies"]),
        ),
    }
    return [
        f"{name} is {got!r:.80}, not {want!r:.80}"
        for name, (got, want) in pairs.items()
        if got != want
    ]


def reproducible(first_build: Artifacts, second: Artifacts) -> list[str]:
    """Two builds of the same sources, in different places, are the same bytes."""
    return [
        f"{one.name} differs between two builds"
        for one, other in zip(first_build, second, strict=True)
        if one.name != other.name or one.read_bytes() != other.read_bytes()
    ]


def first(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text, flags=re.MULTILINE)
    return found.group(1) if found else None
