"""The first page of a report, for those who decide: one sheet of paper, one screen of a phone.

Enters: facts, figures, a verdict, open points, what the columns are; some of the text may be
hostile. Leaves: HTML for the top of a page, and the codebook. Must not know: where figures come
from. What is on it must fit on one A4 page, so three figures stand for all, lists are cut, and the
rest follows below.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from countveil.display import readable, visible
from countveil.release import Manifest, SensitiveColumn, kind_of

# What fits on a page.
MOST_FIGURES, _MOST_COLUMNS = 3, 12
_MOST_POINTS, _MOST_VALUES, _LONGEST = 5, 8, 72


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the figures that matter: what it is, the number, what to compare it with.

    Of several of one `kind`, that with the largest `amount` is the worst.
    """

    name: str
    value: str
    note: str
    kind: str = ""
    amount: float = 0.0


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
    shown = band(board.figures)
    figures = "".join(
        f'<div class="figure">{_text(figure.name)}<b>{_text(figure.value)}</b>'
        f"<small>{_text(figure.note)}</small></div>"
        for figure in shown
    )
    parts = [
        '<section class="board" id="summary"><h2>Summary</h2>',
        f'<div class="band">{figures}</div>',
        _chosen(len(board.figures), len(shown)),
        f'<p class="verdict {_text(board.mark)}">{_text(board.verdict)}</p>',
        f"<dl>{facts}</dl>",
    ]
    if board.points:
        left = len(board.points) - _MOST_POINTS
        more = [f"and {left:,} more, below"] if left > 0 else []
        points = "".join(f"<li>{_text(p)}</li>" for p in [*board.points[:_MOST_POINTS], *more])
        parts.append(f"<h3>Open points</h3><ul>{points}</ul>")
    return "".join([*parts, _codebook(board.codebook, _MOST_COLUMNS), "</section>"])


def band(figures: Sequence[Figure]) -> list[Figure]:
    """Three figures that stand for all: of each kind the worst, the first kinds."""
    worst: dict[str, Figure] = {}
    for figure in figures:
        kind = figure.kind or figure.name
        if kind not in worst or figure.amount > worst[kind].amount:
            worst[kind] = figure
    return list(worst.values())[:MOST_FIGURES]


def _chosen(count: int, shown: int) -> str:
    if count <= shown:
        return ""
    return f"<p>Three of {count:,} figures, the worst of each kind; all are below.</p>"


def _more(left: int, what: str) -> str:
    return f"<p>{left:,} more {what}.</p>" if left > 0 else ""


def _codebook(entries: Sequence[CodebookEntry], most: int) -> str:
    if not entries:
        return ""
    # Protected columns first: of many columns only some fit on the page.
    ordered = sorted(entries, key=lambda entry: not entry.role.startswith("protected"))
    rows = "".join(_codebook_row(entry) for entry in ordered[:most])
    head = "".join(f'<th scope="col">{name}</th>' for name in ("column", "holds", "role", "values"))
    more = _more(len(entries) - most, "columns are in the codebook below")
    # Only paper shows it here: on a screen the whole codebook is one click away.
    return (
        f'<div class="sheet"><h3>Codebook</h3><div class="table"><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{rows}</tbody></table></div>{more}</div>"
    )


def _codebook_row(entry: CodebookEntry) -> str:
    first, *others = (_text(cell, _LONGEST) for cell in _cells(entry))
    cells = "".join(f"<td>{cell}</td>" for cell in others)
    return f'<tr><th scope="row">{first}</th>{cells}</tr>'


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
