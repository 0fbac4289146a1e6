"""Columns that look like somebody, and columns that only look a bit like it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from countveil.publishing.advise.inspecting.inspection import little_histogram
from countveil.publishing.safety import (
    Facts,
    looks_missing,
    sounds_sensitive,
    suspicion,
    uniqueness,
)
from countveil.publishing.safety.patterns import check_digit, dates_in

ROWS = 10_000


def facts(name: str, kind: str, distinct: int, examples: Sequence[Any], rows: int = ROWS) -> Facts:
    return Facts(name, kind, rows, distinct, examples, np.full(len(examples), 2))


def found(
    name: str, kind: str, distinct: int, examples: Sequence[Any], rows: int = ROWS
) -> tuple[str, str]:
    """What a column looks like, and why."""
    column = facts(name, kind, distinct, examples, rows)
    why = suspicion(column) or uniqueness(column)
    return ("", "") if why is None else (why.kind, why.reason)


def reason(name: str, kind: str, distinct: int, examples: Sequence[Any], rows: int = ROWS) -> str:
    return found(name, kind, distinct, examples, rows)[1]


@pytest.mark.parametrize(
    "name",
    ["ssn", "Email", "e_mail_address email", "phone", "lastName", "first_name", "PASSPORT", "MRN",
     "mobile-phone"],
)  # fmt: skip
def test_names_that_say_it_all(name: str) -> None:
    assert reason(name, "text", 40, ["x"]) == "its name says so"


ORDINARY_NAMES = {
    "person number": [
        "patientid", "PatientID", "patient_nbr", "subject", "subject_id", "person_id", "kundennr",
        "Kunden-Nr", "id_paciente", "idpaciente", "numero_cliente", "codigo_cliente", "patient",
        "DUPERSID", "klantnummer", "pasientnr", "pacjent_id", "nr_klienta", "utente_id",
        "Patienten-ID", "memberno", "custid", "household_id", "numéro_patient", "id", "PID",
    ],
    "direct identifier": [
        "nhsnumber", "NHS Number", "caseid", "case_id", "encounter_id", "visitid", "personnummer",
        "codice_fiscale", "codiceFiscale", "fødselsnummer", "Sozialversicherungsnummer", "nachname",
        "apellidos", "prénom", "e-mail", "telefoonnummer", "Straße", "fallnummer", "rechnungsnr",
        "numero_ss", "orderid", "record_no", "hadm_id", "Kontonummer",
    ],
    "date of birth": [
        "dob", "DOB", "birthdate", "date_of_birth", "geburtsdatum", "GebDatum", "fecha_nacimiento",
        "date_naissance", "data_di_nascita", "geboortedatum", "födelsedatum", "fødselsdato",
        "data_urodzenia", "data_nascimento",
    ],
    "postcode": [
        "postcode", "plz", "PLZ", "zip", "zip_code", "ZipCode", "postleitzahl", "code_postal",
        "codigo_postal", "cap", "postnummer", "kod_pocztowy", "cep",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "name"), [(kind, name) for kind, names in ORDINARY_NAMES.items() for name in names]
)
def test_ordinary_names_in_many_languages(kind: str, name: str) -> None:
    """On a column in which every second row has a new value, and whose values say nothing."""
    values = [10_007 * n for n in range(1_000)]
    assert found(name, "number", ROWS // 2, values)[0] == kind


HARMLESS: dict[str, tuple[int, list[Any]]] = {
    "phone_service": (2, ["yes", "no"]), "has_email": (2, [True, False]), "paid": (900, [1, 20]),
    "uric_acid": (900, [3.5, 4.25]), "covid": (2, ["no", "yes"]), "number_of_patients": (700, [1]),
    "num_procedures": (600, [4, 70]), "number_outpatient": (550, [0, 1]), "zip": (12, ["1", "2"]),
    "birth_weight": (900, [2.1, 3.25]), "dob_year": (90, [1950, 1999]), "age": (100, [4, 50]),
    "admission_type_id": (8, [1, 2]), "state_id": (51, [1, 2]), "brand_name": (45, ["a", "b"]),
    "customer_segment": (40, ["x", "y"]), "diag_1": (717, ["250.83", "V27"]), "county": (300, [1]),
    "income": (2_000, [10_000, 55_000, 20]), "households": (1_500, [33, 1_001]),
    "subject": (12, ["maths", "history"]), "patient_type_code": (31, [1, 2]),
}  # fmt: skip


@pytest.mark.parametrize("name", HARMLESS)
def test_names_that_only_sound_like_it(name: str) -> None:
    distinct, values = HARMLESS[name]
    kind = "text" if isinstance(values[0], str) else "number"
    assert found(name, kind, distinct, values) == ("", "")


@pytest.mark.parametrize("name", ["site_id", "invoice number", "address"])
def test_names_that_say_it_with_many_values(name: str) -> None:
    assert "its name says so, and" in reason(name, "number", 2_000, [1, 2])
    assert reason(name, "number", 50, [1, 2]) == ""


@pytest.mark.parametrize(
    ("what", "values"),
    [
        ("e-mail", ["ann@mail.org", "b.c+d@sub.domain.example"]),
        ("phone", ["+49 30 1234567", "(030) 123-4567", "+15551234567", "030/1234567"]),
        ("national", ["123-45-6789", "QQ 12 34 56 C", "010190-123A", "RSSMRA85T10A562S",
                      "12345678Z", "123.456.789-09"]),
        ("account", ["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"]),
        ("random", ["123e4567-e89b-12d3-a456-426614174000", "9e107d9d372bb6826bd81d3542a419d6"]),
        ("network", ["192.168.0.1", "10.0.0.255", "00:1B:44:11:3A:B7"]),
        ("web", ["https://example.org/u/1", "http://a.b"]),
        ("postcodes", ["SW1A 1AA", "K1A 0B1", "1012 AB", "90210-1234", "00-950"]),
        ("personal names", ["Ann Smith", "Jürgen von der Heide", "Braund, Mr. Owen", "ANN SMITH"]),
    ],
)  # fmt: skip
def test_values_that_look_like_it(what: str, values: list[str]) -> None:
    assert f"look like {what}" in reason("x", "text", 600, values * 10)
    assert reason("x", "text", 20, values * 10) == "", "twenty values are nobody's"


@pytest.mark.parametrize(
    "values",
    [
        ["1990-01-02", "2001-12-31"], ["31.12.1990", "1/2/1990"], ["A10", "B20.1"],
        ["10-20", "20-30", "30k or more"], ["nurse", "cook"], ["3.5", "-2"], [""], ["a" * 10_000],
        ["0.3482", "0.6917", "1.0"], ["2:03:45", "59:59", "1:10:00.5"], ["01-01301", "36-04010"],
        ["Only a finding (disorder)"],
    ],
)  # fmt: skip
def test_ordinary_values_do_not(values: list[str]) -> None:
    assert reason("x", "text", 40, values) == ""


def test_a_different_value_in_every_row() -> None:
    assert "100% of the rows" in reason("x", "text", ROWS, ["q", "r"])
    assert "100% of the rows" in reason("x", "number", ROWS, [1, 2])
    assert "100% of the rows" in reason("x", "number", ROWS, [1.0, 2.0]), "a missing value did that"
    assert reason("weight", "number", ROWS, [1.5, 2.25]) == "", "measurements differ in every row"
    assert reason("seen", "date", ROWS, []) == ""
    assert reason("x", "text", 9, ["q"], rows=9) == "", "nine rows say nothing"


def test_amounts_differ_in_every_row_too() -> None:
    rng = np.random.default_rng(1)
    amounts = np.sort(rng.lognormal(10, 1, 1_000)).astype(int).tolist()
    assert reason("turnover", "number", ROWS, amounts) == ""
    numbers = np.sort(rng.integers(10_000_000, 99_999_999, 1_000)).tolist()
    assert reason("x", "number", ROWS, numbers) != ""
    assert reason("x", "number", ROWS, list(range(0, ROWS, 10))) != "", "a running number"


def test_numbers_that_somebody_gave_out() -> None:
    rng = np.random.default_rng(2)
    numbers = np.sort(rng.integers(10_000_000, 99_999_999, 1_000))
    assert "equally long" in reason("x", "number", ROWS // 3, numbers.tolist())
    rounded = numbers // 100 * 100
    assert reason("price", "number", ROWS // 3, rounded.tolist()) == ""
    assert reason("x", "number", ROWS // 30, numbers.tolist()) == "", "thirty rows each"


def luhn(front: str) -> str:
    total = sum(sum(divmod(int(d) * (2 - n % 2), 10)) for n, d in enumerate(reversed(front)))
    return f"{front}{-total % 10}"


def weighted(front: str, weights: Sequence[int], modulus: int) -> str:
    total = sum(int(d) * w for d, w in zip(front, weights, strict=True))
    return f"{front}{-total % modulus}" if -total % modulus < 10 else ""


CHECKED: dict[str, Callable[[str], str]] = {
    "Luhn": luhn,
    "modulo 11 (ten digits)": lambda front: weighted(front[:9], range(10, 1, -1), 11),
    "modulo 11 (nine digits, BSN)": lambda front: next(
        (
            f"{front[:8]}{last}"
            for last in range(10)
            if (sum(int(d) * w for d, w in zip(front, range(9, 1, -1), strict=False)) - last) % 11
            == 0
        ),
        "",
    ),
    "modulo 10 (PESEL)": lambda front: weighted(front[:10], [1, 3, 7, 9, 1, 3, 7, 9, 1, 3], 10),
    "modulo 97": lambda front: f"{front[:9]}{97 - int(front[:9]) % 97:02d}",
}


@pytest.mark.parametrize("rule", CHECKED)
def test_check_digits(rule: str) -> None:
    rng = np.random.default_rng(3)
    fronts = [str(n) for n in rng.integers(10**14, 10**15, 400)]
    numbers = [number for front in fronts if (number := CHECKED[rule](front))]
    assert check_digit(numbers) == rule
    assert check_digit([int(number) for number in numbers]) == rule
    assert rule in reason("x", "text", 4_000, numbers, rows=400_000)
    changed = [number[:-1] + str((int(number[-1]) + 1) % 10) for number in numbers]
    assert check_digit(changed) != rule


def test_numbers_of_products_are_nobody() -> None:
    """EAN: weights 1 and 3. By chance one number in ten meets another rule."""
    fronts = [str(n) for n in np.random.default_rng(4).integers(10**11, 10**12, 400)]
    assert check_digit([weighted(front, [1, 3] * 6, 10) for front in fronts]) is None
    assert check_digit(["12", "24"]) is None


def days(first: int, last: int, n: int = 900) -> list[dt.date]:
    start, end = dt.date(first, 1, 1).toordinal(), dt.date(last, 12, 31).toordinal()
    places = np.linspace(start, end, n).astype(int).tolist()
    return [dt.date.fromordinal(place) for place in places]


def test_dates_of_birth_by_their_spread() -> None:
    births = days(1930, 2015)
    spread = "spread over many decades"
    assert found("x", "date", 5_000, births)[0] == "date of birth"
    assert spread in reason("x", "text", 5_000, [day.strftime("%d.%m.%Y") for day in births])
    assert spread in reason("x", "number", 5_000, [int(day.strftime("%Y%m%d")) for day in births])
    assert reason("x", "date", 1_200, days(2015, 2024)) == "", "admissions of ten years"
    assert reason("x", "date", 5_000, days(1980, 2080)) == "", "some are to come"
    assert reason("x", "number", 5_000, list(range(10_000, 60_000, 50))) == ""
    shared = facts("x", "date", 5_000, births)
    assert suspicion(shared) is not None
    recent = np.where(np.arange(len(births)) > 750, 100, 1)
    assert suspicion(replace(shared, rows_each=recent)) is None, "recorded as it happens"
    assert suspicion(replace(shared, rows_each=np.ones(900, int))) is None, "a series, no ties"


def test_what_is_a_date() -> None:
    assert dates_in(["2020-02-29", "1.3.1999"] * 20) != []
    assert dates_in([20200229, 19991231] * 20) != []
    assert dates_in([20200299] * 20) == []
    assert dates_in([dt.datetime(2020, 1, 1, 10, 30, tzinfo=dt.UTC)] * 20) == [], (
        "the time of a day"
    )
    assert dates_in([True, False]) == []


def test_an_empty_column_is_nobody() -> None:
    assert reason("email", "text", 0, []) == ""


def test_a_reason_never_quotes_a_value() -> None:
    said = reason("x", "text", ROWS, ["ann@mail.org"] * 3)
    assert "ann@" not in said
    assert "e-mail" in said


def test_little_histograms() -> None:
    assert little_histogram(np.array([8, 4, 1]), None) == "█▄▁"
    assert little_histogram(np.zeros(0, np.int64), None) == ""
    flat = little_histogram(np.ones(800, np.int64), np.arange(800.0))
    assert len(flat) == 8
    assert set(flat) <= set("▇█▆")
    assert len(little_histogram(np.array([1, 1, 5] * 10), np.array([np.inf] * 30))) <= 8


def test_guesses_from_names_and_values() -> None:
    assert sounds_sensitive("Main_Diagnosis")
    assert sounds_sensitive("diag_1")
    assert not sounds_sensitive("gender")
    assert looks_missing(["a", "NA", "?", 3, None]) == ["NA", "?"]
