"""countveil: publish microdata so that large counts stay right and small counts stay hidden.

The names, in the order of the flow:

- `generate`       make a census-like table to try things on
- `publish`        turn a table into a release (the publisher's side)
- `verify`         is a release still what was published?
- `open`           open a release (the analyst's side), giving a
- `Release`        which answers questions: `.sql(...)`, `.count(...)`; each answer is an
- `Estimate`       with its standard error, interval and verdict
- `CountveilError` is the base of everything that countveil refuses

Nothing heavy is imported until it is used.
"""

from __future__ import annotations

import os as _os
from collections.abc import Mapping as _Mapping
from collections.abc import Sequence as _Sequence
from typing import TYPE_CHECKING

from countveil.errors import CountveilError
from countveil.version import __version__

if TYPE_CHECKING:
    from countveil.analyst import Release
    from countveil.engines.contract import Progress as _Progress
    from countveil.estimate import Estimate
    from countveil.release import Finding as _Finding
    from countveil.synthetic import generate

__all__ = [
    "CountveilError",
    "Estimate",
    "Release",
    "__version__",
    "generate",
    "open",
    "publish",
    "verify",
]


def publish(
    table: object,
    sensitive: _Mapping[str, int] | _Sequence[str] | str,
    to: str | _os.PathLike[str],
    *,
    ell: int | None = None,
    drop: _Sequence[str] = (),
    groups: str = "mixed",
    residue: str = "absorb",
    seed: int | None = None,
    force: bool = False,
    progress: _Progress | None = None,
) -> Release:
    """Publish a table as a release in the folder `to`, and open the release.

    `table` is a path or glob (CSV, Parquet, Arrow), a pandas or Polars data frame, an Arrow table,
    a DuckDB relation or anything else that exports Arrow. `sensitive` maps columns to their ell, or
    lists columns that share `ell`. `seed` is for experiments only: a seeded release says so.
    """
    from countveil.publisher import column_settings, run_publish

    settings = column_settings(sensitive, ell, groups, residue)
    run_publish(table, settings, to, drop=drop, seed=seed, force=force, progress=progress)
    return open(to)


def open(folder: str | _os.PathLike[str]) -> Release:  # noqa: A001 - cv.open reads as it should
    """Open a release."""
    from countveil.analyst import Release

    return Release(folder)


def verify(folder: str | _os.PathLike[str]) -> list[_Finding]:
    """What is wrong with a release: a list of findings, empty when it is sound."""
    from pathlib import Path

    from countveil.release import verify_release

    return verify_release(Path(folder))


def __getattr__(name: str) -> object:
    """Load the heavier names when they are first used."""
    if name == "Release":
        from countveil.analyst import Release

        return Release
    if name == "Estimate":
        from countveil.estimate import Estimate

        return Estimate
    if name == "generate":
        from countveil.synthetic import generate

        return generate
    raise AttributeError(f"module 'countveil' has no attribute {name!r}")
