"""Groups of people who are alike: do the decoys of a person come from people like him?

Enters: a target. Leaves: a finding. Must not know: files, values.

Knows: everybody's other columns and the true values of everybody else. The premise of a minimality
attack, and of Anatomy's or ell-diversity's groups, is that people are grouped whose other columns
agree. Then a row publishes values that the people around it have, and what is published in a small
cell tells its true values. Here groups see no other column: given how many rows with true value u
publish v, these are dealt to the rows with u in random order, wherever they live.

Counted are rows that publish, in place of their own value, one that the other rows of their cell
have more often than the table does; once for the cells of each other column, once for the finest
cells of several. The claim is what random dealing gives, tested exactly (`beliefs`).
"""

from __future__ import annotations

import numpy as np

from countveil.auditing.beliefs import Score, score
from countveil.auditing.chance import LEVEL, interval
from countveil.auditing.findings import Finding, tried_text
from countveil.auditing.target import Codes, SensitiveColumn, Target

_NUMBERS = 10_000_000
_LEAST_CELL = 20


def decoys_from_alike(whole: Target, place: int) -> Finding:
    """Test column number `place` of the sensitive ones."""
    target = whole.sample(max(400, _NUMBERS // whole.sensitive[place].n_values))
    column = target.sensitive[place]
    cells = {plain.name: plain.codes for plain in target.plain}
    cells["several columns"] = target.fine_cells(_LEAST_CELL)
    found = {name: _score(column, cell) for name, cell in cells.items()}
    worst = min(found, key=lambda name: (found[name].p_value, -_excess(found[name])))
    own = found[worst]
    return Finding(
        "minimality", "decoys from people who are alike",
        "all other columns, the true values of everybody else",
        "count decoys that are frequent in the person's cell",
        f"{own.expected / own.rows:.4f} (groups see no other column)", own.successes / own.rows,
        "share of rows", *interval(own.successes, own.rows, 1 - (1 - LEVEL) / len(found)),
        min(1.0, len(found) * own.p_value), column=column.name,
        note=f"{len(found)} ways to cut the table into cells; the farthest from chance is by "
        f"{worst}", tried=tried_text(own.rows, whole.n_linked),
    )  # fmt: skip


def _excess(found: Score) -> float:
    return found.successes - found.expected


def _score(column: SensitiveColumn, cell: Codes) -> Score:
    n_values, rows = column.n_values, column.truth.size
    keys, number = np.unique(cell, return_inverse=True)
    inside = np.bincount(number * n_values + column.truth, minlength=keys.size * n_values)
    inside = inside.reshape(keys.size, n_values)
    table = inside.sum(axis=0)
    others = inside.sum(axis=1)[number] - 1
    # More often than in the table, the row itself left out of its cell.
    frequent = inside[number] * float(rows) > others[:, None] * table.astype(np.float64)
    frequent[np.arange(rows), column.truth] = False
    return score(frequent, column)
