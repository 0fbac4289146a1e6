"""The first page of a report, for those who decide: one sheet of paper, one screen of a phone.

Enters: facts, three figures, a verdict, open points, what the columns are; some of the text may be
hostile. Leaves: HTML for the top of a page that has `BOARD_STYLE`, and the codebook. Must not know:
where figures come from. What is on it must fit on one A4 page, so lists are cut, and the rest
follows below.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from countveil.display import readable, visible
from countveil.release import Manifest, SensitiveColumn, kind_of

BOARD_STYLE = """
.board { border: 1px solid var(--rule); border-radius: 6px; padding: 1rem 1.2rem;
  margin: 1rem 0 2rem; }
.board h2 { margin: 0.9rem 0 0.3rem; font-size: 1.05rem; } .board p { margin: 0.3rem 0; }
.board dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.15rem 1rem; margin: 0; }
.board dt { color: var(--soft); } .board dd { margin: 0; }
.figures { display: grid; gap: 0.8rem; margin: 0.9rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 13rem), 1fr)); }
.figure { background: var(--box); border-radius: 6px; padding: 0.6rem 0.8rem; }
.figure b { display: block; font-size: 1.5rem; line-height: 1.25; }
.figure small { display: block; color: var(--soft); line-height: 1.35; }
.verdict { border-left: 4px solid var(--strong); padding: 0.2rem 0.7rem; }
.verdict.bad { border-color: var(--bad); } .verdict.good { border-color: var(--good); }
.board td:nth-child(3) { white-space: nowrap; }
.board ul { margin: 0.2rem 0; padding-left: 1.2rem; } .board td { padding-bottom: 0.15rem; }
@media screen and (max-width: 44rem) { .board { padding: 0.7rem; }
  .board dl { grid-template-columns: 1fr; gap: 0; } .board dd { margin-bottom: 0.35rem; } }
@page { size: A4; margin: 14mm; }
@media print { .lead { font-size: 9pt; } h1 { font-size: 13pt; margin: 0 0 0.4rem; }
  .board { border: 0; padding: 0; margin: 0; break-after: page; font-size: 9pt; line-height: 1.28; }
  .board p { max-width: none; } .board h2 { margin: 0.4rem 0 0.1rem; font-size: 10.5pt; }
  .figures { grid-template-columns: repeat(3, 1fr); gap: 0.5rem; margin: 0.5rem 0; }
  .figure b { font-size: 14pt; } .figure, .verdict { border: 1px solid #bbb; padding: 0.35rem; }
  .board .table { margin: 0.2rem 0; } .board table { font-size: 8pt; table-layout: fixed; }
  .board th:nth-child(1) { width: 24%; } .board th:nth-child(2) { width: 9%; }
  .board th:nth-child(3) { width: 17%; } .board table { width: 100%; }
  .board :is(td, th) { padding: 0.1rem 0.6rem 0.1rem 0; white-space: nowrap; overflow: hidden;
    text-overflow: ellipsis; } }
"""
# What fits on a page: each row of three figures takes the place of four columns.
MOST_FIGURES = 6
_MOST_COLUMNS, _FIGURE_ROW = 16, 4
_MOST_POINTS, _MOST_VALUES, _LONGEST = 5, 8, 72


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the figures that matter: what it is, the number, what to compare it with."""

    name: str
    value: str
    note: str


@dataclass(frozen=True, slots=True)
class CodebookEntry:
    """A published column: what it holds, its role, its values or range, what was done to it."""

    name: str
    holds: str
    role: str
    values: str
    preparation: str = ""


@dataclass(frozen=True, slots=True)
class Board:
    """Everything on the first page. `facts` are pairs of a word and what it stands for."""

    facts: Sequence[tuple[str, str]]
    figures: Sequence[Figure]
    verdict: str
    points: Sequence[str]
    codebook: Sequence[CodebookEntry]
    mark: str = "plain"


def board_html(board: Board) -> str:
    """The first page."""
    facts = "".join(f"<dt>{_text(name)}</dt><dd>{_text(what)}</dd>" for name, what in board.facts)
    figures = "".join(
        f'<div class="figure">{_text(figure.name)}<b>{_text(figure.value)}</b>'
        f"<small>{_text(figure.note)}</small></div>"
        for figure in board.figures[:MOST_FIGURES]
    )
    parts = [
        f'<section class="board" aria-label="Summary"><dl>{facts}</dl>',
        f'<div class="figures">{figures}</div>' if figures else "",
        _more(len(board.figures) - MOST_FIGURES, "figures are below"),
        f'<p class="verdict {_text(board.mark)}">{_text(board.verdict)}</p>',
    ]
    if board.points:
        left = len(board.points) - _MOST_POINTS
        more = [f"and {left:,} more, below"] if left > 0 else []
        points = "".join(f"<li>{_text(p)}</li>" for p in [*board.points[:_MOST_POINTS], *more])
        parts.append(f"<h2>Open points</h2><ul>{points}</ul>")
    figure_rows = -(-min(len(board.figures), MOST_FIGURES) // 3)
    most = _MOST_COLUMNS - _FIGURE_ROW * figure_rows
    return "".join([*parts, _codebook(board.codebook, most), "</section>"])


def _more(left: int, what: str) -> str:
    return f"<p>{left:,} more {what}.</p>" if left > 0 else ""


def _codebook(entries: Sequence[CodebookEntry], most: int) -> str:
    if not entries:
        return ""
    # Protected columns first: of many columns only some fit on the page.
    ordered = sorted(entries, key=lambda entry: not entry.role.startswith("protected"))
    rows = "".join(
        "<tr>" + "".join(f"<td>{_text(cell, _LONGEST)}</td>" for cell in _cells(entry)) + "</tr>"
        for entry in ordered[:most]
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("column", "holds", "role", "values"))
    more = _more(len(entries) - most, "columns are in the codebook below")
    return (
        f'<h2>Codebook</h2><div class="table"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{more}"
    )


def _cells(entry: CodebookEntry) -> tuple[str, str, str, str]:
    values = "; ".join(part for part in (entry.values, entry.preparation) if part)
    return entry.name, entry.holds, entry.role, values


class ColumnValues(Protocol):
    """What a plain column holds: its first known values and the last one, in their order."""

    @property
    def first(self) -> Sequence[Any]:
        """The first known values."""

    @property
    def last(self) -> Any:
        """The last one."""

    @property
    def distinct(self) -> int | None:
        """How many there are, if they were counted."""

    @property
    def missing(self) -> bool:
        """Whether values are missing."""


def codebook_of(manifest: Manifest, plain: Mapping[str, ColumnValues]) -> list[CodebookEntry]:
    """Every column, in the order of the release; of a protected one, what the manifest lists."""
    entries = []
    joined = {name for names in manifest.together for name in names}
    for column in manifest.columns:
        entry, known = manifest.sensitive.get(column.name), plain.get(column.name)
        role = _plain_role(manifest, column.name)
        if entry is not None:
            role = _protected_role(entry, together=column.name in joined)
        values = ""
        if entry is not None:
            values = _domain_text(entry.domain, ordered=entry.classes is not None)
        elif known is not None:
            values = _range_text(known)
        steps = manifest.preparation
        changed = "" if steps is None else steps.changes(column.name)
        labels, holds = manifest.codebook.get(column.name), kind_of(column.type)
        if labels is not None and labels.label:
            holds = f"{labels.label} ({holds})"
        entries.append(CodebookEntry(column.name, holds, role, values, changed))
    return entries


def other_columns(entries: Sequence[CodebookEntry]) -> str:
    """How many columns are not protected, in words."""
    roles = [entry.role for entry in entries]
    changed, batches = roles.count("prepared"), roles.count("batch")
    prepared = f", {changed:,} prepared" if changed else ""
    prepared += f", {batches:,} with the batch of a row" if batches else ""
    return f"{roles.count('unchanged'):,} other columns unchanged{prepared}"


def codebook_table(
    entries: Sequence[CodebookEntry],
) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
    """All columns, for a section of the page."""
    prepared = any(entry.preparation for entry in entries)
    rows: list[tuple[Any, ...]] = [
        (entry.name, entry.holds, entry.role, entry.values or None)
        + ((entry.preparation or None,) if prepared else ())
        for entry in entries
    ]
    return ("column", "holds", "role", "values", *(("preparation",) if prepared else ())), rows


def _domain_text(domain: Sequence[Any], *, ordered: bool) -> str:
    known = [value for value in domain if value is not None]
    missing = " and missing" if len(known) < len(domain) else ""
    most = len(known) if ordered else _MOST_VALUES
    return _listed(known[:most], len(known)) + missing


def _range_text(known: ColumnValues) -> str:
    missing = " and missing" if known.missing else ""
    numbers = _is_number(known.last) and all(map(_is_number, known.first))
    if known.first and numbers and known.distinct != len(known.first):
        count = "" if known.distinct is None else f", {known.distinct:,} values"
        return f"{_number(known.first[0])} to {_number(known.last)}{count}{missing}"
    return _listed(known.first, known.distinct or len(known.first)) + missing


def _listed(values: Sequence[Any], count: int) -> str:
    shown = ", ".join(visible(str(value), 40) for value in values)
    return f"{shown}, ... ({count:,} values)" if count > len(values) else shown


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else f"{value:g}"


def _text(text: Any, most: int | None = None) -> str:
    return html.escape(visible(readable(text), most), quote=True)


def _count(common: int) -> str:
    return "1 common value" if common == 1 else f"{common:,} common values"


def _protected_role(entry: SensitiveColumn, *, together: bool) -> str:
    parts = ["protected", f"ell = {entry.ell}"]
    if entry.groups == "random":
        parts.append("together" if together else "random groups")
    elif entry.common:
        parts.append(_count(len(entry.common)))
    if entry.odds is not None:
        parts.append(f"odds at most {entry.odds.at_most:g}")
    return ", ".join(parts)


def _plain_role(manifest: Manifest, name: str) -> str:
    if any(name == entry.batch for entry in manifest.batches):
        return "batch"
    prepared = manifest.preparation
    return "prepared" if prepared is not None and name in prepared.columns else "unchanged"
