"""Where keys come from, and that nothing else decides what is drawn."""

from __future__ import annotations

import secrets
import time

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from countveil import randomness
from countveil.randomness import Randomness, Stream, streams


def words(stream: Stream) -> list[int]:
    drawn: list[int] = stream.words(8).tolist()
    return drawn


def test_a_key_is_256_bits_of_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def token_bytes(size: int) -> bytes:
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(secrets, "token_bytes", token_bytes)
    assert randomness.fresh_key() == bytes(range(32)), "a key can be searched: it has fewer bits"
    one, other = (words(Randomness().stream("draw")) for _ in range(2))
    assert asked == [32, 32, 32], "a publication draws from a key that the system did not make"
    assert one == other, "something else than the key decides what is drawn"


def test_two_publications_at_the_same_moment_draw_different_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Keys from a clock would be equal; whoever knows the day could try them all."""
    for name in ("time", "time_ns", "monotonic", "monotonic_ns", "perf_counter"):
        monkeypatch.setattr(time, name, lambda: 1_700_000_000)
    drawn = [words(Randomness().stream("draw")) for _ in range(3)]
    assert len({tuple(each) for each in drawn}) == 3, "keys come from a clock"


def test_every_seed_is_another_experiment() -> None:
    drawn = {tuple(words(Randomness(seed).stream("draw"))) for seed in range(100)}
    assert len(drawn) == 100, "experiments with different seeds repeat one draw"


def test_every_part_of_a_label_counts() -> None:
    """Columns share the first part of theirs, so all of them would draw the same numbers."""
    made = Randomness(5)
    labels = [("deal", "job"), ("deal", "pay"), ("deal",), ("dealjob",), ("deal", "jo", "b")]
    streams = [tuple(words(made.stream(*label))) for label in labels]
    assert len(set(streams)) == len(labels), "two columns draw from one stream"
    keys = [tuple(words(made.task_key(*label).stream("x"))) for label in labels]
    assert len({*streams, *keys}) == 2 * len(labels)


def test_spawned_streams_are_told_by_nobody() -> None:
    """Each has a key of its own, drawn from the stream: other streams give other ones."""
    one, other = Randomness(1).stream("spans"), Randomness(2).stream("spans")
    spawned = [tuple(words(stream.spawn())) for stream in (one, one, other)]
    assert len(set(spawned)) == 3, "spans draw the same numbers, under a key that everybody knows"


def test_one_text_is_sealed_differently_under_each_label() -> None:
    """Two texts under one keystream would give away their difference."""
    key = Randomness(3).task_key("seals")
    text = bytes(64)
    sealed = [key.seal(text, label) for label in ("one", "two")]
    assert sealed[0] != sealed[1], "two sealed texts share a keystream"
    assert key.seal(sealed[0], "one") == text


def test_hashes_cannot_be_turned_back() -> None:
    """By hand: AES of the block, plus the block. AES alone is decrypted by whoever has the key."""
    key = Randomness(3).task_key("hashes")
    blocks = np.arange(100, 120, dtype=np.uint64).reshape(10, 2)
    subkey = streams._derived(key._key, ("hash", "people"))
    aes = Cipher(algorithms.AES(subkey), modes.ECB()).encryptor()
    encrypted = np.frombuffer(aes.update(blocks.tobytes()), np.uint64).reshape(10, 2)
    assert np.array_equal(key.hashes(blocks, "people"), encrypted[:, 0] ^ blocks[:, 0]), (
        "the block is not added: with the key, hashes are turned back into people"
    )
    assert not set(key.hashes(blocks, "people").tolist()) & set(key.hashes(blocks, "x").tolist())
