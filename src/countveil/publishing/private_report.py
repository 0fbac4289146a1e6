"""The publisher's own page about a publication: the truth beside what is published.

Enters: what was prepared, counted and drawn, and the files that were written. Leaves: a page for
the publisher alone, in its file. Must not know: draws, groups. It is loaded only where it is
wanted.
"""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from countveil.engines.drawn import DrawnCases
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.case_view import view_of_cases
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.publishing.measuring import (
    Measuring,
    ReleaseFiles,
    SeenAs,
    kept_chances,
    measured_columns,
)
from countveil.publishing.prepare import LocalPreparedTable
from countveil.publishing.settings import Writing
from countveil.randomness import Randomness
from countveil.release import Manifest
from countveil.release.draft import WrittenFile
from countveil.report.board import codebook_of
from countveil.report.private_page import PrivateColumn, private_page
from countveil.report.whole_file import PendingFile, pending_file, write_file
from countveil.system.whole_files import folder_for_a_while
from countveil.tables.encoded.survey import Histogram

if TYPE_CHECKING:
    from countveil.publishing.publisher import Drawing

PRIVATE_REPORT = "the private report"
Codes = NDArray[np.int64]


def private_report(
    of: Drawing,
    written: Sequence[WrittenFile],
    manifest: Manifest,
    reasons: Mapping[str, str],
    *,
    trial: bool = False,
) -> str:
    """The page; a `trial` was not published. `reasons` say why columns are kept."""
    # Measuring reads the table once more, which is not part of the other stages.
    of.stages("measuring", 0, 0)
    seconds, started = of.stages.seconds(), time.perf_counter()
    local, counted = cast("LocalPreparedTable", of.prepared), of.counted
    files = [file.path for file in written]
    pairs = {name: (histogram, of.tables[name]) for name, histogram in counted.histograms.items()}
    if of.drawn.cases:
        columns = _measured_cases(
            local, of.protecting.columns, counted.histograms, of.drawn.cases, files, of.randomness,
            counted.common,
        )  # fmt: skip
    else:
        columns = measured_columns(
            local, of.protecting.columns, pairs, counted.left_out, files, of.randomness,
            counted.common, counted.gammas(), of.drawn.together,
        )  # fmt: skip
    seconds["measuring"] = time.perf_counter() - started
    codebook = codebook_of(manifest, local.source.value_ranges(local.roles.plain))
    dropped = int(counted.left_out.size)
    return private_page(
        counted.rows, dropped, columns, seconds, manifest.about, codebook, reasons, trial=trial
    )


def pending_report(
    of: Drawing, written: Sequence[WrittenFile], manifest: Manifest, writing: Writing
) -> contextlib.AbstractContextManager[PendingFile]:
    """The report, written but not yet in its place: it appears with the release."""
    page = private_report(of, written, manifest, writing.reasons)
    return pending_file(place_of(writing), page, PRIVATE_REPORT, private=True)


def write_trial(of: Drawing, manifest: Manifest, writing: Writing, spill: Path | None) -> None:
    """The report of a release that was tried out and not published."""
    place = place_of(writing)
    with folder_for_a_while(place if spill is None else spill / place.name) as folder:
        page = private_report(of, of.publish(folder), manifest, writing.reasons, trial=True)
    write_file(place, page, PRIVATE_REPORT, private=True)


def place_of(writing: Writing) -> Path:
    """The file of the report, which is wanted."""
    assert writing.private_report is not None  # noqa: S101 - asked for only where it is
    return writing.private_report


@dataclass(frozen=True)
class _CaseNumbers:
    """What a release says of cases, not rounded."""

    rows_per_case: float
    design_effect: float
    by_value: Sequence[float]

    @classmethod
    def of(cls, rows: Codes, published: Codes, size: int) -> _CaseNumbers:
        """From the rows of every case, and what each publishes."""
        cases = np.bincount(published, minlength=size)
        in_rows = np.bincount(published, rows, size)
        mean = float(rows.mean())
        each = np.where(cases > 0, in_rows / np.maximum(cases, 1), mean)
        return cls(mean, float((rows.astype(np.float64) ** 2).sum() / rows.sum()), each.tolist())


def _measured_cases(
    prepared: LocalPreparedTable,
    settings: Mapping[str, ColumnSettings],
    histograms: Mapping[str, Histogram],
    cases: Sequence[DrawnCases],
    written: Sequence[Path],
    randomness: Randomness,
    common: Mapping[str, tuple[int, ...]],
) -> list[PrivateColumn]:
    """Protected columns where persons have several rows: counts of values are those of cases."""
    rows = prepared.source.facts.rows
    files = ReleaseFiles(written[0].parent, [path.name for path in written], rows)
    measuring = Measuring(prepared, files)
    # Other rows of a person would teach the adversary what he is asked about.
    first = np.unique(prepared.source.codes(cases[0].person), return_index=True)[1]
    people = Measuring(prepared, files, np.delete(np.arange(rows), first))

    def column(one: DrawnCases, names: tuple[str, ...]) -> PrivateColumn:
        places = [one.columns.index(name) for name in names]
        sizes = tuple(one.vectors.sizes[1 + place] for place in places)
        true, shown = (
            np.ravel_multi_index(tuple(codes[place] for place in places), sizes)
            for codes in (one.vectors.columns[1:], one.published)
        )
        choice, repeat = settings[names[0]], common.get(names[0], ())
        numbers = _CaseNumbers.of(one.vectors.counts, shown, math.prod(sizes))

        def view_of(published: Codes, of_rows: int) -> ChannelView:
            return view_of_cases(published, of_rows, (choice.ell, choice.groups, repeat), numbers)

        counts = np.bincount(true, minlength=math.prod(sizes))
        known = [histograms[name].values for name in names]
        several = len(names) > 1
        kept = kept_chances(Histogram(known[0], counts), _unseen(choice, repeat), repeat)
        # Of combinations those that occur, which are no grid.
        by_rows = partial(view_of_release, ell=choice.ell, groups="random")
        asked = names if several else names[0]
        return PrivateColumn(
            " and ".join(names), choice.ell, largest_ell(counts[counts > 0]),
            _pairs_of(known, sizes, counts, np.bincount(shown, minlength=counts.size)),
            measuring.answers(asked, view_of, randomness.stream("ask", *names)),
            people.exposure(
                asked, by_rows if several else view_of, randomness.stream("exposure", *names)
            ),
            choice.groups,
            kept,
            columns=names if several else (), cases=true.size,
        )  # fmt: skip

    sets = [column(one, one.columns) for one in cases if len(one.columns) > 1]
    return [*sets, *(column(one, (name,)) for one in cases for name in one.columns)]


def _unseen(choice: ColumnSettings, common: tuple[int, ...]) -> SeenAs:
    """The channel of cases from their numbers."""
    return partial(view_of_release, ell=choice.ell, groups=choice.groups, common=common)


def _pairs_of(
    known: Sequence[Sequence[Any]], sizes: tuple[int, ...], true: Codes, published: Codes
) -> dict[Any, tuple[int, int]]:
    """True and published counts of every value, or of every combination that occurs."""
    pairs: dict[Any, tuple[int, int]] = {}
    for number in np.flatnonzero(true + published if len(known) > 1 else true + 1).tolist():
        places = np.unravel_index(number, sizes)
        vector = tuple(values[int(p)] for values, p in zip(known, places, strict=True))
        value = vector if len(known) > 1 else vector[0]
        pairs[value] = int(true[number]), int(published[number])
    return pairs
