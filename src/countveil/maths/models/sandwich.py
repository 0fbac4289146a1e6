"""The covariance of coefficients: a sandwich, with what the release adds.

Enters: a fit. Leaves: the covariance, and how well the information of each coefficient is known.
Must not know: formulas, levels of intervals. Theory: docs/theory/models.md.

The bread is the inverse of the information. The meat is the covariance of the score, a sum over
rows: its square over what was published. It has the variation of the people as well as that of the
mechanism, and so is about the population that the rows are a sample of. Taking away the squares
of the true scores, which are estimated as everything is, leaves what publishing added: that is
about the table. `value_classes` explains J and the dependence within groups.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.models.cells import Lines, ModelData
from countveil.maths.models.fit import Fit

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]

# J of one column has at most so many numbers before they are summed.
_MOST_NUMBERS = 20_000_000


@dataclass(frozen=True)
class Covariances:
    """Of all coefficients, response by response: about the population, and about the table."""

    population: Floats
    table: Floats


def covariances(fit: Fit) -> Covariances:
    """Both sandwiches."""
    spread = variation(fit.data, Scores(fit))
    bread = np.linalg.inv(fit.information)
    return Covariances(
        bread @ spread.population @ bread,
        bread @ spread.table @ bread,
    )


def information_noise(fit: Fit) -> Floats:
    """The relative standard error of the information of each coefficient."""
    data = fit.data
    if data.design.shape[1] == 1 and (data.cell_of >= 0).all():
        return np.zeros(data.size)
    inverse = np.linalg.inv(fit.information)
    directions = inverse / np.diag(inverse)
    variance = fit.family.variance(fit.eta)
    size = data.responses, data.design.shape[2]
    along = np.empty((*data.design.shape[:2], data.size))
    for number in range(data.size):
        z = data.design @ directions[:, number].reshape(size).T
        along[:, :, number] = np.einsum("pcr,pcrs,pcs->pc", z, variance, z)
    drawn = np.diag(variation(data, CellNumbers(data, along)).table)
    noise: Floats = np.sqrt(np.maximum(drawn, 0.0)) * np.diag(inverse)
    return noise


class Scores:
    """The scores of lines in combinations of true classes."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit

    def weighted(self, lines: Lines, weights: Floats, chosen: Numbers) -> Floats:
        """The sum over the chosen combinations of weight times score, by line."""
        data, fit = self._fit.data, self._fit
        counted = data.cell_of[chosen] >= 0
        chosen, weights = chosen[counted], weights[:, counted]
        cells, cell_of = np.unique(data.cell_of[chosen], return_inverse=True)
        to_cells = np.zeros((chosen.size, cells.size))
        to_cells[np.arange(chosen.size), cell_of] = 1.0
        in_cell = weights @ to_cells
        if data.outcome_of is None:
            assert lines.outcome is not None  # noqa: S101 - one of the two is there
            response = in_cell[:, :, None] * lines.outcome[:, None, :]
        else:
            outcomes = to_cells[:, :, None] * data.outcome_of[chosen][:, None, :]
            response = np.tensordot(weights, outcomes, 1)
        if cells.size == data.design.shape[1]:
            mean, design = fit.mean[lines.point], data.design[lines.point]
        else:
            mean, design = fit.mean[:, cells][lines.point], data.design[:, cells][lines.point]
        residual = response - in_cell[:, :, None] * mean
        product: Floats = np.matmul(residual.transpose(0, 2, 1), design)
        return product.reshape(product.shape[0], -1)


class CellNumbers:
    """Numbers of cells, `numbers[point, cell, :]`, in combinations of true classes."""

    def __init__(self, data: ModelData, numbers: Floats) -> None:
        self._data, self._numbers = data, numbers

    def weighted(self, lines: Lines, weights: Floats, chosen: Numbers) -> Floats:
        """The sum over the chosen combinations of weight times number, by line."""
        counted = self._data.cell_of[chosen] >= 0
        chosen, weights = chosen[counted], weights[:, counted]
        cells, cell_of = np.unique(self._data.cell_of[chosen], return_inverse=True)
        to_cells = np.zeros((chosen.size, cells.size))
        to_cells[np.arange(chosen.size), cell_of] = 1.0
        here = self._numbers[:, cells][lines.point]
        product: Floats = np.matmul((weights @ to_cells)[:, None, :], here)[:, 0]
        return product


def variation(data: ModelData, numbers: Scores | CellNumbers) -> Covariances:
    """The covariance of summed numbers: of people and publishing, and of publishing alone."""
    everything = np.arange(data.cell_of.size)
    sums = [_class_sums(data, numbers, number) for number in range(len(data.columns))]
    controls = [
        None if each is None else column.control(each)
        for column, each in zip(data.columns, sums, strict=True)
    ]
    size = data.size
    population, true = np.zeros((size, size)), np.zeros((size, size))
    for lines in data.chunks(data.cell_of.size * size):
        weights = data.weights(lines)
        drawn = numbers.weighted(lines, weights, everything)
        population += _squares(lines, drawn, _published_shift(controls, lines, size))
        true += _true_squares(data, numbers, lines, weights, controls)
    effect = max((column.design_effect for column in data.columns), default=1.0)
    population = effect * population - _lowered(data, sums, controls)
    return Covariances(population, population - effect * true)


def _class_sums(data: ModelData, numbers: Scores | CellNumbers, number: int) -> Floats | None:
    """Numbers summed by what rows publish of a column, for each of its classes."""
    column = data.columns[number]
    published = column.weights.shape[1]
    if column.view is None or published * column.size * data.size > _MOST_NUMBERS:
        return None
    sums = np.zeros((published, column.size, data.size))
    class_of = _classes(data)[number]
    for lines in data.chunks(data.cell_of.size * (1 + data.size)):
        weights = data.weights(lines, without=number)
        for class_number in range(column.size):
            chosen = np.flatnonzero((class_of == class_number) & (data.cell_of >= 0))
            if chosen.size:
                here = numbers.weighted(lines, weights[:, chosen], chosen)
                here = here * lines.first[:, None]
                _add_by(sums[:, class_number], lines.places[number], here)
    return sums


def _classes(data: ModelData) -> tuple[Numbers, ...]:
    """The class of every combination in each column."""
    sizes = tuple(each.size for each in data.columns)
    return tuple(np.unravel_index(np.arange(data.cell_of.size), sizes)) if sizes else ()


def _add_by(sums: Floats, place: Numbers, numbers: Floats) -> None:
    for column in range(numbers.shape[1]):
        sums[:, column] += np.bincount(place, numbers[:, column], sums.shape[0])


def _published_shift(controls: list[Floats | None], lines: Lines, size: int) -> Floats:
    shift = np.zeros((lines.point.size, size))
    for control, place in zip(controls, lines.places, strict=True):
        if control is not None:
            shift += control[place]
    return shift


def _squares(lines: Lines, numbers: Floats, shift: Floats) -> Floats:
    """The sum over rows of the square of (survey weight times number, less the shift)."""
    crossed = (lines.first[:, None] * numbers).T @ shift
    squares: Floats = (lines.second[:, None] * numbers).T @ numbers
    return squares - crossed - crossed.T + (lines.count[:, None] * shift).T @ shift


def _true_squares(
    data: ModelData,
    numbers: Scores | CellNumbers,
    lines: Lines,
    weights: Floats,
    controls: list[Floats | None],
) -> Floats:
    """The same of the true numbers: estimated, as everything is, by weights."""
    total = np.zeros((data.size, data.size))
    classes = _classes(data)
    backs = [
        None if control is None else column.returned(control)
        for column, control in zip(data.columns, controls, strict=True)
    ]
    fully = np.ones((lines.point.size, 1))
    for combination in range(data.cell_of.size):
        shift = np.zeros(data.size)
        for back, class_of in zip(backs, classes, strict=True):
            if back is not None:
                shift = shift + back[class_of[combination]]
        here = np.zeros((lines.point.size, data.size))
        if data.cell_of[combination] >= 0:
            here = numbers.weighted(lines, fully, np.array([combination]))
        weight = weights[:, combination]
        weighted = Lines(
            lines.point, (), lines.count * weight, lines.first * weight, lines.second * weight, None
        )
        total += _squares(weighted, here, np.broadcast_to(shift, here.shape))
    return total


def _lowered(data: ModelData, sums: list[Floats | None], controls: list[Floats | None]) -> Floats:
    """By how much the dependence within groups lowers the covariance."""
    nothing = np.zeros((data.size, data.size))
    if len(data.columns) != 1 or sums[0] is None or controls[0] is None:
        return nothing
    column = data.columns[0]
    rows = float(data.lines.count.sum())
    mean = column.weights.T @ sums[0].sum(axis=0) / rows - controls[0]
    lowered = column.dependence(mean)
    return nothing if lowered is None else lowered
