"""Which counts are about one combination of true values each.

Enters: an aggregate and its tallies. Leaves: for every cell of the answer, the condition its rows
meet and the one combination of values they have; or nothing, if a cell sums several. Must not
know: how a combination is estimated.

`occupation = 'nurse'` and GROUP BY occupation are such counts, and so is `occupation <> 'nurse'`:
the rows less the nurses.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.conditions import NEVER
from countveil.maths.estimate.totals import Tallies, Total
from countveil.maths.estimate.estimates import Estimates

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class SingleCells:
    """`place[c]`: the values of answer c, in the flat grid of all cells; `condition[c]`: its rows.

    `complement`: the answer is all rows but those.
    """

    place: Numbers
    condition: Numbers
    complement: bool

    def fill(self, tallies: Tallies, estimates: Callable[[int, Numbers], Estimates]) -> Estimates:
        """Estimate the answers (by number) of each condition at once and put them in order."""
        parts = [np.zeros((tallies.n_groups, self.place.size)) for _ in range(4)]
        for condition in set(self.condition.tolist()) - {NEVER}:
            here = np.flatnonzero(self.condition == condition)
            found = estimates(condition, here)
            for part, numbers in zip(parts, found.parts(), strict=True):
                part[:, here] = numbers
            if self.complement:
                met = tallies.meeting(condition, 0).reshape(tallies.n_groups, -1)
                rows = met.sum(axis=1)[:, None]
                parts = [rows - parts[0], parts[1], rows - parts[3], rows - parts[2]]
        return Estimates(*parts)


def single_cells(total: Total) -> SingleCells | None:
    """None if some cell of the answer sums several combinations of values."""
    conditions = total.condition_of
    n_cells, n_others = conditions.shape
    counted = conditions != NEVER
    rows = np.arange(n_cells)
    if (counted.sum(axis=1) <= 1).all():
        first = counted.argmax(axis=1)
        return SingleCells(rows * n_others + first, conditions[rows, first], complement=False)
    kinds = set(conditions[counted].tolist())
    if n_cells == 1 and np.count_nonzero(~counted) == 1 and len(kinds) == 1:
        left_out = np.flatnonzero(~counted[0])
        return SingleCells(left_out, np.array([kinds.pop()]), complement=True)
    return None
