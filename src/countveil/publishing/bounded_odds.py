"""A bound on the odds: noise over the declared values before groups are formed.

Enters: the prepared table, settings with a bound K, the randomness. Leaves: for each such column
gamma, and how many rows with each true value took which one. Must not know: how groups are formed,
where the release goes. Theory: docs/theory/odds.md.

Everything that follows sees the noised values alone, which values are common and whether groups
exist included: a release depends on a row's true value only through its noised one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.errors import InputError, SettingsError, option
from countveil.maths.groups import ColumnSettings
from countveil.maths.guarantees.odds import gamma_for, largest_odds
from countveil.maths.mechanism import PublishedTable
from countveil.maths.mechanism.noise import after_noise, draw_noise
from countveil.publishing.prepare import PreparedTable
from countveil.randomness import Randomness
from countveil.tables import Shaping
from countveil.tables.encoded.survey import Histogram
from countveil.tables.recode import PUBLIC_OCCURRING

# With more noise than this, the error of every count is over a thousand times that without.
MOST_NOISE = 0.999


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
        source: SourceTable = prepared.source
        histogram = source.histogram(name)
        source.declare(name, check_all_declared(name, prepared, histogram, shaping))


def check_all_declared(
    name: str, prepared: PreparedTable[Any], histogram: Histogram, shaping: Shaping
) -> Sequence[Any]:
    """The declared values of a column; an error unless all its values are among them."""
    edges = getattr(shaping.bins.get(name), "edges", ())
    if name not in shaping.domain and name not in shaping.public and not edges:
        raise _not_declared(name)
    declared = prepared.domains[name]
    if None in histogram.values and None not in declared:
        raise InputError(
            f"Column {name!r} has rows without a value, and the missing value is not among the "
            f"declared ones. {_declare_missing(name, classed=name in shaping.bins)}"
        )
    if len(declared) < 2:
        raise SettingsError(
            f"A bound on the odds of {name!r} needs at least two declared values; with one there "
            f"is nothing to hide."
        )
    return declared


def _not_declared(name: str) -> SettingsError:
    return SettingsError(
        f"A bound on the odds of {name!r} needs its values to be declared, whatever the rows "
        f"hold: {option('domain', {name: 'FILE'})} with one value per line, or "
        f"{option('bins', {name: [18, 30, 45, 65]})} with edges of your choice. Values taken from "
        f"the table would themselves depend on people's values; if everybody knows which values "
        f"there are, confirm it with {option('domain', {name: PUBLIC_OCCURRING})}."
    )


def _declare_missing(name: str, *, classed: bool) -> str:
    """How the missing value becomes one of the declared values."""
    confirmed = (
        f"{option('domain', {name: PUBLIC_OCCURRING})} if everybody knows that there are such rows"
    )
    if classed:
        return f"For classes it is declared with {confirmed}; or leave these rows out."
    return (
        f"Declare it with a line of two double quotes in the file (None in a list of Python), or "
        f"with {confirmed}; or leave these rows out."
    )


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
    different = not settings.repeats
    gamma = gamma_for(settings.odds, values, settings.ell, different=different)
    if gamma > MOST_NOISE:
        least = largest_odds(MOST_NOISE, values, settings.ell, different=different)
        raise SettingsError(
            f"Odds of at most {settings.odds:.10g} would take so much noise that nothing could be "
            f"estimated: more than {MOST_NOISE:.1%} of the rows would publish a value at random. "
            f"With {values:,} declared values and ell = {settings.ell}, choose K from "
            f"{math.ceil(least * 10_000) / 10_000:.10g} on, or declare fewer values."
        )
    return gamma
