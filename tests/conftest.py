"""Settings for all tests, and what many of them share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import settings

# Pytest finds fixtures by their names.
from tests.robustness.conftest import quick as quick  # noqa: PLC0414
from tests.servers import postgres as postgres  # noqa: PLC0414
from tests.strategies import THOROUGH

# The machine may be busy: a slow example is no failure.
settings.register_profile("countveil", deadline=None, max_examples=100 if THOROUGH else 40)
settings.load_profile("countveil")

# Folders that are a kind of test, not a room; `pytest -m statistical` runs one of them.
KINDS = ("contracts", "robustness", "statistical")


# Of a test with many parameters, so many are measured: most of the others pass the same lines.
MEASURED = 4


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the kinds; measure no coverage where thousands of examples pass the same lines."""
    here = Path(__file__).parent
    times: Counter[tuple[Path, str]] = Counter()
    for item in items:
        test = (item.path, getattr(item, "originalname", item.name))
        times[test] += 1
        folder = item.path.relative_to(here).parts[0]
        if folder in KINDS:
            item.add_marker(folder)
        repeated = times[test] > MEASURED
        if repeated or folder == "statistical" or item.get_closest_marker("hypothesis"):
            item.add_marker("no_cover")
