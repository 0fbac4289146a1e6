"""How likely a figure is by chance where groups are random: bounds proven for any sample.

Enters: counts of sets of values, and what rows of these sets publish. Leaves: p-values. Must not
know: attacks, single values.

In a group of s rows, M of them in a set, each of the M publishes a value of the set with chance
M / s, and so does any other row of the group. Given the groups, rows are independent. The numbers M
of all groups come from one random order of the rows, and are negatively associated (Joag-Dev and
Proschan 1983). The mean of a product of functions of them, all rising or all falling, is at most
the product of the means, each with M hypergeometric: exact. So the exponential moment of the sum is
bounded group by group, and Chernoff's bound is proven.

All M add up to the rows of the set. So each function may be divided by exp(theta M) and the product
multiplied by exp(theta x all of them), as long as it still rises, or falls, everywhere. Theta is
chosen so that groups without and with one row of the set count the same. For a rare value the bound
is then that of a binomial count.

With noise before the groups, M rows of a group are in the set and a number M' of its rows were
noised into it: a sum of independent events, with one chance for the M and another one for the rest.
Each row then publishes a value of the set with chance M' / s. Rows are noised independently, so the
same bound holds with the mean over M' in the place of each function of M, which still rises, or
falls, with M.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.chance import TILTS

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class RandomGroups:
    """Random groups of at least `ell` of these rows, formed and drawn `draws` times.

    `dropped` rows of the table are not among them, and nobody knows which. Before, every row took
    one of `declared` values at random with probability `gamma`.
    """

    rows: int
    ell: int
    dropped: int = 0
    draws: int = 1
    gamma: float = 0.0
    declared: int = 1

    def staying_p_values(
        self, stayed: Codes, counted: Codes, inside: Codes, values: Codes | int = 1
    ) -> Floats:
        """Two-sided, set by set: `stayed` of `counted` rows publish a value of their own set.

        A set has so many `values` and `inside` rows; counted may be some of them, chosen without
        looking at the draws. Their number in a group, given M, then has at most the moments of a
        binomial one.
        """
        return self._two_sided(stayed, inside, counted, values)

    def published_p_values(
        self, published: Codes, inside: Codes, values: Codes | int = 1
    ) -> Floats:
        """Two-sided, set by set: `published` rows publish a value of a set with `inside` rows."""
        return self._two_sided(published, inside, None, values)

    def _two_sided(
        self, successes: Codes, inside: Codes, counted: Codes | None, values: Codes | int
    ) -> Floats:
        # Thousands of rare values have the same few counts.
        given = [successes, inside, np.broadcast_to(values, inside.shape)]
        alike = np.array(given if counted is None else [*given, counted])
        each, number = np.unique(alike, axis=1, return_inverse=True)
        successes, inside, n_values = each[:3]
        counted = None if counted is None else each[3]
        # More rows in the set, more successes: each tail takes its own end of what is possible.
        least = np.maximum(inside - self.dropped, 0 if counted is None else counted)
        most = np.minimum(inside, self.rows)
        bounds = np.zeros(successes.size)
        for within, tilts in ((most, TILTS[TILTS > 0]), (least, TILTS[TILTS < 0])):
            moments = self.log_moments(tilts, within, counted, n_values)
            gains = self.draws * moments - tilts[:, None] * successes
            bounds = np.minimum(bounds, gains.min(axis=0))
        p_values: Floats = np.minimum(1.0, 2 * np.exp(bounds))
        return p_values[number.ravel()]

    def log_moments(
        self, tilts: Floats, within: Codes, counted: Codes | None, values: Codes
    ) -> Floats:
        """Bounds of log E exp(tilt x successes), by tilt (all of one sign) and by set."""
        groups = self.rows // self.ell
        size, larger = divmod(self.rows, groups)
        sizes = [(members, n) for members, n in ((size, groups - larger), (size + 1, larger)) if n]
        shares = None if counted is None else counted / np.maximum(within, 1)
        hypergeometric = [_log_hypergeometric(within, self.rows, members) for members, _ in sizes]
        if self.gamma:
            means = [self._noised(tilts, members, shares, values) for members, _ in sizes]
            steps = np.concatenate([np.diff(mean, axis=2) for mean in means], axis=2)
            slope = steps.min(axis=2) if tilts[0] > 0 else steps.max(axis=2)
            moments: Floats = slope * within
            for (members, n), logs, mean in zip(sizes, hypergeometric, means, strict=True):
                terms = logs + mean - slope[:, :, None] * np.arange(members + 1)
                moments += n * _log_sums(terms)
            return moments
        largest = sizes[-1][0]
        theta = np.log1p(np.expm1(tilts) / largest) * (largest if counted is None else 1)
        moments = theta[:, None] * (within if counted is None else counted)
        for (_, n), logs in zip(sizes, hypergeometric, strict=True):
            moments += n * _log_moments(tilts, theta, logs, shares)
        return moments

    def _noised(self, tilts: Floats, size: int, shares: Floats | None, values: Codes) -> Floats:
        """Log E exp(tilt x successes in a group | M rows of the set), by tilt, set and M."""
        taken = self.gamma * values / self.declared
        after = _noised_members(size, 1 - self.gamma + taken, taken)
        members = np.arange(size + 1)
        means = np.empty((tilts.size, values.size, size + 1))
        for place, tilt in enumerate(tilts.tolist()):
            raised = 1 + math.expm1(tilt) * members / size
            if shares is None:
                means[place] = np.log(after @ raised**size)
            else:
                each = 1 + shares[:, None] * (raised - 1)
                powers = each[:, None, :] ** members[None, :, None]
                means[place] = np.log((after * powers).sum(axis=2))
        return means


def _log_moments(tilts: Floats, theta: Floats, logs: Floats, shares: Floats | None) -> Floats:
    """Logarithms of E exp(tilt x successes in one group - theta x members), by tilt and by set.

    Successes and members are rows of the set that count, a share of all of them; without shares
    all rows of the group may succeed, and all rows of the set are members.
    """
    size = logs.shape[1] - 1
    members = np.arange(size + 1)
    moments = np.empty((tilts.size, logs.shape[0]))
    for place, (tilt, less) in enumerate(zip(tilts.tolist(), theta.tolist(), strict=True)):
        raised = math.expm1(tilt) * members / size
        if shares is None:
            terms = logs + size * np.log1p(raised) - less * members
        else:
            each = (1 + raised) * math.exp(-less) - 1
            terms = logs + members * np.log1p(shares[:, None] * each)
        moments[place] = _log_sums(terms)
    return moments


def _noised_members(size: int, kept: Floats, taken: Floats) -> Floats:
    """P(M' of a group's rows were noised into a set | M are in it), by set, M and M'."""
    chances = np.zeros((kept.size, size + 1, size + 1))
    chances[:, :, 0] = 1.0
    for inside in range(size + 1):
        here = chances[:, inside]
        for member in range(size):
            chance = (kept if member < inside else taken)[:, None]
            here[:, 1:] = here[:, 1:] * (1 - chance) + here[:, :-1] * chance
            here[:, :1] *= 1 - chance
    return chances


def _log_hypergeometric(inside: Codes, rows: int, size: int) -> Floats:
    """Logarithms of P(M = m), m = 0 to size: `inside` of `rows` are in the set, `size` are drawn.

    By ratios of neighbours: millions of groups multiply the error of every other way.
    """
    m = np.arange(1, size + 1)
    left = inside[:, None] - m + 1
    outside = rows - inside[:, None] - size + m
    possible = (left > 0) & (outside > 0)
    ratios = np.log(np.where(possible, left * (size - m + 1.0), 1.0))
    ratios -= np.log(np.where(possible, m * outside.astype(np.float64), 1.0))
    logs = np.concatenate([np.zeros((inside.size, 1)), np.cumsum(ratios, axis=1)], axis=1)
    whole = np.arange(size + 1)
    least, most = np.maximum(0, size - (rows - inside)), np.minimum(size, inside)
    logs[(whole < least[:, None]) | (whole > most[:, None])] = -np.inf
    normal: Floats = logs - _log_sums(logs)[:, None]
    return normal


def _log_sums(terms: Floats) -> Floats:
    most = terms.max(axis=-1, keepdims=True)
    sums: Floats = most[..., 0] + np.log(np.exp(terms - most).sum(axis=-1))
    return sums
