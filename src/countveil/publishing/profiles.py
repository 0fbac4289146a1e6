"""Who the most exposed people are, by their plain values: profiles, never the sensitive value.

Enters: plain columns as codes with their values, the exposure of people. Leaves: profiles with how
many people have them and how strongly they are believed. Must not know: the sensitive column. The
result is for the publisher only.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countveil.maths.adversary import Exposure, KnownColumn
from countveil.maths.adversary.classifier import Codes
from countveil.report.exposure import Profile
from countveil.tables.recode import value_text

_LISTED = 15


@dataclass(frozen=True)
class ProfiledColumn:
    """A plain column as levels, and what each level is called."""

    known: KnownColumn
    labels: Sequence[str]

    @classmethod
    def of(cls, name: str, codes: Codes, values: Sequence[Any]) -> ProfiledColumn:
        """Neighbouring values that share a level are named by the first and the last of them."""
        known = KnownColumn.of(name, codes)
        first = np.full(known.n_levels, len(values))
        last = np.zeros(known.n_levels, np.int64)
        np.minimum.at(first, known.codes, codes)
        np.maximum.at(last, known.codes, codes)
        ends = zip(first.tolist(), last.tolist(), strict=True)
        return cls(known, [_range(values, low, high) for low, high in ends])


def profiles_of(columns: Sequence[ProfiledColumn], exposure: Exposure) -> list[Profile]:
    """The profiles of the most exposed 1% of the people, those with most of them first."""
    levels = np.stack([column.known.codes[exposure.people] for column in columns], axis=1)
    distinct, place = np.unique(levels, axis=0, return_inverse=True)
    people = np.bincount(place)
    worst = exposure.most_exposed
    exposed = np.bincount(place[worst], minlength=people.size)
    sums = [np.bincount(place, belief) for belief in (exposure.before, exposure.after)]
    order = np.argsort(-exposed, kind="stable")[:_LISTED]
    return [
        Profile(
            {
                column.known.name: column.labels[level]
                for column, level in zip(columns, distinct[number].tolist(), strict=True)
            },
            int(people[number]),
            int(exposed[number]),
            *(float(total[number] / people[number]) for total in sums),
        )
        for number in order.tolist()
        if exposed[number]
    ]


def _range(values: Sequence[Any], low: int, high: int) -> str:
    if low > high:
        # No row has this level.
        return ""
    first, last = _named(values[low]), _named(values[high])
    return first if low == high else f"{first} to {last}"


def _named(value: Any) -> str:
    return "missing" if value is None else value_text(value)
