"""The promise in words where groups may hold a value more than once.

Enters: how one protected column was published, and how many rows publish each of its values.
Leaves: sentences for the statement. Must not know: true values or counts. Theory:
docs/theory/channel.md, "Random groups" and "Common values".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.common import (
    beliefs_with_common,
    random_belief,
    random_belief_without,
    random_odds,
)
from countveil.maths.guarantees.odds import noised_std_error


@dataclass(frozen=True, slots=True)
class StatedOdds:
    """The bound K, the noise that keeps it, epsilon, and the number of declared values.

    `confirmed`: the publisher took the values from the table, and says that they are public.
    """

    at_most: float
    gamma: float
    epsilon: float
    values: int
    confirmed: bool = False

    def std_error(self, count: float, rows: int, ell: int) -> float:
        """Of the estimated count, over the whole table, of a value that `count` rows have."""
        return noised_std_error(count, rows, ell, self.gamma, self.values)

    def how(self, name: str) -> str:
        """What was done first."""
        return (
            f"For {name}, noise came first: every row took one of the {self.values:,} declared "
            f"values at random, each as likely, with probability gamma = {self.gamma:.6g}, and "
            f"kept its own otherwise; what follows was done to these noised values."
        )

    def bound(self, name: str) -> str:
        """What holds for everybody."""
        return (
            f"A bound that holds for everybody, for {name}. This release depends on the true value "
            f"of a row only through its noised value. So whatever anybody knows, the groups and "
            f"the true values of everybody else included, this release changes the odds between "
            f"any two values of a row by a factor of at most exp(epsilon) = "
            f"{math.exp(self.epsilon):,.4g}: in the protected value of one row it is "
            f"epsilon-locally differentially private with epsilon = {self.epsilon:.4g}. To "
            f"somebody who does not know the groups and sees a linked row alone, its published "
            f"value multiplies the odds that this value is the true one, against the other values "
            f"in proportion to their shares in the table, by at most K = {self.at_most:g}. Both "
            f"hold on condition that {self._condition()} They say nothing about the other columns, "
            f"which are published as they are, nor about whether somebody is in the table; for a "
            f"person with r rows, epsilon is r times as large."
        )

    def _condition(self) -> str:
        if not self.confirmed:
            return "the declared values, gamma and ell were fixed without looking at this table."
        return (
            "the list of declared values is public knowledge, and gamma and ell were fixed without "
            "looking at anything else of this table: the list was taken from the table, and the "
            "publisher confirms that it is public. What the list itself gives away is not bounded."
        )


@dataclass(frozen=True, slots=True)
class SpecialColumn:
    """A column with random groups, or with common values.

    Of each common value the name, the published count, and the belief in it where it is published.
    `without_common`: the belief in a published value, on average and at most, of someone who knows
    that a person has none of them. `together`: the columns with which it shares its groups and its
    draw, itself included.
    """

    name: str
    ell: int
    groups: str
    common: tuple[tuple[str, int, float], ...] = ()
    without_common: tuple[float, float] = (1.0, 1.0)
    odds: StatedOdds | None = None
    together: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        name: str,
        settings: tuple[int, str],
        published: Mapping[Any, int],
        common: Sequence[Any],
        text: Callable[[Any], str],
        odds: StatedOdds | None = None,
        together: tuple[str, ...] = (),
    ) -> Self:
        """From ell and groups, published counts and the common values, as anybody could.

        `text` writes a value.
        """
        ell, groups = settings
        if not common:
            return cls(name, ell, groups, odds=odds, together=together)
        values = list(published)
        there = [value for value in common if value in published]
        places = np.array([values.index(value) for value in there], np.int64)
        counts = np.array(list(published.values()), np.int64)
        kept, average, most = beliefs_with_common(counts, ell, places)
        believed = dict(zip(there, kept, strict=True))
        named = tuple(
            (
                "the missing value" if value is None else f"{text(value)!r}",
                published.get(value, 0),
                believed.get(value, 1 / ell),
            )
            for value in common
        )
        return cls(name, ell, groups, named, (average, most), odds)

    @property
    def repeats(self) -> bool:
        """Whether groups may hold a value more than once."""
        return self.groups == "random" or bool(self.common)

    def how(self) -> str:
        """How its rows were published."""
        if self.together:
            return self._shared() if self.name == self.together[0] else ""
        return " ".join([*([self.odds.how(self.name)] if self.odds else []), self._groups()])

    def _shared(self) -> str:
        """Of a set of columns this is said once."""
        return (
            f"For {_listed(self.together)} together every row was put into one secret group of at "
            f"least {self.ell} rows, chosen at random whatever their values, and each row "
            f"publishes the values of one row of its group in all of these columns, every row of "
            f"the group, itself included, with the same probability."
        )

    def _groups(self) -> str:
        if self.groups == "mixed" and not self.common:
            return (
                f"For {self.name} every row was put into a secret group of at least {self.ell} "
                f"rows with different values, and each row publishes one value of its group, every "
                f"value of the group with the same probability."
            )
        if self.groups == "random":
            return (
                f"For {self.name} every row was put into a secret group of at least {self.ell} "
                f"rows, chosen at random whatever their values, and each row publishes the value "
                f"of one row of its group, every row of the group, itself included, with the same "
                f"probability."
            )
        common = " and ".join(value for value, *_ in self.common)
        verb = "are common values" if len(self.common) > 1 else "is a common value"
        return (
            f"For {self.name} every row was put into a secret group of at least {self.ell} rows "
            f"with different values, except that {common}, which {verb}, may occur several times "
            f"in a group; each row publishes the value of one row of its group, every row of the "
            f"group, itself included, with the same probability."
        )

    def one_row(self, rows: int, published: Sequence[int]) -> str:
        """What the published value of one person tells."""
        counts = np.sort(np.array(published, np.float64))
        begins = (
            f"What the published value of one person tells, for {self.name}. Whoever knows which "
            f"row is a person's sees one published value. "
        )
        if self.groups == "random":
            tells = self._random(rows, counts)
        elif self.common:
            tells = self._common(rows)
        else:
            tells = (
                f"A published value is the noised value of that row with probability 1/ell = "
                f"{1 / self.ell:.2f}, or a little less where a group has more than ell rows."
            )
        hints = (
            "Someone who already has good reasons to expect a value learns more from seeing it. "
            "Hints add up over the rows of a small group that is known to be alike."
        )
        if self.odds is None:
            return f"{begins}{tells} {hints} This is not differential privacy with a small epsilon."
        noised = "This is said of noised values, and of their shares; true values are less certain."
        return f"{begins}{tells} {noised} {hints}"

    def in_short(self, rows: int, published: Sequence[int]) -> str:
        """The beliefs in a published value, in one sentence."""
        if self.groups == "random":
            beliefs = _listed(self._by_frequency(np.sort(np.array(published, float)) / rows))
            return (
                f"A published value of {self.name} is believed with probability {beliefs}. "
                f"{self._without_frequent(np.sort(np.array(published, float)) / rows)}"
            ).rstrip()
        each = _listed([f"{believed:.2f} ({value})" for value, _, believed in self.common])
        average, most = self.without_common
        return (
            f"A published value of {self.name} is believed with probability {1 / self.ell:.2f}, a "
            f"common one with {each}. Somebody who knows that a person {self._lacks()} believes a "
            f"value that is not common with probability {average:.2f} on average, up to {most:.2f}."
        )

    def _lacks(self) -> str:
        if len(self.common) > 1:
            return "has none of the common values"
        return "does not have the common value"

    def _by_frequency(self, shares: NDArray[np.float64]) -> list[str]:
        """The belief in a published value, for three of them, by their sorted shares."""
        names = ("rarest published value", "median one", "most frequent one")
        places = (0, shares.size // 2, -1)
        return [
            f"{random_belief(float(shares[place]), self.ell):.2f} at the {name}"
            for place, name in zip(places, names, strict=True)
        ]

    def _without_frequent(self, shares: NDArray[np.float64]) -> str:
        """By somebody who knows that a person does not have the most frequent value."""
        if shares.size < 2:
            return ""
        *others, frequent = shares.tolist()
        low, high = (
            random_belief_without(share, frequent, self.ell) for share in (others[0], others[-1])
        )
        return (
            f"Someone who knows that a person does not have the most frequent value believes "
            f"another one that is published with probability {low:.2f} (the rarest) to {high:.2f} "
            f"(the next most frequent one)."
        )

    def _random(self, rows: int, counts: NDArray[np.float64]) -> str:
        shares = counts / rows
        beliefs = self._by_frequency(shares)
        factors = [
            f"{random_odds(float(shares[place]), self.ell):,.1f} (f = {counts[place]:,.0f})"
            for place in (0, counts.size // 2, -1)
        ]
        true_share = random_belief(float((shares**2).sum()), self.ell)
        return (
            f"Groups may hold a value several times, so a frequent value is believed above 1/ell: "
            f"who expected no more than a value's share p then believes it with probability "
            f"1/ell + (1 - 1/ell) p. With this release's published counts that is "
            f"{_listed(beliefs)}. Averaged over all rows the published value is the true one with "
            f"probability {true_share:.2f}. Seeing a value multiplies the odds that it is the true "
            f"one by 1 + 1 / ((ell - 1) p): {_listed(factors)}, in the same order. "
            f"{self._without_frequent(shares)}"
        )

    def _common(self, rows: int) -> str:
        average, most = self.without_common
        each = _listed(
            [
                f"{believed:.2f} for {value} (published by {count / rows:.0%} of the rows)"
                for value, count, believed in self.common
            ]
        )
        several = len(self.common) > 1
        return (
            f"A published value that is not common is believed with probability 1/ell = "
            f"{1 / self.ell:.2f} by someone who expected no more than its share. "
            f"{'Common values are' if several else 'The common value is'} believed more, with "
            f"probability s + (1 - s)/ell or a little less for a share of s: {each}. Someone who "
            f"knows that a person {self._lacks()} believes the published one, if it is not common, "
            f"with probability {average:.2f} on average and up to {most:.2f}."
        )


def beliefs_in_truth(
    shares: NDArray[np.float64],
    kept: NDArray[np.float64],
    published: NDArray[np.float64] | None = None,
) -> tuple[float, float]:
    """In a person's true value, of somebody who knows the row and the shares of all values.

    `kept` is how likely a row publishes its true value. It is then also the belief in it where the
    shares of `published` values are those of true ones, as they are without noise; else it is in
    the proportion of the two. If a row publishes another value, one of share p is believed at about
    p (1 - kept) / (1 - published). Leaves the average over the people, and what 1 in 100 of them
    reach.
    """
    shown = shares if published is None else published
    true_ones = np.minimum(shares * kept / np.maximum(shown, 1e-12), 1.0)
    rest = np.minimum(shares * (1 - kept) / np.maximum(1 - shown, 1e-9), 1.0)
    belief, people = (
        np.concatenate([true_ones, rest]),
        np.concatenate([shares * kept, shares * (1 - kept)]),
    )
    order = np.argsort(-belief, kind="stable")
    reached = np.searchsorted(np.cumsum(people[order]), 0.01 * people.sum())
    return float((belief * people).sum() / people.sum()), float(belief[order][reached])


def together(names: Sequence[str], ell: int, rows: int) -> str:
    """What is special about columns that were published together."""
    listed = _listed(list(names))
    return (
        f"Columns together. {listed} have the same groups and one draw: the values that a row "
        f"publishes in them are all those of one row of its group, with probability 1/ell = "
        f"{1 / ell:.2f} its own. So what holds exactly is said "
        f"of the values of these columns together: exchanging the value of a single one of them "
        f"between two rows would not leave the release as likely. A published combination of "
        f"values is that of a real row, though of {ell} rows or more nobody can say which. "
        f"Somebody who knows which row is a person's, and expected no more than a combination's "
        f"share p in the table, believes it with probability 1/ell + (1 - 1/ell) p where it is "
        f"published; the odds of a combination that a single row has grow by a factor of about "
        f"{1 + rows / (ell - 1):,.0f}, which is more than any value alone gives away. "
        f"Somebody who knows a person's value in one of these columns, and sees that value "
        f"published, believes the published combination with probability 1/(1 + (ell - 1) p) or "
        f"more, where p is the share of the value that is known."
    )


def _listed(items: Sequence[str]) -> str:
    if len(items) < 2:
        return "".join(items)
    return f"{', '.join(items[:-1])} and {items[-1]}"
