"""The true counts of the values to protect, whether they can be protected, and what is drawn.

Enters: the prepared table, the settings, the randomness. Leaves: a `Counted`, or the error that
says what is in the way and what would work; `Drawn`, which is dealt to rows, and how many rows with
a true value publish which value. Must not know: how groups are formed, where the release goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.engines.drawn import Drawn
from countveil.errors import IneligibleError, SettingsError
from countveil.maths.groups import ColumnSettings, check_eligible, rows_over
from countveil.maths.mechanism import PublishedTable, draw_column
from countveil.publishing.prepare import (
    LocalPreparedTable,
    PreparedTable,
    check_number_of_values,
    value_namer,
)
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.tables import Shaping
from countveil.tables.encoded.survey import Histogram, ValueRange
from countveil.tables.progress import Progress

if TYPE_CHECKING:
    from countveil.publishing.bounded_odds import Noised
    from countveil.publishing.cases import Cases


@dataclass(frozen=True, slots=True)
class Counted:
    """The histograms to publish, without the rows that are left out because of the residue.

    `common` has the positions of common values, `noised` what noise did before, `cases` what groups
    are formed of where persons have several rows, by the first column of each draw.
    """

    rows: int
    histograms: Mapping[str, Histogram]
    left_out: NDArray[np.int64]
    common: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    noised: Mapping[str, Noised] = field(default_factory=dict)
    cases: Mapping[str, Cases] = field(default_factory=dict)

    def to_group(self, name: str) -> NDArray[np.int64]:
        """The counts that groups are formed of: after the noise, if there was any."""
        return self.noised[name].counts if name in self.noised else self.histograms[name].counts

    def gammas(self) -> dict[str, float]:
        """The chance that a row took a declared value at random, of the columns with noise."""
        return {name: noised.gamma for name, noised in self.noised.items()}

    def common_values(self) -> dict[str, tuple[Any, ...]]:
        """The values that may fill several places of a group, of the columns that have any."""
        return {
            name: tuple(self.histograms[name].values[place] for place in places)
            for name, places in self.common.items()
        }


def count_values(
    prepared: PreparedTable[SourceTable],
    protecting: Protecting,
    shaping: Shaping,
    randomness: Randomness,
) -> Counted:
    """Count the values to protect, and check that every column is eligible for its ell."""
    source, settings = prepared.source, protecting.columns
    if prepared.person is not None:
        return _count_cases(source, prepared.person, protecting)
    bounded = [name for name, choice in settings.items() if choice.odds is not None]
    if bounded:
        # Loaded only where odds are bounded, as below.
        from countveil.publishing.bounded_odds import declare_domains

        declare_domains(prepared, settings, shaping)
    histograms = {name: source.histogram(name) for name in settings}
    drops = any(choice.residue == "drop" for choice in settings.values())
    over = rows_over(source.facts.rows, protecting.ell.values()) if drops else 0
    rows = source.facts.rows - over if over else None
    common = {}
    for name, histogram in histograms.items():
        check_number_of_values(name, histogram)
        if name not in bounded:
            changed = name in {*shaping.prepared, *prepared.recoded.labels} - {*shaping.domain}
            common[name] = checked_common(name, histogram, settings[name], rows, changed=changed)
    left_out = np.zeros(0, np.int64)
    if over:
        left_out = randomness.stream("residue").choose(over, source.facts.rows)
        histograms = {name: source.histogram(name, left_out) for name in settings}
    if not bounded:
        return Counted(source.facts.rows - over, histograms, left_out, _not_empty(common))
    from countveil.publishing.bounded_odds import add_noise

    noised = add_noise(histograms, settings, randomness)
    for name, noise in noised.items():
        after = Histogram(histograms[name].values, noise.counts)
        common[name] = checked_common(name, after, settings[name], None, "after the noise ")
    return Counted(source.facts.rows - over, histograms, left_out, _not_empty(common), noised)


def _count_cases(source: SourceTable, person: str, protecting: Protecting) -> Counted:
    """The same where persons have several rows: what is protected are cases."""
    # Loaded only where persons have several rows.
    from countveil.publishing.cases import find_cases

    cases = find_cases(source, person, protecting)
    histograms = {name: source.histogram(name) for name in protecting.columns}
    common = {}
    for one in cases.values():
        for column, name in enumerate(one.columns):
            check_number_of_values(name, histograms[name])
            of_cases = Histogram(histograms[name].values, one.counts_of(column))
            settings = protecting.columns[name]
            common[name] = checked_common(name, of_cases, settings, None, "among cases ")
    return Counted(
        source.facts.rows, histograms, np.zeros(0, np.int64), _not_empty(common), cases=cases
    )


def checked_common(
    name: str,
    histogram: Histogram,
    settings: ColumnSettings,
    rows: int | None,
    when: str = "",
    *,
    changed: bool = False,
) -> tuple[int, ...]:
    """The positions of common values; an error if groups do not exist.

    `changed`: whether the values are other ones than the source has.
    """
    name_value = value_namer(histogram)
    places = _common_places(name, histogram, settings)
    try:
        check_eligible(
            name, histogram.counts, settings, lambda place: f"{when}{name_value(place)}",
            common=places, rows=rows,
        )  # fmt: skip
    except (IneligibleError, SettingsError) as error:
        # Loaded only where something is in the way.
        from countveil.publishing.advise.remedies import ways_to_publish

        error.ways = ways_to_publish(
            name, histogram, settings, rows, noised=bool(when), changed=changed
        )
        raise
    return places


def _not_empty(common: Mapping[str, tuple[int, ...]]) -> dict[str, tuple[int, ...]]:
    return {name: places for name, places in common.items() if places}


def _common_places(name: str, histogram: Histogram, settings: ColumnSettings) -> tuple[int, ...]:
    if not settings.common and not settings.common_auto:
        return ()
    # Loaded only where there are common values.
    from countveil.publishing.common_values import common_places

    return common_places(name, histogram, settings)


def draw(
    source: SourceTable,
    counted: Counted,
    protecting: Protecting,
    randomness: Randomness,
    progress: Progress,
) -> tuple[dict[str, PublishedTable], Drawn]:
    """For each column, form groups and draw how many rows of a true value publish which value.

    Columns that are published together have one draw, of which each has its margin.
    """
    if counted.cases:
        # Loaded only where persons have several rows.
        from countveil.publishing.cases import draw_all

        return draw_all(counted, protecting, randomness, progress)
    margins: dict[str, PublishedTable] = {}
    together = []
    if protecting.together:
        # Loaded only where columns are published together.
        from countveil.publishing.columns_together import draw_together, margin

        for names in protecting.together:
            choice, left_out = protecting.columns[names[0]], counted.left_out
            joint = draw_together(source, names, choice, left_out, randomness, progress)
            margins |= {name: margin(joint, number) for number, name in enumerate(names)}
            together.append(joint)
    apart: dict[str, PublishedTable] = {}
    for name in counted.histograms:
        if name not in margins:
            apart[name] = draw_apart(name, counted, protecting, randomness, progress)
    return {**margins, **apart}, Drawn(apart, together, without=counted.left_out)


def draw_apart(
    name: str,
    counted: Counted,
    protecting: Protecting,
    randomness: Randomness,
    progress: Progress,
) -> PublishedTable:
    """Draw one column with groups of its own, formed of noised values if there is noise."""
    stage = f"grouping {name}"
    progress(stage, 0, 0)
    streams = randomness.stream("groups", name), randomness.stream("draw", name)
    drawn = draw_column(
        counted.to_group(name),
        protecting.columns[name],
        streams,
        counted.common.get(name, ()),
        _rows_done(progress, stage, counted.rows),
    )
    if name in counted.noised:
        drawn = counted.noised[name].publishing(drawn, randomness, name)
    return drawn


def _rows_done(progress: Progress, stage: str, rows: int) -> Callable[[float], None]:
    """Report a share of the work as the same share of the rows."""
    return lambda share: progress(stage, int(share * rows), rows)


def published_counts(
    counted: Counted, drawn: Mapping[str, PublishedTable]
) -> dict[str, dict[Any, int]]:
    """For each column, how many rows publish each value that was drawn: anybody can count this."""
    published = {}
    for name, histogram in counted.histograms.items():
        counts = drawn[name].published()
        published[name] = {
            histogram.values[place]: int(counts[place]) for place in np.flatnonzero(counts).tolist()
        }
    return published


def about_associated(source: SourceTable, protecting: Protecting, counted: Counted) -> list[str]:
    """What it means that associated columns are published apart, if there are any."""
    if len(protecting.columns) < 2:
        return []
    # Loaded only where there are several columns.
    from countveil.publishing.advise.pairs.association import about_apart

    return about_apart(source, protecting.columns, protecting.together, counted.gammas())


def plain_values(
    prepared: PreparedTable[SourceTable], counted: Counted
) -> Mapping[str, ValueRange]:
    """What unchanged columns hold, as they are published: nothing where rows were left out."""
    if counted.left_out.size:
        return {}
    local = cast("LocalPreparedTable", prepared)
    return local.source.value_ranges(prepared.roles.plain)
