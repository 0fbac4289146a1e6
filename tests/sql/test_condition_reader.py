"""Reading conditions piece by piece gives what reading them as a whole gives."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import QueryError
from countveil.release import PublishedColumn
from countveil.sql.query import ReleaseColumns, parse_where
from countveil.sql.query.conditions import ConditionReader, comparisons
from countveil.sql.query.expressions import Formula

COLUMNS = ReleaseColumns(
    [
        PublishedColumn("age", "int64", "plain"),
        PublishedColumn("gender", "string", "plain"),
        PublishedColumn("birth date", "date32[day]", "plain"),
        PublishedColumn("end", "int64", "plain"),
        PublishedColumn("job", "string", "sensitive"),
    ],
    {"job": ("cook", "nurse")},
)
NAMES = ["age", "AGE", '"age"', "gender", '"birth date"', "job", '"end"', "end", "and", "nobody"]
LITERALS = [
    "40",
    "-3",
    "1.5",
    "'F'",
    "'it''s'",
    "'2024-01-31'",
    "'a AND age = 3'",
    "''",
    "1e3",
    "x",
]
PIECES = st.one_of(
    st.builds(
        "{}{}{}{}{}".format,
        st.sampled_from(NAMES),
        st.sampled_from(["", " ", "\n"]),
        st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">=", "=="]),
        st.sampled_from(["", " "]),
        st.sampled_from(LITERALS),
    ),
    st.builds(
        "{} BETWEEN {} AND {}".format,
        st.sampled_from(NAMES),
        st.sampled_from(LITERALS),
        st.sampled_from(LITERALS),
    ),
    st.builds(
        "{} IN ({}, {})".format,
        st.sampled_from(NAMES),
        st.sampled_from(LITERALS),
        st.sampled_from(LITERALS),
    ),
    st.sampled_from(["age IS NULL", "NOT age = 3", "(age = 3)", "age = 3 OR age = 4", "age", ""]),
)
JOINTS = st.sampled_from([" AND ", " and ", "\nAND\t", "AND", " OR ", " AND NOT ", " -- ", "; "])


@st.composite
def texts(draw: st.DrawFn) -> str:
    text = draw(PIECES)
    for _ in range(draw(st.integers(0, 3))):
        text += draw(JOINTS) + draw(PIECES)
    return text + draw(st.sampled_from(["", " ", "\n", "\u00a0", "--", ")"]))


READER = ConditionReader(COLUMNS)


@given(texts())
def test_piece_by_piece_is_as_a_whole(text: str) -> None:
    assert read(READER.formula, text) == read(partial(parse_where, columns=COLUMNS), text)


def read(reader: Callable[[str], Formula], text: str) -> Formula | str:
    """What a reader makes of a text: a formula, or what is wrong."""
    try:
        return reader(text)
    except QueryError as error:
        return str(error)


@pytest.mark.parametrize(
    "text",
    [
        "age = 40 AND gender = 'F'",
        "age BETWEEN 30 AND 40 AND job IN ('cook', 'nurse') AND \"birth date\" > '2000-01-01'",
        "gender = 'F AND age = 3' and age<>-1",
    ],
)
def test_chains_of_comparisons_are_cut(text: str) -> None:
    assert len(comparisons(text)) >= 2


@pytest.mark.parametrize(
    "text",
    ["age = 3 OR age = 4", "age = 3 AND (gender = 'F')", "age = 3 AND", "age = 3 AND age = 1e3",
     "age = 3 -- AND age = 4", "age = 3 AND gender = 'F' 'M'", "age = 3 AND gender = E'x'"],
)  # fmt: skip
def test_anything_else_is_not(text: str) -> None:
    assert comparisons(text) == []


def test_a_long_text_is_refused_however_it_is_read() -> None:
    with pytest.raises(QueryError, match="characters"):
        READER.formula(" AND ".join(["age = 40"] * 3_000))
