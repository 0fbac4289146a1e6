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

from countveil.engines.spark.platform.kinds import is_connect

_STEADY = {"Project", "Filter", "SubqueryAlias", "View"}
_FILES = "HadoopFsRelation"
# Plain files. Tables with a log of their own (Delta) list theirs anew for each plan.
_INDEXES = {"InMemoryFileIndex", "CatalogFileIndex", "PrunedInMemoryFileIndex"}
# These are constant within a plan, but differ in the next one.
_CLOCK = re.compile(
    r"\b(current_timestamp|current_date|current_time|localtimestamp|now|unix_timestamp)\(",
    re.IGNORECASE,
)


def pinned(frame: Any) -> Any:
    """The frame itself if its partitions cannot change, else one that was computed once."""
    if is_connect(frame.sparkSession):
        from countveil.engines.spark.platform.plan_text import is_steady

        return frame if is_steady(frame, _CLOCK) else frame.localCheckpoint(eager=True)
    execution = frame._jdf.queryExecution()  # noqa: SLF001 - no other way to its plan
    if _is_steady(execution.optimizedPlan()) and not _CLOCK.search(str(execution.analyzed())):
        return frame
    return frame.localCheckpoint(eager=True)


def _is_steady(plan: Any) -> bool:
    if not plan.deterministic():
        return False
    name = str(plan.nodeName()).split(" ")[0]
    if name.startswith(("LogicalRelation", "Relation")):
        relation = plan.relation()
        if str(relation.getClass().getSimpleName()) != _FILES:
            return False
        return str(relation.location().getClass().getSimpleName()) in _INDEXES
    if name not in _STEADY:
        return False
    children = plan.children()
    return all(_is_steady(children.apply(place)) for place in range(children.size()))
