"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# The machine may be busy: a slow example is no failure.
settings.register_profile("countveil", deadline=None)
settings.load_profile("countveil")
