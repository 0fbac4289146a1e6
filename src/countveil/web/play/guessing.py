"""An adversary with a guess, before and after the release.

Enters: a guess at a person's occupation, ell. Leaves: what becomes of the guess. Must not know:
pages, pictures. The channel is that of a million made-up people with exactly the census's shares;
what is done with it is `countveil.maths.adversary`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from countveil.maths.adversary import guess_after, published_chances
from countveil.maths.channel import view_of_release
from countveil.synthetic import expected_shares

ROWS = 1_000_000
OCCUPATIONS = ("watchmaker", "musician", "pharmacist", "lawyer", "nurse", "retail salesperson")
ELLS = (2, 5, 10)
GUESSES = tuple(percent / 100 for percent in range(1, 100))


@dataclass(frozen=True, slots=True)
class Guess:
    """A guess at a value, what it becomes once her row shows the value, and once it does not."""

    occupation: str
    share: float
    before: float
    shown: float
    not_shown: float


@lru_cache(maxsize=128)
def guess_at(place: int, percent: int, ell: int) -> Guess:
    """What becomes of a guess at the occupation of this place in `OCCUPATIONS`."""
    name, before = OCCUPATIONS[place], percent / 100
    shown, not_shown = _after(name, (before,), ell)
    share = expected_shares()["occupation"][name]
    return Guess(name, share, before, float(shown[0]), float(not_shown[0]))


@lru_cache(maxsize=64)
def curve(place: int, ell: int) -> Sequence[float]:
    """What each of `GUESSES` becomes once the row shows the value."""
    return tuple(_after(OCCUPATIONS[place], GUESSES, ell)[0].tolist())


def _after(
    name: str, guesses: Sequence[float], ell: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    counts, chances = _channel(ell)
    value = list(expected_shares()["occupation"]).index(name)
    return guess_after(np.array(guesses), value, counts / counts.sum(), chances)


@lru_cache(maxsize=16)
def _channel(ell: int) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    shares = np.array(list(expected_shares()["occupation"].values()))
    counts = np.round(shares * ROWS).astype(np.int64)
    # So many that every group has exactly ell rows.
    counts[0] -= int(counts.sum()) % ell
    return counts, published_chances(
        view_of_release(counts, int(counts.sum()), ell, "mixed"), counts
    )
