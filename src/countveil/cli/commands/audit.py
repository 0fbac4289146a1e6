"""`countveil audit`: attack a planned or finished release."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countveil.cli.options import (
    NOTHING_GIVEN,
    CommonOption,
    ContactOption,
    EllOption,
    ForceReportOption,
    FormatOption,
    Given,
    Groups,
    GroupsOption,
    InputArgument,
    LedgerKeyOption,
    OddsOption,
    ProtectedOption,
    ReportOption,
    Residue,
    ResidueOption,
    TitleOption,
    TogetherOption,
    reading_and_shaping,
    with_common,
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
    from countveil.auditing.summary import Audit


@with_table_options
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
            "repetition, correlation, odds, implementation, series. May be repeated, or separated "
            "by commas.",
        ),
    ] = None,
    earlier: Annotated[
        list[str] | None,
        typer.Option(
            "--earlier",
            metavar="DIR[=TABLE]",
            help="With --release: an earlier release of the same people, attacked together with "
            "it; and the table that it was made of, if INPUT is not the same any more. May be "
            "repeated.",
        ),
    ] = None,
    ledger: Annotated[
        Path | None,
        typer.Option("--ledger", metavar="FILE", help="With --release: attack its ledger too."),
    ] = None,
    ledger_key: LedgerKeyOption = None,
    report: ReportOption = None,
    force: ForceReportOption = False,
    title: TitleOption = "",
    contact: ContactOption = "",
    shaping: Given = NOTHING_GIVEN,
    groups: GroupsOption = Groups.MIXED,
    common: CommonOption = None,
    residue: ResidueOption = Residue.ABSORB,
    odds: OddsOption = None,
    together: TogetherOption = None,
    source: Given = NOTHING_GIVEN,
    style: FormatOption = Format.TABLE,
) -> None:
    """Attack a release of INPUT and report what was learnt against what is promised.

    Without --release a trial is published into a temporary place and attacked, with every row
    linked to its person. With --release the finished release is attacked as a real adversary
    would: rows with a unique combination of non-sensitive values are linked. The options must be
    those of the publication.

    First comes how exposed people are: how strongly somebody who knows the other columns, and how
    the value depends on them, believes what is true, without the release and with it. Then follow
    the claims, attack by attack.

    Releases that a ledger holds together are attacked together: --release names the newest, and
    --earlier the others. Without --release, --attacks series publishes a series of INPUT with a
    ledger of its own, and attacks it.

    Exit code 1 when a measured figure contradicts a claim beyond chance. All tests together raise
    a false alarm with probability 1e-4 at most. The result holds shares and counts, and no value
    of any row, but it comes from the true table and is for the publisher only.

    Example: countveil audit census.csv -s occupation --ell 5 --report audit.html
    """
    from countveil.auditing.auditor import run_audit
    from countveil.auditing.series.auditor import SeriesFiles
    from countveil.publishing.settings import Protecting, about_today
    from countveil.report.whole_file import check_file, write_file
    from countveil.tables import input_files

    protecting = Protecting.of(
        with_ell(sensitive, ell), groups=groups, residue=residue, common=with_common(common),
        odds=odds, together=with_together(together),
    )  # fmt: skip
    named = [name for text in attacks or () for name in text.split(",") if name]
    before = dict(map(_folder_and_table, earlier or ()))
    files = SeriesFiles.of(before, ledger, ledger_key)
    with progress_shown() as progress:
        reading, shape = reading_and_shaping(source, shaping, progress)
        if report is not None:
            read = [*input_files(table), *shape.files, *([] if release is None else [release])]
            read += [Path(folder) for folder in before]
            read += [file for file in (ledger, ledger_key) if file is not None]
            check_file(report, "the report", force=force, inputs=read)
        audit = run_audit(
            table, protecting, release=release, attacks=named, reading=reading, shaping=shape,
            about=about_today(title, contact), series=files,
        )  # fmt: skip
    if report is not None:
        write_file(report, audit.to_html(), "the report", private=True)
    _print(audit, style)
    if not audit.passed:
        raise typer.Exit(1)


def _folder_and_table(given: str) -> tuple[str, str | None]:
    """DIR or DIR=TABLE; a folder may have a = in its name."""
    folder, _, table = given.partition("=")
    return (given, None) if not table or Path(given).exists() else (folder, table)


def _print(audit: Audit, style: Format) -> None:
    names, rows = audit.table()
    if style is Format.JSON:
        print(as_json(audit.as_dict()))
        return
    if style is Format.CSV:
        print_rows(names, rows, style)
        return
    for sentence in audit.headline():
        print_paragraph(sentence)
    for sentence in (audit.attacked(), *audit.promised()):
        print_paragraph(sentence)
    for heading, lines in audit.by_adversary():
        print()
        print_paragraph(heading)
        print_table(("attack", "claimed", "measured", "verdict"), lines, widths=(28, 22, 24, 11))
    print()
    for sentence in audit.conclusions():
        print_paragraph(sentence)
