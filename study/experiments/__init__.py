"""What is measured: one module per experiment, each with the same two functions.

    cells(scale) -> what to measure, as plain parameters       measure(table, **parameters) -> rows

Enters: the table, the parameters of one cell. Leaves: rows of a tidy table; the same parameters
give the same rows, however often and in whatever order cells are done (clocks excepted, and noise
from OpenDP, which takes no seed). Must not know: files, processes, figures.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from study.experiments import (
    alone,
    answering,
    bounded_odds,
    by_ell,
    by_method,
    by_queries,
    by_rows,
    crossed,
    errata,
    guarantees,
    pools,
    publishing,
    skewed,
    two_columns,
)
from study.experiments.common import Parameters, Row, Scale


@dataclass(frozen=True)
class Experiment:
    """One kind of measurement; `timed` ones read the clock and run while nothing else does."""

    name: str
    cells: Callable[[Scale], list[Parameters]]
    measure: Callable[..., list[Row]]
    timed: bool = False


_MODULES: Mapping[str, Any] = {
    "crossed": crossed,
    "two_columns": two_columns,
    "by_ell": by_ell,
    "by_rows": by_rows,
    "by_method": by_method,
    "by_queries": by_queries,
    "skewed": skewed,
    "bounded_odds": bounded_odds,
    "errata": errata,
    "pools": pools,
    "alone": alone,
    "guarantees": guarantees,
    "publishing": publishing,
    "answering": answering,
}
_TIMED = {"publishing", "answering"}

EXPERIMENTS: Mapping[str, Experiment] = {
    name: Experiment(name, module.cells, module.measure, name in _TIMED)
    for name, module in _MODULES.items()
}

__all__ = ["EXPERIMENTS", "Experiment", "Parameters", "Row", "Scale"]
