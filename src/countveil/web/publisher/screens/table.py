"""The screen *Table*: which one, and how it is read.

Enters: a file below the root, or the address of a database; options of reading. Leaves: a draft
about it. Must not know: what is in it.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from starlette.routing import BaseRoute

from countveil.errors import InputError
from countveil.system.address import (
    POSTGRES,
    parse_address,
    refuse_url,
    split_sheet,
    without_password,
)
from countveil.tables import input_files, table_options
from countveil.web.forms import Form
from countveil.web.places import Places
from countveil.web.publisher.draft import Draft
from countveil.web.publisher.screens.frame import Asked, Screens, lines_for
from countveil.web.publisher.state import PublisherState, shown_path
from countveil.web.publisher.steps import facts_arguments

_WORKBOOKS = (".xlsx", ".xls", ".xlsm", ".xlsb", ".ods")
_TEXTS = ("delimiter", "quote", "encoding", "where", "query")
_NAME = "table"


def table_routes(screens: Screens) -> list[BaseRoute]:
    """The screen and its forms."""
    return screens.routes(
        _NAME,
        _content,
        {"pick": _pick, "address": _address, "reading": _reading, "preview": _preview},
    )


def _content(state: PublisherState, asked: Asked) -> dict[str, Any]:
    draft = state.draft
    job = preview = None
    if draft.table:
        job = state.begin("facts", **facts_arguments(draft))
        preview = state.job("preview", **facts_arguments(draft)) if state.previewing else None
    folder = asked.folder
    if folder is None and draft.table and not _is_address(draft.table):
        folder = _folder_of(state.places, draft.table)
    sheet = split_sheet(draft.table, _WORKBOOKS)[1]
    return {
        "listing": state.places.listing(folder),
        "job": job,
        "preview": preview,
        "is_workbook": _without_sheet(draft.table).lower().endswith(_WORKBOOKS),
        "is_address": _is_address(draft.table),
        "sheet": sheet or "",
        "shown_table": draft.table,
        "typed_address": without_password((asked.typed or {}).get("address", "")),
        "lines": lines_for(state, "inspect"),
    }


def _folder_of(places: Places, table: str) -> str | None:
    try:
        return places.id_of(Path(_without_sheet(table)).resolve().parent)
    except InputError:
        return None


def _is_address(table: str) -> bool:
    return bool(table) and parse_address(table) is not None


def _is_server(table: str) -> bool:
    known = parse_address(table) if table else None
    return known is not None and known.kind == POSTGRES


def _without_sheet(table: str) -> str:
    return split_sheet(table, _WORKBOOKS)[0]


def _pick(state: PublisherState, form: Form) -> None:
    """A file or a folder of files, by its id."""
    table = shown_path(state.places.path(form.text("file")))
    state.previewing, state.listed = False, ""
    state.change(lambda draft: draft.of_table(table, {}), "picking the table")


def _address(state: PublisherState, form: Form) -> None:
    """An address as it is typed. A file in it must lie below the root too."""
    table = checked_address(state.places, form.text("address"))
    password = dict(form).get("password", "")
    if password and not _is_server(table):
        raise InputError("A password is for a server: files and databases in files need none.")
    if _is_server(table):
        state.log_in(table, password)
    state.previewing, state.listed = False, ""
    state.change(lambda draft: draft.of_table(table, {}), "picking the table")


def checked_address(places: Places, text: str) -> str:
    """The address, if it names a server, or a file below the root."""
    if not text:
        raise InputError(
            "No address was typed. Write a file below the folder of the app, "
            "sqlite:FILE#table, duckdb:FILE#table or postgresql://user@host/database#schema.table."
        )
    known = parse_address(text, InputError)
    if known is not None and known.kind == POSTGRES:
        return text
    refuse_url(text)
    place = _without_sheet(text) if known is None else known.place
    path = Path(place) if Path(place).is_absolute() else places.root / place
    places.id_of(path)
    shown = shown_path(path)
    # A pattern may lead to files elsewhere, through a link.
    files = input_files(shown) if known is None else []
    for file in files:
        places.id_of(file)
    # Said at once: the table that was picked before stays.
    if not files and not path.exists():
        raise InputError(f"There is no file {place} in the folder of the app.")
    return text.replace(place, shown, 1)


def _reading(state: PublisherState, form: Form) -> None:
    """Options that say how the table is read; they are checked as the functions check them."""
    reading: dict[str, Any] = {name: form.text(name) for name in _TEXTS if form.text(name)}
    missing = [line.strip() for line in form.text("missing").splitlines() if line.strip()]
    if missing:
        reading["missing"] = missing
    if form.text("decimal_comma"):
        reading["decimal_comma"] = True
    if not form.text("header"):
        reading["header"] = False
    table_options(**reading)

    def read_so(draft: Draft) -> Draft:
        whole, sheet = _without_sheet(draft.table), form.text("sheet")
        if whole.lower().endswith(_WORKBOOKS):
            return replace(draft, table=f"{whole}#{sheet}" if sheet else whole, reading=reading)
        return replace(draft, reading=reading)

    state.change(read_so, "how the table is read")


def _preview(state: PublisherState, form: Form) -> None:
    """Show some rows, or hide them again."""
    state.previewing = form.text("show") == "yes"
    if state.previewing:
        state.begin("preview", **facts_arguments(state.draft))
