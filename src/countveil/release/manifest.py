"""The manifest: what a release says about itself.

Enters: facts that may be public. Leaves: JSON with a checksum of its own, and back. Must not know:
files on disk. Reading is strict: whatever could mislead an estimate is refused, with its reason.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from countveil.channel.groups import GROUP_METHODS
from countveil.errors import ReleaseError
from countveil.release.domain import decode_value, encode_value

FORMAT = "countveil-release"
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """A column of the release. `role` is `plain` (published unchanged) or `sensitive`."""

    name: str
    type: str
    role: str


@dataclass(frozen=True, slots=True)
class SensitiveColumn:
    """How one sensitive column was published, and the values that occur in it."""

    ell: int
    groups: str
    residue: str
    domain: tuple[Any, ...]
    guarantee: tuple[Mapping[str, float], ...]


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file, relative to the release folder."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a reader needs to interpret the data."""

    rows: int
    columns: tuple[PublishedColumn, ...]
    sensitive: Mapping[str, SensitiveColumn]
    files: tuple[DataFile, ...]
    randomness: str
    statement: tuple[str, ...]
    written_by: str = ""
    format: str = field(default=FORMAT)
    format_version: int = field(default=FORMAT_VERSION)

    def column(self, name: str) -> PublishedColumn | None:
        """The column of exactly this name."""
        return next((column for column in self.columns if column.name == name), None)

    def to_json(self) -> str:
        """The manifest as text, its checksum included."""
        content = asdict(self)
        for name, entry in self.sensitive.items():
            content["sensitive"][name]["domain"] = [encode_value(value) for value in entry.domain]
        content["checksum"] = _checksum(content)
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Manifest:
        """Read and check a manifest; `ReleaseError` says what is wrong with it."""
        try:
            content = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise ReleaseError("The manifest is not readable JSON.") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ReleaseError("The manifest is not that of a countveil release.")
        version = content.get("format_version")
        if version != FORMAT_VERSION:
            raise ReleaseError(
                f"The release has format version {version!r}; this countveil reads version "
                f"{FORMAT_VERSION}. A newer countveil may read it."
            )
        if content.pop("checksum", None) != _checksum(content):
            raise ReleaseError(
                "The manifest was edited or damaged: its content does not match its checksum."
            )
        try:
            manifest = _build(content)
        except (TypeError, ValueError, KeyError, AttributeError) as error:
            raise ReleaseError(f"The manifest is malformed: {error}.") from error
        _check(manifest)
        return manifest


def _checksum(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _build(content: dict[str, Any]) -> Manifest:
    unknown = set(content) - {entry.name for entry in fields(Manifest)}
    if unknown:
        raise ValueError(f"unknown field {min(unknown)!r}")
    columns = tuple(PublishedColumn(**column) for column in content["columns"])
    types = {column.name: column.type for column in columns}
    sensitive = {}
    for name, entry in content["sensitive"].items():
        domain = tuple(decode_value(value, types[name]) for value in entry["domain"])
        guarantee = tuple(dict(row) for row in entry["guarantee"])
        sensitive[name] = SensitiveColumn(**{**entry, "domain": domain, "guarantee": guarantee})
    rest = {
        "columns": columns,
        "sensitive": sensitive,
        "files": tuple(DataFile(**file) for file in content["files"]),
        "statement": tuple(map(str, content["statement"])),
    }
    return Manifest(**{**content, **rest})


def _check(manifest: Manifest) -> None:
    names = [column.name for column in manifest.columns]
    by_role = {column.name for column in manifest.columns if column.role == "sensitive"}
    problems = [
        (not _whole(manifest.rows, 1), "the number of rows is not a positive whole number"),
        (len(set(names)) != len(names), "a column is listed twice"),
        (by_role != set(manifest.sensitive), "roles and sensitive columns do not agree"),
        (not manifest.sensitive, "there is no sensitive column"),
        (not manifest.files, "there are no data files"),
        (
            manifest.randomness not in ("cryptographic", "seeded"),
            "the kind of randomness is unknown",
        ),
    ]
    for name, entry in manifest.sensitive.items():
        problems += [
            (not _whole(entry.ell, 2), f"ell of {name!r} is not a whole number from 2 on"),
            (entry.groups not in GROUP_METHODS, f"the group method of {name!r} is unknown"),
            (len(set(entry.domain)) != len(entry.domain), f"{name!r} lists a value twice"),
            (not entry.domain, f"{name!r} has no values"),
            (
                _whole(entry.ell, 2) and _whole(manifest.rows, 1) and entry.ell > manifest.rows,
                f"ell of {name!r} is larger than the number of rows",
            ),
        ]
    for file in manifest.files:
        parts = str(file.path).split("/")
        problems += [
            (
                parts[:1] != ["data"] or len(parts) != 2 or parts[1] in ("", ".", ".."),
                f"the file {file.path!r} lies outside the data folder",
            ),
            ("\\" in str(file.path) or "\0" in str(file.path), "a file name is not allowed"),
            (not _whole(file.rows, 0) or not _whole(file.bytes, 0), "a file's size is impossible"),
        ]
    for wrong, what in problems:
        if wrong:
            raise ReleaseError(f"The manifest cannot be right: {what}.")
    if sum(file.rows for file in manifest.files) != manifest.rows:
        raise ReleaseError("The manifest cannot be right: its files do not add up to its rows.")


def _whole(number: object, least: int) -> bool:
    return isinstance(number, int) and not isinstance(number, bool) and number >= least
