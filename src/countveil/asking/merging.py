"""The channels of columns of which only some values are told apart.

Enters: a plan whose axes merge values, and the channels of the whole columns. Leaves: `Channels`.
Must not know: rows, SQL text.
"""

from __future__ import annotations

from collections.abc import Sequence

from countveil.asking.answer import Channels
from countveil.errors import QueryError
from countveil.maths.channel import ChannelView
from countveil.maths.channel.merged_view import merged_view
from countveil.maths.estimate import Estimator
from countveil.sql.query import TallyPlan
from countveil.sql.query.axes import Axis


def merged_channels(
    plan: TallyPlan, views: Sequence[ChannelView], estimator: Estimator | None
) -> Channels:
    """One channel for every axis; `views` are those of the columns."""
    if estimator is not None and estimator.needs_joint_counts:
        raise QueryError(
            "The sensitive columns of this query have too many combinations of values for the "
            "paper's iteration. Use the shrunk or the unbiased estimate."
        )
    return Channels([merged_along(axis, views[axis.columns[0]]) for axis in plan.tally.axes])


def merged_along(axis: Axis, view: ChannelView) -> ChannelView:
    """The channel of one axis."""
    merged = merged_view(view, axis.classes[0])
    if merged is None:
        raise QueryError(
            "The sensitive columns of this query have too many combinations of values for the way "
            "in which they were published (common values, persons with several rows, bounded "
            "odds). Use one of them in a query."
        )
    return merged
