"""`open`: one release, or several of one ledger together.

Enters: places of releases. Leaves: a `Release` or a `ReleaseSeries`. Must not know: how
they answer.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from countveil.asking.release import Place, Release
from countveil.engines.choice import EMBEDDED

if TYPE_CHECKING:
    from countveil.asking.series import ReleaseSeries

Places = list[str] | list[Path] | list[Place] | tuple[Place, ...]


@overload
def open(  # noqa: A001
    folder: Place,
    *,
    engine: str = ...,
    master: str | None = ...,
    signed_by: Place | None = ...,
    larger: float = ...,
    timeout: float | None = ...,
) -> Release: ...
@overload
def open(  # noqa: A001
    folder: Places,
    *,
    engine: str = ...,
    master: str | None = ...,
    signed_by: Place | None = ...,
    larger: float = ...,
    timeout: float | None = ...,
) -> ReleaseSeries: ...
def open(  # noqa: A001 - cv.open reads as it should
    folder: Place | Places,
    *,
    engine: str = EMBEDDED,
    master: str | None = None,
    signed_by: Place | None = None,
    larger: float = 1,
    timeout: float | None = None,
) -> Release | ReleaseSeries:
    """Open a release for questions, or several of one ledger together.

    Args:
        folder: A folder, `postgresql://user@host/db#table` or `duckdb:FILE#table`. A list of
            releases of one ledger is opened together: what changed?
        engine: "embedded", or "spark": on any file system that Spark reads, tallied on the
            cluster; or "dask": in a folder that all workers reach, tallied by them.
        master: The address of a Spark cluster, if there is no session yet, or of a Dask scheduler.
        signed_by: A file with the publisher's Ed25519 public key. The signature is checked, and
            that every data file is the one that was signed; without it, anybody may have made the
            release.
        larger: How many times as large as usual a release may be: its manifest, the values of its
            columns, what its files unpack to. Raise it for a release that you trust.
        timeout: Seconds that a question may take before it ends in a `QueryError`; on a cluster its
            jobs are cancelled.

    Returns:
        A `Release`; of a list, a `ReleaseSeries`.

    Raises:
        ReleaseError: There is no release, it is damaged, not signed by this key or too large, or
            releases do not belong together.
        EngineError: A database or a cluster could not be reached.

    Example:
        >>> release = cv.open("census-release")
        >>> release.rows, dict(release.ell)
        (5000, {'occupation': 5})
    """
    options: dict[str, Any] = {
        "engine": engine, "master": master, "signed_by": signed_by, "larger": larger,
        "timeout": timeout,
    }  # fmt: skip
    if isinstance(folder, str | os.PathLike):
        return Release(folder, **options)
    from countveil.asking.series import ReleaseSeries

    return ReleaseSeries([Release(place, **options) for place in folder])
