"""Streams of random numbers.

Enters: nothing (a fresh 256-bit key from the operating system) or, for experiments, a seed.
Leaves: one labelled `Stream` per purpose, each an AES-256-CTR keystream under its own subkey.
Must not know: what the numbers are for. The key is never printed, stored or pickled; a `TaskKey`,
which reveals nothing about it, is pickled for the machines that work for a publication.

All integers are exactly uniform: draws that would bias them are rejected and repeated, so no draw
goes through floating point or a plain remainder.
"""

from __future__ import annotations

import hashlib
import hmac
import itertools
from typing import Any, NoReturn

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from numpy.typing import NDArray

from countveil.randomness.keys import KEY_BYTES, fresh_key

Word = np.unsignedinteger[Any]
_SMALL_TYPES = (np.uint8, np.uint16, np.uint32)
# Up to here a permutation sorts words that hold key and place at once: 44 random bits or more.
MOST_IN_ONE_WORD = 1 << 20
_BLOCK_BYTES = 16
_ZEROS = bytes(1 << 18)
_BITS, _ALL_BITS = 64, np.uint64((1 << 64) - 1)
WORDS_AT_ONCE, DRAWS_AT_ONCE = 1 << 18, 1 << 22
# Draws are counted in words while there are more than this many for each count.
FEW_DRAWS = 32
_MOST_COUNTED_IN_WORDS = 32


class Randomness:
    """A secret key from which every stream of one publication is derived."""

    __slots__ = ("_key", "seeded")

    def __init__(self, seed: int | None = None) -> None:
        self.seeded = seed is not None
        if seed is None:
            self._key = fresh_key()
        else:
            self._key = hashlib.sha256(b"countveil seed " + str(int(seed)).encode()).digest()

    def stream(self, *label: str) -> Stream:
        """The stream for one purpose; the same label gives the same stream, others are unrelated.

        Each part of the label is hashed with its length, so ("a", "bc") and ("ab", "c") differ.
        """
        return Stream(_derived(self._key, label))

    def task_key(self, *label: str) -> TaskKey:
        """A key for work on other machines, which reveals nothing about this one."""
        return TaskKey(_derived(self._key, ("task", *label)))

    def __repr__(self) -> str:
        return f"Randomness({'seeded' if self.seeded else 'fresh key'}, key withheld)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Randomness holds a secret key and is not pickled")


class TaskKey:
    """The key of tasks that run elsewhere; it travels to them, and only to them, by being pickled.

    A task derives a stream for each purpose and each partition of the table, so that running it
    again, or twice at once, gives the same numbers.
    """

    __slots__ = ("_key",)

    def __init__(self, key: bytes) -> None:
        self._key = key

    def stream(self, *label: str) -> Stream:
        """The stream for one purpose; see `Randomness.stream`."""
        return Stream(_derived(self._key, label))

    def derived(self, *label: str) -> TaskKey:
        """A separate key for some of the work."""
        return TaskKey(_derived(self._key, ("key", *label)))

    def seal(self, content: bytes, *label: str) -> bytes:
        """Encrypt, or decrypt again, what only tasks may read; use each label once."""
        subkey = _derived(self._key, ("seal", *label))
        # As for streams: a key for each label, so the nonce need not differ.
        return Cipher(algorithms.AES(subkey), modes.CTR(bytes(16))).encryptor().update(content)

    def hashes(self, blocks: NDArray[np.uint64], *label: str) -> NDArray[np.uint64]:
        """For each row of two words, a number that only this key makes and nobody can turn back.

        AES of the block, to which the block is added (Matyas, Meyer and Oseas); half is kept.
        """
        subkey = _derived(self._key, ("hash", *label))
        content = np.ascontiguousarray(blocks, np.uint64)
        # Each block is a message of its own, so nothing is chained.
        encryptor = Cipher(algorithms.AES(subkey), modes.ECB()).encryptor()  # noqa: S305
        encrypted = np.empty(content.nbytes + _BLOCK_BYTES, np.uint8)
        encryptor.update_into(content.reshape(-1).view(np.uint8).data, encrypted.data)
        hashes: NDArray[np.uint64] = encrypted[: content.nbytes].view(np.uint64)[::2]
        return hashes ^ content[:, 0]

    def __repr__(self) -> str:
        return "TaskKey(key withheld)"

    def __reduce__(self) -> tuple[type[TaskKey], tuple[bytes]]:
        return TaskKey, (self._key,)


def _derived(key: bytes, label: tuple[str, ...]) -> bytes:
    parts = (part.encode() for part in label)
    text = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return hmac.digest(key, text, "sha256")


class Stream:
    """An endless sequence of uniform random numbers."""

    __slots__ = ("_encryptor",)

    def __init__(self, subkey: bytes) -> None:
        # Every stream has its own key, so a zero nonce never repeats under one key.
        self._encryptor = Cipher(algorithms.AES(subkey), modes.CTR(bytes(16))).encryptor()

    def __repr__(self) -> str:
        return "Stream(key withheld)"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Stream holds a secret key and is not pickled")

    def spawn(self) -> Stream:
        """A separate stream, under a key that is the next 256 bits of this one.

        Each parallel worker gets one: what it draws then does not depend on the pace of others.
        """
        return Stream(self.words(KEY_BYTES // 8).tobytes())

    def task_key(self) -> TaskKey:
        """A key for separate work, likewise."""
        return TaskKey(self.words(KEY_BYTES // 8).tobytes())

    def words(self, count: int, dtype: type[Word] = np.uint64) -> NDArray[Any]:
        """`count` uniform words of the given unsigned type."""
        size = count * np.dtype(dtype).itemsize
        # The cipher needs room for one block more than it writes.
        content = np.empty(size + _BLOCK_BYTES, np.uint8)
        for start in range(0, size, len(_ZEROS)):
            zeros = memoryview(_ZEROS)[: size - start]
            self._encryptor.update_into(zeros, content.data[start:])
        return content[:size].view(dtype)

    def below(self, bound: int, count: int) -> NDArray[np.int64]:
        """`count` integers, each uniform on 0 .. bound - 1."""
        if bound < 1:
            raise ValueError(f"bound must be at least 1, got {bound}")
        dtype: type[Word] = np.uint64
        for small in _SMALL_TYPES:
            if bound <= 1 << 8 * np.dtype(small).itemsize:
                dtype = small
                break
        span = 1 << 8 * np.dtype(dtype).itemsize
        last_fair = span - span % bound - 1
        drawn = self.words(count, dtype)
        rejected = np.flatnonzero(drawn > last_fair)
        while rejected.size:
            drawn[rejected] = self.words(rejected.size, dtype)
            rejected = rejected[drawn[rejected] > last_fair]
        if bound == span:
            return drawn.astype(np.int64)
        result: NDArray[np.int64] = (drawn % dtype(bound)).astype(np.int64)
        return result

    def heads(self, coins: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each number of fair coins, how many of them fall heads: a coin is a bit."""
        left = coins.ravel().copy()
        heads = np.zeros_like(left)
        while np.any(left):
            tossed = np.minimum(left, WORDS_AT_ONCE * _BITS)
            for some in _runs(tossed):
                first, mask = _word_masks(tossed[some])
                fallen = np.bitwise_count(self.words(mask.size) & mask)
                heads[some] += np.add.reduceat(fallen, first, dtype=np.int64)
            left -= tossed
        return heads.reshape(coins.shape)

    def tallies(self, bound: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """For each of the counts, how often each of 0 .. bound - 1 comes up in that many draws.

        A draw is a column of random bits, one from each of as many words as the bound has bits;
        64 draws are counted at once. Draws of the bound or more are repeated, one by one where few
        are left.
        """
        totals = np.zeros((counts.size, bound), np.int64)
        for some in _runs(counts):
            left = counts[some].copy()
            while bound <= _MOST_COUNTED_IN_WORDS and left.sum() > FEW_DRAWS * left.size:
                tossed = np.minimum(left, WORDS_AT_ONCE * _BITS)
                drawn = self._tally_in_words(bound, tossed)
                totals[some] += drawn
                left -= drawn.sum(axis=1)
            while np.any(left):
                draws = np.minimum(left, DRAWS_AT_ONCE // left.size)
                places = np.repeat(np.arange(left.size) * bound, draws)
                places += self.below(bound, places.size)
                tally = np.bincount(places, minlength=left.size * bound)
                totals[some] += tally.reshape(left.size, bound)
                left -= draws
        return totals

    def _tally_in_words(self, bound: int, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Tallies of this many columns of bits, leaving out those that are the bound or more."""
        first, mask = _word_masks(counts)
        totals = np.zeros((counts.size, bound), np.int64)
        # Columns that may still be one of the `width` numbers from `low` on.
        stack = [(mask, 0, 1 << (bound - 1).bit_length())]
        lines = {width: self.words(mask.size) for width in _halves(stack[0][2])}
        while stack:
            columns, low, width = stack.pop()
            if low >= bound:
                continue
            if width == 1:
                totals[:, low] = np.add.reduceat(np.bitwise_count(columns), first, dtype=np.int64)
                continue
            ones = columns & lines[width]
            stack += [(ones, low, width // 2), (columns ^ ones, low + width // 2, width // 2)]
        return totals

    def uniform(self, count: int) -> NDArray[np.float64]:
        """`count` numbers on [0, 1), 53 random bits each. Not for exact probabilities."""
        return (self.words(count) >> np.uint64(11)).astype(np.float64) * 2.0**-53

    def permutation(self, count: int) -> NDArray[np.int64]:
        """A uniformly random order of 0 .. count - 1.

        Sorting by random keys is exactly uniform given that the keys differ; if two are equal, all
        are drawn again. Where there is room, key and place share a word, which sorts faster;
        otherwise the keys have all 64 bits (at a hundred million, two are equal about once in 4,000
        times).
        """
        if count > MOST_IN_ONE_WORD:
            return self._permutation_by_whole_words(count)
        shift = np.uint64(max(count - 1, 0).bit_length())
        place_bits = (np.uint64(1) << shift) - np.uint64(1)
        places = np.arange(count, dtype=np.uint64)
        while True:
            ordered = np.sort((self.words(count) & ~place_bits) | places)
            keys = ordered >> shift
            if not np.any(keys[1:] == keys[:-1]):
                return (ordered & place_bits).astype(np.int64)

    def _permutation_by_whole_words(self, count: int) -> NDArray[np.int64]:
        while True:
            keys = self.words(count)
            order = np.argsort(keys)
            ordered = keys[order]
            if not np.any(ordered[1:] == ordered[:-1]):
                return order.astype(np.int64, copy=False)

    def choose(self, count: int, total: int) -> NDArray[np.int64]:
        """`count` different integers of 0 .. total - 1, sorted; all sets are equally likely."""
        if count > total:
            raise ValueError(f"cannot choose {count} of {total}")
        chosen: set[int] = set()
        # Floyd's method: each step adds exactly one new element, and all sets are equally likely.
        for upper in range(total - count, total):
            drawn = int(self.below(upper + 1, 1)[0])
            chosen.add(upper if drawn in chosen else drawn)
        return np.array(sorted(chosen), np.int64)


def _runs(counts: NDArray[np.int64]) -> list[slice]:
    """Neighbouring counts whose bits fill few words."""
    ends = np.cumsum(counts // _BITS + 1)
    edges = np.unique(ends // WORDS_AT_ONCE, return_index=True)[1].tolist()
    return [slice(*edge) for edge in itertools.pairwise([*edges, counts.size])]


def _word_masks(counts: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
    """Where the words of each count begin, and which of their bits count."""
    n_words = np.maximum(-(-counts // _BITS), 1)
    ends = np.cumsum(n_words)
    mask = np.full(int(ends[-1]), _ALL_BITS)
    over = (n_words * _BITS - counts).astype(np.uint64)
    mask[ends - 1] = np.where(counts > 0, _ALL_BITS >> over % np.uint64(_BITS), np.uint64(0))
    return ends - n_words, mask


def _halves(width: int) -> list[int]:
    return [width >> step for step in range(width.bit_length() - 1)]
