"""Many counts at once are what each of them alone is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import CountveilError, QueryError
from countveil.maths.estimate import METHODS
from tests.strategies import examples

# Values that nobody publishes are asked for on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The release has no row with:UserWarning")

ROWS = 3_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    rng = np.random.default_rng(8)

    def some(values: list[Any], missing: float) -> list[Any]:
        picked = rng.integers(0, len(values), ROWS)
        gone = rng.random(ROWS) < missing
        return [None if g else values[i] for i, g in zip(picked, gone, strict=True)]

    table = pa.table(
        {
            "age": pa.array(some(list(range(17, 90)), 0.05), pa.int32()),
            "gender": some(["F", "M"], 0.1),
            "pay": pa.array(some([0.5, 10.25, 1000.0], 0.1), pa.float64()),
            "job": some(["nurse", "cook", "clerk", "driver", "judge", "baker"], 0.05),
            "grade": pa.array(some([1, 2, 3, 4, 5], 0.0), pa.int64()),
        }
    )
    folder = tmp_path_factory.mktemp("counts") / "release"
    cv.publish(table, {"job": 3, "grade": 2}, folder, seed=1)
    return folder


PLAIN = [
    "age >= 60", "age < 30", "gender = 'F'", "gender <> 'M'", "age BETWEEN 30 AND 50", "age > 200",
    "gender IS NULL", "pay > 1", "(age > 50 OR gender = 'F')", "NOT (age > 50 AND gender = 'F')",
    "age * 2 > pay", "gender LIKE 'F%'",
]  # fmt: skip
SINGLE = ["job = 'nurse'", "job = 'cook'", "job IS NULL", "job = 'pilot'", "job IN ('judge')"]
SENSITIVE = [
    *SINGLE, "job <> 'cook'", "job IN ('nurse', 'clerk')", "job NOT IN ('driver')", "grade = 2",
    "grade > 2", "grade BETWEEN 2 AND 3", "(job = 'cook' OR grade = 1)", "NOT job = 'cook'",
    "(job = 'cook' OR age > 50)", "job IS NOT NULL",
]  # fmt: skip


def conjunctions(atoms: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(atoms), max_size=3).map(" AND ".join)


def both(plain: str, sensitive: str) -> str:
    return " AND ".join(part for part in (plain, sensitive) if part)


def numbers(row: tuple[Any, ...]) -> list[float]:
    return [-1.0 if value is None else value for value in row]


def check(folder: Path, asked: list[str], **options: Any) -> None:
    """Ask a fresh release one by one, through SQL, and another one for all."""
    alone = cv.open(folder)
    try:
        expected = [
            next(alone.sql(f"SELECT count(*) FROM release {f'WHERE {a}' if a else ''}", **options)
                 .rows())
            for a in asked
        ]  # fmt: skip
    except CountveilError as error:
        with pytest.raises(type(error)):
            cv.open(folder).counts(asked, **options)
        return
    answer = cv.open(folder).counts(asked, **options)
    for query, (text, *cell), want in zip(asked, answer.rows(), expected, strict=True):
        assert text == query
        assert numbers(tuple(cell[:4])) == pytest.approx(numbers(want[:4]), rel=1e-6, abs=1e-6)
        assert cell[4] == want[4]


QUERIES = st.lists(
    st.builds(both, conjunctions(PLAIN), st.sampled_from(["", *SENSITIVE])), min_size=1, max_size=8
)


@pytest.mark.slow
@examples(40)
@given(asked=QUERIES)
def test_all_at_once_is_one_by_one(folder: Path, asked: list[str]) -> None:
    check(folder, asked)


SINGLES = st.lists(
    st.builds(both, conjunctions(PLAIN), st.sampled_from(SINGLE)), min_size=1, max_size=5
)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@examples(8)
@given(asked=SINGLES)
def test_by_every_method(folder: Path, method: str, asked: list[str]) -> None:
    check(folder, asked, method=method, level=0.8, within=0.3)


def test_with_the_printed_channel(folder: Path) -> None:
    asked = ["age > 40 AND job = 'cook'", "gender = 'F' AND job = 'judge'"]
    check(folder, asked, method="bayes", channel="printed")


@pytest.mark.slow
def test_in_pieces_and_in_the_order_asked(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("countveil.asking.batch.NUMBERS_AT_ONCE", 20)
    asked = [
        f"age > {age} AND {test}" for age in range(20, 40) for test in ("job = 'cook'", "grade > 2")
    ]
    check(folder, asked)


def test_values_nobody_publishes_are_noted_once(folder: Path) -> None:
    with pytest.warns(UserWarning, match="no row with job = 'pilot'"):
        answer = cv.open(folder).counts(["job = 'pilot'", "age > 40 AND job = 'pilot'", "age > 3"])
    assert [text.split(".")[0] for text in answer.warnings] == [
        "The release has no row with job = 'pilot'"
    ]


def test_no_question_has_an_empty_answer(folder: Path) -> None:
    answer = cv.open(folder).counts([])
    assert len(answer) == 0
    assert answer.to_arrow().column_names == answer.columns


def test_a_wrong_condition_says_what_is_wrong(folder: Path) -> None:
    with pytest.raises(QueryError, match="no column"):
        cv.open(folder).counts(["age > 40", "aeg > 40 AND job = 'cook'"])


def test_a_count_by_keywords_is_the_count_by_text(folder: Path) -> None:
    release = cv.open(folder)
    for _ in range(5):  # from the files at first, then from memory
        assert release.count("age > 40", job="cook") == release.count("age > 40 AND job = 'cook'")
        assert release.count("age > 40", gender=None) == release.count(
            "age > 40 AND gender IS NULL"
        )
