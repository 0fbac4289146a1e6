"""How much memory a publication may take, and for what.

Enters: a limit that the publisher set, or none. Leaves: numbers of bytes. Must not know: the table.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from countveil.errors import SettingsError

# Shares of the room for rows: for columns as they were read, for rows between read and write, and
# for one bucket of rows that are shuffled together.
COLUMNS_SHARE, ROWS_SHARE, BUCKET_SHARE = 0.3, 0.45, 1 / 16

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_LEAST = 300 * 10**6
_PROGRAM = 130 * 10**6
_DUCKDB = 50 * 10**6
_SHARE = 0.5
_UNKNOWN = 4 * 10**9


@dataclass(frozen=True, slots=True)
class MemoryShares:
    """Bytes for columns as they were read, for rows between read and write, and for a bucket."""

    columns: int
    rows: int
    bucket: int


def memory_shares(wished: str | int | None, *, with_duckdb: bool = False) -> MemoryShares:
    """What a publication may use. DuckDB itself takes some memory if it is loaded."""
    room = room_for_rows(memory_limit(wished), with_duckdb=with_duckdb)
    shares = (COLUMNS_SHARE, ROWS_SHARE, BUCKET_SHARE)
    return MemoryShares(*(int(share * room) for share in shares))


def memory_limit(wished: str | int | None) -> int:
    """Bytes from a text such as 1GB or 500MB; without one, half of what is free."""
    if wished is None:
        return max(_LEAST, int(_SHARE * _available()))
    size = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(I?)B?\s*", str(wished).upper())
    if size is None:
        raise SettingsError(f"memory must be a size such as 1GB or 500MB, got {str(wished)!r}.")
    unit = _UNITS[size[2]]
    if size[3]:
        unit = 1024 ** round(len(str(unit)) / 3)
    limit = int(float(size[1]) * unit)
    if limit < _LEAST:
        raise SettingsError(
            f"memory must be at least {_LEAST // 10**6}MB, got {str(wished)!r}: the program itself "
            f"takes about half of that."
        )
    return limit


def room_for_rows(limit: int, *, with_duckdb: bool = False) -> int:
    """What is left of a limit for the table, beside the program and its libraries."""
    return max(limit - _PROGRAM - with_duckdb * _DUCKDB, limit // 3)


def _available() -> int:
    """Free memory of the machine, or of the container if it has less."""
    limits = []
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        line = re.search(r"MemAvailable:\s+(\d+) kB", text)
        limits += [int(line[1]) * 1024] if line else []
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        limits += [int(limit) - int(used)] if limit.isdigit() else []
    except (OSError, ValueError):
        pass
    return min(limits, default=_UNKNOWN)
