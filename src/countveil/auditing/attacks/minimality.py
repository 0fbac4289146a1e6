"""Minimality: do groups or draws depend on the other columns, as that attack presupposes?

Enters: a case or a target, a stream. Leaves: findings. Must not know: attacks on beliefs.

A minimality attack works because groups were chosen to distort the other columns as little as
possible: the groups then reveal what the sensitive values must have been.

**Exchanged columns.** The same rows are published twice under one key, the second time with the
other columns of all rows exchanged. If groups or draws depended on them, some row would publish
another value.

**Decoys from people who are alike.** He knows everybody's other columns and the true values of
everybody else. If people were grouped whose other columns agree, as Anatomy and ell-diversity have
it, a row would publish values that similar people have, and what is published in a small cell would
reveal its true values. Here groups do not depend on other columns: given how many rows with true
value u publish v, these are dealt to the rows with u in random order. Counted are rows that do not
publish their true value but one that is more frequent among the other rows of their cell than in
the table; once for the cells of each other column, once for the finest cells of several. The claim
is what random dealing gives, tested exactly (`beliefs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from countveil.auditing.attacks.repetition import fitting_settings
from countveil.auditing.beliefs import Score, score
from countveil.auditing.case import AuditCase
from countveil.auditing.chance import LEVEL, interval
from countveil.auditing.findings import Finding, Outcome, tried_text
from countveil.auditing.linking import read_stored
from countveil.auditing.target import AttackedColumn, Codes, Target
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Stream
from countveil.tables import Shaping

_ROWS = 5_000
_MOST_PLAIN = 8
_NUMBERS = 10_000_000
_LEAST_CELL = 20


def attack(case: AuditCase, stream: Stream) -> Outcome:
    """Publish twice, and compare."""
    truth, settings, folder = case.truth, case.settings, case.scratch
    rows = next(iter(truth.values())).codes.size
    chosen = np.linspace(0, rows - 1, min(rows, _ROWS)).astype(np.int64)
    codes = {name: column.codes[chosen] for name, column in truth.items()}
    plain = [name for name in truth if name not in settings][:_MOST_PLAIN]
    persons = None if case.persons is None else case.persons[chosen]
    fitting, declared = {}, {}
    for column in case.target.columns:
        name, places, values = column.name, column.common, column.n_values
        drawn = codes[name] if persons is None else _values_of_cases(codes[name], persons, values)
        fits = fitting_settings(drawn, settings[name], values, places, column.gamma)
        if fits is None:
            continue
        there = sorted(set(places) & set(codes[name].tolist()))
        fitting[name] = replace(fits, common=tuple(map(_label, there)))
        if column.odds is not None:
            fitting[name] = replace(fitting[name], odds=column.odds.at_most)
            declared[name] = [_label(place) for place in range(values)]
    if not plain or not fitting:
        return Outcome()
    seed = int(stream.below(1 << 62, 1)[0])
    other = stream.permutation(chosen.size)
    protecting = Protecting(fitting, seed, case.protecting.together)
    published = [
        _published((codes, plain), protecting, declared, (order, persons), folder / name)
        for name, order in (("one", np.arange(chosen.size)), ("two", other))
    ]
    differ = sum(int((published[0][name] != published[1][name]).sum()) for name in fitting)
    return Outcome([
        Finding(
            "minimality", "exchange the other columns of all rows", "the key, for this experiment",
            "publish twice under one key, compare row by row", "0", float(differ),
            "rows that publish another value", p_value=0.0 if differ else 1.0,
            column=", ".join(fitting),
            note=f"{chosen.size:,} rows; neither groups nor draws depend on the other columns",
        )
    ])  # fmt: skip


def _values_of_cases(codes: Codes, persons: Codes, n_values: int) -> Codes:
    """The value of every case, where persons have several rows."""
    return np.unique(persons * n_values + codes) % n_values


def _published(
    table: tuple[Mapping[str, Codes], list[str]],
    protecting: Protecting,
    declared: Mapping[str, list[str]],
    rows: tuple[Codes, Codes | None],
    folder: Path,
) -> dict[str, np.ndarray]:
    """What each row publishes, in the table's order; `rows` are their order and their persons."""
    (codes, plain), (order, persons) = table, rows
    number, settings = "row", protecting.columns
    while number in codes:
        number += "_"
    columns: dict[str, Any] = {name: codes[name][order] for name in plain}
    columns |= {name: list(map(_label, codes[name].tolist())) for name in settings}
    columns[number] = np.arange(order.size)
    keep, person = tuple(columns), None
    if persons is not None:
        person = f"person of {number}"
        columns[person] = persons
    run_publish(
        pa.table(columns),
        protecting,
        Writing.of(folder, again=True, record=False),
        shaping=Shaping(keep=keep, person=person, domain=declared),
    )
    stored = read_stored(folder, [number, *settings])
    place = np.argsort(np.array(stored[number].values)[stored[number].codes])
    return {name: np.array(stored[name].values)[stored[name].codes][place] for name in settings}


def _label(code: int) -> str:
    return f"v{code:07d}"


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
