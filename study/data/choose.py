"""Which table the study runs on.

Enters: a path, the word "census", or nothing. Leaves: the table. Must not know: what is measured.

Without a path: ACS 2024 where ../shared/data has it, else the made-up census, so that the study
runs for anyone. Results carry the name of the table.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
from numpy.typing import NDArray

import countveil as cv
from countveil.errors import InputError
from study.data.pums import looks_like_pums, read_pums
from study.data.table import OCCUPATION, PLAIN, StudyTable

SHARED = Path(__file__).parents[3] / "shared/data/acs2024/acs2024_census_like_500k_A.csv.gz"
ACS, PUMS, CENSUS = "ACS 2024", "ACS PUMS", "made-up census"
_CENSUS_SEED = 1


def load(source: str | None, rows: int) -> StudyTable:
    """The table, at most `rows` people of it."""
    if source is None:
        source = str(SHARED) if SHARED.exists() else "census"
    if source == "census":
        return _census(rows)
    path = Path(source)
    if not path.exists():
        raise InputError(
            f"There is nothing at {path}. What works: a zip or CSV of ACS PUMS persons, a folder "
            f"of such files, a CSV with the study's own columns, or the word census."
        )
    if looks_like_pums(path):
        return StudyTable.of(PUMS, read_pums(path), rows)
    return _own_columns(path, rows)


def _census(rows: int) -> StudyTable:
    table = cv.generate(rows, seed=_CENSUS_SEED)
    assert table is not None
    columns = {name: _values(table[name.lower()]) for name in (*PLAIN, OCCUPATION)}
    return StudyTable.of(CENSUS, columns, rows)


def _own_columns(path: Path, rows: int) -> StudyTable:
    """A CSV with Age, Gender, ..., and Occupation50 or Occupation."""
    table = pa.csv.read_csv(path)
    sensitive = next((c for c in ("Occupation50", OCCUPATION) if c in table.column_names), None)
    missing = [name for name in PLAIN if name not in table.column_names]
    if missing or sensitive is None:
        raise InputError(
            f"{path} has neither the columns of a PUMS file nor all of the study's own: "
            f"{', '.join((*PLAIN, 'Occupation50'))}."
        )
    columns = {name: _values(table[name]) for name in PLAIN}
    columns[OCCUPATION] = _values(table[sensitive])
    name = ACS if path.name == SHARED.name else path.name
    return StudyTable.of(name, columns, rows)


def _values(column: pa.ChunkedArray[Any]) -> NDArray[np.generic]:
    values: NDArray[np.generic] = column.to_numpy()
    return values.astype(str) if values.dtype == object else values
