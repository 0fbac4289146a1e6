"""What else a publication can have: a ledger, a signature, descriptions, another format.

Enters: the fields of one form. Leaves: a draft, or which field is wrong. Must not know: how any of
it is done. What is wrong is said by the functions that publish.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from countveil.errors import CountveilError, SettingsError
from countveil.publishing.ledger.ledger import Ledger
from countveil.publishing.settings import Writing
from countveil.release.formats.data_files import OUTPUT_FORMATS
from countveil.release.manifest import METADATA_NAMES
from countveil.web.forms import Form
from countveil.web.places import Places
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.screens.frame import Asked
from countveil.web.publisher.state import PublisherState, shown_path

MORE = "more"
_DESCRIBED = {
    "ddi": "DDI-Codebook 2.5, for data archives",
    "croissant": "Croissant, for machine learning",
    "dcat": "DCAT, for catalogues",
}


def more_content(state: PublisherState) -> dict[str, Any]:
    """What the form offers."""
    return {
        "formats": OUTPUT_FORMATS,
        "descriptions": {name: _DESCRIBED[name] for name in METADATA_NAMES},
        "more_chosen": more_chosen(state.draft),
        "ledger_shown": shown_inside(state.places, state.draft.ledger),
        "sign_shown": shown_inside(state.places, state.draft.sign),
    }


def more_chosen(draft: Draft) -> list[str]:
    """What was chosen here, in words."""
    words = [
        draft.ledger and "continues a ledger",
        draft.sign and "signed",
        draft.metadata and "described for " + ", ".join(draft.metadata),
        draft.output_format != Draft().output_format and f"as {draft.output_format}",
    ]
    return [each for each in words if each]


def take_more(state: PublisherState, form: Form) -> Asked | None:
    """Check field by field, so that what is wrong can be said beside it."""
    taken: dict[str, Any] = {}
    for name, read in _FIELDS.items():
        try:
            taken[name] = read(state, form)
        except CountveilError as error:
            return Asked(str(error), dict(form), f"{MORE}-{name}")
    taken["hold"] = bool(form.text("hold")) and bool(taken["ledger"])
    state.change(lambda draft: replace(draft, **taken), "what else the release has")
    return None


def _ledger(state: PublisherState, form: Form) -> str:
    """The file of a ledger that can be opened; a new one is made if that is wished for."""
    name = form.text("ledger")
    if not name:
        return ""
    if state.draft.person is None:
        raise SettingsError(
            "A ledger knows people again, so it needs to know who a row is about: choose the "
            "person among the columns first."
        )
    path = _below(state.places, name)
    shown = shown_path(path)
    if form.text("new_ledger"):
        Ledger.init(shown)
    Ledger(shown).show()
    return shown


def _sign(state: PublisherState, form: Form) -> str:
    name = form.text("sign")
    if not name:
        return ""
    path = _below(state.places, name)
    shown = shown_path(path)
    Writing.of("release", sign=shown)
    return shown


def _metadata(_state: PublisherState, form: Form) -> tuple[str, ...]:
    chosen = [name for name in METADATA_NAMES if form.text(f"metadata_{name}")]
    return Writing.of("release", metadata=chosen).metadata


def _output_format(_state: PublisherState, form: Form) -> str:
    wanted = form.text("output_format") or Draft().output_format
    if wanted not in OUTPUT_FORMATS:
        raise SettingsError(f"Data are written as {', '.join(OUTPUT_FORMATS)}.")
    return wanted


# A new ledger is made last, when nothing else is wrong.
_FIELDS = {
    "sign": _sign,
    "metadata": _metadata,
    "output_format": _output_format,
    "ledger": _ledger,
}


def _below(places: Places, name: str) -> Path:
    """A file below the root."""
    if "\0" in name or len(name) > 1_000:
        raise SettingsError("That is no name of a file.")
    path = places.root / name
    places.id_of(path)
    places.id_of(path.parent)
    return path


def shown_inside(places: Places, path: str) -> str:
    """A path as it was typed: from the root."""
    return places.shown(Path(path).resolve()) if path else ""
