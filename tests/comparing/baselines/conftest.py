"""The seed of the statistical tests, as in tests/statistical."""

from __future__ import annotations

from tests.statistical.conftest import seed

__all__ = ["seed"]
