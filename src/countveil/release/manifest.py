"""The manifest: what a release says about itself, and which files its folder holds.

Enters: facts that may be public. Leaves: JSON with its own checksum, and back. Must not know: where
it lies (`release/opening.py` reads it from a folder), what is in the data files. Reading refuses
whatever could mislead an estimate, and says why.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.errors import ReleaseError
from countveil.maths.channel import GROUP_METHODS, RESIDUES
from countveil.release.limits import check_content, check_text
from countveil.release.preparation import Preparation
from countveil.release.values import NUMBER, decode_value, encode_value, format_of, kind_of
from countveil.system.regular import open_regular

if TYPE_CHECKING:
    from countveil.release.batches import BatchedColumns, LedgerMark
    from countveil.release.codebook import ColumnLabels

MANIFEST_NAME = "manifest.json"
DATA_FOLDER = "data"
REPORT_NAME = "report.html"
SIGNATURE_NAME = "manifest.sig"
# By format, the file that describes a release to archives and catalogues.
METADATA_NAMES = {"ddi": "ddi.xml", "croissant": "croissant.json", "dcat": "dcat.jsonld"}
FORMAT = "countveil-release"
FORMAT_VERSION = 1
# Characters of a title or a contact.
MOST_ABOUT = 300
# What only some sensitive columns say of themselves (`release/special_columns.py`).
SPECIAL = frozenset({"classes", "class_values", "common", "odds", "confirmed", "cases"})
# What only some releases say of themselves.
_MORE = frozenset({"about", "together", "batches", "ledger", "codebook", "metadata"})
_OPTIONAL = ("report", "weight", *sorted(_MORE))
_RANDOMNESS = ("cryptographic", "seeded")
_DATA_PATH = r"data/[A-Za-z0-9_-]+\.(parquet|csv|csv\.gz|arrow|dta|sav)"


@dataclass(frozen=True, slots=True)
class PublishedColumn:
    """A column of the release.

    Attributes:
        name: Its name.
        type: The type of its values, as Arrow names it.
        role: `plain` (published unchanged) or `sensitive`.
    """

    name: str
    type: str
    role: str


@dataclass(frozen=True, slots=True)
class ClassEdges:
    """Where the classes of a numeric column end; `whole` says that all its numbers are whole.

    The classes are: below the first edge, from each edge to below the next, from the last one on.
    """

    edges: tuple[float, ...]
    whole: bool


@dataclass(frozen=True, slots=True)
class OddsBound:
    """Noise over the declared values, before groups.

    A row took one of them at random with probability `gamma`. So the release as a whole is
    `epsilon`-locally differentially private in the value of a row, and a linked row changes the
    odds of a value by a factor of `at_most`.
    """

    at_most: float
    gamma: float
    epsilon: float


@dataclass(frozen=True, slots=True)
class CaseFigures:
    """Persons have several rows; those of a person with one value, a case, publish alike.

    `by_value` has the mean number of rows of the cases that publish each value of the domain,
    `rows_per_case` that of all, both rounded. The variance of a count of rows is up to
    `design_effect` times that of as many cases of one row.
    """

    rows_per_case: float
    design_effect: float
    by_value: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class SensitiveColumn:
    """How one sensitive column was published, and its values.

    `declared` values are public in any case, and listed whether they occur or not; otherwise the
    domain has only values that occur in the release. `confirmed` ones were taken from the table,
    and the publisher says that they are public. With `classes` they are in order, and
    `class_values` are the numbers that the publisher declared for them, one for each. `common` are
    the values that may fill several places of a mixed group. With `odds`, noise came first. With
    `cases`, groups were formed of cases.
    """

    ell: int
    groups: str
    residue: str
    domain: tuple[Any, ...]
    guarantee: tuple[Mapping[str, float], ...]
    declared: bool = False
    classes: ClassEdges | None = None
    class_values: tuple[float, ...] | None = None
    common: tuple[Any, ...] = ()
    odds: OddsBound | None = None
    confirmed: bool = False
    cases: CaseFigures | None = None


@dataclass(frozen=True, slots=True)
class DataFile:
    """A data file, relative to the release folder."""

    path: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class ReportFile:
    """A file beside the data: `report.html`, which the first releases lack, or a description."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class About:
    """What the publisher calls the release, whom to ask, and the day of publication."""

    title: str = ""
    contact: str = ""
    published: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything a reader needs to interpret the data.

    `weight` is the plain column with the survey weight of each row, if the publisher named one.
    `preparation` says what was done to the table before, if something was. The columns of each set
    in `together` publish the values of one other row. `batches` says when values were drawn, where
    that matters, and `ledger` which releases belong together (`release/batches.py`). `codebook` has
    the labels of the source (`release/codebook.py`), `metadata` the descriptions beside the data.
    """

    rows: int
    columns: tuple[PublishedColumn, ...]
    sensitive: Mapping[str, SensitiveColumn]
    files: tuple[DataFile, ...]
    randomness: str
    statement: tuple[str, ...]
    written_by: str = ""
    report: ReportFile | None = None
    about: About | None = None
    weight: str | None = None
    preparation: Preparation | None = None
    together: tuple[tuple[str, ...], ...] = ()
    batches: tuple[BatchedColumns, ...] = ()
    ledger: LedgerMark | None = None
    codebook: Mapping[str, ColumnLabels] = field(default_factory=dict)
    metadata: Mapping[str, ReportFile] = field(default_factory=dict)
    format: str = field(default=FORMAT)
    format_version: int = field(default=FORMAT_VERSION)

    def column(self, name: str) -> PublishedColumn | None:
        """The column of exactly this name."""
        return next((column for column in self.columns if column.name == name), None)

    def to_json(self) -> str:
        """The manifest as text, its checksum included."""
        content = asdict(replace(self, preparation=None))
        del content["preparation"]
        for name, entry in self.sensitive.items():
            written = content["sensitive"][name]
            written["domain"] = [encode_value(value) for value in entry.domain]
            # Written only where they carry information.
            for optional in ("declared", *SPECIAL):
                if not written[optional]:
                    del written[optional]
            if entry.common:
                from countveil.release.special_columns import written_special

                written |= written_special(entry.common)
        for optional in _OPTIONAL:
            if not content[optional]:
                del content[optional]
        if self.batches:
            from countveil.release.batches import written_batches

            content["batches"] = written_batches(self.batches)
        for name, labels in self.codebook.items():
            content["codebook"][name] = labels.as_json()
        if self.preparation is not None:
            content["preparation"] = self.preparation.as_json()
        content["checksum"] = _checksum(content)
        return json.dumps(content, indent=2, ensure_ascii=False) + "\n"

    @classmethod
    def from_json(cls, text: str, larger: float = 1) -> Manifest:
        """Read and check a manifest; `ReleaseError` says what is wrong with it.

        It may be `larger` times as large as usual (`release/limits.py`).
        """
        check_text(text, larger)
        try:
            content = json.loads(text, parse_float=_finite, parse_constant=_finite)
        except (ValueError, RecursionError) as error:
            raise ReleaseError("The manifest is not readable JSON.") from error
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise ReleaseError("The manifest is not that of a countveil release.")
        version = content.get("format_version")
        if version != FORMAT_VERSION or isinstance(version, bool):
            raise ReleaseError(
                f"The release has format version {repr(version)[:20]}; this countveil reads "
                f"version {FORMAT_VERSION}. A newer countveil may read it."
            )
        if content.pop("checksum", None) != _checksum(content):
            raise ReleaseError(
                "The manifest was edited or damaged: its content does not match its checksum."
            )
        check_content(content, larger)
        try:
            manifest = _build(content)
            _check(manifest)
        except (TypeError, ValueError, KeyError, AttributeError, OverflowError) as error:
            raise ReleaseError(f"The manifest is malformed: {str(error)[:200]}.") from error
        return manifest


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _finite(text: str) -> float:
    """A number of JSON; ValueError if it is none, or larger than any."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number is not finite")
    return number


def _checksum(content: Mapping[str, Any]) -> str:
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(canonical.encode()).hexdigest()


def _build(content: dict[str, Any]) -> Manifest:
    unknown = set(content) - {entry.name for entry in fields(Manifest)}
    if unknown:
        raise ValueError(f"unknown field {min(unknown)!r}")
    columns = tuple(PublishedColumn(**column) for column in _listed(content, "columns"))
    for column in columns:
        _texts(column.name, column.type, column.role)
    types = {column.name: column.type for column in columns}
    sensitive = {}
    for name, entry in content["sensitive"].items():
        domain = tuple(decode_value(value, types[name]) for value in _listed(entry, "domain"))
        guarantee = tuple(_guarantee(row) for row in _listed(entry, "guarantee"))
        _texts(entry["groups"], entry["residue"])
        parts = {"domain": domain, "guarantee": guarantee}
        if SPECIAL & set(entry):
            # Loaded only where a column has more to say of itself.
            from countveil.release.special_columns import read_special

            parts |= read_special(entry, types[name], domain)
        sensitive[name] = SensitiveColumn(**{**entry, **parts})
    rest: dict[str, Any] = {
        "columns": columns,
        "sensitive": sensitive,
        "files": tuple(DataFile(**file) for file in _listed(content, "files")),
        "statement": tuple(_listed(content, "statement")),
        "report": None if "report" not in content else ReportFile(**content["report"]),
    }
    if _MORE & set(content):
        # Loaded only where a release says such things of itself.
        from countveil.release.special_columns import read_more

        rest |= read_more(content, columns, sensitive)
    if "preparation" in content:
        rest["preparation"] = Preparation.from_json(content["preparation"], list(types))
    _texts(content["written_by"], content["randomness"], *rest["statement"])
    return Manifest(**{**content, **rest})


def _listed(content: Mapping[str, Any], name: str) -> list[Any]:
    if not isinstance(content[name], list):
        raise TypeError(f"{name!r} is not a list")
    return list(content[name])


def _texts(*values: object) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("a name or text is not text")


def _guarantee(row: Mapping[str, Any]) -> dict[str, float]:
    numbers = {name: row[name] for name in ("count", "error", "chance_off")}
    for value in numbers.values():
        if isinstance(value, bool) or not isinstance(value, int | float) or not value < 1e300:
            raise TypeError("a guarantee is not a number, or an infinite one")
    sound = numbers["count"] >= 1 and numbers["error"] > 0 and 0 <= numbers["chance_off"] <= 1
    if set(row) != set(numbers) or not sound:
        raise ValueError("a guarantee cannot be right")
    return numbers


def _check(manifest: Manifest) -> None:
    names = [column.name for column in manifest.columns]
    roles = {column.role for column in manifest.columns}
    by_role = {column.name for column in manifest.columns if column.role == "sensitive"}
    problems = [
        (not is_whole(manifest.rows, 1), "the number of rows is not a positive whole number"),
        (len(set(names)) != len(names), "a column is listed twice"),
        (not all(names), "a column has no name"),
        (by_role != set(manifest.sensitive), "roles and sensitive columns do not agree"),
        (not manifest.sensitive, "there is no sensitive column"),
        (not manifest.files, "there are no data files"),
        (not _weight_fits(manifest), "the weight is not a plain column of numbers"),
        (not roles <= {"plain", "sensitive"}, "a column has an unknown role"),
        (manifest.randomness not in _RANDOMNESS, "the kind of randomness is unknown"),
    ]
    for name, entry in manifest.sensitive.items():
        problems += [
            (not is_whole(entry.ell, 2), f"ell of {name!r} is not a whole number of at least 2"),
            (entry.groups not in GROUP_METHODS, f"the group method of {name!r} is unknown"),
            (entry.residue not in RESIDUES, f"the residue of {name!r} is unknown"),
            (not entry.guarantee, f"{name!r} has no guarantee"),
            (len(set(entry.domain)) != len(entry.domain), f"{name!r} lists a value twice"),
            (not entry.domain, f"{name!r} has no values"),
            (not isinstance(entry.declared, bool), f"'declared' of {name!r} is not a truth value"),
            (
                is_whole(entry.ell, 2) and is_whole(manifest.rows, 1) and entry.ell > manifest.rows,
                f"ell of {name!r} is larger than the number of rows",
            ),
        ]
    for file in manifest.files:
        problems += [
            (
                re.fullmatch(_DATA_PATH, str(file.path)) is None,
                f"the file {str(file.path)[:60]!r} lies outside the data folder",
            ),
            (
                not is_whole(file.rows, 0) or not is_whole(file.bytes, 0),
                "a file's size is impossible",
            ),
        ]
    if len({format_of(str(file.path)) for file in manifest.files}) > 1:
        problems.append((True, "its files have different formats"))
    if manifest.report is not None and not is_whole(manifest.report.bytes, 1):
        problems.append((True, "the report's size is impossible"))
    for wrong, what in problems:
        if wrong:
            raise ReleaseError(f"The manifest cannot be right: {what}.")
    if sum(file.rows for file in manifest.files) != manifest.rows:
        raise ReleaseError("The manifest cannot be right: its files do not add up to its rows.")


def _weight_fits(manifest: Manifest) -> bool:
    if manifest.weight is None:
        return True
    column = manifest.column(manifest.weight)
    return column is not None and column.role == "plain" and kind_of(column.type) == NUMBER


def is_whole(number: object, least: int) -> bool:
    """Whether this is a whole number of at least `least`."""
    return isinstance(number, int) and not isinstance(number, bool) and number >= least
