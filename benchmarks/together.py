"""Two columns at once: published together beside apart, with known truth.

Counts of (predicate, value of one column, value of another) by class, unbiased and shrunk, and how
often 95% intervals hold the truth: for pairs, for each column alone, and for formulas over both.
Predicates are random, as in the other benchmarks. The built-in census is always there; ACS 2024 is
used where ../shared/data has it. Prints Markdown, as kept in RESULTS.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

import countveil as cv
from benchmarks.tables import Table, prepare
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.skewed_views import RandomView, joint_view
from countveil.maths.estimate import shrunk_counts
from countveil.maths.estimate.products import product_likelihood
from countveil.maths.estimate.unbiased import unbiased_likelihood
from countveil.maths.groups import ColumnSettings
from countveil.maths.mechanism import Dealer, draw_column
from countveil.randomness import Randomness
from tests.repeated_releases import acs_2024

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

BINS = ((0.001, 0.007), (0.007, 0.02))
_CENSUS = ["age", "gender", "education", "marital", "race", "workclass"]
_ACS = ["Gender", "Education", "Marital", "Race", "Workclass"]
_LEVEL = 0.95


@dataclass
class Measured:
    """Errors by class, and intervals that hold the truth, by kind of question."""

    unbiased: dict[int, list[float]] = field(default_factory=dict)
    shrunk: dict[int, list[float]] = field(default_factory=dict)
    inside: dict[str, list[bool]] = field(default_factory=dict)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--releases", type=int, default=3)
    parser.add_argument("--predicates", type=int, default=40)
    parser.add_argument("--ell", type=int, nargs="*", default=[2, 4, 8])
    options = parser.parse_args()
    classes = " | ".join(f"{a:.1%}-{b:.1%}" for a, b in BINS)
    print(f"| columns | ell | method | unbiased / shrunk, {classes} | pairs | each | formulas |")
    print("|---|---|---|" + "---|" * (len(BINS) + 3))
    for one, two in pairs_of_columns(options.rows, options.predicates):
        for ell in options.ell:
            for together in (False, True):
                measured = Measured()
                for release in range(options.releases):
                    measure(one, two, ell, together, release, measured)
                print_line(one, two, ell, together, measured)


def pairs_of_columns(rows: int, predicates: int) -> Iterator[tuple[Table, Table]]:
    """The same predicates on two columns of the same rows."""
    census = cv.generate(rows, seed=1)
    assert census is not None
    yield (
        prepare("census, occupation", census, _CENSUS, "occupation", predicates),
        prepare("census, salary", census, _CENSUS, "salary", predicates),
    )
    table = acs_2024(rows)
    if table is not None:
        yield (
            prepare("ACS, Occupation", table, _ACS, "Occupation50", predicates),
            prepare("ACS, Age", table, _ACS, "Age", predicates),
        )


def measure(
    one: Table, two: Table, ell: int, together: bool, release: int, measured: Measured
) -> None:
    """Publish once, and estimate every pair in every predicate."""
    sizes = (int(one.codes.max()) + 1, int(two.codes.max()) + 1)
    randomness = Randomness(1_000 * ell + release)
    true = np.ravel_multi_index((one.codes, two.codes), sizes)
    if together:
        codes = dealt(true, ColumnSettings(ell, "random"), randomness, "both")
        shown = np.unravel_index(codes, sizes)
        grid = np.bincount(codes, minlength=sizes[0] * sizes[1]).reshape(sizes)
        joint = joint_view(grid.astype(np.float64), true.size, ell)
        alone: list[ChannelView] = [joint.margin((0,)), joint.margin((1,))]
    else:
        each = [
            dealt(table.codes, ColumnSettings(ell), randomness, name)
            for table, name in ((one, "one"), (two, "two"))
        ]
        shown = (each[0], each[1])
        alone = [
            view_of_release(np.bincount(c, minlength=size), c.size, ell, "mixed")
            for c, size in zip(each, sizes, strict=True)
        ]
    for rows in one.predicates:
        y = np.zeros((1, *sizes))
        np.add.at(y[0], (shown[0][rows], shown[1][rows]), 1)
        x = np.zeros(sizes)
        np.add.at(x, (one.codes[rows], two.codes[rows]), 1)
        if together:
            flat = y.reshape(1, -1)
            likelihood = unbiased_likelihood(flat, flat.sum(axis=1), joint)
            shrunk = shrunk_counts(flat, [joint]).reshape(sizes)
        else:
            shrunk = shrunk_counts(y, alone)[0]
            margins = [shrunk_counts(y.sum(axis=2 - k), [view]) for k, view in enumerate(alone)]
            likelihood = product_likelihood(y, alone, margins)
        estimates = likelihood.estimates(_LEVEL)
        arrays = [array.reshape(sizes) for array in estimates.arrays()]
        note(measured, x, arrays, shrunk, true.size)
        for k, view in enumerate(alone):
            margin = unbiased_likelihood(y.sum(axis=2 - k), np.array([float(rows.size)]), view)
            ends = margin.estimates(_LEVEL)
            truth = x.sum(axis=1 - k)
            measured.inside.setdefault("each", []).extend(
                ((ends.low[0] <= truth) & (truth <= ends.high[0])).tolist()
            )
        if together:
            chosen = np.zeros(sizes, bool)
            chosen[0], chosen[:, -1] = True, True
            formula(measured, y[0], x, chosen, joint)


def formula(
    measured: Measured, y: Floats, x: Floats, chosen: NDArray[np.bool_], joint: ChannelView
) -> None:
    """The first value of one column or the last one of the other, as one set."""
    inside, whole = float(y[chosen].sum()), float(joint.published.reshape(y.shape)[chosen].sum())
    published = np.array([whole, joint.rows - whole])
    view = RandomView(joint.rows, joint.keep, published, None, two_state_holds=True)
    counts = np.array([[inside, y.sum() - inside]])
    ends = unbiased_likelihood(counts, counts.sum(axis=1), view).estimates(_LEVEL)
    truth = float(x[chosen].sum())
    measured.inside.setdefault("formulas", []).append(
        bool(ends.low[0, 0] <= truth <= ends.high[0, 0])
    )


def dealt(codes: Codes, settings: ColumnSettings, randomness: Randomness, name: str) -> Codes:
    """What each row publishes."""
    streams = randomness.stream("groups", name), randomness.stream("draw", name)
    counts = np.bincount(codes)
    drawn = draw_column(counts, settings, streams)
    return Dealer(drawn, randomness.stream("deal", name)).deal(codes)


def note(measured: Measured, x: Floats, arrays: list[Floats], shrunk: Floats, rows: int) -> None:
    """Keep errors and coverage of all pairs that some row has."""
    estimate, _, low, high = arrays
    there = x > 0
    held = (low <= x) & (x <= high)
    measured.inside.setdefault("pairs", []).extend(held[there].tolist())
    for number, (least, most) in enumerate(BINS):
        some = (x >= least * rows) & (x < most * rows)
        for kept, values in ((measured.unbiased, estimate), (measured.shrunk, shrunk)):
            kept.setdefault(number, []).extend((np.abs(values - x) / np.maximum(x, 1))[some])


def print_line(one: Table, two: Table, ell: int, together: bool, measured: Measured) -> None:
    """One line of the table."""
    errors = [
        f"{np.mean(measured.unbiased.get(n) or [np.nan]):.3f} / "
        f"{np.mean(measured.shrunk.get(n) or [np.nan]):.3f}"
        for n in range(len(BINS))
    ]
    held = [
        f"{np.mean(measured.inside[kind]):.3f}" if kind in measured.inside else "-"
        for kind in ("pairs", "each", "formulas")
    ]
    name = f"{one.name} x {two.name.partition(', ')[2]}"
    method = "together" if together else "apart"
    print(f"| {name} | {ell} | {method} | {' | '.join([*errors, *held])} |", flush=True)


if __name__ == "__main__":
    main()
