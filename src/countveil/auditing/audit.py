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
    of a finished release of this table, as a real adversary would; it says itself how its groups
    were formed, what is published together and what bounds the odds. The other options are those
    of `publish`, and so is `recipe`; `title` and `contact` stand on the report.

    `earlier` are earlier releases of the same people, which are attacked together with `release`:
    their folders, or a mapping from each folder to the table that it was made of, if that was not
    `table` as it is now. With the `ledger` of the series, that is attacked too. What comes back has
    `.exposure`, `.passed`, `.findings`, `.table()` and `.to_html()`; print it.
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
