"""Rows randomised one by one through a known matrix, and counts estimated back.

Enters: K[u, v] = P(publish v | true u), codes, a stream; later the rows of predicates. Leaves:
published codes, estimates. Must not know: how K was chosen.

**Estimates.** E[y] = K^T x for the counts of a predicate.

- `unbiased`: solve for x. May come out negative.
- `bayes`: the maximum of the likelihood over all x that could be, by iterated Bayes from the
  independent answer until nothing moves. Never negative, adds up to the rows of the predicate.
- `stopped`: one value at a time, as value / other, from the published counts on, until no number
  moves by more than 1%: the iteration of the paper, with the probabilities of this channel.
- `printed`: the same with the matrix that the paper prints for decoy groups, b = f/N, as if these
  had been decoy groups. Wrong for this channel; kept because the paper does not say how it
  estimated, and what it reports has to come from somewhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from countveil.baselines.contract import Belief, Codes, Floats, Rows, posterior, tallies
from countveil.errors import SettingsError
from countveil.estimate import bayes_counts
from countveil.estimate.bayes import PAPER_TOLERANCE
from countveil.randomness import Stream

ESTIMATES = ("bayes", "unbiased", "stopped", "printed")
_WORDS = 2**64
_TOLERANCE, _MOST_STEPS = 1e-6, 2_000
_STILL = 1e-7


def check_estimate(estimate: str) -> None:
    """Refuse an unknown estimate."""
    if estimate not in ESTIMATES:
        raise SettingsError(f"estimate must be one of {', '.join(ESTIMATES)}, got {estimate!r}.")


def uniform_channel(size: int, keep: float) -> Floats:
    """Keep the value with probability `keep`, else any of the others, all alike."""
    channel = np.full((size, size), (1 - keep) / (size - 1))
    np.fill_diagonal(channel, keep)
    return channel


def randomise(codes: Codes, channel: Floats, stream: Stream) -> Codes:
    """A published code for every row, drawn from the line of its true value.

    A uniform 64-bit word is compared with the cumulative probabilities, as whole numbers.
    """
    cumulative = np.cumsum(channel, axis=1)
    limits = [[min(int(p * _WORDS), _WORDS - 1) for p in line] for line in cumulative[:, :-1]]
    edges = np.array(limits, np.uint64).reshape(channel.shape[0], channel.shape[1] - 1)
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
    def _everybody(self) -> Floats:
        return np.bincount(self.published, minlength=self.size).astype(np.float64)

    def counts(self, rows: Rows) -> Floats:
        """Estimated counts of every value among these rows."""
        found: Floats = self.counts_of([rows])[0]
        return found

    def counts_of(self, predicates: Sequence[Rows]) -> Floats:
        """The same for many predicates."""
        return self._estimated(tallies(self.published, self.size, predicates))

    def totals(self) -> Floats:
        """Estimated counts of the whole table."""
        found: Floats = self._estimated(self._everybody[None])[0]
        return found

    def belief(self) -> Belief:
        """Bayes with the estimated shares: the adversary has what everybody has."""
        if self.estimate == "bayes":
            shares = self.totals()
        else:
            shares = most_likely(self._everybody[None], self.channel)[0]
        return Belief(posterior(self.channel, shares / shares.sum()), self.published)

    def _estimated(self, y: Floats) -> Floats:
        if self.estimate == "unbiased":
            return np.linalg.solve(self.channel.T, y.T).T.astype(np.float64)
        if self.estimate == "bayes":
            return most_likely(y, self.channel)
        if self.estimate == "printed":
            keep = float(self.channel[0, 0])
            result = bayes_counts(
                y, self._everybody, [keep], channel="printed", tolerance=PAPER_TOLERANCE
            )
            return result.estimate
        return stopped(y, self._everybody, self.channel)


def most_likely(y: Floats, channel: Floats) -> Floats:
    """The counts under which the published ones are most likely, for every line of y."""
    n = y.sum(axis=1, keepdims=True)
    x = np.repeat(n / y.shape[1], y.shape[1], axis=1)
    for _ in range(_MOST_STEPS):
        expected = x @ channel
        ratio = np.divide(y, expected, out=np.zeros_like(y), where=expected > 0)
        after = x * (ratio @ channel.T)
        moved = np.abs(after - x) > _TOLERANCE * np.maximum(n, 1.0)
        x = after
        if not moved.any():
            break
    return x


def stopped(y: Floats, everybody: Floats, channel: Floats) -> Floats:
    """The paper's iteration with these probabilities: four states, from y on, to the first 1%.

    In P or not, with the value or not. Whether a row is in P is never changed, so the two parts
    share nothing but the moment at which they stop.
    """
    own = np.diag(channel)
    shares = everybody / everybody.sum()
    # Over the rows without s, how likely s is published: the same for all if K is uniform.
    other = (shares @ channel - shares * own) / np.maximum(1 - shares, 1e-12)
    seen = np.stack([everybody - y, y])
    rows = seen.sum(axis=2, keepdims=True)
    x = np.maximum(seen, 0.0)
    resting = np.zeros(y.shape, bool)
    for _ in range(_MOST_STEPS):
        with np.errstate(divide="ignore", invalid="ignore"):
            told = own * x / (own * x + other * (rows - x))
            untold = (1 - own) * x / ((1 - own) * x + (1 - other) * (rows - x))
        after = seen * np.nan_to_num(told) + (rows - seen) * np.nan_to_num(untold)
        after = np.where(resting, x, after)
        shift = np.abs(after - x)
        moved = (shift > np.maximum(PAPER_TOLERANCE * x, _STILL)) | (
            shift > np.maximum(PAPER_TOLERANCE * (rows - x), _STILL)
        )
        x, resting = after, resting | ~moved.any(axis=0)
        if resting.all():
            break
    found: Floats = x[1]
    return found
