"""What the statement says about counts is what the mechanism does, computed and drawn."""

from __future__ import annotations

import os
import re
from fractions import Fraction
from math import comb
from pathlib import Path

import numpy as np
import pytest

from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.guarantees import statement
from countveil.maths.guarantees.binomial import binomial_lower, binomial_upper
from countveil.maths.mechanism import draw_published
from countveil.randomness import Randomness

ROOT = Path(__file__).parents[3]
DRAWS = 400
SEED = int(os.environ.get("COUNTVEIL_TEST_SEED", "20111").partition("-")[0])


def within(count: int, ell: int, error: Fraction) -> Fraction:
    """The probability from its definition: f ell rows publish the value with chance 1/ell each."""
    trials = count * ell
    near = [g for g in range(trials + 1) if abs(g - count) <= error * count]
    return sum(
        (Fraction(comb(trials, g) * (ell - 1) ** (trials - g), ell**trials) for g in near),
        Fraction(0),
    )


def said_about_counts(ell: int) -> str:
    paragraphs = statement(10_000, {"job": ell}, {"job": [5, 100, 1_000]})
    (said,) = [text for text in paragraphs if text.startswith("What is open by design.")]
    return said


@pytest.mark.parametrize("ell", [2, 3, 5, 10])
def test_the_probabilities_in_the_statement_are_exact(ell: int) -> None:
    said = said_about_counts(ell)
    five = re.search(r"5 rows have is within 30% of it with probability ([\d.]+),", said)
    hundred = re.search(r"100 rows have with probability (more than )?([\d.]+),", said)
    assert five is not None
    assert hundred is not None
    assert float(five[1]) == round(float(within(5, ell, Fraction(3, 10))), 2)
    true = float(within(100, ell, Fraction(3, 10)))
    more = bool(hundred[1])
    assert true > float(hundred[2]) if more else float(hundred[2]) == round(true, 3)


@pytest.mark.few(1)
@pytest.mark.parametrize("ell", [2, 5])
def test_a_count_of_five_is_drawn_as_often_near_five_as_the_statement_says(ell: int) -> None:
    """False alarm: 1e-6. Whatever the groups are, the draws from them are independent."""
    counts = np.array([5, *[40] * 12])
    randomness, near = Randomness(SEED), 0
    groups = form_groups(counts, ColumnSettings(ell), randomness.stream("groups"))
    for number in range(DRAWS):
        published = draw_published(groups, randomness.stream("draw", str(number))).published()
        near += abs(int(published[0]) - 5) <= 1
    # 485 rows: with ell = 2 one group has three rows, which moves the chance by less than this.
    chance = float(within(5, ell, Fraction(3, 10)))
    assert binomial_upper(near, DRAWS, chance + 0.01) > 5e-7
    assert binomial_lower(near, DRAWS, chance - 0.01) > 5e-7


def test_nothing_claims_that_whole_table_counts_are_hidden() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    sources = (ROOT / "src").rglob("*.py")
    texts = {path: " ".join(path.read_text().split()) for path in (*pages, *sources)}
    claims = ("small counts stay hidden", "Counts of five do not", "small counts are hidden")
    assert not {path.name for path, text in texts.items() for claim in claims if claim in text}


@pytest.mark.few(1)
@pytest.mark.parametrize("page", ["README.md", "docs/start/ask.md"])
def test_the_figures_on_the_first_pages_are_exact(page: str) -> None:
    text = " ".join((ROOT / page).read_text().split())
    found = re.search(
        r"with ell = 5, a count of 1,000 is within 6% with probability (\d+)%, and a count of 5 "
        r"within 30% with probability (\d+)%",
        text,
    )
    assert found is not None
    assert int(found[1]) == round(100 * float(within(1_000, 5, Fraction(6, 100))))
    assert int(found[2]) == round(100 * float(within(5, 5, Fraction(3, 10))))


@pytest.mark.parametrize("page", ["README.md", "docs/start/ask.md", "docs/guides/promise.md"])
def test_the_measured_figures_are_those_of_the_benchmark(page: str) -> None:
    text = " ".join((ROOT / page).read_text().split())
    found = re.search(
        r"truly 5, (\d+)% to (\d+)% were answered within 30%.*? truly 100, (\d+)% to (\d+)%", text
    )
    assert found is not None
    lines = (ROOT / "benchmarks" / "RESULTS.md").read_text().splitlines()
    measured = [
        [cell.strip() for cell in line.split("|")]
        for line in lines
        if "| combined with columns |" in line
    ]
    assert len(measured) == 3
    shares = [[round(100 * float(row[place])) for row in measured] for place in (4, 8)]
    said = [int(number) for number in found.groups()]
    assert said == [end(share) for share in shares for end in (min, max)]
