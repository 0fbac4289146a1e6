"""A real Spark cluster for tests: one master and two workers on loopback, started on demand.

Enters: nothing. Leaves: a running cluster. Import the fixture `cluster` by name; tests that use it
belong to one group, so that one process has it.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from benchmarks.cluster import Cluster, running_cluster

# Small parts, so that small tables have many; no patience with workers that are gone; and tasks
# that take a little longer than others are run a second time beside the first.
_SETTINGS = """\
spark.executor.memory             768m
spark.driver.memory               1g
spark.sql.files.maxPartitionBytes 256k
spark.sql.files.openCostInBytes   1k
spark.shuffle.io.maxRetries       1
spark.shuffle.io.retryWait        1s
spark.speculation                 true
spark.speculation.interval        50ms
spark.speculation.quantile        0.1
spark.speculation.multiplier      1.0
spark.speculation.minTaskRuntime  20ms
spark.speculation.efficiency.enabled false
"""


def java_is_there() -> bool:
    """Whether Spark can run on this machine."""
    return shutil.which("java") is not None or "JAVA_HOME" in os.environ


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers; the session that countveil starts logs into the same folder."""
    if not java_is_there():
        pytest.skip("Spark needs Java, and this machine has none")
    folder = tmp_path_factory.mktemp("spark")
    with running_cluster(folder, _SETTINGS, workers=2, memory="1g") as made:
        yield made
        _stop_session()


def _stop_session() -> None:
    from countveil.engines.spark.session import active_session

    active: Any = active_session()
    if active is not None:
        active.stop()
