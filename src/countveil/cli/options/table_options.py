"""The options of every command that reads a table, in groups.

Enters, leaves: nothing; these are declarations. Must not know: any command, any table.

The name of an option is also that of the argument in Python. A group takes the place of a command's
parameter of the same name (`countveil.cli.options.given`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class TableOption:
    """One option: how it is written, what follows it, what it does.

    `mark` is what stands between a column and what is said about it, if the option says something
    about columns; of several characters, either one.
    """

    flag: str
    metavar: str | None
    explanation: str
    kind: Any = str | None
    default: Any = None
    mark: str | None = None


TEXTS = list[str] | None

_SOURCE: dict[str, TableOption] = {
    "missing": TableOption(
        "--missing", "TEXT", "A text that means a missing value. Repeatable.", TEXTS
    ),
    "delimiter": TableOption(
        "--delimiter",
        "CHAR",
        "What separates the cells of a CSV, such as ';' or tab; by default detected in the "
        "first line.",
    ),
    "quote": TableOption(
        "--quote", "CHAR", "What encloses cells of a CSV, or none; by default the double quote."
    ),
    "encoding": TableOption(
        "--encoding",
        "NAME",
        "How a CSV is stored: utf-8 (the default), utf-16, latin-1, windows-1252, ...",
    ),
    "decimal_comma": TableOption(
        "--decimal-comma", None, "Numbers in a CSV are written as 1,5.", bool, False
    ),
    "header": TableOption(
        "--header/--no-header",
        None,
        "Whether the first line of a CSV names the columns; without names they are column1, "
        "column2, ...",
        bool,
        True,
    ),
    "where": TableOption(
        "--where",
        "CONDITION",
        "Only the rows that meet this condition, such as \"age >= 18 AND country = 'CA'\".",
    ),
    "columns": TableOption(
        "--columns",
        "COL",
        "Only this column and the protected ones. May be repeated, or separated by commas.",
        TEXTS,
    ),
    "labels": TableOption(
        "--labels",
        "COL=FILE",
        "What the codes of a column stand for; the file has lines of code,label, or the labels "
        'follow as in COL=\'{"1": "yes", "2": "no"}\'.',
        TEXTS,
        mark="=",
    ),
    "query": TableOption(
        "--query",
        "SELECT",
        "For a database: the table is the result of this query, which can only read.",
    ),
    "timeout": TableOption(
        "--timeout",
        "SECONDS",
        "For a database: give up when the table is not read after so many seconds. A view may "
        "compute for ever.",
        float | None,
    ),
}
_DROP = {"drop": TableOption("--drop", "COL", "Leave a column out. May be repeated.", TEXTS)}
_KEEP = {
    "keep": TableOption(
        "--keep",
        "COL",
        "Publish a column although it looks like an identifier or gives values away.",
        TEXTS,
    ),
    "person": TableOption(
        "--person",
        "COL",
        "The column that identifies the person of a row. Rows of a person with the same value "
        "publish alike, as one case. It is "
        "not published.",
    ),
}
_WEIGHT = {
    "weight": TableOption(
        "--weight",
        "COL",
        "The column with the survey weight of each row; it is published, and questions can be "
        "weighted by it.",
    ),
    "class_values": TableOption(
        "--class-values",
        "COL=NUMBERS",
        "The numbers that stand for classes in averages: two for the first and the last class, "
        "such as COL=15,70, or one for each.",
        TEXTS,
        mark="=",
    ),
}
_RECODE = {
    "bins": TableOption(
        "--bins",
        "COL=SPEC",
        "Put numbers into classes: COL=10 (rounded edges), COL=q10 (equally many rows in each) or "
        "edges such as COL=18,30,45,65. Put dates into periods: COL=month, quarter, year, decade, "
        "week or day.",
        TEXTS,
        mark="=",
    ),
    "domain": TableOption(
        "--domain",
        "COL=FILE",
        'The values that a column may have, one per line ("" for missing); any other value is '
        "refused. COL=public:occurring: those of the table, which you confirm as public.",
        TEXTS,
        mark="=",
    ),
    "merge": TableOption(
        "--merge",
        "COL=FILE",
        "Give values a common label first; the file has lines of value,label, or the labels "
        'follow as in COL=\'{"a": "x", "b": "x"}\'. COL=rare:50 merges all values with fewer than '
        "50 rows into 'other', COL=rare:50:LABEL into LABEL.",
        TEXTS,
        mark="=:",
    ),
    "levels": TableOption(
        "--levels",
        "COL=SPEC",
        "Put coarser codes in place of codes: COL=prefix:3 (their first characters), or "
        "COL=FILE:LEVEL for a hierarchy with lines of value,level1,level2,...",
        TEXTS,
        mark="=",
    ),
    "round": TableOption(
        "--round",
        "COL=STEP",
        "Round numbers to multiples of a step; they stay numbers.",
        TEXTS,
        mark="=",
    ),
    "top": TableOption(
        "--top",
        "COL=LIMIT",
        "Publish numbers above a limit as the limit; they stay numbers.",
        TEXTS,
        mark="=",
    ),
    "bottom": TableOption(
        "--bottom",
        "COL=LIMIT",
        "Publish numbers below a limit as the limit; they stay numbers.",
        TEXTS,
        mark="=",
    ),
    "one_per": TableOption(
        "--one-per",
        "COL=ROW",
        "Keep one row of each person in this column: COL='first by DATE', COL='last by DATE' or "
        "COL=any. The column is not published.",
        TEXTS,
        mark="=",
    ),
}
# The parameter of a command -> the options that take its place.
GROUPS: dict[str, dict[str, TableOption]] = {
    "source": _SOURCE,
    "shaping": {**_DROP, **_KEEP, **_WEIGHT, **_RECODE},
    "recoding": {**_DROP, **_RECODE},
    "advising": {**_DROP, "person": _KEEP["person"], **_RECODE},
}
