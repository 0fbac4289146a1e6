"""Tables whose truth is known, and random predicates over them.

The built-in census is always there. ACS 2024, UCI Adult, MEPS 2005 and the NIST excerpts are used
where ../shared/data has them; they are not part of this project.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
from numpy.typing import NDArray

import countveil as cv
from tests.repeated_releases import SHARED, acs_2024, coded

Codes = NDArray[np.int64]


@dataclass(frozen=True)
class Table:
    """One sensitive column as codes, and predicates as the rows that meet them.

    `conditions` are the predicates once more, as a code of each column they are about; `columns`
    are these columns.
    """

    name: str
    codes: Codes
    predicates: list[Codes]
    conditions: list[dict[str, int]] = field(default_factory=list)
    columns: dict[str, Codes] = field(default_factory=dict)

    @property
    def counts(self) -> Codes:
        """The histogram of the sensitive column."""
        return np.bincount(self.codes)

    def tallies(self, codes: Codes) -> NDArray[np.float64]:
        """Rows of every predicate by value, true or published."""
        size = self.counts.size
        found = [np.bincount(codes[rows], minlength=size) for rows in self.predicates]
        return np.array(found, np.float64)


def tables(rows: int, n_predicates: int, *, more: bool = False) -> Iterator[Table]:
    """The built-in census, and what else is at hand; `more`: also tables of other shapes."""
    census = cv.generate(rows, seed=1)
    assert census is not None
    plain = ["age", "gender", "education", "marital", "race", "workclass"]
    yield prepare("built-in census, occupation", census, plain, "occupation", n_predicates)
    acs = acs_2024(rows)
    if acs is not None:
        plain = ["Age", "Gender", "Education", "Marital", "Race", "Workclass"]
        yield prepare("ACS 2024, Occupation50", acs, plain, "Occupation50", n_predicates)
    adult = SHARED / "uci_adult" / "adult.csv.gz"
    if adult.exists():
        table = pa.csv.read_csv(adult)
        plain = ["age", "sex", "education", "marital-status", "race", "workclass"]
        yield prepare("UCI Adult, occupation", table, plain, "occupation", n_predicates)
    if more:
        if acs is not None:
            plain = ["Age", "Gender", "Education", "Marital", "Race", "Workclass"]
            yield prepare("ACS 2024, salary class", acs, plain, "SalaryClass50", n_predicates)
            name = "ACS 2024, detailed occupation"
            yield prepare(name, acs, plain, "OccupationDetail", n_predicates)
        yield from _of_other_shapes(n_predicates)


def _of_other_shapes(n_predicates: int) -> Iterator[Table]:
    nist = SHARED / "nist_acs_excerpts" / "national2018.csv.gz"
    if nist.exists():
        texts = pa.csv.ConvertOptions(column_types={"INDP": pa.string(), "INDP_CAT": pa.string()})
        table = pa.csv.read_csv(nist, convert_options=texts)
        table = table.filter(pc.not_equal(table["INDP"], "N"))
        plain = ["AGEP", "SEX", "MSP", "RAC1P", "EDU", "PUMA"]
        for column in ("INDP_CAT", "INDP"):
            yield prepare(f"NIST 2018, {column}", table, plain, column, n_predicates, least=100)
    folder = SHARED / "informs_meps2005"
    if folder.exists():
        conditions = pa.csv.read_csv(folder / "conditions05.csv.gz")
        first = conditions.group_by("DUPERSID").aggregate([("ICD9CODX", "min")])
        persons = pa.csv.read_csv(folder / "demographics05.csv.gz")
        table = persons.join(first, "DUPERSID", join_type="inner").sort_by("DUPERSID")
        table = table.append_column("decade", pc.divide(table["DOBYY"], 10))
        plain = ["SEX", "RACETHNX", "marry", "poverty", "EDUCYEAR", "decade"]
        name = "MEPS 2005, a condition"
        yield prepare(name, table, plain, "ICD9CODX_min", n_predicates, least=100)


def prepare(
    name: str,
    table: pa.Table,
    plain: list[str],
    sensitive: str,
    n_predicates: int,
    least: int = 200,
) -> Table:
    """Codes, and random conjunctions of one to three columns that at least `least` rows meet."""
    codes = coded(table[sensitive])
    columns = {column: coded(table[column]) for column in plain}
    rng = np.random.default_rng(5)
    predicates: list[Codes] = []
    conditions: list[dict[str, int]] = []
    while len(predicates) < n_predicates:
        row = rng.integers(codes.size)
        chosen = rng.choice(plain, rng.integers(1, 4), replace=False)
        met = np.all([columns[column] == columns[column][row] for column in chosen], axis=0)
        if met.sum() >= least:
            predicates.append(np.flatnonzero(met))
            conditions.append({column: int(columns[column][row]) for column in chosen})
    return Table(name, codes, predicates, conditions, columns)
