"""How the errors of totals depend on each other: totals of one column, over rows of any kind.

Enters: published sums by kind of row and value; the channel; for every total the number with which
true values count in each kind of row. Leaves: variances and covariances of the unbiased totals.
Must not know: SQL, groups of an answer. Theory: docs/theory/covariance.md.

A total is a sum over rows of w[r, v], by the kind r of the row and the value v that it publishes. w
depends on the published histogram g, which the same draw made. To first order this adds d[v] to
*every* row of the table that publishes v, in the predicate or not:

    d[v] = - (d_v / d0_v) / N * sum over r and u != v of x[r, u] (w[r, v] - mean[r, u])

where mean[r, u] is the mean of w over the other values in groups of u, and d_v, d0_v are about the
variances of "v is in a group" with and without knowing a row of it. So a total is a sum over all
rows of z w + d, and its covariance with another one has two parts. Rows by themselves:

    sum over rows of E[(z w + d)(z' w' + d')] - E[z w + d] E[z' w' + d']

and what they share because the rows with a value fill the places of this value in groups *without
replacement*. With H[u, v] = sum over r of x[r, u] w[r, v] + f_u d[v], the sum over the rows with u
of what a place beside v contributes, that is for groups of different values

    - (1/ell)^2 sum over u of Cov(sum of H[u, v] over the other values v of a group of u) / f_u

and the covariance in a group is that of sampling without replacement with the chances b/a. For
random groups, see `_random_groups`. Noise before groups adds its own covariance. x are estimates;
what noise adds to their squares is taken off (`_calmed`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.case_view import CaseView
from countveil.maths.channel.noised_view import NoisedView
from countveil.maths.channel.skewed_views import RandomView

Floats = NDArray[np.float64]
# The sum, by kind of row and published value, of the product of two arguments (None is 1). With one
# more axis in front: of one predicate for all totals, or of one for each.
Moments = Callable[[int | None, int | None], Floats]


def knows_covariance(view: ChannelView) -> bool:
    """Whether the channel is known so well that what rows share can be computed."""
    return bool(view.grouped[0].two_state_holds)


@dataclass(frozen=True)
class Influence:
    """Totals of one argument as sums over rows: by total, kind of row and value.

    `counting` are the numbers of true values, `weights` those of published ones, `shift` and
    `mean_shift` are d and W d.
    """

    argument: int | None
    counting: Floats
    weights: Floats
    shift: Floats
    mean_shift: Floats


class SharedDraw:
    """One draw of one column, seen by kinds of rows that have no row in common.

    With `true`, moments are not those of the release: these rows have each value, and publish what
    is expected of them.
    """

    def __init__(self, view: ChannelView, moments: Moments, true: Floats | None = None) -> None:
        self._effect = view.design_effect
        self._noise = view if isinstance(view, NoisedView) else None
        core = view.cases if isinstance(view, CaseView) else view
        self._view = core.groups if isinstance(core, NoisedView) else core
        self._moments = moments
        self._known = None if true is None else self._noised(true)
        if self._known is not None:
            published = self._sent(self._known)
            self._moments = lambda _one, _two: published
        self._sums: dict[int | None, Floats] = {}

    def influence(self, counting: Floats, weights: Floats, argument: int | None) -> Influence:
        """Of totals, from the numbers of true values and the weights of published ones."""
        sums = self.true_sums(argument)
        shape = (max(counting.shape[0], sums.shape[0]), *counting.shape[1:])
        counting, weights = np.broadcast_to(counting, shape), np.broadcast_to(weights, shape)
        if self._noise is not None:
            missed = (counting * self._noise_chances).sum(axis=-1, keepdims=True)
            weights = (1 - self._noise.gamma) * weights + missed
        shift = self._shift(weights, counting, sums)
        return Influence(argument, counting, weights, shift, self._returned(shift))

    def variance(self, one: Influence) -> Floats:
        """Of every total."""
        return np.maximum(self.covariance(one, one, paired=True), 0.0)

    def covariance(self, one: Influence, two: Influence, *, paired: bool = False) -> Floats:
        """Of all totals with all others; `paired`: of the first with the first, and so on."""
        shared = self._random_groups if isinstance(self._view, RandomView) else self._places
        total = self._by_rows(one, two, paired) + shared(one, two, paired)
        if self._noise is None:
            return total
        noised: Floats = (total + self._by_noise(one, two, paired)) / (1 - self._noise.gamma) ** 2
        return noised

    def true_sums(self, argument: int | None) -> Floats:
        """Estimates of the sums by kind of row and true value, calm enough to be squared."""
        if self._known is not None:
            return self._known
        if argument not in self._sums:
            published = self._moments(None, argument)
            self._sums[argument] = self._calmed(published, self._moments(argument, argument))
        return self._sums[argument]

    def _calmed(self, published: Floats, squares: Floats) -> Floats:
        """Independence, and of the departures from it as much as noise does not explain."""
        view = self._view
        shares = view.published / max(float(view.published.sum()), 1.0)
        expected = published.sum(axis=-1, keepdims=True) * shares
        # Relative to its variance under independence, the mean square of noise alone is 1.
        scale = np.maximum(view.published, 1.0)
        having = squares.sum(axis=-1, keepdims=True) * shares
        lacking = squares.sum(axis=-1, keepdims=True) * (1 - shares)
        with np.errstate(invalid="ignore", divide="ignore"):
            departure = np.nan_to_num(view.undone(published) - expected)
            noise = having * view.a * (1 - view.a) + lacking * view.b * (1 - view.b)
            noise = self._effect * np.where(view.identifiable, noise / view.gap**2, 0.0)
        shown = (departure**2 / scale).sum(axis=-1, keepdims=True)
        chance = (noise / scale).sum(axis=-1, keepdims=True)
        kept = np.sqrt(np.maximum(1 - chance / np.maximum(shown, 1e-300), 0.0))
        calmed: Floats = expected + kept * departure
        return calmed

    def _shift(self, weights: Floats, counting: Floats, sums: Floats) -> Floats:
        """d: by how much one more row that publishes v, anywhere, moves each total."""
        view = self._view
        if isinstance(view, RandomView):
            moved = (counting * sums.sum(axis=-1, keepdims=True)).sum(axis=1)
            return np.asarray(-moved * (1 - view.keep) / (view.rows * view.gap))
        d, alone = view.beside.sampled, view.beside.alone
        # The mean of w over the values beside each true one.
        mean = (weights @ d)[..., None] - weights * alone
        mean = mean / np.maximum(d.sum() - alone, 1e-12)
        beside = sums.sum(axis=-1, keepdims=True) - sums * (alone > 0)
        means = (mean * sums).sum(axis=-1, keepdims=True) - mean * sums * (alone > 0)
        moved = (weights * beside - means).sum(axis=1)
        shift: Floats = -moved * view.beside.slopes / view.rows
        return np.where(view.published > 0, shift, 0.0)

    def _sent(self, counts: Floats) -> Floats:
        """W^T x; by two states where W is too large to be known."""
        sent = self._view.sent(counts)
        if sent is None:
            total = counts.sum(axis=-1, keepdims=True)
            return np.asarray(self._view.gap * counts + total * self._view.b)
        return sent

    def _returned(self, numbers: Floats) -> Floats:
        """W r, likewise."""
        back = self._view.returned(numbers)
        if back is None:
            return np.asarray(self._view.gap * numbers + (numbers @ self._view.b)[..., None])
        return back

    def _by_rows(self, one: Influence, two: Influence, paired: bool) -> Floats:
        """As if rows were drawn independently of each other."""
        product = self._effect * self._moments(one.argument, two.argument)
        g = self._view.published
        total = _dot(one.weights * product, two.weights, paired)
        total = total - _dot(one.counting * self._undone(product), two.counting, paired)
        total = total + _dot(one.shift * g, two.shift, paired)
        total = total - _dot(one.mean_shift * g, two.mean_shift, paired)
        cross = self._with_shift(one, two, paired)
        turned = cross if two is one else self._with_shift(two, one, paired)
        return total + cross + turned.T

    def _with_shift(self, one: Influence, two: Influence, paired: bool) -> Floats:
        """The rows of one total with the shift of the other, which all rows have."""
        published, counted = self._of_rows(one)
        cross = _dot(published, two.shift, paired)
        return cross - _dot(counted, two.mean_shift, paired)

    def _of_rows(self, one: Influence) -> tuple[Floats, Floats]:
        """By total and value: the sum of w over published rows, of what counts over true ones."""
        sums = self._moments(None, one.argument)
        true = self._undone(sums)
        return (one.weights * sums).sum(axis=1), (one.counting * true).sum(axis=1)

    def _undone(self, published: Floats) -> Floats:
        """Estimates of true sums, as noisy as they are: they enter linearly."""
        with np.errstate(invalid="ignore", divide="ignore"):
            true = self._view.undone(published)
        expected = published.sum(axis=-1, keepdims=True) * self._view.shares
        return np.where(np.isfinite(true), true, expected)

    def _places(self, one: Influence, two: Influence, paired: bool) -> Floats:
        """Groups of different values: rows with a value fill its places without replacement."""
        arguments = list(dict.fromkeys([one.argument, two.argument]))
        first = self._factors(one, arguments)
        second = first if two is one else self._factors(two, arguments)
        total: Floats = np.zeros(1)
        for sign, left, right in zip((1.0, -1.0, -1.0), first, second, strict=True):
            total = total + sign * _dot(left, right, paired)
        return -(self._view.keep**2) * total

    def _factors(
        self, one: Influence, arguments: Sequence[int | None]
    ) -> tuple[Floats, Floats, Floats]:
        """Of the sum over u: all values beside, less the value itself, less the mean squared."""
        d, alone = self._view.beside.sampled, self._view.beside.alone
        f = np.maximum(self._view.published, 1.0)
        each = [self.true_sums(argument) for argument in arguments]
        # The shift is that of one more kind of row, which has all rows of the table.
        table = np.broadcast_to(self._view.published, (each[0].shape[0], 1, f.size))
        sums = np.concatenate([*each, table], axis=1)
        blocks = [one.weights if one.argument == a else 0 * one.weights for a in arguments]
        weights = np.concatenate([*blocks, one.shift[:, None]], axis=1)
        scaled = sums / np.sqrt(f)
        # Of two kinds of rows, the sum over u of x x' / f: its square root.
        squares, turns = np.linalg.eigh(scaled @ np.swapaxes(scaled, -1, -2))
        root = turns * np.sqrt(np.maximum(squares, 0.0))[..., None, :]
        everywhere = (np.swapaxes(root, -1, -2) @ weights) * np.sqrt(d)
        itself = (weights * sums).sum(axis=1)
        mean = ((weights @ d)[..., None] * sums).sum(axis=1) - itself * alone
        centre = mean / np.sqrt(f * np.maximum(d.sum() - alone, 1e-12))
        return everywhere, itself * np.sqrt(alone / f), centre

    def _random_groups(self, one: Influence, two: Influence, paired: bool) -> Floats:
        """Groups of any rows: two rows of a group may each publish the value of the other.

        k (1 - k) times the sum over kinds of B[r, s] B'[s, r] / N, with B[r, s] the sum over u of
        w[r, u] times the rows of kind s with u beyond independence; less N times the covariance,
        over values, of the mean over rows of z w + d.
        """
        view = self._view
        k, n, shares = view.keep, float(view.rows), view.shares
        beyond, means = [], []
        for each, other in ((one, two), (two, one)):
            sums = self.true_sums(other.argument)
            departures = sums - sums.sum(axis=-1, keepdims=True) * shares
            beyond.append(each.weights @ np.swapaxes(departures, -1, -2))
            rows = self._moments(None, each.argument).sum(axis=-1, keepdims=True)
            mean = (each.weights * rows).sum(axis=1) / n + each.shift
            means.append((mean - (mean @ shares)[:, None]) * np.sqrt(shares))
        pairs = _dot(beyond[0], np.swapaxes(beyond[1], 1, 2), paired) / n
        return k * (1 - k) * (pairs - n * _dot(means[0], means[1], paired))

    @cached_property
    def _noise_chances(self) -> Floats:
        """The chance that noise puts each value in the place of another."""
        assert self._noise is not None  # noqa: S101 - asked only then
        declared = np.arange(self._view.published.size) < self._noise.declared
        return np.where(declared, self._noise.gamma / self._noise.declared, 0.0)

    def _noised(self, true: Floats) -> Floats:
        """What rows have after the noise, on average."""
        if self._noise is None:
            return true
        more = true.sum(axis=-1, keepdims=True) * self._noise_chances
        noised: Floats = (1 - self._noise.gamma) * true + more
        return noised

    def _by_noise(self, one: Influence, two: Influence, paired: bool) -> Floats:
        """What the noise before groups adds."""
        assert self._noise is not None  # noqa: S101 - asked only then
        product, gamma = self._moments(one.argument, two.argument), self._noise.gamma
        noised = self._undone(product)
        chance = self._noise_chances
        true = (noised - product.sum(axis=-1, keepdims=True) * chance) / (1 - gamma)
        means = [
            (1 - gamma) * each.counting + (each.counting @ chance)[..., None] for each in (one, two)
        ]
        total = _dot(one.counting * noised, two.counting, paired)
        return total - _dot(means[0] * true, means[1], paired)


def _dot(one: Floats, two: Floats, paired: bool) -> Floats:
    """Inner products of all with all, or of each with its partner."""
    first, second = one.reshape(one.shape[0], -1), two.reshape(two.shape[0], -1)
    product: Floats = np.einsum("tx,tx->t", first, second) if paired else first @ second.T
    return product
