"""The types of the columns of a CSV file, by the rules of `tables/readers/csv/types.py`.

Enters: a data frame whose columns are all text. Leaves: the same with the type that fits each
column. Must not know: files, what the columns are for.

Spark's own guesses would lose leading zeros, plus signs and digits, and would take 250.0 and 250.00
for one value. A type fits a column if it fits every text in it; one pass over the file asks for all
types of all columns.
"""

from __future__ import annotations

from typing import Any

_WHOLE = r"\A(0|-?[1-9][0-9]{0,18})\z"
_NUMBER = r"\A-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?\z"
_DATE = r"\A[0-9]{4}-[0-9]{2}-[0-9]{2}\z"
_TIME = r"\A[0-9-]{10}[ T][0-9:]{8}([.][0-9]{1,6})?\z"
_TRUTHS = ("true", "false", "True", "False", "TRUE", "FALSE")
# The most digits, with a decimal point or without: more would not survive as a number.
_DIGITS, _WHOLE_DIGITS = 17, 15
# In this order: the first type that fits is the type of the column.
_TYPES = ("bigint", "double", "date", "timestamp_ntz", "boolean")


def typed(frame: Any) -> Any:
    """The frame with every column in the first type that fits all of its texts, else as text."""
    types = {name: _first_fitting(fits) for name, fits in _fitting(frame).items()}
    for name, kind in types.items():
        if kind == "double" and _merges(frame, name):
            types[name] = "string"
    return frame.select([_column(name).cast(types[name]).alias(name) for name in frame.columns])


def _fitting(frame: Any) -> dict[str, list[bool]]:
    """By column, whether each type fits; every type fits where there are no texts."""
    from pyspark.sql import functions as sql

    questions = [
        sql.bool_and(fits).alias(f"c{place}_{number}")
        for place, name in enumerate(frame.columns)
        for number, fits in enumerate(_questions(_column(name)))
    ]
    answers = [answer is not False for answer in frame.agg(*questions).collect()[0]]
    size = len(_TYPES)
    return {
        name: answers[place * size : (place + 1) * size] for place, name in enumerate(frame.columns)
    }


def _questions(text: Any) -> list[Any]:
    """Whether a text is written as each type writes it; missing where there is none."""
    from pyspark.sql import functions as sql

    number = text.try_cast("double")
    digits = sql.length(sql.regexp_replace(text, "[^0-9]", ""))
    most = sql.when(text.rlike("[.eE]"), _DIGITS).otherwise(_WHOLE_DIGITS)
    finite = number.isNotNull() & (sql.abs(number) < float("inf"))
    fits = [
        text.rlike(_WHOLE) & text.try_cast("bigint").isNotNull(),
        text.rlike(_NUMBER) & (digits <= most) & finite,
        # There was no year 0.
        text.rlike(_DATE) & ~text.startswith("0000") & text.try_cast("date").isNotNull(),
        text.rlike(_TIME) & text.try_cast("timestamp_ntz").isNotNull(),
        text.isin(*_TRUTHS),
    ]
    return [sql.when(text.isNotNull(), fit) for fit in fits]


def _first_fitting(fits: list[bool]) -> str:
    return next((kind for kind, fit in zip(_TYPES, fits, strict=True) if fit), "string")


def _merges(frame: Any, name: str) -> bool:
    """Whether different texts would become one number: 250.0 and 250.00 are codes."""
    from pyspark.sql import functions as sql

    text = _column(name)
    numbers = frame.select(text.cast("double").alias("number"), text.alias("text"))
    spellings = numbers.groupBy("number").agg((sql.min("text") != sql.max("text")).alias("several"))
    return bool(spellings.agg(sql.max("several")).collect()[0][0])


def _column(name: str) -> Any:
    from pyspark.sql import functions as sql

    return sql.col("`" + name.replace("`", "``") + "`")
