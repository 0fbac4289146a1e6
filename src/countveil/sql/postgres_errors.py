"""Why a PostgreSQL server refused, in a sentence of ours.

Enters: an error of the server or of its library. Leaves: one sentence or two. Must not know: what
was asked. What they say themselves is never repeated: it may quote the address, or a value.
"""

from __future__ import annotations

import re

from countveil.errors import PASSWORDS

_CAUSES = (
    ("password authentication failed", f"the server does not accept the password. {PASSWORDS}"),
    ("no password supplied", f"the server asks for a password. {PASSWORDS}"),
    ("authentication failed", "the server does not let this user in."),
    ("could not translate host name", "there is no such host."),
    ("connection refused", "nothing answers there. Is the server running, and is the port right?"),
    ("no such file or directory", "no server listens at this socket. Is it running?"),
    ('" does not exist', "there is no such database or user on the server."),
    ("timeout", "the server does not answer in time."),
    # Errors in the midst of the rows come without their state.
    ("read-only transaction", "the query would write; it may only read."),
    ("invalid input syntax", "a value cannot become the type that the query asks for."),
    ("division by zero", "the query divides by zero."),
    ("invalid", "the address is not readable: postgresql://user@host:port/database#schema.table."),
)
_STATES = {
    "3D000": "there is no such database or user on the server.",
    "28000": "the server does not let this user in.",
    "28P01": f"the server does not accept the password. {PASSWORDS}",
    "42P01": "there is no such table; a schema may be needed: #schema.table.",
    "3F000": "there is no such schema.",
    "42703": "the query names a column that does not exist.",
    "42601": "the query is not correct SQL.",
    "42501": "this user may not read the table.",
    "25006": "the query would write; it may only read.",
    "57014": "the server stopped the query, for a time limit perhaps.",
    "22P02": "a value cannot become the type that the query asks for.",
    "22012": "the query divides by zero.",
}


def postgres_reason(error: Exception) -> str:
    """What went wrong, by the state that the server gives, or else by its text."""
    said = str(error).lower()
    match = re.search(r"sqlstate: ?([0-9a-z]{5})", said)
    state = (match[1] if match else str(getattr(error, "sqlstate", "") or "")).upper()
    known = re.fullmatch(r"[0-9A-Z]{5}", state) is not None and state != "00000"
    why = _STATES.get(state)
    if why is None and not known:
        why = next((cause for mark, cause in _CAUSES if mark in said), None)
    if why is None:
        code = f" (SQLSTATE {state})" if known else ""
        why = f"the server refused{code}, or a value fits no type of Arrow."
    return why
