"""What is audited: the publisher's table and a release of it, brought together.

Enters: a prepared table, and a release or the settings of a planned one. Leaves: an `AuditCase`.
Must not know: attacks.

A planned release is published by the real path, twice: as a trial, for its bytes, and as a twin
whose rows are all linked. A finished release must still be what was published.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from countveil.auditing import linking
from countveil.auditing.target import Codes, Target
from countveil.errors import ReleaseError, SettingsError, option
from countveil.maths.groups import ColumnSettings
from countveil.publishing.measuring import SeenAs
from countveil.publishing.prepare import LocalPreparedTable
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.release import Manifest, SensitiveColumn, read_manifest
from countveil.release.verify import NOT_PART, verify_release
from countveil.tables import FileSource, Reading, Shaping, describe_source
from countveil.tables.recode import value_text


@dataclass(frozen=True)
class AuditCase:
    """Everything that an attack may use.

    `folder` is the release, or its trial; `linked` is the folder with the rows of the target, and
    `scratch` one for releases that an attack publishes. `paths` are the files of the source. Where
    persons have several rows, `persons` has that of every row of the table, and attacks are on
    `cases`, one target for each draw.
    """

    target: Target
    prepared: LocalPreparedTable
    truth: Mapping[str, linking.TrueColumn]
    protecting: Protecting
    manifest: Manifest
    folder: Path
    linked: Path
    scratch: Path
    paths: Sequence[Path]
    planned: bool
    persons: Codes | None = None
    cases: Sequence[Target] = ()

    @property
    def units(self) -> Sequence[Target]:
        """What is attacked: rows, or cases."""
        return self.cases or (self.target,)

    @property
    def settings(self) -> Mapping[str, ColumnSettings]:
        """The settings of each column."""
        return self.protecting.columns

    @property
    def common(self) -> linking.Common:
        """The places of the common values of the columns that have any."""
        return {column.name: column.common for column in self.target.columns if column.common}

    def channel_of_rows(self, name: str, common: tuple[int, ...]) -> SeenAs:
        """The channel of a column from its published rows, where cases were drawn."""
        from countveil.maths.channel.case_view import view_of_cases

        entry = self.manifest.sensitive[name]
        figures = entry.cases
        assert figures is not None  # noqa: S101 - that is what is asked about
        means = dict(zip(entry.domain, figures.by_value, strict=True))
        values = self.truth[name].values
        each = tuple(means.get(value, figures.rows_per_case) for value in values)
        numbers = replace(figures, by_value=each)
        way = entry.ell, entry.groups, common
        return lambda published, rows: view_of_cases(published, rows, way, numbers)

    def common_values(self) -> dict[str, list[Any]]:
        """The common values of the columns that have any, as the release states them."""
        return {
            name: [self.truth[name].values[place] for place in places]
            for name, places in self.common.items()
        }


@dataclass(frozen=True)
class AuditedTable:
    """The publisher's table, as given and as read."""

    table: object
    reading: Reading
    shaping: Shaping
    prepared: LocalPreparedTable
    truth: Mapping[str, linking.TrueColumn]
    common: linking.Common
    persons: Codes | None = None

    def by_case(self, target: Target) -> Sequence[Target]:
        """The same target by cases, where persons have several rows."""
        if self.persons is None:
            return ()
        from countveil.auditing.cases import targets_by_case

        return targets_by_case(target, self.truth, self.persons)

    @property
    def paths(self) -> Sequence[Path]:
        """The files that it was read from, if there are any."""
        source = describe_source(self.table, self.reading.query)
        return source.paths if isinstance(source, FileSource) else ()


def planned_case(audited: AuditedTable, protecting: Protecting, scratch: Path) -> AuditCase:
    """Publish the trial and the twin of a planned release."""
    trial, twin = scratch / "trial", scratch / "twin"
    silent = replace(audited.reading, progress=None)
    run_publish(
        audited.table,
        protecting,
        Writing.of(trial, again=True, record=False),
        reading=silent,
        shaping=audited.shaping,
    )
    number = linking.publish_twin(audited.truth, protecting, audited.common, twin, audited.persons)
    target = linking.linked_by_number(audited.truth, protecting.columns, twin, number)
    return AuditCase(
        target, audited.prepared, audited.truth, protecting, read_manifest(trial), trial, twin,
        scratch, audited.paths, True, audited.persons, audited.by_case(target),
    )  # fmt: skip


def release_case(
    audited: AuditedTable, protecting: Protecting, manifest: Manifest, folder: Path, scratch: Path
) -> AuditCase:
    """Link the rows of a release by their values."""
    target = linking.linked_by_values(audited.truth, protecting.columns, manifest, folder)
    return AuditCase(
        target, audited.prepared, audited.truth, protecting, manifest, folder, folder, scratch,
        audited.paths, False, audited.persons, audited.by_case(target),
    )  # fmt: skip


def as_published(protecting: Protecting, manifest: Manifest) -> Protecting:
    """The same columns with the settings that their release states."""
    columns = {
        name: ColumnSettings(
            entry.ell, entry.groups, entry.residue, _common_texts(entry),
            odds=None if entry.odds is None else entry.odds.at_most,
        )
        for name, entry in manifest.sensitive.items()
        if name in protecting.columns
    }  # fmt: skip
    sets = [tuple(name for name in names if name in columns) for names in manifest.together]
    together = tuple(names for names in sets if len(names) > 1)
    return replace(protecting, columns=columns, together=together)


def _common_texts(entry: SensitiveColumn) -> tuple[str | None, ...]:
    return tuple(None if value is None else value_text(value) for value in entry.common)


def fitting_manifest(folder: Path, protecting: Protecting) -> Manifest:
    """The manifest of a sound release that protects these columns with these settings."""
    manifest = _sound_manifest(folder)
    for name, choice in protecting.columns.items():
        entry = manifest.sensitive.get(name)
        if entry is None:
            named = ", ".join(repr(column) for column in manifest.sensitive)
            verb = "is" if len(manifest.sensitive) == 1 else "are"
            raise SettingsError(f"Column {name!r} is not protected in the release; {named} {verb}.")
        if entry.ell != choice.ell:
            raise SettingsError(
                f"Column {name!r} was published with ell = {entry.ell}, not {choice.ell}. Give the "
                f"ell of the release, or leave out the release to audit a plan."
            )
        there = None if entry.odds is None else entry.odds.at_most
        if choice.odds is not None and choice.odds != there:
            bound = "no bound on its odds" if there is None else f"a bound of {there:g}"
            raise SettingsError(
                f"Column {name!r} was published with {bound}, not {choice.odds:g}. Leave "
                f"{option('odds')} out: a release says what it promises."
            )
        _check_common(name, choice, entry)
    _check_together(protecting.together, manifest)
    return manifest


def _check_common(name: str, choice: ColumnSettings, entry: SensitiveColumn) -> None:
    asked, there = set(choice.common), set(_common_texts(entry))
    if (choice.common_auto and not there) or (asked and asked != there):
        raise SettingsError(
            f"Column {name!r} was published with {entry.groups} groups and "
            f"{len(there) or 'no'} common values, which are not those of {option('common')}. "
            f"Leave it out: a release says how its groups were formed."
        )


def _check_together(asked: Sequence[Sequence[str]], manifest: Manifest) -> None:
    """Sets of columns that are named must be those of the release."""
    there = [set(names) for names in manifest.together]
    for names in asked:
        if set(names) not in there:
            sets = " and ".join(", ".join(map(repr, one)) for one in manifest.together)
            published = f"together are {sets}" if sets else "every column has its own groups"
            raise SettingsError(
                f"The release does not publish {', '.join(map(repr, names))} together: "
                f"{published}. Leave {option('together')} out: a release says how its groups were "
                f"formed."
            )


def with_declared(shaping: Shaping, protecting: Protecting, manifest: Manifest) -> Shaping:
    """Values that noise was put over are those of the release, unless they are given."""
    domain = {
        name: [value_text(value) for value in manifest.sensitive[name].domain]
        for name, choice in protecting.columns.items()
        if choice.odds is not None and manifest.sensitive[name].classes is None
    }
    return replace(shaping, domain={**domain, **shaping.domain})


def check_declared(prepared: LocalPreparedTable, manifest: Manifest) -> None:
    """Where noise came first, the declared values must be those of the release."""
    for name, entry in manifest.sensitive.items():
        given = prepared.domains.get(name)
        if entry.odds is not None and given is not None and set(given) != set(entry.domain):
            raise SettingsError(
                f"Noise was put over the {len(entry.domain):,} declared values of {name!r}, and "
                f"the {len(given):,} declared here are others. Leave {option('domain')} out: a "
                f"release says its values."
            )


def _sound_manifest(folder: Path) -> Manifest:
    """The manifest of a release that is still what was published; other files may lie beside it."""
    wrong = [problem for problem in verify_release(folder) if problem.problem != NOT_PART]
    if wrong:
        raise ReleaseError(
            f"{folder} is not what was published ({wrong[0].file}: {wrong[0].problem}), and an "
            f"audit of it would say nothing about the publication. 'countveil verify' says more."
        )
    return read_manifest(folder)


def check_columns(prepared: LocalPreparedTable, manifest: Manifest) -> None:
    known = {column.name for column in prepared.source.facts.columns}
    known |= {entry.batch for entry in manifest.batches if entry.batch is not None}
    for column in manifest.columns:
        if column.name not in known:
            raise ReleaseError(
                f"The release has a column {column.name!r} that the table does not have, so it is "
                f"not a release of this table."
            )
