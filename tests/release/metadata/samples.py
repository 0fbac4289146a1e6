"""Releases with something to describe, and text that could break a document."""

from __future__ import annotations

import datetime as dt
from pathlib import Path

import pyarrow as pa

import countveil as cv

# Markup, a script's end, quotes, a bell, a null, a mark that turns text round, a line separator, a
# character that XML has not, one beyond the first plane.
HOSTILE = "<b>&amp;\"'</script>]]>-->\x07\x00\u202etxt\u2028\ufffe\U0001f600 \r\n\t end"
ROWS = 600


def prepared_table() -> pa.Table:
    """A column of each kind; a label is merged, one value is missing."""
    return pa.table(
        {
            "age": [20 + row % 50 for row in range(ROWS)],
            "sex": [1 + row % 2 for row in range(ROWS)],
            "ward": [("north", "south", "east")[row % 3] for row in range(ROWS)],
            "day": [dt.date(2024, 1 + row % 12, 1) for row in range(ROWS)],
            "seen": [dt.datetime(2024, 1, 1 + row % 7, 8) for row in range(ROWS)],  # noqa: DTZ001
            "weight": [1.0 + row % 4 for row in range(ROWS)],
            "smoker": [row % 3 == 0 for row in range(ROWS)],
            "drug": [("a", "b", "c", None, "d")[row % 5] for row in range(ROWS)],
            "CANARY-column": ["CANARY-cell"] * ROWS,
        }
    )


def described_release(folder: Path, **options: object) -> cv.Release:
    """A release with all descriptions, prepared in several ways."""
    given: dict[str, object] = {
        "drop": ["CANARY-column"],
        "keep": ["day", "seen"],
        "bins": {"age": [30, 50]},
        "labels": {"sex": {1: "female", 2: "male"}},
        "merge": {"ward": {"north": "north or south", "south": "north or south"}},
        "weight": "weight",
        "title": "Drugs by ward",
        "contact": "data@example.org",
        "metadata": ("ddi", "croissant", "dcat"),
        "seed": 1,
        **options,
    }
    return cv.publish(prepared_table(), {"drug": 2}, folder, **given)  # type: ignore[arg-type]


def hostile_release(folder: Path) -> cv.Release:
    """Everything that a source may write is hostile: names, values, labels of values."""
    table = pa.table(
        {
            f"plain {HOSTILE}": [f"{row % 2} {HOSTILE}" for row in range(ROWS)],
            "code": [row % 2 for row in range(ROWS)],
            f"drug {HOSTILE}": [f"{row % 4} {HOSTILE}" for row in range(ROWS)],
        }
    )
    return cv.publish(
        table, {f"drug {HOSTILE}": 2}, folder, seed=1, rows_per_file=200,
        labels={"code": {0: f"zero {HOSTILE}", 1: f"one {HOSTILE}"}},
        title="</script><b>&amp;\"' " + "x" * 270, contact="<me@example.org> & 'co'",
        metadata="ddi,croissant,dcat",
    )  # fmt: skip
