"""The state of an analyst's session: releases that were opened, and questions that were asked.

Enters: ids of folders below the root. Leaves: releases and questions by their ids. Must not know:
pages, cookies. It lives as long as the app does, so a page survives a reload and another browser
window; two tabs may change it at once.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.exceptions import HTTPException

from countveil.web.analyst.builder.written import name_sql
from countveil.web.analyst.facts import Facts
from countveil.web.analyst.opened import OpenRelease
from countveil.web.analyst.questions import DEFAULTS, Asked, View
from countveil.web.places import Places

# So many questions of a release are remembered with their answers.
_MOST_REMEMBERED = 200
# Answers of more rows than these are kept for the last few questions only.
_LONG, _MOST_LONG = 20_000, 10
# How long the end of the app waits for a count, in seconds.
_PATIENCE = 3.0


class AnalystState:
    """What one analyst has open. `given` is the release of the command line, if there is one."""

    def __init__(self, places: Places, given: Path | None) -> None:
        self.places = places
        self.given = None if given is None else given.resolve()
        self._releases: dict[str, OpenRelease] = {}
        self._facts: dict[str, Facts] = {}
        self._questions: dict[str, Asked] = {}
        self._lock = threading.Lock()

    def open(self, path: Path) -> OpenRelease:
        """Open a release; one that is open and unchanged stays the same."""
        with self._lock:
            for known in self.releases:
                if known.path == path and known.is_unchanged():
                    return known
            opened = OpenRelease(path, self.places.shown(path))
            for former in [known for known in self.releases if known.path == path]:
                former.replaced_by = opened.id
            self._releases[opened.id] = opened
            self._facts[opened.id] = Facts(opened)
        return opened

    @property
    def releases(self) -> list[OpenRelease]:
        """Those that are open, the last one first; not those that were replaced."""
        return [each for each in reversed(self._releases.values()) if not each.replaced_by]

    def release(self, known: str) -> OpenRelease:
        """The release with an id."""
        opened = self._releases.get(known)
        if opened is None:
            raise HTTPException(404)
        return opened

    def facts(self, opened: OpenRelease) -> Facts:
        """What is known of the columns of a release."""
        return self._facts[opened.id]

    def known(self, known: str) -> Asked | None:
        """The question with an id, if there is one."""
        return self._questions.get(known)

    def question(self, known: str) -> Asked:
        """The question with an id."""
        asked = self.known(known)
        if asked is None:
            raise HTTPException(404)
        return asked

    def history(self, opened: OpenRelease) -> list[Asked]:
        """The questions of a release, the last one first."""
        return [q for q in reversed(self._questions.values()) if q.opened is opened]

    def ask(
        self, opened: OpenRelease, sql: str, options: Mapping[str, Any], view: View = View.ASK
    ) -> Asked:
        """A new question, which has begun."""
        asked = Asked(opened, sql, options, view)
        self._remember(asked)
        asked.start()
        return asked

    def latest(self, opened: OpenRelease, view: View) -> Asked:
        """The question to go on with: the last one of this screen, or a first one to begin with."""
        for asked in self.history(opened):
            if asked.view is view:
                return asked
        asked = Asked(opened, first_question(opened, view), DEFAULTS, view)
        self._remember(asked)
        return asked

    def _remember(self, asked: Asked) -> None:
        with self._lock:
            self._questions[asked.id] = asked
            past = [q for q in self._questions.values() if q.opened is asked.opened]
            for old in past[:-_MOST_REMEMBERED]:
                del self._questions[old.id]
            for old in past[:-_MOST_LONG]:
                if old.answer is not None and len(old.answer) > _LONG:
                    old.forget()

    def close(self) -> None:
        """End what is still being asked and counted, so that no library is at work at the end."""
        for facts in self._facts.values():
            facts.stop()
        for asked in self._questions.values():
            asked.give_up()
        for facts in self._facts.values():
            facts.wait(_PATIENCE)


def first_question(opened: OpenRelease, view: View) -> str:
    """Something that every release answers, to begin with."""
    sensitive = name_sql(next(iter(opened.manifest.sensitive)))
    plain = [c.name for c in opened.release.columns if c.role == "plain"]
    text = [c.name for c in opened.release.columns if c.role == "plain" and c.type == "string"]
    if view is View.CROSSTAB and plain:
        other = name_sql((text or plain)[0])
        keys = f"{sensitive}, {other}"
        return f"SELECT {keys}, count(*)\nFROM release\nGROUP BY {keys}"
    return f"SELECT {sensitive}, count(*)\nFROM release\nGROUP BY {sensitive}"
