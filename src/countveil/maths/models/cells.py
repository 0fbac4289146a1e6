"""Counted rows as the cells that a model is fitted to.

Enters: lines of equal rows (plain values, published values, how many), the classes of each
sensitive column, the design. Leaves: for every line its weight and weighted response in each cell
of predictors, and sums of them by cell. Must not know: families, formulas.

A *cell* is a row of the design: one combination of plain predictors, and of true classes of the
sensitive columns among them. A *combination* has one class of every sensitive column, those of the
outcome too. A line counts in all combinations, with weights that add up to 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.models.value_classes import ValueClasses

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# So many numbers are worked on at a time.
_AT_A_TIME = 4_000_000


@dataclass(frozen=True)
class Lines:
    """Rows that are equal in all that the model asks for, in the order of `point`.

    `point` numbers the combinations of plain predictors, `places[column]` the published values.
    `count` is how many rows a line has, `first` and `second` the sums of their survey weights and
    of the squares of these (the count, without weights). `outcome[line, response]`: None where the
    outcome is sensitive.
    """

    point: Numbers
    places: Sequence[Numbers]
    count: Floats
    first: Floats
    second: Floats
    outcome: Floats | None

    def at(self, chosen: slice) -> Lines:
        """Some of them."""
        return Lines(
            self.point[chosen],
            [place[chosen] for place in self.places],
            self.count[chosen],
            self.first[chosen],
            self.second[chosen],
            None if self.outcome is None else self.outcome[chosen],
        )


@dataclass(frozen=True)
class ModelData:
    """All that a fit needs.

    `design[point, cell, coefficient]`. `cell_of[combination]` is the cell of a combination of true
    classes (in the order of `columns`, the last one fastest), -1 for rows that do not count.
    `outcome_of[combination, response]`: the outcome, where it is sensitive.
    """

    lines: Lines
    columns: Sequence[ValueClasses]
    design: Floats
    cell_of: Numbers
    outcome_of: Floats | None

    @property
    def responses(self) -> int:
        """How many responses: one, or one less than the categories of a multinomial model."""
        outcome = self.lines.outcome if self.outcome_of is None else self.outcome_of
        assert outcome is not None  # noqa: S101 - one of the two is there
        return int(outcome.shape[1])

    @property
    def size(self) -> int:
        """How many coefficients."""
        return int(self.design.shape[2]) * self.responses

    @cached_property
    def to_cells(self) -> Floats:
        """Which combination is in which cell: 0 or 1."""
        matrix = np.zeros((self.cell_of.size, self.design.shape[1]))
        counted = np.flatnonzero(self.cell_of >= 0)
        matrix[counted, self.cell_of[counted]] = 1.0
        return matrix

    @cached_property
    def to_responses(self) -> Floats | None:
        """The outcome of every combination, in its cell."""
        if self.outcome_of is None:
            return None
        product: Floats = self.to_cells[:, :, None] * self.outcome_of[:, None, :]
        return product

    def chunks(self, per_line: int) -> Iterator[Lines]:
        """The lines, so many at a time that `per_line` numbers of each fit."""
        step = max(1, _AT_A_TIME // max(per_line, 1))
        for start in range(0, self.lines.point.size, step):
            yield self.lines.at(slice(start, start + step))

    def weights(self, lines: Lines, without: int | None = None) -> Floats:
        """The weight of every line in every combination.

        `without` a column, its classes do not weigh: they count fully.
        """
        weights = np.ones((lines.point.size, 1))
        for number, column in enumerate(self.columns):
            each = column.weights[:, lines.places[number]].T
            if number == without:
                each = np.ones_like(each)
            weights = (weights[:, :, None] * each[:, None, :]).reshape(lines.point.size, -1)
        return weights

    def in_cells(self, lines: Lines, weights: Floats) -> tuple[Floats, Floats]:
        """The weight, and the weighted response, of every line in every cell."""
        in_cell = weights @ self.to_cells
        if self.to_responses is None:
            assert lines.outcome is not None  # noqa: S101 - one of the two is there
            return in_cell, in_cell[:, :, None] * lines.outcome[:, None, :]
        return in_cell, np.tensordot(weights, self.to_responses, 1)

    @cached_property
    def totals(self) -> tuple[Floats, Floats]:
        """Estimated rows, and their summed responses, by point and cell."""
        points, cells = self.design.shape[:2]
        rows = np.zeros((points, cells))
        responses = np.zeros((points, cells, self.responses))
        for lines in self.chunks(self.cell_of.size * (1 + self.responses)):
            in_cell, response = self.in_cells(lines, self.weights(lines))
            starts = np.flatnonzero(np.diff(lines.point, prepend=-1))
            at = lines.point[starts]
            rows[at] += np.add.reduceat(lines.first[:, None] * in_cell, starts, axis=0)
            weighted = lines.first[:, None, None] * response
            responses[at] += np.add.reduceat(weighted, starts, axis=0)
        return rows, responses
