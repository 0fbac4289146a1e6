"""What a manifest says of columns that were not published with plain groups of different values.

Enters: the entry of a sensitive column, as JSON or as a value. Leaves: the other of the two. Must
not know: what follows from it. It is loaded only where a release has such a column.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from countveil.release.values import decode_value, encode_value


def read_special(entry: Mapping[str, Any], type_name: str, domain: Sequence[Any]) -> dict[str, Any]:
    """The fields of such a column; ValueError says what cannot be right."""
    if not isinstance(entry["common"], list):
        raise TypeError("'common' is not a list")
    common = tuple(decode_value(value, type_name) for value in entry["common"])
    if not common or len(set(common)) < len(common) or not set(common) <= set(domain):
        raise ValueError("common values are not some of the column's values")
    if entry["groups"] != "mixed":
        raise ValueError(f"common values with groups {entry['groups']!r}")
    return {"common": common}


def written_special(common: Sequence[Any]) -> dict[str, Any]:
    """These fields for JSON."""
    return {"common": [encode_value(value) for value in common]}
