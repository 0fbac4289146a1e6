"""Codes replaced by coarser ones: a prefix, a level of a hierarchy, one label for all rare values.

Enters: what the publisher wrote (`prefix:3`, `FILE:LEVEL`, `rare:50`), and the distinct values of a
column with their counts. Leaves: the new value of each, and which values were merged. Must not
know: rows, engines. The list of merged values is for the publisher alone: it names values that
occur.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countveil.errors import InputError, SettingsError, option
from countveil.release.steps import code_text
from countveil.tables.recode import lines_of, value_text

FileName = str | os.PathLike[str]
_PREFIX = re.compile(r"\s*prefix\s*:\s*([0-9]{1,4})\s*", re.IGNORECASE)
_LIKE_RARE = re.compile(r"\s*rare\s*:", re.IGNORECASE)
_RARE = re.compile(r"\s*rare\s*:\s*([0-9]{1,12})\s*(?::\s*(.*\S)\s*)?", re.IGNORECASE | re.DOTALL)
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class Level:
    """A level of a hierarchy: its name, and the label of each value there."""

    name: str
    labels: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class RareMerge:
    """Values with fewer than `below` rows get one label."""

    below: int
    label: str = _OTHER

    @classmethod
    def parse(cls, text: str) -> RareMerge | None:
        """Read `rare:50` or `rare:50:LABEL`; None if the text is something else."""
        match = _RARE.fullmatch(text)
        if match is None:
            if _LIKE_RARE.match(text) and not Path(text).exists():
                raise SettingsError(
                    f"Rare values are merged with rare:N, such as rare:50: those with fewer than N "
                    f"rows; or rare:N:LABEL. Got {text[:60]!r}."
                )
            return None
        below = int(match[1])
        if below < 2:
            raise SettingsError(f"{text!r}: a rare value has fewer rows than a number from 2 on.")
        return cls(below, match[2] or _OTHER)


@dataclass(frozen=True, slots=True)
class MergedValues:
    """The rare values of a column that were given one label.

    Attributes:
        column: The column.
        rare: Below which count a value is rare, and the label.
        rows: The rows of each value, most rows first.
    """

    column: str
    rare: RareMerge
    rows: Mapping[str, int]

    def sentence(self, most: int = 20) -> str:
        """For the publisher alone: which values these are.

        Args:
            most: How many values to name.

        Returns:
            A sentence.
        """
        if not self.rows:
            return (
                f"No value of column {self.column!r} has fewer than {self.rare.below:,} rows, so "
                f"nothing was merged."
            )
        named = [f"{value!r} ({rows:,})" for value, rows in list(self.rows.items())[:most]]
        left = len(self.rows) - len(named)
        more = f" and {left:,} more" if left > 0 else ""
        total = sum(self.rows.values())
        sentence = (
            f"{len(self.rows):,} value(s) of column {self.column!r} with fewer than "
            f"{self.rare.below:,} rows each, {total:,} rows together, were merged into "
            f"{self.rare.label!r}: {', '.join(named)}{more}."
        )
        if total >= self.rare.below:
            return sentence
        return (
            f"{sentence} Together they still have fewer than {self.rare.below:,} rows; a larger "
            f"number merges more values."
        )


def read_levels(column: str, given: object) -> int | Level:
    """The length of a prefix, or a level of a hierarchy: a file and the name or number of a column.

    The file has lines of value,level1,level2,... with or without a header.
    """
    if isinstance(given, Level):
        return given
    if isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        file, level = given
        return _read_level(Path(file), str(level))
    text = os.fspath(given) if isinstance(given, os.PathLike) else str(given)
    match = _PREFIX.fullmatch(text)
    if match is not None:
        if int(match[1]) < 1:
            raise SettingsError(
                f"{option('levels', {column: text})}: a prefix has at least one character."
            )
        return int(match[1])
    file, mark, level = text.rpartition(":")
    no_length = file.strip().lower() == "prefix" and not Path(file).exists()
    if not mark or not file or not level or no_length:
        raise SettingsError(
            f"The levels of column {column!r} are written as prefix:3, or as FILE:LEVEL for a CSV "
            f"file with lines of value,level1,level2,...; got {text[:60]!r}."
        )
    return _read_level(Path(file), level)


def at_level(column: str, values: Sequence[Any], level: Level) -> list[str | None]:
    """The label of every value at the level; refuse if one has none."""
    texts = [None if value is None else code_text(value) for value in values]
    without = sum(text is not None and text not in level.labels for text in texts)
    if without:
        raise InputError(
            f"Column {column!r} has {without:,} value(s) that the hierarchy does not list. Add "
            f"them to it, or name what stands for a missing value with {option('missing')}."
        )
    return [None if text is None else level.labels[text] for text in texts]


def merge_rare(
    column: str, values: Sequence[Any], counts: Sequence[int], rare: RareMerge
) -> tuple[list[str | None], MergedValues]:
    """The new value of each, and which were merged; a missing value is never merged."""
    texts = [None if value is None else value_text(value) for value in values]
    few = {
        text: int(count)
        for text, count in zip(texts, counts, strict=True)
        if text is not None and count < rare.below
    }
    if few and rare.label in texts and rare.label not in few:
        raise SettingsError(
            f"Column {column!r} has a value {rare.label!r} already, with {rare.below:,} rows or "
            f"more. Choose another label: {option('merge', {column: f'rare:{rare.below}:LABEL'})}."
        )
    merged = [rare.label if text in few else text for text in texts]
    ordered = dict(sorted(few.items(), key=lambda item: (-item[1], item[0])))
    return merged, MergedValues(column, rare, ordered)


def _read_level(path: Path, level: str) -> Level:
    rows = lines_of(path, headers=())
    if not rows:
        raise InputError(f"{path} has no lines of value,level1,level2,...")
    header = [cell.strip() for cell in rows[0][1]]
    has_header = header[0].lower() in ("value", "code") or level in header[1:]
    place, name = _place(path, level, header if has_header else None)
    labels: dict[str, str] = {}
    for number, row in rows[has_header:]:
        label = row[place].strip() if place < len(row) else ""
        if not label:
            raise InputError(f"{path}, line {number}: the value has no label at level {name!r}.")
        if labels.get(row[0], label) != label:
            raise InputError(f"{path}, line {number}: the value {row[0]!r} has two labels.")
        labels[row[0]] = label
    if not labels:
        raise InputError(f"{path} has a header and no values.")
    return Level(name, labels)


def _place(path: Path, level: str, header: Sequence[str] | None) -> tuple[int, str]:
    """The place of a level among the cells of a line, and its name."""
    if header is not None and level in header[1:]:
        return header.index(level, 1), level
    if re.fullmatch(r"[1-9][0-9]{0,3}", level):
        number = int(level)
        named = header[number] if header is not None and number < len(header) else f"level {number}"
        return number, named
    known = ", ".join(map(repr, header[1:])) if header else "1, 2, ..."
    raise SettingsError(f"{path} has no level {level[:40]!r}. Available: {known}.")
