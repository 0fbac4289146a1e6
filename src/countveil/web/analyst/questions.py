"""Questions as they were asked, with what came of them.

Enters: SQL and options. Leaves: an `Asked` that runs in a thread of its own until it is answered,
refused or given up. Must not know: pages, how an answer is estimated.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from countveil.asking.result import Answer
from countveil.errors import CountveilError, QueryError
from countveil.web.analyst.builder.built import Built
from countveil.web.analyst.opened import OpenRelease, fresh_id

METHODS = ("shrunk", "unbiased", "bayes")
DEFAULTS: Mapping[str, Any] = {
    "method": "shrunk", "level": 0.95, "within": 0.10, "weighted": False,
}  # fmt: skip


class View(StrEnum):
    """On which screen a question was asked."""

    ASK = "ask"
    CROSSTAB = "crosstab"


class Outcome(StrEnum):
    """How a question stands."""

    NEW = "new"
    RUNNING = "running"
    ANSWERED = "answered"
    REFUSED = "refused"
    GIVEN_UP = "given up"
    FORGOTTEN = "no longer kept"


@dataclass(slots=True)
class Asked:
    """One question. `draft` is its text as it is being changed, before it is asked again.

    `building` is what the builder shows while it is being changed, `unfinished` what it lacks.
    `offers` are coarser questions, once they were looked for. `place` is where in the text a
    refusal is about, if that is known.
    """

    opened: OpenRelease
    sql: str
    options: Mapping[str, Any]
    view: View = View.ASK
    id: str = field(default_factory=fresh_id)
    outcome: Outcome = Outcome.NEW
    draft: str = ""
    building: Built | None = None
    unfinished: str = ""
    answer: Answer | None = None
    error: str = ""
    place: tuple[int, int] | None = None
    seconds: float = 0.0
    offers: list[Any] | None = None
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        """What is shown first is what is asked."""
        self.draft = self.draft or self.sql

    @property
    def is_wanted(self) -> bool:
        """Whether somebody still waits for it."""
        return self.outcome is Outcome.RUNNING

    def start(self) -> None:
        """Ask, in a thread of its own."""
        self.outcome = Outcome.RUNNING
        threading.Thread(target=self._run, name="countveil-question", daemon=True).start()

    def wait(self, seconds: float) -> bool:
        """Whether it is over within this time."""
        return self._over.wait(seconds)

    def give_up(self) -> None:
        """Nobody waits for it any more."""
        if self.outcome is Outcome.RUNNING:
            self.outcome = Outcome.GIVEN_UP
            self._over.set()
            self.opened.abandon(self.id)

    def forget(self) -> None:
        """Keep the question, and its answer no longer."""
        if self.outcome is Outcome.ANSWERED:
            self.answer, self.outcome = None, Outcome.FORGOTTEN

    def _run(self) -> None:
        began = time.perf_counter()
        answer, error, place = None, "", None
        try:
            answer = self.opened.sql(self.sql, self.options, self.id, lambda: self.is_wanted)
        except CountveilError as refusal:
            error = str(refusal)
            place = refusal.place if isinstance(refusal, QueryError) else None
        except KeyboardInterrupt:
            error = "The question was interrupted."
        except Exception as fault:  # noqa: BLE001 - its text may quote data
            error = f"countveil failed in a way it should not ({type(fault).__name__})."
        if self.outcome is Outcome.RUNNING:
            self.answer, self.error, self.place = answer, error, place
            self.seconds = time.perf_counter() - began
            self.outcome = Outcome.REFUSED if error else Outcome.ANSWERED
            self._over.set()
