"""The auditor's path: a planned or finished release is attacked, and the findings are reported.

    prepare -> (publish a trial and a twin | read the release) -> link -> attack -> judge

Enters: the publisher's table, settings, perhaps a release. Leaves: an `Audit`. Must not know: how
an attack works, how a report looks. It contains counts and shares; no value of any row.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from countveil.auditing.attacks import ATTACKS, associated_columns
from countveil.auditing.case import (
    AuditCase,
    AuditedTable,
    as_published,
    check_columns,
    check_declared,
    fitting_manifest,
    planned_case,
    release_case,
    with_declared,
)
from countveil.auditing.findings import MeasuredColumn, Outcome, judged, left_out, too_few
from countveil.auditing.linking import Protected, true_columns
from countveil.auditing.promised import promised_beliefs
from countveil.auditing.summary import Audit
from countveil.auditing.target import LEAST_LINKED
from countveil.errors import SettingsError, option
from countveil.maths.channel import view_of_release
from countveil.maths.groups import check_eligible
from countveil.publishing.bounded_odds import declare_domains
from countveil.publishing.common_values import common_places
from countveil.publishing.measuring import Measuring, ReleaseFiles, SeenAs
from countveil.publishing.prepare import LocalPreparedTable, open_table, prepare
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.release import About, Manifest
from countveil.report.board import codebook_of
from countveil.system.whole_files import folder_for_a_while
from countveil.tables import Reading, Shaping
from countveil.tables.encoded.survey import Histogram
from countveil.tables.progress import Progress

if TYPE_CHECKING:
    from countveil.auditing.series.auditor import SeriesFiles

# Counts of this share of the rows are what a board asks about.
_SHARE = 0.01


def run_audit(
    table: object,
    protecting: Protecting,
    *,
    release: str | os.PathLike[str] | None = None,
    attacks: Sequence[str] = (),
    reading: Reading | None = None,
    shaping: Shaping | None = None,
    about: About | None = None,
    series: SeriesFiles | None = None,
) -> Audit:
    """Attack the planned release of `table`, or the one in the folder `release`.

    With `series`, or if it was drawn in several batches, it is attacked together with earlier ones.
    """
    wanted = _wanted(attacks)
    reading, shaping = reading or Reading(), (shaping or Shaping()).seeded(protecting.seed)
    _check_possible(table, shaping, finished=release is not None)
    progress: Progress = reading.progress or (lambda _stage, _done, _total: None)
    progress("reading", 0, 0)
    folder = None if release is None else Path(release)
    manifest = None if folder is None else fitting_manifest(folder, protecting)
    if _is_series(manifest, series, attacks):
        from countveil.auditing.series.auditor import SeriesFiles, audit_series

        assert folder is not None  # noqa: S101 - there is a manifest
        files = series or SeriesFiles()
        return audit_series(table, protecting, folder, files, reading, shaping, about or About())
    if manifest is not None:
        protecting = as_published(protecting, manifest)
        shaping = with_declared(shaping, protecting, manifest)
    audited = _read(table, protecting, reading, shaping, manifest)
    with folder_for_a_while(Path(tempfile.gettempdir()) / "countveil-audit") as scratch:
        if folder is not None and manifest is not None:
            progress("linking rows", 0, 0)
            case = release_case(audited, protecting, manifest, folder, scratch)
        else:
            progress("publishing a trial", 0, 0)
            case = planned_case(audited, protecting, scratch)
        randomness = Randomness(protecting.seed)
        progress("measuring exposure", 0, 0)
        measured = _measured(case, randomness)
        outcome = _attacked(case, wanted, randomness, progress)
    return _summed_up(case, outcome, measured, about or About())


def _summed_up(
    case: AuditCase, outcome: Outcome, measured: Mapping[str, MeasuredColumn], about: About
) -> Audit:
    target = [column for units in case.units for column in units.sensitive]
    return Audit(
        case.target.rows, case.target.n_linked,
        {name: choice.ell for name, choice in case.settings.items()},
        {name: choice.groups for name, choice in case.settings.items()},
        case.planned, judged(outcome.findings), outcome.charts, measured, about,
        codebook_of(case.manifest, case.prepared.source.value_ranges(list(case.truth))),
        case.common_values(), {column.name: promised_beliefs(column) for column in target},
        case.target.together, {c.name: c.odds for c in target if c.odds is not None},
        {units.sensitive[-1].name: units.n_linked for units in case.cases},
    )  # fmt: skip


def _check_possible(table: object, shaping: Shaping, *, finished: bool) -> None:
    """The same rows must be there again."""
    if finished and shaping.one_per is not None and shaping.one_per.row == "any":
        raise SettingsError(
            f"{option('one_per')} drew the rows of the release, and draws others now. Audit the "
            f"table of these rows, or a plan, without {option('release')}."
        )
    if hasattr(table, "read_next_batch"):
        raise SettingsError(
            "An audit reads the table several times, and a stream can be read only once. Give a "
            "file, or read the stream into a table first."
        )


def _is_series(
    manifest: Manifest | None, files: SeriesFiles | None, attacks: Sequence[str]
) -> bool:
    """Whether a finished release is to be attacked as one of a series."""
    if manifest is None and files:
        raise SettingsError(
            f"{option('earlier')} and {option('ledger')} go with {option('release')}, the newest "
            f"release of the series. Without it a series like the planned one is made up: "
            f"{option('attacks', 'series')}."
        )
    several = manifest is not None and any(len(entry.drawn) > 1 for entry in manifest.batches)
    if not (files or several):
        return False
    others = [name for name in attacks if not ATTACKS[name].on_series]
    if others:
        raise SettingsError(
            f"A series of releases is attacked as a whole, without "
            f"{', '.join(map(repr, others))}. Leave {option('attacks')} out."
        )
    return True


def _wanted(attacks: Sequence[str]) -> Collection[str]:
    for name in attacks:
        if name not in ATTACKS:
            raise SettingsError(f"There is no attack {name!r}. Available: {', '.join(ATTACKS)}.")
    return attacks or [name for name, attack in ATTACKS.items() if not attack.on_series]


def _read(
    table: object,
    protecting: Protecting,
    reading: Reading,
    shaping: Shaping,
    manifest: Manifest | None,
) -> AuditedTable:
    source = open_table(table, reading, shaping, protecting.names)
    prepared = prepare(
        source, protecting.ell_unless_bounded, shaping, protecting.together, cases=True
    )
    if manifest is not None:
        check_columns(prepared, manifest)
        check_declared(prepared, manifest)
        _check_persons(prepared, manifest)
    declare_domains(prepared, protecting.columns, shaping)
    counted = _counted(prepared, protecting)
    common: dict[str, tuple[int, ...]] = {}
    for name, choice in protecting.columns.items():
        histogram = counted[name]
        places: tuple[int, ...] = ()
        if choice.common or choice.common_auto:
            places = common_places(name, histogram, choice)
        if places:
            common[name] = places
        # After noise, groups are formed of other counts: the trial will tell.
        if choice.odds is None:
            check_eligible(
                name, histogram.counts, choice, lambda _place: "its most frequent value",
                common=places,
            )  # fmt: skip
    persons = None if prepared.person is None else prepared.source.codes(prepared.person)
    return AuditedTable(table, reading, shaping, prepared, true_columns(prepared), common, persons)


def _check_persons(prepared: LocalPreparedTable, manifest: Manifest) -> None:
    """Who has several rows must be known for a release in which that counts."""
    entries = manifest.sensitive.values()
    by_cases = bool(manifest.batches) or any(entry.cases is not None for entry in entries)
    if prepared.person is None and by_cases:
        raise SettingsError(
            f"The release was drawn by cases: persons have several rows. Name the column that "
            f"identifies persons with {option('person')}."
        )


def _counted(prepared: LocalPreparedTable, protecting: Protecting) -> Mapping[str, Histogram]:
    """The true counts of every protected column: of rows, or of cases."""
    histograms = {name: prepared.source.histogram(name) for name in protecting.columns}
    if prepared.person is None:
        return histograms
    # Loaded only where persons have several rows.
    from countveil.publishing.cases import find_cases

    cases = find_cases(prepared.source, prepared.person, protecting).values()
    return {
        name: Histogram(histograms[name].values, one.counts_of(column))
        for one in cases
        for column, name in enumerate(one.columns)
    }


def _measured(case: AuditCase, randomness: Randomness) -> dict[str, MeasuredColumn]:
    """How exposed people are, and how far off counts, in the release or its trial."""
    manifest = case.manifest
    names = [file.path for file in manifest.files]
    files = ReleaseFiles(case.folder, names, manifest.rows, manifest.columns)
    measuring = Measuring(case.prepared, files)
    people = measuring
    if case.persons is not None:
        # Other rows of a person would teach the adversary what he is asked about.
        first = np.unique(case.persons, return_index=True)[1]
        people = Measuring(case.prepared, files, np.delete(np.arange(case.persons.size), first))
    stated = Protected.by(manifest, case.settings, {n: case.truth[n].values for n in case.settings})
    measured = {}
    for name, choice in case.settings.items():
        bound = stated.odds.get(name)
        seen: SeenAs = partial(
            view_of_release,
            ell=choice.ell,
            groups=choice.groups,
            common=stated.common.get(name, ()),
            noise=None if bound is None else (bound.gamma, len(case.truth[name].values)),
        )
        if manifest.sensitive[name].cases is not None:
            seen = case.channel_of_rows(name, stated.common.get(name, ()))
        answers = measuring.answers(name, seen, randomness.stream("ask", name))
        exposure = people.exposure(name, seen, randomness.stream("exposure", name))
        error, counts = (
            (math.nan, 0) if answers is None else answers.error_near(_SHARE, manifest.rows)
        )
        measured[name] = MeasuredColumn(
            None if exposure is None else exposure.found, error if counts else None, counts
        )
    for columns in stated.together:
        seen = partial(view_of_release, ell=case.settings[columns[0]].ell, groups="random")
        exposure = people.exposure(columns, seen, randomness.stream("exposure", *columns))
        measured[", ".join(columns)] = MeasuredColumn(
            None if exposure is None else exposure.found, None, 0
        )
    return measured


def _attacked(
    case: AuditCase, wanted: Collection[str], randomness: Randomness, progress: Progress
) -> Outcome:
    """Run the attacks in the order of the table, each with its own stream."""
    outcome, linked = Outcome(), min(target.n_linked for target in case.units)
    for name in (name for name in ATTACKS if name in wanted):
        attack, stream = ATTACKS[name], randomness.stream(name)
        if attack.needs_rows and linked < LEAST_LINKED:
            outcome.findings.append(too_few(attack.adversary, linked, LEAST_LINKED))
            continue
        for label, stage in attack.stages.items():
            progress(f"attack: {label}", 0, 0)
            outcome.add(stage(case, stream))
    if len(case.cases) > 1 and associated_columns.NAME in wanted:
        draws, why = (len(case.cases), "draws"), "their cases differ, so each was attacked alone"
        outcome.findings.append(
            left_out(
                associated_columns.NAME, "columns that were drawn apart, at once", "", draws, why
            )
        )
    return outcome
