"""What one column tells about another, measured where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.publishing.safety import find_giveaways
from countveil.publishing.safety.giveaways import Giveaway, known_share, neighbour_share
from tests.strategies import examples

Codes = NDArray[np.int64]
ROWS = 3_000


def drawn(n_values: int, seed: int, rows: int = ROWS) -> Codes:
    return np.random.default_rng(seed).integers(0, n_values, rows)


def found(columns: dict[str, Codes], target: Codes) -> dict[tuple[str, ...], float]:
    return {g.columns: g.beyond for g in find_giveaways(columns, "secret", target)}


def test_a_code_beside_its_name() -> None:
    target = drawn(20, 1)
    code = np.random.default_rng(2).permutation(20)[target]
    assert found({"code": code}, target) == {("code",): 1.0}


def test_a_code_that_is_finer_than_the_name() -> None:
    target = drawn(20, 1)
    assert found({"code": target * 10 + drawn(10, 2)}, target)[("code",)] > 0.99


def test_a_coarser_column_tells_only_its_part() -> None:
    target = drawn(20, 1)
    assert found({"chapter": target // 10}, target) == {}


def test_a_date_beside_a_class_of_age() -> None:
    born = drawn(25_000, 3)
    assert found({"born": born}, born // 2_500)[("born",)] > 0.95


def test_unrelated_columns_give_nothing_away() -> None:
    target = drawn(20, 1)
    others = {f"x{n}": drawn(n, n) for n in (2, 10, 100, 1_000, 100_000)}
    assert found(others, target) == {}


def test_a_pair_that_tells_what_neither_tells_alone() -> None:
    target = drawn(20, 1)
    one = drawn(20, 2)
    two = (target + one) % 20
    assert list(found({"one": one, "two": two, "other": drawn(3, 5)}, target)) == [("one", "two")]


def test_a_pair_is_not_named_for_what_one_column_does() -> None:
    target = drawn(10, 1)
    mostly = np.where(drawn(100, 7) < 55, target, drawn(10, 8))
    named = found({"mostly": mostly, "other": drawn(3, 5)}, target)
    assert list(named) == [("mostly",)]
    assert 0.5 < named["mostly",] < 0.65


def test_the_order_of_rows_tells_nothing() -> None:
    """Only values count: a table sorted by the protected column gives nothing away by that."""
    target = np.sort(drawn(10, 1))
    assert neighbour_share(drawn(50, 2), target) < 0.3


def test_a_constant_protected_column_cannot_be_given_away() -> None:
    assert found({"x": drawn(5, 1)}, np.zeros(ROWS, np.int64)) == {}


def test_a_handful_of_rows_is_not_judged() -> None:
    target = drawn(3, 1, rows=20)
    assert found({"copy": target}, target) == {}


def test_a_sample_of_a_larger_table_tells_what_the_table_would() -> None:
    """With 30,000 codes for 60 names, 10,000 rows hold most codes once; those say nothing."""
    codes = drawn(30_000, 1, rows=10_000)
    target = codes % 60
    shuffled = np.random.default_rng(4).permutation(30_000)[codes]
    assert known_share(shuffled, target) < 0.5
    assert known_share(shuffled, target, sampled=True) == 1.0
    unrelated = drawn(60, 9, rows=10_000)
    assert known_share(shuffled, unrelated, sampled=True) < 0.1


def by_hand(codes: Codes, target: Codes) -> float:
    """The same measure, row by row."""
    usual = int(np.argmax(np.bincount(target)))
    right = 0
    for row in range(codes.size):
        others = target[(codes == codes[row]) & (np.arange(codes.size) != row)]
        if not others.size:
            right += int(target[row] == usual)
            continue
        counts = np.bincount(others)
        best = np.flatnonzero(counts == counts.max())
        right += int(best.size == 1 and best[0] == target[row])
    return right / codes.size


@examples(60)
@given(st.lists(st.tuples(st.integers(0, 6), st.integers(0, 4)), min_size=1, max_size=40))
def test_the_share_is_what_it_says(rows: list[tuple[int, int]]) -> None:
    codes, target = np.array(rows, np.int64).T
    assert known_share(codes, target) == pytest.approx(by_hand(codes, target))


def test_what_stops() -> None:
    assert Giveaway(("a",), "s", 0.9, 0.8).stops
    assert not Giveaway(("a",), "s", 0.9, 0.79).stops
