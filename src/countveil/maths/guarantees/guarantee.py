"""Utility for large counts and privacy for small ones, three ways side by side.

Enters: ell and two of count, error, probability. Leaves: the third as a `Found`: a number, with
all three ways beside it. Must not know: any table.

- *Utility* (e, T_E, T_f): from the count T_f on, the probability of a relative error of e or more
  stays at or below T_E.
- *Privacy* (e, T_P): the probability that the estimate of a count is off by more than e. A count
  asked for is the largest such that it and every smaller one are off with probability T_P or more.

`exact` is the binomial itself. `chebyshev` is the correct bound: an upper bound of being off, so it
promises utility, but only limits what privacy can be hoped for. `printed` is the paper's formula.
`truly` is the exact probability at the count and error of a way: what its answer is worth.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from countveil.maths.guarantees import bounds, searches
from countveil.maths.guarantees.asked import check_ell, wanted
from countveil.maths.guarantees.binomial import MOST_COUNT
from countveil.maths.guarantees.exact import chance_failing, chance_off

if TYPE_CHECKING:
    from countveil.maths.guarantees.predicates import PredicateGuarantee


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute: what goes together, and the exact probability there.

    None: there is no such number, or it is beyond what is computed.
    """

    way: str
    count: int | None
    error: float | None
    probability: float | None
    truly: float | None


class Found(float):
    """What was asked for, the best way (the first) as a number; `ways` has all of them."""

    asked: str
    ways: tuple[Way, ...]

    def __new__(cls, asked: str, ways: Sequence[Way]) -> Self:
        """The answer to what was asked: NaN where there is none."""
        value = getattr(ways[0], asked)
        found = super().__new__(cls, math.nan if value is None else value)
        found.asked, found.ways = asked, tuple(ways)
        return found

    def by(self, way: str) -> float | None:
        """The answer of one way."""
        values = {found.way: getattr(found, self.asked) for found in self.ways}
        value: float | None = values[way]
        return value

    @property
    def exact(self) -> float | None:
        """The answer of the binomial itself."""
        return self.by("exact")

    @property
    def chebyshev(self) -> float | None:
        """The answer of Chebyshev's inequality."""
        return self.by("chebyshev")

    @property
    def printed(self) -> float | None:
        """The answer of the paper's formula."""
        return self.by("printed")

    def __repr__(self) -> str:
        return repr(getattr(self.ways[0], self.asked))


@dataclass(frozen=True, slots=True)
class Guarantee:
    """What one ell promises about the published count of a value over the whole table."""

    ell: int

    def __post_init__(self) -> None:
        check_ell(self.ell)

    def utility(
        self,
        *,
        count: int | None = None,
        error: float | None = None,
        probability: float | None = None,
    ) -> Found:
        """Give two of three: from `count` on, off by `error` or more with at most `probability`."""
        ell, asked = self.ell, wanted(count, error, probability)
        if error is None:
            assert count is not None and probability is not None  # noqa: S101, PT018
            sure = searches.smallest_error(count, ell, probability)
            chebyshev = bounds.chebyshev_error(ell, count, probability)
            printed = bounds.printed_error(ell, count, probability)
            return Found(asked, [
                Way("exact", count, sure, probability, self._stays(count, sure)),
                Way("chebyshev", count, chebyshev, probability, self._stays(count, chebyshev)),
                Way("printed", count, printed, probability, self._fails(count, printed)),
            ])  # fmt: skip
        if probability is None:
            assert count is not None  # noqa: S101
            worst, there = self._stays(count, error), self._fails(count, error)
            return Found(asked, [
                Way("exact", count, error, worst, worst),
                Way("chebyshev", count, error, bounds.chebyshev_probability(ell, count, error),
                    worst),
                Way("printed", count, error, bounds.printed_probability(ell, count, error), there),
            ])  # fmt: skip
        counts = (
            searches.smallest_count(ell, error, probability),
            math.ceil(bounds.chebyshev_count(ell, error, probability)),
        )
        printed_count = bounds.printed_count(ell, error, probability)
        return Found(asked, [
            Way("exact", counts[0], error, probability, self._stays(counts[0], error)),
            Way("chebyshev", counts[1], error, probability, self._stays(counts[1], error)),
            Way("printed", printed_count, error, probability, self._fails(printed_count, error)),
        ])  # fmt: skip

    def privacy(
        self,
        *,
        count: int | None = None,
        error: float | None = None,
        probability: float | None = None,
    ) -> Found:
        """Give two of three: `count` is off by more than `error` with at least `probability`."""
        ell, asked = self.ell, wanted(count, error, probability)
        if error is None:
            assert count is not None and probability is not None  # noqa: S101, PT018
            errors = (
                searches.largest_error(count, ell, probability),
                bounds.chebyshev_error(ell, count, probability),
                bounds.printed_error(ell, count, probability),
            )
            return _each(asked, [self._off(count, found, probability) for found in errors])
        if probability is None:
            assert count is not None  # noqa: S101
            chances = (
                chance_off(count, ell, error),
                bounds.chebyshev_probability(ell, count, error),
                bounds.printed_probability(ell, count, error),
            )
            return _each(asked, [self._off(count, error, chance) for chance in chances])
        counts = (
            searches.hidden_up_to(ell, error, probability),
            math.floor(bounds.chebyshev_count(ell, error, probability)),
            bounds.printed_count(ell, error, probability),
        )
        return _each(asked, [self._off(found, error, probability) for found in counts])

    def predicate(self, *, rows: int, size: int, share: float) -> PredicateGuarantee:
        """The same for counts of a value among the rows of a predicate over other columns.

        `rows` are those of the table, `size` those of the predicate, `share` that of the value in
        the table.
        """
        from countveil.maths.guarantees.predicates import PredicateGuarantee

        return PredicateGuarantee(self.ell, rows, size, share)

    def _stays(self, count: int, error: float) -> float | None:
        return searches.worst_failure(count, self.ell, error) if count <= MOST_COUNT else None

    def _fails(self, count: int, error: float) -> float | None:
        return chance_failing(count, self.ell, error) if count <= MOST_COUNT else None

    def _off(self, count: int, error: float, probability: float) -> Way:
        known = 1 <= count <= MOST_COUNT
        truly = chance_off(count, self.ell, error) if known else None
        return Way("", count, error, probability, truly)


def _each(asked: str, ways: Sequence[Way]) -> Found:
    names = ("exact", "chebyshev", "printed")
    return Found(asked, [
        Way(name, way.count, way.error, way.probability, way.truly)
        for name, way in zip(names, ways, strict=True)
    ])  # fmt: skip
