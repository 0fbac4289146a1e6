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

    `dropped` rows of the table are not among them, and nobody knows which.
    """

    rows: int
    ell: int
    dropped: int = 0
    draws: int = 1

    def staying_p_values(self, stayed: Codes, counted: Codes, inside: Codes) -> Floats:
        """Two-sided, set by set: `stayed` of `counted` rows publish a value of their own set.

        A set has `inside` rows; counted may be some of them, chosen without looking at the draws.
        Their number in a group, given M, then has at most the moments of a binomial one.
        """
        return self._two_sided(stayed, inside, counted)

    def published_p_values(self, published: Codes, inside: Codes) -> Floats:
        """Two-sided, set by set: `published` rows publish a value of a set with `inside` rows."""
        return self._two_sided(published, inside, None)

    def _two_sided(self, successes: Codes, inside: Codes, counted: Codes | None) -> Floats:
        groups = self.rows // self.ell
        size, larger = divmod(self.rows, groups)
        # More rows in the set, more successes: each tail takes its own end of what is possible.
        least = np.maximum(inside - self.dropped, 0 if counted is None else counted)
        most = np.minimum(inside, self.rows)
        bounds = np.zeros(successes.size)
        for within, tilts in ((most, TILTS[TILTS > 0]), (least, TILTS[TILTS < 0])):
            shares = None if counted is None else counted / np.maximum(within, 1)
            largest = size + (larger > 0)
            theta = np.log1p(np.expm1(tilts) / largest) * (largest if counted is None else 1)
            moments = theta[:, None] * (within if counted is None else counted)
            for members, number in ((size, groups - larger), (size + 1, larger)):
                if number:
                    logs = _log_hypergeometric(within, self.rows, members)
                    moments += number * _log_moments(tilts, theta, logs, shares)
            gains = self.draws * moments - tilts[:, None] * successes
            bounds = np.minimum(bounds, gains.min(axis=0))
        p_values: Floats = np.minimum(1.0, 2 * np.exp(bounds))
        return p_values


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
    most = terms.max(axis=1, keepdims=True)
    sums: Floats = most[:, 0] + np.log(np.exp(terms - most).sum(axis=1))
    return sums
