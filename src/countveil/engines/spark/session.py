"""A session of Spark, with the settings that matter set.

Enters: the address of a master or of a server of Spark Connect, or nothing. Leaves: a
`SparkSession`, or a sentence that says what to install. Must not know: tables.

A session that exists is used as it is; what our plans need is set around them (`our_settings`)
and put back.
"""

from __future__ import annotations

import contextlib
import logging
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
from urllib.parse import urlsplit

from countveil.engines.spark.jobs import condition, java_errors
from countveil.engines.spark.platform.kinds import PORT, address_of, parallelism
from countveil.errors import EngineError, MissingExtraError, SettingsError

_LOOPBACK = re.compile(r"^(local(-cluster)?(\[.*)?$|spark://(127\.|localhost|\[::1\]))")
_JAVA = "Install Java 17 or newer, such as Debian's openjdk-17-jre-headless, or set JAVA_HOME."
_LOCAL_CLUSTER = re.compile(r"^local-cluster\[\s*\d+\s*,\s*\d+\s*,\s*(\d+)\s*\]$")
# Rows per batch of a task: more would not be faster, fewer cost a call each.
_BATCH_ROWS = 1 << 16
_LEAST_PARTITIONS = "spark.sql.files.minPartitionNum"
# How the address of a server of Spark Connect begins.
SERVER = "sc://"
# PySpark writes what failed, values included, into these logs, which go to the caller's terminal.
_LOGS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


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
        there = address_of(active)
        if master is not None and not _same_place(master, there):
            raise SettingsError(
                f"There is a session already, at {there}. Leave the master out, or stop it first."
            )
        return active
    _check_master(master)
    server = master or os.environ.get("SPARK_REMOTE", "")
    if server.startswith(SERVER):
        from countveil.engines.spark.platform.server import connected

        return connected(server)
    return _start(master)


def _same_place(master: str, there: str) -> bool:
    """Whether a session is where it was asked for; of a server, host and port say so."""
    if master == there or not master.startswith(SERVER):
        return master == there
    place = urlsplit(master)
    return there in {f"{SERVER}{place.hostname}:{place.port or PORT}", f"{SERVER}{place.hostname}"}


def _check_master(master: str | None) -> None:
    if master is not None and not re.match(r"[a-z0-9-]+(\[|:|$)", master):
        raise SettingsError(
            f"{master!r} is not the address of a Spark master. What works: spark://HOST:PORT, "
            f"local[*], local-cluster[WORKERS,CORES,MEGABYTES], yarn, k8s://URL, or the address "
            f"of a server of Spark Connect, sc://HOST:PORT."
        )


def session_of(frame: Any) -> Any:
    """The session of a data frame."""
    return frame.sparkSession


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
    wanted = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(_BATCH_ROWS),
        **({"spark.sql.session.timeZone": "UTC"} if own_zone else {}),
        "spark.sql.parser.escapedStringLiterals": "false",
        "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.execution.arrow.useLargeVarTypes": "false",
        # Files are cut into the same partitions in every pass, also if a worker is lost in between.
        _LEAST_PARTITIONS: session.conf.get(_LEAST_PARTITIONS, None) or str(parallelism(session)),
    }
    before: dict[str, str | None] = {}
    try:
        _set(session, wanted, before)
        with _no_values_logged():
            yield
    finally:
        for name, old in before.items():
            if old is None:
                session.conf.unset(name)
            else:
                session.conf.set(name, old)


def _set(session: Any, wanted: Mapping[str, str], before: dict[str, str | None]) -> None:
    """Change what is not as wanted; what it was goes to `before`."""
    for name, value in wanted.items():
        try:
            # A setting that is right is left alone: of some, Spark says that they are old.
            if name != _LEAST_PARTITIONS and session.conf.get(name) == value:
                continue
            old = session.conf.get(name, None)
            session.conf.set(name, value)
        except java_errors() as error:
            raise EngineError(
                f"This Spark does not let a session set {name} ({condition(error)}), which is "
                f"needed here. Set {name}={value} where it is started, or use another cluster."
            ) from None
        before[name] = old


@contextlib.contextmanager
def _no_values_logged() -> Iterator[None]:
    """Nothing that PySpark itself logs of a failure."""
    logs = [logging.getLogger(name) for name in _LOGS]
    before = [log.disabled for log in logs]
    try:
        for log in logs:
            log.disabled = True
        yield
    finally:
        for log, old in zip(logs, before, strict=True):
            log.disabled = old
