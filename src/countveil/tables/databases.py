"""A table in a database: which one, and where in it.

Enters: a text such as `sqlite:FILE#table` or `postgresql://user@host/db#schema.table`, and perhaps
a query. Leaves: a `DatabaseSource`. Must not know: how it is read. A password in the text is
refused, and no message repeats a text that may hold one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit

from countveil.errors import PASSWORDS, InputError, SettingsError

_FILES = ("sqlite", "duckdb")
_SERVERS = ("postgresql", "postgres")
_SECRETS = ("password", "sslpassword")
_NAME = r'(?:"(?:[^"]|"")+"|[^".@/:]+)'
DATABASES = "sqlite:FILE#table, duckdb:FILE#table, postgresql://user@host/database#schema.table"
# The text itself is not repeated: it may be a password with a special character.
UNREADABLE = (
    "The address of the database is not readable. Write "
    "postgresql://user@host:port/database#schema.table, without a password; special characters are "
    "written as %40 and the like."
)


@dataclass(frozen=True, slots=True)
class DatabaseSource:
    """A table or the result of a query. `place` is a file, or an address without password.

    `table` is the parts of its name: one, or a schema and one; without it and without `query` the
    database has to have a single table.
    """

    kind: str
    place: str
    table: tuple[str, ...] = ()
    query: str | None = None


def describe_database(text: str, query: str | None) -> DatabaseSource | None:
    """The database that a text names; None if it names none."""
    kind, colon, rest = text.partition(":")
    kind = kind.lower()
    if not colon or kind not in (*_FILES, *_SERVERS):
        if re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", text):
            # Not repeated: it may hold a password.
            raise InputError(
                f"Addresses that begin with {kind}:// cannot be read here. What works: "
                f"{DATABASES}, or the name of a file; other file systems are reached with "
                f"--engine spark."
            )
        return None
    if kind in _SERVERS and not rest.startswith("//"):
        raise InputError(UNREADABLE)
    if kind in _FILES:
        # The last one, unless that is part of the file's name.
        place, mark, name = rest.rpartition("#")
        if not mark or Path(rest).is_file():
            place, name = rest, ""
        if not place:
            raise InputError(f"No file is named: write {kind}:FILE#table.")
    else:
        place, name = _address(text)
    if query is not None and name:
        raise SettingsError(
            "Both a table (behind #) and --query are given; leave one of them away."
        )
    table = _parts(name)
    # It becomes part of a larger statement, in which a semicolon at its end cannot stand.
    query = None if query is None else query.rstrip().rstrip(";")
    return DatabaseSource("postgresql" if kind in _SERVERS else kind, place, table, query)


def quoted_name(parts: tuple[str, ...]) -> str:
    """A name in SQL."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def _address(text: str) -> tuple[str, str]:
    """The address without the table's name, and the name."""
    try:
        found = urlsplit(text)
        port_is_sound = found.port is None or found.port > 0
        secret = found.password
        options = parse_qsl(found.query, keep_blank_values=True)
    except ValueError:
        port_is_sound, secret, options = False, None, []
        found = None
    if secret or any(name.lower() in _SECRETS for name, _ in options):
        raise InputError(
            f"The address holds a password, which other users of this machine could see, and which "
            f"would stay in the history of the shell. Leave it away. {PASSWORDS}"
        )
    if found is None or not port_is_sound or "@" in found.fragment:
        raise InputError(UNREADABLE)
    place = text.partition("#")[0].partition(":")[2]
    return f"postgresql:{place}", unquote(found.fragment)


def _parts(name: str) -> tuple[str, ...]:
    if not name:
        return ()
    if re.fullmatch(rf"{_NAME}(?:\.{_NAME})?", name) is None:
        raise InputError(
            "The table behind # is not readable. Write #table or #schema.table; a name with a "
            'point or the like stands in double quotes: #"my.table".'
        )
    return tuple(
        part[1:-1].replace('""', '"') if part[0] == '"' else part
        for part in re.findall(_NAME, name)
    )
