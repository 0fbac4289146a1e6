"""The options that prepare a table, read.

Enters: what a caller wrote for columns, perhaps the names of files. Leaves: the fields of a
`Shaping` that say what becomes of values and rows. Must not know: the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from countveil.errors import SettingsError, option
from countveil.release.steps import PERIODS
from countveil.tables.cells import CellChange, number_of
from countveil.tables.classes import Bins
from countveil.tables.labels import read_labels
from countveil.tables.levels import Level, RareMerge, read_levels
from countveil.tables.recode import read_merges

if TYPE_CHECKING:
    from countveil.tables.one_per import OnePer
    from countveil.tables.options import FileName, SourceOptions


def recoding(
    bins: Mapping[str, object],
    merge: Mapping[str, Mapping[Any, str] | FileName],
    options: SourceOptions,
) -> dict[str, Any]:
    """The fields of a `Shaping` that say what becomes of values, and which rows are kept."""
    labels, levels = options.get("labels") or {}, options.get("levels") or {}
    coarser = {name: read_levels(name, given) for name, given in levels.items()}
    periods = {name: _period(given) for name, given in bins.items() if _period(given)}
    rare = {name: _rare(given) for name, given in merge.items() if _rare(given)}
    return {
        "bins": {name: Bins.of(given) for name, given in bins.items() if name not in periods},
        "merge": {name: read_merges(m) for name, m in merge.items() if name not in rare},
        "labels": {name: read_labels(given) for name, given in labels.items()},
        "rare": rare,
        "levels": {name: level for name, level in coarser.items() if isinstance(level, Level)},
        "cells": _cell_changes(periods, coarser, options),
        "one_per": _one_per(options.get("one_per")),
    }


def _cell_changes(
    periods: Mapping[str, str | None], levels: Mapping[str, int | Level], options: SourceOptions
) -> dict[str, CellChange]:
    """By column, what is done to its cells, whatever the other rows hold."""
    changes: dict[str, dict[str, Any]] = {}
    for name, period in periods.items():
        changes.setdefault(name, {})["period"] = period
    for name, level in levels.items():
        if isinstance(level, int):
            changes.setdefault(name, {})["prefix"] = level
    given = {"step": options.get("round"), "top": options.get("top")}
    for part, numbers in {**given, "bottom": options.get("bottom")}.items():
        flag = "round" if part == "step" else part
        for name, number in (numbers or {}).items():
            changes.setdefault(name, {})[part] = number_of(number, option(flag), name)
    return {name: CellChange.of(name, **change) for name, change in changes.items()}


def _period(given: object) -> str | None:
    text = str(given).strip().lower()
    return text if text in PERIODS else None


def _rare(given: object) -> RareMerge | None:
    return RareMerge.parse(given) if isinstance(given, str) else None


def _one_per(given: Mapping[str, str] | None) -> OnePer | None:
    if not given:
        return None
    # It loads Arrow, which a plain publication reads later.
    from countveil.tables.one_per import OnePer

    if len(given) > 1:
        raise SettingsError(f"{option('one_per')} names one column: that of the person.")
    ((person, row),) = given.items()
    return OnePer.of(person, row)
