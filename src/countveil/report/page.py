"""The frame of every page: a title, a summary, a list of contents, sections.

Enters: sections of sentences, tables, charts and lines to copy. Leaves: one HTML file that loads
nothing and runs nothing, readable on a phone, on paper, on light and dark screens. Must not know:
what it is about. Every text is escaped; a content security policy in the page forbids scripts and
any request.
"""

from __future__ import annotations

import html
import json
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from countveil.display import readable, visible
from countveil.report.board import MOST_FIGURES, Board, board_html
from countveil.report.chart import CHART_STYLE, Chart, draw
from countveil.report.look.stylesheet import PAGE_STYLE
from countveil.report.whole_file import GENERATOR

# Characters of a cell from which on it is a text, and up to which it stays on one line; those of a
# word from which on it may be broken anywhere.
_LONG, _SHORT, _WORD = 40, 18, 24
# A table with more rows scrolls in its frame; one that is wider is likely to do so on a phone.
_MANY_ROWS, _PHONE = 30, 350
# Pixels of a character and between columns, on a phone; the most and the least that a column takes.
_CHARACTER, _BETWEEN, _WIDEST, _NARROWEST = 6.2, 13, 150, 51
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_FOOTER = "Made by countveil. This page is one file: it runs nothing and loads nothing."


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page. `marks` colours cells of a table that hold exactly this text.

    `commands` are lines to copy, a block each. `folded` is long text, hidden until it is
    opened. With `leads`, the first words of each sentence, up to a full stop, are its heading.
    """

    title: str
    sentences: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    charts: Sequence[Chart] = ()
    marks: Mapping[str, str] = field(default_factory=dict)
    commands: Sequence[str] = ()
    folded: Mapping[str, str] = field(default_factory=dict)
    after: Sequence[str] = ()
    leads: bool = False


def page(
    title: str,
    sections: Sequence[Section],
    *,
    kind: str = "",
    warning: str = "",
    lead: str = "",
    board: Board | None = None,
) -> str:
    """A complete page; `kind` is what sort of page it is, `board` its first sheet."""
    if board is not None and len(board.figures) > MOST_FIGURES:
        rows = [(figure.name, figure.value, figure.note) for figure in board.figures]
        sections = [Section("All figures", (), ("figure", "value", "remark"), rows), *sections]
    anchors = _anchors([section.title for section in sections])
    body = "".join(map(_section, sections, anchors))
    name = _escaped(title)
    top = f'<p class="kind">{_escaped(kind)}</p>' if kind else ""
    top += f"<h1>{name}</h1>"
    top += f'<p class="warning">{_escaped(warning)}</p>' if warning else ""
    top += f'<p class="lead">{_escaped(lead)}</p>' if lead else ""
    summary = board_html(board) if board is not None else ""
    contents = _contents(sections, anchors, summary=board is not None)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<meta {GENERATOR}>"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{name}</title><style>{PAGE_STYLE}{CHART_STYLE}</style></head>"
        f'<body><div class="page"><header>{top}</header>{contents}<main>{summary}{body}</main>'
        f"<footer><p>{_FOOTER}</p></footer></div></body></html>\n"
    )


def _anchors(titles: Sequence[str]) -> list[str]:
    """A different name for each section, to link to; none for one without a title."""
    anchors: list[str] = []
    for title in titles:
        base = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].strip("-") or "section"
        # Two titles may differ only in what cannot be part of a name.
        number, anchor = 1, base
        while anchor in (*anchors, "summary"):
            number += 1
            anchor = f"{base}-{number}"
        anchors.append(anchor if title else "")
    return anchors


def _contents(sections: Sequence[Section], anchors: Sequence[str], *, summary: bool) -> str:
    listed = {"Summary": "summary"} if summary else {}
    for section, anchor in zip(sections, anchors, strict=True):
        # Sections of one title follow each other: the first leads to all of them.
        if anchor:
            listed.setdefault(section.title, anchor)
    links = "".join(f'<li><a href="#{a}">{_escaped(title)}</a></li>' for title, a in listed.items())
    return (
        f'<nav aria-label="Contents"><details><summary>Contents</summary><ol>{links}</ol></details>'
        f"</nav>"
    )


def _section(section: Section, anchor: str) -> str:
    parts = ["<section>"]
    if section.title:
        parts = [f'<section id="{anchor}"><h2>{_escaped(section.title)}</h2>']
    parts += [_paragraph(sentence, section.leads) for sentence in section.sentences]
    if section.rows:
        parts.append(_table(section))
    figures = "".join(_figure(chart) for chart in section.charts)
    parts += [f'<div class="charts">{figures}</div>'] if figures else []
    parts += [f"<pre>{_escaped(command)}</pre>" for command in section.commands]
    parts += [
        f"<details><summary>{_escaped(name)}</summary><pre>{_escaped(text)}</pre></details>"
        for name, text in section.folded.items()
    ]
    return "".join([*parts, *(_paragraph(sentence) for sentence in section.after), "</section>"])


def _paragraph(text: str, leads: bool = False) -> str:
    head, stop, rest = text.partition(". ")
    if not leads or not stop:
        return f"<p>{_escaped(text)}</p>"
    return f"<p><b>{_escaped(head)}.</b> {_escaped(rest)}</p>"


def _table(section: Section) -> str:
    columns, rows = section.columns, section.rows
    right = [all(_is_number(row[place]) for row in rows) for place in range(len(columns))]
    texts = [[readable(cell) for cell in row] for row in rows]
    head = "".join(
        f'<th scope="col"{_kind(name, to_right)}>{_escaped(name)}</th>'
        for name, to_right in zip(columns, right, strict=True)
    )
    body = "".join(_row(row, right, section.marks) for row in texts)
    # Long texts take the whole width. Whether a table is wider than a phone can only be estimated.
    full = any(len(text) > _LONG for row in texts for text in row)
    long, scrolls = len(rows) > _MANY_ROWS, _width(columns, texts) > _PHONE
    kinds = [("full", full), ("long", long), ("scrolls", scrolls)]
    words = " ".join(["table", *(word for word, applies in kinds if applies)])
    # What scrolls is reached by the keyboard, and so has a name.
    region = f' role="region" tabindex="0" aria-label="Table: {_escaped(section.title)}"'
    return (
        ('<p class="cue" aria-hidden="true">Scroll the table sideways →</p>' if scrolls else "")
        + (f'<p class="rows">{len(rows):,} rows; scroll the table to see all.</p>' if long else "")
        + f'<div class="{words}"{region if long or scrolls else ""}><table><thead><tr>{head}</tr>'
        f"</thead><tbody>{body}</tbody></table></div>"
    )


def _width(columns: Sequence[str], texts: Sequence[Sequence[str]]) -> float:
    """How wide a table is on a phone, in pixels, about."""
    longest = [max(len(row[place]) for row in texts) for place in range(len(columns))]
    words = [max(map(len, name.split()), default=0) for name in columns]
    needed = [_CHARACTER * max(pair) for pair in zip(longest, words, strict=True)]
    return sum(_BETWEEN + min(_WIDEST, max(_NARROWEST, width)) for width in needed)


def _row(texts: Sequence[str], right: Sequence[bool], marks: Mapping[str, str]) -> str:
    cells = []
    for place, (text, to_right) in enumerate(zip(texts, right, strict=True)):
        kind = _kind(text, to_right, mark=marks.get(text, ""))
        # The first cell says what the row is about.
        tag, scope = ("td", "") if place else ("th", ' scope="row"')
        cells.append(f"<{tag}{scope}{kind}>{_escaped(text)}</{tag}>")
    return f"<tr>{''.join(cells)}</tr>"


def _kind(text: str, to_right: bool, mark: str = "") -> str:
    """The attribute that says how a cell is set."""
    kind = ""
    if mark:
        kind = f"mark {_escaped(mark)}"
    elif to_right:
        kind = "number"
    elif max(map(len, text.split()), default=0) > _WORD:
        kind = "broken"
    elif len(text) <= _SHORT or len(text) > _LONG:
        kind = "short" if len(text) <= _SHORT else "text"
    return f' class="{kind}"' if kind else ""


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return re.fullmatch(r"[-+<]?[\d,]*\.?\d+%?|none|", cell) is not None
    return cell is None or isinstance(cell, int | float)


def _figure(chart: Chart) -> str:
    drawn = draw(chart)
    if not drawn:
        return ""
    note = f'<p class="note">{_escaped(chart.note)}</p>' if chart.note else ""
    return f"<figure><figcaption>{_escaped(chart.title)}</figcaption>{drawn}{note}</figure>"


def _escaped(text: str) -> str:
    return html.escape(visible(text), quote=True)


def json_for_people(content: Mapping[str, Any]) -> str:
    """JSON with a line for each entry of a list, to be read by people."""
    parts = []
    for name, value in content.items():
        if isinstance(value, list) and value:
            inner = ",\n".join(f"    {_json(entry)}" for entry in value)
            parts.append(f"  {_json(name)}: [\n{inner}\n  ]")
        elif isinstance(value, dict):
            inner = ",\n".join(
                f"    {_json(key)}: {_entries(entry)}" for key, entry in value.items()
            )
            parts.append(f"  {_json(name)}: {{\n{inner}\n  }}")
        else:
            parts.append(f"  {_json(name)}: {_json(value)}")
    return "{\n" + ",\n".join(parts) + "\n}"


def _entries(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return _json(entry)
    inner = ",\n".join(f"      {_json(key)}: {_json(value)}" for key, value in entry.items())
    return "{\n" + inner + "\n    }"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def in_shell(query: str) -> str:
    """One shell argument, in readable double quotes where nothing in it is special to them."""
    if any(char in query for char in "$`\\!"):
        return shlex.quote(query)
    escaped = query.replace('"', '\\"')
    return f'"{escaped}"'


def in_python(query: str) -> str:
    """The same as a text of Python."""
    plain = "\\" not in query and '"""' not in query and not query.endswith('"')
    return f'"""{query}"""' if plain else repr(query)


def copyable(text: Any) -> bool:
    """Whether a page shows exactly this text, and a line of a shell holds it."""
    return bool(text) and visible(text) == text and "\n" not in text and len(text) <= 60


def quoted(name: str) -> str:
    """The name of a column in a query."""
    escaped = name.replace('"', '""')
    return f'"{escaped}"'
