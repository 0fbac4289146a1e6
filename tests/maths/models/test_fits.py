"""Weights of classes, families, and the variance of corrected scores against simulated releases."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from countveil.maths.channel import ChannelView
from countveil.maths.channel.view import view_of_release
from countveil.maths.groups import ColumnSettings
from countveil.maths.models.cells import Lines, ModelData
from countveil.maths.models.families import FAMILIES, Family
from countveil.maths.models.fit import NoEstimateError, fit
from countveil.maths.models.sandwich import covariances
from countveil.maths.models.value_classes import HiddenValueError, class_weights, classes_of
from tests.repeated_releases import releases
from tests.strategies import examples

Codes = NDArray[np.int64]
VALUES, ROWS, RUNS = 8, 1_600, 300


@given(
    st.lists(st.integers(40, 120), min_size=6, max_size=12),
    st.sampled_from(["mixed", "random"]),
    st.integers(1, 4),
    st.randoms(use_true_random=False),
)
@examples(20)
def test_weights_of_classes_undo_the_channel(
    counts: list[int], groups: str, size: int, chance: random.Random
) -> None:
    published = np.array(counts)
    view = view_of_release(published, int(published.sum()), 2, groups)
    class_of = np.array([chance.randrange(size) for _ in counts])
    class_of = np.unique(class_of, return_inverse=True)[1]
    number = int(class_of.max()) + 1
    weights, _ = class_weights(view, class_of, number)
    assert weights.sum(axis=0) == pytest.approx(1.0)
    assert view.whole is not None
    # The mean weight of rows with a true value: 1 in its class, 0 in others.
    expected = 1.0 * (class_of == np.arange(number)[:, None]).T
    assert view.whole @ weights.T == pytest.approx(expected, abs=2e-3)


def test_two_values_that_nobody_can_tell_apart_are_one_class() -> None:
    published = np.array([500, 500, 10, 10, 10, 10, 10])
    view = view_of_release(published, int(published.sum()), 2, "mixed")
    assert not view.identifiable[:2].any()
    with pytest.raises(HiddenValueError):
        class_weights(view, np.arange(7), 7)
    weights, rest = class_weights(view, np.array([0, 0, 1, 2, 3, 4, 5]), 6)
    assert rest == 0
    assert np.isfinite(weights).all()


@pytest.mark.parametrize("name", FAMILIES)
def test_mean_and_variance_are_derivatives(name: str) -> None:
    family: Family = FAMILIES[name]
    responses = 3 if name == "multinomial" else 1
    eta = np.linspace(-2, 2, 5 * responses).reshape(5, responses)
    step = 1e-5
    for place in range(responses):
        moved = np.zeros(responses)
        moved[place] = step
        slope = (family.partition(eta + moved) - family.partition(eta - moved)) / (2 * step)
        assert family.mean(eta)[:, place] == pytest.approx(slope, rel=1e-6)
        slopes = (family.mean(eta + moved) - family.mean(eta - moved)) / (2 * step)
        assert family.variance(eta)[:, :, place] == pytest.approx(slopes, rel=1e-5, abs=1e-9)


def model(kind: str, published: Codes, plain: Codes, view: ChannelView) -> ModelData:
    """A logistic model of value 0 by a plain group, or a linear one of the group by value 0."""
    classes = classes_of(view, (np.arange(VALUES) != 0).astype(np.int64), 2)
    lines, count = np.unique(np.stack([plain, published]), axis=1, return_counts=True)
    number = count.astype(np.float64)
    if kind == "outcome":
        design = np.array([[[1.0, 0.0]], [[1.0, 1.0]]])
        order = Lines(lines[0], [lines[1]], number, number, number, None)
        return ModelData(order, [classes], design, np.array([0, 0]), np.array([[1.0], [0.0]]))
    design = np.array([[[1.0, 1.0], [1.0, 0.0]]])
    outcome = lines[0].astype(np.float64)[:, None]
    order = Lines(0 * lines[0], [lines[1]], number, number, number, outcome)
    return ModelData(order, [classes], design, np.array([0, 1]), None)


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["mixed", "random"])
@pytest.mark.parametrize("kind", ["outcome", "predictor"])
def test_errors_about_the_table_are_those_of_repeated_releases(kind: str, groups: str) -> None:
    """Chi-squared bounds at 1e-7 on both sides, 15% wider for what is left out: in two of 10^6."""
    rng = np.random.default_rng(1)
    plain = (np.arange(ROWS) % 2).astype(np.int64)
    shares = np.where(plain == 0, 0.08, 0.2)
    codes = np.where(rng.random(ROWS) < shares, 0, rng.integers(1, VALUES, ROWS)).astype(np.int64)
    settings = ColumnSettings(2, groups=groups)
    estimates, variances = [], []
    for published in releases(codes, settings, RUNS):
        counts = np.bincount(published, minlength=VALUES)
        view = view_of_release(counts, ROWS, 2, groups)
        data = model(kind, published, plain, view)
        fitted = fit(data, FAMILIES["logistic" if kind == "outcome" else "linear"])
        estimates.append(fitted.coefficients.ravel())
        variances.append(np.diag(covariances(fitted).table))
    ratio = np.var(np.array(estimates), axis=0, ddof=1) / np.mean(variances, axis=0)
    # Wilson and Hilferty's approximation.
    part = 2 / (9 * (RUNS - 1))
    low, high = (1 - part + np.array([-5.2, 5.2]) * np.sqrt(part)) ** 3
    assert np.all(ratio > low / 1.15)
    assert np.all(ratio < high * 1.15)


def test_rows_that_are_not_there_have_no_estimate() -> None:
    counts = np.full(VALUES, 200)
    view = view_of_release(counts, ROWS, 2, "mixed")
    # Nobody of the second group publishes value 0: fewer than none have it.
    published = np.concatenate([np.arange(ROWS // 2) % VALUES, np.arange(ROWS // 2) % 7 + 1])
    plain = (np.arange(ROWS) >= ROWS // 2).astype(np.int64)
    data = model("outcome", published.astype(np.int64), plain, view)
    with pytest.raises(NoEstimateError):
        fit(data, FAMILIES["logistic"])
