// The place of an error, underlined, and said to those who do not see it.
//
// Enters: a range in characters, as the server counts them. Leaves: a mark, and aria-invalid on the field.
// Must not know: what is wrong. A mark moves with the text, and goes when its own words are changed.

import { StateEffect, StateField } from "@codemirror/state";
import { Decoration, EditorView } from "@codemirror/view";

/** Effect: {from, to} in characters, or null for no error. */
export const setError = StateEffect.define();

const underline = Decoration.mark({ class: "cm-error-range" });
const NONE = { invalid: false, marks: Decoration.none };

const field = StateField.define({
  create: () => NONE,
  update(error, transaction) {
    const effect = transaction.effects.findLast((one) => one.is(setError));
    if (effect) return effect.value ? placed(effect.value, transaction.newDoc) : NONE;
    if (!transaction.docChanged || !error.invalid) return error;
    return touched(error.marks, transaction.changes)
      ? NONE
      : { invalid: true, marks: error.marks.map(transaction.changes) };
  },
  provide: (self) => [
    EditorView.decorations.from(self, (error) => error.marks),
    EditorView.contentAttributes.from(self, (error) => (error.invalid ? { "aria-invalid": "true" } : {})),
  ],
});

export const errorMark = field;

function placed({ from, to }, doc) {
  const text = doc.toString();
  let [start, end] = [unit(text, from), unit(text, Math.max(from, to))];
  // Where nothing is wrong but something is missing, the word beside it is marked.
  if (start === end) [start, end] = beside(text, start);
  const marks = start < end ? Decoration.set([underline.range(start, end)]) : Decoration.none;
  return { invalid: true, marks };
}

/** The position in the units of a browser's text of a position in characters. */
function unit(text, characters) {
  let at = 0;
  for (let count = 0; count < characters && at < text.length; count++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return at;
}

function beside(text, at) {
  const next = /^\S+/.exec(text.slice(at))?.[0].length ?? 0;
  if (next > 0) return [at, at + next];
  const before = text.slice(0, at);
  const start = before.trimEnd().search(/\S+$/);
  return start < 0 ? [at, at] : [start, before.trimEnd().length];
}

function touched(marks, changes) {
  let found = marks.size === 0;
  marks.between(0, changes.length, (from, to) => {
    found ||= changes.touchesRange(from, to) !== false;
  });
  return found;
}
