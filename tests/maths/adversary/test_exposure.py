"""Exposure: beliefs in true values, without a release and with it, where the answer is known."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.maths.adversary import (
    Exposure,
    KnownColumn,
    Linked,
    measure_exposure,
    published_chances,
)
from countveil.maths.channel import view_of_release
from countveil.maths.groups import ColumnSettings
from countveil.randomness import Randomness
from tests.repeated_releases import releases

Codes = NDArray[np.int64]
ELL, ROWS = 4, 8_000


def people(n_values: int = 8) -> Codes:
    return np.random.default_rng(1).integers(0, n_values, ROWS)


def exposed(truth: Codes, plain: list[Codes], keys: Codes) -> Exposure:
    """Published with ell = 4; the rows of the release come in another order."""
    (released,) = releases(truth, ColumnSettings(ELL), 1, first=3)
    published = np.bincount(released, minlength=int(truth.max()) + 1)
    channel = published_chances(view_of_release(published, ROWS, ELL, "mixed"), published)
    order = np.random.default_rng(2).permutation(ROWS)
    linked = Linked(truth, keys, released[order], keys[order])
    columns = [KnownColumn.of(str(number), codes) for number, codes in enumerate(plain)]
    return measure_exposure(columns, linked, channel, Randomness(4).stream("exposure"))


def test_who_is_linked_and_unknown_is_believed_at_one_in_ell() -> None:
    """Of those who publish their own value; of the others, the value is less likely than before."""
    truth = people()
    found = exposed(truth, [], np.arange(ROWS))
    assert found.alone == 1.0
    assert found.people.size == found.of == ROWS
    # A prior of 1/8 each: the own value is published by one in four and then believed at 1/4.
    assert found.before == pytest.approx(1 / 8, abs=0.02)
    high = found.after > found.before
    assert high.mean() == pytest.approx(1 / ELL, abs=0.03)
    assert found.after[high] == pytest.approx(1 / ELL, abs=0.02)
    assert found.after[~high] == pytest.approx((1 - 1 / ELL) / 7, abs=0.02)


def test_who_is_one_of_all_is_not_exposed_by_the_release() -> None:
    truth = people()
    found = exposed(truth, [], np.zeros(ROWS, np.int64))
    assert found.alone == 0.0
    assert found.after == pytest.approx(found.before, rel=1e-3)


def test_among_two_rows_the_belief_is_the_mean_of_both() -> None:
    """Two people, two rows, worked out by hand."""
    channel = np.array([[0.5, 0.3, 0.2], [0.2, 0.6, 0.2], [0.25, 0.25, 0.5]])
    truth = np.array([0, 1, 2, 2])
    linked = Linked(truth, np.array([0, 0, 1, 2]), np.array([2, 0, 1, 2]), np.array([0, 0, 1, 5]))
    found = measure_exposure([], linked, channel, Randomness(1).stream("exposure"))
    prior = np.array([0.25, 0.25, 0.5])
    total = prior @ channel
    first = 0.25 * np.mean([0.2 / total[2], 0.5 / total[0]])
    second = 0.25 * np.mean([0.2 / total[2], 0.2 / total[0]])
    third = 0.5 * 0.25 / total[1]
    # The fourth has no row in the release (it was left out), so nothing is learnt.
    assert found.before == pytest.approx([0.25, 0.25, 0.5, 0.5])
    assert found.after == pytest.approx([first, second, third, 0.5], rel=1e-5)


def test_a_slice_that_gives_its_value_away_is_told_apart_from_the_release() -> None:
    truth = people()
    certain = np.random.default_rng(5).random(ROWS) < 0.1
    truth[certain] = 0
    found = exposed(truth, [certain.astype(np.int64)], np.arange(ROWS))
    inside = certain[found.people]
    assert found.before[inside].min() > 0.97
    # What was certain before stays so; a row that publishes another value shakes it a little.
    assert found.after[inside].mean() > 0.97
    assert found.before[~inside].max() < 0.3
    assert found.share_above(0.9)[0] == pytest.approx(inside.mean())
    worst = found.as_dict()["most_exposed_1_percent"]
    assert isinstance(worst, dict)
    assert worst["without_release"] > 0.97
    assert found.reached(found.after) > 0.99


def test_what_only_two_columns_together_give_away_is_found() -> None:
    """A classifier that adds up columns sees nothing here: each column alone says nothing."""
    rng = np.random.default_rng(6)
    first, second, third = rng.integers(0, 4, (3, ROWS))
    truth = (first + second) % 4 + 4 * rng.integers(0, 2, ROWS)
    found = exposed(truth, [third, first, second], np.arange(ROWS))
    assert set(found.chain[:2]) == {1, 2}
    assert found.before.mean() == pytest.approx(0.5, abs=0.02)


def test_nobody_learns_his_own_value_from_himself() -> None:
    """A column that is different for everybody says nothing about the others."""
    truth = people()
    found = exposed(truth, [np.arange(ROWS)], np.arange(ROWS))
    assert found.before.mean() == pytest.approx(1 / 8, abs=0.01)


def test_one_in_a_hundred() -> None:
    beliefs = np.arange(1, 1001) / 1000
    found = Exposure(np.arange(1000), beliefs / 2, beliefs, 1000, 1.0)
    assert found.reached(found.after) == 0.991
    assert int(found.most_exposed.sum()) == 10
    assert found.share_above(0.9) == (0.0, 0.101)
    few = Exposure(np.arange(3), beliefs[:3], beliefs[:3], 3, 1.0)
    assert few.reached(few.after) == 0.003
