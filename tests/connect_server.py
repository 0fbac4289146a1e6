"""A real server of Spark Connect on loopback, for tests: a process of its own, with two cores.

Enters: a folder for its logs. Leaves: its address, and a session of this process there while a test
wants one. PySpark keeps in the environment which kind of session a process has; here a process has
both, so the kind is set for each test. Import the fixtures by name; tests that use them belong to
the group of Spark's other tests, so that one process has the server.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.clusters import java_is_there
from tests.robustness.tools import PATIENCE

# A catalogue of another maker, as far as Spark is concerned.
_JDBC = "org.apache.spark.sql.execution.datasources.v2.jdbc.JDBCTableCatalog"
_MODE = "SPARK_CONNECT_MODE_ENABLED"
_SETTINGS = """\
spark.master                      local[2,8]
spark.driver.memory               1g
spark.driver.extraJavaOptions     -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.driver.host                 127.0.0.1
spark.driver.bindAddress          127.0.0.1
spark.ui.enabled                  true
spark.ui.port                     0
spark.connect.grpc.binding.address 127.0.0.1
spark.connect.grpc.binding.port   0
spark.sql.files.maxPartitionBytes 256k
spark.sql.files.openCostInBytes   1k
spark.sql.shuffle.partitions      4
spark.io.encryption.enabled       true
spark.eventLog.enabled            true
spark.eventLog.compress           false
spark.python.worker.reuse         true
"""
_LOG = """\
rootLogger.level = info
rootLogger.appenderRef.file.ref = file
appender.file.type = File
appender.file.name = file
appender.file.fileName = {path}
appender.file.layout.type = PatternLayout
appender.file.layout.pattern = %p %c: %m%n
"""


@dataclass(frozen=True)
class Server:
    """A running server."""

    folder: Path
    address: str
    process: subprocess.Popen[bytes]


def _started(folder: Path) -> Server:
    import pyspark

    for name in ("conf", "events", "local", "work"):
        (folder / name).mkdir()
    places = {
        "spark.eventLog.dir": f"file://{folder / 'events'}",
        "spark.local.dir": str(folder / "local"),
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.catalog.derby": _JDBC,
        "spark.sql.catalog.derby.url": f"jdbc:derby:{folder / 'derby'};create=true",
        "spark.sql.catalog.derby.driver": "org.apache.derby.iapi.jdbc.AutoloadedDriver",
    }
    lines = [f"{name} {value}" for name, value in places.items()]
    (folder / "conf" / "spark-defaults.conf").write_text("\n".join([*lines, _SETTINGS]))
    log = folder / "server.log"
    (folder / "conf" / "log4j2.properties").write_text(_LOG.format(path=log))
    home = Path(pyspark.__file__).parent
    server = "org.apache.spark.sql.connect.service.SparkConnectServer"
    process = subprocess.Popen(
        [home / "bin" / "spark-submit", "--class", server, "spark-internal"],
        stdout=(folder / "output.log").open("wb"),
        stderr=subprocess.STDOUT,
        start_new_session=True,
        cwd=folder / "work",
        env={
            **os.environ,
            "SPARK_HOME": str(home),
            "SPARK_CONF_DIR": str(folder / "conf"),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "PYSPARK_PYTHON": sys.executable,
        },
    )
    last = time.monotonic() + PATIENCE
    while time.monotonic() < last:
        said = log.read_text() if log.exists() else ""
        port = re.search(r"Spark Connect server started at: \S+?:(\d+)\s", said)
        if port is not None:
            return Server(folder, f"sc://127.0.0.1:{port[1]}", process)
        time.sleep(0.2)
    _ended(process)
    raise TimeoutError("the server of Spark Connect did not start")


def _ended(process: subprocess.Popen[bytes]) -> None:
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


@pytest.fixture(scope="session")
def connect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with two cores; it ends with the tests."""
    if not java_is_there():
        pytest.skip("Spark needs Java, and this machine has none")
    server = _started(tmp_path_factory.mktemp("connect"))
    yield server
    _ended(server.process)


@contextlib.contextmanager
def as_client() -> Iterator[None]:
    """The active session of this process is the one at the server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(_MODE, "1")
        yield


@pytest.fixture(scope="session")
def connected(connect_server: Server) -> Iterator[Any]:
    """The session that countveil opens there; it is closed before the server ends."""
    from pyspark.core.context import SparkContext
    from pyspark.sql import SparkSession

    from countveil.engines.spark.session import find_session

    with as_client(), pytest.MonkeyPatch.context() as patch:
        # PySpark refuses a second kind of session; other tests of this process may have the first.
        patch.setattr(SparkContext, "_active_spark_context", None)
        patch.setattr(SparkSession, "_instantiatedSession", None)
        session = find_session(connect_server.address)
    yield session
    with as_client():
        session.stop()


@pytest.fixture
def connect_session(connected: Any) -> Iterator[Any]:
    """That session, the active one of this process while the test runs."""
    with as_client():
        yield connected
