"""Which engine is meant.

Enters: its name, and the table. Leaves: the engine, of which nothing was loaded before. Must not
know: what it will be asked to do.
"""

from __future__ import annotations

from countveil.engines.contract import Engine
from countveil.errors import SettingsError

EMBEDDED, SPARK = "embedded", "spark"
ENGINES = (EMBEDDED, SPARK)


def check_engine(name: str, master: str | None = None) -> None:
    """Refuse a name that is none, and a master for an engine without one."""
    if name not in ENGINES:
        raise SettingsError(f"There is no engine {name!r}. There are: {', '.join(ENGINES)}.")
    if master is not None and name != SPARK:
        raise SettingsError("A master is the address of a Spark cluster; say --engine spark too.")


def chosen_engine(name: str, table: object, master: str | None = None) -> Engine:
    """The engine with this name; the one of the table if it is a data frame of Spark."""
    # Only here: an analyst's process loads nothing about sources.
    from countveil.tables.locate import is_spark_frame

    if is_spark_frame(table):
        name = SPARK
    check_engine(name, master)
    if name == SPARK:
        from countveil.engines.spark.engine import SparkEngine

        return SparkEngine(table, master)
    from countveil.engines.local.engine import EmbeddedEngine

    return EmbeddedEngine()
