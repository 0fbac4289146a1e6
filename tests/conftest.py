"""Settings for all tests, and what many of them share."""

from __future__ import annotations

import gc
from collections.abc import Generator
from pathlib import Path

# Lines are counted from the first import of the package on.
from tests.line_counts import hand_over_lines

# isort: split
import pytest
from hypothesis import HealthCheck, settings

from tests.fast_suite import Limits, leave_few

# Pytest finds fixtures by their names.
from tests.robustness.conftest import quick as quick  # noqa: PLC0414
from tests.servers import postgres as postgres  # noqa: PLC0414
from tests.strategies import THOROUGH

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
BROWSER = Path(__file__).parent / "web" / "browser"


@pytest.hookimpl(trylast=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Once pytest-cov has started, let its tracer rest; keep fast tests small."""
    hand_over_lines(session.config)
    if not THOROUGH:
        session.config.pluginmanager.register(Limits())


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Thousands of tests are made, and none is thrown away: look for no garbage meanwhile."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where no browser is asked for, what drives one is not loaded."""
    unasked = "not browser" in config.getoption("markexpr")
    return True if unasked and collection_path == BROWSER else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Divide the suites, mark the kinds.

    In the slow suite a file stays in one process: what its tests share takes long to set up.
    """
    leave_few(items)
    here = Path(__file__).parent
    for item in items:
        file = item.path.relative_to(here)
        if file.parts[0] in KINDS:
            item.add_marker(file.parts[0])
        if THOROUGH and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(file.as_posix()))


def pytest_collection_finish() -> None:
    """What was collected stays until the end: look for garbage elsewhere, and not as often."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_unconfigure() -> None:
    """At the end everything is let go, as ever."""
    gc.unfreeze()
