"""How far off answers from a release are, and how exposed people are, measured by the publisher.

Enters: the prepared table, which is the truth, and the data files written from it. Leaves: for one
protected column true counts of random predicates with their estimates and intervals, and the
exposure of people with the plain profiles of the most exposed. Must not know: where the release
goes, how a page looks. Its results are for the publisher only.

The rows of a release are in random order, so rows are matched with predicates and people by value:
every column is coded by the values of the table, in the table and in the files.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.drawn import DrawnTogether
from countveil.engines.local.release_rows import StoredColumn, stored_columns
from countveil.engines.local_table import LocalTable
from countveil.errors import InputError
from countveil.maths.adversary import Exposure, Linked, measure_exposure, published_chances
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT
from countveil.maths.estimate import shrunk_counts, unbiased_counts
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.mechanism import PublishedTable
from countveil.publishing.advise.predicates import askable, find_predicates
from countveil.publishing.prepare import LocalPreparedTable
from countveil.publishing.profiles import ProfiledColumn, profiles_of
from countveil.randomness import Randomness, Stream
from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, TEXT, kind_of
from countveil.report.exposure import MeasuredExposure, Profile
from countveil.report.private_page import MeasuredAnswers, PrivateColumn
from countveil.tables.encoded.survey import Histogram

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]
# The channel of a column from its published histogram and the number of rows.
SeenAs = Callable[[Codes, int], ChannelView]

LEVEL = 0.95
# Codes of the table and of the files in memory at once, and how many questions are asked.
_MOST_CODES, _MOST_COLUMNS, _MOST_VALUES = 60_000_000, 6, 1_000
_CELLS, _MOST_PREDICATES, _LEAST_PREDICATES = 30_000, 400, 20
_SAMPLED_ROWS = 20_000
_PROFILE_COLUMNS = 3
# Of columns together: so many answers to each predicate.
_MOST_COMBINATIONS = 20_000


@dataclass(frozen=True)
class ReleaseFiles:
    """Data files of a release, in `folder`; what is not Parquet needs all `published` columns."""

    folder: Path
    names: Sequence[str]
    rows: int
    published: Sequence[PublishedColumn] = ()

    def columns(self, names: Sequence[str]) -> dict[str, StoredColumn]:
        """These columns in the stored order."""
        return stored_columns(self.folder, self.names, names, self.published)


def measured_columns(
    prepared: LocalPreparedTable,
    settings: Mapping[str, ColumnSettings],
    counted: Mapping[str, tuple[Histogram, PublishedTable]],
    without: Codes,
    written: Sequence[Path],
    randomness: Randomness,
    common: Mapping[str, tuple[int, ...]],
    gammas: Mapping[str, float],
    together: Sequence[DrawnTogether] = (),
) -> list[PrivateColumn]:
    """Every protected column as its publisher knows it, measured in the files that were written.

    `common` has the positions of common values, `gammas` the noise of columns with any. Columns
    that are published together are measured as one, too, and come first.
    """
    rows = int(next(iter(counted.values()))[0].counts.sum())
    files = ReleaseFiles(written[0].parent, [path.name for path in written], rows)
    measuring = Measuring(prepared, files, without)
    columns = [
        _joined(joint, settings[joint.columns[0]].ell, counted, measuring, randomness)
        for joint in together
    ]
    for name, choice in settings.items():
        histogram, drawn = counted[name]
        noise = (gammas[name], histogram.counts.size) if name in gammas else None
        pairs = zip(histogram.counts.tolist(), drawn.published().tolist(), strict=True)
        seen = partial(
            view_of_release,
            ell=choice.ell,
            groups=choice.groups,
            common=common.get(name, ()),
            noise=noise,
        )
        columns.append(
            PrivateColumn(
                name,
                choice.ell,
                largest_ell(histogram.counts),
                dict(zip(histogram.values, pairs, strict=True)),
                measuring.answers(name, seen, randomness.stream("ask", name)),
                measuring.exposure(name, seen, randomness.stream("exposure", name)),
                choice.groups,
                kept_chances(histogram, seen, common.get(name, ())),
                noise,
            )
        )
    return columns


def _joined(
    joint: DrawnTogether,
    ell: int,
    counted: Mapping[str, tuple[Histogram, PublishedTable]],
    measuring: Measuring,
    randomness: Randomness,
) -> PrivateColumn:
    """Columns together, as one column of combinations."""
    # Loaded only where columns are published together.
    from countveil.maths.channel.skewed_views import joint_view

    names, vectors = joint.columns, joint.vectors
    known = [counted[name][0].values for name in names]
    places = zip(*(column.tolist() for column in vectors.columns), strict=True)
    pairs = zip(vectors.counts.tolist(), joint.table.published().tolist(), strict=True)
    counts = {
        tuple(values[place] for values, place in zip(known, vector, strict=True)): pair
        for vector, pair in zip(places, pairs, strict=True)
    }
    shape = tuple(map(len, known))

    def view_of(published: Codes, rows: int) -> ChannelView:
        return joint_view(published.reshape(shape).astype(np.float64), rows, ell)

    return PrivateColumn(
        " and ".join(names),
        ell,
        largest_ell(vectors.counts),
        counts,
        measuring.answers(names, view_of, randomness.stream("ask", *names)),
        # Of the combinations that occur, which are no grid.
        measuring.exposure(
            names,
            partial(view_of_release, ell=ell, groups="random"),
            randomness.stream("exposure", *names),
        ),
        "random",
        columns=names,
    )


def kept_chances(histogram: Histogram, seen: SeenAs, common: Sequence[int]) -> dict[Any, float]:
    """How likely a row with a common value publishes it."""
    if not common:
        return {}
    view = seen(histogram.counts, int(histogram.counts.sum()))
    return {histogram.values[place]: float(view.a[place]) for place in common}


class Measuring:
    """The table and its release side by side, as codes."""

    def __init__(
        self, prepared: LocalPreparedTable, files: ReleaseFiles, without: Codes | None = None
    ) -> None:
        self._source, self._files = prepared.source, files
        self._without = np.zeros(0, np.int64) if without is None else without
        self._rows = prepared.source.facts.rows - self._without.size
        self._kinds = {column.name: kind_of(column.type) for column in prepared.roles.published}
        self._plain = [name for name in self._kinds if name not in prepared.roles.sensitive]
        if files.published:
            # A release may lack columns, and may protect more of them.
            there = {column.name for column in files.published if column.role == "plain"}
            self._plain = [name for name in self._plain if name in there]

    def answers(
        self, name: str | Sequence[str], seen: SeenAs, stream: Stream
    ) -> MeasuredAnswers | None:
        """Random predicates on one protected column, or on several as one.

        None if no other column can be used, or if there are too many combinations of values.
        """
        names, values = self._of(name)
        if len(names) > 1 and values > _MOST_COMBINATIONS:
            return None
        number = max(_LEAST_PREDICATES, min(_MOST_PREDICATES, _CELLS // max(values, 1)))
        predicates = find_predicates(self._askable, number, stream)
        if not predicates:
            return None
        ours, theirs = self._values(names)
        codes = np.concatenate([ours, theirs])
        # The rows of the table come first, then those of the release.
        true = _tallies(codes, [rows[rows < self._rows] for rows in predicates], values)
        shown = _tallies(codes, [rows[rows >= self._rows] for rows in predicates], values)
        view = seen(np.bincount(theirs, minlength=values), theirs.size)
        interval = unbiased_counts(shown, shown.sum(axis=1), view, LEVEL)
        estimate = np.clip(shrunk_counts(shown, [view]), interval.low, interval.high)
        return MeasuredAnswers(true, estimate, interval.low, interval.high, len(predicates))

    def exposure(
        self, name: str | Sequence[str], seen: SeenAs, stream: Stream
    ) -> MeasuredExposure | None:
        """What an informed adversary believes; None if there are too many values or rows."""
        names, values = self._of(name)
        codes = (len(self._plain) + len(names)) * self._rows * 2
        if codes > _MOST_CODES or (len(names) == 1 and values > WHOLE_DOMAIN_LIMIT):
            return None
        ours, theirs = self._values(names)
        if len(names) > 1:
            # Of all combinations, those that occur.
            occurring, joined = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
            values, ours, theirs = occurring.size, joined[: ours.size], joined[ours.size :]
            if values > WHOLE_DOMAIN_LIMIT:
                return None
        published = np.bincount(theirs, minlength=values)
        channel = published_chances(seen(published, theirs.size), published)
        keys, released_keys = self._keys
        linked = Linked(ours, keys, theirs, released_keys)
        known = [column.known for column in self._profiled]
        exposure = measure_exposure(known, linked, channel, stream)
        return MeasuredExposure(exposure, self._profiles(exposure))

    def _of(self, name: str | Sequence[str]) -> tuple[list[str], int]:
        """The columns, and how many values or possible combinations they have."""
        names = [name] if isinstance(name, str) else list(name)
        return names, math.prod(len(self._source.histogram(each).values) for each in names)

    def _values(self, names: Sequence[str]) -> tuple[Codes, Codes]:
        """The rows of the table, and those of the release, by value or number of combination."""
        coded = self._coded(names)
        ours, theirs = coded[names[0]]
        for each in names[1:]:
            size = len(self._source.histogram(each).values)
            ours, theirs = ours * size + coded[each][0], theirs * size + coded[each][1]
        return ours, theirs

    @cached_property
    def _askable(self) -> Mapping[str, Codes]:
        """A few plain columns that predicates can be made of, of table and release."""
        most = min(_MOST_COLUMNS, _MOST_CODES // (2 * max(1, self._rows)) - 1)
        names = _few_valued(self._source, self._plain)[: max(0, most)]
        joined = {name: np.concatenate(pair) for name, pair in self._coded(names).items()}
        ordered = frozenset(n for n in joined if self._kinds[n] not in (TEXT, BOOLEAN))
        return askable(joined, ordered)

    @cached_property
    def _exact(self) -> Mapping[str, tuple[Codes, Codes]]:
        """All plain columns whose values can be given exactly."""
        return self._coded([name for name in self._plain if _countable(self._source, name)])

    @cached_property
    def _keys(self) -> tuple[Codes, Codes]:
        """People and rows by all their plain values: equal keys, equal values."""
        rows = self._files.rows
        keys = np.zeros(self._rows + rows, np.int64)
        for ours, theirs in self._exact.values():
            codes = np.concatenate([ours, theirs])
            size = int(codes.max(initial=0)) + 1
            keys = np.unique(keys * size + codes, return_inverse=True)[1]
        return keys[: self._rows], keys[self._rows :]

    @cached_property
    def _profiled(self) -> list[ProfiledColumn]:
        return [
            ProfiledColumn.of(name, ours, self._source.histogram(name).values)
            for name, (ours, _) in self._exact.items()
        ]

    def _profiles(self, exposure: Exposure) -> list[Profile]:
        """The most exposed 1%, by the columns that say most about the value together."""
        columns = [self._profiled[place] for place in exposure.chain[:_PROFILE_COLUMNS]]
        if not columns:
            return []
        return profiles_of(columns, exposure)

    def _coded(self, names: Sequence[str]) -> dict[str, tuple[Codes, Codes]]:
        """The rows of the table, and those of the release, as positions of the table's values."""
        codes = {}
        for name, column in self._files.columns(names).items():
            places = {
                _key(value): place
                for place, value in enumerate(self._source.histogram(name).values)
            }
            translated = np.array([places[_key(value)] for value in column.values], np.int64)
            true = np.delete(self._source.codes(name), self._without)
            codes[name] = true, translated[column.codes]
        return codes


def _few_valued(source: LocalTable, names: Sequence[str]) -> list[str]:
    """The columns with few enough values to be matched by value."""
    columns = []
    for name, coded in source.sample(_SAMPLED_ROWS, names).items():
        if coded.distinct <= _MOST_VALUES and _countable(source, name):
            columns.append(name)
    return columns


def _countable(source: LocalTable, name: str) -> bool:
    """Whether the values of a column can be given exactly."""
    try:
        source.histogram(name)
    except InputError:
        return False
    return True


def _tallies(codes: Codes, predicates: Sequence[Codes], values: int) -> Floats:
    return np.array([np.bincount(codes[rows], minlength=values) for rows in predicates], np.float64)


def _key(value: Any) -> Any:
    """A value that compares as equal to itself, NaN too."""
    return ("not a number",) if isinstance(value, float) and math.isnan(value) else value
