"""The one grammar of addresses: sources, releases and export targets are all written with it.

    FILE, FOLDER, PATTERN                               files; see `tables/sources.py`
    WORKBOOK.xlsx#sheet                                 a sheet of a workbook
    sqlite:FILE#table                                   a table in a SQLite file
    duckdb:FILE#table, duckdb:FILE#schema.table         a table in a DuckDB file
    postgresql://user@host/database#schema.table        a table on a PostgreSQL server

A name with a dot or another special character is quoted: #"my.table". Enters: a text. Leaves: a
`DatabaseAddress`, or None where the text names no database. Must not know: how anything is read. A
password is refused, and no message repeats a text that may hold one.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

from countveil.errors import (
    PASSWORDS,
    CountveilError,
    InputError,
    SettingsError,
    TargetError,
    option,
)
from countveil.system import offers

POSTGRES, DUCKDB, SQLITE = "postgresql", "duckdb", "sqlite"
DATABASES = (
    "sqlite:FILE#table, duckdb:FILE#schema.table, postgresql://user@host/database#schema.table"
)
_KINDS = {"postgresql": POSTGRES, "postgres": POSTGRES, "duckdb": DUCKDB, "sqlite": SQLITE}
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_URL_OR_LOGIN = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:(/|.*@)")
_SECRETS = frozenset({"password", "sslpassword"})
# A scheme and a name; what follows them before the last @ may be a password.
_LOGIN = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:/{0,2})?[^:]*")
_SECRET_OPTION = re.compile(r"(?:ssl)?password=[^&#]*&?", re.IGNORECASE)
_NAME = r'(?:"(?:[^"]|"")+"|[^".@/:]+)'
_TABLE = re.compile(rf"{_NAME}(?:\.{_NAME})?")
_DEVICE = re.compile(
    r"(CON|PRN|AUX|NUL|CONIN\$|CONOUT\$|(COM|LPT)[0-9¹²³])(\s*\.|$)", re.IGNORECASE
)
# The text itself is not repeated: a password with a special character may be in it.
_UNREADABLE = (
    "The address of the database is not readable. Write "
    "postgresql://user@host:port/database#schema.table, without a password; special characters are "
    "written as %40 and the like."
)


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """A table in a database.

    `place` is the path of a file, or the URL of a server without a password. `table` is its name:
    empty, the table alone, or schema and table.
    """

    kind: str
    place: str
    table: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"table {'.'.join(self.table)} of {self.place}"


def parse_address(text: str, error: type[CountveilError] = SettingsError) -> DatabaseAddress | None:
    """The table in a database that a text names; None if it does not name a database."""
    word, colon, rest = text.partition(":")
    kind = _KINDS.get(word.lower()) if colon else None
    if kind is None:
        return None
    if kind == POSTGRES:
        place, name = _server_and_table(text, error)
    else:
        # The last #, unless it belongs to the name of the file.
        place, mark, name = rest.rpartition("#")
        if not mark or is_there(rest):
            place, name = rest, ""
        if not place:
            raise error(f"No file is named: write {kind}:FILE#table.")
    return DatabaseAddress(kind, place, _parts(name, error))


def is_there(name: str) -> bool:
    """Whether a file has this name; a text that no file can have as its name is none."""
    return os.path.isfile(name)  # noqa: PTH113 - a Path raises where a name is too long


def parse_release_address(text: str) -> DatabaseAddress | None:
    """The table in a database that holds, or is to hold, a release; None for a folder."""
    address = parse_address(text)
    if address is not None and not address.table:
        raise SettingsError(f"No table is named. An address in a database is written {DATABASES}.")
    if address is not None and address.kind == SQLITE and len(address.table) > 1:
        raise SettingsError(
            'SQLite has no schemas: write sqlite:FILE#table, or #"my.table" if the name has a dot.'
        )
    return address


def split_sheet(name: str, endings: tuple[str, ...]) -> tuple[str, str | None]:
    """A workbook and one of its sheets; `endings` are those of workbooks."""
    workbook, mark, sheet = name.rpartition("#")
    if mark and sheet and workbook.lower().endswith(endings) and not is_there(name):
        return workbook, sheet
    return name, None


def quoted_name(parts: tuple[str, ...]) -> str:
    """The name of a table or a column as SQL writes it."""
    return ".".join('"' + part.replace('"', '""') + '"' for part in parts)


def refuse_url(text: str) -> None:
    """Raise if a source is at an address that is reached through Spark only."""
    if _URL.match(text):
        # Not repeated: it may hold a password.
        raise InputError(
            f"Addresses that begin with {text.partition(':')[0].lower()}:// cannot be read here. "
            f"What works: {DATABASES}, or the name of a file; other file systems are reached with "
            f"{option('engine', 'spark')}."
        )


def without_password(text: str) -> str:
    """What was typed as an address, to be shown again: nothing that may be a password is in it."""
    head, mark, rest = text.rpartition("@")
    login = _LOGIN.match(head) if mark else None
    shown = f"{login[0]}@{rest}" if login else text
    return _SECRET_OPTION.sub("", shown)


def refuse_as_folder(folder: Path) -> None:
    """Raise if an address was given where a folder is needed; it is not repeated either."""
    if _URL_OR_LOGIN.match(str(folder)):
        raise SettingsError(
            "A folder on this machine is needed here, and this is an address. Other file systems "
            f"are reached with {option('engine', 'spark')}. A release goes into a database with "
            f"'countveil export' (in Python: cv.export), and is queried there."
        )


def refuse_device_name(path: Path) -> None:
    """Raise if the system takes the last part of a path for a device, or would write another."""
    name = path.name
    if offers.DEVICE_NAMES and (_DEVICE.match(name) or name[-1:] in {".", " "} or ":" in name):
        raise TargetError(
            f"{path} cannot be the name of a folder on this system: {name!r} is that of a device, "
            f"has a colon, or ends with a dot or a space. Name another folder."
        )


def local_path(place: str) -> str:
    """The path of a folder on this machine, also if it was written as file://FOLDER."""
    path = re.sub(r"^file:/+", "/", place)
    # Before the letter of a drive there is no slash.
    return path[1:] if re.match(r"/[A-Za-z]:(/|$)", path) and path != place else path


def relative_path(path: str, folder: str | Path = ".") -> str:
    """A path as seen from a folder, with slashes; whole if there is no way from one to the other.

    Two drives have no such way.
    """
    try:
        return Path(os.path.relpath(path, folder)).as_posix()
    except ValueError:
        return os.path.abspath(path)  # noqa: PTH100 - a pattern is no path


def _server_and_table(text: str, error: type[CountveilError]) -> tuple[str, str]:
    """The URL of the server, and the name of the table."""
    url: SplitResult | None
    try:
        url = urlsplit(text)
        port_is_sound = url.port is None or url.port > 0
        options = {name.lower() for name, _ in parse_qsl(url.query, keep_blank_values=True)}
        has_password = bool(url.password) or bool(options & _SECRETS)
    except ValueError:
        url, port_is_sound, has_password = None, False, False
    if has_password:
        raise error(
            f"The address holds a password, which other users of this machine could see, and which "
            f"would stay in the history of the shell. Leave it out. {PASSWORDS}"
        )
    rest = text.partition("#")[0].partition(":")[2]
    if url is None or not port_is_sound or "@" in url.fragment or not rest.startswith("//"):
        raise error(_UNREADABLE)
    return f"{POSTGRES}:{rest}", unquote(url.fragment)


def _parts(name: str, error: type[CountveilError]) -> tuple[str, ...]:
    if not name:
        return ()
    if _TABLE.fullmatch(name) is None:
        raise error(
            "The table after # is not readable. It is written #table or #schema.table, and a name "
            'with a dot or another special character in double quotes: #"my.table".'
        )
    return tuple(
        part[1:-1].replace('""', '"') if part[0] == '"' else part
        for part in re.findall(_NAME, name)
    )
