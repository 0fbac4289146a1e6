"""What seeing a rare value published is worth, computed by hand and counted in releases."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import UnsafeError
from countveil.publishing.safety import fineness_of, fineness_sentence
from countveil.publishing.safety.giveaways import MOST_ODDS, believed
from tests.strategies import examples


def counts(*groups: tuple[int, int]) -> np.ndarray:
    """So many values of so many rows each."""
    return np.concatenate([np.full(values, rows) for values, rows in groups])


def test_the_odds_by_hand() -> None:
    """f = 15 of N = 100,815 at ell 5: (100,815 - 15) / (4 * 15) = 1,680."""
    fine = fineness_of(counts((6_721, 15)), 5)
    assert fine.odds == pytest.approx(1_680)
    assert fine.belief == pytest.approx(1_680 / (1_680 + 99))
    assert fine.rows == 1
    assert fine.limit == 15
    assert fine.stops


def test_from_a_guess_at_one_percent_to_a_belief_of_nine_tenths() -> None:
    assert pytest.approx(891) == MOST_ODDS
    assert believed(MOST_ODDS) == pytest.approx(0.9)


def test_birth_dates_and_products_stop_and_diagnoses_warn() -> None:
    births = fineness_of(counts((25_955, 4)), 5)
    products = fineness_of(counts((8_583, 12)), 5)
    assert births.stops
    assert products.stops
    assert "25,955 values that occur in 4 rows at most" in fineness_sentence("born", births)
    assert "believes it at 0.98" in fineness_sentence("born", births)
    diagnoses = fineness_of(counts((300, 10), (400, 250)), 5)
    assert not diagnoses.stops
    assert diagnoses.rows == pytest.approx(3_000 / 103_000)
    assert "in part too fine" in fineness_sentence("diagnosis", diagnoses)


def test_fifty_frequent_values_are_fine() -> None:
    fine = fineness_of(counts((50, 2_000)), 5)
    assert fine.rows == 0
    assert fine.odds == pytest.approx((100_000 - 2_000) / (4 * 2_000))
    assert "multiplies the odds of a typical row by 12" in fineness_sentence("job", fine)


def test_a_small_table_of_unique_values() -> None:
    """K cannot be large with a thousand rows, but nothing can be learnt of such values."""
    assert fineness_of(counts((500, 2)), 5).stops
    assert not fineness_of(counts((60, 2)), 5).stops, "few values"
    assert not fineness_of(counts((100, 3), (10, 60)), 5).stops, "a third of the rows"


def test_a_larger_ell_makes_a_value_less_fine() -> None:
    odds = [fineness_of(counts((1_000, 100)), ell).odds for ell in (2, 3, 5, 10)]
    assert odds == sorted(odds, reverse=True)
    assert odds[0] == pytest.approx(9 * odds[-1])


@examples(60)
@given(st.lists(st.integers(1, 10**6), min_size=2, max_size=60), st.integers(2, 10))
def test_shares_are_shares(rows: list[int], ell: int) -> None:
    fine = fineness_of(np.array(rows), ell)
    assert 0 <= fine.belief < 1
    total = sum(rows)
    rare = [f for f in rows if (total - f) / ((ell - 1) * f) >= MOST_ODDS]
    # With fewer than a hundred values, rare ones alone count.
    assert fine.stops == (sum(rare) >= 0.1 * total)
    assert fine.rows == pytest.approx(sum(rare) / total if sum(rare) >= 0.01 * total else 0)
    assert fine.limit == (max(rare) if fine.rows else 0)


def fine_table(rows: int = 6_000) -> pa.Table:
    rng = np.random.default_rng(1)
    return pa.table(
        {
            "row": np.arange(rows),
            "ward": rng.integers(0, 4, rows),
            "product": [f"article {n % 2_000}" for n in rng.permutation(rows)],
        }
    )


@pytest.mark.slow
def test_publishing_stops_until_merged_or_confirmed(tmp_path: Path) -> None:
    to, table = tmp_path / "release", fine_table().drop_columns(["row"])
    with pytest.raises(UnsafeError, match=r"'product' is too fine to protect: 100%") as stopped:
        cv.publish(table, {"product": 5}, to)
    said = str(stopped.value)
    assert "2,000 values that occur in 3 rows at most" in said
    assert "merge={'product': 'rare:50'}" in said
    assert "keep='product'" in said
    assert "article" not in said
    assert not to.exists()
    cv.publish(table, {"product": 5}, to, keep="product")
    merge: dict[object, str] = {f"article {n}": f"shelf {n // 100}" for n in range(2_000)}
    cv.publish(table, {"product": 5}, to, merge={"product": merge}, force=True, again=True)


@pytest.mark.slow
def test_the_odds_are_those_of_the_release(tmp_path: Path) -> None:
    """P(publish v | true v) over P(publish v | another), counted in a release.

    Each of 6,000 rows keeps its value with probability 1/5; at 6 standard deviations the test fails
    with probability 2e-9.
    """
    table = fine_table()
    release = cv.publish(table, {"product": 5}, tmp_path / "release", keep=["row", "product"])
    published = pq.read_table(release.folder / "data").sort_by("row")["product"].to_numpy()
    kept = float((published == table["product"].to_numpy()).mean())
    rows, each = 6_000, 3
    spread = np.sqrt(0.2 * 0.8 / rows)
    assert abs(kept - 0.2) < 6 * spread
    # A row without v publishes it in (1 - kept) of all cases, for each of N - f others.
    others = (1 - kept) * each / (rows - each)
    assert kept / others == pytest.approx(fineness_of(counts((2_000, each)), 5).odds, rel=0.3)


def test_a_value_that_most_rows_have_hardly_changes_the_odds() -> None:
    """Its groups hold it several times: 1 + 1 / ((ell - 1) p), never below 1."""
    fine = fineness_of(counts((1, 8_000), (20, 100)), 5)
    assert fine.odds == pytest.approx(1 + 1 / (4 * 0.8))
    assert "by 1.3;" in fineness_sentence("country", fine)
