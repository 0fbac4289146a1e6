"""The true values of a column in classes, and the weights of rows in them by what they publish.

Enters: a channel, and the class of every true value. Leaves: weights of rows, and what the noise of
the published histogram does to sums of weighted rows. Must not know: models.

**Weights.** A row that publishes u counts in class c with the sum over the values v of c of M[v, u]
(`channel.view`). All classes together have exactly the weight 1; the class with the most values, or
the one that has a value which cannot be told apart, gets what the others leave.

**Control.** M is made from the published counts g of the same release. Let a row have the number
psi(v) if its true value is v, and let T be the sum of weighted numbers. A published count that is
larger by chance changes M, and through it T, by J[u] for every row that publishes u:

    J[v] = (a'[v] X[v] + b'[v] L[v]) / (a - b)[v]

X sums psi(v) over the rows with v, L over the others; a' and b' are derivatives by g. So T varies
as a sum over rows of (weighted number - J of what it publishes). That lowers its variance.

**Groups.** Rows of a group share its values, so what they publish is slightly negatively
dependent. For a number c(u) that depends on what a row publishes alone, the variance of the sum is
c^T F (I - W) c with F = diag(g), in place of c^T F (I - W^2) c for independent rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.case_view import CaseView
from countveil.maths.channel.noised_view import NoisedView
from countveil.maths.channel.skewed_views import CommonView, RandomView
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT

Floats = NDArray[np.float64]
Numbers = NDArray[np.int64]


class HiddenValueError(Exception):
    """Several classes have values that cannot be told apart; `values` are their places."""

    def __init__(self, values: Numbers) -> None:
        super().__init__()
        self.values = values


@dataclass(frozen=True)
class ValueClasses:
    """The weights `weights[c, u]` of a row that publishes u, in each class of true values.

    `class_of[v]` is the class of a value. `rest` is the class that gets what the others leave, -1
    if there is none. `view` is None where the values were drawn in several batches: then `weights`
    have the values of the batches one after the other. `design_effect`: by how much rows that
    publish alike raise a variance.
    """

    weights: Floats
    class_of: Numbers
    rest: int
    view: ChannelView | None
    design_effect: float

    @property
    def size(self) -> int:
        """How many classes."""
        return int(self.weights.shape[0])

    @property
    def class_shares(self) -> Floats:
        """The share of each class in the whole table, as far as the view tells."""
        assert self.view is not None  # noqa: S101 - asked only then
        shares = np.bincount(self.class_of, self.view.shares, self.size)
        return shares.astype(np.float64)

    def control(self, sums: Floats) -> Floats | None:
        """J by published value, from `sums[u, c, :]` of psi(c) over the rows that publish u.

        None where it is not known; leaving it out is safe.
        """
        if self.view is None or isinstance(self.view, CaseView) or self.view.design_effect != 1:
            return None
        view, share = self.view.grouped
        if not view.two_state_holds:
            return None
        reference = sums[:, self.rest] if self.rest >= 0 else _mean(sums, self.class_shares)
        centred = sums - reference[:, None, :]
        everything = centred.sum(axis=0)[self.class_of]
        slope_a, slope_b = _slopes(view)
        having = everything
        if (slope_a != slope_b).any():
            having = np.zeros_like(everything)
            for number in range(self.size):
                chosen = self.class_of == number
                weights = np.nan_to_num(view.weights[chosen])
                having[chosen] = weights @ centred[:, number]
        lacking = everything - having
        usable = view.identifiable
        factor = np.where(usable, 1 / np.where(usable, view.gap, 1.0), 0.0)
        shift = factor * slope_a, factor * slope_b
        control: Floats = (shift[0][:, None] * having + shift[1][:, None] * lacking) / share
        return control

    def returned(self, control: Floats) -> Floats | None:
        """The mean of J over what a row of each class publishes."""
        if self.view is None:
            return None
        back = self.view.returned(control, 0)
        if back is None:
            return None
        shares = self.view.shares
        sums = np.zeros((self.size, control.shape[1]))
        np.add.at(sums, self.class_of, shares[:, None] * back)
        mean: Floats = sums / np.maximum(self.class_shares, 1e-300)[:, None]
        return mean

    def dependence(self, numbers: Floats) -> Floats | None:
        """By how much groups lower the covariance of sums of `numbers[u, :]`; None if not known."""
        view = self.view
        if view is None or isinstance(view, CaseView | NoisedView) or view.design_effect != 1:
            return None
        back = view.returned(numbers, 0)
        twice = None if back is None else view.returned(back, 0)
        if back is None or twice is None:
            return None
        lowered: Floats = (numbers * view.published[:, None]).T @ (back - twice)
        return (lowered + lowered.T) / 2


def classes_of(view: ChannelView, class_of: Numbers, size: int) -> ValueClasses:
    """The classes of a column with one channel."""
    weights, rest = class_weights(view, class_of, size)
    return ValueClasses(weights, class_of, rest, view, view.design_effect)


def classes_of_batches(views: Sequence[ChannelView], class_of: Numbers, size: int) -> ValueClasses:
    """The classes of a column that was drawn in batches."""
    each = [class_weights(view, class_of, size)[0] for view in views]
    effect = max(view.design_effect for view in views)
    return ValueClasses(np.concatenate(each, axis=1), class_of, -1, None, effect)


def class_weights(view: ChannelView, class_of: Numbers, size: int) -> tuple[Floats, int]:
    """The weights by class and published value, and the class that gets what is left."""
    members = np.bincount(class_of, minlength=size)
    unclear = np.unique(class_of[~view.identifiable])
    if unclear.size > 1:
        raise HiddenValueError(np.flatnonzero(~view.identifiable))
    weights = _summed_weights(view, class_of, size)
    if unclear.size == 0 and size == class_of.size:
        # Every value by itself: what corrections miss of 1 is next to nothing.
        missing = 1 - weights.sum(axis=0)
        shares = np.bincount(class_of, view.shares, size)
        return weights + shares[:, None] * missing, -1
    rest = int(unclear[0]) if unclear.size else int(np.argmax(members))
    others = np.delete(weights, rest, axis=0).sum(axis=0)
    weights[rest] = 1 - others
    return weights, rest


def _summed_weights(view: ChannelView, class_of: Numbers, size: int) -> Floats:
    indicator = np.zeros((size, class_of.size))
    indicator[class_of, np.arange(class_of.size)] = 1.0
    if not view.two_state_holds and view.whole is not None:
        inverse = np.linalg.pinv(view.whole)
        return indicator @ inverse.T
    plain = type(view) is type(view.grouped[0]) and not isinstance(view, RandomView)
    if plain and not view.corrected and class_of.size > WHOLE_DOMAIN_LIMIT:
        # Two states, without a matrix of all values.
        usable = view.identifiable
        gap = np.where(usable, view.gap, np.nan)
        missed = np.nan_to_num(np.bincount(class_of, view.b / gap, size))
        return np.nan_to_num(indicator / gap) - missed[:, None]
    return np.nan_to_num(view.row_weights(np.where(view.identifiable, indicator, 0.0)))


def _mean(sums: Floats, shares: Floats) -> Floats:
    mean: Floats = np.einsum("ucp,c->up", sums, shares / shares.sum())
    return mean


def _slopes(view: ChannelView) -> tuple[Floats, Floats]:
    """The derivatives of a and b by the published count."""
    rows = float(view.rows)
    if isinstance(view, RandomView):
        both = np.full(view.published.size, (1 - view.keep) / rows)
        return both, both
    lacking = np.maximum(rows - view.published, 1.0)
    slope_a, slope_b = np.zeros(view.published.size), (1 - view.a) * rows / lacking**2
    if isinstance(view, CommonView):
        places = list(view.common)
        slope_a[places] = slope_b[places] = (1 - view.gap[places]) / rows
    return slope_a, slope_b
