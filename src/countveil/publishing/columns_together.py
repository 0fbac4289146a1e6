"""Columns that are published together: one partition, one draw, whole vectors.

Enters: what a publisher wrote; the vectors of a table; what was drawn for them. Leaves: sets of
columns, checked; what each column of a set publishes. Must not know: groups, where the release
goes. Theory: docs/theory/channel.md, "Columns together".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.engines.drawn import Drawn, DrawnCases, DrawnTogether
from countveil.errors import SettingsError, nearest, option
from countveil.maths.groups import ColumnSettings
from countveil.maths.mechanism import PublishedTable, draw_column
from countveil.maths.mechanism.draw import Tally
from countveil.randomness import Randomness
from countveil.tables.encoded.survey import Histogram
from countveil.tables.progress import Progress

if TYPE_CHECKING:
    from countveil.report.joined import PublishedVectors


def sets_of_columns(
    given: bool | Sequence[str] | Sequence[Sequence[str]], columns: Mapping[str, ColumnSettings]
) -> tuple[tuple[str, ...], ...]:
    """The sets of columns that share one draw; SettingsError says what does not fit."""
    listed = [list(columns)] if given is True else _listed(given, columns)
    seen: set[str] = set()
    for names in listed:
        for name in names:
            if name not in columns:
                raise SettingsError(
                    f"Only sensitive columns are published together, and {name!r} is not one of "
                    f"them. {nearest(name, columns)}"
                )
            if name in seen or names.count(name) > 1:
                raise SettingsError(f"Column {name!r} is named twice in {option('together')}.")
        seen |= set(names)
        _check_set(names, columns)
    return tuple(tuple(names) for names in listed)


def _listed(
    given: bool | Sequence[str] | Sequence[Sequence[str]], columns: Mapping[str, ColumnSettings]
) -> list[list[str]]:
    """The sets as they were written; names that stand alone are one set.

    In a text, as on the command line and in a recipe, there are commas between columns.
    """
    assert not isinstance(given, bool)  # noqa: S101 - False names no set
    sets, alone = [], []
    for item in [given] if isinstance(given, str) else given:
        if isinstance(item, str) and (item in columns or "," not in item):
            alone.append(item)
        else:
            sets.append(item.split(",") if isinstance(item, str) else list(item))
    return [*sets, *([alone] if alone else [])]


def _check_set(names: Sequence[str], columns: Mapping[str, ColumnSettings]) -> None:
    if len(names) < 2:
        raise SettingsError(
            f"Columns are published together from two on; got {', '.join(map(repr, names))}."
        )
    listed = " and ".join(f"{name!r} (ell = {columns[name].ell})" for name in names)
    if len({columns[name].ell for name in names}) > 1:
        raise SettingsError(
            f"Columns that are published together share one ell; got {listed}. Give them the same."
        )
    for name in names:
        choice = columns[name]
        if choice.groups == "anatomy":
            raise SettingsError(
                f"Columns together are published with random groups, not with the paper's rule. "
                f"Leave {option('groups', 'anatomy')} out."
            )
        if choice.common or choice.common_auto:
            raise SettingsError(
                f"Column {name!r} cannot have common values and be published together with others: "
                f"their groups are random, and any vector may repeat. Leave {option('common')} out."
            )
        if choice.odds is not None:
            raise SettingsError(
                f"A bound on the odds is for columns that are published apart; {name!r} is "
                f"published together with others. Leave {option('odds')} or {option('together')} "
                f"out."
            )


def draw_together(
    source: SourceTable,
    names: tuple[str, ...],
    settings: ColumnSettings,
    without: NDArray[np.int64],
    randomness: Randomness,
    progress: Progress,
) -> DrawnTogether:
    """Count the vectors of some columns, and draw what they publish."""
    stage = f"grouping {', '.join(names)}"
    progress(stage, 0, 0)
    vectors = source.vectors(names, without)
    rows = int(vectors.counts.sum())
    streams = randomness.stream("groups", *names), randomness.stream("draw", *names)
    table = draw_column(
        vectors.counts,
        settings,
        streams,
        progress=lambda share: progress(stage, int(share * rows), rows),
    )
    return DrawnTogether(names, vectors, table)


def margin(drawn: DrawnTogether, number: int) -> PublishedTable:
    """How many rows with each true value of one column publish which value of it."""
    places, size = drawn.vectors.columns[number], drawn.vectors.sizes[number]
    table = drawn.table
    true = np.repeat(places, np.diff(table.indptr))
    tally = Tally(size)
    tally.add_counts(true * size + places[table.values], table.counts)
    return tally.table()


def all_published_vectors(
    drawn: Drawn, histograms: Mapping[str, Histogram]
) -> list[PublishedVectors]:
    """Which combinations are published, of every set of columns that share one draw."""
    values = {name: histogram.values for name, histogram in histograms.items()}
    return [
        *(published_vectors(joint, values) for joint in drawn.together),
        *(vectors_of_cases(one, values) for one in drawn.cases if len(one.columns) > 1),
    ]


def published_vectors(
    drawn: DrawnTogether, values: Mapping[str, Sequence[Any]]
) -> PublishedVectors:
    """How many rows publish each vector; `values` are those of every column, by place."""
    from countveil.report.joined import PublishedVectors

    known = [values[name] for name in drawn.columns]
    vectors = drawn.vectors
    return PublishedVectors.of(drawn.columns, drawn.table.published(), vectors.columns, known)


def vectors_of_cases(drawn: DrawnCases, values: Mapping[str, Sequence[Any]]) -> PublishedVectors:
    """The same where persons have several rows: how many cases publish each vector, about."""
    from countveil.publishing.cases import cases_per_vector
    from countveil.report.joined import PublishedVectors

    places, counts = cases_per_vector(drawn)
    known = [values[name] for name in drawn.columns]
    return PublishedVectors.of(drawn.columns, counts, places, known)
