"""Exposure: how strongly an informed adversary believes a person's true value, before and after.

Enters: people with their plain columns and true values, the rows of a release, the channel. Leaves:
an `Exposure`: for each person asked about, the belief in the true value. Must not know: files,
names of values.

**The adversary** knows how the sensitive value depends on the plain columns, as somebody would who
had seen the true values of other people (`classifier` and `cells`, each trained on people other
than the one in question, and pooled). That is his belief *before*: it needs no release. He then
looks for the rows of the release that have the person's plain values. If there is one, it is the
person's; if there are k, each is with probability 1/k, and his belief *after* is the mean of the
k beliefs that Bayes' rule gives with the channel:

    after = mean over these rows of  prior(u) P(y | u) / sum over v of prior(v) P(y | v)

with u the true value and y what the row publishes. What is already certain before, the plain
columns give away, whatever is done to the sensitive one; the difference is what the release adds.

**Pooling.** log belief = a log(classifier) + b log(cells) + constant, with the a and b of a small
grid that make the true values most likely: two numbers for all people together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.maths.adversary.cells import Cells
from countveil.maths.adversary.classifier import Codes, Floats32, KnownColumn, Model
from countveil.maths.channel import ChannelView
from countveil.randomness import Stream

Floats = NDArray[np.float64]

LEVELS = (0.5, 0.9, 0.99)
_ONE_IN = 100
_MOST_PEOPLE, _LEAST_PEOPLE, _WORK = 100_000, 2_000, 4_000_000_000
_MANY_ROWS, _CHUNK_NUMBERS = 64, 1 << 22
_WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.25)
_POOLED_ON = 2_000
_LEAST_BELIEF = 1e-9


@dataclass(frozen=True)
class Linked:
    """People and the rows of a release, by plain values: equal keys, equal values.

    `truth` and `keys` have an entry per person, `released` and `released_keys` one per row.
    """

    truth: Codes
    keys: Codes
    released: Codes
    released_keys: Codes

    @property
    def alone(self) -> float:
        """The share of people whose plain values nobody else has."""
        return float((np.bincount(self.keys)[self.keys] == 1).mean())


@dataclass(frozen=True)
class Exposure:
    """Beliefs in the true values of people, without the release and with it.

    Attributes:
        people: The places of those asked about.
        before: The belief in each one's true value without the release.
        after: The same with the release.
        of: How many people there are.
        alone: The share of people whose plain values nobody else has.
        chain: The numbers of the plain columns that say most about the value together, the first
            one most.
    """

    people: Codes
    before: Floats
    after: Floats
    of: int
    alone: float
    chain: Sequence[int] = ()

    @property
    def most_exposed(self) -> NDArray[np.bool_]:
        """Which of the people are the 1% that are believed most, once the release is there."""
        return np.asarray(self.after >= self.reached(self.after))

    @staticmethod
    def reached(beliefs: Floats) -> float:
        """The belief that 1 in 100 people reach or exceed.

        Args:
            beliefs: Beliefs in the true values of people.

        Returns:
            The belief.
        """
        place = -(-beliefs.size // _ONE_IN)
        return float(np.sort(beliefs)[-place])

    def share_above(self, level: float) -> tuple[float, float]:
        """The share of people believed at a level or more.

        Args:
            level: The level.

        Returns:
            The share before the release, and after it.
        """
        return float((self.before >= level).mean()), float((self.after >= level).mean())

    def as_dict(self) -> dict[str, object]:
        """The figures, for JSON."""
        worst = self.most_exposed
        return {
            "people": self.of,
            "asked_about": int(self.people.size),
            "alone_in_plain_values": self.alone,
            "average": _pair(float(self.before.mean()), float(self.after.mean())),
            "share_believed_at_least": {
                str(level): _pair(*self.share_above(level)) for level in LEVELS
            },
            "one_in_100_believed_at_least": _pair(
                self.reached(self.before), self.reached(self.after)
            ),
            "most_exposed_1_percent": _pair(
                float(self.before[worst].mean()), float(self.after[worst].mean())
            ),
        }


def _pair(before: float, after: float) -> dict[str, float]:
    return {"without_release": before, "with_release": after}


def published_chances(view: ChannelView, published: Codes) -> Floats:
    """P(published | true) as anybody works it out from the release alone."""
    if view.whole is not None:
        # A value that no row publishes has no row in the channel; take the average one.
        empty = view.whole.sum(axis=1) == 0
        share = published / max(1, int(published.sum()))
        return np.where(empty[:, None], share, view.whole)
    known = view.returned(np.eye(published.size), axis=0)
    if known is not None:
        return known
    whole = np.tile(view.b, (published.size, 1))
    np.fill_diagonal(whole, view.a)
    channel: Floats = whole / whole.sum(axis=1, keepdims=True)
    return channel


def measure_exposure(
    columns: Sequence[KnownColumn], linked: Linked, channel: Floats, stream: Stream
) -> Exposure:
    """The exposure of all people, or of evenly spread ones of very many."""
    n_people, n_values = linked.truth.size, channel.shape[0]
    most = min(_MOST_PEOPLE, max(_LEAST_PEOPLE, _WORK // n_values**2))
    people = np.linspace(0, n_people - 1, min(n_people, most)).astype(np.int64)
    prior, chain = _prior(columns, linked.truth, people, n_values, stream)
    truth = linked.truth[people]
    before = prior[np.arange(people.size), truth].astype(np.float64)
    after = np.empty(people.size)
    rows = _Rows(linked, n_values)
    step = max(1, _CHUNK_NUMBERS // n_values)
    table = channel.astype(np.float32)
    for start in range(0, people.size, step):
        some = slice(start, start + step)
        total = np.maximum(prior[some] @ table, 1e-30)
        evidence = table[truth[some]] / total
        after[some] = before[some] * rows.mean_evidence(linked.keys[people[some]], evidence)
    # Rounding may go a little beyond certainty.
    return Exposure(people, before, np.minimum(after, 1.0), n_people, linked.alone, chain)


class _Rows:
    """The rows of the release by their keys."""

    def __init__(self, linked: Linked, n_values: int) -> None:
        n_keys = int(max(linked.keys.max(initial=0), linked.released_keys.max(initial=0))) + 1
        order = np.argsort(linked.released_keys, kind="stable")
        self._published, self._n_values = linked.released[order], n_values
        self._size = np.bincount(linked.released_keys, minlength=n_keys)
        self._start = np.cumsum(self._size) - self._size

    def mean_evidence(self, keys: Codes, evidence: Floats32) -> Floats:
        """The mean, over the rows with a person's key, of what the row's value says about him.

        1, which changes nothing, where the release has no such row.
        """
        mean = np.ones(keys.size)
        size = self._size[keys]
        few = np.flatnonzero((size > 0) & (size <= _MANY_ROWS))
        person = np.repeat(few, size[few])
        ends = np.cumsum(size[few])
        within = np.arange(person.size) - np.repeat(ends - size[few], size[few])
        shown = self._published[self._start[keys[person]] + within]
        sums = np.bincount(person, evidence[person, shown], minlength=keys.size)
        mean[few] = sums[few] / size[few]
        many = np.flatnonzero(size > _MANY_ROWS)
        for key in np.unique(keys[many]).tolist():
            people = many[keys[many] == key]
            rows = self._published[self._start[key] : self._start[key] + self._size[key]]
            share = np.bincount(rows, minlength=self._n_values) / rows.size
            mean[people] = evidence[people] @ share
        return mean


def _prior(
    columns: Sequence[KnownColumn], truth: Codes, people: Codes, n_values: int, stream: Stream
) -> tuple[Floats32, Sequence[int]]:
    """Beliefs without a release, each from people other than the one in question."""
    counts = np.bincount(truth, minlength=n_values)
    shares = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum()
    if not columns:
        return np.tile(shares.astype(np.float32), (people.size, 1)), ()
    half = stream.below(2, truth.size)
    added = np.zeros((people.size, n_values), np.float32)
    together = np.zeros((people.size, n_values), np.float32)
    chain: Sequence[int] = ()
    for side in (0, 1):
        others = np.flatnonzero(half != side)
        asked = np.flatnonzero(half[people] == side)
        if not others.size or not asked.size:
            added[asked] = together[asked] = shares
            continue
        model = Model(columns, shares)
        model.learn(others, truth, np.eye(n_values), stream)
        added[asked] = model.beliefs(people[asked])
        cells = Cells(columns, truth, others, shares)
        together[asked] = cells.beliefs(people[asked])
        chain = cells.chain
    return _pooled(added, together, truth[people]), chain


def _pooled(first: Floats32, second: Floats32, truth: Codes) -> Floats32:
    """Both beliefs in one, as the true values are most likely."""
    logs = [np.log(np.maximum(beliefs, _LEAST_BELIEF)) for beliefs in (first, second)]
    some = np.linspace(0, truth.size - 1, min(truth.size, _POOLED_ON)).astype(np.int64)
    few, here = [log[some] for log in logs], np.arange(some.size)

    def loss(weights: tuple[float, float]) -> float:
        scores = weights[0] * few[0] + weights[1] * few[1]
        most = scores.max(axis=1)
        total = most + np.log(np.exp(scores - most[:, None]).sum(axis=1))
        return float((total - scores[here, truth[some]]).mean())

    pairs = [(a, b) for a in _WEIGHTS for b in _WEIGHTS if a + b > 0]
    best = min(pairs, key=loss)
    mixed = np.asarray(best[0] * logs[0] + best[1] * logs[1], np.float32)
    mixed -= mixed.max(axis=1, keepdims=True)
    np.exp(mixed, out=mixed)
    mixed /= mixed.sum(axis=1, keepdims=True)
    return mixed
