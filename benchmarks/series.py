"""The same people in twelve releases: what is believed about them, with a ledger and without one.

`python -m benchmarks.series` publishes the built-in census (and ACS 2024, where it is at hand) once
a month, with a ledger and independently, and lets somebody who has all releases of the year guess.
It prints a table; with `--figure FILE` it draws the first of them.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

import countveil as cv
from benchmarks.tables import tables
from countveil.maths.channel import view_of_release
from countveil.report.chart import Axis, Chart, Line, picture

MONTHS, ELL, SHOWN = 12, 5, (1, 2, 3, 6, 12)
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Year:
    """After each month: how many persons are guessed right, and how many are believed above 0.9."""

    right: list[float]
    above: list[float]


def main() -> None:
    """Print a table, and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--figure", type=Path)
    options = parser.parse_args()
    print("| table | releases | " + " | ".join(f"after {month}" for month in SHOWN) + " |")
    print("|---|---|" + "---|" * len(SHOWN))
    for number, table in enumerate(tables(options.rows, 0)):
        ways = {
            "independent": guessed(table.codes, ledger=False),
            "with a ledger": guessed(table.codes, ledger=True),
        }
        for way, year in ways.items():
            cells = [f"{year.right[m - 1]:.3f} ({year.above[m - 1]:.3f})" for m in SHOWN]
            print(f"| {table.name} | {way} | {' | '.join(cells)} |", flush=True)
        if number == 0 and options.figure is not None:
            options.figure.write_text(picture(drawn(ways)), encoding="utf-8")


def guessed(codes: Codes, *, ledger: bool) -> Year:
    """Publish the same people month by month; the best guess of who has all releases so far."""
    n_values = int(codes.max()) + 1
    shares = np.bincount(codes, minlength=n_values) / codes.size
    belief = np.tile(np.log(shares), (codes.size, 1))
    right, above = [], []
    before = np.full(codes.size, -1, np.int64)
    for shown in releases(codes, ledger=ledger):
        # A release that shows what the one before it did is no further evidence, and he knows it.
        if not (shown == before).all():
            published = np.bincount(shown, minlength=n_values)
            whole = view_of_release(published, codes.size, ELL, "mixed").whole
            assert whole is not None
            belief += np.log(np.maximum(whole, 1e-12))[:, shown].T
        before = shown
        best = belief.max(axis=1, keepdims=True)
        certain = 1 / np.exp(belief - best).sum(axis=1)
        right.append(float((belief.argmax(axis=1) == codes).mean()))
        above.append(float((certain > 0.9).mean()))
    return Year(right, above)


def releases(codes: Codes, *, ledger: bool) -> Iterator[Codes]:
    """What every person publishes, month by month."""
    labels = np.char.add("value ", np.arange(codes.max() + 1).astype(str))
    people = pa.table(
        {
            "person": [f"person {number}" for number in range(codes.size)],
            "row": np.arange(codes.size),
            "value": labels[codes],
        }
    )
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        book = cv.Ledger.init(folder / "ledger") if ledger else None
        for month in range(MONTHS):
            to = folder / f"release-{month}"
            cv.publish(
                people, {"value": ELL}, to, person="person", keep=["row", "value"], ledger=book,
                again=True,
            )  # fmt: skip
            rows = pq.read_table(to / "data").sort_by("row")
            texts = rows["value"].cast(pa.string()).to_pylist()
            yield np.array([int(text.removeprefix("value ")) for text in texts])


def drawn(ways: dict[str, Year]) -> Chart:
    """How many persons are guessed right, by the number of releases."""
    months = list(range(1, MONTHS + 1))
    lines = [Line(f"{way}: guessed right", months, year.right) for way, year in ways.items()]
    lines.append(
        Line("independent: believed above 0.9", months, ways["independent"].above, hue=0,
             dash="dotted")
    )  # fmt: skip
    return Chart(
        "The same people in one to twelve releases", "releases that somebody has",
        "share of the persons", lines, description=(
            f"Guessed right after 1 and after {MONTHS} releases, at ell {ELL}: "
            + "; ".join(f"{w}, {y.right[0]:.2f} and {y.right[-1]:.2f}" for w, y in ways.items())
        ),
        x_axis=Axis(1, MONTHS), y_axis=Axis(0, 0.7),
    )  # fmt: skip


if __name__ == "__main__":
    main()
