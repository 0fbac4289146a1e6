"""The generator: uniform without modulo bias, independent between labels, reproducible.

False-alarm rate of every test: at most 1e-6, for any seed. Beside each check of uniformity stands a
generator with the mistake that the check is for, and the check must refuse it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.randomness import Randomness, Stream, Word
from tests.statistical.bounds import FALSE_ALARM, bonferroni, follows

Codes = NDArray[np.int64]


def _even(cells: int) -> NDArray[np.float64]:
    return np.full(cells, 1 / cells)


def _is_uniform(drawn: Codes, bound: int) -> float:
    """p-value of "uniform on 0 .. bound - 1".

    Small bounds: every number is a cell. Large ones: the third that a number lies in (a plain
    remainder favours the lower numbers) and its remainder by 3 (multiply and shift favours some).
    """
    if bound <= 512:
        return follows(np.bincount(drawn, minlength=bound), _even(bound))
    assert bound % 3 == 0
    thirds = np.bincount(drawn // (bound // 3), minlength=3)
    remainders = np.bincount(drawn % 3, minlength=3)
    return bonferroni([follows(thirds, _even(3)), follows(remainders, _even(3))])


# Bounds for which a plain remainder of a word is far from uniform: 256 = 192 + 64, so a byte modulo
# 192 would give 0 .. 63 twice as often as the others. Likewise for longer words.
AWKWARD = [
    (192, np.uint8),
    (171, np.uint8),
    (3 << 14, np.uint16),
    (3 << 30, np.uint32),
    (3 << 61, np.uint64),
]


def _modulo(stream: Stream, bound: int, count: int, dtype: type[Word]) -> Codes:
    """The mistake: a remainder without rejection."""
    biased: Codes = (stream.words(count, dtype) % dtype(bound)).astype(np.int64)
    return biased


@pytest.mark.few(3)
@pytest.mark.parametrize("bound", [1, 2, 3, 5, 7, 10, 100, 255, 256, 257, 511, 3 << 7, 3 << 15])
def test_below_is_uniform(bound: int, seed: int) -> None:
    drawn = Randomness(seed).stream("below", str(bound)).below(bound, 1_000_000)
    assert drawn.min() >= 0
    assert drawn.max() < bound
    assert _is_uniform(drawn, bound) > FALSE_ALARM


@pytest.mark.parametrize(("bound", "dtype"), AWKWARD)
def test_below_has_no_modulo_bias(bound: int, dtype: type[Word], seed: int) -> None:
    stream = Randomness(seed).stream("awkward", str(bound))
    drawn = stream.below(bound, 200_000)
    assert drawn.max() < bound
    assert _is_uniform(drawn, bound) > FALSE_ALARM
    # The same check refuses the plain remainder of a word of that length.
    assert _is_uniform(_modulo(stream, bound, 200_000, dtype), bound) < FALSE_ALARM


@pytest.mark.few(1)
@pytest.mark.parametrize("ell", [3, 5, 6, 7, 10])
def test_a_group_s_choice_has_no_modulo_bias(ell: int, seed: int) -> None:
    """The bounds that matter: a byte modulo ell is off by less than 1/256, and still refused."""
    stream = Randomness(seed).stream("ell", str(ell))
    assert _is_uniform(stream.below(ell, 8_000_000), ell) > FALSE_ALARM
    assert _is_uniform(_modulo(stream, ell, 8_000_000, np.uint8), ell) < FALSE_ALARM


def test_below_at_the_full_span_of_a_word(seed: int) -> None:
    """2**8, 2**16, 2**32: nothing is rejected, and the remainder would not fit the word."""
    stream = Randomness(seed).stream("span")
    for bits in (8, 16, 32):
        top = stream.below(1 << bits, 200_000) >> (bits - 8)
        assert follows(np.bincount(top, minlength=256), _even(256)) > FALSE_ALARM / 3


@pytest.mark.parametrize("bound", [0, -1])
def test_below_refuses_an_empty_range(bound: int) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        Randomness(1).stream("x").below(bound, 1)


def test_neighbouring_numbers_of_a_stream_are_independent(seed: int) -> None:
    stream = Randomness(seed).stream("pairs")
    for one, other in (stream.below(13, 400_000).reshape(-1, 2).T for _ in range(2)):
        pairs = np.bincount(13 * one + other, minlength=169)
        assert follows(pairs, _even(169)) > FALSE_ALARM / 2


def test_uniform_fills_the_unit_interval_evenly(seed: int) -> None:
    """In its 256 parts, and within parts of width 2**-40: all 53 bits are random."""
    drawn = Randomness(seed).stream("uniform").uniform(1_000_000)
    assert drawn.min() >= 0
    assert drawn.max() < 1
    for scale in (1.0, 2.0**40):
        part = np.floor(drawn * scale % 1 * 256).astype(np.int64)
        assert follows(np.bincount(part, minlength=256), _even(256)) > FALSE_ALARM / 2


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("draw", "a"), ("draw", "b")),
        (("draw", "a"), ("deal", "a")),
        (("a", "bc"), ("ab", "c")),
        (("abc",), ("abc", "")),
        ((), ("",)),
    ],
)
def test_streams_of_different_labels_are_independent(
    one: tuple[str, ...], other: tuple[str, ...], seed: int
) -> None:
    """Pairs of numbers at the same place of two streams fill the square evenly."""
    randomness = Randomness(seed)
    first, second = (randomness.stream(*label).below(16, 300_000) for label in (one, other))
    square = follows(np.bincount(16 * first + second, minlength=256), _even(256))
    assert square > FALSE_ALARM
    # The check refuses two streams that are one.
    assert follows(np.bincount(17 * first, minlength=256), _even(256)) < FALSE_ALARM


def test_streams_of_different_seeds_are_independent(seed: int) -> None:
    first, second = (Randomness(s).stream("draw").below(16, 300_000) for s in (seed, seed + 1))
    assert follows(np.bincount(16 * first + second, minlength=256), _even(256)) > FALSE_ALARM


def test_a_seed_and_a_label_give_the_same_numbers_again(seed: int) -> None:
    def everything() -> list[list[Any]]:
        stream = Randomness(seed).stream("again", "and again")
        return [
            stream.below(10, 50).tolist(),
            stream.tallies(7, np.array([50, 3_000])).tolist(),
            stream.heads(np.array([50, 3_000])).tolist(),
            stream.permutation(50).tolist(),
            stream.choose(5, 50).tolist(),
            stream.uniform(5).tolist(),
        ]

    assert everything() == everything()


def test_a_stream_never_repeats_itself(seed: int) -> None:
    """What is asked for in pieces is what would have come in one: nothing is used twice."""
    whole = Randomness(seed).stream("whole").words(600)
    stream = Randomness(seed).stream("whole")
    pieces = np.concatenate([stream.words(n) for n in (1, 99, 300, 200)])
    assert np.array_equal(whole, pieces)
    # Equal 64-bit words among 600: probability below 1e-14.
    assert np.unique(whole).size == 600


def test_fresh_keys_and_seeds_differ(seed: int) -> None:
    """Equal first words of two different keys: probability 2**-128 for each pair."""
    sources = [Randomness(), Randomness(), Randomness(seed), Randomness(seed + 1)]
    starts = {tuple(source.stream("x").words(2).tolist()) for source in sources}
    assert len(starts) == 4


def _order_counts(orders: Callable[[], Codes], size: int, times: int) -> Codes:
    place = {order: i for i, order in enumerate(itertools.permutations(range(size)))}
    counts = np.zeros(len(place), np.int64)
    for _ in range(times):
        counts[place[tuple(orders().tolist())]] += 1
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_all_orders_are_equally_likely(size: int, seed: int) -> None:
    stream = Randomness(seed).stream("permutation")
    counts = _order_counts(lambda: stream.permutation(size), size, 20_000)
    assert follows(counts, _even(math.factorial(size))) > FALSE_ALARM


class FewBits(Stream):
    """A stream whose words have two random bits, so that keys of a permutation often tie."""

    __slots__ = ()

    def words(self, count: int, dtype: type[Word] = np.uint64) -> NDArray[Any]:
        return super().words(count, dtype) & dtype(3 << (8 * np.dtype(dtype).itemsize - 2))


@pytest.mark.slow
@pytest.mark.parametrize("with_places", [True, False])
def test_orders_are_equally_likely_when_keys_tie(
    with_places: bool, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three keys of two bits differ only in 24 of 64 cases; the others must be drawn again."""
    most = 1 << 20 if with_places else 0
    monkeypatch.setattr("countveil.randomness.streams.MOST_IN_ONE_WORD", most)
    subkey = Randomness(seed).stream("subkey").words(4).tobytes()
    stream = FewBits(subkey)
    counts = _order_counts(lambda: stream.permutation(3), 3, 12_000)
    assert follows(counts, _even(6)) > FALSE_ALARM
    # Sorting tied keys as they come prefers the order that was there.
    careless = _order_counts(lambda: np.argsort(stream.words(3), kind="stable"), 3, 12_000)
    assert follows(careless, _even(6)) < FALSE_ALARM


def _set_counts(sets: Callable[[], Codes], count: int, total: int, times: int) -> Codes:
    place = {chosen: i for i, chosen in enumerate(itertools.combinations(range(total), count))}
    counts = np.zeros(len(place), np.int64)
    for _ in range(times):
        counts[place[tuple(sets().tolist())]] += 1
    return counts


@pytest.mark.few(1)
@pytest.mark.parametrize(("count", "total"), [(0, 3), (1, 4), (2, 5), (3, 6), (4, 5), (4, 4)])
def test_all_sets_are_equally_likely(count: int, total: int, seed: int) -> None:
    stream = Randomness(seed).stream("choose")
    counts = _set_counts(lambda: stream.choose(count, total), count, total, 10_000)
    assert follows(counts, _even(math.comb(total, count))) > FALSE_ALARM


@pytest.mark.slow
def test_a_careless_choice_of_a_set_is_noticed(seed: int) -> None:
    """On a clash the next number instead of the upper end: neighbours come too often."""
    stream = Randomness(seed).stream("careless")

    def careless() -> Codes:
        first, second = stream.below(5, 2).tolist()
        return np.array(sorted({first, (second + 1) % 5 if second == first else second}), np.int64)

    assert follows(_set_counts(careless, 2, 5, 10_000), _even(10)) < FALSE_ALARM


def test_more_than_there_are_cannot_be_chosen() -> None:
    with pytest.raises(ValueError, match="cannot choose 4 of 3"):
        Randomness(1).stream("x").choose(4, 3)
