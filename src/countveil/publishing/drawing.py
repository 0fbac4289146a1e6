"""From true counts to what will be published: counting, checking, and the draw.

Enters: an opened table, the settings, the randomness. Leaves: for each protected column, its
histogram and how many rows of each true value publish which value. Must not know: where the release
goes, single rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.maths.groups import ColumnSettings, check_eligible, rows_over
from countveil.maths.mechanism import PublishedTable, draw_column
from countveil.publishing.prepare import check_number_of_values, value_namer
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.tables.encoded.survey import Histogram
from countveil.tables.progress import Progress


@dataclass(frozen=True, slots=True)
class Counted:
    """The histograms to publish, without the rows that are left out because of the residue.

    `common` has the positions of common values.
    """

    rows: int
    histograms: Mapping[str, Histogram]
    left_out: NDArray[np.int64]
    common: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    def common_values(self) -> dict[str, tuple[Any, ...]]:
        """The values that may fill several places of a group, of the columns that have any."""
        return {
            name: tuple(self.histograms[name].values[place] for place in places)
            for name, places in self.common.items()
        }


def count_values(source: SourceTable, protecting: Protecting, randomness: Randomness) -> Counted:
    """Count the values to protect, and check that every column is eligible for its ell."""
    settings = protecting.columns
    histograms = {name: source.histogram(name) for name in settings}
    drops = any(choice.residue == "drop" for choice in settings.values())
    over = rows_over(source.rows, protecting.ell.values()) if drops else 0
    common = {}
    for name, histogram in histograms.items():
        check_number_of_values(name, histogram)
        rows = source.rows - over if over else None
        name_value = value_namer(histogram)
        if places := _common_places(name, histogram, settings[name]):
            common[name] = places
        check_eligible(name, histogram.counts, settings[name], name_value, common=places, rows=rows)
    if not over:
        return Counted(source.rows, histograms, np.zeros(0, np.int64), common)
    left_out = randomness.stream("residue").choose(over, source.rows)
    histograms = {name: source.histogram(name, left_out) for name in settings}
    return Counted(source.rows - over, histograms, left_out, common)


def _common_places(name: str, histogram: Histogram, settings: ColumnSettings) -> tuple[int, ...]:
    if not settings.common and not settings.common_auto:
        return ()
    # Loaded only where there are common values.
    from countveil.publishing.common_values import common_places

    return common_places(name, histogram, settings)


def draw_values(
    counted: Counted, protecting: Protecting, randomness: Randomness, progress: Progress
) -> dict[str, PublishedTable]:
    """For each column, form groups and draw how many rows of a true value publish which value."""
    drawn = {}
    for name, histogram in counted.histograms.items():
        stage = f"grouping {name}"
        progress(stage, 0, 0)
        streams = randomness.stream("groups", name), randomness.stream("draw", name)
        drawn[name] = draw_column(
            histogram.counts,
            protecting.columns[name],
            streams,
            counted.common.get(name, ()),
            _rows_done(progress, stage, counted.rows),
        )
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
