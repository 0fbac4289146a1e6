// What the editor proposes: columns, functions and keywords, and values of the column that is compared.
//
// Enters: the address of {"columns": [{"name", "role", "values"}], "functions": [...], "tables": [...]}, and a
// place in the text. Leaves: proposals. Must not know: what a release is. A function is a name, or text with
// parentheses that is inserted as it is; `sql` of a column is how it is written, if that is not obvious.

import { closeCompletion, insertCompletionText, selectedCompletion } from "@codemirror/autocomplete";
import { keywords, reserved } from "./dialect.js";
import { placeAtEnd } from "./place.js";

const NOTHING = { columns: [], functions: [], tables: [] };
const answers = new Map();

/** What an address answers, asked once for all editors; nothing if there is none, or if it fails. */
export function fetched(address) {
  if (!address) return Promise.resolve(NOTHING);
  if (!answers.has(address)) {
    const answer = ask(address).catch(() => {
      answers.delete(address);
      return NOTHING;
    });
    answers.set(address, answer);
  }
  return answers.get(address);
}

async function ask(address) {
  const response = await fetch(address, { headers: { Accept: "application/json" } });
  if (!response.ok) throw new Error(String(response.status));
  return { ...NOTHING, ...(await response.json()) };
}

/** A source of proposals that knows the columns at an address. */
export function completionsFrom(address) {
  return async (context) => {
    const place = placeAtEnd(context.state.sliceDoc(0, context.pos));
    if (!place || !(place.typed || place.column !== null || context.explicit)) return null;
    const known = await fetched(address());
    const options = context.aborted ? [] : proposals(place, known).map((one) => ready(one, place));
    return options.length === 0 ? null : { from: place.from, options, validFor: same(place.typed) };
  };
}

/** A proposal that takes the place of all of the word, and not only of its part before the cursor. */
function ready(proposal, { typed }) {
  const text = proposal.apply ?? proposal.label;
  const apply = (view, _, from, to) => {
    const after = view.state.sliceDoc(to, to + 200);
    view.dispatch(insertCompletionText(view.state, text, from, to + rest(typed, after)));
  };
  return { ...proposal, text, apply };
}

/** Command: give up a proposal that is typed already, so that Enter begins a line as it does elsewhere. */
export function closeIfTyped(view) {
  const chosen = selectedCompletion(view.state);
  const { from, to } = view.state.selection.main;
  const typed = chosen && view.state.sliceDoc(from - chosen.text.length, to);
  if (typed && typed === chosen.text) closeCompletion(view);
  return false;
}

function proposals(place, known) {
  const quote = place.typed?.kind === "quoted";
  if (quote) return columns(known, true);
  const values = place.column === null ? [] : valuesOf(place, known);
  const names = place.typed?.kind === "word" || (place.column === null && place.typed === null);
  if (!names || place.list) return values;
  return [...values, ...columns(known, false), ...functions(known), ...tables(known), ...words(place)];
}

/** Values as SQL writes them. A word that has begun is compared with what is between the quotes. */
function valuesOf({ column: name, typed }, known) {
  const exact = known.columns.find((column) => column.name === name);
  const column = exact ?? known.columns.find((column) => column.name.toLowerCase() === name.toLowerCase());
  const values = (column?.values ?? []).map((value) => ({ value, text: literal(value) }));
  return values
    .filter(({ text }) => text !== null)
    .map(({ value, text }, index) => ({
      label: typed?.kind === "word" ? String(value) : text,
      displayLabel: text,
      apply: text,
      type: "constant",
      boost: 3,
      sortText: order(index),
    }));
}

function columns(known, quoted) {
  return known.columns.map(({ name, role, sql }, index) => ({
    label: quoted ? inQuotes(name) : name,
    apply: quoted ? inQuotes(name) : (sql ?? identifier(name)),
    type: "property",
    detail: role,
    boost: 2,
    sortText: order(index),
  }));
}

function functions(known) {
  return known.functions.map((text) => ({ label: text, apply: /[()]/.test(text) ? text : `${text}(`, type: "function" }));
}

function tables(known) {
  return known.tables.map((name) => ({ label: name, apply: identifier(name), type: "type", boost: 1 }));
}

/** Keywords in the case that is being typed, or else in that of the last keyword. */
function words({ typed, code }) {
  const last = code.findLast((token) => token.kind === "word" && reserved.has(token.text.toUpperCase()));
  const example = typed?.text ?? last?.text ?? "SELECT";
  const small = example !== example.toUpperCase();
  return keywords.map((word, index) => ({
    label: small ? word.toLowerCase() : word,
    type: "keyword",
    boost: -1,
    sortText: order(index),
  }));
}

const order = (index) => String(index).padStart(8, "0");
const inQuotes = (name) => `"${name.replaceAll('"', '""')}"`;

/** A column as it is written: in quotes unless it is a plain word. */
function identifier(name) {
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && !reserved.has(name.toUpperCase()) ? name : inQuotes(name);
}

/** A value as it is written in SQL; null for what is not compared by an operator. */
function literal(value) {
  if (typeof value === "string") return `'${value.replaceAll("'", "''")}'`;
  if (typeof value === "boolean") return String(value).toUpperCase();
  return typeof value === "number" && Number.isFinite(value) ? String(value) : null;
}

/** How much of what follows the cursor belongs to the token that has begun. */
function rest(typed, after) {
  const ends = { string: /^[\p{L}\p{N}_]*'(?!')/u, quoted: /^[\p{L}\p{N}_]*"(?!")/u, word: /^[\p{L}\p{N}_$]+/u };
  return ends[typed?.kind]?.exec(after)?.[0].length ?? 0;
}

/** While what is typed still looks like this, the proposals stay. */
function same(typed) {
  if (typed?.kind === "string") return /^'(?:[^']|'')*$/;
  if (typed?.kind === "quoted") return /^"(?:[^"]|"")*$/;
  return typed?.kind === "word" ? /^[\p{L}\p{N}_$]+$/u : undefined;
}
