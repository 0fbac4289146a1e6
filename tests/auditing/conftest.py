"""The seed of the statistical tests is the one of tests/statistical."""

from __future__ import annotations

from tests.statistical.conftest import seed

__all__ = ["seed"]
