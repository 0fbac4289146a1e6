"""A table that is the same in every pass.

Enters: a data frame. Leaves: one whose parts have the same rows in the same order whenever a task
reads them, first or again. Must not know: what is done with the rows.

A task that is run again must find what it found: rows that others have already cannot be called
back. Files that are only filtered and projected, by expressions that always say the same, are read
alike each time. All else (joins, aggregates, samples, tables in databases) is computed once and
kept by Spark: in its checkpoint directory if it has one, else on the workers' own disks. Should a
worker be lost with its share of that, the job fails, and nothing is published.
"""

from __future__ import annotations

from typing import Any

_STEADY = {"Project", "Filter", "SubqueryAlias", "View", "LocalRelation"}
_FILES = "HadoopFsRelation"


def pinned(frame: Any) -> Any:
    """The frame itself if its parts cannot change, else one that was computed once."""
    if _is_steady(frame._jdf.queryExecution().optimizedPlan()):  # noqa: SLF001 - no other way
        return frame
    context = frame.sparkSession.sparkContext
    if context.getCheckpointDir() is not None:
        return frame.checkpoint(eager=True)
    return frame.localCheckpoint(eager=True)


def _is_steady(plan: Any) -> bool:
    if not plan.deterministic():
        return False
    name = str(plan.nodeName()).split(" ")[0]
    if name in ("LogicalRelation", "Relation") or name.startswith("Relation"):
        return str(plan.relation().getClass().getSimpleName()) == _FILES
    if name not in _STEADY:
        return False
    children = plan.children()
    return all(_is_steady(children.apply(place)) for place in range(children.size()))
