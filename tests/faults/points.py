"""Which faults are tried: all of them, or some of every kind.

Enters: the calls of a run without a fault. Leaves: points with faults. Must not know: commands.

By default one error and one signal fall on a call of every kind (its name and its file) in turns,
and a few more on calls at random, as many in all as the budget allows. COUNTVEIL_FAULTS=all tries
every fault at every call; COUNTVEIL_FAULTS=50 is another budget. COUNTVEIL_TEST_SEED changes what
is random.
"""

from __future__ import annotations

import errno
import os
import random
import signal
from collections.abc import Sequence

from tests.faults.injected import Fault
from tests.faults.scenarios import BUDGET
from tests.faults.trials import alike

_WRITES = {"write", "pwrite64", "writev", "pwritev", "ftruncate", "truncate", "fallocate"}
_SYNCS = {"fsync", "fdatasync", "sync_file_range"}
_KILL = Fault(signal=signal.SIGKILL)
_SIGNALS = (_KILL, Fault(signal=signal.SIGINT), Fault(signal=signal.SIGTERM))
Point = tuple[int, Fault]


def faults_of(name: str) -> list[Fault]:
    """All that may happen at a call of this name."""
    if name in _WRITES:
        errors = [Fault(errno.EIO), Fault(errno.ENOSPC, lasting=True)]
    elif name in _SYNCS:
        errors = [Fault(errno.EIO), Fault(errno.EIO, lasting=True)]
    elif name in ("open", "openat", "creat"):
        errors = [Fault(errno.EACCES), Fault(errno.EMFILE), Fault(errno.EIO)]
    elif name in ("mkdir", "mkdirat"):
        errors = [Fault(errno.ENOSPC), Fault(errno.EACCES)]
    elif name in ("unlink", "unlinkat", "rmdir"):
        errors = [Fault(errno.EIO), Fault(errno.EACCES, lasting=True)]
    else:
        errors = [Fault(errno.EIO)]
    return [*errors, *_SIGNALS]


def spread(count: int, few: int) -> list[int]:
    """A few of the points from 1 to `count`, the first and the last among them."""
    if os.environ.get("COUNTVEIL_FAULTS") == "all" or count <= few:
        return list(range(1, count + 1))
    return sorted({1 + round(step * (count - 1) / (few - 1)) for step in range(few)})


def chosen(calls: Sequence[tuple[str, str]], seed: str, most: int = BUDGET) -> list[Point]:
    """The points that are tried, at most so many by default."""
    everything = [
        (number, fault) for number, (name, _) in enumerate(calls, 1) for fault in faults_of(name)
    ]
    wanted = os.environ.get("COUNTVEIL_FAULTS", "")
    if wanted == "all":
        return everything
    budget = int(wanted) if wanted else most
    kinds: dict[tuple[str, str], list[int]] = {}
    for number, call in enumerate(calls, 1):
        kinds.setdefault(alike(*call), []).append(number)
    # In turns: errors of the last call of each kind, a kill at the first, and so on.
    turns = []
    for turn, ((name, _), numbers) in enumerate(kinds.items()):
        errors = [fault for fault in faults_of(name) if fault.error]
        turns.append((numbers[-1], errors[turn % len(errors)]))
        turns.append((numbers[0], _SIGNALS[turn % len(_SIGNALS)]))
    dice = random.Random(f"{seed} {os.environ.get('COUNTVEIL_TEST_SEED', '')}")
    fixed = dice.sample(turns, min(len(turns), budget * 3 // 4))
    rest = [point for point in everything if point not in fixed]
    return sorted(
        [*fixed, *dice.sample(rest, min(len(rest), budget - len(fixed)))],
        key=lambda point: (point[0], point[1].error, point[1].signal),
    )
