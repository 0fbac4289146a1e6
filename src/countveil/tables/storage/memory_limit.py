"""How much memory a publication may take.

Enters: what the publisher said, or nothing. Leaves: a number of bytes. Must not know: the table.
"""

from __future__ import annotations

import re
from pathlib import Path

from countveil.errors import SettingsError

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_LEAST = 300 * 10**6
_PROGRAM = 130 * 10**6
_DUCKDB = 50 * 10**6
_SHARE = 0.5
_UNKNOWN = 4 * 10**9


def memory_limit(wished: str | int | None) -> int:
    """Bytes from a text such as 1GB or 500MB; without one, half of what is free."""
    if wished is None:
        return max(_LEAST, int(_SHARE * _available()))
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?)(I?)B?\s*", str(wished).upper())
    if found is None:
        raise SettingsError(f"memory must be a size such as 1GB or 500MB, got {str(wished)!r}.")
    base = _UNITS[found[2]]
    if found[3]:
        base = 1024 ** round(len(str(base)) / 3)
    size = int(float(found[1]) * base)
    if size < _LEAST:
        raise SettingsError(
            f"memory must be at least {_LEAST // 10**6}MB, got {str(wished)!r}: the program itself "
            f"takes about half of that."
        )
    return size


def room_for_rows(limit: int, *, with_duckdb: bool = False) -> int:
    """What is left of a limit for the table, beside the program and its libraries."""
    return max(limit - _PROGRAM - with_duckdb * _DUCKDB, limit // 3)


def _available() -> int:
    """Free memory of the machine, or of the container if it has less."""
    found = []
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
        line = re.search(r"MemAvailable:\s+(\d+) kB", text)
        found += [int(line[1]) * 1024] if line else []
        limit = Path("/sys/fs/cgroup/memory.max").read_text(encoding="ascii").strip()
        used = Path("/sys/fs/cgroup/memory.current").read_text(encoding="ascii").strip()
        found += [int(limit) - int(used)] if limit.isdigit() else []
    except (OSError, ValueError):
        pass
    return min(found, default=_UNKNOWN)
