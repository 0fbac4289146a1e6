"""`countveil compare`: other ways to publish, tried out on the same table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from countveil.cli.options import (
    BinsOption,
    DomainOption,
    DropOption,
    EllOption,
    FormatOption,
    InputArgument,
    MergeOption,
    ProtectedOption,
    choices_of,
    with_ell,
)
from countveil.cli.output import (
    Format,
    as_json,
    print_paragraph,
    print_rows,
    print_table,
    progress_shown,
)
from countveil.cli.source_options import NOTHING_SAID, with_source_options
from countveil.errors import SettingsError

if TYPE_CHECKING:
    from countveil.comparing import Comparison


@with_source_options
def command(
    table: InputArgument,
    sensitive: ProtectedOption,
    ell: EllOption = None,
    epsilon: Annotated[
        float, typer.Option("--epsilon", help="The whole budget of differential privacy.")
    ] = 0.05,
    queries: Annotated[
        int, typer.Option("--queries", help="How many predicates that budget has to pay for.")
    ] = 100,
    releases: Annotated[
        int, typer.Option("--releases", help="How often each method publishes; more is exacter.")
    ] = 5,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Also write an HTML page with charts."),
    ] = None,
    drop: DropOption = None,
    bins: BinsOption = None,
    domain: DomainOption = None,
    merge: MergeOption = None,
    seed: Annotated[
        int | None,
        typer.Option("--seed", help="The same seed tries the same things (but for Laplace noise)."),
    ] = None,
    source: dict[str, Any] = NOTHING_SAID,
    style: FormatOption = Format.TABLE,
) -> None:
    """Compare ways to publish on INPUT: how far off counts are, and what is given away.

    Decoy groups with our defaults and with the paper's own choices, Anatomy, Laplace noise, the
    global randomisation of the paper (mechanism A), k-ary randomised response and an invariant PRAM
    publish the same rows several times and are asked the same counts. Tables of more than 200,000
    rows are compared on so many of them, spread evenly. Nothing is published.

    Laplace noise is OpenDP's: pip install 'countveil[study]'. Without it that line is left out. The
    result is made from the true table, and is for the publisher's eyes.

    Example: countveil compare census.csv -s occupation --ell 5 --report compare.html
    """
    from countveil.comparing.comparer import run_compare
    from countveil.report.whole_file import check_file, write_file

    if report is not None:
        check_file(report, "the report", replace=True)
    if len(sensitive) > 1:
        raise SettingsError(
            f"Methods are compared on one sensitive column at a time; {len(sensitive)} were named. "
            f"Name one; the others can stay as ordinary columns, or go with --drop."
        )
    ((column, own),) = with_ell(sensitive, ell).items()
    choices = choices_of(drop=drop, bins=bins, domain=domain, merge=merge, source=source)
    with progress_shown() as tell:
        found = run_compare(
            table, column, own, epsilon=epsilon, queries=queries, releases=releases,
            choices=choices, seed=seed, progress=tell,
        )  # fmt: skip
    if report is not None:
        write_file(report, found.to_html(), "the report", private=True)
    _print(found, style)


def _print(found: Comparison, style: Format) -> None:
    from countveil.comparing.outcome import ACCURACY, PROTECTION

    if style is Format.JSON:
        print(as_json(found.as_dict()))
        return
    if style is Format.CSV:
        print_rows(*found.table(), style)
        return
    print_paragraph(found.head())
    print()
    print_paragraph(ACCURACY)
    print_table(*found.accuracy_table())
    print_paragraph(found.basis())
    print()
    print_paragraph(PROTECTION)
    print_table(*found.protection_table())
    print_paragraph(found.terms())
    print()
    for text in found.abouts():
        print_paragraph(text, bullet="- ")
