"""Minimality: do groups or draws depend on the other columns, as that attack presupposes?

Enters: a case, a stream. Leaves: a finding. Must not know: attacks on beliefs.

A minimality attack works because groups were chosen to distort the other columns as little as
possible: the groups then reveal what the sensitive values must have been. Here the same rows are
published twice under one key, the second time with the other columns of all rows exchanged. If
groups or draws depended on them, some row would publish another value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from countveil.auditing.attacks.repetition import fitting_settings
from countveil.auditing.case import AuditCase
from countveil.auditing.findings import Finding, Outcome
from countveil.auditing.linking import read_stored
from countveil.maths.groups import ColumnSettings
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Stream
from countveil.tables import Shaping

_ROWS = 5_000
_MOST_PLAIN = 8


def attack(case: AuditCase, stream: Stream) -> Outcome:
    """Publish twice, and compare."""
    truth, settings, folder = case.truth, case.settings, case.scratch
    rows = next(iter(truth.values())).codes.size
    chosen = np.linspace(0, rows - 1, min(rows, _ROWS)).astype(np.int64)
    codes = {name: column.codes[chosen] for name, column in truth.items()}
    plain = [name for name in truth if name not in settings][:_MOST_PLAIN]
    fitting = {}
    for name, choice in settings.items():
        places = case.common.get(name, ())
        fits = fitting_settings(codes[name], choice, len(truth[name].values), places)
        if fits is not None:
            there = sorted(set(places) & set(codes[name].tolist()))
            fitting[name] = replace(fits, common=tuple(map(_label, there)))
    if not plain or not fitting:
        return Outcome()
    seed = int(stream.below(1 << 62, 1)[0])
    other = stream.permutation(chosen.size)
    published = [
        _published(codes, plain, fitting, order, seed, folder / name)
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


def _published(
    codes: Mapping[str, np.ndarray],
    plain: list[str],
    settings: Mapping[str, ColumnSettings],
    order: np.ndarray,
    seed: int,
    folder: Path,
) -> dict[str, np.ndarray]:
    """What each row publishes, in the table's order."""
    number = "row"
    while number in codes:
        number += "_"
    columns: dict[str, Any] = {name: codes[name][order] for name in plain}
    columns |= {name: list(map(_label, codes[name].tolist())) for name in settings}
    columns[number] = np.arange(order.size)
    run_publish(
        pa.table(columns),
        Protecting(settings, seed),
        Writing.of(folder, again=True),
        shaping=Shaping(keep=tuple(columns)),
    )
    stored = read_stored(folder, [number, *settings])
    place = np.argsort(np.array(stored[number].values)[stored[number].codes])
    return {name: np.array(stored[name].values)[stored[name].codes][place] for name in settings}


def _label(code: int) -> str:
    return f"v{code:07d}"
