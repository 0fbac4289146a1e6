"""Part of a table: `where`, `columns` and `labels`, from every kind of source."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import InputError, SettingsError, UnknownColumnError
from tests.sample_tables import open_local
from tests.strategies import examples

ROWS = 5_000


def table() -> pa.Table:
    rng = np.random.default_rng(7)
    age = rng.integers(0, 90, ROWS)
    return pa.table(
        {
            "age": pa.array(age, mask=age % 17 == 0),
            "sex": rng.choice(["F", "M"], ROWS),
            "job": rng.choice(["cook", "smith", "nurse", "clerk"], ROWS),
            "day": [dt.date(2024, 1, 1) + dt.timedelta(days=int(n % 300)) for n in age],
            "wage": rng.normal(size=ROWS).round(3),
            "odd name": rng.integers(0, 3, ROWS),
        }
    )


def parquet(folder: Path) -> Path:
    pq.write_table(table(), folder / "in.parquet", row_group_size=701)
    return folder / "in.parquet"


def feather(folder: Path) -> Path:
    pa.feather.write_feather(table(), folder / "in.feather", chunksize=701)
    return folder / "in.feather"


def csv_file(folder: Path) -> Path:
    pa.csv.write_csv(table(), folder / "in.csv")
    return folder / "in.csv"


SOURCES: dict[str, Callable[[Path], Any]] = {
    "parquet": parquet,
    "feather": feather,
    "csv": csv_file,
    "arrow": lambda _: table(),
    "pandas": lambda _: table().to_pandas(),
}
CONDITIONS = (
    "age >= 18",
    "sex = 'F' AND age BETWEEN 20 AND 40",
    "job IN ('cook', 'nurse') OR age IS NULL",
    "NOT (wage > 0.5) AND day < '2024-03-01'",
    "\"odd name\" = 2 AND lower(job) LIKE 'c%'",
    "age % 7 = 3",
)


@pytest.mark.few(2)
@pytest.mark.parametrize("kind", SOURCES)
@pytest.mark.parametrize("where", CONDITIONS)
def test_the_rows_are_those_that_a_database_would_give(
    tmp_path: Path, kind: str, where: str
) -> None:
    source = open_local(SOURCES[kind](tmp_path), where=where)
    people = table()
    text = f"SELECT job, count(*) FROM people WHERE {where} GROUP BY 1 ORDER BY 1"
    truth = duckdb.connect().execute(text).fetchall()
    found = source.histogram("job", np.zeros(0, np.int64))
    counts = zip(found.values, found.counts.tolist(), strict=True)
    assert list(counts) == truth
    assert people.num_rows == ROWS
    assert source.facts.rows == int(found.counts.sum())


@pytest.mark.slow
def test_columns_stay_beside_each_other(tmp_path: Path) -> None:
    @examples(20)
    @given(st.lists(st.integers(0, 9), min_size=1, max_size=60), st.integers(1, 20))
    def check(numbers: list[int], group: int) -> None:
        path = tmp_path / "in.parquet"
        texts = [f"t{n}" for n in numbers]
        pq.write_table(pa.table({"n": numbers, "t": texts}), path, row_group_size=group)
        if not any(n >= 5 for n in numbers):
            with pytest.raises(InputError, match="No row"):
                open_local(path, where="n >= 5")
            return
        source = open_local(path, where="n >= 5")
        pairs = zip(source.codes("n").tolist(), source.codes("t").tolist(), strict=True)
        known = sorted({n for n in numbers if n >= 5})
        assert [(known[n], known[t]) for n, t in pairs] == [(n, n) for n in numbers if n >= 5]

    check()


def test_a_release_of_a_part_has_only_that_part(tmp_path: Path) -> None:
    release = cv.publish(
        parquet(tmp_path), {"job": 2}, tmp_path / "release", where="age >= 60 AND sex = 'F'",
        columns=["age", "sex"],
    )  # fmt: skip
    people = table()
    text = "SELECT count(*) FROM people WHERE age >= 60 AND sex = 'F'"
    (truth,) = duckdb.connect().execute(text).fetchall()
    assert people.num_rows == ROWS
    assert release.rows == truth[0]
    found = pq.read_table(tmp_path / "release" / "data")
    assert found.column_names == ["age", "sex", "job"]
    assert set(found["sex"].to_pylist()) == {"F"}
    assert min(found["age"].to_pylist()) == 60
    # The condition may hold a value of the table; it is nobody's business.
    assert "60" not in (tmp_path / "release" / "manifest.json").read_text().split('"columns"')[0]


def test_a_condition_may_name_a_column_that_is_not_published(tmp_path: Path) -> None:
    cv.publish(table(), {"job": 2}, tmp_path / "release", where="wage > 0", columns="sex")
    assert pq.read_table(tmp_path / "release" / "data").column_names == ["sex", "job"]


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("", "empty"),
        ("1 = 1", "names no column"),
        ("agee > 3", "Did you mean 'age'"),
        ("age > 'x'", "number"),
        ("age", "not a condition"),
        ("age > 3; DROP TABLE x", "where="),
        ("age > 3) UNION SELECT (1", "where="),
        ("age > 3) GROUP BY (age", "not one condition"),
        ("age IN (SELECT 1)", "where="),
        ("read_text('/etc/passwd') = 'x'", "not supported"),
        ("count(*) > 3", "aggregate"),
    ],
)
def test_a_condition_that_cannot_be_is_refused(where: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        cv.inspect(table(), where=where)


def test_columns_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownColumnError, match="sexx"):
        cv.inspect(table(), columns="sexx")
    with pytest.raises(SettingsError, match="dropped"):
        cv.publish(table(), {"job": 2}, tmp_path / "r", columns="sex", drop="sex")
    with pytest.raises(SettingsError, match=r"'age' too\. Use columns"):
        cv.publish(table(), {"job": 2}, tmp_path / "r", columns="sex", drop="age")
    with pytest.raises(UnknownColumnError, match="wage"):
        cv.publish(table(), {"job": 2}, tmp_path / "r", columns="sex", keep="wage")
    assert not (tmp_path / "r").exists()


def test_labels_take_the_place_of_codes(tmp_path: Path) -> None:
    codes = pa.table({"sex": [1.0, 2.0, None] * 40, "job": ["a", "b", "c", "d"] * 30})
    book = tmp_path / "sex.csv"
    book.write_text("code,label\n1,woman\n2,man\n9,unknown\n")
    cv.publish(codes, {"job": 2}, tmp_path / "release", labels={"sex": book})
    found = pq.read_table(tmp_path / "release" / "data")["sex"].to_pylist()
    assert sorted(map(str, found)) == ["None"] * 40 + ["man"] * 40 + ["woman"] * 40
    with pytest.raises(InputError, match=r"1 value.s. without a label, such as '2'"):
        cv.inspect(codes, labels={"sex": {1: "woman"}})
    with pytest.raises(InputError, match="'1' and '2' share the label"):
        cv.inspect(codes, labels={"sex": {1: "x", 2: "x"}})
    with pytest.raises(SettingsError, match="labelled and put into classes"):
        cv.publish(codes, {"job": 2}, tmp_path / "r", labels={"sex": book}, bins={"sex": 2})


def test_protected_codes_are_published_as_labels(tmp_path: Path) -> None:
    codes = pa.table({"job": [1, 2, 3, 4] * 30, "x": [1, 2, 2, 1] * 30})
    names = {1: "cook", 2: "smith", 3: "nurse", 4: "clerk"}
    cv.publish(codes, {"job": 2}, tmp_path / "release", labels={"job": names}, keep="x")
    found = pq.read_table(tmp_path / "release" / "data")
    assert set(found["job"].to_pylist()) == set(names.values())
