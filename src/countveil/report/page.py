"""A page of sections: sentences, tables, charts, lines to copy.

Enters: sections. Leaves: one HTML file that loads nothing and runs nothing, readable on a phone, on
paper, on light and dark screens. Must not know: what it is about. Every text is escaped; a content
security policy in the page forbids scripts and any request.
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
from countveil.report.board import BOARD_STYLE, MOST_FIGURES, Board, board_html
from countveil.report.chart import CHART_STYLE, Chart, draw
from countveil.report.whole_file import GENERATOR

_STYLE = """
:root { color-scheme: light dark; --ink: #222; --paper: #fff; --soft: #555; --rule: #ddd;
  --strong: #888; --box: #f5f5f3; --bad: #a40000; --good: #1a6b1a; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --paper: #16181c;
  --soft: #b4b4b4; --rule: #3a3d44; --strong: #777; --box: #22252b; --bad: #ff9b9b;
  --good: #8fd694; } }
* { box-sizing: border-box; }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper);
  margin: 2rem auto; max-width: 60rem; padding: 0 1rem; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; } h2 { font-size: 1.25rem; margin-top: 2.2rem; }
p { max-width: 44rem; } .lead { font-size: 1.06rem; }
.table { overflow-x: auto; margin: 1rem 0; }
table { border-collapse: collapse; font-size: 0.86rem; } .full table { width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 1.2rem 0.35rem 0;
  border-bottom: 1px solid var(--rule); overflow-wrap: break-word; }
th { border-bottom: 2px solid var(--strong); vertical-align: bottom; }
th.number, td.number { text-align: right; font-variant-numeric: tabular-nums; }
.number, .short { white-space: nowrap; } th.number { white-space: normal; }
@media screen and (max-width: 44rem) { table { font-size: 0.76rem; }
  th, td { padding-right: 0.35rem; }
  .full thead { display: none; } .full :is(table, tbody, tr, td) { display: block; }
  .full tr { padding: 0.5rem 0; border-bottom: 1px solid var(--strong); }
  .full td { border: 0; padding: 0.1rem 0; text-align: left; white-space: normal; }
  .full td::before { content: attr(data-label) ": "; color: var(--soft); font-weight: 400; } }
figure { margin: 1rem 0; max-width: 36rem; } figure svg { width: 100%; height: auto; }
figcaption { font-size: 0.86rem; color: var(--soft); }
.charts { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 26rem), 1fr)); }
pre { background: var(--box); border: 1px solid var(--rule); border-radius: 4px; padding: 0.7rem;
  font-size: 0.84rem; line-height: 1.45; white-space: pre-wrap; }
summary { cursor: pointer; font-weight: 600; margin: 1rem 0; }
.mark { font-weight: 600; } .bad { color: var(--bad); } .good { color: var(--good); }
.warning { border-left: 4px solid var(--bad); padding: 0.4rem 0.8rem; font-weight: 600; }
@media print { body { font-size: 10.5pt; margin: 0; max-width: none; padding: 0; }
  h2, h2 + p, summary { break-after: avoid; }
  h2 + p, figure, tr { break-inside: avoid; }
  .charts { display: block; } figure { max-width: 13cm; }
  details:not([open])::details-content { content-visibility: visible; height: auto; } }
"""
_LONG, _SHORT = 40, 14
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


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
    warning: str = "",
    lead: str = "",
    board: Board | None = None,
) -> str:
    """A complete page; `board` is its first sheet."""
    if board is not None and len(board.figures) > MOST_FIGURES:
        rows = [(figure.name, figure.value, figure.note) for figure in board.figures]
        sections = [Section("All figures", (), ("figure", "value", "remark"), rows), *sections]
    body = "".join(_section(section) for section in sections)
    name = _escaped(title)
    top = f'<p class="warning">{_escaped(warning)}</p>' if warning else ""
    top += f'<p class="lead">{_escaped(lead)}</p>' if lead else ""
    top += board_html(board) if board is not None else ""
    style = _STYLE + CHART_STYLE + (BOARD_STYLE if board is not None else "")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<meta {GENERATOR}>"
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{name}</title><style>{style}</style></head>"
        f"<body><main><h1>{name}</h1>{top}{body}</main></body></html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<section><h2>{_escaped(section.title)}</h2>" if section.title else "<section>"]
    parts += [_paragraph(sentence, section.leads) for sentence in section.sentences]
    if section.rows:
        parts.append(_table(section.columns, section.rows, section.marks))
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


def _table(columns: Sequence[str], rows: Sequence[Sequence[Any]], marks: Mapping[str, str]) -> str:
    right = [all(_is_number(row[place]) for row in rows) for place in range(len(columns))]
    head = "".join(
        f'<th scope="col"{_number(to_right)}>{_escaped(name)}</th>'
        for name, to_right in zip(columns, right, strict=True)
    )
    # Tables with long texts take the whole width, and on a phone one line per cell; others are
    # easier to read side by side.
    full = any(len(readable(cell)) > _LONG for row in rows for cell in row)
    body = "".join(_row(row, right, marks, columns if full else ()) for row in rows)
    return (
        f'<div class="table{" full" if full else ""}"><table><thead><tr>{head}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _row(
    row: Sequence[Any], right: Sequence[bool], marks: Mapping[str, str], labels: Sequence[str]
) -> str:
    cells = []
    for place, (value, to_right) in enumerate(zip(row, right, strict=True)):
        text = readable(value)
        label = f' data-label="{_escaped(labels[place])}"' if labels else ""
        short = ' class="short"' if len(text) <= _SHORT else ""
        kind = _number(to_right) or short
        if text in marks:
            kind = f' class="mark {_escaped(marks[text])}"'
        cells.append(f"<td{kind}{label}>{_escaped(text)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return re.fullmatch(r"[-+<]?[\d,]*\.?\d+%?|none|", cell) is not None
    return cell is None or isinstance(cell, int | float)


def _number(to_right: bool) -> str:
    return ' class="number"' if to_right else ""


def _figure(chart: Chart) -> str:
    drawn = draw(chart)
    if not drawn:
        return ""
    note = f" {_escaped(chart.note)}" if chart.note else ""
    return f"<figure>{drawn}<figcaption><b>{_escaped(chart.title)}.</b>{note}</figcaption></figure>"


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
