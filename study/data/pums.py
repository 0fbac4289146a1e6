"""Person files of the American Community Survey, as the Census Bureau ships them.

Enters: `csv_pus.zip` (the whole country, with psam_pusa.csv and psam_pusb.csv inside), the zip of a
state, such a CSV, or a folder of them. Leaves: the study's columns. Must not know: what they are
used for.

The public files are at www2.census.gov, programs-surveys/acs/data/pums/YEAR/1-Year/. Of some 280
columns these are read (names and codes as in the Bureau's data dictionary):

    AGEP   Age           OCCP   Occupation, in classes of 200 neighbouring codes
    SEX    Gender        SCHL   Education         MAR    Marital
    RAC1P  Race          COW    Workclass

The study is about people of 17 and older with an occupation: OCCP is empty for children and for
those long out of work, and 9920 for those who never worked. Nothing is weighted (PWGTP is not
used): the study asks how well a table can be counted, not what the country looks like.
"""

from __future__ import annotations

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

from countveil.errors import InputError

READ = {
    "AGEP": "Age", "SEX": "Gender", "SCHL": "Education", "MAR": "Marital", "RAC1P": "Race",
    "COW": "Workclass", "OCCP": "Occupation",
}  # fmt: skip
YOUNGEST, NEVER_WORKED, CODES_PER_CLASS = 17, 9920, 200
# psam_pusa.csv, psam_p36.csv; before 2017 ss16pusa.csv. Households are psam_h...
_PERSONS = re.compile(r"(psam_p|ss\d\dp)\w+\.csv$", re.IGNORECASE)


def looks_like_pums(path: Path) -> bool:
    """A zip, a folder, or a CSV whose first line names AGEP and OCCP."""
    if path.is_dir() or zipfile.is_zipfile(path):
        return True
    if path.suffix.lower() != ".csv":
        return False
    with path.open("rb") as file:
        names = file.readline().decode("utf-8-sig", "replace").strip().split(",")
    return {"AGEP", "OCCP"} <= set(names)


def read_pums(path: Path) -> dict[str, NDArray[np.generic]]:
    """The study's columns of everybody with an occupation, as whole numbers."""
    pieces = [piece for name, file in _person_files(path) for piece in _pieces(name, file)]
    table = pa.Table.from_batches(pieces)
    if table.num_rows == 0:
        raise InputError(f"{path} has nobody of {YOUNGEST} or older with an occupation.")
    found = {READ[name]: table[name].to_numpy() for name in READ}
    found["Occupation"] = found["Occupation"] // CODES_PER_CLASS
    return found


def _person_files(path: Path) -> Iterator[tuple[str, IO[bytes]]]:
    """Every CSV of persons, one open at a time."""
    some = False
    zips = sorted(path.glob("*.zip")) if path.is_dir() else [path]
    for place in zips:
        if not zipfile.is_zipfile(place):
            continue
        with zipfile.ZipFile(place) as archive:
            for name in sorted(archive.namelist()):
                if _PERSONS.search(name):
                    some = True
                    with archive.open(name) as file:
                        yield f"{place.name}: {name}", file
    plain = sorted(path.glob("*.csv")) if path.is_dir() else [path]
    for place in plain:
        if place.suffix.lower() == ".csv" and (place == path or _PERSONS.search(place.name)):
            some = True
            with place.open("rb") as file:
                yield place.name, file
    if not some:
        raise InputError(
            f"{path} holds no CSV of persons (psam_p*.csv). The zips of persons are named "
            f"csv_p*.zip; those named csv_h*.zip are of households."
        )


def _pieces(name: str, file: IO[bytes]) -> Iterator[pa.RecordBatch]:
    # Codes are padded with zeros in some years and not in others: read as text, then as numbers.
    options = pa.csv.ConvertOptions(
        include_columns=list(READ),
        column_types=dict.fromkeys(READ, pa.string()),
        strings_can_be_null=True,
        null_values=[""],
    )
    try:
        reader = pa.csv.open_csv(file, convert_options=options)
        for batch in reader:
            yield _with_occupation(batch)
    except KeyError as error:
        raise InputError(
            f"{name} lacks a column of person files. The study reads {', '.join(READ)}."
        ) from error
    except pa.ArrowInvalid:
        # The library's message quotes the line, which is about somebody.
        raise InputError(f"{name} is not a CSV of persons as the Census Bureau ships it.") from None


def _with_occupation(batch: pa.RecordBatch) -> pa.RecordBatch:
    columns: list[Any] = [
        pc.cast(pc.utf8_trim_whitespace(batch.column(name)), pa.int32()) for name in READ
    ]
    numbers = pa.RecordBatch.from_arrays(columns, names=list(READ)).drop_null()
    adult = pc.greater_equal(numbers["AGEP"], YOUNGEST)
    working = pc.not_equal(numbers["OCCP"], NEVER_WORKED)
    return numbers.filter(pc.and_(adult, working))
