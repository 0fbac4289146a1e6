"""The screen *Dangers*: one card for every finding, until somebody has decided about each.

Enters: decisions: drop, keep with a reason, publish together. Leaves: a draft. Must not know: how
anything was measured.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from starlette.routing import BaseRoute

from countveil.errors import InputError, SettingsError
from countveil.publishing.advise.inspecting.inspection import Inspection
from countveil.web.forms import Form
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.findings import Danger, dangers_of
from countveil.web.publisher.screens.columns import latest_facts
from countveil.web.publisher.screens.frame import Asked, Screens, lines_for
from countveil.web.publisher.state import PublisherState
from countveil.web.publisher.steps import dangers_arguments, result_of

_NAME = "dangers"
_LONGEST = 1_000


def dangers_routes(screens: Screens) -> list[BaseRoute]:
    """The screen and its forms."""
    return screens.routes(
        _NAME,
        _content,
        {"decide": _decide, "publish-again": _publish_again, "few": _few, "coarsen": _coarsen},
    )


def _content(state: PublisherState, asked: Asked) -> dict[str, Any]:
    draft = state.draft
    job = state.begin("dangers", **dangers_arguments(draft))
    inspection: Inspection | None = result_of(job)
    dangers = [] if inspection is None else dangers_of(inspection, draft)
    facts = latest_facts(state)[1]
    places = {} if facts is None else {c.name: n for n, c in enumerate(facts.columns)}
    known = {danger.sentence for danger in dangers}
    return {
        "job": job,
        "inspection": inspection,
        "dangers": dangers,
        "open": sum(danger.open for danger in dangers),
        "hints": [] if inspection is None else [h for h in inspection.hints if h not in known],
        "places": places,
        "dropped": [name for name in draft.drop if name in places],
        "asked": asked,
        "lines": lines_for(state, "inspect"),
    }


def _few(state: PublisherState, form: Form) -> None:
    """Advice about combinations that few rows have; none where the field is empty."""
    k = form.whole("k", 2, 1_000_000_000, "The number of rows")
    state.change(lambda draft: replace(draft, k=k), "advice about rows that can be found")


def _coarsen(state: PublisherState, _form: Form) -> None:
    """Take the advice: all that was tried out together."""
    inspection: Inspection | None = result_of(
        state.job("dangers", **dangers_arguments(state.draft))
    )
    advice = None if inspection is None else inspection.linkability
    if advice is None or not advice.together:
        raise InputError("There is no such advice any more: the choices have changed meanwhile.")

    def coarser(draft: Draft) -> Draft:
        for remedy in advice.together:
            if remedy.name == "drop":
                draft = draft.with_role(remedy.column, "drop")
            else:
                draft = draft.with_texts(remedy.column, {remedy.name: remedy.value})
        return draft

    state.change(coarser, "coarser values, as advised")


def _danger(state: PublisherState, form: Form) -> Danger:
    inspection: Inspection | None = result_of(
        state.job("dangers", **dangers_arguments(state.draft))
    )
    known = form.text("subject")
    for danger in () if inspection is None else dangers_of(inspection, state.draft):
        if danger.id == known:
            return danger
    raise InputError("That finding is not there any more: the choices have changed meanwhile.")


def _decide(state: PublisherState, form: Form) -> None:
    """Drop the column, keep it and say why, or publish the columns together."""
    danger, decision = _danger(state, form), form.text("decision")
    what = f"{decision}: {' and '.join(danger.columns)}"
    if decision == "drop":
        place = form.whole("column", 0, len(danger.columns) - 1) or 0
        state.change(lambda draft: draft.with_role(danger.columns[place], "drop"), what)
    elif decision == "person" and danger.kind == "identifier":
        state.change(lambda draft: draft.with_role(danger.columns[0], "person"), what)
    elif decision == "keep" and danger.keepable:
        reason = checked_reason(form.text("reason"))
        state.change(lambda draft: draft.keeping(danger.columns, reason), what)
    elif decision == "together" and danger.together:
        state.change(lambda draft: _joined(draft, danger.together), what)
    elif decision == "reopen":
        state.change(lambda draft: _reopened(draft, danger), what)
    else:
        raise SettingsError("Drop the column, keep it with a reason, or make its values coarser.")


def checked_reason(text: str) -> str:
    """A reason is a sentence that somebody can stand by later."""
    if not text:
        raise SettingsError(
            "Say why it may be published. The reason stands in the private report, which stays "
            "with you; it is no part of the release."
        )
    reason = " ".join(text.split())
    if len(reason) > _LONGEST or not reason.isprintable():
        raise SettingsError(
            f"A reason has at most {_LONGEST:,} characters, and none that steers a screen; got "
            f"{len(reason):,} characters."
        )
    return reason


def _joined(draft: Draft, names: tuple[str, ...]) -> Draft:
    """Columns in one draw; sets that share a column become one."""
    touching = [one for one in draft.together if {*one} & {*names}]
    members = {*names}.union(*touching)
    joined = tuple(name for name in draft.sensitive if name in members)
    others = tuple(one for one in draft.together if one not in touching)
    return replace(draft, together=(*others, joined))


def _reopened(draft: Draft, danger: Danger) -> Draft:
    changed = draft.not_keeping(danger.columns)
    apart = tuple(one for one in draft.together if not {*danger.together} <= {*one})
    return replace(changed, together=apart if danger.together else draft.together)


def _publish_again(state: PublisherState, form: Form) -> None:
    """A column that was dropped is published after all."""
    place = form.whole("subject", 0, 100_000)
    facts = latest_facts(state)[1]
    if facts is None or place is None or place >= len(facts.columns):
        raise InputError("That column is not known any more. Look at the table again.")
    name = facts.columns[place].name
    state.change(lambda draft: draft.with_role(name, "publish"), f"publish: {name}")
