"""Whether a frame of Spark Connect is read alike each time, by the text of its plan.

Enters: a data frame. Leaves: yes, or that nobody can tell. Must not know: what is done with the
rows. The text goes to this process alone, and nothing of it is kept.

The text is all that a client can see. So it is enough if it names nothing but files, projections
and filters by functions that are known to give the same each time; whatever else is in it, also
inside a literal, makes it unknown.
"""

from __future__ import annotations

import re
from typing import Any

_SECTION = re.compile(r"^== (Optimized Logical|Physical) Plan ==$", re.MULTILINE)
_TREE = re.compile(r"^[\s:|]*(\+- )?")
_FILES = re.compile(r"Relation\b.*\] ?(parquet|orc|csv|json|text)\s*$")
_LOCATION = re.compile(r"\bLocation: (\w+)")
_CALL = re.compile(r"\b([A-Za-z_]\w*)\(")
_SAME_EACH_TIME = {
    "abs", "cast", "ceil", "coalesce", "concat", "contains", "endswith", "floor", "greatest",
    "isnan", "isnotnull", "isnull", "least", "length", "lower", "nullif", "regexp_replace",
    "replace", "rlike", "round", "startswith", "substr", "substring", "trim", "try_cast", "upper",
    "year",
}  # fmt: skip
_INDEXES = {"InMemoryFileIndex", "CatalogFileIndex", "PrunedInMemoryFileIndex"}
_WHOLE_TEXT = "spark.sql.debug.maxToStringFields"


def is_steady(frame: Any, clock: re.Pattern[str]) -> bool:
    """Whether the plan is one of files, projections and filters, without a word of the `clock`."""
    session = frame.sparkSession
    before = session.conf.get(_WHOLE_TEXT, None)
    session.conf.set(_WHOLE_TEXT, str(1 << 20))
    try:
        text = frame._explain_string(extended=True)  # noqa: SLF001 - explain() would print it
    finally:
        if before is None:
            session.conf.unset(_WHOLE_TEXT)
        else:
            session.conf.set(_WHOLE_TEXT, before)
    return clock.search(text) is None and is_steady_text(text)


def is_steady_text(text: str) -> bool:
    """The same of a text as Spark's extended explanation has it."""
    sections = _SECTION.split(text)
    if len(sections) != 5 or sections[1] != "Optimized Logical":
        return False
    plan, physical = sections[2], sections[4]
    nodes = [_TREE.sub("", line) for line in plan.splitlines() if line.strip()]
    known = all(node.startswith(("Project [", "Filter ")) or _FILES.match(node) for node in nodes)
    places = _LOCATION.findall(physical)
    return (
        known
        and bool(places)
        and set(places) <= _INDEXES
        and {name.lower() for name in _CALL.findall(plan)} <= _SAME_EACH_TIME
    )
