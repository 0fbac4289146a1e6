"""The grid: everything that is measured, declared in one place.

Enters: a scale. Leaves: cells, in the order in which they are done: long ones first, those that
read the clock last. Must not know: how a cell is measured.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from study.experiments import EXPERIMENTS, Parameters, Scale

FULL = Scale()
QUICK = Scale(
    rows=30_000,
    sizes=(30_000, 60_000),
    ells=(2, 5, 10),
    repetitions=3,
    predicates=60,
    two_ells=(2, 5),
    two_repetitions=2,
    two_predicates=15,
    most_queries=(10, 50, 100),
    draws=300,
    times=2,
    asked=40,
)


@dataclass(frozen=True)
class Cell:
    """One measurement: an experiment and its parameters."""

    experiment: str
    parameters: Parameters

    @property
    def key(self) -> str:
        """A name for it, the same in every run."""
        return f"{self.experiment} {json.dumps(self.parameters, sort_keys=True)}"

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def timed(self) -> bool:
        """Does it read the clock?"""
        return EXPERIMENTS[self.experiment].timed


def cells(scale: Scale, only: Sequence[str] = ()) -> list[Cell]:
    """All cells, or those of some experiments."""
    return [
        Cell(name, parameters)
        for name, experiment in EXPERIMENTS.items()
        if not only or name in only
        for parameters in experiment.cells(scale)
    ]
