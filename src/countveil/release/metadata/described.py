"""A release in the terms that all descriptions share.

Enters: a manifest. Leaves: a `DescribedRelease`: title, contact, files, variables with their labels
and values, what was done to the table, what is promised. Must not know: the syntax of any format.

A list of values has those that the manifest lists, and so no value that the draw removed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from countveil.release.formats.stata_spss import StoredLabels
from countveil.release.formats.stored_labels import replaced_codes, stored_labels
from countveil.release.manifest import Manifest, PublishedColumn, SensitiveColumn
from countveil.release.steps import code_text
from countveil.release.values import format_of, kind_of

_ADDRESS = re.compile(r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+", re.ASCII)
PLAIN, PROTECTED, WEIGHT, BATCH = "plain", "protected", "weight", "batch"
_GROUPS = {
    "mixed": "groups of rows with different values, mixed as the maximum-entropy design",
    "random": "groups of any rows",
    "anatomy": "groups of rows with different values, formed by the greedy rule",
}


@dataclass(frozen=True, slots=True)
class DescribedValue:
    """A value as the data files hold it; None is the missing one.

    `label` says what it stands for, `code` what stood for it in the source, both if known.
    """

    value: Any
    label: str = ""
    code: str = ""

    @property
    def text(self) -> str:
        """As it is written in a text file; empty if missing."""
        return "" if self.value is None else code_text(self.value)


@dataclass(frozen=True, slots=True)
class Variable:
    """A column. `facts` are the parameters of its protection, `changes` what was done to it."""

    name: str
    label: str
    type: str
    kind: str
    role: str
    values: tuple[DescribedValue, ...]
    changes: str
    facts: tuple[tuple[str, str], ...]

    @property
    def coded(self) -> bool:
        """Whether its numbers are codes with labels."""
        return any(value.label for value in self.values)

    @property
    def sentence(self) -> str:
        """What it is, in words."""
        parts = [self.label, ROLES[self.role], self.changes]
        parts += [", ".join(f"{name} {value}" for name, value in self.facts)]
        said = [part.rstrip(".") for part in parts if part]
        return "".join(f"{part[0].upper()}{part[1:]}. " for part in said).rstrip()


ROLES = {
    PLAIN: "published as it was prepared",
    PROTECTED: "protected: the value of another row of a secret group is published",
    WEIGHT: "the survey weight of a row",
    BATCH: "the batch in which values of a row were drawn",
}


@dataclass(frozen=True, slots=True)
class DescribedFile:
    """A file of the release; `format` is the ending that shows its format."""

    path: str
    format: str
    rows: int
    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class DescribedRelease:
    """Everything that a description says. `identifier` follows from the checksums of the data."""

    title: str
    contact: str
    published: str
    identifier: str
    written_by: str
    rows: int
    files: tuple[DescribedFile, ...]
    variables: tuple[Variable, ...]
    preparation: tuple[str, ...]
    protection: tuple[str, ...]
    statement: tuple[str, ...]
    has_report: bool

    @property
    def address(self) -> str:
        """The contact, if it is an address of mail."""
        return self.contact if _ADDRESS.fullmatch(self.contact) else ""

    @property
    def abstract(self) -> str:
        """What the release is, in a paragraph."""
        names = [each.name for each in self.variables if each.role == PROTECTED]
        protected = ", ".join(names)
        return (
            f"Microdata with {self.rows:,} rows and {len(self.variables):,} columns, published by "
            f"countveil. Protected: {protected}. There a row publishes a value of its secret "
            f"group, so a single value need not be that of its row. Counts are estimated from the "
            f"release with countveil, which states the error of each."
        )


def described(manifest: Manifest) -> DescribedRelease:
    """The release of a manifest."""
    files = tuple(
        DescribedFile(file.path, format_of(file.path), file.rows, file.bytes, file.sha256)
        for file in manifest.files
    )
    stored = stored_labels(manifest)
    about, prepared = manifest.about, manifest.preparation
    variables = tuple(_variable(manifest, column, stored) for column in manifest.columns)
    return DescribedRelease(
        title=(about.title if about else "") or f"Protected microdata, {manifest.rows:,} rows",
        contact=about.contact if about else "",
        published=about.published if about else "",
        identifier=_identifier(files),
        written_by=manifest.written_by,
        rows=manifest.rows,
        files=files,
        variables=variables,
        preparation=() if prepared is None else tuple(prepared.sentences()),
        protection=_protection(manifest),
        statement=manifest.statement,
        has_report=manifest.report is not None,
    )


def _identifier(files: Sequence[DescribedFile]) -> str:
    digest = hashlib.sha256("\n".join(file.sha256 for file in files).encode())
    return f"sha256:{digest.hexdigest()}"


def _protection(manifest: Manifest) -> tuple[str, ...]:
    said = [_in_words(name, entry) for name, entry in manifest.sensitive.items()]
    said += [f"These columns share one draw: {', '.join(names)}." for names in manifest.together]
    said.append(f"Randomness: {manifest.randomness}.")
    return tuple(said)


def _in_words(name: str, entry: SensitiveColumn) -> str:
    first = "" if entry.odds is None else "noise over the declared values, then "
    facts = ", ".join(f"{fact} {value}" for fact, value in _facts(entry))
    return f"{name}: {first}{_GROUPS[entry.groups]} ({facts})."


def _facts(entry: SensitiveColumn) -> tuple[tuple[str, str], ...]:
    """The parameters of a protected column."""
    facts = [("ell", str(entry.ell)), ("groups", entry.groups), ("residue", entry.residue)]
    if entry.odds is not None:
        bound = entry.odds
        facts += [("odds", f"{bound.at_most:.12g}"), ("gamma", f"{bound.gamma:.12g}")]
        facts.append(("epsilon", f"{bound.epsilon:.12g}"))
    if entry.cases is not None:
        facts.append(("rows per case", f"{entry.cases.rows_per_case:.12g}"))
        facts.append(("design effect", f"{entry.cases.design_effect:.12g}"))
    return tuple(facts)


def _variable(manifest: Manifest, column: PublishedColumn, stored: StoredLabels) -> Variable:
    name, entry = column.name, manifest.sensitive.get(column.name)
    role = PLAIN if entry is None else PROTECTED
    if name == manifest.weight:
        role = WEIGHT
    elif name in {drawn.batch for drawn in manifest.batches}:
        role = BATCH
    labels = manifest.codebook.get(name)
    held_as = "double" if name in stored.codes else column.type
    return Variable(
        name=name,
        label="" if labels is None else labels.label,
        type=held_as,
        kind=kind_of(held_as),
        role=role,
        values=_values(manifest, column, stored),
        changes="" if manifest.preparation is None else manifest.preparation.changes(name),
        facts=() if entry is None else _facts(entry),
    )


def _values(
    manifest: Manifest, column: PublishedColumn, stored: StoredLabels
) -> tuple[DescribedValue, ...]:
    """The values that the manifest lists of a column, as the data files hold them."""
    name, entry, prepared = column.name, manifest.sensitive.get(column.name), manifest.preparation
    labels = manifest.codebook[name].values if name in manifest.codebook else {}
    codes = {label: code for code, label in replaced_codes(manifest, name).items()}
    classes = None if prepared is None else prepared.classes(name)
    listed: Sequence[Any] = [*labels]
    if entry is not None:
        listed = entry.domain
    elif codes:
        listed = list(codes)
    elif classes is not None:
        listed = classes.labels
    if name in stored.codes:
        held = stored.codes[name]
        return tuple(
            DescribedValue(None) if value is None else DescribedValue(held[value], str(value))
            for value in listed
        )
    return tuple(
        DescribedValue(value, labels.get(code_text(value), ""), codes.get(code_text(value), ""))
        if value is not None
        else DescribedValue(None)
        for value in listed
    )
