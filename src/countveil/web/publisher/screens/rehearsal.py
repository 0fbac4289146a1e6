"""The screen *Rehearsal*: everything but publishing, and the promise on a sheet to be signed.

Enters: what the release is called and whom to ask. Leaves: the manifest that a release would have.
Must not know: how anything is published.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from starlette.routing import BaseRoute

from countveil.errors import SettingsError
from countveil.publishing.settings import about_today
from countveil.release import Manifest
from countveil.report.board import codebook_of
from countveil.web.forms import Form
from countveil.web.jobs import Job
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.lines import lines_of
from countveil.web.publisher.screens.frame import Asked, Screens, lines_for
from countveil.web.publisher.screens.more import more_content, take_more
from countveil.web.publisher.state import PublisherState, folder_of
from countveil.web.publisher.steps import rehearsal_arguments, result_of

_NAME = "rehearsal"


def rehearsal_routes(screens: Screens) -> list[BaseRoute]:
    """The screen and its forms."""
    return screens.routes(_NAME, _content, {"about": _about, "way": _way, "more": take_more})


def _content(state: PublisherState, _asked: Asked) -> dict[str, Any]:
    draft = state.draft
    job = state.begin("rehearse", **rehearsal_arguments(draft))
    manifest: Manifest | None = result_of(job)
    about = about_today(draft.title, draft.contact)
    return {
        "job": job,
        "manifest": manifest,
        "codebook": [] if manifest is None else codebook_of(manifest, {}),
        "about": about,
        "ways": _ways(state, job),
        **more_content(state),
        "lines": lines_for(
            state, "publish", to=folder_of(state), private_report="", reasons={}, dry_run=True
        ),
    }


def _ways(state: PublisherState, job: Job) -> list[str]:
    """Commands that would publish it, where the choices do not."""
    changed = [apply_way(state.draft, way) for way in job.ways]
    return [
        lines_of(
            state.write_command, "publish", draft.table,
            draft.arguments("publish", to=folder_of(state), private_report="", reasons={}),
        ).command
        for draft in changed
    ]  # fmt: skip


def apply_way(draft: Draft, way: Mapping[str, Any]) -> Draft:
    """The draft with options that an error says would work."""
    changed = draft
    if "sensitive" in way:
        changed = replace(changed, sensitive={**draft.sensitive, **way["sensitive"]})
    if "groups" in way:
        changed = replace(changed, groups=way["groups"])
    if "common" in way:
        common = way["common"]
        changed = replace(changed, common={} if common is None else {**draft.common, **common})
    if "where" in way:
        before = draft.reading.get("where")
        where = f"({before}) AND ({way['where']})" if before else way["where"]
        changed = replace(changed, reading={**draft.reading, "where": where})
    if "keep" in way:
        why = "Rows with a value that is too frequent are left out of the table."
        changed = changed.keeping(way["keep"], why)
    return changed


def _about(state: PublisherState, form: Form) -> None:
    """What the release is called, and whom to ask: checked as `publish` checks it."""
    title, contact = form.text("title"), form.text("contact")
    about_today(title, contact)
    state.change(lambda draft: replace(draft, title=title, contact=contact), "title and contact")


def _way(state: PublisherState, form: Form) -> None:
    job = state.job("rehearse", **rehearsal_arguments(state.draft))
    place = form.whole("way", 0, 100) or 0
    if job is None or place >= len(job.ways):
        raise SettingsError("The choices have changed meanwhile. Look at what is said now.")
    way = job.ways[place]
    state.change(lambda draft: apply_way(draft, way), "what would work")
