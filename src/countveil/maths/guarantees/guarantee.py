"""Utility for large counts and privacy for small ones, computed in three ways side by side.

Enters: ell and two of count, error, probability. Leaves: the third as a `GuaranteeAnswer`: a
number, with all three ways beside it. Must not know: any table.

- *Utility* (e, T_E, T_f): from the count T_f on, the probability of a relative error of e or more
  stays at or below T_E.
- *Privacy* (e, T_P): the probability that the estimate of a count is off by more than e. An unknown
  count is the largest such that it and every smaller one are off with probability T_P or more.

`exact` is the binomial itself. `chebyshev` is the correct bound: an upper bound on being off, so it
promises utility, but only limits how much privacy is possible: the published count g has the mean f
and the variance f (1 - 1/ell), so P(|g - f| >= e f) <= (1 - 1/ell) / (e^2 f). `printed` is the
paper's formula.
`truly` is the exact probability at the count and error of a way: what its answer is worth.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Self

from countveil.errors import SettingsError, option
from countveil.maths.guarantees.binomial import (
    MOST_COUNT,
    as_written,
    chance_failing,
    chance_off,
    check_ell,
    hidden_up_to,
    largest_error,
    smallest_count,
    smallest_error,
    unknown_of,
    worst_failure,
)
from countveil.maths.paper import printed

if TYPE_CHECKING:
    from countveil.maths.guarantees.predicate_guarantee import PredicateGuarantee

_WAYS = ("exact", "chebyshev", "printed")

# The exact probability at a count and an error.
Truly = Callable[[int, float], float | None]


@dataclass(frozen=True, slots=True)
class Way:
    """One way to compute: what goes together, and the exact probability there.

    None: there is no such number, or it is beyond what is computed.

    Attributes:
        way: `exact`, `chebyshev` or `printed`; `normal` for counts in a predicate.
        count: The count.
        error: The relative error.
        probability: The probability.
        truly: The exact probability at this count and error: what the answer is worth.
    """

    way: str
    count: int | None
    error: float | None
    probability: float | None
    truly: float | None


class GuaranteeAnswer(float):
    """The unknown, computed the best way (the first), as a number; NaN where there is none.

    Attributes:
        asked: What was unknown: count, error or probability.
        ways: All ways to compute it.

    Example:
        >>> answer = cv.guarantee(ell=5).utility(error=0.1, probability=0.05)
        >>> answer.exact, answer.chebyshev
        (311, 1600)
    """

    asked: str
    ways: tuple[Way, ...]

    def __new__(cls, asked: str, ways: Sequence[Way]) -> Self:
        """The answer to what was asked: NaN where there is none."""
        value = getattr(ways[0], asked)
        answer = super().__new__(cls, math.nan if value is None else value)
        answer.asked, answer.ways = asked, tuple(ways)
        return answer

    def by(self, way: str) -> float | None:
        """The answer of one way.

        Args:
            way: The name of one of the `ways`.

        Returns:
            The number; None where that way has none.

        Raises:
            KeyError: There is no such way.
        """
        values: dict[str, float | None] = {one.way: getattr(one, self.asked) for one in self.ways}
        return values[way]

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
    """What one ell promises about the published count of a value over the whole table.

    Attributes:
        ell: The ell.

    Example:
        >>> promise = cv.guarantee(ell=5)
        >>> round(promise.privacy(count=5, error=0.3), 2)
        0.45
    """

    ell: int

    def __post_init__(self) -> None:
        check_ell(self.ell)

    def utility(
        self,
        *,
        count: int | None = None,
        error: float | None = None,
        probability: float | None = None,
    ) -> GuaranteeAnswer:
        """From which count on is a published count right? Give two of three.

        Args:
            count: From this count on ...
            error: ... it is off by this relative error or more ...
            probability: ... with at most this probability.

        Returns:
            The third.

        Raises:
            SettingsError: Not two of three are given, or one is out of range.

        Example:
            >>> cv.guarantee(ell=5).utility(count=1_000, probability=0.05)
            0.05583250249252244
        """
        ell, asked = self.ell, unknown_of(count, error, probability)
        exact, chebyshev = 0.0, 0.0
        if count is not None and probability is not None:
            exact = smallest_error(count, ell, probability)
            chebyshev = chebyshev_error(ell, count, probability)
        elif count is not None and error is not None:
            exact = worst_failure(count, ell, error)
            chebyshev = chebyshev_probability(ell, count, error)
        elif error is not None and probability is not None:
            exact = smallest_count(ell, error, probability)
            chebyshev = math.ceil(chebyshev_count(ell, error, probability))
        given = {"count": count, "error": error, "probability": probability}
        return self._answer(asked, given, (exact, chebyshev), (self._stays, self._fails))

    def privacy(
        self,
        *,
        count: int | None = None,
        error: float | None = None,
        probability: float | None = None,
    ) -> GuaranteeAnswer:
        """How far off is a small published count? Give two of three.

        Args:
            count: This count ...
            error: ... is off by more than this relative error ...
            probability: ... with at least this probability.

        Returns:
            The third.

        Raises:
            SettingsError: Not two of three are given, or one is out of range.

        Example:
            >>> cv.guarantee(ell=5).privacy(error=0.3, probability=0.4)
            6
        """
        ell, asked = self.ell, unknown_of(count, error, probability)
        exact, chebyshev = 0.0, 0.0
        if count is not None and probability is not None:
            exact = largest_error(count, ell, probability)
            chebyshev = chebyshev_error(ell, count, probability)
        elif count is not None and error is not None:
            exact = chance_off(count, ell, error)
            chebyshev = chebyshev_probability(ell, count, error)
        elif error is not None and probability is not None:
            exact = hidden_up_to(ell, error, probability)
            chebyshev = math.floor(chebyshev_count(ell, error, probability))
        given = {"count": count, "error": error, "probability": probability}
        return self._answer(asked, given, (exact, chebyshev), (self._off, self._off))

    def predicate(
        self,
        *,
        rows: int,
        size: int,
        share: float,
        groups: str = "mixed",
        odds: float | None = None,
        values: int | None = None,
    ) -> PredicateGuarantee:
        """The same for counts of a value among the rows of a predicate over other columns.

        Args:
            rows: The rows of the table.
            size: The rows of the predicate.
            share: The share of the value in the table.
            groups: How it is published, "mixed" or "random"; a combination of columns that are
                published together is a value with random groups.
            odds: The bound that noise over the declared values keeps, if it comes first.
            values: How many values are declared, with `odds`.

        Returns:
            The guarantees for such counts.

        Raises:
            SettingsError: The numbers contradict each other, or no estimate can separate the value.

        Example:
            >>> counts = cv.guarantee(ell=5).predicate(rows=100_000, size=10_000, share=0.02)
            >>> counts.reliable_from(0.1), counts.hidden_below()
            (866, 140)
        """
        from countveil.maths.guarantees.predicate_guarantee import PredicateGuarantee

        noise = None if odds is None else self._noise(odds, values, groups)
        return PredicateGuarantee(self.ell, rows, size, share, groups, noise=noise)

    def noised(
        self, *, rows: int, odds: float, values: int | None, groups: str = "mixed"
    ) -> PredicateGuarantee:
        """The same for counts over the whole table, where odds are bounded by noise.

        Args:
            rows: The rows of the table.
            odds: The bound.
            values: How many values are declared.
            groups: How it is published, "mixed" or "random".

        Returns:
            The guarantees for such counts.

        Raises:
            SettingsError: The bound is not above 1, or the number of values is missing.

        Example:
            >>> cv.guarantee(ell=5).noised(rows=100_000, odds=20, values=50).hidden_below()
            109
        """
        from countveil.maths.guarantees.predicate_guarantee import PredicateGuarantee

        noise = self._noise(odds, values, groups)
        # Over all rows the error does not depend on the share of the value.
        return PredicateGuarantee(self.ell, rows, rows, 1 / noise[1], groups, noise=noise)

    def _noise(self, odds: float, values: int | None, groups: str) -> tuple[float, int]:
        """Gamma, and the number of declared values, for this bound."""
        from countveil.maths.guarantees.odds import gamma_for

        if not (isinstance(odds, int | float) and 1 < odds < math.inf):
            raise SettingsError(f"The bound on the odds must be a number above 1, got {odds!r}.")
        if values is None or values < 2:
            raise SettingsError(
                f"A bound on the odds needs to know how many values are declared, at least 2: "
                f"{option('values', 50)}; got {values!r}."
            )
        return gamma_for(odds, values, self.ell, different=groups == "mixed"), values

    def _answer(
        self,
        asked: str,
        given: Mapping[str, Any],
        correct: tuple[float, float],
        truly: tuple[Truly, Truly],
    ) -> GuaranteeAnswer:
        """The two correct ways and the printed one, each with its exact probability."""
        known = {name: value for name, value in given.items() if name != asked}
        values = (*correct, getattr(printed, f"printed_{asked}")(self.ell, **known))
        ways = []
        for name, value in zip(_WAYS, values, strict=True):
            point = {**known, asked: value}
            exactly = truly[name == "printed"](point["count"], point["error"])
            ways.append(Way(name, **point, truly=exactly))
        return GuaranteeAnswer(asked, ways)

    def _stays(self, count: int, error: float) -> float | None:
        return worst_failure(count, self.ell, error) if count <= MOST_COUNT else None

    def _fails(self, count: int, error: float) -> float | None:
        return chance_failing(count, self.ell, error) if count <= MOST_COUNT else None

    def _off(self, count: int, error: float) -> float | None:
        return chance_off(count, self.ell, error) if 1 <= count <= MOST_COUNT else None


def chebyshev_probability(ell: int, count: float, error: float) -> float:
    """Chebyshev's bound on P(off by `error` or more), at most 1."""
    return min(1.0, (1 - 1 / ell) / (error**2 * count))


def chebyshev_count(ell: int, error: float, probability: float) -> Fraction:
    """The count at which Chebyshev's bound is `probability`."""
    return (1 - Fraction(1, ell)) / (as_written(error) ** 2 * as_written(probability))


def chebyshev_error(ell: int, count: float, probability: float) -> float:
    """The error at which Chebyshev's bound is `probability`."""
    return math.sqrt((1 - 1 / ell) / (probability * count))


def guarantee(ell: int) -> Guarantee:
    """What `ell` promises: `.utility(...)` of large counts, `.privacy(...)` of small ones.

    Each takes two of `count`, `error` and `probability` and finds the third: a number, which also
    has the ways to compute it beside it (`.exact`, `.chebyshev`, `.printed`, `.ways`).
    `.predicate(...)` is about counts that combine a value with other columns, and `.noised(...)`
    about those of the whole table where odds are bounded.

    Args:
        ell: How many different values a group has, 2 or more.

    Returns:
        The guarantees of this ell.

    Raises:
        SettingsError: ell is not a whole number of at least 2.

    Example:
        >>> cv.guarantee(ell=10).privacy(count=5, error=0.3)
        0.4800670641496847
        >>> cv.guarantee(ell=5).utility(error=0.1, probability=0.05)
        311
    """
    return Guarantee(ell)
