"""A page of sections: sentences, tables, charts.

Enters: sections. Leaves: one HTML file that loads nothing and runs nothing. Must not know: what it
is about. Every text is escaped; a policy in the page forbids scripts and any request.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from countveil.display import shown, visible
from countveil.report.chart import Chart, draw

_STYLE = """
:root { color-scheme: light; }
body { font: 16px/1.5 system-ui, sans-serif; color: #222; background: #fff; margin: 2rem auto;
  max-width: 72rem; padding: 0 1rem; }
h1 { font-size: 1.7rem; } h2 { font-size: 1.25rem; margin-top: 2.2rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.86rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem;
  border-bottom: 1px solid #ddd; overflow-wrap: anywhere; }
th { border-bottom: 2px solid #888; }
figure { margin: 1.5rem 0; max-width: 42rem; } figcaption { font-size: 0.86rem; color: #444; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1rem; }
.mark { font-weight: 600; white-space: nowrap; } .bad { color: #a40000; } .good { color: #1a6b1a; }
.note { color: #444; }
"""
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a page. `marks` colours cells of a table that hold exactly this text."""

    title: str
    sentences: Sequence[str] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    charts: Sequence[Chart] = ()
    marks: Mapping[str, str] = field(default_factory=dict)


def page(title: str, sections: Sequence[Section], style: str = "") -> str:
    """A complete page; `style` is put after the style of every page."""
    body = "".join(_section(section) for section in sections)
    name = _escaped(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{name}</title><style>{_STYLE}{style}</style></head>"
        f"<body><h1>{name}</h1>{body}</body></html>\n"
    )


def _section(section: Section) -> str:
    parts = [f"<h2>{_escaped(section.title)}</h2>"]
    parts += [f"<p>{_escaped(sentence)}</p>" for sentence in section.sentences]
    if section.rows:
        head = "".join(f"<th>{_escaped(name)}</th>" for name in section.columns)
        body = "".join(_row(row, section.marks) for row in section.rows)
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    figures = "".join(_figure(chart) for chart in section.charts)
    return "".join(parts) + (f'<div class="charts">{figures}</div>' if figures else "")


def _row(row: Sequence[Any], marks: Mapping[str, str]) -> str:
    cells = []
    for value in row:
        text = shown(value)
        kind = f' class="mark {_escaped(marks[text])}"' if text in marks else ""
        cells.append(f"<td{kind}>{_escaped(text)}</td>")
    return f"<tr>{''.join(cells)}</tr>"


def _figure(chart: Chart) -> str:
    note = f" {_escaped(chart.note)}" if chart.note else ""
    return (
        f"<figure>{draw(chart)}<figcaption><b>{_escaped(chart.title)}.</b>{note}"
        "</figcaption></figure>"
    )


def _escaped(text: str) -> str:
    return html.escape(visible(text), quote=True)
