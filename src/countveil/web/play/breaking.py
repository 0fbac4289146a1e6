"""Three ways to break the promise, each measured on made-up people.

Enters: a seed, ell. Leaves: what an adversary then knows, and what he knows if it is done as
countveil does it. Must not know: pages, pictures. Releases are drawn with the package's own groups,
draws and deals; the adversary is `countveil.maths.adversary`, who knows whose row is whose.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from countveil.maths.adversary import (
    KnownColumn,
    Linked,
    beliefs_after,
    measure_exposure,
    published_chances,
)
from countveil.maths.channel import view_of_release
from countveil.maths.groups import ColumnSettings
from countveil.maths.mechanism import Dealer, draw_column
from countveil.maths.mechanism.cases import draw_cases
from countveil.randomness import Randomness
from countveil.synthetic import people

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

ROWS, LEARNT_FROM = 2_520, 1_000
RELEASES = (1, 2, 3, 6, 12)
SURE = 0.9


@dataclass(frozen=True, slots=True)
class Known:
    """After so many releases: the share of people guessed right, and of those he is sure of."""

    releases: int
    right: float
    sure: float


@dataclass(frozen=True, slots=True)
class Beliefs:
    """The belief in people's true values, on average, without the release and with it."""

    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Twins:
    """The share of persons whose two rows show the same, and of these the share of the truth."""

    agree: float
    right: float


@lru_cache(maxsize=64)
def known_after(seed: int, ell: int, releases: int) -> Known:
    """What so many independent releases of the same people give away together."""
    values, n_values = values_of(seed)
    prior = np.bincount(values, minlength=n_values) / values.size
    evidence = [release_of(seed, ell, number) for number in range(1, releases + 1)]
    beliefs = beliefs_after(prior, evidence)
    right = float((beliefs.argmax(axis=1) == values).mean())
    return Known(releases, right, float((beliefs.max(axis=1) >= SURE).mean()))


@lru_cache(maxsize=32)
def giveaway(seed: int, ell: int, *, with_grade: bool) -> Beliefs:
    """What an adversary believes who learnt from others; perhaps a plain number says it all."""
    randomness = Randomness(seed)
    table, (values, n_values) = _people(seed), values_of(seed, "salary")
    chances, published = release_of(seed, ell, 1, "salary")
    some = slice(0, LEARNT_FROM)
    columns = [KnownColumn.of(name, table[name][0][some]) for name in ("gender", "education")]
    if with_grade:
        # A number for every salary: as good as the salary to whoever has seen a few.
        codes = randomness.stream("play", "codes").permutation(n_values)
        columns.append(KnownColumn("grade", codes[values[some]], n_values))
    rows = np.arange(LEARNT_FROM)
    linked = Linked(values[some], rows, published[some], rows)
    stream = randomness.stream("play", "adversary")
    exposure = measure_exposure(columns, linked, chances, stream)
    return Beliefs(float(exposure.before.mean()), float(exposure.after.mean()))


@lru_cache(maxsize=32)
def twins(seed: int, ell: int, *, apart: bool) -> Twins:
    """Persons who have two rows each, drawn row by row or person by person."""
    values, n_values = values_of(seed)
    label = ("play", "twins", str(ell))
    randomness, settings = Randomness(seed), ColumnSettings(ell)
    streams = randomness.stream(*label, "groups"), randomness.stream(*label, "draw")
    if apart:
        drawn = draw_column(2 * np.bincount(values, minlength=n_values), settings, streams)
        dealer = Dealer(drawn, randomness.stream(*label, "deal"))
        one, two = dealer.deal(np.tile(values, 2)).reshape(2, -1)
    else:
        persons = np.arange(values.size)
        one = two = draw_cases(values, persons, n_values, settings, streams).values
    agree = one == two
    return Twins(float(agree.mean()), float((one == values)[agree].mean()))


@lru_cache(maxsize=8)
def _people(seed: int) -> dict[str, tuple[Codes, tuple[str, ...] | None]]:
    return people(Randomness(seed).stream("play", "break"), ROWS)


def values_of(seed: int, column: str = "occupation") -> tuple[Codes, int]:
    """The true values, and how many different ones there are."""
    values, names = _people(seed)[column]
    assert names is not None  # noqa: S101 - occupations and salaries have names
    return values, len(names)


@lru_cache(maxsize=48)
def release_of(
    seed: int, ell: int, number: int, column: str = "occupation"
) -> tuple[Floats, Codes]:
    """P(published | true) as anybody works it out, and what every row publishes."""
    values, n_values = values_of(seed, column)
    label = ("play", "release", column, str(ell), str(number))
    randomness = Randomness(seed)
    streams = randomness.stream(*label, "groups"), randomness.stream(*label, "draw")
    drawn = draw_column(np.bincount(values, minlength=n_values), ColumnSettings(ell), streams)
    published = Dealer(drawn, randomness.stream(*label, "deal")).deal(values)
    counts = np.bincount(published, minlength=n_values)
    view = view_of_release(counts, values.size, ell, "mixed")
    return published_chances(view, counts), published
