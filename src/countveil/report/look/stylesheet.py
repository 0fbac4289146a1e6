"""The stylesheet of every page: on a screen, light or dark, on a phone, on paper.

Enters: the colours. Leaves: CSS text, which loads nothing. Must not know: what a page is about.
"""

from __future__ import annotations

from countveil.report.look.colours import DARK, LIGHT

# Colours are named by their role, so that a theme is one line of declarations.
_ROLES = """--ink: {0.ink}; --soft: {0.soft}; --accent: {0.accent}; --bad: {0.bad};
  --good: {0.good}; --paper: {0.paper}; --box: {0.box}; --bad-ground: {0.bad_ground};
  --good-ground: {0.good_ground}; --rule: {0.rule}; --strong: {0.strong}; --shadow: {0.shadow};"""
_THEMES = (
    f":root {{ color-scheme: light dark; {_ROLES.format(LIGHT)} }}\n"
    f"@media screen and (prefers-color-scheme: dark) {{ :root {{ {_ROLES.format(DARK)} }} }}\n"
)
_TEXT = """
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; margin: 0;
  color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
.page { max-width: 82rem; margin: 0 auto; padding: 2rem 1.25rem 3rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0.2rem 0 0.8rem; letter-spacing: -0.01em; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 0 0 0.6rem; }
h3 { font-size: 1rem; margin: 1.1rem 0 0.3rem; }
p { max-width: 46rem; margin: 0.6rem 0; } a { color: var(--accent); }
.kind { color: var(--accent); font-size: 0.86rem; font-weight: 600; margin: 0; }
.lead { font-size: 1.06rem; }
.warning { border-left: 4px solid var(--bad); background: var(--bad-ground); color: var(--bad);
  padding: 0.5rem 0.9rem; font-weight: 600; max-width: none; }
main > section { border-top: 1px solid var(--rule); padding-top: 1.4rem; margin-top: 2.2rem;
  scroll-margin-top: 0.5rem; }
main > section.board { border: 0; padding: 0; margin-top: 1.2rem; }
pre { background: var(--box); border: 1px solid var(--rule); border-radius: 6px; padding: 0.8rem;
  font-size: 0.84rem; line-height: 1.5; white-space: pre-wrap; }
summary { cursor: pointer; font-weight: 600; margin: 0.8rem 0; }
footer { margin-top: 3rem; border-top: 1px solid var(--rule); color: var(--soft);
  font-size: 0.86rem; }
"""
_CONTENTS = """
nav { font-size: 0.88rem; line-height: 1.4; margin: 1rem 0; }
nav ol { list-style: none; margin: 0; padding: 0; } nav li { margin: 0.45rem 0; }
nav a { text-decoration: none; } nav a:hover { text-decoration: underline; }
@media screen and (max-width: 67.99rem) { nav { border: 1px solid var(--rule); border-radius: 6px;
    padding: 0 0.9rem; } nav ol { padding-bottom: 0.6rem; } }
@media screen and (min-width: 68rem) {
  .page { display: grid; grid-template-columns: 14rem minmax(0, 1fr); column-gap: 3.5rem;
    grid-template-rows: auto 1fr auto; }
  header, main, footer { grid-column: 2; } nav { grid-column: 1; grid-row: 1 / span 3; margin: 0; }
  nav details { position: sticky; top: 1.5rem; max-height: calc(100vh - 3rem); overflow-y: auto;
    background: linear-gradient(var(--paper) 40%, transparent) top / 100% 3rem local,
      linear-gradient(to top, var(--paper) 40%, transparent) bottom / 100% 3rem local,
      linear-gradient(var(--shadow), transparent) top / 100% 0.8rem scroll,
      linear-gradient(to top, var(--shadow), transparent) bottom / 100% 0.8rem scroll;
    background-repeat: no-repeat; }
  nav summary { margin-top: 0; }
  @supports selector(details::details-content) {
    nav details::details-content { content-visibility: visible; block-size: auto; }
    nav summary { list-style: none; pointer-events: none; color: var(--soft); }
    nav summary::-webkit-details-marker { display: none; } } }
"""
_BOARD = """
.band { display: grid; gap: 0.9rem; margin: 1rem 0;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 14rem), 1fr)); }
.figure { background: var(--box); border-top: 4px solid var(--accent); border-radius: 6px;
  padding: 0.8rem 1rem; line-height: 1.35; }
.figure b { display: block; font-size: 2rem; line-height: 1.25; margin: 0.2rem 0;
  font-variant-numeric: tabular-nums; letter-spacing: -0.01em; }
.figure small { display: block; color: var(--soft); font-size: 0.84rem; }
.verdict { border-left: 4px solid var(--strong); background: var(--box); max-width: none;
  padding: 0.6rem 0.9rem; }
.verdict.bad { border-color: var(--bad); background: var(--bad-ground); color: var(--bad); }
.verdict.good { border-color: var(--good); background: var(--good-ground); color: var(--good); }
.board dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1.2rem;
  margin: 1rem 0 0; }
.board dt { color: var(--soft); } .board dd { margin: 0; }
.board ul { margin: 0.2rem 0; padding-left: 1.2rem; max-width: 50rem; }
@media screen { .sheet { display: none; } }
@media screen and (max-width: 44rem) { .page { padding: 1rem 1rem 2rem; }
  h1 { font-size: 1.5rem; } .figure { padding: 0.6rem 0.8rem; } .figure b { font-size: 1.6rem; }
  .board dl { grid-template-columns: 1fr; gap: 0; } .board dd { margin-bottom: 0.4rem; } }
"""
# A table is as wide as it needs to be and scrolls in its frame. Its frame shows a shadow at an edge
# behind which there is more: covers of the colour of the paper move with the content, shadows stay.
_TABLES = """
.table { overflow: auto; margin: 0.8rem 0; background:
    linear-gradient(to right, var(--paper) 40%, transparent) left / 3rem 100% local,
    linear-gradient(to left, var(--paper) 40%, transparent) right / 3rem 100% local,
    linear-gradient(to right, var(--shadow), transparent) left / 0.8rem 100% scroll,
    linear-gradient(to left, var(--shadow), transparent) right / 0.8rem 100% scroll;
  background-repeat: no-repeat; }
.table.long { max-height: 34rem; border-bottom: 2px solid var(--strong); }
.table:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
table { border-collapse: separate; border-spacing: 0; font-size: 0.88rem; line-height: 1.4; }
.full table { width: 100%; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 1.4rem 0.4rem 0;
  border-bottom: 1px solid var(--rule); overflow-wrap: break-word; }
thead th { border-bottom: 2px solid var(--strong); vertical-align: bottom; color: var(--soft);
  font-weight: 600; line-height: 1.25; min-width: 3.2rem; }
.long thead th { position: sticky; top: 0; background: var(--paper); z-index: 2; }
tbody th { font-weight: 400; max-width: 24rem; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
td.number, td.short, tbody th.short { white-space: nowrap; }
.full tbody th { min-width: 7.5rem; } .text { min-width: 12rem; }
.broken { overflow-wrap: anywhere; min-width: 9rem; }
.cue { display: none; color: var(--soft); font-size: 0.8rem; margin: 0.6rem 0 -0.5rem; }
.rows { color: var(--soft); font-size: 0.8rem; margin: 0.6rem 0 -0.5rem; }
.mark { font-weight: 600; white-space: nowrap; } .bad { color: var(--bad); }
.good { color: var(--good); } td.good::before { content: "\\2713\\a0"; }
td.bad::before { content: "\\2717\\a0"; }
@media screen and (max-width: 44rem) { table { font-size: 0.8rem; } .text { min-width: 18rem; }
  .full tbody th { min-width: 0; } .cue { display: block; }
  th, td { padding-right: 0.8rem; }
  .scrolls :is(thead, tbody) th:first-child { position: sticky; left: 0; z-index: 1;
    background: var(--paper); max-width: 9.5rem; white-space: normal; }
  .scrolls.long thead th:first-child { z-index: 3; } }
"""
_FIGURES = """
figure { margin: 1.2rem 0; max-width: 40rem; } figure svg { width: 100%; height: auto; }
figcaption { font-weight: 600; margin-bottom: 0.4rem; }
.note { font-size: 0.86rem; color: var(--soft); margin: 0.2rem 0 0; }
.charts { display: grid; gap: 0.5rem 2rem;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); }
"""
# The first sheet holds the summary and nothing else.
_PRINT = """
@page { size: A4; margin: 14mm;
  @bottom-right { content: counter(page) " / " counter(pages); font: 8pt system-ui, sans-serif; } }
@media print { body { font-size: 10pt; line-height: 1.4; } .page { max-width: none; padding: 0; }
  nav, .cue, .rows { display: none; } p { max-width: none; }
  h1 { font-size: 15pt; margin: 0 0 0.4rem; } h2 { font-size: 12.5pt; } h3 { font-size: 10.5pt; }
  .lead { font-size: 9pt; margin: 0.3rem 0; } .kind { font-size: 8.5pt; }
  main > section { margin-top: 1.1rem; padding-top: 0.7rem; }
  main > section.board { break-after: page; font-size: 9pt; line-height: 1.3; margin-top: 0.3rem; }
  .board h2 { margin: 0.2rem 0; } .board h3 { margin: 0.5rem 0 0.1rem; }
  .band { grid-template-columns: repeat(3, 1fr); gap: 0.5rem; margin: 0.4rem 0; }
  .figure { padding: 0.35rem 0.5rem; } .figure small { font-size: 8pt; }
  .figure b { font-size: 15pt; margin: 0; } .verdict, .warning { padding: 0.3rem 0.5rem; }
  .figure, .verdict, .warning { border: 1px solid var(--strong); }
  .board dl { margin-top: 0.4rem; gap: 0.1rem 1rem; }
  .sheet .table { margin: 0.2rem 0; } .sheet table { font-size: 8pt; table-layout: fixed;
    width: 100%; }
  .sheet :is(thead th:nth-child(1)) { width: 19%; } .sheet thead th:nth-child(2) { width: 9%; }
  .sheet thead th:nth-child(3) { width: 25%; }
  .sheet :is(td, th) { padding: 0.1rem 0.6rem 0.1rem 0; white-space: nowrap; overflow: hidden;
    text-overflow: ellipsis; max-width: none; }
  .table { overflow: visible; background: none; } .table.long { max-height: none; border: 0; }
  .long thead th { position: static; }
  table { font-size: 8.5pt; } th, td { padding: 0.2rem 0.8rem 0.2rem 0; }
  .text, .broken { min-width: 0; overflow-wrap: anywhere; } pre { font-size: 8pt; }
  h2, h3, h2 + p, summary, figcaption { break-after: avoid; } h2 + p, figure, tr, .figure, .verdict
    { break-inside: avoid; }
  .charts { display: block; } figure { max-width: 13cm; }
  details:not([open])::details-content { content-visibility: visible; height: auto; } }
"""
# What the pages of the app share with these: colours, tables and figures.
SHARED_STYLE = _THEMES + _TABLES + _FIGURES
PAGE_STYLE = _THEMES + _TEXT + _CONTENTS + _BOARD + _TABLES + _FIGURES + _PRINT
