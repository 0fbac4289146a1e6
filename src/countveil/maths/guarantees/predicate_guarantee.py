"""What ell promises about counts that combine a sensitive value with other columns.

Enters: ell, the rows of the table and of a predicate P over plain columns, the share of a value s.
Leaves: the count of (P, s) from which an answer is reliable, and below which it is hidden. Must not
know: any table.

An answer is the unbiased estimate, with the variance that it really has (`ChannelView.variance`):
a quadratic in the true count x, V(x) = c + l x + q x^2. Being off by e x or more is taken as normal
(`normal`), or bounded by Chebyshev's inequality (`chebyshev`): either way e x is compared with k
standard errors, and e^2 x^2 = k^2 V(x) is where the one becomes the other. The default estimate
shrinks the unbiased one: for large counts it is the same, for small ones often more accurate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import SettingsError, option
from countveil.maths.bounds import HIDDEN_ABOVE
from countveil.maths.channel import ChannelView, keep_probability
from countveil.maths.channel.view import quadratic
from countveil.maths.guarantees.binomial import check_between, check_count, check_ell, unknown_of
from countveil.maths.guarantees.guarantee import GuaranteeAnswer, Way

_METHODS = ("mixed", "random")


@dataclass(frozen=True, slots=True)
class PredicateGuarantee:
    """What one ell promises about a value among the rows of a predicate.

    With random groups any share is possible.

    Attributes:
        ell: The ell.
        rows: The rows of the table.
        size: The rows of the predicate; all rows where noise came first.
        share: The share of the value in the table.
        groups: "mixed" or "random".
        keep: With random groups, the chance that a row publishes its own place of the group, if
            that is not 1/ell; a common value of mixed groups is like that.
        noise: Gamma and the number of declared values, where noise came before the groups.
        variance: The terms c, l, q of the variance c + l x + q x^2 of an estimate of x.

    Example:
        >>> counts = cv.guarantee(ell=5).predicate(rows=100_000, size=10_000, share=0.02)
        >>> round(counts.std_error(200), 1), counts.most
        (71.2, 2000)
    """

    ell: int
    rows: int
    size: int
    share: float
    groups: str = "mixed"
    keep: float | None = None
    noise: tuple[float, int] | None = None
    variance: tuple[float, float, float] = field(init=False)

    def __post_init__(self) -> None:
        check_ell(self.ell)
        check_count(self.rows, "rows")
        check_count(self.size, "size")
        check_between("share", self.share)
        self._check_among_themselves()
        view = self._view()
        if not view.identifiable[0]:
            raise SettingsError(
                f"A share of {self.share:.4g} is so near to 1/ell = {1 / self.ell:.4g} that no "
                f"estimate can separate the value from the others in a predicate: every count of "
                f"it is hidden. A smaller ell or a smaller share works."
            )
        rows = np.array([float(self.size)])
        terms = quadratic(lambda x: view.variance(x, rows), rows)
        object.__setattr__(self, "variance", tuple(float(term[0]) for term in terms))

    def _view(self) -> ChannelView:
        """The channel of the value."""
        groups = self._groups_view(np.array([self._noised_share * self.rows]))
        if self.noise is None:
            return groups
        # Loaded only where there is noise.
        from countveil.maths.channel.noised_view import NoisedView

        return NoisedView.of(groups, *self.noise)

    @property
    def _noised_share(self) -> float:
        """The share that is expected after the noise, of which groups are formed."""
        if self.noise is None:
            return self.share
        gamma, values = self.noise
        return (1 - gamma) * self.share + gamma / values

    def _groups_view(self, known: NDArray[np.float64]) -> ChannelView:
        if self.groups == "random":
            # Loaded only where groups are random.
            from countveil.maths.channel.skewed_views import RandomView

            keep = (self.rows // self.ell) / self.rows if self.keep is None else self.keep
            return RandomView(self.rows, keep, known, None, two_state_holds=True)
        keep = keep_probability(self.rows, self.ell)
        return ChannelView(self.rows, keep, known, None, two_state_holds=True)

    def _check_among_themselves(self) -> None:
        if self.groups not in _METHODS:
            raise SettingsError(
                f"What is promised is known for {' and '.join(_METHODS)} groups, got "
                f"{self.groups!r}."
            )
        if self.rows < self.ell:
            raise SettingsError(f"ell = {self.ell} needs at least as many rows, got {self.rows}.")
        whole = self.noise is not None and self.size == self.rows
        if self.size >= self.rows and not whole:
            raise SettingsError(
                f"size must be less than rows ({self.rows:,}), got {self.size:,}. The count of a "
                f"value over the whole table needs no predicate: leave out rows, size and share."
            )
        if self.groups == "mixed" and self._noised_share * self.ell > 1:
            raise SettingsError(
                f"A value with a share of {self.share:g} is too frequent for ell = {self.ell}: at "
                f"most 1/ell = {1 / self.ell:.4g} is eligible. With {option('groups', 'random')} "
                f"any share is."
            )

    @property
    def most(self) -> int:
        """The largest count that (P, s) can have."""
        if self.size == self.rows:
            return self.rows
        return min(self.size, round(self.share * self.rows))

    def std_error(self, count: float) -> float:
        """The standard error of the unbiased estimate of a count.

        Args:
            count: The true count.

        Returns:
            The standard error.
        """
        constant, linear, square = self.variance
        return math.sqrt(max(0.0, constant + count * (linear + count * square)))

    def reliable_from(self, within: float = 0.10) -> int | None:
        """The count from which the verdict is `reliable`.

        Args:
            within: The relative standard error up to which an estimate is `reliable`.

        Returns:
            The count; None if no count in the predicate is.

        Raises:
            SettingsError: `within` is not between 0 and 1.
        """
        return self._from(check_between("within", within), 1.0)

    def hidden_below(self) -> int:
        """Counts below this one are `hidden`: the standard error is more than half of them."""
        return math.floor(min(self.most, self._crossing(HIDDEN_ABOVE, 1.0))) + 1

    def utility(
        self,
        *,
        count: int | None = None,
        error: float | None = None,
        probability: float | None = None,
    ) -> GuaranteeAnswer:
        """From which count on is an estimate right? Give two of three.

        Args:
            count: From this count on ...
            error: ... it is off by this relative error or more ...
            probability: ... with at most this probability.

        Returns:
            The third.

        Raises:
            SettingsError: Not two of three are given, or one is out of range.
        """
        return self._answer(count, error, probability, up=True)

    def privacy(
        self,
        *,
        count: int | None = None,
        error: float | None = None,
        probability: float | None = None,
    ) -> GuaranteeAnswer:
        """How far off is the estimate of a small count? Give two of three.

        Args:
            count: This count ...
            error: ... is off by more than this relative error ...
            probability: ... with at least this probability.

        Returns:
            The third.

        Raises:
            SettingsError: Not two of three are given, or one is out of range.
        """
        return self._answer(count, error, probability, up=False)

    def _answer(
        self, count: int | None, error: float | None, probability: float | None, *, up: bool
    ) -> GuaranteeAnswer:
        asked = unknown_of(count, error, probability)
        if count is not None and count > self.most:
            raise SettingsError(
                f"At most {self.most:,} rows of this predicate can have the value, got {count:,}."
            )
        ways = []
        for name in ("normal", "chebyshev"):
            point: dict[str, Any] = {"count": count, "error": error, "probability": probability}
            if probability is not None:
                errors = _errors_for(probability, name)
                if error is not None:
                    there = math.floor(min(self.most, self._crossing(error, errors)))
                    point["count"] = self._from(error, errors) if up else there
                elif count is not None:
                    point["error"] = errors * self.std_error(count) / count
            elif count is not None and error is not None:
                point["probability"] = _chance(error * count / self.std_error(count), name)
            ways.append(Way(name, **point, truly=self._truly(point["count"], point["error"])))
        return GuaranteeAnswer(asked, ways)

    def _truly(self, count: float | None, error: float | None) -> float | None:
        if not count or error is None:
            return None
        return _chance(error * count / self.std_error(count), "normal")

    def _from(self, error: float, errors: float) -> int | None:
        crossing = self._crossing(error, errors)
        return None if crossing > self.most else max(1, math.ceil(crossing))

    def _crossing(self, error: float, errors: float) -> float:
        """The count x at which error x is this many standard errors: less below, more above."""
        constant, linear, square = (errors**2 * term for term in self.variance)
        lead = error**2 - square
        if lead <= 0:
            return math.inf
        return (linear + math.sqrt(linear**2 + 4 * lead * constant)) / (2 * lead)


def _errors_for(probability: float, way: str) -> float:
    """How many standard errors are reached with this probability."""
    if way == "chebyshev":
        return 1 / math.sqrt(probability)
    return -NormalDist().inv_cdf(probability / 2)


def _chance(errors: float, way: str) -> float:
    if way == "chebyshev":
        return min(1.0, 1 / errors**2)
    return math.erfc(errors / math.sqrt(2))
