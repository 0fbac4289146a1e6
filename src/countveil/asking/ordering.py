"""HAVING, ORDER BY and LIMIT, on estimates.

Enters: a question, the group keys and the estimates of all cells. Leaves: which cells are in the
answer, in which order. Must not know: how the estimates were found.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.result import Cells
from countveil.sql.query.question import (
    Having,
    HavingAll,
    HavingAny,
    HavingNot,
    MeasureTest,
    Ordering,
    Question,
)

_COMPARE = {
    "equal": np.equal, "unequal": np.not_equal, "less": np.less, "at_most": np.less_equal,
    "greater": np.greater, "at_least": np.greater_equal,
}  # fmt: skip


def arranged(
    question: Question,
    keys: Sequence[Sequence[Any]],
    columns: Sequence[Cells],
    n_cells: int,
    places: Mapping[int, Mapping[Any, int]],
) -> NDArray[np.int64]:
    """The numbers of the cells that are in the answer, in its order.

    `places` gives the values of some keys an order of their own.
    """
    order = np.arange(n_cells)
    if question.having is not None:
        order = order[_passes(question.having, columns)]
    for ordering in reversed(question.order):
        order = _sorted(order, ordering, keys, columns, places)
    last = None if question.limit is None else question.offset + question.limit
    return order[question.offset : last]


def _passes(having: Having, columns: Sequence[Cells]) -> NDArray[np.bool_]:
    if isinstance(having, HavingAll | HavingAny):
        parts = np.stack([_passes(part, columns) for part in having.parts])
        join = np.logical_and if isinstance(having, HavingAll) else np.logical_or
        joined: NDArray[np.bool_] = join.reduce(parts, axis=0)
        return joined
    if isinstance(having, HavingNot):
        return ~_passes(having.part, columns)
    assert isinstance(having, MeasureTest)  # noqa: S101 - the last of the kinds
    found = columns[having.measure].found.estimate
    passes: NDArray[np.bool_] = np.isfinite(found) & _COMPARE[having.word](found, having.value)
    return passes


def _sorted(
    order: NDArray[np.int64],
    by: Ordering,
    keys: Sequence[Sequence[Any]],
    columns: Sequence[Cells],
    places: Mapping[int, Mapping[Any, int]],
) -> NDArray[np.int64]:
    if by.what == "key":
        ranks = _ranks(keys[by.number], places.get(by.number))
    else:
        found = columns[by.number].found.estimate
        ranks = np.where(np.isfinite(found), found, np.nan)
    here = ranks[order]
    known, missing = order[~np.isnan(here)], order[np.isnan(here)]
    sign = -1 if by.descending else 1
    known = known[np.argsort(sign * ranks[known], kind="stable")]
    return np.concatenate([missing, known] if by.missing_first else [known, missing])


def _ranks(values: Sequence[Any], places: Mapping[Any, int] | None) -> NDArray[np.float64]:
    """The place of each value in their order; not a number where it is missing."""
    different = [value for value in dict.fromkeys(values) if value is not None]
    # Classes and declared texts stand in the order of their list, not of the alphabet.
    different.sort(key=places.__getitem__ if places is not None else _sortable)
    rank = {value: float(place) for place, value in enumerate(different)}
    return np.array([np.nan if value is None else rank[value] for value in values], np.float64)


def _sortable(value: Any) -> Any:
    return value.isoformat() if isinstance(value, dt.date) else value
