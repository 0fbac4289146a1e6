"""The public function `publish`.

Enters: a table and flat keyword options. Leaves: the release, opened. Must not know: how any of it
is done.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Unpack
from warnings import warn

from countveil.asking.release import Release
from countveil.engines.choice import chosen_engine
from countveil.errors import SettingsError, option
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
    progress: Progress | None = None,
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

    `table` is a path, folder or glob (CSV, Parquet, Arrow, SPSS, Stata, SAS, Excel), a database
    ("sqlite:FILE#table", "duckdb:FILE#table", "postgresql://user@host/database#schema.table"), a
    pandas frame (without its index), a Polars frame (eager or lazy), an Arrow table, reader or
    dataset, a DuckDB relation, or anything else that exports Arrow.
    `sensitive` maps columns to their ell, or lists columns that share `ell`. `groups` is "mixed"
    (groups of different values), "random" (any rows; for columns in which some values are
    frequent) or "anatomy" (the paper's rule). In mixed groups, `common` values may repeat: "auto"
    for the frequent ones, or {"country": "United States"}. With `odds=20`, noise over the declared
    values (`domain`) comes first, so that no row changes the odds of a value by a larger factor.
    `together=True`, or some columns, publishes their values as one vector, with random groups.
    `seed` is for experiments: a seeded
    release says so.

    Columns that look like identifiers, give a sensitive value away (everywhere or in a part of the
    table) or are too fine to protect stop it until each is named in `drop` or `keep`. `person` is
    the column that identifies the person of a row. `bins` puts numbers into classes (10, "q10" or
    edges) and dates into periods ("month"), `merge` gives values common labels (a mapping, a CSV
    file, or "rare:50" for all rare ones), `domain` declares a
    column's values (a list, or a file), `sign` is the file of an Ed25519 private key. `weight` is
    the plain column with the survey weight of each row, with which questions can then be weighted.
    `class_values` gives the numbers that stand for the classes of a column in averages: two for the
    first and the last class, or one for each.
    `memory` ("1GB") limits the memory used; what does not fit goes to an encrypted file in `spill`.
    A release in `to` is replaced with `force` and `again`. Two releases of the same people,
    combined, reveal more than either allows: `again=True` says that nobody else has ever had the
    other one, or that it is about other people. It is needed too where a release beside `to` seems
    to be of the same people. A private record beside `to`, with hashes of who was published, makes
    it warn where they were published before; `record=False` keeps and reads none.
    With a `ledger` (`Ledger.init`) and a `person`, the release continues earlier ones: known cases
    publish what they did, new ones are drawn as a batch. If these are too few or too much alike,
    `hold=True` lets them wait. `ledger_key` is the file with its key, if that is not beside it.
    `private_report` is an HTML file for you only: the truth beside what was published.
    `dry_run=True` does everything but publish. What comes back has the `manifest`, `rows`,
    `columns` and `ell` of what would be published, and answers no questions; print it.
    Data are written as `output_format` (parquet, csv, csv.gz, arrow, stata, spss), with
    `rows_per_file` rows each. `title` and `contact` are published with the release, with the day.
    `metadata=("ddi", "croissant", "dcat")` adds descriptions for archives and catalogues, which
    hold only what is published anyway.
    With `engine="spark"` (the extra `spark`), and for a data frame of Spark, the rows stay on its
    cluster: `table` is what Spark reads, `to` an address that it can write to, `master` the address
    of a cluster, if there is no session yet.

    `recipe` is a TOML file with any of these options, as `countveil recipe new` writes it; what the
    call itself says goes before it, and `cv.publish(recipe="census.toml")` is enough.

    How the table is read, in every function that takes one: `missing` lists texts that mean a
    missing value; for CSV files, `delimiter`, `quote` ("" for none), `encoding`, `decimal_comma`,
    and `header=False` if the first line is data. `where` ("age >= 18") keeps the rows that meet
    it, `columns` publishes these and the protected ones alone, `labels` ({"sex": {1: "F", 2: "M"}},
    or a CSV file per column) puts labels in place of codes. `query` is a SELECT for a database.
    `levels` cuts codes ("prefix:3", or (file, level) of a hierarchy), `round`, `top` and `bottom`
    coarsen numbers, `one_per` ({"patient": "first by admitted"}) keeps one row of each person.
    """
    if not os.fspath(to):
        raise SettingsError(f"Name a folder for the release: {option('to', 'release')}.")
    protecting = Protecting.of(sensitive, ell, groups, residue, seed, common, odds, together)
    chosen = chosen_engine(engine, table, master)
    reading, shaping = table_options(
        drop=drop, keep=keep, person=person, weight=weight, bins=bins,
        class_values=class_values, merge=merge, domain=domain,
        memory=memory, spill=spill, progress=progress, **options,
    )  # fmt: skip
    writing = Writing.of(
        to, force=force, again=again, dry_run=dry_run, output_format=output_format,
        rows_per_file=rows_per_file, sign=sign, private_report=private_report,
        title=title, contact=contact, recipe=recipe, ledger=ledger, ledger_key=ledger_key,
        hold=hold, record=record, metadata=metadata,
    )  # fmt: skip
    shaping = shaping.seeded(seed)
    done = run_publish(table, protecting, writing, reading=reading, shaping=shaping, engine=chosen)
    for text in done.warnings:
        warn(text, stacklevel=3)
    if dry_run:
        return Release.planned(to, done.manifest)
    return Release(to, engine="embedded" if chosen.local else "spark")
