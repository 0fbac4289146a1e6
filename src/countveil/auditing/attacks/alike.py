"""Groups of similar people: do the decoys of a person come from people like him?

Enters: a target. Leaves: a finding. Must not know: files, values.

Knows: everybody's other columns and the true values of everybody else. The premise of a minimality
attack, and of Anatomy's or ell-diversity's groups, is that people are grouped whose other columns
agree. Then a row publishes values that similar people have, and what is published in a small cell
reveals its true values. Here groups do not depend on other columns: given how many rows with true
value u publish v, these are dealt to the rows with u in random order.

The attack counts rows that publish, instead of their true value, one that is more frequent among
the other rows of their cell than in the table; once for the cells of each other column, once for
the finest cells of several. The claim is what random dealing gives, tested exactly (`beliefs`).
"""

from __future__ import annotations

import numpy as np

from countveil.auditing.beliefs import Score, score
from countveil.auditing.chance import LEVEL, interval
from countveil.auditing.findings import Finding, tried_text
from countveil.auditing.target import AttackedColumn, Codes, Target

_NUMBERS = 10_000_000
_LEAST_CELL = 20


def decoys_from_alike(whole: Target, place: int) -> Finding:
    """Test column number `place` of the sensitive ones."""
    target = whole.sample(max(400, _NUMBERS // whole.sensitive[place].n_values))
    column = target.sensitive[place]
    cells = {plain.name: plain.codes for plain in target.plain}
    cells["several columns"] = target.fine_cells(_LEAST_CELL)
    scores = {name: _score(column, cell) for name, cell in cells.items()}
    worst = min(scores, key=lambda name: (scores[name].p_value, -_excess(scores[name])))
    result = scores[worst]
    return Finding(
        "minimality", "decoys from people who are alike",
        "all other columns, the true values of everybody else",
        "count decoys that are frequent in the person's cell",
        f"{result.expected / result.rows:.4f} (groups do not depend on other columns)",
        result.successes / result.rows,
        "share of rows", *interval(result.successes, result.rows, 1 - (1 - LEVEL) / len(scores)),
        min(1.0, len(scores) * result.p_value), column=column.name,
        note=f"{len(scores)} ways to cut the table into cells; the farthest from chance is by "
        f"{worst}", tried=tried_text(result.rows, whole.n_linked),
    )  # fmt: skip


def _excess(result: Score) -> float:
    return result.successes - result.expected


def _score(column: AttackedColumn, cell: Codes) -> Score:
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
