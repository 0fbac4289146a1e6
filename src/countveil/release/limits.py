"""How large a release may be that is opened: whoever made it may wish to waste our time and memory.

Enters: the text and the content of a manifest, sizes of files. Leaves: nothing, or a `ReleaseError`
that names the limit and the option that raises it. Must not know: where a release lies, how its
files are read. Every limit is far above what a publication needs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from countveil.errors import ReleaseError, SettingsError, option

MANIFEST_BYTES = 32 << 20
# Lists and objects of a manifest, and things in them.
_MOST_BRACKETS, _MOST_COMMAS = 500_000, 4_000_000
_MOST_VALUES, _MOST_COLUMNS, _MOST_FILES, _MOST_ROWS = 500_000, 10_000, 100_000, 10**12
_MOST_LINES, _MOST_CHARACTERS = 2_000, 1_000_000
_MOST_GUARANTEES = 1_000
# Rows are shuffled and values are many: no row takes less than a hundredth of a bit.
_ROWS_PER_BYTE, _FEW_ROWS = 1_000, 1_000_000
# Bytes that data files may unpack to: so many in any case, so often their size, so many by cell.
_UNPACKED, _TIMES_PACKED, _BY_CELL = 64 << 20, 200, 4 << 10
PAGE_BYTES = 128 << 20


def check_larger(larger: float) -> None:
    """Refuse a factor that is none."""
    if isinstance(larger, bool) or not isinstance(larger, int | float) or not larger >= 1:
        raise SettingsError(
            f"{option('larger')} is a number of at least 1: how many times as large as usual a "
            f"release may be."
        )


def check_limit(what: str, number: float, most: float, larger: float) -> None:
    """Refuse more than `most`, times the factor that whoever opens the release allows."""
    if number <= most * larger:
        return
    factor = 10 ** max(1, math.ceil(math.log10(number / most))) if math.isfinite(number) else 10
    raise ReleaseError(
        f"The release is larger than a release should be: it has {number:,} {what}, and "
        f"{most * larger:,.0f} are read. If you trust who made it, {option('larger', factor)} "
        f"allows {factor} times as much."
    )


def check_text(text: str, larger: float) -> None:
    """Refuse a manifest that would fill memory once it is read."""
    check_limit("characters in its manifest", len(text), MANIFEST_BYTES, larger)
    brackets = text.count("[") + text.count("{")
    check_limit("lists and objects in its manifest", brackets, _MOST_BRACKETS, larger)
    check_limit("entries in its manifest", text.count(","), _MOST_COMMAS, larger)


def check_content(content: Mapping[str, Any], larger: float) -> None:
    """Refuse what would take long to read, to ask or to print."""
    entries = [entry for entry in _dict(content, "sensitive").values() if isinstance(entry, dict)]
    values = sum(len(_list(entry, "domain")) for entry in entries)
    guarantees = max((len(_list(entry, "guarantee")) for entry in entries), default=0)
    statement = _list(content, "statement")
    counted = (
        ("values of sensitive columns", values, _MOST_VALUES),
        ("columns", len(_list(content, "columns")), _MOST_COLUMNS),
        ("data files", len(_list(content, "files")), _MOST_FILES),
        ("lines in its statement", len(statement), _MOST_LINES),
        ("characters in its statement", sum(map(_length, statement)), _MOST_CHARACTERS),
        ("lines in a guarantee", guarantees, _MOST_GUARANTEES),
    )
    for what, number, most in counted:
        check_limit(what, number, most, larger)
    rows = content.get("rows")
    if isinstance(rows, int) and rows > _MOST_ROWS:
        raise ReleaseError(f"The manifest cannot be right: more than {_MOST_ROWS:,} rows.")


def check_rows(rows: int, size: int, larger: float) -> None:
    """Refuse more rows than so many bytes can hold: counting them could take for ever."""
    most = max(_FEW_ROWS, size * _ROWS_PER_BYTE)
    check_limit(f"rows in {size:,} bytes", rows, most, larger)


def most_unpacked(rows: int, columns: int, size: int, larger: float) -> int:
    """How many bytes a file of this size may unpack to."""
    by_content = min(size * _TIMES_PACKED, rows * columns * _BY_CELL)
    return int(max(_UNPACKED, by_content) * larger)


def too_much_unpacked(larger: float) -> str:
    """What to say of a file that would unpack to more."""
    factor = max(10, round(larger) * 10)
    return (
        f"would unpack to far more than a release of its size and rows holds. If you trust who "
        f"made it, {option('larger', factor)} allows {factor} times as much"
    )


def _dict(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    part = content.get(name)
    return part if isinstance(part, dict) else {}


def _list(content: Mapping[str, Any], name: str) -> list[Any]:
    part = content.get(name)
    return part if isinstance(part, list) else []


def _length(text: object) -> int:
    return len(text) if isinstance(text, str) else 0
