"""The codebook of a release: what is published, as it is published, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import countveil as cv
from countveil.report.board import Board, CodebookEntry, Figure, board_html, codebook_of
from countveil.tables.encoded.survey import ValueRange

ROWS = 3_000


def people() -> pa.Table:
    rng = np.random.default_rng(3)
    return pa.table(
        {
            "age": [*rng.integers(18, 65, ROWS).tolist()[:-1], 113],
            "income": (rng.integers(1, 400, ROWS) * 97 + 12).tolist(),
            "ward": rng.choice(["x", "y", "z"], ROWS),
            "visits": pa.array([None, *rng.integers(0, 3, ROWS - 1).tolist()]),
            "drug": rng.choice(["a", "b", "c", "d"], ROWS),
        }
    )


def page_of(folder: Path) -> str:
    return (folder / "report.html").read_text()


def row_of(page: str, column: str) -> str:
    found = re.search(rf"<tr><th[^>]*>{column}</th>.*?</tr>", page)
    assert found is not None
    return re.sub(r"<[^>]*>", " ", found[0])


def test_ranges_are_those_of_what_is_published(tmp_path: Path) -> None:
    """What a preparation removed (the oldest person) is not in the page."""
    options: dict[str, Any] = {"top": {"age": 60}, "round": {"income": 1_000}}
    cv.publish(people(), {"drug": 2}, tmp_path / "release", keep=["income", "age"], **options)
    data, page = pq.read_table(tmp_path / "release" / "data"), page_of(tmp_path / "release")
    ages = data["age"].to_pylist()
    assert max(ages) == 60
    assert f"{min(ages)} to 60" in row_of(page, "age")
    assert "numbers above 60 were replaced" in row_of(page, "age")
    incomes = data["income"].to_pylist()
    assert f"{min(incomes)} to {max(incomes)}" in row_of(page, "income")
    assert "113" not in row_of(page, "age")


def test_values_of_dropped_rows_are_not_listed(tmp_path: Path) -> None:
    table = people().append_column("rare", pa.array([f"v{n}" for n in range(ROWS)]))
    cv.publish(
        table.slice(1), {"drug": 2}, tmp_path / "release", residue="drop", keep=["income", "rare"]
    )
    page = page_of(tmp_path / "release")
    there = set(pq.read_table(tmp_path / "release" / "data")["rare"].to_pylist())
    gone = {f"v{n}" for n in range(1, ROWS)} - there
    assert gone
    assert not gone & set(re.findall(r"\w+", page))


def test_protected_columns_list_what_the_manifest_lists(tmp_path: Path) -> None:
    release = cv.publish(people(), {"drug": 2}, tmp_path / "release", keep=["income", "age"])
    told = {"drug": ValueRange(["secret"], "secret", 1, missing=False)}
    entries = {entry.name: entry for entry in codebook_of(release.manifest, told)}
    assert entries["drug"].values == "a, b, c, d"
    assert entries["drug"].role == "protected, ell = 2"
    assert entries["ward"].values == ""
    assert "and missing" in row_of(page_of(tmp_path / "release"), "visits")


def test_the_summary_cuts_what_does_not_fit_on_a_sheet() -> None:
    columns = [CodebookEntry(f"c{n}", "text", "unchanged", "v" * 500) for n in range(50)]
    figures = [Figure(f"f{n}", f"0.{n}", "", "ab"[n % 2], n) for n in range(8)]
    figures.append(Figure("last", "0.9", ""))
    points = [f"point {n}" for n in range(20)]
    page = board_html(Board([("Contact", "<b>")], figures, "<i>", points, columns))
    assert re.findall(r"<b>(.*?)</b>", page) == ["0.6", "0.7", "0.9"]
    assert "Three of 9 figures" in page
    assert "38 more columns are in the codebook below" in page
    assert "and 15 more, below" in page
    assert "v" * 73 not in page
    assert "<b>" not in re.sub(r"<b>0\.\d</b>", "", page)
    assert "<i>" not in page
