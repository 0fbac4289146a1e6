"""`countveil advise`: which method and ell for a table, tried out on the table itself."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countveil.cli.options import (
    NOTHING_GIVEN,
    ForceReportOption,
    FormatOption,
    Given,
    InputArgument,
    ReportOption,
    SensitiveOption,
    as_typed,
    reading_and_shaping,
    with_common,
    with_table_options,
    with_together,
)
from countveil.cli.output import (
    Format,
    as_json,
    command_name,
    print_paragraph,
    print_rows,
    print_table,
    progress_shown,
)
from countveil.display import visible

if TYPE_CHECKING:
    from countveil.publishing.advise.advice import ColumnAdvice
    from countveil.publishing.advise.methods import MethodFigures
    from countveil.publishing.advise.pairs.compare import PairAdvice
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
        str | None,
        typer.Option(
            "--questions",
            metavar="FILE|SQL",
            help="Your own questions, in SQL with semicolons between them, or a file of them: each "
            "is tried out, with mixed groups where they are possible, or as --groups or --common "
            "say.",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            "--groups",
            metavar="mixed|random",
            help="Only mixed groups, or only random ones. Without it all methods are compared.",
        ),
    ] = None,
    common: Annotated[
        list[str] | None,
        typer.Option(
            "--common",
            metavar="auto|COL=VALUE",
            help="Only mixed groups in which values repeat: the frequent ones are tried, at every "
            "ell, whichever are named here.",
        ),
    ] = None,
    odds: Annotated[
        float | None,
        typer.Option(
            "--odds",
            metavar="K",
            help="Also try every method with noise that bounds the odds by K, and show what other "
            "bounds would cost. The values must be declared (--domain).",
        ),
    ] = None,
    together: Annotated[
        list[str] | None,
        typer.Option(
            "--together",
            metavar="[COL,COL]",
            help="All columns together, or these. Without it, columns are compared apart and "
            "together, two at a time. May be repeated.",
        ),
    ] = None,
    report: ReportOption = None,
    force: ForceReportOption = False,
    advising: Given = NOTHING_GIVEN,
    seed: Annotated[
        int | None, typer.Option("--seed", help="The same seed gives the same figures.")
    ] = None,
    source: Given = NOTHING_GIVEN,
    style: FormatOption = Format.TABLE,
) -> None:
    """Find a method and an ell: what each costs in accuracy and gains in protection.

    Every feasible ell is tried out on the table: how far counts of different sizes would be off,
    which small counts that combine columns stay hidden, how much a single published row reveals.
    Mixed groups, common values and random groups are then set side by side, with the mean belief in
    the true value of a row and how far each is from the best that any method could do.
    With --questions, your own are answered by trial releases and compared with the truth.
    Then follow, in words, a recommendation for your goals, why no larger ell is feasible, what
    would make it so, and the command that publishes as recommended. Nothing is published.

    Example: countveil advise census.csv -s occupation --accuracy 1%:10% --hide 20
    """
    # The algebra library's threads burn time while they wait, and gain nothing on such matrices.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from countveil.publishing.advise.adviser import run_advise
    from countveil.publishing.advise.methods import chosen_methods
    from countveil.publishing.advise.recommend import Goal
    from countveil.report.whole_file import check_file, write_file
    from countveil.tables import input_files

    goal, methods = Goal.of(accuracy, hide), chosen_methods(groups, with_common(common))
    with progress_shown() as progress:
        reading, shaping = reading_and_shaping(source, advising, progress)
        if report is not None:
            asked = [Path(questions)] if questions and os.path.isfile(questions) else []  # noqa: PTH113
            read = [*input_files(table), *shaping.files, *asked]
            check_file(report, "the report", force=force, inputs=read)
        advice = run_advise(
            table, sensitive, reading=reading, shaping=shaping, goal=goal, seed=seed,
            questions=questions, methods=methods, odds=odds, together=with_together(together),
        )  # fmt: skip
    line = advice.publish_line(table, command_name(), [*as_typed(source), *as_typed(advising)])
    if report is not None:
        write_file(report, advice.to_html(line), "the report", private=True)
    if style is Format.JSON:
        told = advice.as_dict()
        for name in advice.columns:
            told[name]["publish"] = line
        print(as_json(told))
        return
    if style is Format.CSV:
        _print_csv(list(advice.columns.values()))
        return
    for column in advice.columns.values():
        _print_column(column)
    for pair in advice.pairs:
        _print_pair(pair)
    for question in advice.questions:
        _print_question(question)
    if line:
        print("\nTo publish it so, check and adapt:")
        print(visible(f"  {line}"))


def _print_column(column: ColumnAdvice) -> None:
    from countveil.publishing.advise.tables import (
        METHODS_HEAD,
        accuracy_table,
        basis_sentence,
        costs_sentence,
        costs_table,
        methods_sentence,
        methods_table,
        protection_table,
        recommended,
    )

    print(visible(f"{column.column}: {column.rows:,} {column.unit}"))
    if column.lines:
        print("\nExpected relative error of counts of this share of the table, mixed groups:")
        print_table(*accuracy_table(column))
        print_paragraph(basis_sentence(column))
        print("\nSeeing a value in a row multiplies the odds that it is true by:")
        print_table(*protection_table(column))
    if column.methods:
        print(f"\n{METHODS_HEAD}:")
        print_table(*methods_table(column))
        print_paragraph(methods_sentence(column))
        print()
    if column.costs:
        print("What a bound on the odds costs:")
        print_table(*costs_table(column))
        print_paragraph(costs_sentence(column))
        print()
    print_paragraph(f"Recommendation: {recommended(column)}")
    for sentence in (column.larger, *column.notes):
        print_paragraph(sentence, bullet="- ")
    print()


def _print_pair(pair: PairAdvice) -> None:
    from countveil.publishing.advise.pairs.advice import pair_head, pair_sentences, pair_table

    print(visible(f"{pair_head(pair)}:"))
    print_table(*pair_table(pair))
    about, recommended = pair_sentences(pair)
    print_paragraph(about)
    print()
    print_paragraph(recommended)
    print()


def _print_question(question: QuestionAdvice) -> None:
    from countveil.publishing.advise.tables import (
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
        taken = column.recommendation.method, column.recommendation.ell
        places = {one.ell: one for one in column.methods if one.method == "mixed"}
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
                "recommended": ("mixed", line.ell) == taken,
                **_method_fields(places[line.ell]),
            }
            names = list(flat)
            rows.append(list(flat.values()))
        for other in column.methods:
            if other.method != "mixed":
                flat = {
                    "column": column.column,
                    "ell": other.ell,
                    **dict.fromkeys(("odds_rarest", "odds_median", "odds_most_frequent")),
                    **{f"error_{share_text(s)}": error for s, error in other.errors.items()},
                    "hidden_up_to": other.hidden_up_to,
                    **dict.fromkeys(("condition", "candidates")),
                    "recommended": (other.method, other.ell) == taken,
                    **_method_fields(other),
                }
                names = list(flat)
                rows.append(list(flat.values()))
    print_rows(names, rows, Format.CSV)


def _method_fields(line: MethodFigures) -> dict[str, object]:
    names = (
        "method", "published_belief", "largest_belief", "mean_belief", "error", "distance",
        "odds", "gamma", "epsilon",
    )  # fmt: skip
    return {name: getattr(line, name) for name in names}
