"""Totals over columns that were published together and other sensitive columns at once.

Enters: the axes of a tally in blocks of one channel each; totals over any set of combinations.
Leaves: their estimates and covariances. Must not know: SQL. Theory: docs/theory/channel.md,
"Columns together".

Blocks are drawn independently of each other, so the weight of a row is the product of the weights
of its blocks, summed over the combinations that count. For every cell of the answer the numbers
with which combinations count are turned into weights one block after the other; a number that all
values of a block have in common has exactly the weight 1 (see `totals`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.channel import ChannelView
from countveil.maths.channel.skewed_views import RandomView
from countveil.maths.estimate.totals import Tallies, Total

if TYPE_CHECKING:
    from countveil.maths.estimate.joined import Blocks

Floats = NDArray[np.float64]

# Numbers in memory at once, and numbers at all: a few seconds.
_AT_ONCE = 2_000_000
_AT_MOST = 1_000_000_000


def crossed_total(blocks: Blocks, total: Total, tallies: Tallies, moment: int) -> Floats:
    """The sum over rows of their weights, by group and cell of the answer."""
    summed = _by_blocks(blocks, tallies, moment)
    result = np.zeros((tallies.n_groups, total.condition_of.shape[0]))
    for cells, (numbers,) in _counted(blocks, [total], tallies):
        result[:, cells] = _inner(summed, _weights(blocks, tallies, numbers))
    return result


def crossed_covariance(
    blocks: Blocks, totals: tuple[Total, Total], tallies: Tallies, moment: int
) -> Floats:
    """Of two totals; `moment` sums the product of both arguments."""
    summed = _by_blocks(blocks, tallies, moment)
    result = np.zeros((tallies.n_groups, totals[0].condition_of.shape[0]))
    for cells, (one, two) in _counted(blocks, totals, tallies):
        both = _weights(blocks, tallies, one * two)
        first, second = (_weights(blocks, tallies, numbers) for numbers in (one, two))
        result[:, cells] = _inner(summed, first * second - both)
    return max(view.design_effect for view in blocks.views) * result


def _by_blocks(blocks: Blocks, tallies: Tallies, moment: int) -> Floats:
    """What is tallied, by group and pattern, with one axis for each block."""
    moments = tallies.moments[moment]
    flat = blocks.flat(moments.reshape(-1, *blocks.shape))
    by_blocks: Floats = flat.reshape(*moments.shape[:2], *flat.shape[1:])
    return by_blocks


def _inner(summed: Floats, weights: Floats) -> Floats:
    """By group and cell: the sum over patterns and published values."""
    cells = weights.shape[1]
    flat = np.moveaxis(weights, 1, 0).reshape(cells, -1)
    inner: Floats = summed.reshape(summed.shape[0], -1) @ flat.T
    return inner


def _counted(
    blocks: Blocks, totals: Sequence[Total], tallies: Tallies
) -> Iterator[tuple[slice, list[Floats]]]:
    """Some cells of the answer, and by pattern, cell and block the numbers that count for them."""
    n_cells, n_rest = totals[0].condition_of.shape
    patterns = tallies.truths.shape[0]
    each = patterns * n_cells * n_rest
    if each * n_cells > _AT_MOST:
        raise QueryError(
            f"This question about columns that were published together and another sensitive "
            f"column needs {each * n_cells:,} weights; at most {_AT_MOST:,} are computed. Group by "
            f"less, or ask about one of them at a time."
        )
    step = max(1, _AT_ONCE // max(each, 1))
    for start in range(0, n_cells, step):
        cells = slice(start, min(start + step, n_cells))
        yield cells, [_numbers(blocks, total, tallies, cells) for total in totals]


def _numbers(blocks: Blocks, total: Total, tallies: Tallies, cells: slice) -> Floats:
    n_cells, n_rest = total.condition_of.shape
    chosen = range(cells.start, cells.stop)
    patterns = tallies.truths.shape[0]
    numbers = np.zeros((patterns, len(chosen), n_cells, n_rest))
    for place, cell in enumerate(chosen):
        for pattern in range(patterns):
            numbers[pattern, place, cell] = total.counting(pattern, cell)
    order = [*tallies.grouped_axes, *tallies.rest_axes]
    full = numbers.reshape(-1, *(blocks.shape[axis] for axis in order))
    full = np.transpose(full, [0, *(1 + np.argsort(order))])
    flat = blocks.flat(full)
    return flat.reshape(patterns, len(chosen), *flat.shape[1:])


def _weights(blocks: Blocks, tallies: Tallies, numbers: Floats) -> Floats:
    """The weights of published combinations, by pattern, cell and block."""
    weights = numbers
    channels = list(enumerate(zip(blocks.blocks, blocks.views, strict=True)))
    # Those that need the numbers as they are come first.
    for place, (block, view) in sorted(channels, key=lambda one: isinstance(one[1][1], RandomView)):
        grouped = any(tallies.grouped[axis] for axis in block)
        common = 0.0 if grouped else _common(weights, 2 + place, view)
        weights = common + view.row_weights(weights - common, 2 + place)
    return weights


def _common(numbers: Floats, axis: int, view: ChannelView) -> Floats | float:
    """The number that most values of a block have in common."""
    if isinstance(view, RandomView):
        # There, all values together have the weight 1 whatever is taken out.
        return 0.0
    if np.isin(numbers, (0.0, 1.0)).all():
        most: Floats = (numbers.mean(axis=axis, keepdims=True) > 0.5).astype(np.float64)
        return most
    shares = view.published / view.rows
    return np.expand_dims(np.tensordot(numbers, shares, (axis, 0)), axis)
