"""What every test in one of the places needs."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def what_the_place_needs(request: pytest.FixtureRequest) -> None:
    """The fixture that the test's place names, if it has one."""
    callspec = getattr(request.node, "callspec", None)
    for place in callspec.params.values() if callspec is not None else ():
        needs = getattr(place, "needs", "")
        if needs:
            request.getfixturevalue(needs)
