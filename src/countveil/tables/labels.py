"""Codes and what they stand for.

Enters: a codebook, and the different values of a column. Leaves: the label of each value.
Must not know: rows, engines.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from countveil.errors import InputError, option
from countveil.release.steps import code_text
from countveil.tables.recode import is_inline, read_pairs


def read_labels(given: Mapping[Any, str] | str | os.PathLike[str]) -> dict[str, str]:
    """What each code stands for: a mapping, its JSON, or a CSV file with lines of code,label."""
    if isinstance(given, Mapping):
        labels, where = {code_text(code): str(label) for code, label in given.items()}, "The labels"
    else:
        labels = read_pairs(given, "a code and its label")
        where = "The labels" if is_inline(given) else os.fspath(given)
    if not labels:
        raise InputError(f"{where}: there are none. Lines of code,label are needed.")
    codes: dict[str, str] = {}
    for code, label in labels.items():
        if label in codes:
            raise InputError(
                f"{where}: the codes {codes[label]!r} and {code!r} share the label {label!r}. To "
                f"make them one value, use {option('merge')}."
            )
        codes[label] = code
    return labels


def labelled(column: str, values: Sequence[Any], labels: Mapping[str, str]) -> list[str | None]:
    """The label of every value; refuse if one has none."""
    without = [value for value in values if value is not None and code_text(value) not in labels]
    if without:
        example = code_text(without[0])[:60]
        raise InputError(
            f"Column {column!r} has {len(without):,} value(s) without a label, such as "
            f"{example!r}. Add them to the codebook, or name what stands for a missing value with "
            f"{option('missing')}."
        )
    return [None if value is None else labels[code_text(value)] for value in values]


def has_all_labels(values: Sequence[Any], labels: Mapping[str, str]) -> bool:
    """Whether every value has a label."""
    return all(value is None or code_text(value) in labels for value in values)
