"""A release with noise before its groups: the view undoes both."""

from __future__ import annotations

import numpy as np
import pytest

from countveil.maths.channel import view_of_release
from countveil.maths.channel.noised_view import NoisedView
from countveil.maths.channel.skewed_views import random_view

COUNTS = np.array([900, 700, 500, 300, 200, 200, 150, 50])
ROWS, GAMMA = 3_000, 0.3


@pytest.fixture(params=["mixed", "random"])
def view(request: pytest.FixtureRequest) -> NoisedView:
    groups = (
        random_view(COUNTS, ROWS, 2)
        if request.param == "random"
        else view_of_release(COUNTS, ROWS, 2, "mixed")
    )
    return NoisedView.of(groups, GAMMA, COUNTS.size)


def channel(view: NoisedView) -> np.ndarray:
    noise = (1 - GAMMA) * np.eye(COUNTS.size) + GAMMA / COUNTS.size
    assert view.groups.whole is not None
    return noise @ view.groups.whole


def test_the_weights_undo_noise_and_groups(view: NoisedView) -> None:
    assert view.weights @ channel(view).T == pytest.approx(np.eye(COUNTS.size), abs=2e-3)


def test_rows_are_sent_through_both(view: NoisedView) -> None:
    x = np.arange(16.0).reshape(2, 8)
    assert view.sent(x) == pytest.approx(x @ channel(view))
    assert view.sent(x.T, axis=0) == pytest.approx((x @ channel(view)).T)
    assert view.returned(x) == pytest.approx(x @ channel(view).T)


def test_whole_tables_lose_what_noise_adds(view: NoisedView) -> None:
    noised = (1 - GAMMA) * COUNTS + GAMMA * ROWS / COUNTS.size
    assert view.of_whole_table(noised) == pytest.approx(COUNTS)
    assert view.shares.sum() == pytest.approx(1)
    assert (view.shares > 0).all()


def test_the_variance_by_hand() -> None:
    """All rows, random groups: groups add f~ (1 - f~/N)(1 - 1/ell), noise that of every row."""
    view = NoisedView.of(random_view(COUNTS, ROWS, 3), GAMMA, COUNTS.size)
    f, q = 900.0, GAMMA / 8
    kept = 1 - GAMMA + q
    noised = kept * f + q * (ROWS - f)
    noise = f * kept * (1 - kept) + (ROWS - f) * q * (1 - q)
    groups = noised * (1 - noised / ROWS) * (1 - 1 / 3)
    x = np.zeros(8)
    x[0] = f
    variance = view.variance(x, np.array([float(ROWS)]))[0]
    assert variance == pytest.approx((groups + noise) / (1 - GAMMA) ** 2)
