"""Operations whose text is the same for any operands, in PostgreSQL and in SQLite.

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

TEMPLATES = {
    "postgres": {
        **_BOTH,
        "lower": "lower({0})", "upper": "upper({0})", "ilike": "({0} ILIKE {1} ESCAPE '')",
        "year": "CAST(EXTRACT(YEAR FROM {0}) AS BIGINT)",
        "month": "CAST(EXTRACT(MONTH FROM {0}) AS BIGINT)",
        "day": "CAST(EXTRACT(DAY FROM {0}) AS BIGINT)",
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
