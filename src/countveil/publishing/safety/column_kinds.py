"""A column at a glance: a little histogram, and guesses from names and values.

Enters: counts, numbers, names, some values. Leaves: eight characters, or a guess. Must not know:
other columns, files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.publishing.safety.identifiers import words_of

_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 8
_MISSING_MARKS = {
    "na", "n/a", "n.a.", "nan", "null", "none", "?", "-", "--", ".", "missing", "unknown", "nil",
    "#n/a",
}  # fmt: skip
_SENSITIVE = {
    "diagnosis", "diagnoses", "disease", "illness", "icd", "icd9", "icd10", "condition", "hiv",
    "health", "disability", "medication", "drug", "procedure", "treatment", "symptom", "income",
    "salary", "wage", "wages", "pay", "earnings", "debt", "wealth", "religion", "faith", "belief",
    "occupation", "job", "profession", "employer", "party", "vote", "orientation", "ethnicity",
    "crime", "offence", "offense", "verdict", "benefit", "benefits", "grade", "score",
}  # fmt: skip


def little_histogram(counts: NDArray[np.int64], numbers: NDArray[np.float64] | None) -> str:
    """Bars: numbers by their size, from the first to the last percent; else the largest counts."""
    if not counts.size:
        return ""
    if numbers is not None and numbers.size > _WIDTH:
        heights = _by_size(counts, numbers)
    else:
        heights = counts if numbers is not None else np.sort(counts)[::-1][:_WIDTH]
    top = int(heights.max(initial=1))
    return "".join(_BARS[int(height) * (len(_BARS) - 1) // top] for height in heights)


def _by_size(counts: NDArray[np.int64], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    finite = np.isfinite(numbers)
    numbers, counts = numbers[finite], counts[finite]
    if not numbers.size:
        return counts
    reached = np.cumsum(counts) / counts.sum()
    low, high = numbers[np.searchsorted(reached, [0.01, 0.99])]
    if high <= low:
        return counts[:_WIDTH]
    place = np.clip(((numbers - low) / (high - low) * _WIDTH).astype(int), 0, _WIDTH - 1)
    return np.bincount(place, counts, minlength=_WIDTH).astype(np.int64)


def looks_missing(examples: Sequence[Any]) -> list[str]:
    """Texts among the values that often stand for a missing one."""
    return [v for v in examples if isinstance(v, str) and v.strip().lower() in _MISSING_MARKS]


def sounds_sensitive(name: str) -> bool:
    """Whether a column of this name is usually one that people want to keep to themselves."""
    return bool(_SENSITIVE & set(words_of(name)))
