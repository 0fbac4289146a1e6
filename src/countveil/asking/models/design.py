"""The design of a model: its outcome and predictors as numbers.

Enters: counted rows, the classes of sensitive columns, a formula. Leaves: `ModelData` with the
names of coefficients. Must not know: fits, channels.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.models.counted import CountedRows
from countveil.asking.models.formula import ModelFormula, formulaic_formula
from countveil.asking.models.true_values import Axis
from countveil.errors import QueryError
from countveil.maths.models.cells import Lines, ModelData

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]
MOST_NUMBERS = 60_000_000
MOST_COMBINATIONS = 5_000


@dataclass(frozen=True)
class Design:
    """What is fitted: the data, names of coefficients, and names of the responses' categories."""

    data: ModelData
    names: tuple[str, ...]
    categories: tuple[Any, ...] = ()


def combinations_of(axes: Sequence[Axis]) -> list[dict[str, Any]]:
    """What a model sees of every combination of classes, the last axis fastest."""
    number = math.prod(axis.classes.size for axis in axes)
    if number > MOST_COMBINATIONS:
        raise QueryError(
            f"The sensitive columns of this model have {number:,} combinations of values; at most "
            f"{MOST_COMBINATIONS:,} are fitted. Use conditions such as column = 'value', or fewer "
            f"sensitive columns."
        )
    return [
        {key: value for each in line for key, value in each.items()}
        for line in itertools.product(*(axis.labels for axis in axes))
    ]


def make_design(
    formula: ModelFormula,
    family: str,
    rows: CountedRows,
    axes: Sequence[Axis],
    class_numbers: Mapping[str, Mapping[Any, float]],
) -> Design:
    """The numbers that are fitted; `class_numbers` are those that classes of a column stand for."""
    combinations = combinations_of(axes)
    sensitive = {name for combination in combinations for name in combination}
    hidden = [name for name in formula.predictor_names if name in sensitive]
    plain = [name for name in formula.predictor_names if name not in sensitive]
    cells, cell_of = _cells(combinations, hidden)
    point, points = _points(rows.plain, plain)
    matrix, names = _matrix(formula, points, cells)
    outcome = _Outcome(formula, family, sensitive, class_numbers)
    plain_outcome, outcome_of, categories = outcome.numbers(rows.plain, combinations)
    if outcome_of is not None:
        unknown = np.isnan(outcome_of.sum(axis=1))
        cell_of = np.where(unknown, -1, cell_of)
        outcome_of = np.where(unknown[:, None], 0.0, outcome_of)
    order = np.argsort(point, kind="stable")
    lines = Lines(
        point[order],
        [place[order] for place in rows.places],
        rows.count[order],
        rows.first[order],
        rows.second[order],
        None if plain_outcome is None else plain_outcome[order],
    )
    data = ModelData(_merged(lines), [axis.classes for axis in axes], matrix, cell_of, outcome_of)
    return Design(data, names, categories)


def _cells(
    combinations: Sequence[Mapping[str, Any]], names: Sequence[str]
) -> tuple[list[dict[str, Any]], Numbers]:
    """The different values of predictors, and which each combination has; -1 if one is missing."""
    numbers: dict[tuple[Any, ...], int] = {}
    cell_of = []
    for combination in combinations:
        key = tuple(combination[name] for name in names)
        missing = any(value is None for value in key)
        cell_of.append(-1 if missing else numbers.setdefault(key, len(numbers)))
    cells = [dict(zip(names, key, strict=True)) for key in numbers]
    return cells, np.array(cell_of, np.int64)


def _points(plain: pd.DataFrame, names: Sequence[str]) -> tuple[Numbers, pd.DataFrame]:
    """The different combinations of plain predictors, and which each row has."""
    if not names:
        return np.zeros(len(plain), np.int64), plain.iloc[:1][[]]
    point = plain.groupby(list(names), sort=False, dropna=False).ngroup().to_numpy()
    points = plain[list(names)][~plain[list(names)].duplicated()].reset_index(drop=True)
    return point.astype(np.int64), points


def _matrix(
    formula: ModelFormula, points: pd.DataFrame, cells: Sequence[Mapping[str, Any]]
) -> tuple[Floats, tuple[str, ...]]:
    """The design by point, cell and coefficient, and the names of coefficients."""
    import pandas as pd

    frame = points.loc[points.index.repeat(len(cells))].reset_index(drop=True)
    for name in cells[0] if cells else ():
        column = [cell[name] for cell in cells] * len(points)
        frame[name] = pd.Series(column, dtype=None if not _is_truth(column) else float)
    for name in formula.conditions:
        if name in frame:
            frame[name] = frame[name].astype(float)
    _check_size(len(frame), frame.shape[1])
    matrix, names = _evaluated(formula, formula.predictors, frame)
    _check_size(len(frame), matrix.shape[1])
    readable = tuple(formula.readable(name) for name in names)
    return matrix.reshape(len(points), len(cells), -1), readable


def _is_truth(column: Sequence[Any]) -> bool:
    return all(isinstance(value, bool) for value in column)


def _check_size(rows: int, columns: int) -> None:
    if rows * columns > MOST_NUMBERS:
        raise QueryError(
            f"The predictors have {rows:,} different combinations of values, too many for "
            f"{columns} columns. Round numbers, or use conditions in the place of columns with "
            f"many values."
        )


def _evaluated(
    formula: ModelFormula, side: str, frame: pd.DataFrame
) -> tuple[Floats, tuple[str, ...]]:
    """One side of the formula as numbers."""
    from formulaic.errors import FormulaicError

    # A model without any column still has as many rows as there are points.
    whole = frame if frame.shape[1] else frame.assign(one_=1.0)
    try:
        with np.errstate(all="ignore"):
            made: Any = formulaic_formula()(side).get_model_matrix(
                whole, context={"np": np}, na_action="ignore"
            )
    except (FormulaicError, ValueError, TypeError, ZeroDivisionError) as error:
        reason = str(error).splitlines()[0]
        raise QueryError(
            f"The formula {formula.text!r} cannot be computed at {formula.readable(side)!r}: "
            f"{formula.readable(reason)}"
        ) from None
    if made.model_spec.transform_state:
        names = ", ".join(made.model_spec.transform_state)
        raise QueryError(
            f"{names} would depend on all rows, and is not supported: the model has the same fit "
            f"without it."
        )
    numbers = made.to_numpy(dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise QueryError(
            f"The formula {formula.text!r} gives numbers that are not finite, such as the "
            f"logarithm of 0. Leave such rows out with where=..."
        )
    return numbers, tuple(made.model_spec.column_names)


def _merged(lines: Lines) -> Lines:
    """Lines that are equal become one."""
    keys = [lines.point, *lines.places]
    if lines.outcome is not None:
        keys += list(lines.outcome.T)
    order = np.lexsort(keys[::-1])
    sorted_keys = [key[order] for key in keys]
    new = np.ones(order.size, bool)
    new[1:] = np.any([key[1:] != key[:-1] for key in sorted_keys], axis=0)
    starts = np.flatnonzero(new)
    if starts.size == 0:
        return lines
    count, first, second = (
        np.add.reduceat(each[order], starts) for each in (lines.count, lines.first, lines.second)
    )
    return Lines(
        lines.point[order][starts],
        [place[order][starts] for place in lines.places],
        count,
        first,
        second,
        None if lines.outcome is None else lines.outcome[order][starts],
    )


class _Outcome:
    """The outcome of a model as numbers: of rows, or of combinations of true classes."""

    def __init__(
        self,
        formula: ModelFormula,
        family: str,
        sensitive: set[str],
        class_numbers: Mapping[str, Mapping[Any, float]],
    ) -> None:
        self._formula, self._family, self._class_numbers = formula, family, class_numbers
        names = set(formula.outcome_names)
        self._hidden = bool(names & sensitive)
        if self._hidden and names - sensitive:
            raise QueryError(
                f"The outcome {formula.readable(formula.outcome)!r} mixes sensitive and plain "
                f"columns, which is not supported. Use one kind."
            )
        if names & set(formula.predictor_names):
            raise QueryError("A column cannot be outcome and predictor of the same model.")

    def numbers(
        self, plain: pd.DataFrame, combinations: Sequence[Mapping[str, Any]]
    ) -> tuple[Floats | None, Floats | None, tuple[Any, ...]]:
        """By row if the outcome is plain, by combination if it is sensitive; and the categories."""
        import pandas as pd

        if not self._hidden:
            numbers, categories = self._computed(plain)
            return numbers, None, categories
        names = list(self._formula.outcome_names)
        frame = pd.DataFrame([{name: c[name] for name in names} for c in combinations])
        known = ~frame.isna().any(axis=1).to_numpy()
        part = frame[known].infer_objects().reset_index(drop=True)
        numbers, categories = self._computed(part)
        spread = np.full((len(frame), numbers.shape[1]), np.nan)
        spread[known] = numbers
        return None, spread, categories

    def _computed(self, frame: pd.DataFrame) -> tuple[Floats, tuple[Any, ...]]:
        names, side = self._formula.outcome_names, self._formula.outcome
        alone = len(names) == 1 and side.strip("`") == names[0]
        if self._family == "multinomial":
            if not alone:
                raise QueryError(
                    f"The outcome of a multinomial model is one column, not "
                    f"{self._formula.readable(side)!r}."
                )
            return _categories(frame[names[0]])
        if alone:
            column = frame[names[0]]
            if names[0] in self._class_numbers:
                column = column.map(dict(self._class_numbers[names[0]]))
            numbers = _as_numbers(column, self._formula.readable(side))
        else:
            numbers, columns = _evaluated(self._formula, f"{side} - 1", frame)
            if len(columns) != 1:
                raise QueryError(
                    f"The outcome {self._formula.readable(side)!r} is {len(columns)} columns; it "
                    f"must be one."
                )
        _check_range(self._family, numbers, self._formula.readable(side))
        return numbers.reshape(-1, 1), ()


def _as_numbers(column: pd.Series[Any], name: str) -> Floats:
    try:
        return np.asarray(column.astype(float), np.float64)
    except (TypeError, ValueError):
        raise QueryError(
            f"The outcome {name!r} has no numbers. Write a condition, such as {name} = 'value', "
            f"for a logistic model, or use family='multinomial' for all of its values."
        ) from None


def _check_range(family: str, numbers: Floats, name: str) -> None:
    known = numbers[np.isfinite(numbers)]
    if family == "logistic" and not np.isin(known, (0.0, 1.0)).all():
        raise QueryError(
            f"The outcome {name!r} of a logistic model must be 0 or 1, or a condition, such as "
            f"{name} >= 60."
        )
    if family == "poisson" and (known < 0).any():
        raise QueryError(f"The outcome {name!r} of a poisson model must not be negative.")


def _categories(column: pd.Series[Any]) -> tuple[Floats, tuple[Any, ...]]:
    """One response for each category but the first."""
    values = column.tolist()
    try:
        categories = sorted(set(values))
    except TypeError:
        categories = sorted(set(values), key=str)
    if len(categories) < 2:
        raise QueryError("The outcome of a multinomial model needs two categories or more.")
    place = {value: number for number, value in enumerate(categories)}
    numbers = np.zeros((len(values), len(categories)))
    numbers[np.arange(len(values)), [place[value] for value in values]] = 1.0
    return numbers[:, 1:], tuple(categories)
