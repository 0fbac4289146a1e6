"""The auditor's path: a planned or finished release is attacked, and the findings are reported.

    prepare -> (publish a trial and a twin | read the release) -> link -> attack -> judge

Enters: the publisher's table, settings, perhaps a release. Leaves: an `Audit`. Must not know: how
an attack works, how a report looks. It contains counts and shares; no value of any row.
"""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path

from countveil.auditing.attacks import ATTACKS
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
from countveil.auditing.findings import Outcome, judged, too_few
from countveil.auditing.linking import Protected, true_columns
from countveil.auditing.promised import promised_beliefs
from countveil.auditing.summary import Audit, MeasuredColumn
from countveil.auditing.target import LEAST_LINKED
from countveil.errors import SettingsError, option
from countveil.maths.channel import view_of_release
from countveil.maths.groups import check_eligible
from countveil.publishing.bounded_odds import declare_domains
from countveil.publishing.common_values import common_places
from countveil.publishing.measuring import Measuring, ReleaseFiles
from countveil.publishing.prepare import open_table, prepare
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.release import About, Manifest
from countveil.report.board import codebook_of
from countveil.tables import Reading, Shaping
from countveil.tables.progress import Progress

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
) -> Audit:
    """Attack the planned release of `table`, or the one in the folder `release`."""
    wanted = _wanted(attacks)
    reading, shaping = reading or Reading(), (shaping or Shaping()).seeded(protecting.seed)
    _check_possible(table, shaping, finished=release is not None)
    progress: Progress = reading.progress or (lambda _stage, _done, _total: None)
    progress("reading", 0, 0)
    folder = None if release is None else Path(release)
    manifest = None if folder is None else fitting_manifest(folder, protecting)
    if manifest is not None:
        protecting = as_published(protecting, manifest)
        shaping = with_declared(shaping, protecting, manifest)
    audited = _read(table, protecting, reading, shaping, manifest)
    with tempfile.TemporaryDirectory(prefix="audit-") as place:
        scratch = Path(place)
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
    target = case.target.sensitive
    return Audit(
        case.target.rows, case.target.n_linked,
        {name: choice.ell for name, choice in case.settings.items()},
        {name: choice.groups for name, choice in case.settings.items()},
        case.planned, judged(outcome.findings), outcome.charts, measured, about or About(),
        codebook_of(case.manifest, case.prepared.source.value_ranges(list(case.truth))),
        case.common_values(), {column.name: promised_beliefs(column) for column in target},
        case.target.together, {c.name: c.odds for c in target if c.odds is not None},
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
    prepared = prepare(source, protecting.ell_unless_bounded, shaping)
    if manifest is not None:
        check_columns(prepared, manifest)
        check_declared(prepared, manifest)
    declare_domains(prepared, protecting.columns, shaping)
    common: dict[str, tuple[int, ...]] = {}
    for name, choice in protecting.columns.items():
        histogram = prepared.source.histogram(name)
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
    return AuditedTable(table, reading, shaping, prepared, true_columns(prepared), common)


def _measured(case: AuditCase, randomness: Randomness) -> dict[str, MeasuredColumn]:
    """How exposed people are, and how far off counts, in the release or its trial."""
    manifest = case.manifest
    names = [file.path for file in manifest.files]
    files = ReleaseFiles(case.folder, names, manifest.rows, manifest.columns)
    measuring = Measuring(case.prepared, files)
    stated = Protected.by(manifest, case.settings, {n: case.truth[n].values for n in case.settings})
    measured = {}
    for name, choice in case.settings.items():
        bound = stated.odds.get(name)
        seen = partial(
            view_of_release,
            ell=choice.ell,
            groups=choice.groups,
            common=stated.common.get(name, ()),
            noise=None if bound is None else (bound.gamma, len(case.truth[name].values)),
        )
        answers = measuring.answers(name, seen, randomness.stream("ask", name))
        exposure = measuring.exposure(name, seen, randomness.stream("exposure", name))
        error, counts = (
            (math.nan, 0) if answers is None else answers.error_near(_SHARE, manifest.rows)
        )
        measured[name] = MeasuredColumn(
            None if exposure is None else exposure.found, error if counts else None, counts
        )
    for columns in stated.together:
        seen = partial(view_of_release, ell=case.settings[columns[0]].ell, groups="random")
        exposure = measuring.exposure(columns, seen, randomness.stream("exposure", *columns))
        measured[", ".join(columns)] = MeasuredColumn(
            None if exposure is None else exposure.found, None, 0
        )
    return measured


def _attacked(
    case: AuditCase, wanted: Collection[str], randomness: Randomness, progress: Progress
) -> Outcome:
    """Run the attacks in the order of the table, each with its own stream."""
    outcome, linked = Outcome(), case.target.n_linked
    for name in (name for name in ATTACKS if name in wanted):
        attack, stream = ATTACKS[name], randomness.stream(name)
        if attack.needs_rows and linked < LEAST_LINKED:
            outcome.findings.append(too_few(attack.adversary, linked, LEAST_LINKED))
            continue
        for label, stage in attack.stages.items():
            progress(f"attack: {label}", 0, 0)
            outcome.add(stage(case, stream))
    return outcome
