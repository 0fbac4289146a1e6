"""Settings for all tests, and what many of them share."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.fast_suite import Limits, leave_few

# Pytest finds fixtures by their names.
from tests.robustness.conftest import quick as quick  # noqa: PLC0414
from tests.servers import postgres as postgres  # noqa: PLC0414
from tests.strategies import THOROUGH
from tests.tracing import start_tracing

# The machine may be busy: a slow example is no failure, nor is one that takes long to make up.
settings.register_profile(
    "countveil",
    deadline=None,
    max_examples=100 if THOROUGH else 10,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("countveil")

# Folders that are a kind of test, not a room; `pytest -m statistical` runs one of them.
KINDS = ("contracts", "robustness", "statistical")
# Of a fast test with many parameters, the lines of so many cases count: others pass the same.
MEASURED = 4


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Once pytest-cov has started, count lines only where that tells something."""
    start_tracing(session.config)
    if not THOROUGH:
        session.config.pluginmanager.register(Limits())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Divide the suites, mark the kinds; count no lines where many examples pass the same."""
    leave_few(items)
    here = Path(__file__).parent
    times: Counter[tuple[Path, str]] = Counter()
    for item in items:
        test = (item.path, getattr(item, "originalname", item.name))
        times[test] += item.get_closest_marker("slow") is None
        folder = item.path.relative_to(here).parts[0]
        if folder in KINDS:
            item.add_marker(folder)
        repeated = times[test] > MEASURED
        if repeated or folder == "statistical" or item.get_closest_marker("hypothesis"):
            item.add_marker("uncounted")
