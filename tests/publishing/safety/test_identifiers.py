"""Columns that look like somebody, and columns that only look a bit like it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from countveil.publishing.advise.inspection import little_histogram
from countveil.publishing.safety import identifier_reason, looks_missing, sounds_sensitive

ROWS = 10_000


def reason(name: str, kind: str, distinct: int, examples: list[Any], rows: int = ROWS) -> str:
    return identifier_reason(name, kind, rows, distinct, examples) or ""


@pytest.mark.parametrize(
    "name",
    ["ssn", "Email", "e_mail_address email", "phone", "lastName", "first_name", "PASSPORT", "MRN",
     "mobile-phone"],
)  # fmt: skip
def test_names_that_say_it_all(name: str) -> None:
    assert reason(name, "text", 40, ["x"]) == "its name says so"


@pytest.mark.parametrize("name", ["patient_id", "PatientId", "id", "customer number", "address"])
def test_names_that_say_it_with_many_values(name: str) -> None:
    assert "its name says so, and" in reason(name, "number", 2_000, [1, 2])
    assert reason(name, "number", 50, [1, 2]) == ""


@pytest.mark.parametrize(
    ("what", "values"),
    [
        ("e-mail", ["ann@mail.org", "b.c+d@sub.domain.example"]),
        ("phone", ["+49 30 1234567", "(030) 123-4567", "+15551234567", "030/1234567"]),
        ("national", ["123-45-6789", "QQ 12 34 56 C", "010190-123A"]),
        ("account", ["DE89370400440532013000", "GB29 NWBK 6016 1331 9268 19"]),
        ("random", ["123e4567-e89b-12d3-a456-426614174000", "9e107d9d372bb6826bd81d3542a419d6"]),
        ("network", ["192.168.0.1", "10.0.0.255"]),
        ("web", ["https://example.org/u/1", "http://a.b"]),
    ],
)
def test_values_that_look_like_it(what: str, values: list[str]) -> None:
    assert f"look like {what}" in reason("x", "text", 40, values * 10)


@pytest.mark.parametrize(
    "values",
    [
        ["1990-01-02", "2001-12-31"], ["31.12.1990", "1/2/1990"], ["A10", "B20.1"],
        ["10-20", "20-30", "30k or more"], ["nurse", "cook"], ["3.5", "-2"], [""], ["a" * 10_000],
    ],
)  # fmt: skip
def test_ordinary_values_do_not(values: list[str]) -> None:
    assert reason("x", "text", 40, values) == ""


def test_a_different_value_in_every_row() -> None:
    assert "100% of the rows" in reason("x", "text", ROWS, ["q", "r"])
    assert "100% of the rows" in reason("x", "number", ROWS, [1, 2])
    assert reason("weight", "number", ROWS, [1.5, 2.25]) == "", "measurements differ in every row"
    assert reason("born", "date", ROWS, []) == ""
    assert reason("x", "text", 9, ["q"], rows=9) == "", "nine rows say nothing"


def test_an_empty_column_is_nobody() -> None:
    assert reason("email", "text", 0, []) == ""


def test_a_reason_never_quotes_a_value() -> None:
    told = reason("x", "text", ROWS, ["ann@mail.org"] * 3)
    assert "ann" not in told


def test_little_histograms() -> None:
    assert little_histogram(np.array([8, 4, 1]), None) == "█▄▁"
    assert little_histogram(np.zeros(0, np.int64), None) == ""
    flat = little_histogram(np.ones(800, np.int64), np.arange(800.0))
    assert len(flat) == 8
    assert set(flat) <= set("▇█▆")
    assert len(little_histogram(np.array([1, 1, 5] * 10), np.array([np.inf] * 30))) <= 8


def test_guesses_from_names_and_values() -> None:
    assert sounds_sensitive("Main_Diagnosis")
    assert not sounds_sensitive("gender")
    assert looks_missing(["a", "NA", "?", 3, None]) == ["NA", "?"]
