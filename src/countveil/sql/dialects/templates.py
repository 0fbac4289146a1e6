"""Operations whose text is the same for any operands, in PostgreSQL, SQLite and Spark.

Enters: nothing. Leaves: templates; {0}, {1} are operands, {double} the type of double precision. An
operation that is missing here, and that `wording` does not spell itself, means something else in
that database than in ours.
"""

from __future__ import annotations

_BOTH = {
    "add": "({0} + {1})", "subtract": "({0} - {1})", "multiply": "({0} * {1})",
    "divide": "(CASE WHEN {1} <> 0 THEN CAST({0} AS {double}) / {1} END)",
    "divide_whole": "(CASE WHEN {1} <> 0 THEN {0} / {1} END)",
    "remainder": "(CASE WHEN {1} <> 0 THEN {0} % {1} END)",
    "negate": "(-{0})",
    "equal": "({0} = {1})", "unequal": "({0} <> {1})", "less": "({0} < {1})",
    "at_most": "({0} <= {1})", "greater": "({0} > {1})", "at_least": "({0} >= {1})",
    "not": "(NOT {0})", "is_null": "({0} IS NULL)", "nullif": "nullif({0}, {1})",
    "trim": "trim({0})", "length": "length({0})", "abs": "abs({0})",
    "floor": "floor(CAST({0} AS {double}))", "ceil": "ceil(CAST({0} AS {double}))",
    "sqrt": "(CASE WHEN {0} >= 0 THEN sqrt(CAST({0} AS {double})) END)",
    "ln": "(CASE WHEN {0} > 0 THEN ln(CAST({0} AS {double})) END)",
    "sign": "sign({0})",
}  # fmt: skip

_DATES = {
    "year": "CAST(EXTRACT(YEAR FROM {0}) AS BIGINT)",
    "month": "CAST(EXTRACT(MONTH FROM {0}) AS BIGINT)",
    "day": "CAST(EXTRACT(DAY FROM {0}) AS BIGINT)",
}

# Spark's floor and ceil give whole numbers, which a large double does not fit; but it is whole.
_SPARK_WHOLE = (
    "(CASE WHEN abs(CAST({{0}} AS DOUBLE)) >= 9e15 THEN CAST({{0}} AS DOUBLE) "
    "ELSE CAST({word}(CAST({{0}} AS DOUBLE)) AS DOUBLE) END)"
)

TEMPLATES = {
    "postgres": {
        **_BOTH,
        "lower": "lower({0})", "upper": "upper({0})", "ilike": "({0} ILIKE {1} ESCAPE '')",
        **_DATES,
    },
    "spark": {
        **_BOTH, **_DATES,
        "divide_whole": "(CASE WHEN {1} <> 0 THEN {0} DIV {1} END)",
        "sign": "CAST(sign({0}) AS BIGINT)",
        "floor": _SPARK_WHOLE.format(word="floor"), "ceil": _SPARK_WHOLE.format(word="ceil"),
    },
    "sqlite": {
        **_BOTH,
        "year": "CAST(strftime('%Y', {0}) AS INTEGER)",
        "month": "CAST(strftime('%m', {0}) AS INTEGER)",
        "day": "CAST(strftime('%d', {0}) AS INTEGER)",
    },
}  # fmt: skip

# A pattern of LIKE as one of GLOB.
GLOB_MARKS = {"%": "*", "_": "?", "*": "[*]", "?": "[?]", "[": "[[]"}
