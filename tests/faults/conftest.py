"""The process that runs commands with faults, and what commands begin with."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.scenarios import make_given
from tests.faults.trials import Server, running_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One process that runs commands with faults, for all tests of this one."""
    with running_server() as started:
        if started.why and sys.platform != "linux":
            pytest.skip(started.why)
        assert not started.why, started.why
        yield started


@pytest.fixture(scope="session")
def given(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What commands begin with."""
    folder = tmp_path_factory.mktemp("given")
    make_given(folder)
    return folder
