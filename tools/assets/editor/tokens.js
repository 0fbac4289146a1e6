// The words of a text of SQL up to the cursor.
//
// Enters: text. Leaves: its tokens, with comments. Must not know: which columns there are. CodeMirror's own
// tree is made for colours; what stands before the cursor is simpler to see in a list, and unfinished strings
// are the rule here, not an error.

const KINDS = [
  ["space", /\s+/y],
  ["comment", /--[^\n]*|\/\*[^]*?(?:\*\/|$)/y],
  ["string", /'(?:[^']|'')*'?/y],
  ["quoted", /"(?:[^"]|"")*"?/y],
  ["word", /[\p{L}_][\p{L}\p{N}_$]*/uy],
  ["number", /\d[\p{L}\p{N}_.]*/uy],
  ["operator", /<>|!=|<=|>=|\|\||[=<>+\-*/%]/y],
  ["mark", /[^]/uy],
];

/** The tokens of a text: kind, text, from and to, and whether a string or a comment has its end. */
export function tokens(text) {
  const found = [];
  for (let at = 0; at < text.length; ) {
    const [kind, part] = next(text, at);
    if (kind !== "space") found.push({ kind, text: part, from: at, to: at + part.length, closed: closed(kind, part) });
    at += part.length;
  }
  return found;
}

function next(text, at) {
  for (const [kind, pattern] of KINDS) {
    pattern.lastIndex = at;
    const match = pattern.exec(text);
    if (match) return [kind, match[0]];
  }
  throw new Error("Every character is a mark, if nothing else.");
}

function closed(kind, part) {
  if (kind === "comment") return part.startsWith("/*") && part.length > 3 && part.endsWith("*/");
  // One quote begins it and two are one inside, so it has its end if their number is even.
  if (kind === "string" || kind === "quoted") return part.split(part[0]).length % 2 === 1;
  return true;
}

/** The name that a token is, without its quotes; null for anything else. */
export function nameOf(token) {
  if (token?.kind === "word") return token.text;
  if (token?.kind === "quoted" && token.closed) return token.text.slice(1, -1).replaceAll('""', '"');
  return null;
}

/** Whether a token is this word, in any case. */
export function isWord(token, word) {
  return token?.kind === "word" && token.text.toUpperCase() === word;
}
