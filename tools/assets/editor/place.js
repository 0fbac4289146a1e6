// What may stand at the cursor: a name, or a value of a column.
//
// Enters: the text before the cursor. Leaves: where the word begins that is being typed, and the column that
// it is compared with, if any. Must not know: which columns and values there are.

import { isWord, nameOf, tokens } from "./tokens.js";

const COMPARISONS = new Set(["=", "<>", "!=", "<", ">", "<=", ">="]);
const LITERALS = new Set(["string", "number"]);

/**
 * The place at the end of a text, or null where nothing can be proposed: in comments, and right after a
 * string or a name that is finished. `typed` is the token that has begun, `column` the name compared with,
 * `list` says that only values can follow.
 */
export function placeAtEnd(text) {
  const before = tokens(text);
  const last = before.at(-1);
  let typed = null;
  if (last && last.to === text.length) {
    if (last.kind === "comment" && !last.closed) return null;
    if ((last.kind === "string" || last.kind === "quoted") && last.closed) return null;
    if (["string", "quoted", "word", "number"].includes(last.kind)) typed = before.pop();
  }
  const code = before.filter((token) => token.kind !== "comment");
  const { column = null, list = false } = compared(code) ?? {};
  if (typed?.kind === "string" && column === null) return null;
  return { from: typed?.from ?? text.length, typed, column, list, code };
}

function compared(code) {
  const end = code.length - 1;
  const last = code[end];
  if (last?.kind === "operator" && COMPARISONS.has(last.text)) return column(code, end - 1, false);
  if (isWord(last, "LIKE") || isWord(last, "ILIKE") || isWord(last, "BETWEEN"))
    return column(code, withoutNot(code, end - 1), true);
  if (isWord(last, "AND") && LITERALS.has(code[end - 1]?.kind) && isWord(code[end - 2], "BETWEEN"))
    return column(code, withoutNot(code, end - 3), true);
  return listed(code, end);
}

/** Inside of `column IN (...`, after the parenthesis or a comma. */
function listed(code, end) {
  let at = end;
  while (code[at]?.text === "," && LITERALS.has(code[at - 1]?.kind)) at -= 2;
  if (code[at]?.text !== "(" || !isWord(code[at - 1], "IN")) return null;
  return column(code, withoutNot(code, at - 2), true);
}

function withoutNot(code, at) {
  return isWord(code[at], "NOT") ? at - 1 : at;
}

function column(code, at, list) {
  const name = nameOf(code[at]);
  return name === null ? null : { column: name, list };
}
