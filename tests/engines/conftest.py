"""What the tests of engines share: one cluster, started by the first test that needs it."""

from __future__ import annotations

from typing import Any

import pytest

# Fixtures are found by their names.
from tests.clusters import Cluster
from tests.clusters import cluster as cluster  # noqa: PLC0414
from tests.connect_server import connect_server as connect_server  # noqa: PLC0414
from tests.connect_server import connect_session as connect_session  # noqa: PLC0414
from tests.connect_server import connected as connected  # noqa: PLC0414


@pytest.fixture(scope="session")
def spark_session(cluster: Cluster) -> Any:
    """The session that countveil starts there."""
    from countveil.engines.spark.session import find_session

    return find_session(cluster.master)
