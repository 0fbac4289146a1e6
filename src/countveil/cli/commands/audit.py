"""`countveil audit`: attack a planned or finished release."""

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
    Groups,
    GroupsOption,
    InputArgument,
    KeepOption,
    MergeOption,
    PersonOption,
    ProtectedOption,
    Residue,
    ResidueOption,
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

if TYPE_CHECKING:
    from countveil.auditing.summary import Audit


@with_source_options
def command(
    table: InputArgument,
    sensitive: ProtectedOption,
    ell: EllOption = None,
    release: Annotated[
        Path | None,
        typer.Option(
            "--release", metavar="DIR", help="Attack this release of INPUT; without it, a plan."
        ),
    ] = None,
    attacks: Annotated[
        list[str] | None,
        typer.Option(
            "--attacks",
            metavar="NAME",
            help="Only these: linkage, reconstruction, elimination, neighbours, small-counts, "
            "repetition, correlation, implementation. May be repeated, or separated by commas.",
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Also write an HTML page with charts."),
    ] = None,
    drop: DropOption = None,
    keep: KeepOption = None,
    person: PersonOption = None,
    bins: BinsOption = None,
    domain: DomainOption = None,
    merge: MergeOption = None,
    groups: GroupsOption = Groups.MIXED,
    residue: ResidueOption = Residue.ABSORB,
    source: dict[str, Any] = NOTHING_SAID,
    style: FormatOption = Format.TABLE,
) -> None:
    """Attack a release of INPUT and report what was learnt against what is promised.

    Without --release a trial is published into a temporary place and attacked, with every row
    linked to its person. With --release the finished release is attacked as a real adversary
    would: rows are linked that are alone with their non-sensitive values. The options must be
    those of the publication.

    Exit code 1 when a measured figure contradicts a claim beyond chance. All tests together raise
    a false alarm with probability 1e-4 at most. The result holds shares and counts, no value of
    any row; it is made from the true table all the same, and is for the publisher's eyes.

    Example: countveil audit census.csv -s occupation --ell 5 --report audit.html
    """
    from countveil.auditing.auditor import run_audit
    from countveil.publishing.publisher import column_settings
    from countveil.report.whole_file import check_file, write_file

    if report is not None:
        check_file(report, "the report", replace=True)
    settings = column_settings(with_ell(sensitive, ell), None, groups, residue)
    named = [name for text in attacks or () for name in text.split(",") if name]
    choices = choices_of(
        drop=drop, keep=keep, person=person, bins=bins, domain=domain, merge=merge, source=source
    )
    with progress_shown() as tell:
        found = run_audit(
            table, settings, release=release, attacks=named, choices=choices, progress=tell
        )
    if report is not None:
        write_file(report, found.to_html(), "the report", private=True)
    _print(found, style)
    if not found.passed:
        raise typer.Exit(1)


def _print(found: Audit, style: Format) -> None:
    names, rows = found.table()
    if style is Format.JSON:
        print(as_json(found.as_dict()))
        return
    if style is Format.CSV:
        print_rows(names, rows, style)
        return
    print_paragraph(found.sentences()[0])
    for heading, lines in found.by_adversary():
        print()
        print_paragraph(heading)
        print_table(("attack", "claimed", "measured", "verdict"), lines, widths=(28, 22, 24, 11))
    print()
    for sentence in found.sentences()[1:]:
        print_paragraph(sentence)
