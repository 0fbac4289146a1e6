"""What else a publication can have: a ledger, a signature, descriptions, other files.

Enters: the fields of one form. Leaves: a draft, or which field is wrong. Must not know: how any of
it is done. What is wrong is said by the functions that publish.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from countveil.errors import CountveilError, SettingsError
from countveil.maths.channel import RESIDUES
from countveil.maths.groups import ColumnSettings
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
_MOST_ROWS = 10**12
_DESCRIBED = {
    "ddi": "DDI-Codebook 2.5, for data archives",
    "croissant": "Croissant, for machine learning",
    "dcat": "DCAT, for catalogues",
}
_LEFT_OVER = {
    "absorb": "join other groups",
    "drop": "are left out",
}


def more_content(state: PublisherState) -> dict[str, Any]:
    """What the form offers."""
    return {
        "formats": OUTPUT_FORMATS,
        "descriptions": {name: _DESCRIBED[name] for name in METADATA_NAMES},
        "more_chosen": more_chosen(state.draft),
        "residues": {name: _LEFT_OVER[name] for name in RESIDUES},
        "ledger_shown": shown_inside(state.places, state.draft.ledger),
        "key_shown": shown_inside(state.places, state.draft.ledger_key),
        "sign_shown": shown_inside(state.places, state.draft.sign),
    }


def more_chosen(draft: Draft) -> list[str]:
    """What was chosen here, in words."""
    words = [
        draft.ledger and "continues a ledger",
        draft.sign and "signed",
        draft.metadata and "described for " + ", ".join(draft.metadata),
        draft.output_format != Draft().output_format and f"as {draft.output_format}",
        draft.rows_per_file and f"{draft.rows_per_file:,} rows in each file",
        draft.residue != Draft().residue and "rows left over are dropped",
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
    taken["ledger_key"] = taken["ledger_key"] if taken["ledger"] else ""
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
    shown = shown_path(_below(state.places, name))
    key = _ledger_key(state, form) or None
    if form.text("new_ledger"):
        Ledger.init(shown, key=key)
    Ledger(shown, key=key).show()
    return shown


def _ledger_key(state: PublisherState, form: Form) -> str:
    name = form.text("ledger_key")
    if name and not form.text("ledger"):
        raise SettingsError("A key opens a ledger: name the ledger, too.")
    return shown_path(_below(state.places, name)) if name else ""


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


def _rows_per_file(_state: PublisherState, form: Form) -> int | None:
    text = form.text("rows_per_file").replace(",", "")
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or int(text) > _MOST_ROWS:
        raise SettingsError(
            f"The rows of each file are a whole number from 1 on, or nothing for files as large "
            f"as usual; got {text[:20]!r}."
        )
    return Writing.of("release", rows_per_file=int(text)).rows_per_file


def _residue(_state: PublisherState, form: Form) -> str:
    wanted = form.text("residue") or Draft().residue
    return ColumnSettings(2, residue=wanted).residue


# A new ledger is made last, when nothing else is wrong.
_FIELDS = {
    "sign": _sign,
    "metadata": _metadata,
    "output_format": _output_format,
    "rows_per_file": _rows_per_file,
    "residue": _residue,
    "ledger_key": _ledger_key,
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
