"""Advice for people: two small tables and some sentences.

Enters: the advice for a column. Leaves: text. Must not know: how it was found. Names of values come
from data and are made harmless.
"""

from __future__ import annotations

from typing import Any

from countveil.display import text_table, visible
from countveil.publishing.advise.column import ColumnAdvice
from countveil.publishing.advise.figures import share_text


def accuracy_table(advice: ColumnAdvice) -> tuple[list[str], list[list[Any]]]:
    """Expected relative errors by the size of the count, and what is hidden."""
    shares = list(advice.lines[0].errors) if advice.lines else []
    names = ["ell", *(share_text(share) for share in shares), "hidden up to", "condition"]
    rows: list[list[Any]] = [
        [
            line.ell,
            *(None if error is None else f"{error:.1%}" for error in line.errors.values()),
            line.hidden_up_to,
            None if line.condition is None else f"{line.condition:,.1f}",
        ]
        for line in advice.lines
    ]
    return names, rows


def protection_table(advice: ColumnAdvice) -> tuple[list[str], list[list[Any]]]:
    """What a single published row does to the odds of its value, and what it leaves."""
    names = ["ell", "rarest", "median", "most frequent", "candidates"]
    rows: list[list[Any]] = [
        [
            line.ell,
            *(
                f"{odds:,.0f}" if odds >= 10 else f"{odds:.1f}"
                for odds in (line.odds_rarest, line.odds_median, line.odds_most_frequent)
            ),
            None if line.candidates is None else f"{line.candidates:.1f}",
        ]
        for line in advice.lines
    ]
    return names, rows


def basis_sentence(advice: ColumnAdvice) -> str:
    """What the figures rest on."""
    if not advice.lines:
        return ""
    numbers = advice.lines[0].predicates
    resting = ", ".join(f"{share_text(share)}: {number:,}" for share, number in numbers.items())
    some = (
        f" They were found in {advice.sampled_rows:,} of the {advice.rows:,} rows."
        if 0 < advice.sampled_rows < advice.rows
        else ""
    )
    return (
        f"Errors are means over counts of about that share of the table, estimated by the default "
        f"method from releases that were tried out; they rest on this many predicates, {resting} "
        f"(- where the table has too few counts of the size).{some} 'hidden up to': the largest "
        f"count, of those that combine columns, whose answer is off by more than 30% in half of "
        f"the cases or more."
    )


def advice_text(advice: ColumnAdvice) -> str:
    """Everything about one column."""
    parts = [f"{advice.column}: {advice.rows:,} rows\n"]
    if advice.lines:
        parts.append("Expected relative error of counts of this share of the table")
        parts.append(text_table(*accuracy_table(advice)))
        parts.append(f"{basis_sentence(advice)}\n")
        parts.append("Seeing a value in a row multiplies the odds that it is true by")
        parts.append(text_table(*protection_table(advice)))
    sentences = [f"Recommendation: {advice.recommendation.reason}", advice.larger, *advice.notes]
    return "\n".join(parts) + "".join(f"{visible(sentence)}\n" for sentence in sentences)
