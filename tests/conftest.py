"""Settings for all tests, and what many of them share."""

from __future__ import annotations

from hypothesis import settings

# Fixtures are found by their names.
from tests.robustness.conftest import quick as quick  # noqa: PLC0414
from tests.servers import postgres as postgres  # noqa: PLC0414
from tests.strategies import THOROUGH

# The machine may be busy: a slow example is no failure.
settings.register_profile("countveil", deadline=None, max_examples=100 if THOROUGH else 40)
settings.load_profile("countveil")
