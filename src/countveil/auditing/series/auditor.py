"""The audit of a series of releases that are there.

Enters: the newest table and its release, earlier ones, perhaps the ledger. Leaves: an `Audit`. Must
not know: how an attack works, how a report looks.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from countveil.auditing.attacks.series import NAME, attack_series
from countveil.auditing.case import as_published, fitting_manifest
from countveil.auditing.findings import judged, left_out
from countveil.auditing.series.finished import TableAndRelease, finished
from countveil.auditing.summary import Audit
from countveil.errors import SettingsError, option
from countveil.publishing.ledger.ledger import Ledger
from countveil.publishing.prepare import LocalPreparedTable, open_table, shape
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.release import About
from countveil.report.board import codebook_of
from countveil.tables import Reading, Shaping

Earlier = Mapping[str, object] | Sequence[str | os.PathLike[str]] | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class SeriesFiles:
    """Earlier releases, each with its table unless that is the newest one; and the ledger."""

    earlier: tuple[tuple[Path, object], ...] = ()
    ledger: Ledger | None = None

    @classmethod
    def of(
        cls,
        earlier: Earlier = (),
        ledger: Ledger | str | os.PathLike[str] | None = None,
        ledger_key: str | os.PathLike[str] | None = None,
    ) -> SeriesFiles:
        """From what a caller may write."""
        if isinstance(earlier, str | os.PathLike):
            earlier = [earlier]
        pairs = (
            earlier.items()
            if isinstance(earlier, Mapping)
            else ((folder, None) for folder in earlier)
        )
        if ledger is not None and not isinstance(ledger, Ledger):
            ledger = Ledger(ledger, key=ledger_key)
        return cls(tuple((Path(folder), table) for folder, table in pairs), ledger)

    def __bool__(self) -> bool:
        return bool(self.earlier) or self.ledger is not None


def audit_series(
    table: object,
    protecting: Protecting,
    release: Path,
    files: SeriesFiles,
    reading: Reading,
    shaping: Shaping,
    about: About,
) -> Audit:
    """Attack the release of `table` together with earlier ones."""
    if not shaping.persons:
        raise SettingsError(
            f"The releases are a series, in which persons are known by a column: name it with "
            f"{option('person')}."
        )
    manifest = fitting_manifest(release, protecting)
    protecting = as_published(protecting, manifest)
    newest = _read(table, protecting, reading, shaping)
    person = shaping.persons[0]
    releases = [
        TableAndRelease(
            newest if older is None else _read(older, protecting, reading, shaping), person, folder,
            fitting_manifest(folder, protecting),
        )
        for folder, older in files.earlier
    ]  # fmt: skip
    releases.append(TableAndRelease(newest, person, release, manifest))
    series = finished(releases, protecting.draws, protecting.ell, files.ledger)
    outcome = attack_series(series, Randomness(protecting.seed).stream(NAME))
    batches = max((len(entry.drawn) for entry in manifest.batches), default=1)
    outcome.findings.append(left_out(
        NAME, "the attacks on a single release", "", (batches, "batches"),
        "audit a plan, or the first release of a ledger, for these",
    ))  # fmt: skip
    plain = [column.name for column in manifest.columns if column.role == "plain"]
    return Audit(
        manifest.rows, series.linked, protecting.ell,
        {name: choice.groups for name, choice in protecting.columns.items()}, False,
        judged(outcome.findings), outcome.charts, about=about,
        codebook=codebook_of(manifest, newest.source.value_ranges(plain)), releases=series.releases,
    )  # fmt: skip


def _read(
    table: object, protecting: Protecting, reading: Reading, shaping: Shaping
) -> LocalPreparedTable:
    source = open_table(table, reading, shaping, protecting.names)
    return shape(source, protecting.names, shaping, cases=True)
