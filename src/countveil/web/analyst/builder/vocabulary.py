"""What the builder's templates need to know.

Enters: nothing. Leaves: words and functions by the names that templates use. Must not know: any
question.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup, escape

from countveil.web.analyst.builder.built import (
    COMPARISONS,
    MEASURES,
    NONE,
    NUMBERS,
    PERIODS,
    SEVERAL,
    TWO,
)
from countveil.web.analyst.builder.fields import MOST_CONDITIONS, MOST_GROUPS, fits, steps_of


def source(text: str) -> Markup:
    """A text that comes back as it went out: escaped, and with nothing made visible in it."""
    return escape(str(text))


def shortened(text: str) -> str:
    """A question on one line."""
    line = " ".join(text.split())
    return line if len(line) <= 120 else line[:119] + "…"


VOCABULARY: Mapping[str, Any] = {
    "measures": MEASURES,
    "number_measures": NUMBERS,
    "comparisons": COMPARISONS,
    "comparisons_with_none": NONE,
    "comparisons_with_two": TWO,
    "comparisons_with_several": SEVERAL,
    "periods": PERIODS,
    "most_groups": MOST_GROUPS,
    "most_conditions": MOST_CONDITIONS,
    "fits": fits,
    "steps_of": steps_of,
    "source": source,
    "shortened": shortened,
    "oob_builder": False,
    "oob_sql": False,
}
