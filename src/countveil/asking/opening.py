"""`open`: one release, or several of one ledger together.

Enters: places of releases. Leaves: a `Release` or a `ReleaseSeries`. Must not know: how
they answer.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, overload

from countveil.asking.release import Release
from countveil.engines.choice import EMBEDDED

if TYPE_CHECKING:
    from countveil.asking.series import ReleaseSeries

Place = str | os.PathLike[str]
Places = list[str] | list[Path] | list[Place] | tuple[Place, ...]


@overload
def open(folder: Place, *, engine: str = ..., master: str | None = ...) -> Release: ...  # noqa: A001
@overload
def open(folder: Places, *, engine: str = ..., master: str | None = ...) -> ReleaseSeries: ...  # noqa: A001
def open(  # noqa: A001 - cv.open reads as it should
    folder: Place | Places, *, engine: str = EMBEDDED, master: str | None = None
) -> Release | ReleaseSeries:
    """Open a release for questions, or several of one ledger together.

    Args:
        folder: A folder, `postgresql://user@host/db#table` or `duckdb:FILE#table`. A list of
            releases of one ledger is opened together: what changed?
        engine: "embedded", or "spark": on any file system that Spark reads, tallied on the
            cluster.
        master: The address of a Spark cluster, if there is no session yet.

    Returns:
        A `Release`; of a list, a `ReleaseSeries`.

    Raises:
        ReleaseError: There is no release, it is damaged, or releases do not belong together.
        EngineError: A database or a cluster could not be reached.

    Example:
        >>> release = cv.open("census-release")
        >>> release.rows, dict(release.ell)
        (5000, {'occupation': 5})
    """
    if isinstance(folder, str | os.PathLike):
        return Release(folder, engine=engine, master=master)
    from countveil.asking.series import ReleaseSeries

    return ReleaseSeries([Release(place, engine=engine, master=master) for place in folder])
