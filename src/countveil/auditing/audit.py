"""The public function `audit`.

Enters: a table and flat keyword options. Leaves: an `Audit`. Must not know: how attacks work.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Unpack

from countveil.auditing.auditor import run_audit
from countveil.auditing.series.auditor import Earlier, SeriesFiles
from countveil.auditing.summary import Audit
from countveil.display import progress_shown
from countveil.publishing.settings import Protecting, about_today
from countveil.tables import SourceOptions, table_options
from countveil.tables.progress import Progress
from countveil.tables.recipe import takes_recipe


@takes_recipe
def audit(
    table: object = None,
    sensitive: Mapping[str, int] | Sequence[str] | str = (),
    *,
    recipe: str | os.PathLike[str] | None = None,  # noqa: ARG001 - read by takes_recipe
    ell: int | None = None,
    release: str | os.PathLike[str] | None = None,
    attacks: Sequence[str] | str = (),
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    person: str | None = None,
    bins: Mapping[str, object] | None = None,
    domain: Mapping[str, Sequence[object] | str | os.PathLike[str]] | None = None,
    merge: Mapping[str, Mapping[object, str] | str | os.PathLike[str]] | None = None,
    groups: str = "mixed",
    common: Mapping[str, object] | str | None = None,
    residue: str = "absorb",
    odds: float | None = None,
    together: bool | Sequence[str] | Sequence[Sequence[str]] = False,
    seed: int | None = None,
    earlier: Earlier = (),
    ledger: str | os.PathLike[str] | None = None,
    ledger_key: str | os.PathLike[str] | None = None,
    title: str = "",
    contact: str = "",
    progress: Progress | bool | None = None,
    **options: Unpack[SourceOptions],
) -> Audit:
    """Attack a release of `table`: what was learnt, beside what is promised.

    Without `release` a trial is published into a temporary place and attacked; with it, the folder
    of a finished release of this table, as a real adversary would. A finished release says itself
    how its groups were formed, what is published together and what bounds the odds.

    Args:
        table: The true table: anything that `publish` takes.
        sensitive: Maps columns to their ell, or lists columns that share `ell`.
        recipe: A TOML file with any of these options; what the call itself says goes before it.
        ell: The ell of the columns that `sensitive` only lists.
        release: The folder of a finished release of this table.
        attacks: Only these attacks; all of them if empty.
        drop: Columns that are not published.
        keep: Columns that are published although they look unsafe.
        person: The column that identifies the person of a row.
        bins: Classes for numbers and dates, by column.
        domain: The values that a column can have, by column.
        merge: Common labels for values, by column.
        groups: How groups are formed, as in `publish`.
        common: Values that may repeat in a mixed group, as in `publish`.
        residue: What becomes of rows that fill no group, as in `publish`.
        odds: The bound that noise keeps, as in `publish`.
        together: Columns that are published as one vector, as in `publish`.
        seed: For experiments: the same seed gives the same trial and the same attacks.
        earlier: Earlier releases of the same people, attacked together with `release`: their
            folders, or a mapping from each folder to the table that it was made of, if that was
            not `table` as it is now.
        ledger: The ledger of the series, which is attacked too.
        ledger_key: The file with the ledger's key, if that is not beside it.
        title: The title on the report.
        contact: Whom to ask, on the report.
        progress: Called with the stage, the rows done and the rows in all.
        **options: How the table is read and prepared: see `SourceOptions`.

    Returns:
        How exposed people are, and every claim beside what was measured. Print it.

    Raises:
        InputError: The table cannot be read, or is not that of the release.
        ReleaseError: The folder is not a sound release.
        SettingsError: The options contradict each other, or name an attack that does not exist.

    Example:
        >>> result = cv.audit(table, {"occupation": 5}, attacks=["linkage"], seed=1)
        >>> result.passed
        True
    """
    reading, shaping = table_options(
        drop=drop, keep=keep, person=person, bins=bins, merge=merge, domain=domain,
        **options,
    )  # fmt: skip
    with progress_shown(progress) as shown:
        return run_audit(
            table,
            Protecting.of(sensitive, ell, groups, residue, seed, common, odds, together),
            release=release,
            attacks=(attacks,) if isinstance(attacks, str) else tuple(attacks),
            reading=replace(reading, progress=shown),
            shaping=shaping,
            about=about_today(title, contact),
            series=SeriesFiles.of(earlier, ledger, ledger_key),
        )
