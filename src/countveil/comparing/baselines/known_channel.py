"""Rows randomised one by one through a known matrix, and counts estimated back.

Enters: K[u, v] = P(publish v | true u), codes, a stream; later the rows of predicates. Leaves:
published codes, estimates. Must not know: how K was chosen.

**Estimates.** E[y] = K^T x for the counts of a predicate.

- `unbiased`: solve for x. May be negative.
- `bayes`: the maximum of the likelihood over all possible x, by iterated Bayes until it converges.
  Never negative, adds up to the rows of the predicate.
- `stopped`: one value at a time (the value, or another), from the published counts on, until no
  number moves by more than 1%: the paper's iteration, with the probabilities of this channel.
- `printed`: the same with the matrix that the paper prints for decoy groups, b = f/N, as if these
  had been decoy groups. Wrong for this channel; kept because the paper does not say how it
  estimated, and this may be how it got its figures.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from countveil.comparing.baselines.method import Belief, Codes, Floats, Rows, posterior, tallies
from countveil.comparing.baselines.through import Through, through
from countveil.errors import SettingsError
from countveil.maths.paper import bayes_counts
from countveil.maths.paper.iteration import PAPER_TOLERANCE
from countveil.randomness import Stream

ESTIMATES = ("bayes", "unbiased", "stopped", "printed")
_LAST_WORD, _ROUNDING = np.uint64(2**64 - 1), 1e-15
# Where the likelihood is flat, full convergence takes long and changes no figure.
_TOLERANCE, _MOST_STEPS = 1e-6, 2_000
_STILL = 1e-7
_MIXED = 0.01
# The longest step, in rounds, and the share of itself below which it shrinks no count.
_FURTHEST, _SHRINK = 1_000.0, 0.01


def check_estimate(estimate: str) -> None:
    """Refuse an unknown estimate."""
    if estimate not in ESTIMATES:
        raise SettingsError(f"estimate must be one of {', '.join(ESTIMATES)}, got {estimate!r}.")


def uniform_channel(size: int, keep: float) -> Floats:
    """Keep the value with probability `keep`, else any of the others, all equally likely."""
    channel = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(channel, keep)
    return channel


def randomise(codes: Codes, channel: Floats, stream: Stream) -> Codes:
    """A published code for every row, drawn from the line of its true value.

    A uniform 64-bit word is compared with the cumulative probabilities, as whole numbers.
    """
    edges = np.full((channel.shape[0], channel.shape[1] - 1), _LAST_WORD)
    cumulative = np.cumsum(channel, axis=1)[:, :-1]
    within = cumulative < 1 - _ROUNDING
    edges[within] = (cumulative[within] * 2.0**64).astype(np.uint64)
    words = stream.words(codes.size)
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=channel.shape[0]))
    published = np.empty(codes.size, np.int64)
    first = 0
    for value, end in enumerate(ends.tolist()):
        rows = order[first:end]
        published[rows] = np.searchsorted(edges[value], words[rows], side="right")
        first = end
    return published


@dataclass(frozen=True)
class RandomisedTable:
    """Published codes, and the matrix that made them, which is public."""

    published: Codes
    channel: Floats
    estimate: str = "bayes"

    @property
    def size(self) -> int:
        """Number of values."""
        return int(self.channel.shape[0])

    @cached_property
    def _all_rows(self) -> Floats:
        return np.bincount(self.published, minlength=self.size).astype(np.float64)

    def counts(self, rows: Rows) -> Floats:
        """Estimated counts of every value among these rows."""
        counts: Floats = self.counts_of([rows])[0]
        return counts

    def counts_of(self, predicates: Sequence[Rows]) -> Floats:
        """The same for many predicates."""
        return self._estimated(tallies(self.published, self.size, predicates))

    def totals(self) -> Floats:
        """Estimated counts of the whole table."""
        counts: Floats = self._estimated(self._all_rows[None])[0]
        return counts

    def belief(self) -> Belief:
        """Bayes with the estimated shares: the adversary has what an analyst has."""
        return Belief(posterior(self.channel, self._shares), self.published)

    @cached_property
    def _shares(self) -> Floats:
        """The most likely shares of the true values in the whole table."""
        published = self._all_rows[None]
        rows = published.sum()
        shares: Floats = most_likely(published, self.channel, published[0] / rows)[0] / rows
        return shares

    def _estimated(self, y: Floats) -> Floats:
        if self.estimate == "unbiased":
            return np.linalg.solve(self.channel.T, y.T).T.astype(np.float64)
        if self.estimate == "bayes":
            return most_likely(y, self.channel, self._shares)
        if self.estimate == "printed":
            keep = float(self.channel[0, 0])
            result = bayes_counts(
                y, self._all_rows, [keep], channel="printed", tolerance=PAPER_TOLERANCE
            )
            return result.estimate
        return stopped(y, self._all_rows, self.channel)


def most_likely(y: Floats, channel: Floats, shares: Floats) -> Floats:
    """The counts under which the published ones are most likely, for every line of y.

    Starts from the unbiased answer, cut at 0 and mixed with the answer of independence (`shares`
    of all values); where nothing is negative, the unbiased answer is the result already.
    """
    n = y.sum(axis=1, keepdims=True)
    x: Floats = n * shares
    ways = through(channel)
    plain = ways.undone(y)
    if plain is not None:
        cut = np.maximum(plain, 0.0)
        cut *= n / np.maximum(cut.sum(axis=1, keepdims=True), 1e-300)
        x = (1 - _MIXED) * cut + _MIXED * x
    active = np.arange(len(y))
    for _ in range(_MOST_STEPS):
        before, published, rows = x[active], y[active], n[active]
        after = _two_rounds(before, published, rows, ways)
        x[active] = after
        moved = np.abs(after - before) > _TOLERANCE * np.maximum(rows, 1.0)
        active = active[moved.any(axis=1)]
        if not active.size:
            break
    return x


def _round(x: Floats, y: Floats, channel: Through) -> Floats:
    """One round of Bayes: every published row counts for the values it may come from."""
    expected = channel.sent(x)
    ratio = np.divide(y, expected, out=np.zeros_like(expected), where=expected > 0)
    after: Floats = x * channel.returned(ratio)
    return after


def _two_rounds(x: Floats, y: Floats, n: Floats, channel: Through) -> Floats:
    """Two rounds, extrapolated in their direction (SQUAREM).

    Lines that extrapolation would make less likely keep the result of the two rounds.
    """
    once = _round(x, y, channel)
    twice = _round(once, y, channel)
    step, turn = once - x, twice - 2 * once + x
    size = np.linalg.norm(step, axis=1) / np.maximum(np.linalg.norm(turn, axis=1), 1e-300)
    far = np.clip(size, 1.0, _FURTHEST)[:, None]
    ahead = np.maximum(x + 2 * far * step + far**2 * turn, twice * _SHRINK)
    ahead = _round(ahead * n / np.maximum(ahead.sum(axis=1, keepdims=True), 1e-300), y, channel)
    better = _likelihood(ahead, y, channel) >= _likelihood(twice, y, channel)
    chosen: Floats = np.where(better[:, None], ahead, twice)
    return chosen


def _likelihood(x: Floats, y: Floats, channel: Through) -> Floats:
    """The logarithm, up to what does not depend on x."""
    logarithm: Floats = (y * np.log(np.maximum(channel.sent(x), 1e-300))).sum(axis=1)
    return logarithm


def stopped(y: Floats, all_rows: Floats, channel: Floats) -> Floats:
    """The paper's iteration with these probabilities: four states, from y on, until 1% is reached.

    In P or not, with the value or not. No row moves into or out of P, so the two halves share only
    the moment at which they stop.
    """
    shares = all_rows / all_rows.sum()
    kept = np.diag(channel)
    # Over the rows without s, how likely s is published: the same for all if K is uniform.
    other = (shares @ channel - shares * kept) / np.maximum(1 - shares, 1e-12)
    published = np.stack([all_rows - y, y])
    rows = np.broadcast_to(published.sum(axis=2, keepdims=True), published.shape).reshape(2, -1)
    published = published.reshape(2, -1)
    keep, wrong = np.tile(kept, len(y)), np.tile(other, len(y))
    x = published.copy()
    active = np.arange(x.shape[1])
    for _ in range(_MOST_STEPS):
        before, without = x[:, active], rows[:, active] - x[:, active]
        with_s, sent = published[:, active], rows[:, active] - published[:, active]
        a, b = keep[active], wrong[active]
        after = with_s * _share(a * before, b * without)
        after += sent * _share((1 - a) * before, (1 - b) * without)
        x[:, active] = after
        shift = np.abs(after - before)
        least = PAPER_TOLERANCE * np.minimum(before, without)
        active = active[(shift > np.maximum(least, _STILL)).any(axis=0)]
        if not active.size:
            break
    estimates: Floats = x[1].reshape(y.shape)
    return estimates


def _share(one: Floats, other: Floats) -> Floats:
    both = one + other
    share: Floats = np.divide(one, both, out=np.zeros_like(both), where=both > 0)
    return share
