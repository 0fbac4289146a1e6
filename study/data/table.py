"""The study's table: plain columns and two sensitive ones, as codes.

Enters: columns of values. Leaves: codes, samples, a digest. Must not know: where they came from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from countveil.randomness import Randomness

Codes = NDArray[np.int64]

PLAIN = ("Age", "Gender", "Education", "Marital", "Race", "Workclass")
OCCUPATION = "Occupation"
# Age is asked about when occupation alone is sensitive, and sensitive itself in ten classes.
AGE_CLASS, AGE_CLASSES = "AgeClass", 10
_SEED = 2012


@dataclass(frozen=True)
class StudyTable:
    """Columns of codes from 0; `name` says which data they are."""

    name: str
    columns: Mapping[str, Codes]

    @classmethod
    def of(cls, name: str, values: Mapping[str, NDArray[np.generic]], rows: int) -> StudyTable:
        """From values: at most `rows` of them, in an order that is drawn once and for all.

        So the first N rows are a random sample of N, and samples of different sizes are nested.
        """
        here = len(values[OCCUPATION])
        order = Randomness(_SEED).stream("study", "sample", str(here)).permutation(here)[:rows]
        columns = {
            column: np.unique(values[column][order], return_inverse=True)[1].astype(np.int64)
            for column in (*PLAIN, OCCUPATION)
        }
        columns[AGE_CLASS] = equal_frequency(values["Age"][order], AGE_CLASSES)
        return cls(name, columns)

    @property
    def rows(self) -> int:
        """How many people."""
        return self.columns[OCCUPATION].size

    @property
    def occupation(self) -> Codes:
        """The sensitive column."""
        return self.columns[OCCUPATION]

    @property
    def age_class(self) -> Codes:
        """The second sensitive column."""
        return self.columns[AGE_CLASS]

    def size(self, column: str) -> int:
        """How many values a column has."""
        return int(self.columns[column].max()) + 1

    def first(self, rows: int) -> StudyTable:
        """A random sample: the first rows. Codes keep their meaning."""
        if rows > self.rows:
            raise ValueError(f"{rows:,} rows asked of a table of {self.rows:,}")
        return StudyTable(self.name, {name: codes[:rows] for name, codes in self.columns.items()})

    @property
    def digest(self) -> str:
        """A fingerprint of the whole table, by which finished cells are told from others."""
        found = hashlib.sha256(self.name.encode())
        for name, codes in self.columns.items():
            found.update(name.encode() + codes.astype(np.int32).tobytes())
        return found.hexdigest()[:16]

    def save(self, path: Path) -> None:
        """Keep the codes where other processes can read them."""
        narrow = {name: codes.astype(np.int16) for name, codes in self.columns.items()}
        np.savez(path, allow_pickle=False, name=np.array(self.name), **narrow)

    @classmethod
    def saved(cls, path: Path) -> StudyTable:
        """What `save` kept."""
        with np.load(path, allow_pickle=False) as kept:
            columns = {name: kept[name].astype(np.int64) for name in kept.files if name != "name"}
            return cls(str(kept["name"]), columns)


def equal_frequency(values: NDArray[np.generic], classes: int) -> Codes:
    """Numbers in classes of about the same number of rows; equal numbers share a class."""
    edges = np.quantile(values.astype(np.float64), np.arange(1, classes) / classes)
    found = np.searchsorted(edges, values.astype(np.float64), side="right")
    return np.unique(found, return_inverse=True)[1].astype(np.int64)
