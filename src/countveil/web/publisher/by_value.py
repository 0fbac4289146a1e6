"""Values of a column as a person merges and labels them, one by one.

Enters: a draft, the values of a column, which of them were chosen and what was typed. Leaves: rows
for a screen, and the options `merge` and `labels` that say the same. Must not know: pages, how
values are counted.

Labels come first: what is merged are labels, where there are any.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countveil.errors import SettingsError
from countveil.publishing.advise.inspecting.values import ColumnValues, CountedValue
from countveil.tables.recode import is_inline, read_pairs
from countveil.web.publisher.draft import Draft

_LONGEST = 200
_PAIR = "a value and its label"


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One value: how many rows have it, its label, and what it is merged into."""

    place: int
    text: str
    rows: int
    label: str
    into: str


def values_arguments(draft: Draft, name: str) -> dict[str, Any]:
    """The column as it is before labels and merging, where these are given value by value."""
    texts = draft.texts(name)
    aside = {"merge", "domain", *(["labels"] if _is_list(texts.get("labels", "")) else [])}
    kept = {option: {name: text} for option, text in texts.items() if option not in aside}
    return {"table": draft.table, "column": name, "arguments": {**draft.reading, **kept}}


def labels_open(draft: Draft, values: ColumnValues) -> bool:
    """Whether labels can be given one by one: every value is listed, and nothing else names it."""
    texts = draft.texts(values.column)
    return (
        not values.more
        and not values.labelled
        and "levels" not in texts
        and _is_list(texts.get("labels", ""))
    )


def listed_values(draft: Draft, values: ColumnValues) -> Sequence[ValueRow]:
    """Every value with what becomes of it."""
    labels, merges = _lists(draft, values.column)
    return [
        ValueRow(
            place,
            value.text,
            value.rows,
            "" if (label := labels.get(value.code, "")) == value.text else label,
            merges.get(label or value.text, ""),
        )
        for place, value in enumerate(values.values)
    ]


def merged_texts(
    draft: Draft, values: ColumnValues, chosen: Collection[int], into: str, typed: Mapping[int, str]
) -> dict[str, str]:
    """The options after the `chosen` values were merged `into` one; an empty name parts them.

    `typed` are the labels of all values, by place; without any of them labels stay as they are.
    """
    labels, merges = _lists(draft, values.column)
    rows = listed_values(draft, values)
    given = {row.place: typed.get(row.place, row.label) for row in rows}
    for text in (*given.values(), into):
        _check(text)
    joined = {row.place: into if row.place in chosen else row.into for row in rows}
    of_code = {value.code: _label(value, given[place]) for place, value in _placed(values)}
    before = {row.label or row.text for row in rows}
    # What was said of values that the table does not have is kept.
    merges = {value: name for value, name in merges.items() if value not in before}
    for place, value in _placed(values):
        if joined[place]:
            merges[of_code[value.code]] = joined[place]
    texts = draft.texts(values.column)
    changed = {}
    if labels_open(draft, values):
        changed["labels"] = _in_json({**labels, **of_code} if any(given.values()) else {})
    if chosen or _is_list(texts.get("merge", "")):
        changed["merge"] = _in_json(merges)
    return changed


def _placed(values: ColumnValues) -> Sequence[tuple[int, CountedValue]]:
    return list(enumerate(values.values))


def _label(value: CountedValue, label: str) -> str:
    return label or value.text


def _lists(draft: Draft, name: str) -> tuple[dict[str, str], dict[str, str]]:
    """Labels and merges that are given value by value."""
    texts = draft.texts(name)
    labels, merges = texts.get("labels", ""), texts.get("merge", "")
    return (
        read_pairs(labels, _PAIR) if is_inline(labels) else {},
        read_pairs(merges, _PAIR) if is_inline(merges) else {},
    )


def _is_list(text: str) -> bool:
    """Whether nothing was said, or value by value."""
    return not text or is_inline(text)


def _in_json(pairs: Mapping[str, str]) -> str:
    return json.dumps(dict(pairs), ensure_ascii=False) if pairs else ""


def _check(text: str) -> None:
    if len(text) > _LONGEST or not text.isprintable():
        raise SettingsError(
            f"A label has at most {_LONGEST} characters, and none that steers a screen; got "
            f"{len(text):,} characters."
        )
