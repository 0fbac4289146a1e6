"""The public function `publish`.

Enters: a table and flat keyword options. Leaves: the release, opened. Must not know: how any of it
is done.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Unpack
from warnings import warn

from countveil.asking.release import Release
from countveil.display import progress_shown
from countveil.engines.choice import chosen_engine
from countveil.errors import SettingsError, UnconfirmedError, option
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.tables import SourceOptions, table_options
from countveil.tables.progress import Progress
from countveil.tables.recipe import takes_recipe


@takes_recipe
def publish(
    table: object = None,
    sensitive: Mapping[str, int] | Sequence[str] | str = (),
    to: str | os.PathLike[str] = "",
    *,
    recipe: str | os.PathLike[str] | None = None,
    ell: int | None = None,
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    reasons: Mapping[str, str] | None = None,
    person: str | None = None,
    weight: str | None = None,
    bins: Mapping[str, object] | None = None,
    class_values: Mapping[str, Sequence[float] | str] | None = None,
    domain: Mapping[str, Sequence[object] | str | os.PathLike[str]] | None = None,
    merge: Mapping[str, Mapping[object, str] | str | os.PathLike[str]] | None = None,
    groups: str = "mixed",
    common: Mapping[str, object] | str | None = None,
    odds: float | None = None,
    together: bool | Sequence[str] | Sequence[Sequence[str]] = False,
    residue: str = "absorb",
    seed: int | None = None,
    force: bool = False,
    again: bool = False,
    record: bool = True,
    dry_run: bool = False,
    sign: str | os.PathLike[str] | None = None,
    progress: Progress | bool | None = None,
    memory: str | int | None = None,
    spill: str | os.PathLike[str] | None = None,
    ledger: str | os.PathLike[str] | None = None,
    ledger_key: str | os.PathLike[str] | None = None,
    hold: bool = False,
    private_report: str | os.PathLike[str] | None = None,
    output_format: str = "parquet",
    rows_per_file: int | None = None,
    title: str = "",
    contact: str = "",
    metadata: Sequence[str] | str = (),
    engine: str = "embedded",
    master: str | None = None,
    **options: Unpack[SourceOptions],
) -> Release:
    """Publish a table as a release in the folder `to`, and open the release.

    Each sensitive value is replaced by one drawn from a secret group of rows; all other columns
    are published as they are. Columns that look like identifiers, give a sensitive value away
    (everywhere or in a part of the table) or are too fine to protect stop it until each is named
    in `drop` or `keep`. docs/guides/publishing-safely.md goes through it step by step.

    Args:
        table: A path, folder or glob (CSV, Parquet, Arrow, SPSS, Stata, SAS, Excel), a database
            ("sqlite:FILE#table", "duckdb:FILE#table", "postgresql://user@host/db#schema.table"),
            a pandas frame (without its index), a Polars frame (eager or lazy), an Arrow table,
            reader or dataset, a DuckDB relation, or anything else that exports Arrow.
        sensitive: Maps columns to their ell, or lists columns that share `ell`.
        to: The folder of the release, which must not exist yet.
        recipe: A TOML file with any of these options, as `countveil recipe new` writes it; what
            the call itself says goes before it. `cv.publish(recipe="census.toml")` is enough.
        ell: The ell of the columns that `sensitive` only lists.
        drop: Columns that are not published.
        keep: Columns that are published although they look unsafe.
        reasons: Why, by column of `keep`; for the private report alone, never for the release.
        person: The column that identifies the person of a row. It is never published; all rows
            of a person with one value publish alike.
        weight: The plain column with the survey weight of each row; questions can be weighted.
        bins: Classes for numbers (10, "q10" or edges) and periods for dates ("month"), by column.
        class_values: The numbers that stand for the classes of a column in averages: two for the
            first and the last class, or one for each.
        domain: The values that a column can have (a list, or a file), which are public anyway.
        merge: Common labels for values, by column: a mapping, a CSV file, or "rare:50" for all
            rare ones.
        groups: "mixed" (groups of different values), "random" (any rows; for columns in which
            some values are frequent) or "anatomy" (the paper's rule).
        common: Values that may repeat in a mixed group: "auto" for the frequent ones, or
            {"country": "United States"}.
        odds: With 20, noise over the declared values (`domain`) comes first, so that no row
            changes the odds of a value by a larger factor.
        together: True, or some columns: their values are published as one vector, with random
            groups.
        residue: What becomes of rows that fill no group: "absorb" them or "drop" them.
        seed: For experiments: the same seed gives the same release, which says that it is seeded.
        force: Replace a release that is in `to`, together with `again`.
        again: Says that nobody else has ever had the other release, or that it is about other
            people. Two releases of the same people, combined, reveal more than either allows.
        record: Keep and read a private record beside `to`, with hashes of who was published, that
            warns where they were published before.
        dry_run: Do everything but publish. What comes back has the `manifest`, `rows`, `columns`
            and `ell` of what would be published, and answers no questions; print it.
        sign: The file of an Ed25519 private key that signs the release.
        progress: Called with the stage, the rows done and the rows in all. By
            default a bar is shown in a terminal and in a notebook; with False, nowhere.
        memory: The most memory to use ("1GB"); what does not fit goes to an encrypted file.
        spill: The folder of that file.
        ledger: The ledger of a series of releases (`Ledger.init`), with a `person`: known cases
            publish what they did, new ones are drawn as a batch.
        ledger_key: The file with the ledger's key, if that is not beside it.
        hold: Let new cases wait for a later release if they are too few or too much alike.
        private_report: An HTML file for you only: the truth beside what was published.
        output_format: How data are written: parquet, csv, csv.gz, arrow, stata or spss.
        rows_per_file: The most rows of a data file.
        title: The title of the release, published with it.
        contact: Whom to ask about the release, published with it.
        metadata: Descriptions for archives and catalogues, which hold only what is published
            anyway: some of "ddi", "croissant" and "dcat".
        engine: "embedded", or "spark" (the extra `spark`): the rows stay on its cluster, `table`
            is what Spark reads and `to` an address that it can write to; or "dask" (the extra
            `dask`): `table` is Parquet files, and `to` a folder, that all workers reach. A data
            frame of Spark or of Dask is published by its own engine in any case.
        master: The address of a Spark cluster, if there is no session yet, or of a Dask scheduler.
        **options: How the table is read and prepared: see `SourceOptions`.

    Returns:
        The release, opened; of a dry run, what it would hold.

    Raises:
        UnsafeError: A column identifies people or gives values away; the message names it.
        IneligibleError: A value is too frequent for the ell; the message says what works.
        InputError: The table cannot be read, or is not fit to be published.
        SettingsError: The options contradict each other or the table.
        TargetError: `to` cannot be written, or seems to be a second release of the same people.
        UnconfirmedError: The release is in its place and complete, but a last step after that
            failed: the message says which.
        LedgerError: The ledger is lost, old, damaged or that of other releases.
        EngineError: A cluster could not be reached, or failed.
        MissingExtraError: A format needs a library that is not installed.

    Example:
        >>> release = cv.publish(table, {"occupation": 5}, "another-release", again=True, seed=1)
        >>> release
        Release('another-release', 5,000 rows, occupation: ell 5)
        >>> release.count("gender = 'F'", occupation="nurse")
        Estimate(140 ± 41.5, 97.4 to 261, indicative)
    """
    if not os.fspath(to):
        raise SettingsError(f"Name a folder for the release: {option('to', 'release')}.")
    protecting = Protecting.of(sensitive, ell, groups, residue, seed, common, odds, together)
    chosen = chosen_engine(engine, table, master)
    reading, shaping = table_options(
        drop=drop, keep=keep, person=person, weight=weight, bins=bins,
        class_values=class_values, merge=merge, domain=domain,
        memory=memory, spill=spill, **options,
    )  # fmt: skip
    writing = Writing.of(
        to, force=force, again=again, dry_run=dry_run, output_format=output_format,
        rows_per_file=rows_per_file, sign=sign, private_report=private_report,
        title=title, contact=contact, recipe=recipe, ledger=ledger, ledger_key=ledger_key,
        hold=hold, record=record, metadata=metadata, reasons=reasons,
    )  # fmt: skip
    writing.check_reasons(shaping.keep)
    shaping = shaping.seeded(seed)
    with progress_shown(progress) as shown:
        reading = replace(reading, progress=shown)
        done = run_publish(
            table, protecting, writing, reading=reading, shaping=shaping, engine=chosen
        )
    for text in done.warnings:
        warn(text, stacklevel=3)
    if done.unconfirmed:
        raise UnconfirmedError(done.unconfirmed)
    if dry_run:
        return Release.planned(to, done.manifest)
    return Release(to, engine=chosen.name)
