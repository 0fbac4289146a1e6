"""docs/study.md from the results alone: every number, every verdict.

Enters: the CSV files. Leaves: the text of the page. Must not know: data, methods, how anything was
measured. `python -m study page` writes it; a test compares it with the committed results.
"""

from __future__ import annotations

from pathlib import Path

from study.charts import FIGURES
from study.page import about_errors, about_others, beyond, sections
from study.page.captions import CAPTIONS
from study.page.claims import Claim, Judged
from study.page.numbers import Numbers
from study.results import Results

PAGE = Path(__file__).parents[2] / "docs" / "study.md"

CLAIMS: tuple[Claim, ...] = (
    about_errors.utility_threshold,
    about_errors.small_sums,
    about_errors.large_counts,
    about_errors.other_large_counts,
    about_errors.decreases_then_rises,
    about_errors.alone,
    about_errors.small_counts,
    about_others.against_anatomy,
    about_others.no_correlation_with_rows,
    about_others.against_laplace,
    about_others.linear_in_queries,
    about_others.against_mechanism_a,
    about_errors.two_attributes,
    about_errors.not_narrowed,
    about_others.publishing_time,
    about_others.answering_time,
    about_others.rounds,
)


def judged(results: Results) -> list[Judged]:
    """Every claim beside what was found."""
    return [claim(Numbers(results)) for claim in CLAIMS]


def study_page(results: Results) -> str:
    """The whole page."""
    numbers = Numbers(results)
    claims = judged(results)
    table = [
        "| | the paper claims | its own choices gave | countveil gave | verdict |",
        "|---|---|---|---|---|",
        *(claim.line(number) for number, claim in enumerate(claims, start=1)),
    ]
    figures = [
        f"### {sections.HEADINGS[name]}\n\n![{sections.HEADINGS[name]}](../study/figures/{name}.svg)"
        f"\n\n{CAPTIONS[name](numbers)}"
        for name in FIGURES
    ]
    parts = [
        sections.opening(numbers, claims),
        "\n".join(table),
        sections.explained(numbers),
        sections.promised(numbers),
        sections.lost(numbers),
        sections.protection(numbers),
        beyond.skewed(numbers),
        beyond.crossed(numbers),
        beyond.bounded_odds(numbers),
        "## Figures\n\n" + sections.BARS,
        *figures,
        sections.method(numbers),
    ]
    return "\n\n".join(parts) + "\n"
