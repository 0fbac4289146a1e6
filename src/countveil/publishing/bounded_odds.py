"""A bound on the odds: noise over the declared values before groups are formed.

Enters: the prepared table, settings with a bound K, the randomness. Leaves: for each such column
gamma, and how many rows with each true value took which one. Must not know: how groups are formed,
where the release goes. Theory: docs/theory/odds.md.

Everything that follows sees the noised values alone, which values are common and whether groups
exist included: a release depends on a row's true value only through its noised one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.errors import InputError, SettingsError, option
from countveil.maths.groups import ColumnSettings
from countveil.maths.guarantees.odds import gamma_for
from countveil.maths.mechanism import PublishedTable
from countveil.maths.mechanism.noise import after_noise, draw_noise
from countveil.publishing.prepare import PreparedTable
from countveil.randomness import Randomness
from countveil.tables import Shaping
from countveil.tables.encoded.survey import Histogram


@dataclass(frozen=True, slots=True)
class Noised:
    """Gamma, and how many rows with each true value took which value."""

    gamma: float
    table: PublishedTable

    @property
    def counts(self) -> NDArray[np.int64]:
        """The noised histogram."""
        return self.table.published()

    def publishing(
        self, drawn: PublishedTable, randomness: Randomness, name: str
    ) -> PublishedTable:
        """How many rows with each true value publish which one."""
        return after_noise(self.table, drawn, randomness.stream("after noise", name))


def declare_domains(
    prepared: PreparedTable[Any], settings: Mapping[str, ColumnSettings], shaping: Shaping
) -> None:
    """All declared values become values of their columns, whether they occur or not."""
    for name, choice in settings.items():
        if choice.odds is None:
            continue
        bins = shaping.bins.get(name)
        given = name in shaping.domain or (bins is not None and bool(getattr(bins, "edges", ())))
        if not given:
            raise SettingsError(
                f"A bound on the odds of {name!r} needs its values to be declared, whatever the "
                f"rows hold: {option('domain', {name: 'FILE'})} with one value per line, or "
                f"{option('bins', {name: [18, 30, 45, 65]})} with edges of your choice. Values "
                f"taken from the table would themselves depend on people's values."
            )
        source: SourceTable = prepared.source
        if None in source.histogram(name).values:
            raise InputError(
                f"Column {name!r} has rows without a value, and the missing value cannot be "
                f"declared. Give these rows a declared value, such as 'unknown', or leave them out "
                f"before you bound the odds."
            )
        source.declare(name, prepared.domains[name])


def add_noise(
    histograms: Mapping[str, Histogram],
    settings: Mapping[str, ColumnSettings],
    randomness: Randomness,
) -> dict[str, Noised]:
    """Draw the noise of every column with a bound."""
    noised = {}
    for name, histogram in histograms.items():
        choice = settings[name]
        if choice.odds is not None:
            gamma = gamma_of(choice, histogram.counts.size)
            stream = randomness.stream("noise", name)
            noised[name] = Noised(gamma, draw_noise(histogram.counts, gamma, stream))
    return noised


def gamma_of(settings: ColumnSettings, values: int) -> float:
    """The least noise that keeps the bound with these settings and so many declared values."""
    if settings.odds is None:
        return 0.0
    return gamma_for(settings.odds, values, settings.ell, different=not settings.repeats)
