"""A real Spark cluster on loopback, for tests and benchmarks: one master, workers of one core each.

Enters: a folder for its logs. Leaves: the master's address; a worker can be added or killed. The
package of PySpark lacks the scripts that start a cluster, but has the program that they call.
Import the fixture `cluster` by name; tests that use it belong to one group, so that one process
has it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.robustness.tools import PATIENCE

# Compiling with all that Java knows takes longer than these tests, and so do threads that clean up.
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
# Small parts, so that small tables have many; no patience with workers that are gone; and tasks
# that take a little longer than others are run a second time beside the first.
_SETTINGS = f"""\
spark.driver.extraJavaOptions     {_QUICK_JAVA}
spark.executor.extraJavaOptions   {_QUICK_JAVA}
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


@dataclass
class Cluster:
    """A running cluster."""

    folder: Path
    memory: str
    master: str = ""
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, name: str, *words: str) -> None:
        """Start a part of the cluster, in a session of its own."""
        import pyspark

        program = Path(pyspark.__file__).parent / "bin" / "spark-class"
        environment = dict(os.environ)
        environment.pop("SPARK_CONF_DIR", None)
        # To Spark each of them is a machine of its own.
        host = f"127.0.0.{max(1, len(self.processes))}"
        here = ["--host", host, "--port", "0", "--webui-port", "0"]
        with (self.folder / "logs" / f"{name}.log").open("wb") as log:
            self.processes.append(
                subprocess.Popen(
                    [program, f"org.apache.spark.deploy.{words[0]}", *here, *words[1:]],
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    env={
                        **environment,
                        "SPARK_LOCAL_IP": host,
                        "SPARK_DAEMON_JAVA_OPTS": _QUICK_JAVA,
                    },
                )
            )

    def said(self, name: str, pattern: str, seconds: float = PATIENCE) -> str:
        """Wait until a part of the cluster has written a line that matches."""
        last = time.monotonic() + seconds
        while time.monotonic() < last:
            match = re.search(pattern, (self.folder / "logs" / f"{name}.log").read_text())
            if match is not None:
                return match[1]
            time.sleep(0.1)
        raise TimeoutError(f"{name} did not say {pattern}")

    def add_worker(self, name: str) -> None:
        """One worker with one core."""
        work = str(self.folder / "work" / name)
        self.start(
            name, "worker.Worker", "--cores", "1", "--memory", self.memory, "--work-dir", work,
            self.master,
        )  # fmt: skip
        self.said(name, r"(Successfully registered with master)")

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """End a part of the cluster and all that it started, at once."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def running_cluster(folder: Path, settings: str, workers: int, memory: str) -> Iterator[Cluster]:
    """A cluster, and the settings that a session finds which is started meanwhile."""
    for name in ("logs", "events", "local", "conf", "work"):
        (folder / name).mkdir()
    places = {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.compress": "false",
        "spark.eventLog.dir": f"file://{folder / 'events'}",
        "spark.local.dir": str(folder / "local"),
    }
    lines = [f"{name} {value}" for name, value in places.items()]
    (folder / "conf" / "spark-defaults.conf").write_text("\n".join([*lines, settings]))
    (folder / "conf" / "log4j2.properties").write_text(
        "rootLogger.level = info\n"
        "rootLogger.appenderRef.file.ref = file\n"
        "appender.file.type = File\n"
        "appender.file.name = file\n"
        f"appender.file.fileName = {folder / 'logs' / 'driver.log'}\n"
        "appender.file.layout.type = PatternLayout\n"
        "appender.file.layout.pattern = %p %c: %m%n\n"
    )
    before = os.environ.get("SPARK_CONF_DIR")
    os.environ["SPARK_CONF_DIR"] = str(folder / "conf")
    made = Cluster(folder, memory)
    try:
        made.start("master", "master.Master")
        made.master = made.said("master", r"Starting Spark master at (spark://\S+)")
        for number in range(workers):
            made.add_worker(f"worker{number + 1}")
        yield made
    finally:
        for process in made.processes:
            made.kill(process)
        del os.environ["SPARK_CONF_DIR"]
        if before is not None:
            os.environ["SPARK_CONF_DIR"] = before


def java_is_there() -> bool:
    """Whether Spark can run on this machine."""
    return shutil.which("java") is not None or "JAVA_HOME" in os.environ


@pytest.fixture(scope="session")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers; the session that countveil starts logs into the same folder."""
    if not java_is_there():
        pytest.skip("Spark needs Java, and this machine has none")
    _be_the_only_one(tmp_path_factory.getbasetemp())
    folder = tmp_path_factory.mktemp("spark")
    with running_cluster(folder, _SETTINGS, workers=2, memory="1g") as made:
        yield made
        _stop_session()


def _be_the_only_one(folder: Path) -> None:
    """Fail where tests of one group run in two processes: two clusters at once starve each other.

    The processes of a test run have folders of their own beside each other.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:
        try:
            (folder.parent / "the-cluster").touch(exist_ok=False)
        except FileExistsError:
            raise RuntimeError("A second process starts a cluster: groups are ignored.") from None


def _stop_session() -> None:
    from countveil.engines.spark.session import active_session

    active: Any = active_session()
    if active is not None:
        active.stop()
