// How the editor looks: in the colours of the page around it, which are light or dark.
//
// Enters: the page's custom properties --paper, --ink, --line, --accent, --muted, --danger and --mono, which
// a shadow root inherits; colours of its own where a page has none. Leaves: style sheets. Must not know: which
// theme is on.

import { HighlightStyle } from "@codemirror/language";
import { EditorView } from "@codemirror/view";
import { tags } from "@lezer/highlight";

/** Where the page says nothing. */
export const sheet = new CSSStyleSheet();
sheet.replaceSync(`
  :host {
    display: block;
    --_paper: var(--paper, #ffffff); --_ink: var(--ink, #1b2127); --_line: var(--line, #7b8791);
    --_accent: var(--accent, #0b5a8f); --_muted: var(--muted, #4b5560); --_danger: var(--danger, #a3161a);
    --_value: color-mix(in oklab, var(--_accent) 45%, var(--_ink));
    --_chosen: color-mix(in oklab, var(--_accent) 22%, var(--_paper));
  }
  :host([hidden]) { display: none; }
  @media (prefers-color-scheme: dark) {
    :host {
      --_paper: var(--paper, #14171b); --_ink: var(--ink, #e6e9ec); --_line: var(--line, #77828d);
      --_accent: var(--accent, #7cc0f0); --_muted: var(--muted, #b0b9c2); --_danger: var(--danger, #ffa39e);
    }
  }
  @media (prefers-reduced-motion: reduce) { * { animation: none !important; transition: none !important; } }
`);

const MONO = "var(--mono, ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace)";

export const theme = EditorView.theme({
  "&": {
    color: "var(--_ink)",
    backgroundColor: "var(--_paper)",
    border: "1px solid var(--_line)",
    borderRadius: "4px",
  },
  "&.cm-focused": { outline: "2px solid var(--_accent)", outlineOffset: "1px" },
  ".cm-scroller": { fontFamily: MONO, fontSize: "1rem", lineHeight: "1.5", maxHeight: "60vh", overflow: "auto" },
  ".cm-content": {
    padding: "0.5em 0",
    minHeight: "calc(var(--rows) * 1.5em + 1em)",
    boxSizing: "border-box",
    caretColor: "var(--_ink)",
  },
  ".cm-line": { padding: "0 0.6em" },
  ".cm-line ::selection, .cm-line::selection": { backgroundColor: "var(--_chosen)" },
  ".cm-placeholder": { color: "var(--_muted)" },
  "&.cm-focused .cm-matchingBracket": { backgroundColor: "var(--_chosen)", color: "inherit" },
  "&.cm-focused .cm-nonmatchingBracket": { backgroundColor: "transparent", color: "var(--_danger)" },
  ".cm-error-range": {
    textDecoration: "underline wavy var(--_danger) 0.1em",
    textDecorationSkipInk: "none",
    textUnderlineOffset: "0.2em",
  },
  ".cm-tooltip": {
    color: "var(--_ink)",
    backgroundColor: "var(--_paper)",
    border: "1px solid var(--_line)",
    borderRadius: "4px",
  },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: MONO, fontSize: "0.9375rem", maxHeight: "15em", maxWidth: "min(90vw, 40em)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "0.25em 0.6em", lineHeight: "1.4" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]": {
    color: "var(--_ink)",
    backgroundColor: "var(--_chosen)",
    boxShadow: "inset 3px 0 var(--_accent)",
  },
  ".cm-completionMatchedText": { textDecoration: "none", fontWeight: "700" },
  ".cm-completionDetail": { color: "var(--_muted)", fontStyle: "normal", marginLeft: "1.5em" },
});

export const highlighting = HighlightStyle.define([
  { tag: tags.keyword, color: "var(--_accent)", fontWeight: "600" },
  { tag: [tags.string, tags.number, tags.bool, tags.null], color: "var(--_value)" },
  { tag: [tags.typeName, tags.standard(tags.name)], color: "var(--_accent)" },
  { tag: tags.special(tags.string), color: "var(--_ink)" },
  { tag: tags.comment, color: "var(--_muted)", fontStyle: "italic" },
]);
