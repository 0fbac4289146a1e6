"""The auditor's path: a planned or finished release is attacked, and what was learnt is reported.

    prepare -> (publish a twin and a trial | read the release) -> link -> attack -> judge

Enters: the publisher's table, settings, perhaps a release. Leaves: an `Audit`. Must not know: how
an attack works, how a report looks. What it holds are counts and shares; no value of any row.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from countveil.auditing import linking
from countveil.auditing.attacks import (
    associated_columns,
    correlation,
    elimination,
    file_traces,
    implementation,
    layout,
    linkage,
    minimality,
    neighbours,
    reconstruction,
    repetition,
    small_counts,
    source_traces,
)
from countveil.auditing.findings import Outcome, judged, too_few
from countveil.auditing.summary import Audit
from countveil.auditing.target import LEAST_LINKED, Target
from countveil.engines.local.release_files import (
    everything_in,
    file_notes,
    times_in,
    times_of_source,
)
from countveil.errors import ReleaseError, SettingsError
from countveil.maths.groups import ColumnSettings, check_eligible
from countveil.publishing.prepare import LocalPreparedTable, open_table, prepare
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Randomness
from countveil.release import NOT_PART, Manifest, read_manifest, verify_release
from countveil.tables import FileSource, Reading, Shaping, describe_source
from countveil.tables.progress import Progress

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
_NEED_ROWS = {
    "linkage": linkage.NAME,
    "neighbours": neighbours.NAME,
    "repetition": repetition.NAME,
    "correlation": correlation.NAME,
}


def run_audit(
    table: object,
    protecting: Protecting,
    *,
    release: str | os.PathLike[str] | None = None,
    attacks: Sequence[str] = (),
    reading: Reading | None = None,
    shaping: Shaping | None = None,
) -> Audit:
    """Attack the release of `table` that is planned so, or the one in the folder `release`."""
    reading, shaping = reading or Reading(), shaping or Shaping()
    settings = protecting.columns
    wanted = _checked(attacks)
    if hasattr(table, "read_next_batch"):
        raise SettingsError(
            "An audit reads the table several times, and a stream can be read only once. Give a "
            "file, or read the stream into a table first."
        )
    tell: Progress = reading.progress or (lambda _stage, _done, _total: None)
    tell("reading", 0, 0)
    manifest = None if release is None else _fitting_manifest(Path(release), settings)
    source_table = open_table(table, reading, shaping, protecting.names)
    prepared = prepare(source_table, protecting.names, shaping)
    for name, choice in settings.items():
        counts = prepared.source.histogram(name).counts
        check_eligible(name, counts, choice.ell, lambda _place: "its most frequent value")
    truth = linking.true_columns(prepared)
    randomness = Randomness(protecting.seed)
    with tempfile.TemporaryDirectory(prefix="audit-") as scratch:
        place = Path(scratch)
        if release is not None and manifest is not None:
            folder = Path(release)
            settings = {
                name: ColumnSettings(own.ell, own.groups, own.residue)
                for name, own in manifest.sensitive.items()
                if name in settings
            }
            tell("linking rows", 0, 0)
            _check_columns(prepared, manifest)
            target = linking.linked_by_values(truth, manifest, folder, list(settings))
            linked = folder
        else:
            tell("publishing a trial", 0, 0)
            folder = place / "trial"
            silent = replace(reading, progress=None)
            run_publish(table, protecting, Writing.of(folder), reading=silent, shaping=shaping)
            manifest = read_manifest(folder)
            linked = place / "twin"
            number = linking.publish_twin(truth, settings, linked, protecting.seed)
            target = linking.linked_by_number(truth, settings, linked, number)
        source = describe_source(table, reading.query)
        paths = source.paths if isinstance(source, FileSource) else ()
        scene = _Scene(
            target, prepared, truth, settings, manifest, folder, linked, place, randomness, paths,
            planned=release is None,
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
    """Everything that an attack may need.

    `folder` is the release, or its trial; `linked` is where the rows of the target are stored.
    """

    target: Target
    prepared: LocalPreparedTable
    truth: Mapping[str, linking.TrueColumn]
    settings: Mapping[str, ColumnSettings]
    manifest: Manifest
    folder: Path
    linked: Path
    scratch: Path
    randomness: Randomness
    paths: Sequence[Path]
    planned: bool

    def stages(self, name: str) -> list[tuple[str, Callable[[], Outcome]]]:
        """The parts of one of the `ATTACKS`."""
        target, stream = self.target, self.randomness.stream(name)
        if target.n_linked < LEAST_LINKED and name in _NEED_ROWS:
            left_out = too_few(_NEED_ROWS[name], target.n_linked, LEAST_LINKED)
            return [(name, lambda: Outcome([left_out]))]
        parts: dict[str, list[tuple[str, Callable[[], Outcome]]]] = {
            "linkage": [
                ("linkage", lambda: linkage.attack(target, stream)),
                ("associated columns", lambda: associated_columns.attack(target)),
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
                ("bytes of the release", self._bytes),
                ("canaries", lambda: implementation.attack_with_canaries(self.scratch, stream)),
            ],
        }  # fmt: skip
        return parts[name]

    def _files(self) -> Outcome:
        names = [file.path for file in self.manifest.files]
        texts = [c.name for c in self.manifest.columns if c.type in _TEXT]
        stored = linking.read_stored(self.folder, list(self.settings))
        codes = {name: column.codes for name, column in stored.items()}
        outcome = file_traces.attack(file_notes(self.folder, names, texts, list(codes)), codes)
        of_source = times_of_source(self.paths)
        outcome.add(
            file_traces.attack_times(times_in(self.folder), of_source, planned=self.planned)
        )
        times = times_in(self.linked)
        parts = [
            file_traces.Part(file.rows, file.bytes, times[file.path])
            for file in read_manifest(self.linked).files
        ]
        outcome.add(file_traces.attack_parts(self.target, parts))
        return outcome

    def _bytes(self) -> Outcome:
        public = [value for own in self.manifest.sensitive.values() for value in own.domain]
        sought = source_traces.secrets(
            self.prepared, self.truth, self.target, self.paths,
            public=public, program=_program_text(self.scratch / "program"),
        )  # fmt: skip
        return implementation.attack_release(self.folder, sought, planned=self.planned)


def _check_columns(prepared: LocalPreparedTable, manifest: Manifest) -> None:
    known = {column.name for column in prepared.source.columns}
    for column in manifest.columns:
        if column.name not in known:
            raise ReleaseError(
                f"The release has a column {column.name!r} that the table does not have, so it is "
                f"not a release of this table."
            )


def _fitting_manifest(folder: Path, settings: Mapping[str, ColumnSettings]) -> Manifest:
    manifest = _sound(folder)
    for name, choice in settings.items():
        entry = manifest.sensitive.get(name)
        if entry is None:
            named = ", ".join(repr(column) for column in manifest.sensitive)
            verb = "is" if len(manifest.sensitive) == 1 else "are"
            raise SettingsError(f"Column {name!r} is not protected in the release; {named} {verb}.")
        if entry.ell != choice.ell:
            raise SettingsError(
                f"Column {name!r} was published with ell = {entry.ell}, not {choice.ell}. Give the "
                f"release's own ell, or leave the release away to audit a plan."
            )
    return manifest


def _sound(folder: Path) -> Manifest:
    """The manifest of a release that is still what was published; other files may lie beside it."""
    wrong = [found for found in verify_release(folder) if found.problem != NOT_PART]
    if wrong:
        raise ReleaseError(
            f"{folder} is not what was published ({wrong[0].file}: {wrong[0].problem}), and an "
            f"audit of it would say nothing about the publication. 'countveil verify' says more."
        )
    return read_manifest(folder)


def _program_text(folder: Path) -> str:
    """What the program writes into a release of anything."""
    table = pa.table({"a": list(range(4)), "b": ["0", "1", "2", "3"]})
    kept = Shaping(keep=("a", "b"))
    run_publish(table, Protecting.of({"b": 2}), Writing.of(folder), shaping=kept)
    return everything_in(folder).decode(errors="replace")
