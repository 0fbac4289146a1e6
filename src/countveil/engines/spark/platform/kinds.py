"""Which kind of session this is, and what must be asked of each kind in its own way.

Enters: a session or a data frame. Leaves: numbers and settings. Must not know: tables, releases.
"""

from __future__ import annotations

import weakref
from typing import Any

# Where a server of Spark Connect listens, unless its address says otherwise.
PORT = 15002
# By session of Spark Connect, so that it stays the same if a worker is lost.
_PARALLEL: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def is_connect(session: Any) -> bool:
    """Whether the session is a client of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def partitions_of(frame: Any) -> int:
    """How many partitions a frame is read in, by a plan made now.

    A client of Spark Connect does not see those after the last row, which are empty.
    """
    if is_connect(frame.sparkSession):
        from pyspark.sql import functions as sql

        # Where a file is cut does not depend on the columns that are read, and none is.
        last = frame.select(sql.spark_partition_id().alias("n")).agg(sql.max("n")).collect()[0][0]
        return 1 if last is None else int(last) + 1
    # The frame may remember an older plan.
    return int(frame.select("*").rdd.getNumPartitions())


def parallelism(session: Any) -> int:
    """How many tasks Spark would run at a time when it reads a table."""
    if not is_connect(session):
        return int(session.sparkContext.defaultParallelism)
    if session not in _PARALLEL:
        _PARALLEL[session] = partitions_of(session.range(1 << 16))
    return _PARALLEL[session]


def setting(session: Any, name: str, default: str = "") -> str:
    """A setting of the session, or of the cluster below it."""
    if is_connect(session):
        from pyspark.errors import PySparkException

        try:
            return str(session.conf.get(name, None) or default)
        except PySparkException:
            # A managed platform may keep its settings to itself.
            return default
    return str(session.sparkContext.getConf().get(name) or default)


def address_of(session: Any) -> str:
    """Where the session's jobs run."""
    if is_connect(session):
        # A platform may have a way of its own to its server, which has a host and no more.
        way = session.client._builder  # noqa: SLF001 - nothing else knows the port
        return f"sc://{getattr(way, 'endpoint', session.client.host)}"
    return str(session.sparkContext.master)
