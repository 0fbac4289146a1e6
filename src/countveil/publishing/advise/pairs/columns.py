"""Which pairs of columns are compared, and the rows that they are tried out on.

Enters: what a publisher wrote of columns together, a sample of rows. Leaves: a `PairAdvice` for
each pair. Must not know: how an engine reads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from countveil.errors import SettingsError, option
from countveil.maths.groups import ColumnSettings
from countveil.publishing.advise.methods import COMMON, METHODS, MIXED
from countveil.publishing.advise.pairs.compare import TOGETHER, WAYS, PairAdvice, compare_pair
from countveil.publishing.advise.pairs.trials import PairTask
from countveil.publishing.advise.predicates import find_predicates
from countveil.publishing.advise.recommend import Goal
from countveil.publishing.columns_together import sets_of_columns
from countveil.randomness import Randomness
from countveil.tables.encoded.survey import CodedColumn
from countveil.tables.progress import Progress

Together = bool | Sequence[str] | Sequence[Sequence[str]]

_MOST_PAIRS, _MOST_ROWS = 6, 100_000
# Predicates times pairs of values that are estimated for one way and ell.
_CELLS, _PREDICATES, _LEAST_PREDICATES = 100_000, 80, 15


def checked_sets(
    together: Together, names: Sequence[str], methods: Sequence[str], odds: float | None
) -> tuple[tuple[str, ...], ...]:
    """The sets of columns that are to be published together; an error if that cannot be."""
    if together is False or (not isinstance(together, bool) and not together):
        return ()
    if odds is not None:
        raise SettingsError(
            f"A bound on the odds is for columns that are published apart. Leave {option('odds')} "
            f"or {option('together')} out."
        )
    if tuple(methods) in ((MIXED,), (COMMON,)) and tuple(methods) != METHODS:
        raise SettingsError(
            f"Columns together are published with random groups. Leave {option('groups')} and "
            f"{option('common')} out, or {option('together')}."
        )
    return sets_of_columns(together, {name: ColumnSettings(2) for name in names})


def compare_pairs(
    names: Sequence[str],
    sets: Sequence[Sequence[str]],
    sample: Mapping[str, CodedColumn],
    plain: Mapping[str, NDArray[np.int64]],
    rows: int,
    goal: Goal,
    randomness: Randomness,
    progress: Progress,
) -> list[PairAdvice]:
    """All pairs, or those of the sets that are to be published together, in that way alone."""
    advised = []
    for one, two in list(combinations(names, 2))[:_MOST_PAIRS]:
        joined = any({one, two} <= {*names} for names in sets)
        if (sets and not joined) or one not in sample or two not in sample:
            continue
        ways = (TOGETHER,) if joined else WAYS
        codes = [_numbered(sample[name].codes) for name in (one, two)]
        cells = int(np.prod([each.max(initial=0) + 1 for each in codes]))
        number = max(_LEAST_PREDICATES, min(_PREDICATES, _CELLS // cells))
        here = {name: _some(each) for name, each in plain.items()}
        predicates = find_predicates(here, number, randomness.stream("predicates", one, two))
        task = PairTask(codes[0], codes[1], predicates)
        advice = compare_pair((one, two), task, goal, ways, rows, randomness, progress)
        advised += [] if advice is None else [advice]
    return advised


def _some(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """At most so many rows, evenly spread, that trials do not take long."""
    return codes[:: -(-codes.size // _MOST_ROWS)] if codes.size > _MOST_ROWS else codes


def _numbered(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Codes from 0 without gaps."""
    return np.unique(_some(codes), return_inverse=True)[1].astype(np.int64)
