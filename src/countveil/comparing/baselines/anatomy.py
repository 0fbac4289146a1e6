"""Anatomy: two tables, one with the group of every row, one with the values of every group.

Enters: codes, ell. Leaves: both tables, counts estimated from them as its authors do. Must not
know: other columns.

The groups are those of the greedy creation, at least ell different values in each. Rows of a value
are dealt to its places at random. A predicate holds n[j] rows of group j, and every one of them has
each of the group's values with the same probability:

    count of s = sum over groups j of n[j] * (rows with s in j) / (size of j)

Groups with the same values contribute equally, so rows are counted by template.

No true value is replaced: whoever links a row learns its group, whose values are all true values of
its members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from countveil.comparing.baselines.method import Belief, Codes, Floats, Rows, checked, tallies
from countveil.maths.channel import Templates, greedy_templates
from countveil.maths.groups import ColumnSettings, check_eligible
from countveil.randomness import Randomness


@dataclass(frozen=True)
class Anatomy:
    """Publish by groups of at least `ell` different values."""

    ell: int

    def __post_init__(self) -> None:
        ColumnSettings(self.ell)

    @property
    def name(self) -> str:
        """With its parameter."""
        return "Anatomy"

    @property
    def most_queries(self) -> None:
        """Any number."""

    def chances(self, counts: Codes) -> Floats:
        """The outcome of a row is what its group holds: of the rows of a value, which share."""
        templates = greedy_templates(counts, self.ell)
        lines = np.repeat(np.arange(templates.sizes.size), templates.sizes)
        channel = np.zeros((counts.size, templates.sizes.size))
        channel[templates.members, lines] = templates.multiplicity[lines]
        return channel / np.maximum(counts, 1)[:, None]

    def publish(self, codes: Codes, size: int, randomness: Randomness) -> AnatomyTables:
        """Form the groups and send the rows to them."""
        counts = checked(codes, size)
        check_eligible(
            "sensitive", counts, ColumnSettings(self.ell), lambda place: f"value number {place}"
        )
        templates = greedy_templates(counts, self.ell)
        template = np.repeat(np.arange(templates.multiplicity.size), templates.multiplicity)
        groups_of_places, values = _places(template, templates)
        places = groups_of_places[np.argsort(values, kind="stable")]
        order = randomness.stream("places").permutation(codes.size)
        groups = np.empty(codes.size, np.int64)
        groups[order[np.argsort(codes[order], kind="stable")]] = places
        return AnatomyTables(groups, template, templates)


@dataclass(frozen=True)
class AnatomyTables:
    """The two tables: `groups[i]` is the group of row i, `template[j]` says what group j holds."""

    groups: Codes
    template: Codes
    templates: Templates

    @cached_property
    def shares(self) -> Floats:
        """Per template, the share of each value among its rows."""
        sizes = self.templates.sizes
        shares = np.zeros((sizes.size, self.templates.n_values))
        lines = np.repeat(np.arange(sizes.size), sizes)
        shares[lines, self.templates.members] = (1 / sizes)[lines]
        return shares

    def sensitive_table(self) -> tuple[Codes, Codes]:
        """The second table: a group and one of its values, for every place (each occurs once)."""
        return _places(self.template, self.templates)

    def counts(self, rows: Rows) -> Floats:
        """Estimated counts of every value among these rows."""
        counts: Floats = self.counts_of([rows])[0]
        return counts

    def counts_of(self, predicates: Sequence[Rows]) -> Floats:
        """The same for many predicates."""
        outcome = self.template[self.groups]
        counts: Floats = tallies(outcome, self.templates.sizes.size, predicates) @ self.shares
        return counts

    def totals(self) -> Floats:
        """The true histogram: Anatomy publishes it."""
        return self.templates.counts.astype(np.float64)

    def belief(self) -> Belief:
        """A row's group lists its possible values, all equally likely."""
        return Belief(self.shares, self.template[self.groups])


def _places(template: Codes, templates: Templates) -> tuple[Codes, Codes]:
    """The group and the value of every place, group after group."""
    sizes = templates.sizes[template]
    steps = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    values = templates.members[np.repeat(templates.indptr[template], sizes) + steps]
    return np.repeat(np.arange(template.size), sizes), values


def diversity(groups: Codes, codes: Codes) -> float:
    """The largest ell for which these groups are ell-diverse.

    That is: in no group more than 1/ell of the rows share a value, as Anatomy's authors define it.
    """
    if groups.size == 0:
        raise ValueError("no rows, no diversity")
    _, number = np.unique(groups, return_inverse=True)
    span = int(codes.max()) + 1
    pairs, times = np.unique(number * span + codes, return_counts=True)
    most = np.zeros(int(number.max()) + 1, np.int64)
    np.maximum.at(most, pairs // span, times)
    return float((np.bincount(number) / most).min())


def is_diverse(groups: Codes, codes: Codes, ell: float) -> bool:
    """Is every group ell-diverse? `codes` are the true values of the rows."""
    return diversity(groups, codes) >= ell
