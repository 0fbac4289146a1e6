"""What the reader of expressions knows by name: functions, comparisons, casts. Tables alone.

Enters: nothing. Leaves: for the type of a node of sqlglot, the name of our operation and the kinds
of its operands. Must not know: columns, engines.
"""

from __future__ import annotations

from countveil.release.values import DATE, NUMBER, TEXT, TIMESTAMP

FUNCTIONS = (
    "lower, upper, trim, length, substr, left, right, concat or ||, abs, round, floor, ceil, sqrt, "
    "ln, power, sign, replace, split_part, position, starts_with, ends_with, contains, "
    "regexp_matches, year, quarter, month, week, day, dayofweek, dayofyear, hour, minute, second, "
    "extract, date_trunc, date_diff, strftime, monthname, dayname, coalesce, nullif, greatest, "
    "least, if"
)
SUPPORTED = (
    "Supported: SELECT [columns,] count(*), sum(x), avg(x) [FILTER (WHERE ...)] FROM release "
    "[WHERE ...] [GROUP BY ...] [HAVING ...] [ORDER BY ...] [LIMIT n]."
)
MISSING = "missing"

COMPARISONS = {
    "EQ": "equal", "NEQ": "unequal", "LT": "less", "LTE": "at_most", "GT": "greater",
    "GTE": "at_least",
}  # fmt: skip
SWAPPED = {
    "less": "greater", "at_most": "at_least", "greater": "less", "at_least": "at_most",
}  # fmt: skip
ARITHMETIC = {
    "Add": "add", "Sub": "subtract", "Mul": "multiply", "Div": "divide", "IntDiv": "divide_whole",
    "Mod": "remainder",
}  # fmt: skip
# node -> (operation, kinds of the operands; the last one repeats)
CALLS: dict[str, tuple[str, tuple[str, ...]]] = {
    "Lower": ("lower", (TEXT,)), "Upper": ("upper", (TEXT,)), "Trim": ("trim", (TEXT,)),
    "Length": ("length", (TEXT,)), "Substring": ("substr", (TEXT, NUMBER, NUMBER)),
    "Left": ("left", (TEXT, NUMBER)), "Right": ("right", (TEXT, NUMBER)),
    "DPipe": ("concat", (TEXT,)), "Concat": ("concat", (TEXT,)),
    "Abs": ("abs", (NUMBER,)), "Round": ("round", (NUMBER,)), "Floor": ("floor", (NUMBER,)),
    "Ceil": ("ceil", (NUMBER,)), "Sqrt": ("sqrt", (NUMBER,)), "Ln": ("ln", (NUMBER,)),
    "Sign": ("sign", (NUMBER,)), "Year": ("year", (DATE,)), "Month": ("month", (DATE,)),
    "Day": ("day", (DATE,)), "DayOfMonth": ("day", (DATE,)), "DayOfWeek": ("weekday", (DATE,)),
    "DayOfYear": ("day_of_year", (DATE,)), "Week": ("week", (DATE,)),
    "WeekOfYear": ("week", (DATE,)), "Hour": ("hour", (TIMESTAMP,)),
    "Minute": ("minute", (TIMESTAMP,)), "Second": ("second", (TIMESTAMP,)),
    "RegexpLike": ("matches", (TEXT,)), "Replace": ("replace", (TEXT,)),
    "StrPosition": ("position", (TEXT,)), "SplitPart": ("split_part", (TEXT, TEXT, NUMBER)),
    "Pow": ("power", (NUMBER,)),
}  # fmt: skip
ALIKE = {"Coalesce": "coalesce", "Nullif": "nullif", "Greatest": "greatest", "Least": "least"}
CASTS = {
    "TINYINT": "to_whole", "SMALLINT": "to_whole", "INT": "to_whole", "BIGINT": "to_whole",
    "FLOAT": "to_number", "DOUBLE": "to_number", "DECIMAL": "to_number", "VARCHAR": "to_text",
    "TEXT": "to_text", "CHAR": "to_text", "DATE": "to_date", "TIMESTAMP": "to_timestamp",
    "TIMESTAMPNTZ": "to_timestamp", "BOOLEAN": "to_boolean",
}  # fmt: skip
# What a text begins with, ends with or contains, and the operation that gives that end.
AFFIXES = {"StartsWith": "left", "EndsWith": "right", "Contains": "contains"}
# Read by `dates`.
DATED = (
    "Extract", "TimestampTrunc", "DateTrunc", "TimeToStr", "DateDiff", "Quarter", "Monthname",
    "Dayname",
)  # fmt: skip
# The method of the reader that reads a node; everything else is refused.
READERS = {
    "Column": "_plain_column", "Literal": "_literal", "Boolean": "_literal", "Null": "_literal",
    "Neg": "_literal", "And": "_joined", "Or": "_joined", "Not": "_negated", "Is": "_predicate",
    "In": "_predicate", "Between": "_predicate", "Like": "_predicate", "ILike": "_predicate",
    "Case": "_case", "If": "_case", "Cast": "_cast", "TryCast": "_cast", "Anonymous": "_special",
    "NullSafeEQ": "_special", "NullSafeNEQ": "_special",
    **dict.fromkeys(AFFIXES, "_special"), **dict.fromkeys(DATED, "_dated"),
    **dict.fromkeys(COMPARISONS, "_compared"), **dict.fromkeys(ARITHMETIC, "_calculated"),
    **dict.fromkeys(CALLS, "_called"), **dict.fromkeys(ALIKE, "_chosen"),
}  # fmt: skip
