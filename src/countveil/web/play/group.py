"""A made-up person, her decoy group, and draws in it.

Enters: a seed, ell, which draw. Leaves: the people of one group, what each of them publishes, how
often each does in a thousand draws. Must not know: pages, pictures.

The group is one that the package's own groups have in a table of 2,520 made-up people, a number
that every ell up to 10 divides: all groups have exactly ell rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import Templates
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.mechanism import draw_published
from countveil.randomness import Randomness, Stream
from countveil.synthetic import people

ROWS, DRAWS = 2_520, 1_000
_NAMES = (
    ("Ada", "Abel"), ("Bea", "Ben"), ("Cleo", "Carl"), ("Dora", "Dan"), ("Eva", "Emil"),
    ("Fay", "Finn"), ("Gwen", "Gus"), ("Hana", "Hugo"), ("Iris", "Ivan"), ("Joy", "Jon"),
)  # fmt: skip
_GENDERS = {"F": "woman", "M": "man"}


@dataclass(frozen=True, slots=True)
class Person:
    """A row of the made-up census: what everybody may know, and the value to be protected."""

    name: str
    gender: str
    age: int
    education: str
    occupation: str

    @property
    def letter(self) -> str:
        """How she is marked in a picture."""
        return self.name[0]


@lru_cache(maxsize=32)
def group_of(seed: int, ell: int) -> tuple[Person, ...]:
    """The people of one decoy group; the first is the one whom it is about."""
    randomness = Randomness(seed)
    table = people(randomness.stream("play", "census"), ROWS)
    values, names = table["occupation"]
    assert names is not None  # noqa: S101 - occupations have names
    counts = np.bincount(values, minlength=len(names))
    groups = form_groups(counts, ColumnSettings(ell), randomness.stream("play", "groups", str(ell)))
    seats = randomness.stream("play", "seats", str(ell))
    first = int(np.flatnonzero(table["gender"][0] == 0)[0])
    members = _group_with(groups, int(values[first]), seats)
    rows = [first]
    for value in members[seats.permutation(members.size)].tolist():
        if value != values[first]:
            having = np.flatnonzero(values == value)
            rows.append(int(having[seats.below(having.size, 1)[0]]))
    return tuple(_person(table, row, place) for place, row in enumerate(rows))


def _group_with(groups: Templates, value: int, stream: Stream) -> NDArray[np.int64]:
    """The values of one group that has this value, every such group as likely."""
    having = np.add.reduceat(groups.members == value, groups.indptr[:-1]) > 0
    templates = np.repeat(np.arange(having.size), np.where(having, groups.multiplicity, 0))
    chosen = int(templates[stream.below(templates.size, 1)[0]])
    return groups.members[groups.indptr[chosen] : groups.indptr[chosen + 1]]


def _person(
    table: dict[str, tuple[NDArray[np.int64], tuple[str, ...] | None]], row: int, place: int
) -> Person:
    def named(column: str) -> str:
        codes, names = table[column]
        return str(codes[row]) if names is None else names[codes[row]]

    gender = named("gender")
    name = _NAMES[place][gender == "M"]
    return Person(
        name, _GENDERS[gender], int(named("age")), named("education"), named("occupation")
    )


def one_draw(seed: int, ell: int, draw: int) -> tuple[int, ...]:
    """Whose value each person of the group publishes."""
    drawn = _drawn(ell, 1, Randomness(seed).stream("play", "draw", str(ell), str(draw)))
    return tuple(int(line.argmax()) for line in drawn)


@lru_cache(maxsize=64)
def many_draws(seed: int, ell: int, draw: int) -> tuple[int, ...]:
    """How often, of a thousand draws, the first person publishes whose value."""
    stream = Randomness(seed).stream("play", "thousand", str(ell), str(draw))
    return tuple(_drawn(ell, DRAWS, stream)[0].tolist())


def onlooker_order(seed: int, ell: int, draw: int) -> tuple[int, ...]:
    """The order in which the rows of the group are published."""
    stream = Randomness(seed).stream("play", "shuffle", str(ell), str(draw))
    return tuple(stream.permutation(ell).tolist())


def _drawn(ell: int, times: int, stream: Stream) -> NDArray[np.int64]:
    """How often each person publishes each value of the group, in so many draws of it."""
    table = draw_published(Templates.from_mapping(ell, {tuple(range(ell)): times}), stream)
    often = np.zeros((ell, ell), np.int64)
    often[np.repeat(np.arange(ell), np.diff(table.indptr)), table.values] = table.counts
    return often
