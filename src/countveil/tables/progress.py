"""Reports of progress during long work.

Enters: nothing, or a function that shows progress. Leaves: the type of such functions, and one that
measures how long stages take. Must not know: how it is shown.
"""

from __future__ import annotations

import time
from collections.abc import Callable

# stage, rows done, rows in all
Progress = Callable[[str, int, int], None]


# What is waited for follows, and may be an address: for the screen, and not to be kept.
WAITING = "waiting for "


class TimedStages:
    """Progress that also measures how long each stage takes; waiting is part of a stage."""

    def __init__(self, progress: Progress | None) -> None:
        self._progress, self._stage, self._started = progress, "", time.perf_counter()
        self._seconds: dict[str, float] = {}

    def __call__(self, stage: str, done: int, total: int) -> None:
        """One more step of a stage."""
        if stage != self._stage and not stage.startswith(WAITING):
            self._end_stage()
            self._stage = stage
        if self._progress is not None:
            self._progress(stage, done, total)

    def seconds(self) -> dict[str, float]:
        """The time of each stage up to now."""
        self._end_stage()
        return dict(self._seconds)

    def _end_stage(self) -> None:
        now = time.perf_counter()
        if self._stage:
            self._seconds[self._stage] = self._seconds.get(self._stage, 0.0) + now - self._started
        self._started = now
