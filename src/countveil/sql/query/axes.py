"""Fewer cells for columns that were published together: what is asked, not all combinations.

Enters: the sensitive columns of a question, how it uses them, and which combinations the release
publishes. Leaves: the axes of its tally. Must not know: SQL text, engines, estimators.

Of columns that were published together, every set of combinations has a channel of its own
(docs/theory/channel.md, "Columns together"). So columns that are only tested need no more than the
classes of values about which all tests agree: of `a = 1 AND b = 2 AND c = 3` eight combinations.
Columns that are grouped by need the combinations that some row publishes: one that no row publishes
is estimated by 0. Columns that were published apart keep one axis each.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]
# Columns and their domains -> the combinations that occur, as sorted numbers of the grid.
Occurring = Callable[[Sequence[str], Sequence[tuple[Any, ...]]], Numbers]


@dataclass(frozen=True, eq=False)
class Axis:
    """Sensitive columns that share one axis of a tally.

    `columns`: their numbers in the tally. `classes[i]`: the class of each value of column i; its
    place in the domain, if all differ. `occurring`: the combinations of classes that the axis has,
    as sorted numbers of their grid; None for all of them.
    """

    columns: tuple[int, ...]
    classes: tuple[Numbers, ...]
    grouped: bool
    occurring: Numbers | None = None

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many classes each column has."""
        return tuple(int(numbers.max(initial=-1)) + 1 for numbers in self.classes)

    @property
    def size(self) -> int:
        """How many places the axis has."""
        return math.prod(self.sizes) if self.occurring is None else self.occurring.size

    def places(self, values: Sequence[Numbers]) -> Numbers:
        """The places of rows whose columns, all of the tally, have these places in their domains.

        A combination that the axis lacks has any place.
        """
        grid = self._grid(values)
        if self.occurring is None:
            return grid
        return np.minimum(np.searchsorted(self.occurring, grid), max(self.occurring.size - 1, 0))

    def has(self, values: Sequence[Numbers]) -> NDArray[np.bool_]:
        """Which of these combinations the axis has."""
        grid = self._grid(values)
        return (
            np.ones(grid.shape, bool) if self.occurring is None else np.isin(grid, self.occurring)
        )

    def _grid(self, values: Sequence[Numbers]) -> Numbers:
        grid = np.zeros(np.broadcast_shapes(*(v.shape for v in values)), np.int64)
        for column, classes, size in zip(self.columns, self.classes, self.sizes, strict=True):
            grid = grid * size + classes[values[column]]
        return grid

    def of_column(self, column: int) -> Numbers:
        """For each place of the axis, the place of a column's value (the first of its class)."""
        number = self.columns.index(column)
        grid = np.arange(math.prod(self.sizes)) if self.occurring is None else self.occurring
        classes = np.unravel_index(grid, self.sizes)[number]
        return np.unique(self.classes[number], return_index=True)[1][classes]


def spread(axes: Sequence[Axis]) -> tuple[Numbers, ...]:
    """For every column, the place of its value in each cell of the grid of all axes."""
    lines: dict[int, Numbers] = {}
    for number, axis in enumerate(axes):
        shape = [1] * len(axes)
        shape[number] = axis.size
        lines |= {column: axis.of_column(column).reshape(shape) for column in axis.columns}
    return tuple(lines[column] for column in range(len(lines)))


def axes_of(
    names: Sequence[str],
    domains: Sequence[tuple[Any, ...]],
    grouped: Sequence[bool],
    classes: Sequence[Numbers],
    together: Sequence[Sequence[str]],
    occurring: Occurring | None,
    apart: Sequence[Numbers],
) -> tuple[Axis, ...]:
    """The axes of a question; `classes[i]`: the class of each value of column i.

    `apart[i]` is the same for a column that was published apart from all others.
    """
    axes: list[Axis] = []
    for columns in _blocks(names, together):
        by_group = tuple(column for column in columns if grouped[column])
        tested = tuple(column for column in columns if not grouped[column])
        alone = len(columns) == 1
        if alone:
            (column,) = columns
            axes.append(Axis((column,), (apart[column],), grouped=grouped[column]))
            continue
        if by_group:
            whole = tuple(np.arange(len(domains[column])) for column in by_group)
            kept = None
            if len(by_group) > 1 and occurring is not None:
                asked = [names[c] for c in by_group], [domains[c] for c in by_group]
                kept = occurring(*asked)
            axes.append(Axis(by_group, whole, grouped=True, occurring=kept))
        if tested:
            coarse = tuple(classes[c] for c in tested)
            axes.append(Axis(tested, coarse, grouped=False))
    return tuple(axes)


def merged_classes(classes: Numbers, excluded: NDArray[np.bool_], *, grouped: bool) -> Numbers:
    """Values of a column that was published apart: alone if they are asked about, else as one.

    As one: the values that are most among those about which all tests agree, or, if the column is
    grouped by, those that no row of the answer has.
    """
    together = excluded if grouped else classes == np.bincount(classes).argmax()
    if not grouped and together.any():
        # One of them stays alone: a set that has them all is then a sum of several values, whose
        # variance is that of its row weights, and not that of one value.
        together[int(together.argmax())] = False
    if together.sum() < 2:
        return np.arange(classes.size)
    numbers = np.cumsum(~together) - 1
    return np.where(together, int((~together).sum()), numbers)


def _blocks(names: Sequence[str], together: Sequence[Sequence[str]]) -> list[list[int]]:
    """The numbers of the columns, those that were published together side by side."""
    blocks: dict[Any, list[int]] = {}
    for number, name in enumerate(names):
        shared = next((tuple(columns) for columns in together if name in columns), name)
        blocks.setdefault(shared, []).append(number)
    return list(blocks.values())
