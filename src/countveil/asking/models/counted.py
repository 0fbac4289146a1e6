"""The rows that a model is fitted to, counted where they are: one GROUP BY.

Enters: the plain columns, conditions and sensitive columns of a model. Leaves: a data frame of
different rows with their numbers, and the published places of each. Must not know: families, fits.
"""

from __future__ import annotations

import decimal
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.models.source import ModelSource
from countveil.asking.models.true_values import Axis
from countveil.engines.pivot import places_in
from countveil.errors import QueryError
from countveil.release import kind_of
from countveil.release.values import BOOLEAN, NUMBER
from countveil.sql.query import Tally
from countveil.sql.query.expressions import (
    ColumnReference,
    Constant,
    Expression,
    Formula,
    Operation,
    as_condition,
    sensitive_tests,
)

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class CountedRows:
    """Different rows: plain values and conditions, published places, and how many rows each has.

    `dropped` rows miss a plain value.
    """

    plain: pd.DataFrame
    places: Sequence[Numbers]
    count: Floats
    first: Floats
    second: Floats
    dropped: int


def count_rows(
    source: ModelSource,
    names: Sequence[str],
    conditions: Mapping[str, Formula],
    axes: Sequence[Axis],
    where: str,
    weight: str | None,
) -> CountedRows:
    """Count the rows that meet `where` by these plain columns and conditions, and the axes."""
    import pandas as pd

    published = [column for axis in axes for column in axis.columns]
    marks = [axis.batch for axis in axes if axis.batch is not None]
    keys: list[Expression] = [_reference(source, name) for name in names]
    keys += [as_condition(formula) for formula in conditions.values()]
    keys += [_reference(source, name) for name in [*published, *marks]]
    tally = Tally(_where(source, where), tuple(keys), (), (), _arguments(weight))
    result = source.table.tally(tally, ())
    columns = list(zip(*result.keys, strict=True)) or [()] * len(keys)
    moments = result.moments[:, :, 0].reshape(result.moments.shape[0], -1)
    if not keys:
        columns = []
    labels = [*names, *conditions]
    plain = pd.DataFrame(
        {label: _values(column) for label, column in zip(labels, columns, strict=False)},
        index=range(moments.shape[1]),
    )
    known = ~plain.isna().any(axis=1).to_numpy() if labels else np.ones(len(plain), bool)
    places = _places(axes, columns[len(labels) :])
    return CountedRows(
        plain[known].reset_index(drop=True),
        [place[known] for place in places],
        moments[0, known],
        moments[0 if weight is None else 1, known],
        moments[0 if weight is None else 2, known],
        int(moments[0, ~known].sum()),
    )


def _reference(source: ModelSource, name: str) -> Expression:
    return ColumnReference(name, kind_of(source.column(name).type))


def _where(source: ModelSource, where: str) -> Expression:
    if not where.strip():
        return Constant(value=True, kind=BOOLEAN)
    formula = source.conditions.formula(where)
    for test in sensitive_tests(formula):
        raise QueryError(
            f"Rows cannot be chosen by {test.column!r}: it is sensitive, and a row's published "
            f"value is not its true one. Choose rows by plain columns, and put conditions on "
            f"{test.column!r} into the formula."
        )
    return as_condition(formula)


def _arguments(weight: str | None) -> tuple[Expression, ...]:
    if weight is None:
        return ()
    return (Operation("to_number", (ColumnReference(weight, NUMBER),), NUMBER),)


def _values(column: Sequence[Any]) -> Any:
    """Values that a data frame can compute with."""
    import pandas as pd

    present = [value for value in column if value is not None]
    if present and all(isinstance(value, decimal.Decimal) for value in present):
        return [None if value is None else float(value) for value in column]
    if present and all(isinstance(value, bool) for value in present):
        return pd.array(list(column), dtype="boolean" if len(present) < len(column) else "bool")
    return list(column)


def _places(axes: Sequence[Axis], columns: Sequence[Sequence[Any]]) -> list[Numbers]:
    """The published place of every row in each axis; batches come after all columns."""
    remaining = iter(columns)
    published = [[places_in(domain, next(remaining)) for domain in axis.domains] for axis in axes]
    return [
        axis.places(each, None if axis.batch is None else places_in(axis.numbers, next(remaining)))
        for axis, each in zip(axes, published, strict=True)
    ]
