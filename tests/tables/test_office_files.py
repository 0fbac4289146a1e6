"""Files of SPSS, Stata, SAS and Excel: types, labels, sheets, and what cannot be read."""

from __future__ import annotations

import builtins
import datetime as dt
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import InputError, MissingExtraError
from countveil.publishing.prepare import recode
from countveil.tables import Shaping
from countveil.tables.readers import statistical as stat_files
from tests.sample_tables import open_local
from tests.workbooks import old_workbook, open_document, read_here, workbook

__all__ = ["read_here"]
pytestmark = pytest.mark.usefixtures("read_here")

ROWS = 300
JOBS = {1: "cook", 2: "smith", 3: "nurse", 4: "clerk"}


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "job": [None if n % 11 == 0 else float(1 + n % 4) for n in range(ROWS)],
            "age": [99.0 if n % 10 == 0 else float(n % 90) for n in range(ROWS)],
            "wage": [n / 8 for n in range(ROWS)],
            "town": ["" if n % 7 == 0 else f"Öd{n % 5}" for n in range(ROWS)],
            "day": [
                None if n < 150 else dt.date(2024, 1, 1) + dt.timedelta(days=n % 50)
                for n in range(ROWS)
            ],
            "at": [dt.datetime(2024, 1, 1, n % 24) for n in range(ROWS)],  # noqa: DTZ001
        }
    )


LABELS: dict[str, Any] = {"job": JOBS, "age": {99: "no answer"}}


def written() -> Any:
    """As Polars has it, with a type also where the first rows are missing."""
    return pl.from_pandas(frame()).with_columns(pl.col("day").cast(pl.Date))


def write(path: Path) -> Path:
    import pyreadstat

    table = written()
    if path.suffix == ".sav":
        pyreadstat.write_sav(table, path, variable_value_labels=LABELS)
    elif path.suffix == ".zsav":
        pyreadstat.write_sav(table, path, variable_value_labels=LABELS, compress=True)
    elif path.suffix == ".dta":
        pyreadstat.write_dta(table, path, variable_value_labels=LABELS)
    else:
        pyreadstat.write_xport(table, path)
    return path


def values(source: Any, names: list[str] | None = None) -> dict[str, list[Any]]:
    found = {}
    for name in names or [column.name for column in source.facts.columns]:
        known = source.histogram(name, np.zeros(0, np.int64)).values  # noqa: PD011
        found[name] = [known[code] for code in source.codes(name).tolist()]
    return found


@pytest.mark.few(4)
@pytest.mark.parametrize("ending", [".sav", ".zsav", ".dta", ".xpt"])
@pytest.mark.parametrize("rows", [64, 1 << 16])
def test_every_row_is_read_with_its_types_and_labels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, rows: int
) -> None:
    monkeypatch.setattr(stat_files, "BATCH_ROWS", rows)
    source = open_local(write(tmp_path / f"in{ending}"))
    kinds = {column.name: column.type for column in source.facts.columns}
    assert kinds == {
        "job": "int64", "age": "int64", "wage": "double", "town": "string", "day": "date32[day]",
        "at": "timestamp[us]",
    }  # fmt: skip
    found = values(source)
    truth = frame()
    assert found["age"] == truth["age"].astype(int).tolist()
    assert found["wage"] == truth["wage"].tolist()
    assert found["town"] == [town or None for town in truth["town"]]
    assert found["day"] == truth["day"].tolist()
    assert found["at"] == [when.to_pydatetime() for when in truth["at"]]
    warnings = recode(source, Shaping()).warnings
    job = values(source, ["job"])["job"]
    if ending == ".xpt":
        # The format has no labels.
        assert (source.facts.labels, warnings) == ({}, [])
        assert job[1] == 2
    else:
        assert job == [None if n % 11 == 0 else JOBS[1 + n % 4] for n in range(ROWS)]
        assert values(source, ["age"])["age"] == found["age"]
        assert len(warnings) == 1
        assert "'age' has values without a label" in warnings[0]


def test_a_release_of_a_labelled_file(tmp_path: Path) -> None:
    path = write(tmp_path / "in.sav")
    with pytest.warns(UserWarning, match="codes are kept"):
        cv.publish(path, {"job": 3}, tmp_path / "release", drop=["wage", "at", "day"])
    found = pq.read_table(tmp_path / "release" / "data")
    assert set(found["job"].to_pylist()) <= {*JOBS.values(), None}
    own = {1: "a", 2: "b", 3: "c", 4: "d"}
    cv.publish(
        path, {"job": 3}, tmp_path / "own", columns="town", labels={"job": own}, where="job <> 2",
        keep="job",
    )  # fmt: skip
    found = pq.read_table(tmp_path / "own" / "data")
    assert found.column_names == ["job", "town"]
    assert set(found["job"].to_pylist()) == {"a", "c", "d"}


def test_user_declared_missing_values_are_missing(tmp_path: Path) -> None:
    import pyreadstat

    path = tmp_path / "in.sav"
    pyreadstat.write_sav(written(), path, missing_ranges={"age": [99]})
    ages = values(open_local(path), ["age"])["age"]
    assert ages[:11] == [None, 1, 2, 3, 4, 5, 6, 7, 8, 9, None]


def test_one_label_of_two_codes_keeps_them_apart(tmp_path: Path) -> None:
    import pyreadstat

    path = tmp_path / "in.sav"
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    labels: dict[int | float, str] = {1: "same", 2: "same", 3: "other"}
    pyreadstat.write_sav(table, path, variable_value_labels={"x": labels})
    source = open_local(path)
    recode(source, Shaping())
    assert values(source)["x"] == ["same (1)", "same (2)", "other"]


PEOPLE: list[list[Any]] = [
    ["n", "town", "day", "ok", "code", "wage"],
    [1, "Öd", dt.date(2024, 2, 29), True, 7, 1.5],
    [2, None, dt.date(2024, 3, 1), False, "7a", 2],
    [None, None, None, None, None, None],
    [3, "Ur", None, True, None, None],
]


@pytest.mark.parametrize(
    ("ending", "write_workbook"),
    [(".xlsx", workbook), (".xlsm", workbook), (".ods", open_document), (".xls", old_workbook)],
)
def test_a_sheet_is_read_with_its_types(
    tmp_path: Path, ending: str, write_workbook: Callable[[Path, dict[str, Any]], Path]
) -> None:
    path = write_workbook(tmp_path / f"in{ending}", {"People": PEOPLE, "Notes": []})
    assert values(open_local(path)) == {
        "n": [1, 2, 3],
        "town": ["Öd", None, "Ur"],
        "day": [dt.date(2024, 2, 29), dt.date(2024, 3, 1), None],
        "ok": [True, False, True],
        "code": ["7", "7a", None],
        "wage": [1.5, 2.0, None],
    }


def test_one_of_several_sheets_is_named(tmp_path: Path) -> None:
    path = workbook(tmp_path / "in.xlsx", {"People": PEOPLE, "Other": [["a"], [1], [2]]})
    source = open_local(f"{path}#Other")
    assert values(source) == {"a": [1, 2]}
    with pytest.raises(InputError, match=r"2 sheets. Name one: .*#Sheet.*'People', 'Other'"):
        open_local(path)
    with pytest.raises(InputError, match=r"no sheet 'Peopel'.*Did you mean 'People'"):
        open_local(f"{path}#Peopel")
    titled = workbook(tmp_path / "titled.xlsx", {"A": [["A title"], ["a", "b"], [1, 2]]})
    with pytest.raises(InputError, match="no name in the first row"):
        open_local(titled)


@pytest.mark.parametrize("ending", [".sav", ".dta", ".sas7bdat", ".xpt", ".por", ".xlsx", ".xls"])
def test_a_damaged_file_says_so_and_no_more(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"in{ending}"
    path.write_bytes(b"CANARY not what it says it is " * 100)
    with pytest.raises(InputError, match="is not a readable") as told:
        open_local(path)
    assert "CANARY" not in str(told.value)


@pytest.mark.parametrize(
    ("ending", "library", "extra"),
    [(".sav", "pyreadstat", "stat"), (".xlsx", "python_calamine", "excel")],
)
def test_without_the_library_there_is_a_hint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str, library: str, extra: str
) -> None:
    (tmp_path / f"in{ending}").write_bytes(b"x")
    real = builtins.__import__

    def without(name: str, *rest: Any, **named: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == library:
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=re.escape(f"pip install '.[{extra}]'")):
        cv.inspect(tmp_path / f"in{ending}")
