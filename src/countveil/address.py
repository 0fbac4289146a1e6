"""Where a release lies in a database.

Enters: text such as `postgresql://user@host/db#schema.table` or `duckdb:FILE#table`. Leaves: an
`Address`; None for a folder. Must not know: how a database is reached. A password in an address is
refused, and the refusal does not repeat it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from countveil.errors import SettingsError

POSTGRES, DUCKDB, SQLITE = "postgresql", "duckdb", "sqlite"
_KINDS = re.compile(r"(postgresql|postgres|duckdb|sqlite):", re.IGNORECASE)
FORMS = "postgresql://user@host/database#schema.table, duckdb:FILE#table or sqlite:FILE#table"
MANIFEST_SUFFIX = "_manifest"


@dataclass(frozen=True, slots=True)
class Address:
    """A table in a database. `place` is the URL of a server or the path of a file."""

    kind: str
    place: str
    table: tuple[str, ...]

    @property
    def manifest_table(self) -> tuple[str, ...]:
        """The side table with the manifest."""
        return (*self.table[:-1], self.table[-1] + MANIFEST_SUFFIX)

    def __str__(self) -> str:
        return f"table {'.'.join(self.table)} of {self.place}"


def parse_address(text: str) -> Address | None:
    """The address that a text is; None if it is none of a database."""
    found = _KINDS.match(text)
    if found is None:
        return None
    kind = POSTGRES if found[1].lower().startswith("postgres") else found[1].lower()
    place, mark, table = text.partition("#")
    if kind == POSTGRES:
        if "://" not in place:
            raise SettingsError(f"The address is not readable. It is written {FORMS}.")
        _refuse_password(place)
    else:
        place = place[found.end() :]
    parts = tuple(table.split("."))
    most = 2 if kind == POSTGRES else 1
    if not mark or not all(parts) or len(parts) > most or not place:
        raise SettingsError(f"An address in a database is written {FORMS}.")
    return Address(kind, place, parts)


def refuse_as_folder(folder: Path) -> None:
    """Raise if somebody gave an address where a folder is needed.

    What is wrong with it is not said by repeating it: it may hold a password.
    """
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:(/|.*@)", str(folder)):
        raise SettingsError(
            "A folder on this machine is needed here, and this is an address. Other file systems "
            "are reached with --engine spark (in Python: engine='spark'); 'countveil export FOLDER "
            "--to ADDRESS' puts a release into a database, where 'countveil query ADDRESS' asks it."
        )


def _refuse_password(url: str) -> None:
    try:
        parts = urlsplit(url)
        asked = {name.lower() for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
        secret = ":" in parts.netloc.rpartition("@")[0] or bool(asked & {"password", "sslpassword"})
    except ValueError:
        raise SettingsError(f"The address is not readable. It is written {FORMS}.") from None
    if secret:
        raise SettingsError(
            "The address holds a password, which would be seen in lists of processes and in logs. "
            "Put it into the file .pgpass or the environment (PGPASSWORD) and write the address "
            "without it."
        )
