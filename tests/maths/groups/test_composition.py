"""Who can be hidden, and what the publisher is told when somebody cannot."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import IneligibleError, InputError, SettingsError
from countveil.maths.channel import greedy_templates
from countveil.maths.groups import ColumnSettings, check_eligible, largest_ell, rows_over


def named(position: int) -> str:
    return f"the value {'abcdefghijkl'[position]!r}"


@given(st.lists(st.integers(1, 50), min_size=1, max_size=10), st.integers(2, 8))
def test_exactly_the_eligible_are_accepted(counts: list[int], ell: int) -> None:
    array = np.array(counts, np.int64)
    try:
        check_eligible("c", array, ColumnSettings(ell), named)
        accepted = True
    except (IneligibleError, SettingsError):
        accepted = False
    assert accepted == (max(counts) <= sum(counts) // ell)
    assert accepted == (ell <= largest_ell(array))
    if accepted:
        assert greedy_templates(array, ell).counts.tolist() == counts


def test_the_message_names_the_value_its_count_and_the_largest_ell() -> None:
    with pytest.raises(IneligibleError) as caught:
        check_eligible("job", np.array([10, 40, 30, 20], np.int64), ColumnSettings(3), named)
    text = str(caught.value)
    assert "'b'" in text
    assert "40 times in 100 rows" in text
    assert "largest ell that works with groups of different values is 2" in text


def test_large_numbers_are_easy_to_read() -> None:
    counts = np.array([1_000, 4_000, 3_000, 2_000], np.int64)
    with pytest.raises(IneligibleError, match=r"4,000 times in 10,000 rows .* \(3,333\)"):
        check_eligible("job", counts, ColumnSettings(3), named)
    told = r"deleting 1,000 rows .* gives 3,000 groups, but .* occurs 3,300 times"
    with pytest.raises(IneligibleError, match=told):
        check_eligible(
            "job",
            np.array([3_300, 3_300, 3_300, 100], np.int64),
            ColumnSettings(3),
            named,
            rows=9_000,
        )


def test_no_ell_works_when_a_value_fills_more_than_half() -> None:
    with pytest.raises(IneligibleError, match="No ell works"):
        check_eligible("job", np.array([60, 40], np.int64), ColumnSettings(2), named)


def test_more_than_there_are_values() -> None:
    with pytest.raises(SettingsError, match="only 3"):
        check_eligible("job", np.array([10, 10, 10], np.int64), ColumnSettings(4), named)


def test_an_empty_table() -> None:
    with pytest.raises(InputError, match="no rows"):
        check_eligible("job", np.zeros(0, np.int64), ColumnSettings(2), named)


def test_dropping_the_residue_can_make_eligible_data_ineligible() -> None:
    """With two columns and ell 4 and 5, 19 rows lose 19 mod 20 = 19: nothing would be left."""
    assert rows_over(39, [4, 5]) == 19
    counts = np.array([9, 10, 10, 10], np.int64)
    check_eligible("job", counts, ColumnSettings(3), named)
    with pytest.raises(IneligibleError, match="absorb"):
        check_eligible("job", counts, ColumnSettings(3), named, rows=20)


@pytest.mark.parametrize("ell", [1, 0, -3])
def test_ell_below_two_is_refused(ell: int) -> None:
    with pytest.raises(SettingsError, match="at least 2"):
        ColumnSettings(ell)


@pytest.mark.parametrize("ell", [2.5, "5", None, True])
def test_ell_must_be_a_whole_number(ell: object) -> None:
    with pytest.raises(SettingsError, match="whole number"):
        ColumnSettings(ell)  # type: ignore[arg-type]


def test_unknown_options_list_the_known_ones() -> None:
    with pytest.raises(SettingsError, match="anatomy"):
        ColumnSettings(5, groups="wild")
    with pytest.raises(SettingsError, match="absorb, drop"):
        ColumnSettings(5, residue="keep")


def test_an_ell_beyond_all_bounds_is_refused_at_once() -> None:
    """Other ways to publish are looked for, and must not cost memory for each unit of ell."""
    counts = np.array([60, 40], np.int64)
    with pytest.raises(SettingsError, match="the table has 100 rows"):
        check_eligible("job", counts, ColumnSettings(10**9), named)
    many = np.array([600_000, 300_000, 100_000], np.int64)
    with pytest.raises(SettingsError, match="can be at most 2000; got 5000"):
        check_eligible("job", many, ColumnSettings(5_000), named, common=[0])
    with pytest.raises(IneligibleError, match="random"):
        check_eligible(
            "job",
            np.full(9_000, 100) + many[0] * np.eye(1, 9_000, dtype=np.int64)[0],
            ColumnSettings(5_000),
            named,
        )
