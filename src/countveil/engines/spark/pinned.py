"""A table that is the same in every pass.

Enters: a data frame. Leaves: one whose partitions have the same rows in the same order whenever a
task reads them, first or again. Must not know: what is done with the rows.

A task that is run again must read what it read before: rows that it passed on cannot be called
back. Files that are only filtered and projected, by deterministic expressions, are read alike
each time. All else (joins, aggregates, samples, tables in databases, the time of day) is
computed once and kept by Spark on the disks of the workers until the frame is released. If a worker
is lost with its share of that, the job fails, and nothing is published. (A checkpoint directory
would outlive it, but so would a plain copy of the table in there.)
"""

from __future__ import annotations

import re
from typing import Any

_STEADY = {"Project", "Filter", "SubqueryAlias", "View"}
_FILES = "HadoopFsRelation"
# These are constant within a plan, but differ in the next one.
_CLOCK = re.compile(
    r"\b(current_timestamp|current_date|current_time|localtimestamp|now|unix_timestamp)\(",
    re.IGNORECASE,
)


def pinned(frame: Any) -> Any:
    """The frame itself if its partitions cannot change, else one that was computed once."""
    execution = frame._jdf.queryExecution()  # noqa: SLF001 - no other way to its plan
    if _is_steady(execution.optimizedPlan()) and not _CLOCK.search(str(execution.analyzed())):
        return frame
    return frame.localCheckpoint(eager=True)


def _is_steady(plan: Any) -> bool:
    if not plan.deterministic():
        return False
    name = str(plan.nodeName()).split(" ")[0]
    if name.startswith(("LogicalRelation", "Relation")):
        return str(plan.relation().getClass().getSimpleName()) == _FILES
    if name not in _STEADY:
        return False
    children = plan.children()
    return all(_is_steady(children.apply(place)) for place in range(children.size()))
