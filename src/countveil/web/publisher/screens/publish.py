"""The screen *Publish*: where to, how far it is, and what was made.

Enters: the name of a folder below the root, what may be replaced. Leaves: a release. Must not know:
how anything is published. What cannot be written is said by `publish` itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute

from countveil.errors import SettingsError
from countveil.web.forms import Form
from countveil.web.places import Places
from countveil.web.publisher.screens.frame import Asked, Screens, lines_for
from countveil.web.publisher.screens.more import shown_inside
from countveil.web.publisher.state import PublisherState, folder_of, shown_path
from countveil.web.publisher.steps import Results, result_of

_NAME = "publish"


def publish_routes(screens: Screens) -> list[BaseRoute]:
    """The screen and its forms."""
    return screens.routes(_NAME, _content, {"start": _start})


def _content(state: PublisherState, _asked: Asked) -> dict[str, Any]:
    draft, made = state.draft, state.publication
    folder = folder_of(state)
    name = Path(folder).name
    report = draft.private_report or shown_path(state.places.root / f"{name}-private.html")
    lost = bool(draft.reasons and draft.ledger)
    return {
        "job": None if made is None else made.job,
        "made": made,
        "outdated": made is not None and made.draft != draft,
        "rehearsed": result_of(Results(state).rehearsal) is not None,
        "folder": shown_inside(state.places, folder),
        "report": shown_inside(state.places, report),
        "reasons_lost": lost,
        "wants_report": bool(draft.private_report or draft.reasons),
        "force": state.force,
        "again": state.again,
        "lines": lines_for(
            state, "publish", to=folder,
            private_report=""
            if draft.ledger
            else draft.private_report or (report if draft.reasons else ""),
            force=state.force, again=state.again,
        ),
    }  # fmt: skip


def _start(state: PublisherState, form: Form) -> None:
    """Publish the draft as it is, if it was rehearsed."""
    to = _below(state.places, form.text("to"), "the release")
    wanted = form.text("private_report") if form.text("with_report") else ""
    report = _below(state.places, wanted, "the private report") if wanted else ""
    if state.draft.reasons and not report and not state.draft.ledger:
        raise SettingsError(
            "Reasons are kept in the private report, and nowhere else: name a file for it."
        )
    state.force, state.again = bool(form.text("force")), bool(form.text("again"))
    if result_of(Results(state).rehearsal) is None:
        raise SettingsError("Rehearse these choices first.")
    state.change(
        lambda draft: replace(draft, to=to, private_report=report), "where to publish", joins=True
    )
    state.publish(state.draft.arguments("publish", force=state.force, again=state.again))


def _below(places: Places, name: str, what: str) -> str:
    """A name below the root, as a command in this folder would write it."""
    if not name:
        raise SettingsError(f"Name a place for {what}, below the folder of the app.")
    if "\0" in name or len(name) > 1_000:
        raise SettingsError(f"That is no name for {what}.")
    path = places.root / name
    # The folder in which it will lie must be one below the root.
    places.id_of(path)
    places.id_of(path.parent)
    return shown_path(path)
