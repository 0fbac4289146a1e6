"""The seed of the statistical tests.

`COUNTVEIL_TEST_SEED` overrides the default: `7` runs with that seed, `0-19` runs every test once
with each of twenty seeds.
"""

from __future__ import annotations

import os

import pytest

DEFAULT_SEED = "20111"


def _seeds(text: str) -> list[int]:
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


@pytest.fixture(params=_seeds(os.environ.get("COUNTVEIL_TEST_SEED", DEFAULT_SEED)))
def seed(request: pytest.FixtureRequest) -> int:
    """A test that asks for it must hold for every seed."""
    chosen: int = request.param
    return chosen
