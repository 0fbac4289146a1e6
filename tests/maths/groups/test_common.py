"""Groups in which common values fill several places."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from countveil.maths.channel.common import Copies, eligible_with, frequent_values
from countveil.maths.channel.design import design_channel
from countveil.maths.groups.mixed import common_groups
from countveil.maths.mechanism import draw_published
from countveil.randomness import Randomness


@st.composite
def skewed(draw: st.DrawFn) -> tuple[np.ndarray, int]:
    ell = draw(st.integers(2, 6))
    counts = draw(st.lists(st.integers(1, 60), min_size=ell, max_size=20))
    counts[0] = draw(st.integers(sum(counts) // 2, 12 * sum(counts)))
    return np.array(counts, np.int64), ell


@pytest.mark.slow
@given(skewed(), st.integers(0, 2**32))
def test_only_common_values_repeat(table: tuple[np.ndarray, int], seed: int) -> None:
    counts, ell = table
    common = frequent_values(counts, ell)
    assume(eligible_with(counts, ell, common))
    groups = common_groups(counts, ell, common, Randomness(seed).stream("groups"))
    assert np.array_equal(groups.counts, counts)
    assert groups.sizes.min() >= ell
    others = np.setdiff1d(np.arange(counts.size), common)
    for first, last in zip(groups.indptr[:-1], groups.indptr[1:], strict=True):
        members = groups.members[first:last]
        rare = members[np.isin(members, others)]
        assert np.unique(rare).size == rare.size
    drawn = draw_published(groups, Randomness(seed).stream("draw"))
    assert drawn.published().sum() == counts.sum()


def test_frequent_values_are_always_eligible() -> None:
    """Whatever is left has at most half of N/ell."""
    rng = np.random.default_rng(5)
    for _ in range(200):
        counts = np.round(rng.dirichlet(np.full(12, 0.3)) * 5_000).astype(np.int64) + 1
        assert eligible_with(counts, 5, frequent_values(counts, 5))


def test_without_common_values_it_is_the_plain_design() -> None:
    counts = np.array([30, 40, 50, 60, 20])
    none = np.zeros(0, np.int64)
    assert Copies.of(counts, 3, none).channel(3) == pytest.approx(design_channel(counts, 3))


@pytest.mark.parametrize("share", [0.3, 0.5, 0.83, 0.95])
def test_what_is_believed(share: float) -> None:
    """A value that is not common: 1/ell. A common one of share s: about s + (1 - s)/ell.

    Whoever knows that the value is not the common one: about 1 / (1 + (ell - 1)(1 - s)).
    """
    ell, rows = 5, 100_000
    shares = np.append(share, np.full(20, (1 - share) / 20))
    counts = np.round(shares * rows).astype(np.int64)
    whole = Copies.of(counts, ell, frequent_values(counts, ell)).channel(ell)
    joint = counts[:, None] * whole
    assert joint.sum(axis=0) == pytest.approx(counts, rel=1e-6)
    belief = np.diag(joint) / joint.sum(axis=0)
    assert belief[1:] == pytest.approx(1 / ell, abs=1e-9)
    assert belief[0] == pytest.approx(share + (1 - share) / ell, abs=0.02)
    knowing = joint[1, 1] / joint[1:, 1].sum()
    assert knowing == pytest.approx(1 / (1 + (ell - 1) * (1 - share)), rel=0.08)


def test_groups_follow_the_design() -> None:
    """Of a table with half of its rows in one value, drawn often: W of the groups is the design's.

    50,000 rows: the chance of a publication, which is all that W is, is off by rounding alone.
    """
    from countveil.maths.channel.templates import channel_matrix

    counts = np.array([25_000, 9_000, 6_000, 5_000, 3_000, 1_500, 500])
    common = frequent_values(counts, 5)
    groups = common_groups(counts, 5, common, Randomness(3).stream("groups"))
    whole = Copies.of(counts, 5, common).channel(5)
    assert common.tolist() == [0, 1, 2]
    # Repeated members: W adds every pair of places.
    joint = np.zeros((7, 7))
    for first, last, times in zip(
        groups.indptr[:-1], groups.indptr[1:], groups.multiplicity, strict=True
    ):
        members = groups.members[first:last]
        np.add.at(joint, np.ix_(members, members), times / members.size)
    assert joint / counts[:, None] == pytest.approx(whole, abs=2e-3)
    assert channel_matrix(groups).shape == (7, 7)
