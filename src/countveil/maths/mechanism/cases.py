"""What every case publishes, where one person may have several.

Enters: the value and the person of every case, settings, streams. Leaves: the published value of
every case, and how many cases share a group with another one of their person. Must not know: rows,
names, files. Theory: docs/theory/cases.md.

A case is a person with one value. All rows of a case publish the same, so that who has many rows
gives away no more than others. Groups are formed as ever, of cases in the place of rows. Two cases
of a person in one group would hide behind each other, so cases of the same value change places
between groups until no person is twice in a group, as far as that is possible. Which values share a
group does not change by that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.groups import ColumnSettings, form_groups
from countveil.randomness import Stream

Numbers = NDArray[np.int64]

_MOST_ROUNDS = 200


@dataclass(frozen=True, slots=True)
class PublishedCases:
    """`values` has what each case publishes; `crowded` cases share a group with their person."""

    values: Numbers
    crowded: int


@dataclass(frozen=True, slots=True)
class _Groups:
    """The groups one after another: the case in every place, and where every group starts."""

    cases: Numbers
    starts: Numbers

    @property
    def group_of_place(self) -> Numbers:
        sizes = np.diff(self.starts)
        return np.repeat(np.arange(sizes.size), sizes)


def draw_cases(
    values: Numbers,
    persons: Numbers,
    n_values: int,
    settings: ColumnSettings,
    streams: tuple[Stream, Stream],
    common: Sequence[int] = (),
    progress: Callable[[float], None] = lambda _share: None,
) -> PublishedCases:
    """Form groups of cases and draw what each of them publishes.

    The streams are for the groups and for the draw; `common` values may repeat in a group.
    """
    if settings.groups == "random":
        groups = _random_groups(values.size, settings.ell, streams[0])
        exchangeable = np.zeros(values.size, np.int64)
    else:
        counts = np.bincount(values, minlength=n_values)
        templates = form_groups(counts, settings, streams[0], progress, common)
        sizes = np.repeat(templates.sizes, templates.multiplicity)
        first = np.repeat(templates.indptr[:-1], templates.multiplicity)
        starts = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(values.size) - np.repeat(starts[:-1] - first, sizes)
        groups = _Groups(_seated(templates.members[places], values, streams[0]), starts)
        exchangeable = values
    groups, crowded = _separated(groups, exchangeable, persons, streams[0])
    return PublishedCases(_drawn(groups, values, streams[1]), crowded)


def _random_groups(n_cases: int, ell: int, stream: Stream) -> _Groups:
    size, larger = divmod(n_cases, n_cases // ell)
    sizes = np.full(n_cases // ell, size, np.int64)
    sizes[sizes.size - larger :] += 1
    return _Groups(stream.permutation(n_cases), np.concatenate([[0], np.cumsum(sizes)]))


def _seated(wanted: Numbers, values: Numbers, stream: Stream) -> Numbers:
    """For every place, which wants a value, a case that has it: in random order."""
    shuffled = stream.permutation(values.size)
    cases = np.empty(values.size, np.int64)
    cases[np.argsort(wanted, kind="stable")] = shuffled[np.argsort(values[shuffled], kind="stable")]
    return cases


def _separated(
    groups: _Groups, exchangeable: Numbers, persons: Numbers, stream: Stream
) -> tuple[_Groups, int]:
    """Let cases that are exchangeable change places until no group has a person twice."""
    group, cases = groups.group_of_place, groups.cases.copy()
    n_persons = int(persons.max(initial=0)) + 1
    # The kind of a place stays what it is: its cases change among themselves.
    kinds = exchangeable[cases]
    by_kind = np.argsort(kinds, kind="stable")
    ends = np.cumsum(np.bincount(kinds))
    present, crowded = _present(group * n_persons + persons[cases])
    for _ in range(_MOST_ROUNDS):
        if not crowded.size:
            break
        first = (ends - np.bincount(kinds))[kinds[crowded]]
        width = ends[kinds[crowded]] - first
        # Any place of the same kind will do; its probability need not be exact.
        other = by_kind[first + (stream.uniform(crowded.size) * width).astype(np.int64)]
        comes = group[other] * n_persons + persons[cases[crowded]]
        goes = group[crowded] * n_persons + persons[cases[other]]
        fits = ~_among(comes, present) & ~_among(goes, present)
        here, there = _apart(crowded[fits], other[fits], group)
        cases[here], cases[there] = cases[there], cases[here]
        present, crowded = _present(group * n_persons + persons[cases])
    return _Groups(cases, groups.starts), int(crowded.size)


def _present(keys: Numbers) -> tuple[Numbers, Numbers]:
    """Who is in which group, sorted, and the places of all who are there twice.

    Any of them may leave: another one's value may be too rare to change places.
    """
    order = np.argsort(keys, kind="stable")
    present = keys[order]
    twice = np.zeros(keys.size + 1, bool)
    twice[1:-1] = present[1:] == present[:-1]
    return present, order[twice[1:] | twice[:-1]]


def _among(keys: Numbers, known: Numbers) -> NDArray[np.bool_]:
    at = np.minimum(np.searchsorted(known, keys), known.size - 1)
    among: NDArray[np.bool_] = known[at] == keys
    return among


def _apart(here: Numbers, there: Numbers, group: Numbers) -> tuple[Numbers, Numbers]:
    """Of these exchanges, some that have no group in common, so that all can be made."""
    touched = np.concatenate([group[here], group[there]])
    _, first, number = np.unique(touched, return_index=True, return_inverse=True)
    alone = first[number] == np.arange(touched.size)
    chosen = alone[: here.size] & alone[here.size :]
    return here[chosen], there[chosen]


def _drawn(groups: _Groups, values: Numbers, stream: Stream) -> Numbers:
    """Every case publishes the value of a member of its group, each as likely."""
    published = np.empty(values.size, np.int64)
    sizes = np.diff(groups.starts)
    size_of_place, start_of_place = np.repeat(sizes, sizes), np.repeat(groups.starts[:-1], sizes)
    for size in np.unique(sizes).tolist():
        places = np.flatnonzero(size_of_place == size)
        chosen = start_of_place[places] + stream.below(size, places.size)
        published[groups.cases[places]] = values[groups.cases[chosen]]
    return published
