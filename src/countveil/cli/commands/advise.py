"""`countveil advise`: which ell for a table, tried out on the table itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countveil.cli.options import (
    NOTHING_GIVEN,
    FormatOption,
    Given,
    InputArgument,
    SensitiveOption,
    reading_and_shaping,
    with_table_options,
)
from countveil.cli.output import (
    Format,
    as_json,
    print_paragraph,
    print_rows,
    print_table,
    progress_shown,
)
from countveil.display import visible

if TYPE_CHECKING:
    from countveil.publishing.advise.advice import ColumnAdvice
    from countveil.publishing.advise.questions import QuestionAdvice


@with_table_options
def command(
    table: InputArgument,
    sensitive: SensitiveOption,
    accuracy: Annotated[
        str | None,
        typer.Option(
            "--accuracy",
            metavar="SHARE:ERROR",
            help="A goal: counts of this share of the table within this error, such as 1%:10%.",
        ),
    ] = None,
    hide: Annotated[
        int | None,
        typer.Option(
            "--hide",
            metavar="COUNT",
            help="A goal: counts that combine columns hidden up to this one.",
        ),
    ] = None,
    questions: Annotated[
        Path | None,
        typer.Option(
            "--questions",
            metavar="FILE",
            help="Your own questions, in SQL with semicolons between them: each is tried out.",
        ),
    ] = None,
    recoding: Given = NOTHING_GIVEN,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same figures.")
    ] = None,
    source: Given = NOTHING_GIVEN,
    style: FormatOption = Format.TABLE,
) -> None:
    """Find an ell: what each one costs in accuracy and gains in protection.

    Every feasible ell is tried out on the table: how far counts of different sizes would be off,
    which small counts that combine columns stay hidden, how much a single published row reveals.
    With --questions, your own are answered by trial releases and compared with the truth.
    Then follow, in words, a recommendation for your goals, why no larger ell is feasible, and what
    would make it so. Nothing is written.

    Example: countveil advise census.csv -s occupation --accuracy 1%:10% --hide 20
    """
    # The algebra library's threads burn time while they wait, and gain nothing on such matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from countveil.publishing.advise.advise import run_advise
    from countveil.publishing.advise.recommend import Goal

    goal = Goal.of(accuracy, hide)
    with progress_shown() as progress:
        reading, shaping = reading_and_shaping(source, recoding, progress)
        advice = run_advise(
            table, sensitive, reading=reading, shaping=shaping, goal=goal, seed=seed,
            questions=questions,
        )  # fmt: skip
    if style is Format.JSON:
        print(as_json(advice.as_dict()))
        return
    if style is Format.CSV:
        _print_csv(list(advice.columns.values()))
        return
    for column in advice.columns.values():
        _print_column(column)
    for question in advice.questions:
        _print_question(question)
    if len(advice.columns) > 1:
        print_paragraph(
            "Every column has its own groups. Columns that are closely associated reveal more "
            "together than each figure says."
        )


def _print_column(column: ColumnAdvice) -> None:
    from countveil.publishing.advise.advice import accuracy_table, basis_sentence, protection_table

    print(visible(f"{column.column}: {column.rows:,} rows"))
    if column.lines:
        print("\nExpected relative error of counts of this share of the table:")
        print_table(*accuracy_table(column))
        print_paragraph(basis_sentence(column))
        print("\nSeeing a value in a row multiplies the odds that it is true by:")
        print_table(*protection_table(column))
    print_paragraph(f"Recommendation: {column.recommendation.reason}")
    for sentence in (column.larger, *column.notes):
        print_paragraph(sentence, bullet="- ")
    print()


def _print_question(question: QuestionAdvice) -> None:
    from countveil.publishing.advise.advice import (
        MOST_SHOWN,
        question_sentence,
        question_table,
    )

    print_paragraph(visible(question.question, MOST_SHOWN))
    if question.figures:
        print_table(*question_table(question))
    print_paragraph(question_sentence(question), bullet="- ")
    print()


def _print_csv(columns: list[ColumnAdvice]) -> None:
    from countveil.publishing.advise.figures import share_text

    rows: list[list[object]] = []
    names: list[str] = []
    for column in columns:
        for line in column.lines:
            flat = {
                "column": column.column,
                "ell": line.ell,
                "odds_rarest": line.odds_rarest,
                "odds_median": line.odds_median,
                "odds_most_frequent": line.odds_most_frequent,
                **{f"error_{share_text(share)}": error for share, error in line.errors.items()},
                "hidden_up_to": line.hidden_up_to,
                "condition": line.condition,
                "candidates": line.candidates,
                "recommended": line.ell == column.recommendation.ell,
            }
            names = list(flat)
            rows.append(list(flat.values()))
    print_rows(names, rows, Format.CSV)
