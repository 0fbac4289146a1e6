"""Advice as a value, and for people: two small tables and some sentences per column.

Enters: figures of every feasible ell, a recommendation, notes. Leaves: an `Advice`, and text. Must
not know: how the figures were made. Names of values come from data and are made harmless.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from countveil.display import text_table, visible
from countveil.publishing.advise.figures import EllFigures, share_text
from countveil.publishing.advise.recommend import Recommendation

if TYPE_CHECKING:
    from countveil.publishing.advise.questions import QuestionAdvice

# What was not meant as a question may be a whole file.
MOST_SHOWN = 400


@dataclass(frozen=True, slots=True)
class ColumnAdvice:
    """One column: a line per feasible ell, and what to do."""

    column: str
    rows: int
    sampled_rows: int
    lines: Sequence[EllFigures]
    recommendation: Recommendation
    larger: str
    notes: Sequence[str]
    asked_about: Sequence[str] = ()

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return asdict(self)


@dataclass(frozen=True, slots=True)
class Advice:
    """The advice for each sensitive column, and for each question that was given; print it."""

    columns: Mapping[str, ColumnAdvice]
    questions: Sequence[QuestionAdvice] = ()

    def __getitem__(self, column: str) -> ColumnAdvice:
        return self.columns[column]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        columns = {name: column.as_dict() for name, column in self.columns.items()}
        if not self.questions:
            return columns
        return {**columns, "questions": [asdict(question) for question in self.questions]}

    def __str__(self) -> str:
        asked = [question_text(question) for question in self.questions]
        return "\n".join([*(advice_text(column) for column in self.columns.values()), *asked])

    def __repr__(self) -> str:
        return str(self)


def question_table(advice: QuestionAdvice) -> tuple[list[str], list[list[Any]]]:
    """What each ell does to one question."""
    names = ["ell", "error", "interval holds the truth", "reliable", "indicative", "hidden"]

    def share(number: float | None) -> str | None:
        return None if number is None else f"{number:.1%}"

    rows: list[list[Any]] = [
        [line.ell, share(line.error), share(line.coverage)]
        + [f"{number:.1f}" for number in (line.reliable, line.indicative, line.hidden)]
        for line in advice.figures
    ]
    return names, rows


def question_sentence(advice: QuestionAdvice) -> str:
    """What the table says, or why there is none."""
    if advice.refused is not None:
        return f"Refused: {advice.refused}"
    answers = f"{advice.answers:,} answer{'' if advice.answers == 1 else 's'}"
    return (
        f"{answers}, in trial releases. error: mean relative error; then how often the 95% "
        f"interval holds the truth, and how many answers have which verdict. {advice.reason}"
    )


def question_text(advice: QuestionAdvice) -> str:
    """Everything about one question."""
    table = text_table(*question_table(advice)) if advice.figures else ""
    return f"{visible(advice.question, MOST_SHOWN)}\n{table}{visible(question_sentence(advice))}\n"


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
    """How much a single published row changes the odds of its value, and what stays possible."""
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
    """How many predicates the figures are based on."""
    if not advice.lines:
        return ""
    numbers = advice.lines[0].predicates
    about = f" about {', '.join(advice.asked_about)}" if advice.asked_about else ""
    by_share = ", ".join(f"{share_text(share)}: {number:,}" for share, number in numbers.items())
    sampled = (
        f" They were taken from {advice.sampled_rows:,} of the {advice.rows:,} rows."
        if 0 < advice.sampled_rows < advice.rows
        else ""
    )
    return (
        f"Errors are means over counts of about that share of the table, estimated by the default "
        f"method from trial releases; they are based on this many predicates{about}: {by_share} "
        f"(- where the table has too few counts of that size).{sampled} 'hidden up to': the "
        f"largest count, of those that combine columns, whose answer is off by more than 30% in "
        f"half of the cases or more."
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
