"""Do intervals of averages hold the truth, and which averages are shown?

Averages of a plain number over the rows with one value of a sensitive column, in predicates of a
dozen rows to half of the table: ages, incomes that depend on the value, and weighted incomes.
Repeated releases of one made-up census, estimated from arrays. By the true number of rows: how
often 95% intervals hold the truth (all of them; those that are shown, because their denominator is
told from 0; those that are hidden), how wide they are beside the range of the numbers, and how many
that are called reliable are within a fifth of the truth. Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

import countveil as cv
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.estimate import ALWAYS, Estimates, Tallies, make_estimator
from countveil.maths.estimate.estimates import verdicts
from countveil.maths.groups import ColumnSettings
from tests.repeated_releases import coded, releases

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]

CLASSES = (("1-10", 1, 10), ("11-50", 11, 50), ("51-", 51, np.inf))
BY = (("marital", "education"), ("gender", "marital"), ("gender", "race", "workclass"))
HEAD = (
    "| number | ell | true rows | intervals | all | shown | share shown | hidden | "
    "width, shown | width, hidden | reliable | within 20% |"
)


@dataclass(frozen=True)
class Numbers:
    """What is averaged: a number and a weight for every row (None for 1)."""

    name: str
    number: Floats
    weight: Floats | None

    def summed(self) -> list[Floats | None]:
        """The moments of a tally: of rows, then sums and squares of each argument."""
        z, w = self.number, self.weight
        if w is None:
            return [None, z, z * z]
        return [None, w, w**2, w * z, (w * z) ** 2, w * w * z, (w * w * z) ** 2]


class Groups:
    """Predicates as groups of rows; a row is in several."""

    def __init__(self, table: dict[str, Codes], codes: Codes) -> None:
        self.values = int(codes.max()) + 1
        self._labels: list[Codes] = []
        self.number = 0
        for names in BY:
            together = np.zeros(codes.size, np.int64)
            for name in names:
                together = together * (int(table[name].max()) + 1) + table[name]
            label = np.unique(together, return_inverse=True)[1].reshape(-1)
            self._labels.append(label + self.number)
            self.number += int(label.max()) + 1

    def tallied(self, codes: Codes, number: Floats | None) -> Floats:
        """Sums of a number by predicate and value."""
        size = self.number * self.values
        each = [np.bincount(label * self.values + codes, number, size) for label in self._labels]
        return np.asarray(np.sum(each, axis=0), np.float64).reshape(self.number, self.values)

    def ranges(self, number: Floats) -> Floats:
        """The smallest and the largest number of every predicate."""
        ends = np.stack([np.full(self.number, np.inf), np.full(self.number, -np.inf)])
        for label in self._labels:
            np.minimum.at(ends[0], label, number)
            np.maximum.at(ends[1], label, number)
        return ends


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--releases", type=int, default=100)
    parser.add_argument("--ell", type=int, nargs="*", default=[2, 5, 10])
    parser.add_argument("--groups", choices=["mixed", "random"], default="mixed")
    parser.add_argument("--method", choices=["shrunk", "unbiased"], default="shrunk")
    parser.add_argument("--number", default="", help="only numbers with this in their name")
    options = parser.parse_args()
    census = cv.generate(options.rows, seed=1)
    assert census is not None
    codes = coded(census["occupation"])
    groups = Groups({n: coded(census[n]) for names in BY for n in names}, codes)
    ages = census["age"].to_numpy().astype(np.float64)
    print(HEAD)
    print("|" + "---|" * (HEAD.count("|") - 1))
    for ell in options.ell:
        for numbers in _numbers(codes, ages):
            if options.number in numbers.name:
                settings = ColumnSettings(ell, options.groups)
                measure(codes, groups, numbers, settings, options.releases, options.method)


def _numbers(codes: Codes, ages: Floats) -> Iterator[Numbers]:
    rng = np.random.default_rng(3)
    level = rng.normal(10, 0.4, codes.max() + 1)
    income = np.round(np.exp(level[codes] + 0.6 * rng.standard_normal(codes.size)))
    weight = np.round(rng.lognormal(5, 0.5, codes.size), 2)
    yield Numbers("age", ages, None)
    yield Numbers("income", income, None)
    yield Numbers("income, weighted", income, weight)


def measure(
    codes: Codes,
    groups: Groups,
    numbers: Numbers,
    settings: ColumnSettings,
    number: int,
    method: str,
) -> None:
    """Print the rows of one number and ell."""
    summed = numbers.summed()
    exact = [groups.tallied(codes, each) for each in summed]
    rows = exact[0]
    with np.errstate(invalid="ignore"):
        mean = exact[1] / rows if numbers.weight is None else exact[3] / exact[1]
    least, most = groups.ranges(numbers.number)[:, :, None]
    exists = (rows > 0) & (most > least)
    columns: list[list[Floats]] = [[] for _ in range(5)]
    for published in releases(codes, settings, number):
        histogram = np.bincount(published, minlength=groups.values)
        view = view_of_release(histogram, codes.size, settings.ell, settings.groups)
        moments = np.stack([groups.tallied(published, each) for each in summed])
        found, told = estimated(moments, view, (least, most), method)
        words = verdicts(found.flat(), np.where(told, np.inf, 0.0).ravel(), 0.1)
        verdict = np.array(words).reshape(mean.shape)
        slack = 1e-9 * np.abs(mean)
        holds = (found.low <= mean + slack) & (mean - slack <= found.high)
        near = np.abs(found.estimate - mean) <= 0.2 * np.abs(mean)
        wide = (found.high - found.low) / np.where(exists, most - least, 1.0)
        arrays = holds, verdict != "hidden", wide, verdict == "reliable", near
        for column, array in zip(columns, arrays, strict=True):
            column.append(array[exists].astype(np.float64))
    held, shown, width, reliable, within = (np.stack(column) for column in columns)
    for name, low, high in CLASSES:
        here = np.broadcast_to((rows[exists] >= low) & (rows[exists] <= high), held.shape)
        cells = [
            _share(held, here), _share(held, here & (shown > 0)), _share(shown, here),
            _share(held, here & (shown == 0)), _share(width, here & (shown > 0)),
            _share(width, here & (shown == 0)), _share(reliable, here),
            _share(within, here & (reliable > 0)),
        ]  # fmt: skip
        print(
            f"| {numbers.name} | {settings.ell} | {name} | {here.sum():,} |",
            " | ".join(cells), "|", flush=True,
        )  # fmt: skip


def _share(array: Floats, here: NDArray[np.bool_]) -> str:
    return f"{array[here].mean():.3f}" if here.any() else ""


def estimated(
    moments: Floats, view: ChannelView, possible: tuple[Floats, Floats], method: str
) -> tuple[Estimates, NDArray[np.bool_]]:
    """The averages by predicate and value, and which have a denominator that is told from 0."""
    arguments = (len(moments) - 1) // 2
    ranges = np.zeros((2, arguments, moments.shape[1], 1))
    tallies = Tallies(np.zeros((1, 0), bool), moments[:, :, None], ranges, [view], [True])
    everything = np.full(moments.shape[-1], ALWAYS)
    weighted = arguments > 1
    top = tallies.total(everything, 1 if weighted else 0)
    bottom = tallies.total(everything, 0 if weighted else None)
    estimator = make_estimator(method, "exact", 0.95)
    above = estimator.total(tallies, top, is_count=False)
    below = estimator.total(tallies, bottom, is_count=not weighted)
    return estimator.ratio((top, above), (bottom, below), 5 if weighted else 1, possible)


if __name__ == "__main__":
    main()
