"""The screens in their order: which are done, open or closed, and why.

Enters: the state. Leaves: steps for the navigation, and the results that belong to the draft as it
is. Must not know: how screens look.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from countveil.publishing.advise.inspecting.inspection import Inspection
from countveil.web.jobs import Job
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.findings import all_decided
from countveil.web.publisher.state import Publication, PublisherState

# Name in the address, name for people, headline.
SCREENS = (
    ("table", "Table", "Which table?"),
    ("columns", "Columns", "What becomes of each column?"),
    ("dangers", "Dangers", "What could harm people?"),
    ("amount", "How much", "How much protection, how much accuracy?"),
    ("rehearsal", "Rehearsal", "What would be published"),
    ("publish", "Publish", "Publish"),
    ("audit", "Audit", "Attack it before anybody else can"),
    ("handover", "Hand over", "Hand over"),
)
# What is declared of a column whose values are public knowledge.
PUBLIC = "public:occurring"
HEADLINES = {name: headline for name, _, headline in SCREENS}


@dataclass(frozen=True, slots=True)
class Step:
    """A screen in the navigation; `closed` says why it cannot be entered."""

    name: str
    label: str
    number: int
    done: bool
    current: bool
    closed: str


class Results:
    """The jobs that belong to the draft as it is now; None where none was begun."""

    def __init__(self, state: PublisherState) -> None:
        self.state, self.draft = state, state.draft

    @property
    def facts(self) -> Job | None:
        """About every column of the table, prepared as it is."""
        return self.state.job("facts", **facts_arguments(self.draft))

    @property
    def dangers(self) -> Job | None:
        """About the table as it would be published."""
        return self.state.job("dangers", **dangers_arguments(self.draft))

    @property
    def advice(self) -> Job | None:
        """About every method and ell."""
        return self.state.job("advise", **_of(self.draft, self.draft.arguments("advise")))

    @property
    def rehearsal(self) -> Job | None:
        """About a release."""
        return self.state.job("rehearse", **rehearsal_arguments(self.draft))

    @property
    def audit(self) -> Job | None:
        """About the release that was made."""
        made = self.state.released
        return None if made is None else self.state.job("audit", **audit_arguments(made))


def _of(draft: Draft, arguments: dict[str, Any]) -> dict[str, Any]:
    return {"table": draft.table, "arguments": arguments}


def facts_arguments(draft: Draft, *, prepared: bool = True) -> dict[str, Any]:
    """All columns are looked at, whatever their role."""
    return _of(draft, _undeclared(draft.reading_arguments(prepared=prepared)))


def dangers_arguments(draft: Draft) -> dict[str, Any]:
    """Nothing is kept yet, so that every finding is named; what is kept is known here."""
    arguments = _undeclared(draft.arguments("inspect"))
    return _of(draft, {name: value for name, value in arguments.items() if name != "keep"})


def _undeclared(arguments: dict[str, Any]) -> dict[str, Any]:
    """Without the columns whose values are public as they are: that changes none of them."""
    declared = arguments.get("domain", {})
    files = {name: file for name, file in declared.items() if file != PUBLIC}
    rest = {name: value for name, value in arguments.items() if name != "domain"}
    return {**rest, "domain": files} if files else rest


def advice_arguments(draft: Draft) -> dict[str, Any]:
    """The wishes, and the table."""
    return _of(draft, draft.arguments("advise"))


def rehearsal_arguments(draft: Draft) -> dict[str, Any]:
    """All that matters for what is published.

    Where it goes to, what it is called and what is noted in private changes nothing of that.
    """
    aside = {
        "to": "countveil-rehearsal",
        "private_report": "",
        "reasons": {},
        "title": "",
        "contact": "",
        "sign": "",
        "metadata": [],
    }
    return _of(draft, draft.arguments("publish", again=True, force=True, **aside))


def audit_arguments(made: Publication) -> dict[str, Any]:
    """The choices of a publication, and where it went; `made` says which one it is."""
    draft = made.draft
    return {**_of(draft, draft.arguments("audit", release=draft.to)), "made": made.job.id}


def stop_outdated(state: PublisherState) -> None:
    """End the work on choices that are not made any more."""
    draft = state.draft
    state.stop_others("advise", **advice_arguments(draft))
    state.stop_others("rehearse", **rehearsal_arguments(draft))
    state.stop_others("dangers", **dangers_arguments(draft))


def result_of(job: Job | None) -> Any:
    """What a job that is done has found out."""
    return job.result if job is not None and job.state == "done" else None


def steps_of(state: PublisherState, current: str) -> Sequence[Step]:
    """The navigation."""
    results = Results(state)
    done = _done(results)
    closed = _closed(results, done)
    return [
        Step(name, label, number, done[name], name == current, closed[name])
        for number, (name, label, _) in enumerate(SCREENS, 1)
    ]


def why_closed(state: PublisherState, name: str) -> str:
    """Why a screen cannot be entered; empty if it can."""
    return next(step.closed for step in steps_of(state, name) if step.name == name)


def _done(results: Results) -> dict[str, bool]:
    draft, state = results.draft, results.state
    inspection: Inspection | None = result_of(results.dangers)
    audit = result_of(results.audit)
    return {
        "table": bool(draft.table) and result_of(results.facts) is not None,
        "columns": bool(draft.sensitive),
        "dangers": inspection is not None and all_decided(inspection, draft),
        "amount": draft.complete,
        "rehearsal": result_of(results.rehearsal) is not None,
        "publish": state.released is not None,
        "audit": audit is not None and audit.passed,
        "handover": False,
    }


def _closed(results: Results, done: dict[str, bool]) -> dict[str, str]:
    """Each screen needs those before it; a release that was made stays open."""
    draft = results.draft
    columns = "" if draft.table else "Pick a table first."
    dangers = columns or ("" if draft.sensitive else "Say first which columns to protect.")
    amount = dangers or ("" if done["dangers"] else "Decide first about every danger.")
    rehearsal = amount or ("" if done["amount"] else "Choose first how much: an ell for each.")
    publish = rehearsal or ("" if done["rehearsal"] else "Rehearse these choices first.")
    made = results.state.publication
    audit = "" if done["publish"] else "Publish first: what was written is attacked."
    return {
        "table": "",
        "columns": columns,
        "dangers": dangers,
        "amount": amount,
        "rehearsal": rehearsal,
        "publish": "" if made is not None else publish,
        "audit": audit,
        "handover": audit or _not_handed(results, passed=done["audit"]),
    }


def _not_handed(results: Results, *, passed: bool) -> str:
    if passed:
        return ""
    if result_of(results.audit) is None:
        return "Attack the release first."
    return "Do not hand over: a claim does not hold."
