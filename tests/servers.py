"""A real PostgreSQL server for tests: a throwaway cluster, started once per test process.

Enters: nothing. Leaves: the address of an empty database. Import the fixture `postgres` by name.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks.server import running_server


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database that only these tests use, without a password."""
    with running_server() as address:
        yield address
