"""How far off answers from a release are, measured by the publisher, who knows the truth.

Enters: the prepared table and the data files written from it. Leaves: for one protected column true
counts of random predicates, their estimates by the default method, and intervals. Must not know:
where the release goes, how a page looks. Its results are for the publisher only.

The rows of a release are in random order, so rows are matched with predicates by value: every
column is coded by the values of the table, in the table and in the files.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.local.release_rows import StoredColumn, stored_columns
from countveil.engines.local_table import LocalTable
from countveil.errors import InputError
from countveil.maths.channel import view_of_release
from countveil.maths.estimate import shrunk_counts, unbiased_counts
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.mechanism import PublishedTable
from countveil.publishing.advise.predicates import askable, find_predicates
from countveil.publishing.prepare import LocalPreparedTable
from countveil.randomness import Randomness, Stream
from countveil.release.values import BOOLEAN, TEXT, kind_of
from countveil.report.private_page import MeasuredAnswers, PrivateColumn
from countveil.tables.encoded.survey import Histogram

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

LEVEL = 0.95
# Codes of the table and of the files in memory at once, and how many questions are asked.
_MOST_CODES, _MOST_COLUMNS, _MOST_VALUES = 60_000_000, 6, 1_000
_CELLS, _MOST_PREDICATES, _LEAST_PREDICATES = 30_000, 400, 20
_SAMPLED_ROWS = 20_000


def measured_columns(
    prepared: LocalPreparedTable,
    settings: Mapping[str, ColumnSettings],
    counted: Mapping[str, tuple[Histogram, PublishedTable]],
    without: Codes,
    written: Sequence[Path],
    randomness: Randomness,
) -> list[PrivateColumn]:
    """Every protected column as its publisher knows it, measured in the files that were written."""
    measuring = Measuring(prepared, without, written)
    columns = []
    for name, choice in settings.items():
        histogram, drawn = counted[name]
        pairs = zip(histogram.counts.tolist(), drawn.published().tolist(), strict=True)
        columns.append(
            PrivateColumn(
                name,
                choice.ell,
                largest_ell(histogram.counts),
                dict(zip(histogram.values, pairs, strict=True)),
                measuring.measure(name, choice.ell, choice.groups, randomness.stream("ask", name)),
            )
        )
    return columns


class Measuring:
    """The table and its release side by side, as codes."""

    def __init__(
        self, prepared: LocalPreparedTable, without: Codes, written: Sequence[Path]
    ) -> None:
        self._source, self._without, self._written = prepared.source, without, written
        self._rows = prepared.source.rows - without.size
        kinds = {column.name: kind_of(column.type) for column in prepared.roles.published}
        plain = [name for name in kinds if name not in prepared.roles.sensitive]
        most = min(_MOST_COLUMNS, _MOST_CODES // (2 * max(1, self._rows)) - 1)
        self._plain = self._coded(_few_valued(self._source, plain)[: max(0, most)])
        self._ordered = frozenset(n for n in self._plain if kinds[n] not in (TEXT, BOOLEAN))

    def measure(self, name: str, ell: int, groups: str, stream: Stream) -> MeasuredAnswers | None:
        """Random predicates on one protected column; None if no other column can be used."""
        values = len(self._source.histogram(name).values)
        number = max(_LEAST_PREDICATES, min(_MOST_PREDICATES, _CELLS // max(values, 1)))
        predicates = find_predicates(askable(self._plain, self._ordered), number, stream)
        if not predicates:
            return None
        codes = self._coded([name])[name]
        # The rows of the table come first, then those of the release.
        true = _tallies(codes, [rows[rows < self._rows] for rows in predicates], values)
        shown = _tallies(codes, [rows[rows >= self._rows] for rows in predicates], values)
        published = np.bincount(codes[self._rows :], minlength=values)
        view = view_of_release(published, self._rows, ell, groups)
        interval = unbiased_counts(shown, shown.sum(axis=1), view, LEVEL)
        estimate = np.clip(shrunk_counts(shown, [view]), interval.low, interval.high)
        return MeasuredAnswers(true, estimate, interval.low, interval.high, len(predicates))

    def _coded(self, names: Sequence[str]) -> dict[str, Codes]:
        """The rows of the table, then those of the release, as positions of the table's values."""
        stored: Mapping[str, StoredColumn] = stored_columns(
            self._written[0].parent, [path.name for path in self._written], names
        )
        codes = {}
        for name, column in stored.items():
            places = {
                _key(value): place
                for place, value in enumerate(self._source.histogram(name).values)
            }
            translated = np.array([places[_key(value)] for value in column.values], np.int64)
            true = np.delete(self._source.codes(name), self._without)
            codes[name] = np.concatenate([true, translated[column.codes]])
        return codes


def _few_valued(source: LocalTable, names: Sequence[str]) -> list[str]:
    """The columns with few enough values to be matched by value."""
    columns = []
    for name, coded in source.sample(_SAMPLED_ROWS, names).items():
        if coded.distinct > _MOST_VALUES:
            continue
        try:
            source.histogram(name)
        except InputError:
            # Its values cannot be given exactly.
            continue
        columns.append(name)
    return columns


def _tallies(codes: Codes, predicates: Sequence[Codes], values: int) -> Floats:
    return np.array([np.bincount(codes[rows], minlength=values) for rows in predicates], np.float64)


def _key(value: Any) -> Any:
    """A value that compares as equal to itself, NaN too."""
    return ("not a number",) if isinstance(value, float) and math.isnan(value) else value
