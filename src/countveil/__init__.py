"""countveil: publish microdata so that large counts stay right and small counts stay hidden.

The names, in the order of the flow:

- `generate`       make a census-like table to try things on
- `inspect`        look at a table: identifiers, giveaways, the largest eligible ell
- `advise`         which ell: accuracy and protection, tried out on the table itself
- `guarantee`      what an ell promises about large and small counts
- `publish`        turn a table into a release (the publisher's side)
- `verify`         is a release still what was published?
- `open`           open a release (the analyst's side), giving a
- `Release`        which answers questions: `.sql(...)`, `.count(...)`; each answer is an
- `Estimate`       with its standard error, interval and verdict
- `export`         load a release into a database, where it can be opened too
- `audit`          attack a planned or finished release of ours, claimed beside measured
- `compare`        other ways to publish, tried out on the same table
- `CountveilError` is the base of everything that countveil refuses

Nothing heavy is imported until it is used.
"""

from __future__ import annotations

import os as _os
from collections.abc import Mapping as _Mapping
from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING
from typing import Unpack as _Unpack

from countveil.errors import CountveilError

if TYPE_CHECKING:
    from countveil.asking.release import Release
    from countveil.auditing.summary import Audit as _Audit
    from countveil.comparing import Comparison as _Comparison
    from countveil.maths.estimate import Estimate
    from countveil.maths.guarantees import Guarantee as _Guarantee
    from countveil.publishing.advise.advise import Advice as _Advice
    from countveil.publishing.advise.inspect import Inspection as _Inspection
    from countveil.release import Finding as _Finding
    from countveil.synthetic import generate
    from countveil.tables import SourceOptions as _SourceOptions
    from countveil.tables.progress import Progress as _Progress

__version__ = "0.1.0"
__all__ = [
    "CountveilError",
    "Estimate",
    "Release",
    "__version__",
    "advise",
    "audit",
    "compare",
    "export",
    "generate",
    "guarantee",
    "inspect",
    "open",
    "publish",
    "verify",
]


def inspect(
    table: object,
    *,
    sensitive: _Sequence[str] | str = (),
    **options: _Unpack[_SourceOptions],
) -> _Inspection:
    """Look at a table before publishing it: roles, identifiers, giveaways, eligible ell.

    Without `sensitive`, columns whose names sound like it are taken. `options` say how to read the
    table: see `publish`. Print what comes back.
    """
    from countveil.publishing.advise.inspect import run_inspect
    from countveil.tables import table_options

    named = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    reading, shaping = table_options(**options)
    return run_inspect(table, named, reading=reading, shaping=shaping)


def advise(
    table: object,
    sensitive: _Sequence[str] | str,
    *,
    accuracy: tuple[float, float] | None = None,
    hide: int | None = None,
    drop: _Sequence[str] | str = (),
    bins: _Mapping[str, object] | None = None,
    domain: _Mapping[str, _Sequence[object] | str | _os.PathLike[str]] | None = None,
    merge: _Mapping[str, _Mapping[object, str] | str | _os.PathLike[str]] | None = None,
    seed: int | None = None,
    progress: _Progress | None = None,
    **options: _Unpack[_SourceOptions],
) -> _Advice:
    """Which ell for a table: every feasible one is tried out on it. Print what comes back.

    `accuracy=(0.01, 0.1)` wishes for counts of 1% of the table within 10%, `hide=20` for counts up
    to 20 hidden. The other options bring the table into shape as `publish` does.
    """
    from countveil.publishing.advise.advise import run_advise
    from countveil.publishing.advise.recommend import Wish
    from countveil.tables import table_options

    reading, shaping = table_options(
        drop=drop, bins=bins, merge=merge, domain=domain, progress=progress, **options
    )
    return run_advise(
        table,
        (sensitive,) if isinstance(sensitive, str) else tuple(sensitive),
        reading=reading,
        shaping=shaping,
        wish=Wish(accuracy, hide),
        seed=seed,
    )


def guarantee(ell: int) -> _Guarantee:
    """What `ell` promises: `.utility(...)` of large counts, `.privacy(...)` of small ones.

    Each takes two of `count`, `error` and `probability` and finds the third: a number, which also
    has the ways to compute it beside it (`.exact`, `.chebyshev`, `.printed`, `.ways`).
    `.predicate(rows=, size=, share=)` is about counts that combine a value with other columns.
    """
    from countveil.maths.guarantees import Guarantee

    return Guarantee(ell)


def publish(
    table: object,
    sensitive: _Mapping[str, int] | _Sequence[str] | str,
    to: str | _os.PathLike[str],
    *,
    ell: int | None = None,
    drop: _Sequence[str] | str = (),
    keep: _Sequence[str] | str = (),
    person: str | None = None,
    bins: _Mapping[str, object] | None = None,
    domain: _Mapping[str, _Sequence[object] | str | _os.PathLike[str]] | None = None,
    merge: _Mapping[str, _Mapping[object, str] | str | _os.PathLike[str]] | None = None,
    groups: str = "mixed",
    residue: str = "absorb",
    seed: int | None = None,
    force: bool = False,
    sign: str | _os.PathLike[str] | None = None,
    progress: _Progress | None = None,
    memory: str | int | None = None,
    spill: str | _os.PathLike[str] | None = None,
    private_report: str | _os.PathLike[str] | None = None,
    output_format: str = "parquet",
    rows_per_file: int | None = None,
    engine: str = "embedded",
    master: str | None = None,
    **options: _Unpack[_SourceOptions],
) -> Release:
    """Publish a table as a release in the folder `to`, and open the release.

    `table` is a path, folder or glob (CSV, Parquet, Arrow, SPSS, Stata, SAS, Excel), a database
    ("sqlite:FILE#table", "duckdb:FILE#table", "postgresql://user@host/database#schema.table"), a
    pandas frame (without its index), a Polars frame (eager or lazy), an Arrow table, reader or
    dataset, a DuckDB relation, or anything else that exports Arrow.
    `sensitive` maps columns to their ell, or lists columns that share `ell`. `seed` is for
    experiments: a seeded release says so.

    Columns that look like identifiers or give a sensitive value away stop it until each is named in
    `drop` or `keep`. `person` is the column that says who a row is about. `bins` puts numbers into
    classes (10, "q10" or edges), `merge` gives values common labels (a mapping, or a CSV file),
    `domain` declares a column's values (a list, or a file), `sign` is the file of an Ed25519
    private key.
    `memory` ("1GB") bounds what is held at once; more goes, encrypted, through a file in `spill`.
    `private_report` is an HTML file for your own eyes: the truth beside what was published.
    Data are written as `output_format` (parquet, csv, csv.gz, arrow, stata, spss), with
    `rows_per_file` rows each.
    With `engine="spark"` (the extra `spark`), and for a data frame of Spark, the rows stay on its
    cluster: `table` is what Spark reads, `to` an address that it can write to, `master` the address
    of a cluster, if there is no session yet.

    How the table is read, in every function that takes one: `missing` lists texts that stand for a
    missing value; of CSV files, `delimiter`, `quote` ("" for none), `encoding`, `decimal_comma`,
    and `header=False` if the first line is data. `where` ("age >= 18") keeps the rows that meet
    it, `columns` publishes these and the protected ones alone, `labels` ({"sex": {1: "F", 2: "M"}},
    or a CSV file per column) puts labels in place of codes. `query` is a SELECT for a database.
    """
    from warnings import warn

    from countveil.engines.choice import chosen_engine
    from countveil.publishing.publisher import run_publish
    from countveil.publishing.settings import Protecting, Writing
    from countveil.tables import table_options

    protecting = Protecting.of(sensitive, ell, groups, residue, seed)
    where = chosen_engine(engine, table, master)
    reading, shaping = table_options(
        drop=drop, keep=keep, person=person, bins=bins, merge=merge, domain=domain,
        memory=memory, spill=spill, progress=progress, **options,
    )  # fmt: skip
    writing = Writing.of(
        to, force=force, output_format=output_format, rows_per_file=rows_per_file, sign=sign,
        private_report=private_report,
    )  # fmt: skip
    done = run_publish(table, protecting, writing, reading=reading, shaping=shaping, engine=where)
    for text in done.warnings:
        warn(text, stacklevel=2)
    return open(to, engine="embedded" if where.local else "spark")


def open(  # noqa: A001 - cv.open reads as it should
    folder: str | _os.PathLike[str], *, engine: str = "embedded", master: str | None = None
) -> Release:
    """Open a release: a folder, `postgresql://user@host/db#table` or `duckdb:FILE#table`.

    With `engine="spark"`, also on any file system that Spark reads; it is tallied on the cluster.
    """
    from countveil.asking.release import Release

    return Release(folder, engine=engine, master=master)


def verify(
    folder: str | _os.PathLike[str], *, signed_by: str | _os.PathLike[str] | None = None
) -> list[_Finding]:
    """What is wrong with a release: a list of findings, empty when it is sound.

    With `signed_by`, a file with the publisher's Ed25519 public key, its signature is checked too.
    """
    from pathlib import Path

    from countveil.release import verify_release

    key = None if signed_by is None else Path(signed_by)
    return verify_release(Path(folder), signed_by=key)


def export(folder: str | _os.PathLike[str], to: str, *, force: bool = False) -> None:
    """Load a release into a database.

    `to` is `postgresql://user@host/db#schema.table`, `duckdb:FILE#table` or `sqlite:FILE#table`.

    Its manifest goes into a side table; both appear together or not at all. `force` replaces a
    release that is there already.
    """
    from pathlib import Path

    from countveil.asking.export import run_export

    run_export(Path(folder), to, force=force)


def audit(
    table: object,
    sensitive: _Mapping[str, int] | _Sequence[str] | str,
    *,
    ell: int | None = None,
    release: str | _os.PathLike[str] | None = None,
    attacks: _Sequence[str] | str = (),
    drop: _Sequence[str] | str = (),
    keep: _Sequence[str] | str = (),
    person: str | None = None,
    bins: _Mapping[str, object] | None = None,
    domain: _Mapping[str, _Sequence[object] | str | _os.PathLike[str]] | None = None,
    merge: _Mapping[str, _Mapping[object, str] | str | _os.PathLike[str]] | None = None,
    groups: str = "mixed",
    residue: str = "absorb",
    seed: int | None = None,
    progress: _Progress | None = None,
    **options: _Unpack[_SourceOptions],
) -> _Audit:
    """Attack a release of `table`: what was learnt, beside what is promised.

    Without `release` a trial is published into a temporary place and attacked; with it, the folder
    of a finished release of this table, as a real adversary would. The other options are those of
    `publish`. What comes back has `.passed`, `.findings`, `.table()` and `.to_html()`; print it.
    """
    from countveil.auditing.auditor import run_audit
    from countveil.publishing.settings import Protecting
    from countveil.tables import table_options

    reading, shaping = table_options(
        drop=drop, keep=keep, person=person, bins=bins, merge=merge, domain=domain,
        progress=progress, **options,
    )  # fmt: skip
    return run_audit(
        table,
        Protecting.of(sensitive, ell, groups, residue, seed),
        release=release,
        attacks=(attacks,) if isinstance(attacks, str) else tuple(attacks),
        reading=reading,
        shaping=shaping,
    )


def compare(
    table: object,
    sensitive: _Mapping[str, int] | str,
    *,
    ell: int | None = None,
    epsilon: float = 0.05,
    queries: int = 100,
    releases: int = 5,
    drop: _Sequence[str] | str = (),
    bins: _Mapping[str, object] | None = None,
    domain: _Mapping[str, _Sequence[object] | str | _os.PathLike[str]] | None = None,
    merge: _Mapping[str, _Mapping[object, str] | str | _os.PathLike[str]] | None = None,
    seed: int | None = None,
    progress: _Progress | None = None,
    **options: _Unpack[_SourceOptions],
) -> _Comparison:
    """Compare ways to publish one sensitive column: errors by selectivity, and what is given away.

    Every method publishes `releases` times and is asked the same predicates. `epsilon` is the whole
    budget of differential privacy for `queries` predicates. The other options bring the table into
    shape as `publish` does. What comes back has `.methods`, `.table()` and `.to_html()`; print it.
    """
    from countveil.comparing.comparer import run_compare
    from countveil.errors import SettingsError
    from countveil.publishing.settings import Protecting
    from countveil.tables import table_options

    ells = Protecting.of(sensitive, ell).ell
    if len(ells) != 1:
        raise SettingsError(
            f"Methods are compared on one sensitive column at a time; {len(ells)} were named."
        )
    ((column, number),) = ells.items()
    reading, shaping = table_options(
        drop=drop, bins=bins, merge=merge, domain=domain, progress=progress, **options
    )
    return run_compare(
        table,
        column,
        number,
        epsilon=epsilon,
        queries=queries,
        releases=releases,
        reading=reading,
        shaping=shaping,
        seed=seed,
    )


def __getattr__(name: str) -> object:
    """Load the heavier names when they are first used."""
    if name == "Release":
        from countveil.asking.release import Release

        return Release
    if name == "Estimate":
        from countveil.maths.estimate import Estimate

        return Estimate
    if name == "generate":
        from countveil.synthetic import generate

        return generate
    raise AttributeError(f"module 'countveil' has no attribute {name!r}")
