"""How many people of a table an earlier publication has, and the warning about it.

Enters: the sketch of a table, earlier entries of the record. Leaves: a sentence, or none. Must not
know: the file, the table. It is loaded only where something was published before.

Up to the smaller bound of two sketches, each lists all hashes of its table; so the share that both
have there is an estimate of the share of people whom both tables have. Of different people, rows
without a person agree by chance about as often as rows have copies in their own table, which is at
most one in twenty: a warning needs so many equal hashes that chance gives them once in a million
times at most, and a fifth of the smaller table.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from countveil.errors import option
from countveil.publishing.publications.record import Entry
from countveil.publishing.publications.sketch import MOST_COPIES, Sketch

_LEAST_SHARE = 0.2
_CHANCE = 1e-6
# By whoever believes in the value that was published most often.
_GUESSED = "0.20 after one release, 0.23 after 3, 0.37 after 6, 0.60 after 12"


@dataclass(frozen=True, slots=True)
class Overlap:
    """Of how many hashes up to the common bound each table has, those that both have."""

    both: int
    earlier: int
    new: int

    @property
    def share(self) -> float:
        """The share of the new table's people who were published before."""
        return self.both / max(1, self.new)

    @property
    def beyond_chance(self) -> bool:
        """Whether the tables have people in common, and not a few."""
        smaller = min(self.earlier, self.new)
        if not smaller or self.both < _LEAST_SHARE * smaller:
            return False
        return _tail(self.both, smaller, MOST_COPIES) <= _CHANCE


def overlap(earlier: Sketch, new: Sketch) -> Overlap:
    """Compare two sketches that were made with the same key."""
    if earlier.persons != new.persons:
        return Overlap(0, 0, 0)
    bound = np.uint64(min(earlier.bound, new.bound))
    one, other = earlier.hashes[earlier.hashes <= bound], new.hashes[new.hashes <= bound]
    both = np.intersect1d(one, other, assume_unique=True).size
    return Overlap(both, one.size, other.size)


def about_earlier(new: Sketch, entries: Sequence[Entry]) -> list[str]:
    """A warning that the same people were published before, if they were."""
    overlaps = [
        (entry, overlap(entry.sketch, new)) for entry in entries if entry.sketch is not None
    ]
    beyond = [(entry, shared) for entry, shared in overlaps if shared.beyond_chance]
    if not beyond:
        return []
    entry, shared = max(beyond, key=lambda pair: pair[1].share)
    people = "persons" if new.persons else "rows"
    more = f" and in {len(beyond) - 1:,} more" if len(beyond) > 1 else ""
    sentences = (
        f"About {shared.share:.0%} of the {people} of this table were published before, in "
        f"{entry.release!r} on {entry.day}{more}, as the record of publications in this folder "
        f"shows. This release draws their values anew, and whoever has several such releases can "
        f"combine the draws. Of a column with 50 values at ell 5, one guesses {_GUESSED}. If "
        f"others have the earlier release, do not give this one away; people who are published "
        f"more than once need {option('ledger')}. If nobody else ever had it, replace it. If this "
        f"is meant, or is about other people, {option('again', True)} says so."
    )
    return [sentences]


def _tail(hits: int, trials: int, chance: float) -> float:
    """A bound of Chernoff: how likely so many hits, or more, are by chance."""
    share = hits / trials
    if share <= chance:
        return 1.0
    missed = 0.0 if hits == trials else (1 - share) * math.log((1 - share) / (1 - chance))
    return math.exp(-trials * (share * math.log(share / chance) + missed))
