"""Columns together crossed with columns apart: sums of products of weights, against matrices."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.errors import QueryError
from countveil.maths.channel import view_of_release
from countveil.maths.channel.skewed_views import joint_view, random_view
from countveil.maths.estimate import crossed
from countveil.maths.estimate.joined import Joined
from countveil.maths.estimate.totals import ALWAYS, NEVER, Tallies, Total
from tests.strategies import examples

Floats = NDArray[np.float64]
SHAPE = (3, 2, 4)
ROWS = 600


def made_up(seed: int, grouped: tuple[bool, ...]) -> tuple[Tallies, Floats, Floats]:
    """Tallies of one predicate, its true counts, and the weights of both channels as a matrix."""
    rng = np.random.default_rng(seed)
    table = rng.multinomial(ROWS, rng.dirichlet(np.ones(24))).reshape(SHAPE)
    joint = joint_view(table.sum(axis=2).astype(np.float64), ROWS, 3)
    apart = random_view(table.sum(axis=(0, 1)), ROWS, 2)
    x = rng.integers(0, 9, SHAPE).astype(np.float64)
    sent = joint.sent(x.reshape(6, 4), 0)
    y = apart.sent(sent, 1)
    views = [joint.margin((0,)), joint.margin((1,)), apart]
    tallies = Tallies(
        np.zeros((1, 0), bool), y.reshape(1, 1, 1, *SHAPE), np.zeros(0), views, grouped,
        joined=[Joined((0, 1), joint)],
    )  # fmt: skip
    weights: Floats = np.kron(joint.weights, apart.weights).astype(np.float64)
    return tallies, x, weights


@examples(30)
@given(
    st.integers(0, 10**6),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
    st.lists(st.booleans(), min_size=24, max_size=24),
)
def test_sets_are_unbiased_and_have_the_variance_of_their_weights(
    seed: int, grouped: tuple[bool, ...], chosen: list[bool]
) -> None:
    tallies, x, weights = made_up(seed, grouped)
    inside = np.array(chosen).reshape(SHAPE)
    total = Total(tallies, np.where(inside, ALWAYS, NEVER), None)
    by_cell = tallies.by_cell((x * inside)[None])[0].sum(axis=1)
    assert total.estimate[0] == pytest.approx(by_cell, abs=1e-8)
    places = tallies.by_cell(np.arange(24).reshape(1, *SHAPE))[0]
    y = tallies.moments.reshape(-1)
    expected = []
    for cell in places:
        w = weights[[place for place in cell.tolist() if chosen[place]]].sum(axis=0)
        expected.append(float(((w**2 - w) * y).sum()))
    assert total.covariance(total, 0)[0] == pytest.approx(expected, rel=1e-8, abs=1e-8)


def test_mixed_groups_beside_columns_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """In blocks of one cell at a time, and with a value that is not identifiable but not asked."""
    monkeypatch.setattr(crossed, "_AT_ONCE", 1)
    joint = joint_view(np.full((3, 2), 100.0), 600, 3)
    apart = view_of_release(np.array([300, 100, 100, 100]), 600, 2, "mixed")
    assert not apart.identifiable[0]
    y = np.full(SHAPE, 5.0)
    views = [joint.margin((0,)), joint.margin((1,)), apart]
    tallies = Tallies(
        np.zeros((1, 0), bool), y.reshape(1, 1, 1, *SHAPE), np.zeros(0), views,
        (True, False, False), joined=[Joined((0, 1), joint)],
    )  # fmt: skip
    counted = np.full(SHAPE, NEVER)
    counted[:, 0, 1] = ALWAYS
    estimate = Total(tallies, counted, None).estimate
    assert np.isfinite(estimate).all()
    counted[:, 0, 0] = ALWAYS
    # The first value is half of the table: with the second and none else it cannot be told apart.
    assert np.isnan(Total(tallies, counted, None).estimate).all()
    counted[:, 0] = ALWAYS
    # All values of the column: as if it had not been asked about.
    alone = Total(tallies.along((0, 1)), counted[:, :, 0], None)
    assert Total(tallies, counted, None).estimate == pytest.approx(alone.estimate)


def test_too_many_weights_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossed, "_AT_MOST", 10)
    tallies, _, _ = made_up(1, (True, True, True))
    with pytest.raises(QueryError, match=r"576 weights; at most 10 are computed. Group by"):
        _ = Total(tallies, np.full(SHAPE, ALWAYS), None).estimate
