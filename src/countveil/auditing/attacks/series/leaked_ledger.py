"""A ledger in the hands of others: without its key, and with it.

Enters: a linked series with a ledger. Leaves: findings. Must not know: how releases are made.

Knows: every byte of the ledger; who may be in it, and which values there are. Without the key he
searches the bytes, looks for patterns in what is written of a case (a mark, and a word that hides
what it published), and tries marks under keys that he could know. Claims:

- no byte shows an identifier, a value, the name of a column or of a place
- every bit of marks and hidden words is a fair coin: exact binomials
- no two marks or words are equal
- who guesses what a case published by its word is right as often as by chance
- no mark is that of a person and a value under a key that is public: none, zeros, the ledger's name

With the key nothing is claimed. He tries every value of every person whose identifier he knows, and
reads who has which. How many he confirms is reported.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.auditing.attacks.source_traces import chance_p_value, occurring
from countveil.auditing.chance import interval
from countveil.auditing.findings import KNOWN_LIMIT, Finding, Outcome, none_expected
from countveil.auditing.series.linked import LeakedLedger, LedgerCases, LinkedSeries
from countveil.maths.guarantees.binomial import binomial_lower, binomial_upper
from countveil.publishing.ledger.book import Book
from countveil.publishing.ledger.keys import LedgerKey, Words, identity
from countveil.publishing.ledger.store import Store, StoredCases
from countveil.randomness import Stream

NAME = "leaked ledger"
_KNOWS = "every byte of the ledger; not its key"
_MOST_CASES, _MOST_PERSONS, _MOST_VALUES = 20_000, 300, 300
_BITS = 64


def attack(series: LinkedSeries, _stream: Stream) -> Outcome:
    """Attack the ledger, if there is one."""
    leaked = series.ledger
    if leaked is None:
        return Outcome()
    with Store.open(leaked.path, write=False) as store:
        numbers = [number for number, _ in store.sets()]
        stored = [store.cases(number) for number in numbers]
        marks = np.concatenate([one.marks for one in stored])
        hidden = np.concatenate([one.published for one in stored])
        content = leaked.path.read_bytes()
        book = Book(leaked.path, store, LedgerKey.read(leaked.key))
        return Outcome([
            _texts(content, leaked.secrets),
            _coins(marks, hidden),
            _equal(marks, hidden),
            _guessed_word(book, dict(zip(numbers, stored, strict=True))),
            _public_keys(store, marks, leaked.cases),
            _with_key(book, leaked),
        ])  # fmt: skip


def _texts(content: bytes, secrets: Sequence[str]) -> Finding:
    hits = occurring(content, secrets)
    return Finding(
        NAME, "find identifiers, values and names", _KNOWS, "search every byte", "0",
        float(len(hits)), "texts found", p_value=chance_p_value(content, secrets, hits),
        note=f"{len(secrets):,} texts sought in {len(content):,} bytes",
    )  # fmt: skip


def _coins(marks: Words, hidden: Words) -> Finding:
    """Every bit of the marks and of the hidden words, over all cases."""
    cases = hidden.size
    ones = np.concatenate([_ones(word) for word in (marks[:, 0], marks[:, 1], hidden)])
    tests = [
        min(1.0, 2 * min(binomial_upper(n, cases, 0.5), binomial_lower(n, cases, 0.5)))
        for n in ones.tolist()
    ]
    far = np.abs(ones - cases / 2) / max(1.0, np.sqrt(cases) / 2)
    return Finding(
        NAME, "patterns in marks and hidden words", _KNOWS, "count the ones of every bit",
        "fair coins", float(far.max(initial=0.0)), "standard errors, the farthest bit",
        p_value=min(1.0, len(tests) * min(tests)), note=f"{ones.size} bits of {cases:,} cases",
    )  # fmt: skip


def _ones(words: Words) -> NDArray[np.int64]:
    return np.array(
        [int(((words >> np.uint64(bit)) & np.uint64(1)).sum()) for bit in range(_BITS)], np.int64
    )


def _equal(marks: Words, hidden: Words) -> Finding:
    equal = 2 * hidden.size - np.unique(marks, axis=0).shape[0] - np.unique(hidden).size
    return none_expected(
        NAME, "cases with equal entries", _KNOWS, "compare all marks, and all hidden words",
        equal, "equal entries", f"{hidden.size:,} cases",
    )  # fmt: skip


def _guessed_word(book: Book, stored: Mapping[int, StoredCases]) -> Finding:
    """The remainder of a word as the code of what its case published."""
    right, cases, expected = 0, 0, 0.0
    for columns in book.sets:
        one, values = stored[columns.number], len(book.values(columns))
        codes = book.known(columns, one.marks)[1].astype(np.uint64)
        right += int((one.published % np.uint64(max(1, values)) == codes).sum())
        cases += codes.size
        expected += codes.size / max(1, values)
    chance = expected / max(1, cases)
    # Sums of counts with several chances are no farther from their mean than with equal ones.
    return Finding(
        NAME, "guess what a case published", _KNOWS, "read its hidden word as a number",
        f"{chance:.4f} (one of all values)", right / max(1, cases), "share right",
        *interval(right, cases), binomial_upper(right, cases, chance) if cases else 1.0,
        note=f"{cases:,} cases",
    )  # fmt: skip


def _public_keys(store: Store, marks: Words, cases: Sequence[LedgerCases]) -> Finding:
    known = set(map(tuple, marks.tolist()))
    name = store.id.encode()
    secrets = [b"", bytes(32), name, bytes.fromhex(store.id), hashlib.sha256(name).digest()]
    secrets += [store.key_check, bytes(store.key_check)[::-1]]
    hits = sum(
        tuple(mark) in known
        for secret in secrets
        for one in cases
        for mark in _marks(LedgerKey(store.id, secret), one.columns, one.cases[:_MOST_CASES])
    )
    return none_expected(
        NAME, "try persons and values without the key", f"{_KNOWS}; persons and values",
        f"marks under {len(secrets)} keys that are public", hits, "cases confirmed",
        f"{sum(len(one.cases[:_MOST_CASES]) for one in cases):,} cases tried",
    )  # fmt: skip


def _with_key(book: Book, leaked: LeakedLedger) -> Finding:
    """Persons of whom a true value is confirmed by trying all values."""
    confirmed = persons = wrong = 0
    for one in leaked.cases:
        columns = next((each for each in book.sets if each.columns == one.columns), None)
        true = set(one.cases)
        whose = list(dict.fromkeys(case[0] for case in one.cases))[:_MOST_PERSONS]
        values = list(dict.fromkeys(case[1:] for case in one.cases))[:_MOST_VALUES]
        if columns is None or not whose:
            continue
        tried = [(person, *value) for person in whose for value in values]
        marks = np.array(_marks(book.key, one.columns, tried), np.uint64)
        known = book.known(columns, marks)[0] > 0
        hits = [case for case, there in zip(tried, known.tolist(), strict=True) if there]
        confirmed += len({case[0] for case in hits if case in true})
        wrong += sum(case not in true for case in hits)
        persons += len(whose)
    return Finding(
        NAME, "try persons and values with the key", "the ledger, its key, identifiers, values",
        "look up the mark of each pair", "nothing: whoever has both knows who has which value",
        confirmed / max(1, persons), "share of persons whose values are confirmed",
        *interval(confirmed, persons), verdict=KNOWN_LIMIT,
        note=f"{persons:,} persons, every value tried; {wrong:,} pairs are of values that they had "
        f"before. Keep the key apart from the ledger",
    )  # fmt: skip


def _marks(
    key: LedgerKey, columns: tuple[str, ...], cases: Iterable[tuple[Any, ...]]
) -> list[list[int]]:
    """The marks of cases, as the ledger makes them."""
    parts = [[identity(value) for value in part] for part in zip(*cases, strict=True)]
    return key.marks("\0".join(columns), parts).tolist() if parts else []
