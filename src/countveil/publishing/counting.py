"""The true counts of the values to protect, and whether they can be protected.

Enters: the prepared table, the settings, the randomness. Leaves: a `Counted`, or the error that
says what is in the way and what would work. Must not know: how groups are formed, what is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.errors import IneligibleError, SettingsError
from countveil.maths.groups import ColumnSettings, check_eligible, rows_over
from countveil.publishing.prepare import PreparedTable, check_number_of_values, value_namer
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.tables import Shaping
from countveil.tables.encoded.survey import Histogram

if TYPE_CHECKING:
    from countveil.publishing.bounded_odds import Noised


@dataclass(frozen=True, slots=True)
class Counted:
    """The histograms to publish, without the rows that are left out because of the residue.

    `common` has the positions of common values, `noised` what noise did before.
    """

    rows: int
    histograms: Mapping[str, Histogram]
    left_out: NDArray[np.int64]
    common: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    noised: Mapping[str, Noised] = field(default_factory=dict)

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
            common[name] = _checked_common(name, histogram, settings[name], rows, changed=changed)
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
        common[name] = _checked_common(name, after, settings[name], None, "after the noise ")
    return Counted(source.facts.rows - over, histograms, left_out, _not_empty(common), noised)


def _checked_common(
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
