"""A protected column that noise was put into before groups were formed, as a page shows it.

Enters: the column as its groups alone would show it, the bound on the odds. Leaves: what the
sections of a page ask of a protected column, and a section that sets the error with noise beside
that without. Must not know: true counts, the source. It is loaded only where a release has such a
column. Theory: docs/theory/odds.md.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from countveil.maths.guarantees import chance_off
from countveil.maths.guarantees.odds import after_noise, noised_guarantee
from countveil.maths.guarantees.predicate_guarantee import PredicateGuarantee
from countveil.maths.guarantees.special import beliefs_in_truth
from countveil.release import OddsBound
from countveil.report.board import Figure
from countveil.report.chart import Axis, Chart
from countveil.report.guarantee_sections import (
    ANY_VALUE,
    TABLE_COUNTS,
    Protected,
    chance_text,
    error_line,
    guarantee_of,
)
from countveil.report.page import Section

_WITH_NOISE = (
    "Before groups were formed, every row of {name} took one of the {values:,} declared values at "
    "random with probability gamma = {gamma:.6g}. So a published count is not the estimate of a "
    "true one: of g published rows, (g - gamma N / V) / (1 - gamma) had the value, with N the rows "
    "and V the declared values. countveil does this. The table has the probability that such an "
    "estimate over the whole table is off by more than 30%, and its standard error relative to the "
    "count, each beside what it would be without noise."
)
_PRICE = (
    "The noise is that of all rows asked about, so it is felt most by small counts of the whole "
    "table, which groups alone would leave nearly as they are. It is the price of the bound: a "
    "linked row changes the odds of a value by at most {odds:g}, and the whole release is "
    "epsilon-locally differentially private in each row's value with epsilon = {epsilon:.4g}. Both "
    "hold on condition that the declared values, gamma and ell were fixed without looking at the "
    "table."
)


@dataclass(frozen=True)
class NoisedColumn(Protected):
    """A column with noise; `grouped` is the noised column, in the groups that it has."""

    grouped: Protected
    odds: OddsBound
    values: int

    @property
    def called(self) -> str:
        """Its name and how it is protected."""
        return f"{self.grouped.called.removesuffix(')')}, odds at most {self.odds.at_most:g})"

    @property
    def any_share(self) -> bool:
        """Whether every value may have any share of the rows."""
        return self.grouped.any_share

    @property
    def options(self) -> Mapping[str, object]:
        """What `countveil guarantee` has to be told of it."""
        bound = {"odds": f"{self.odds.at_most:g}", "values": self.values}
        return {**self.grouped.options, **bound}

    @property
    def notes(self) -> Sequence[str]:
        """The bound; what is said of noised values."""
        first = (
            f"A linked row changes the odds of a value of {self.name} by at most "
            f"{self.odds.at_most:g}; whatever anybody knows, the whole release changes those "
            f"between two values of a row by at most {math.exp(self.odds.epsilon):,.4g}. The "
            f"condition: declared values, gamma and ell were fixed without looking at the table."
        )
        noised = [f"Of noised values: {note}" for note in self.grouped.notes]
        return [first, *noised]

    @property
    def _kept(self) -> tuple[float, float]:
        """How likely noise leaves a value in a row, and puts it into the place of another."""
        q = self.odds.gamma / self.values
        return 1 - self.odds.gamma + q, q

    def estimate(self, published: float) -> float:
        """How many rows had a value that so many publish."""
        _, q = self._kept
        return (published - q * self.rows) / (1 - self.odds.gamma)

    def std_error(self, count: float, value: Any = ANY_VALUE) -> float:
        """The standard error of the estimate, over the whole table, of a count."""
        noised, variance = after_noise(count, self.rows, self.odds.gamma, self.values)
        groups = self.grouped.std_error(noised, value) ** 2
        return math.sqrt(variance + groups) / (1 - self.odds.gamma)

    def beliefs(self) -> tuple[float, float]:
        """In a person's true value: on average over the people, and what 1 in 100 reach."""
        published = np.array(list(self.published.values()), np.float64) / self.rows
        kept, q = self._kept
        shares = np.maximum((published - q) / (1 - self.odds.gamma), 0.5 / self.rows)
        keeps = np.array([self.grouped.keeps(value) for value in self.published])
        gives = published * (1 - keeps) / np.maximum(1 - published, 1e-9)
        true_ones = kept * keeps + (1 - kept) * gives
        return beliefs_in_truth(shares / shares.sum(), true_ones, published)

    def reached_by(self) -> str:
        """Who reaches the second of the beliefs."""
        return "those who publish a value that is theirs"

    def figures(self, unit: str = "rows") -> list[Figure]:
        """The bound beside the others."""
        bound = Figure(
            f"Odds of a value of {self.name}",
            f"at most {self.odds.at_most:g} times",
            f"by a linked row. Whole release: epsilon = {self.odds.epsilon:.3g}, a factor of "
            f"{math.exp(self.odds.epsilon):,.3g}, whatever anybody knows",
            "odds",
            self.odds.at_most,
        )
        average, exposed, error = super().figures(unit)
        # The first three are those of the summary, and the bound says more than an average.
        return [bound, exposed, error, average]

    def combined(self, size: int, value: Any, count: int) -> PredicateGuarantee | None:
        """What holds for a value that `count` rows publish, among `size` rows."""
        without = self.grouped.combined(size, value, count)
        if without is None:
            return None
        share = max(self.estimate(count), 0.5) / self.rows
        noise = self.odds.gamma, self.values
        return guarantee_of(self.ell, self.rows, size, share, without.groups, without.keep, noise)

    @property
    def examples(self) -> Sequence[tuple[Any, int]]:
        """Those of the noised column."""
        return self.grouped.examples

    def whole_table(self) -> Section:
        """Counts over the whole table, with the noise and without it."""
        counts = [count for count in TABLE_COUNTS if count <= self.rows]
        lines = noised_guarantee(counts, self.rows, self.ell, self.odds.gamma, self.values)
        table = [
            (
                count, chance_text(line["chance_off"]),
                chance_text(chance_off(count, self.ell, line["error"])),
                f"{self.std_error(count) / count:.1%}",
                f"{self.grouped.std_error(count) / count:.1%}",
            )
            for count, line in zip(counts, lines, strict=True)
        ]  # fmt: skip
        said = _WITH_NOISE.format(name=self.name, values=self.values, gamma=self.odds.gamma)
        return Section(
            f"How near to the truth: {self.name} over the whole table",
            [said],
            ("rows with the value", "off by more than 30%", "without noise", "standard error",
             "without noise"),
            table,
            [self._chart()],
            after=[_PRICE.format(odds=self.odds.at_most, epsilon=self.odds.epsilon)],
        )  # fmt: skip

    def _chart(self) -> Chart:
        """The error with and without noise, over the whole table and among a tenth of it."""
        value, published = self.grouped.median
        size = max(1, round(self.rows / 10))
        lines = [
            error_line("whole table, with noise", self.rows, self.std_error),
            error_line("whole table, without noise", self.rows, self.grouped.std_error),
        ]
        noised = self.combined(size, value, published)
        plain = self.grouped.combined(size, value, published)
        if noised is not None and plain is not None:
            most = min(noised.most, plain.most)
            lines += [
                error_line(f"among {size:,} rows, with noise", most, noised.std_error),
                error_line(f"among {size:,} rows, without noise", most, plain.std_error),
            ]
        return Chart(
            f"What does the noise cost in counts of {self.name}?",
            "true count",
            "standard error / count",
            lines,
            f"gamma = {self.odds.gamma:.3g}, ell = {self.ell}, {self.rows:,} rows. Below 0.1 an "
            f"answer is reliable, above 0.5 hidden.",
            x_axis=Axis(1, max(10, self.rows), log=True),
            y_axis=Axis(0.01, 10, log=True),
        )
