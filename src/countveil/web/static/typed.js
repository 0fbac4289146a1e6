// What a person types while a page is being drawn anew is not lost.
// Enters: swaps of htmx. Leaves: the same fields, with what was typed since the request was sent, or
// was typed into a form that was not sent. Must not know: any form.
"use strict";

(() => {
  const FIELDS = "input[id]:not([type=hidden]):not([type=range]):not([type=radio]), textarea[id]";
  const sent = new WeakMap();
  const followed = new Set();
  let drawing = null;

  const isBox = (field) => field.type === "checkbox";
  const valueOf = (field) => (isBox(field) ? field.checked : field.value);
  const drawnValueOf = (field) => (isBox(field) ? field.defaultChecked : field.defaultValue);

  function changedSince(field, request) {
    const before = request.values.get(field.id);
    return valueOf(field) !== (before === undefined ? drawnValueOf(field) : before);
  }

  // In a form that was not sent, what differs from how it was drawn was typed.
  function isUnsent(field, request) {
    return field.form !== request.form && valueOf(field) !== drawnValueOf(field);
  }

  function noted(field, request) {
    const isFocused = document.activeElement === field;
    const hasCaret = isFocused && !isBox(field) && field.selectionStart !== null;
    return {
      id: field.id, type: field.type, value: valueOf(field), isFocused,
      caret: hasCaret ? [field.selectionStart, field.selectionEnd] : null,
      isNew: changedSince(field, request),
    };
  }

  function restore(note) {
    const field = document.getElementById(note.id);
    if (!field || field.type !== note.type) return;
    if (isBox(field)) field.checked = note.value; else field.value = note.value;
    const fold = field.closest("details");
    if (fold) fold.open = true;
    if (note.isFocused) field.focus({ preventScroll: true });
    if (note.caret) field.setSelectionRange(...note.caret);
    if (note.isNew) followed.add(note.id);
  }

  document.addEventListener("htmx:beforeSend", ({ detail }) => {
    const values = new Map();
    for (const field of document.querySelectorAll(FIELDS)) values.set(field.id, valueOf(field));
    sent.set(detail.xhr, { values, form: detail.elt.closest("form") });
  });

  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    const request = sent.get(detail.xhr);
    drawing = null;
    if (!request || !detail.target) return;
    const fields = [...detail.target.querySelectorAll(FIELDS)];
    const typed = fields.filter((field) => changedSince(field, request) || isUnsent(field, request));
    drawing = { request, notes: typed.map((field) => noted(field, request)) };
  });

  // A text that was changed since is newer than the one that comes for it.
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const fields = [...event.detail.target.querySelectorAll(FIELDS)];
    if (drawing && fields.some((field) => changedSince(field, drawing.request))) {
      event.detail.shouldSwap = false;
    }
  });

  document.addEventListener("htmx:afterSwap", () => {
    const notes = drawing ? drawing.notes : [];
    drawing = null;
    notes.forEach(restore);
  });

  // What follows a field follows what was typed into it, too, as soon as the page can.
  document.addEventListener("htmx:afterSettle", () => {
    const ids = [...followed];
    followed.clear();
    for (const id of ids) {
      document.getElementById(id)?.dispatchEvent(new Event("change", { bubbles: true }));
    }
  });
})();
