// The element <sql-editor>: a text area for SQL that becomes an editor where scripts run.
//
//   <sql-editor rows="6" aria-label="Question" data-completions="/columns" data-error-from="12" data-error-to="17">
//     <textarea name="sql">SELECT ...</textarea>
//   </sql-editor>
//
// Enters: a text area, and attributes. Leaves: the same text area, whose value is always what the editor
// shows, with the events `input` (every change) and `change` (when the editor is left, or submits) of a
// person's changes; forms and htmx read it as they read any other. Must not know: what is done with the text.
//
// The editor is in a shadow root. There CodeMirror's styles are style sheets that scripts construct, which a
// policy of `style-src 'self'` allows; in the document they would be inline styles, which it refuses.

import { autocompletion } from "@codemirror/autocomplete";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { bracketMatching, syntaxHighlighting } from "@codemirror/language";
import { Annotation, EditorState, Prec } from "@codemirror/state";
import { EditorView, keymap, placeholder } from "@codemirror/view";
import { closeIfTyped, completionsFrom, fetched } from "./editor/completion.js";
import { dialect } from "./editor/dialect.js";
import { errorMark, setError } from "./editor/errors.js";
import { highlighting, sheet, theme } from "./editor/look.js";

const silent = Annotation.define();

/**
 * What is typed over a selection. A browser would put it in with an inline style, to keep the colour of
 * the words that were there, and the policy of the page refuses such styles.
 */
function typedOver(event, view) {
  const plain = event.inputType === "insertText" && event.data !== null && !view.composing;
  if (!plain || view.state.selection.main.empty || view.state.readOnly) return false;
  event.preventDefault();
  view.dispatch(view.state.replaceSelection(event.data), { userEvent: "input.type", scrollIntoView: true });
  return true;
}

class SqlEditor extends HTMLElement {
  static observedAttributes = ["data-error-from", "data-error-to"];

  #view = null;
  #form = null;
  #committed = "";
  #label = null;

  /** What the editor shows. Setting it fires no event, and can be undone. */
  get value() {
    return this.#view ? this.#view.state.doc.toString() : this.textarea.value;
  }

  set value(text) {
    this.textarea.value = text;
    this.#committed = this.textarea.value;
    if (!this.#view || this.#committed === this.value) return;
    this.#view.dispatch({
      changes: { from: 0, to: this.#view.state.doc.length, insert: this.#committed },
      annotations: silent.of(true),
    });
  }

  /** The text area inside; one is made if there is none. */
  get textarea() {
    const inside = this.querySelector("textarea");
    if (inside) return inside;
    const made = document.createElement("textarea");
    made.name = this.getAttribute("name") ?? "sql";
    return this.appendChild(made);
  }

  focus(options) {
    if (this.#view) this.#view.focus();
    else this.textarea.focus(options);
  }

  connectedCallback() {
    // While a page is read, an element is connected before its children are there.
    if (!this.querySelector("textarea") && document.readyState === "loading")
      document.addEventListener("DOMContentLoaded", () => this.isConnected && this.#open(), { once: true });
    else this.#open();
  }

  disconnectedCallback() {
    this.#listen(null);
    // An element that is moved is connected again at once, and keeps its editor.
    queueMicrotask(() => {
      if (this.isConnected) return;
      this.#view?.destroy();
      this.#view = null;
    });
  }

  attributeChangedCallback() {
    if (this.#view) this.#markError();
  }

  #open() {
    const textarea = this.textarea;
    this.#listen(textarea.form);
    if (this.#view) return;
    this.#committed = textarea.value;
    const shadow = this.shadowRoot ?? this.#shadow();
    this.#view = new EditorView({ parent: shadow, root: shadow, state: this.#state(textarea) });
    this.#view.dom.style.setProperty("--rows", String(this.#rows(textarea)));
    this.#describe(textarea);
    this.#markError();
    if (textarea.autofocus) this.#view.focus();
  }

  #shadow() {
    const shadow = this.attachShadow({ mode: "open" });
    shadow.adoptedStyleSheets = [sheet];
    // What is typed would leave the shadow root as an event of this element, beside that of the text area.
    shadow.addEventListener("input", (event) => event.stopPropagation());
    return shadow;
  }

  #rows(textarea) {
    return Math.max(1, Number.parseInt(this.getAttribute("rows") ?? textarea.rows, 10) || 6);
  }

  #state(textarea) {
    const submit = () => this.#submit();
    const fixed = textarea.readOnly || textarea.disabled;
    return EditorState.create({
      doc: textarea.value,
      extensions: [
        // Tab is not bound: it leaves the editor, like any other field.
        Prec.highest(
          keymap.of([
            { key: "Mod-Enter", run: submit },
            { key: "Ctrl-Enter", run: submit },
            { key: "Enter", run: closeIfTyped },
          ]),
        ),
        keymap.of([...historyKeymap, ...defaultKeymap]),
        history(),
        bracketMatching(),
        dialect.language,
        syntaxHighlighting(highlighting),
        autocompletion({
          override: [completionsFrom(() => this.dataset.completions)],
          icons: false,
          interactionDelay: 0,
        }),
        errorMark,
        placeholder(textarea.placeholder),
        EditorView.lineWrapping,
        EditorView.contentAttributes.of(this.#attributes(textarea)),
        EditorView.updateListener.of((update) => this.#updated(update)),
        EditorView.domEventHandlers({
          beforeinput: typedOver,
          focus: () => void fetched(this.dataset.completions),
          blur: () => void this.#commit(),
        }),
        EditorState.readOnly.of(fixed),
        EditorView.editable.of(!textarea.disabled),
        theme,
      ],
    });
  }

  #attributes(textarea) {
    const labels = [...(textarea.labels ?? [])].map((label) => label.textContent.trim()).join(" ");
    // The label moves inside, or it would be read twice.
    this.#label ??= this.getAttribute("aria-label");
    this.removeAttribute("aria-label");
    const name = this.#label ?? textarea.getAttribute("aria-label") ?? labels;
    const required = textarea.required ? { "aria-required": "true" } : {};
    // A browser cannot ask to fill in a field that it does not show.
    textarea.required = false;
    return { "aria-label": name || "SQL", ...required };
  }

  /** What describes the text area describes the editor: a name in the document means nothing in here. */
  #describe(textarea) {
    const content = this.#view.contentDOM;
    const ids = (textarea.getAttribute("aria-describedby") ?? "").split(/\s+/).filter(Boolean);
    if (ids.length > 0 && "ariaDescribedByElements" in content)
      content.ariaDescribedByElements = ids.map((id) => document.getElementById(id)).filter(Boolean);
    for (const label of textarea.labels ?? [])
      label.addEventListener("click", () => this.#view?.focus());
  }

  #markError() {
    const [from, to] = [this.dataset.errorFrom, this.dataset.errorTo].map((text) => Number.parseInt(text ?? "", 10));
    const range = Number.isNaN(from) ? null : { from, to: Number.isNaN(to) ? from : to };
    this.#view.dispatch({ effects: setError.of(range) });
  }

  #updated(update) {
    if (!update.docChanged) return;
    this.textarea.value = update.state.doc.toString();
    if (update.transactions.some((transaction) => transaction.annotation(silent))) return;
    this.textarea.dispatchEvent(new Event("input", { bubbles: true }));
  }

  #commit() {
    if (this.textarea.value === this.#committed) return;
    this.#committed = this.textarea.value;
    this.textarea.dispatchEvent(new Event("change", { bubbles: true }));
  }

  #submit() {
    this.#commit();
    this.textarea.form?.requestSubmit();
    return true;
  }

  #listen(form) {
    this.#form?.removeEventListener("reset", this.#reset);
    window.removeEventListener("pageshow", this.#restore);
    this.#form = form;
    form?.addEventListener("reset", this.#reset);
    if (this.isConnected) window.addEventListener("pageshow", this.#restore);
  }

  // The fields of a form have their first values after the event.
  #reset = () => queueMicrotask(() => (this.value = this.textarea.defaultValue));

  // A browser may fill in what was there before a page was left.
  #restore = () => (this.value = this.textarea.value);
}

if (!customElements.get("sql-editor")) customElements.define("sql-editor", SqlEditor);
