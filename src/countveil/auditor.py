"""The auditor's path: a planned or finished release is attacked, and what was learnt is reported.

    prepare -> (publish a twin and a trial | read the release) -> link -> attack -> judge

Enters: the publisher's table, settings, perhaps a release. Leaves: an `Audit`. Must not know: how
an attack works, how a report looks. What it holds are counts and shares; no value of any row.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from countveil.adversaries import (
    columns,
    correlation,
    elimination,
    implementation,
    layout,
    linkage,
    links,
    minimality,
    neighbours,
    reconstruction,
    repetition,
    small_counts,
)
from countveil.adversaries.findings import Outcome, judged
from countveil.adversaries.summary import Audit
from countveil.adversaries.target import LEAST_LINKED, Target
from countveil.decoys import ColumnSettings, check_eligible
from countveil.engines.contract import Progress
from countveil.engines.embedded.release_rows import file_notes
from countveil.errors import SettingsError
from countveil.preparation import Prepared, Reading, prepare
from countveil.publisher import run_publish
from countveil.randomness import Randomness
from countveil.release import Manifest, read_manifest
from countveil.source import Choices

ATTACKS = (
    "linkage",
    "reconstruction",
    "elimination",
    "neighbours",
    "small-counts",
    "repetition",
    "correlation",
    "implementation",
)
_TEXT = ("string", "large_string")
_NEED_ROWS = ("linkage", "neighbours", "repetition", "correlation")


def run_audit(
    table: object,
    settings: Mapping[str, ColumnSettings],
    *,
    release: str | os.PathLike[str] | None = None,
    attacks: Sequence[str] = (),
    choices: Choices | None = None,
    seed: int | None = None,
    progress: Progress | None = None,
) -> Audit:
    """Attack the release of `table` that is planned with `settings`, or the one in `release`."""
    wanted = _checked(attacks)
    if hasattr(table, "read_next_batch"):
        raise SettingsError(
            "An audit reads the table several times, and a stream can be read only once. Give a "
            "file, or read the stream into a table first."
        )
    tell: Progress = progress or (lambda _stage, _done, _total: None)
    tell("reading", 0, 0)
    chosen = choices or Choices()
    prepared = prepare(table, list(settings), chosen, Reading(progress=tell))
    for name, choice in settings.items():
        counts = prepared.source.histogram(name, np.zeros(0, np.int64)).counts
        check_eligible(name, counts, choice.ell, lambda _place: "its most frequent value")
    truth = links.true_columns(prepared)
    randomness = Randomness(seed)
    with tempfile.TemporaryDirectory(prefix="audit-") as scratch:
        place = Path(scratch)
        if release is not None:
            folder = Path(release)
            manifest = _fitting_manifest(folder, settings)
            settings = {
                name: ColumnSettings(own.ell, own.groups, own.residue)
                for name, own in manifest.sensitive.items()
                if name in settings
            }
            tell("linking rows", 0, 0)
            target = links.linked_by_values(truth, manifest, folder, list(settings))
        else:
            tell("publishing a trial", 0, 0)
            folder = place / "trial"
            run_publish(table, settings, folder, choices=chosen, seed=seed)
            manifest = read_manifest(folder)
            number = links.publish_twin(truth, settings, place / "twin", seed)
            target = links.linked_by_number(truth, settings, place / "twin", number)
        scene = _Scene(
            target, truth, settings, manifest, folder, place, randomness,
            _secrets(table, prepared, target, folder), planned=release is None,
        )  # fmt: skip
        outcome = Outcome()
        for name in (name for name in ATTACKS if name in wanted):
            for label, stage in scene.stages(name):
                tell(f"attack: {label}", 0, 0)
                outcome.add(stage())
    return Audit(
        target.rows, target.n_linked,
        {name: choice.ell for name, choice in settings.items()},
        {name: manifest.sensitive[name].groups for name in settings},
        release is None, judged(outcome.findings), outcome.charts,
    )  # fmt: skip


def _checked(attacks: Sequence[str]) -> Sequence[str]:
    for name in attacks:
        if name not in ATTACKS:
            raise SettingsError(f"There is no attack {name!r}. There are: {', '.join(ATTACKS)}.")
    return attacks or ATTACKS


@dataclass(frozen=True)
class _Scene:
    """Everything that an attack may need."""

    target: Target
    truth: Mapping[str, links.TrueColumn]
    settings: Mapping[str, ColumnSettings]
    manifest: Manifest
    folder: Path
    scratch: Path
    randomness: Randomness
    secrets: Mapping[str, Sequence[str]]
    planned: bool

    def stages(self, name: str) -> list[tuple[str, Callable[[], Outcome]]]:
        """The parts of one of the `ATTACKS`."""
        target, stream = self.target, self.randomness.stream(name)
        if target.n_linked < LEAST_LINKED and name in _NEED_ROWS:
            return [(name, lambda: linkage.too_few(target))] if name == "linkage" else []
        parts: dict[str, list[tuple[str, Callable[[], Outcome]]]] = {
            "linkage": [
                ("linkage", lambda: linkage.attack(target, stream)),
                ("associated columns", lambda: columns.attack(target)),
            ],
            "reconstruction": [
                ("group reconstruction", lambda: reconstruction.attack(target)),
                ("order of rows", lambda: layout.attack_order(target)),
                ("files", self._files),
            ],
            "elimination": [
                ("elimination", lambda: elimination.attack(target)),
                ("minimality", lambda: minimality.attack(
                    self.truth, self.settings, self.scratch, stream)),
            ],
            "neighbours": [("known neighbours", lambda: neighbours.attack(target, stream))],
            "small-counts": [("small counts", lambda: small_counts.attack(target, stream))],
            "repetition": [("repeated release", lambda: repetition.attack(target, stream))],
            "correlation": [("correlation", lambda: correlation.attack(target, stream))],
            "implementation": [
                ("bytes of the release", lambda: implementation.attack_release(
                    self.folder, self.secrets, planned=self.planned)),
                ("canaries", lambda: implementation.attack_with_canaries(self.scratch, stream)),
            ],
        }  # fmt: skip
        return parts[name]

    def _files(self) -> Outcome:
        files = [file.path for file in self.manifest.files]
        texts = [c.name for c in self.manifest.columns if c.type in _TEXT]
        stored = links.read_stored(self.folder, list(self.settings))
        codes = {name: column.codes for name, column in stored.items()}
        return layout.attack_files(file_notes(self.folder, files, texts), codes)


def _fitting_manifest(folder: Path, settings: Mapping[str, ColumnSettings]) -> Manifest:
    manifest = read_manifest(folder)
    for name, choice in settings.items():
        entry = manifest.sensitive.get(name)
        if entry is None:
            named = ", ".join(repr(column) for column in manifest.sensitive)
            raise SettingsError(f"Column {name!r} is not protected in the release; {named} is.")
        if entry.ell != choice.ell:
            raise SettingsError(
                f"Column {name!r} was published with ell = {entry.ell}, not {choice.ell}. Give the "
                f"release's own ell, or leave the release away to audit a plan."
            )
    return manifest


def _secrets(
    table: object, prepared: Prepared, target: Target, folder: Path
) -> dict[str, list[str]]:
    """Texts of the publisher that no byte of the release may hold, by kind."""
    published = {column.name for column in prepared.roles.published}
    nothing = np.zeros(0, np.int64)
    public = {
        str(value) for column in read_manifest(folder).sensitive.values() for value in column.domain
    }
    hidden: list[str] = []
    for column in prepared.source.columns:
        if column.name in published or column.type not in _TEXT:
            continue
        values = prepared.source.histogram(column.name, nothing).values
        hidden += [str(value) for value in values[:200] if value is not None]
    removed: list[str] = []
    for own in target.sensitive:
        values = prepared.source.histogram(own.name, nothing).values
        gone = np.flatnonzero((own.counts > 0) & (own.published == 0))
        removed += [str(values[place]) for place in gone.tolist() if values[place] is not None]
    path = table if isinstance(table, str) else None
    return {
        "values of dropped columns": [text for text in hidden if text not in public],
        "sensitive values that the draw removed": [t for t in removed if t not in public],
        "names of this place": implementation.own_names(path),
    }
