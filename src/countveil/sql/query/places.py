"""Where in the text of a query a refusal is about.

Enters: a refusal, and the node that was read or the text as a person wrote it. Leaves: the same
refusal with its place, as far as that is known. Must not know: why it was refused. sqlglot notes
where names, literals and functions stand; a query that is rewritten keeps the notes of what it was
made from, and a place that does not fit the text is looked for by its word.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from countveil.errors import QueryError

if TYPE_CHECKING:
    from sqlglot import exp
    from sqlglot.errors import SqlglotError

Place = tuple[int, int]
# What begins and ends by itself: texts, names in quotes, comments.
_WHOLE = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/", re.DOTALL)


def note_place(error: QueryError, node: exp.Expr) -> None:
    """The innermost node that was being read is what a refusal is about."""
    if error.place is not None:
        return
    spans = [_span(node)] if _span(node) else [_span(part) for part in node.walk()]
    known = [span for span in spans if span is not None]
    if known:
        error.place = min(start for start, _ in known), max(end for _, end in known)
        error.word = _word(node)


def located(error: QueryError, text: str) -> QueryError:
    """The refusal with a place in this text, or with none."""
    if error.place is None:
        return error
    start, end = error.place
    if error.word and error.word.lower() not in text[start:end].lower():
        match = re.search(rf"(?<!\w){re.escape(error.word)}(?!\w)", text, re.IGNORECASE)
        error.place = match.span() if match else None
    elif not 0 <= start < end <= len(text):
        error.place = None
    return error


def syntax_place(error: SqlglotError, text: str) -> Place | None:
    """Where a text stops being SQL."""
    details = getattr(error, "errors", None) or [{}]
    word, before = details[0].get("highlight"), details[0].get("start_context") or ""
    if word:
        start = text.find(before + word)
        return None if start < 0 else (start + len(before), start + len(before) + len(word))
    # A text or a name in quotes that does not end.
    blank = _WHOLE.sub(lambda match: " " * len(match[0]), text)
    opened = [place for mark in ("'", '"', "/*") if (place := blank.find(mark)) >= 0]
    return (min(opened), len(text)) if opened else None


def _span(node: exp.Expr) -> Place | None:
    """Where a name, a literal or the name of a function stands."""
    start, end = node.meta.get("start"), node.meta.get("end")
    return None if start is None or end is None else (int(start), int(end) + 1)


def _word(node: exp.Expr) -> str:
    """What stands at the beginning of the node, to find it in another text."""
    from sqlglot import exp

    first = node if _span(node) else next((n for n in node.walk() if _span(n)), node)
    if isinstance(first, exp.Anonymous | exp.Literal | exp.Identifier):
        return str(first.this)
    return str(first.sql_name()) if isinstance(first, exp.Func) else ""
