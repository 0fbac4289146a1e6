"""`countveil compare`: other ways to publish, tried out on the same table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from countveil.cli.options import (
    NOTHING_GIVEN,
    EllOption,
    ForceReportOption,
    FormatOption,
    Given,
    InputArgument,
    OddsOption,
    ProtectedOption,
    ReportOption,
    TogetherOption,
    reading_and_shaping,
    with_ell,
    with_table_options,
    with_together,
)
from countveil.cli.output import (
    Format,
    as_json,
    print_paragraph,
    print_rows,
    print_table,
    progress_shown,
)

if TYPE_CHECKING:
    from countveil.comparing import Comparison


@with_table_options
def command(
    table: InputArgument,
    sensitive: ProtectedOption,
    ell: EllOption = None,
    together: TogetherOption = None,
    odds: OddsOption = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="The whole budget of differential privacy.")
    ] = 0.05,
    queries: Annotated[
        int, typer.Option("--queries", help="How many predicates that budget has to pay for.")
    ] = 100,
    releases: Annotated[
        int,
        typer.Option(
            "--releases", help="How often each method publishes; more give more precise figures."
        ),
    ] = 5,
    report: ReportOption = None,
    force: ForceReportOption = False,
    recoding: Given = NOTHING_GIVEN,
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", help="The same seed gives the same figures, except for Laplace noise."
        ),
    ] = None,
    source: Given = NOTHING_GIVEN,
    style: FormatOption = Format.TABLE,
) -> None:
    """Compare ways to publish on INPUT: how far off counts are, and what is given away.

    Decoy groups (mixed, with common values, random, and with the paper's choices), Anatomy, Laplace
    noise, the global randomisation of the paper (mechanism A), k-ary randomised response and an
    invariant PRAM publish the same rows several times and answer the same questions. A method that
    a column is not eligible for is left out, with the reason. Of a table with more than 200,000
    rows, that many are used, evenly spread. Nothing is published.

    The last table sets the mean belief in the true value of a row against accuracy, beside the best
    that any way to publish rows could do.

    With --together several columns are compared at once: ours together and apart, the others on
    their combinations. With --odds noise comes first: beside randomised response at the same bound.

    Laplace noise is OpenDP's: pip install '.[study]'. Without it that line is left out. The
    result comes from the true table and is for the publisher only.

    Example: countveil compare census.csv -s occupation --ell 5 --report compare.html
    """
    from countveil.comparing.comparer import run_compare
    from countveil.publishing.settings import Protecting
    from countveil.report.whole_file import check_file, write_file
    from countveil.tables import input_files

    protecting = Protecting.of(
        with_ell(sensitive, ell), seed=seed, odds=odds, together=with_together(together)
    )
    with progress_shown() as progress:
        reading, shaping = reading_and_shaping(source, recoding, progress)
        if report is not None:
            read = [*input_files(table), *shaping.files]
            check_file(report, "the report", force=force, inputs=read)
        comparison = run_compare(
            table, protecting, epsilon=epsilon, queries=queries, releases=releases,
            reading=reading, shaping=shaping,
        )  # fmt: skip
    if report is not None:
        write_file(report, comparison.to_html(), "the report", private=True)
    _print(comparison, style)


def _print(comparison: Comparison, style: Format) -> None:
    from countveil.comparing.outcome import ACCURACY, FRONTIER, PROTECTION

    if style is Format.JSON:
        print(as_json(comparison.as_dict()))
        return
    if style is Format.CSV:
        print_rows(*comparison.table(), style)
        return
    print_paragraph(comparison.head())
    print()
    print_paragraph(ACCURACY)
    print_table(*comparison.accuracy_table())
    print_paragraph(comparison.basis())
    print()
    print_paragraph(PROTECTION)
    print_table(*comparison.protection_table())
    print_paragraph(comparison.terms())
    print()
    print_paragraph(FRONTIER)
    print_table(*comparison.frontier_table())
    print_paragraph(comparison.frontier_terms())
    print()
    for text in comparison.abouts():
        print_paragraph(text, bullet="- ")
