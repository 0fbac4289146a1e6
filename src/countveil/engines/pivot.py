"""Counted lines -> arrays by group, pattern and published values.

Enters: the lines of a GROUP BY. Leaves: a `TallyResult`. Must not know: how lines were counted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.errors import QueryError, ReleaseError
from countveil.release.values import python_values
from countveil.sql.query import Tally, TallyResult
from countveil.sql.query.expressions import Expression

if TYPE_CHECKING:
    from countveil.sql.query.axes import Axis

MOST_NUMBERS = 20_000_000
# Lines of a GROUP BY that are turned into values of Python.
MOST_LINES = 1_000_000
_MANY_LINES = 50_000


def pivot(counted: pa.Table, tally: Tally, domains: Sequence[Sequence[Any]]) -> TallyResult:
    """`counted` has a column per key, condition and sensitive column, then the count, then sums."""
    n_keys, n_bits, n_arguments = len(tally.keys), len(tally.conditions), len(tally.arguments)
    if counted.num_rows > MOST_LINES:
        raise QueryError(
            f"The rows fall into {counted.num_rows:,} groups; at most {MOST_LINES:,} are "
            f"evaluated. Group by less, or narrow the query with WHERE."
        )
    columns = counted.columns
    first = n_keys + n_bits
    shape = axis_sizes(tally.axes, domains)
    if n_keys and counted.num_rows > _MANY_LINES:
        # Arrow counts the groups before they are turned into values of Python, which takes long.
        keys = pa.table(columns[:n_keys], [str(number) for number in range(n_keys)])
        different = keys.group_by(keys.column_names).aggregate([]).num_rows
        check_size(different * math.prod(shape), 1 + 2 * n_arguments)
    groups, group = _numbered(list(zip(*map(_key_values, columns[:n_keys]), strict=True)))
    if not n_keys:
        groups, group = [()], np.zeros(counted.num_rows, np.int64)
    bits = [np.array(column.to_pylist(), bool) for column in columns[n_keys:first]]
    # Without any row there is still a pattern: nothing holds.
    truths = np.zeros((1, n_bits), bool)
    pattern = np.zeros(counted.num_rows, np.int64)
    if bits and counted.num_rows:
        truths, pattern = np.unique(np.stack(bits, axis=1), axis=0, return_inverse=True)
    size = len(groups) * len(truths) * math.prod(shape)
    check_size(size, 1 + 2 * n_arguments)
    cell = group * len(truths) + pattern.reshape(-1)
    places = [
        places_in(domain, python_values(column))
        for column, domain in zip(columns[first:], domains, strict=False)
    ]
    if tally.axes:
        places = [axis.places(places) for axis in tally.axes]
    for size_of_axis, place in zip(shape, places, strict=True):
        cell = cell * size_of_axis + place
    rest = columns[first + len(domains) :]
    moments = np.zeros((1 + 2 * n_arguments, size))
    # Times that differ below the microsecond are one key, so a cell may come twice.
    counts = _numbers(rest[0])
    np.add.at(moments[0], cell, counts)
    ranges = no_ranges(n_arguments, len(groups), len(truths))
    place = (group * len(truths) + pattern.reshape(-1))[counts > 0]
    for number in range(n_arguments):
        total, square, low, high = (_numbers(c) for c in rest[1 + 4 * number : 5 + 4 * number])
        np.add.at(moments[1 + 2 * number], cell, total)
        np.add.at(moments[2 + 2 * number], cell, square)
        np.minimum.at(ranges[0, number].reshape(-1), place, low[counts > 0])
        np.maximum.at(ranges[1, number].reshape(-1), place, high[counts > 0])
    return TallyResult(
        groups, truths, moments.reshape(len(moments), len(groups), len(truths), *shape), ranges
    )


def no_ranges(arguments: int, groups: int, patterns: int) -> NDArray[np.float64]:
    """The ranges of arguments where there is no row: see `TallyResult`."""
    ranges = np.full((2, arguments, groups, patterns), np.inf)
    ranges[1] = -np.inf
    return ranges


def one_by_one(
    ask: Callable[[Tally, Sequence[Sequence[Any]]], TallyResult],
    conditions: Sequence[Expression],
    sensitive: Sequence[str],
    domains: Sequence[Sequence[Any]],
    axes: Sequence[Axis] = (),
) -> NDArray[np.float64]:
    """Counts under each of many conditions, by a question each."""
    counts = np.zeros((len(conditions), *axis_sizes(axes, domains)))
    for number, condition in enumerate(conditions):
        tally = Tally(condition, (), (), tuple(sensitive), (), tuple(axes))
        counts[number] = ask(tally, domains).moments[0, 0, 0]
    return counts


def axis_sizes(axes: Sequence[Axis], domains: Sequence[Sequence[Any]]) -> tuple[int, ...]:
    """How many places each axis of published values has."""
    return tuple(axis.size for axis in axes) or tuple(len(domain) for domain in domains)


def check_size(cells: int, moments: int) -> None:
    """Refuse what would not fit into memory."""
    if cells * moments > MOST_NUMBERS:
        raise QueryError(
            f"The answer would need {cells:,} numbers, more than can be evaluated at once. Group "
            f"by less, or narrow the query with WHERE."
        )


def places_in(domain: Sequence[Any], values: Sequence[Any]) -> NDArray[np.int64]:
    """The place of each value in the domain."""
    places = {value: place for place, value in enumerate(domain)}
    try:
        return np.array([places[value] for value in values], np.int64)
    except KeyError as error:
        raise ReleaseError(
            "The data hold a sensitive value that the manifest does not list. "
            "'countveil verify' says what is wrong."
        ) from error


def _numbered(keys: list[tuple[Any, ...]]) -> tuple[list[tuple[Any, ...]], NDArray[np.int64]]:
    """The different keys in the order in which they come, and the number of each."""
    numbers: dict[tuple[Any, ...], int] = {}
    numbered = [numbers.setdefault(key, len(numbers)) for key in keys]
    return list(numbers), np.array(numbered, np.int64)


def _key_values(column: pa.ChunkedArray[Any]) -> list[Any]:
    if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
        # A group key is shown to people: to the microsecond is enough.
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    try:
        values = python_values(column)
    except (OverflowError, ValueError):
        # Databases know later years, earlier ones, and infinite times.
        raise QueryError(
            "A date or time that the rows are grouped by is outside the years 1 to 9999 and "
            "cannot be shown. Leave such rows out with WHERE, or group by a part of the date."
        ) from None
    if pa.types.is_floating(column.type):
        # Always the same object, which is the only NaN that equals itself.
        values = [
            math.nan if value is not None and math.isnan(value) else value for value in values
        ]
    return values


def _numbers(column: pa.ChunkedArray[Any]) -> NDArray[np.float64]:
    # Not by Arrow's conversion, which loads pandas where it is installed.
    return np.array([number or 0 for number in column.to_pylist()], np.float64)
