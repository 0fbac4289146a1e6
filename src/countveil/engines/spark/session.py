"""A session of Spark, with the settings that matter set.

Enters: a master's address, or nothing. Leaves: a `SparkSession`, or a sentence that says what to
install. Must not know: tables.

A session that exists is used as it is; what our plans need is set around them (`our_settings`)
and put back.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from countveil.engines.spark.jobs import condition, java_errors
from countveil.errors import EngineError, MissingExtraError, SettingsError

_LOOPBACK = re.compile(r"^(local(-cluster)?(\[.*)?$|spark://(127\.|localhost|\[::1\]))")
_JAVA = "Install Java 17 or newer, such as Debian's openjdk-17-jre-headless, or set JAVA_HOME."
_LOCAL_CLUSTER = re.compile(r"^local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*(\d+)\s*\]$")
# Rows per batch of a task: more would not be faster, fewer cost a call each.
_BATCH_ROWS = 1 << 16


def check_spark() -> None:
    """Refuse where the library is missing."""
    try:
        import pyspark  # noqa: F401 - whether it is there
    except ImportError:
        raise MissingExtraError("PySpark", "spark") from None


def active_session() -> Any:
    """The active session, if there is one."""
    check_spark()
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession()


def find_session(master: str | None = None) -> Any:
    """The session that is active, or a new one at `master` (or on this machine)."""
    active = active_session()
    if active is not None:
        there = _classic(active).sparkContext.master
        if master is not None and master != there:
            raise SettingsError(
                f"There is a session already, at {there}. Leave the master out, or stop it first."
            )
        return active
    _check_master(master)
    return _start(master)


def _check_master(master: str | None) -> None:
    if master is not None and not re.match(r"[a-z0-9-]+(\[|:|$)", master):
        raise SettingsError(
            f"{master!r} is not the address of a Spark master. What works: spark://HOST:PORT, "
            f"local[*], local-cluster[WORKERS,CORES,MEGABYTES], yarn, k8s://URL."
        )


def _classic(session: Any) -> Any:
    if "connect" in type(session).__module__:
        raise SettingsError(
            "This is a session of Spark Connect, which cannot reach the file system of the "
            "cluster. Use a session of the driver itself (spark-submit, or a cluster in dedicated "
            "access mode)."
        )
    return session


def session_of(frame: Any) -> Any:
    """The session of a data frame."""
    return _classic(frame.sparkSession)


def _start(master: str | None) -> Any:
    import pyspark
    from pyspark.sql import SparkSession

    _check_java()
    # Under spark-submit the platform says where; else this machine is meant.
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    master = master or os.environ.get("MASTER") or (None if submitted else "local[*]")
    # The workers of this machine run the Python that has this library; others run their own.
    loopback = master is not None and _LOOPBACK.match(master) is not None
    if loopback:
        # A cluster of local processes is started with the programs of the package.
        os.environ.setdefault("SPARK_HOME", str(Path(pyspark.__file__).parent))
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("countveil")
    if master is not None:
        builder = builder.master(master)
    for name, value in _first_settings(master, loopback=loopback).items():
        builder = builder.config(name, value)
    # Spark says so of every newer pandas, of which nothing is used here.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    try:
        with _quiet(), _keeping_signals():
            return builder.getOrCreate()
    except java_errors() as error:
        # The texts of such errors are Java's stack traces.
        raise EngineError(
            f"Spark could not be started at {master or 'this place'} ({condition(error)}). Is the "
            f"master running, is its address right, is its Spark of the same version, and is "
            f"the Java of this machine 17 or newer?"
        ) from None


def _first_settings(master: str | None, *, loopback: bool) -> Mapping[str, str]:
    """What can be set only before a session exists."""
    settings = {
        # What Spark itself puts on the disks of the workers is encrypted.
        "spark.io.encryption.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    if loopback:
        settings["spark.driver.host"] = "127.0.0.1"
        settings["spark.driver.bindAddress"] = "127.0.0.1"
    small = _LOCAL_CLUSTER.match(master or "")
    if small is not None:
        # An executor that does not fit into its worker would be refused.
        settings["spark.executor.memory"] = f"{small[1]}m"
    return settings


def _check_java() -> None:
    home = os.environ.get("JAVA_HOME")
    named = Path(home) / "bin" / "java" if home else None
    if named is not None and not named.exists():
        raise EngineError(
            f"Spark needs Java, and JAVA_HOME names {home}, where there is none. {_JAVA}"
        )
    if named is None and shutil.which("java") is None:
        raise EngineError(f"Spark needs Java, and there is no 'java' on this machine. {_JAVA}")


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Java, which is started here, writes its log nowhere, unless a configuration of it exists.

    It would mix with the output of the caller, and may quote values of the table.
    """
    if "SPARK_CONF_DIR" in os.environ:
        yield
        return
    sys.stderr.flush()
    error_output = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(error_output, 2)
        os.close(error_output)
        os.close(nowhere)


@contextlib.contextmanager
def _keeping_signals() -> Iterator[None]:
    """Spark replaces the handler of Ctrl-C; the one before is put back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def our_settings(session: Any, *, own_zone: bool = True) -> Iterator[None]:
    """What our plans need, set while they run.

    Without `own_zone` the session's time zone stays: a data frame that somebody made may still have
    to read times by it.
    """
    parallel = str(session.sparkContext.defaultParallelism)
    wanted = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_ROWS),
        **({"spark.sql.session.timeZone": "UTC"} if own_zone else {}),
        "spark.sql.parser.escapedStringLiterals": "false",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.execution.arrow.useLargeVarTypes": "false",
        # Files are cut into the same partitions in every pass, also if a worker is lost in between.
        "spark.sql.files.minPartitionNum": session.conf.get(
            "spark.sql.files.minPartitionNum", parallel
        ),
    }
    before = {name: session.conf.get(name, None) for name in wanted}
    try:
        for name, value in wanted.items():
            session.conf.set(name, value)
        yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)
