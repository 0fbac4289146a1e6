"""How often is a column rightly called an identifier? Precision and recall, column by column.

    python -m benchmarks.identifiers [--tables DIR ...] [--seed N]

Real tables, where they are at hand: those in ../shared/data, and public ones in the folder that
--tables names (they are not part of this project: `diabetic_data.csv` is the UCI table of 130
hospitals). Every column is labelled by hand below. Made-up columns: ordinary names in many
languages on a column in which every second row has a new value, persons with 1 to 40 rows under
names that say nothing, numbers with check digits, dates, names, postcodes; beside measurements,
counts and codes that must not be called identifiers. For a fair figure of behaviour, every real
column is also tried under a name that says nothing (`c17`).
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv

from countveil.engines.local.engine import LocalEngine
from countveil.publishing.prepare import concerns_of
from countveil.tables import Reading, Shaping
from tests.repeated_releases import SHARED

# By table, the columns about which somebody must decide, in kinds; all others are harmless. What
# names an object or an event that is on somebody else's list too (an order, a tweet) counts.
LABELS: dict[str, dict[str, list[str]]] = {
    "acs2024_census_like_500k_A.csv.gz": {},
    "adult.csv.gz": {},
    "conditions05.csv.gz": {"person number": ["DUID", "DUPERSID"]},
    "demographics05.csv.gz": {"person number": ["DUID", "DUPERSID"]},
    "national2018.csv.gz": {},
    "national2019.csv.gz": {},
    "diabetic_data.csv": {
        "direct identifier": ["encounter_id"],
        "person number": ["patient_nbr"],
    },
    "Telco-Customer-Churn.csv": {"direct identifier": ["customerID"]},
    "SaaS-Sales.csv": {
        "direct identifier": ["Row ID", "Order ID", "Contact Name", "License"],
        "person number": ["Customer ID"],
    },
    "heart.csv": {"direct identifier": ["id"]},
    "housing.csv": {},
    "Tweets.csv": {
        "direct identifier": ["tweet_id", "name", "text", "tweet_coord", "tweet_created",
                              "tweet_location"],
    },
    "Car_sales.csv": {},
    "bitcoin_price.csv": {},
    "synthea_patients.csv": {
        "direct identifier": ["Id", "SSN", "DRIVERS", "PASSPORT", "FIRST", "LAST", "MAIDEN",
                              "ADDRESS", "LAT", "LON", "BIRTHPLACE"],
        "date of birth": ["BIRTHDATE"],
        "date of death": ["DEATHDATE"],
        "postcode": ["ZIP"],
    },
    "synthea_conditions.csv": {
        "person number": ["PATIENT"],
        "direct identifier": ["ENCOUNTER"],
    },
    "pima.csv": {},
}  # fmt: skip
ORDINARY_NAMES = [
    "patientid", "nhsnumber", "caseid", "subject", "personnummer", "dob", "postcode", "patient_nbr",
    "encounter_id", "geburtsdatum", "plz", "zip", "codice_fiscale", "kundennr", "patient_id",
    "PatientNo", "person_id", "persnr", "memberid", "customer_no", "client_id", "employee_id",
    "studentid", "nhs_no", "ssn", "nino", "bsn", "pesel", "cpf", "dni", "nif", "fodselsnummer",
    "cpr", "versichertennummer", "steuerid", "numero_paciente", "id_paciente", "numero_cliente",
    "num_client", "numero_secu", "identifiant_patient", "codigo_paciente", "paziente_id",
    "klantnummer", "clientnummer", "pasientnr", "kundnummer", "pacjent_id", "numer_klienta",
    "utente_id", "subject_id", "record_id", "hadm_id", "visitid", "fallnummer", "name", "lastname",
    "nachname", "apellidos", "cognome", "achternaam", "efternamn", "nazwisko", "sobrenome", "email",
    "phone", "telefon", "adresse", "street", "straat", "date_of_birth", "birthdate",
    "fecha_nacimiento", "date_naissance", "data_di_nascita", "geboortedatum", "födelsedatum",
    "data_urodzenia", "zipcode", "postleitzahl", "code_postal", "codigo_postal", "postnummer",
    "kod_pocztowy", "id", "mrn", "uuid",
]  # fmt: skip
ROWS = 10_000


@dataclass
class Score:
    """Columns rightly called identifiers, wrongly, not at all; and the harmless let pass."""

    right: int = 0
    wrong: int = 0
    missed: int = 0
    passed: int = 0

    def add(self, other: Score) -> None:
        """Add up."""
        for name in ("right", "wrong", "missed", "passed"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def line(self, name: str) -> str:
        """A line of a table."""
        found, all_of_them = self.right + self.wrong, self.right + self.missed
        precision = f"{self.right / found:.3f}" if found else "-"
        recall = f"{self.right / all_of_them:.3f}" if all_of_them else "-"
        columns = all_of_them + self.wrong + self.passed
        return (
            f"| {name} | {columns} | {all_of_them} | {self.right} | {self.missed} | {self.wrong} | "
            f"{precision} | {recall} |"
        )


def score(table: object, truth: Mapping[str, str], name: str) -> Score:
    """Compare what is found with what is so, and print what differs."""
    source = LocalEngine().open_source(table, Reading(), Shaping(), [])
    found = concerns_of(source, source.facts.columns, []).identifiers
    names = [column.name for column in source.facts.columns]
    result = Score()
    for column in names:
        if column in found and column not in truth:
            print(f"- {name}: {column} is called a {found[column].kind}: {found[column].reason}")
        if column in truth and column not in found:
            print(f"- {name}: {column} ({truth[column]}) is not found")
    result.right = sum(column in truth and column in found for column in names)
    result.missed = sum(column in truth and column not in found for column in names)
    result.wrong = sum(column not in truth and column in found for column in names)
    result.passed = len(names) - result.right - result.missed - result.wrong
    return result


def real_tables(folders: Sequence[Path]) -> Iterator[tuple[str, Path, dict[str, str]]]:
    """What is at hand, with what is known of it."""
    for name, kinds in LABELS.items():
        places = [place for folder in (SHARED, *folders) for place in folder.rglob(name)]
        truth = {column: kind for kind, columns in kinds.items() for column in columns}
        yield from ((name, place, truth) for place in places[:1])


def without_names(path: Path, truth: Mapping[str, str]) -> tuple[pa.Table, dict[str, str]]:
    """The same table with columns named c0, c1, ..."""
    source = LocalEngine().open_source(str(path), Reading(), Shaping(), [])
    names = [column.name for column in source.facts.columns]
    table = pyarrow.csv.read_csv(path, pyarrow.csv.ReadOptions(block_size=64 << 20))
    renamed = table.rename_columns([f"c{place}" for place in range(len(names))])
    return renamed, {f"c{names.index(name)}": kind for name, kind in truth.items()}


def base_table(rng: np.random.Generator) -> dict[str, Any]:
    """Harmless columns: measurements, counts, codes, dates."""
    income = (rng.lognormal(10, 0.7, ROWS) // 10 * 10).astype(int)
    return {
        "sex": rng.integers(0, 2, ROWS),
        "age": rng.integers(0, 100, ROWS),
        "region": rng.integers(0, 16, ROWS),
        "county": [f"{n:05d}" for n in rng.integers(1_000, 1_400, ROWS)],
        "diagnosis": [
            f"{'ABCDEIJ'[n % 7]}{n % 90:02d}.{n % 9}" for n in rng.integers(0, 800, ROWS)
        ],
        "income": income,
        "income_class": np.searchsorted(np.quantile(income, np.arange(0.1, 1, 0.1)), income),
        "weight": rng.normal(75, 12, ROWS).round(1),
        "sampling_weight": rng.gamma(4, 60, ROWS).round(2),
        "glucose": rng.normal(100, 25, ROWS).astype(int),
        "cells": rng.normal(250_000, 60_000, ROWS).astype(int),
        "turnover": rng.lognormal(13, 1.2, ROWS).astype(int),
        "number_of_visits": rng.poisson(60, ROWS),
        "days_in_hospital": rng.geometric(0.1, ROWS),
        "phone_service": rng.choice(["Yes", "No"], ROWS),
        "admitted": pa.array(rng.integers(18_000, 20_000, ROWS).astype(np.int32)).cast(pa.date32()),
        "birth_year": rng.integers(1925, 2020, ROWS),
        "product": [f"article {n}" for n in np.minimum(rng.zipf(1.4, ROWS), 900)],
    }


def half_distinct(rng: np.random.Generator) -> Any:
    """Numbers of which every second row has a new one, that mean nothing."""
    return (rng.permutation(ROWS) // 2) * 7 + 1_000


def persons(rng: np.random.Generator, most: int) -> dict[str, Any]:
    """Persons with 1 to `most` rows, of whom sex and year of birth stay the same."""
    times = rng.integers(1, most + 1, ROWS)
    times = times[: int(np.searchsorted(np.cumsum(times), ROWS)) + 1]
    person = rng.permutation(np.repeat(np.arange(times.size), times)[:ROWS])
    return {
        "c1": rng.permutation(np.arange(5_000, 5_000 + 29 * times.size, 29))[person],
        "sex": rng.integers(0, 2, times.size)[person],
        "birth_year": rng.integers(1925, 2020, times.size)[person],
    }


def luhn(rng: np.random.Generator) -> list[int]:
    """Numbers of nine digits and a check digit."""
    fronts = rng.integers(10**8, 10**9, ROWS // 2)
    places = 10 ** np.arange(9)
    digits = fronts[:, None] // places % 10
    digits[:, ::2] *= 2
    sums = (digits // 10 + digits % 10).sum(axis=1)
    numbers: list[int] = rng.choice(fronts * 10 + -sums % 10, ROWS).tolist()
    return numbers


def made_up_columns(rng: np.random.Generator) -> Iterator[tuple[str, dict[str, Any]]]:
    """By behaviour alone: a column c1 among harmless ones."""
    first = [
        "Anna",
        "Jürgen",
        "María",
        "Wei",
        "Olu",
        "Piotr",
        "Zoë",
        "Ingrid",
        "Luca",
        "Fatima",
        "Ann-Marie",
        "O'Neil",
        "Søren",
        "Giulia",
        "Tom",
        "Ewa",
        "Inês",
        "Pieter",
        "Nils",
        "Bo",
    ]
    last = [f"{a}{b}" for a in ("Berg", "Smith", "Moreau", "Novak", "Silva") for b in
            ("", "son", "mann", "ova", "ini", "dottir", "ez", "ski")]  # fmt: skip
    digits = rng.integers(0, 10, (ROWS, 12))
    text = ["".join(map(str, line)) for line in digits.tolist()]
    births = rng.integers(-16_000, 18_000, ROWS).astype(np.int32)
    for most in (1, 2, 3, 5, 10, 20, 40):
        yield f"persons with up to {most} rows", persons(rng, most)
    yield "Luhn", {"c1": luhn(rng)}
    yield "national numbers", {"c1": [f"{t[:6]}-{t[6:10]}" for t in text]}
    yield "phones", {"c1": [f"+49 {t[:3]} {t[3:10]}" for t in text]}
    yield "e-mails", {"c1": [f"u{t[:6]}@mail.example" for t in text]}
    yield "names", {"c1": [f"{rng.choice(first)} {rng.choice(last)}" for _ in text]}
    yield "UK postcodes", {"c1": [f"{'NSEW'[int(t[0]) % 4]}{t[1]} {t[2]}{'ABD'[int(t[3]) % 3]}X"
                                   for t in text]}  # fmt: skip
    yield "dates of birth", {"c1": pa.array(births).cast(pa.date32())}
    yield "dates of birth as text", {"c1": [f"{1930 + int(t[:2]) % 85}-{1 + int(t[2]) :02d}-"
                                            f"{10 + int(t[3]):02d}" for t in text]}  # fmt: skip
    yield "a running number", {"c1": rng.permutation(ROWS)}
    yield "equally long numbers", {"c1": rng.choice(rng.integers(10**6, 10**7, 3_000), ROWS)}
    yield "five-digit postcodes", {"c1": [f"{n:05d}" for n in rng.integers(1_000, 9_000, ROWS)]}
    yield "last names", {"c1": [f"{rng.choice(last)}{rng.choice(last).lower()}" for _ in text]}
    yield "half-distinct numbers that mean nothing", {"c1": half_distinct(rng)}


def made_up(seed: int) -> tuple[Score, Score]:
    """The score of names, and of behaviour."""
    rng = np.random.default_rng(seed)
    by_name, by_behaviour = Score(), Score()
    for name in ORDINARY_NAMES:
        table = {**base_table(rng), name: half_distinct(rng)}
        by_name.add(score(pa.table(table), {name: "by name"}, "names"))
    for what, columns in made_up_columns(rng):
        table = {**base_table(rng), **columns}
        by_behaviour.add(score(pa.table(table), {"c1": what}, what))
    return by_name, by_behaviour


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description="Precision and recall of finding identifiers.")
    parser.add_argument("--tables", type=Path, nargs="*", default=[], help="folders of tables")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    named, unnamed, lines = Score(), Score(), []
    for name, path, truth in real_tables(given.tables):
        result = score(str(path), truth, name)
        named.add(result)
        lines.append(result.line(name))
        renamed, places = without_names(path, truth)
        unnamed.add(score(renamed, places, f"{name} without names"))
    by_name, by_behaviour = made_up(given.seed)
    print("\n| columns | all | identifiers | found | missed | false alarms | precision | recall |")
    print("|---|---|---|---|---|---|---|---|")
    for line in lines:
        print(line)
    print(named.line("**real tables**"))
    print(unnamed.line("**the same without their names**"))
    print(by_name.line(f"**{len(ORDINARY_NAMES)} ordinary names, half-distinct**"))
    print(by_behaviour.line("**made up, by behaviour alone**"))


if __name__ == "__main__":
    main()
