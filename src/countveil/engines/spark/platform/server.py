"""A session at a server of Spark Connect.

Enters: its address. Leaves: a session, or a sentence that says what is missing. Must not know:
tables.
"""

from __future__ import annotations

import socket
import warnings
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit

from countveil.engines.spark.platform.kinds import PORT
from countveil.errors import EngineError, MissingExtraError, SettingsError

# Seconds. Spark's own client would go on trying for minutes.
_PATIENCE = 10


def connected(address: str) -> Any:
    """A session at `sc://HOST:PORT`, with whatever follows there (`/;use_ssl=true`)."""
    if any(find_spec(name) is None for name in ("grpc", "grpc_status", "google.rpc", "zstandard")):
        raise MissingExtraError("What Spark Connect needs", "spark")
    _check_reached(address)
    from pyspark.sql import SparkSession

    # Spark says so of every newer pandas, of which nothing is used here.
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    from countveil.engines.spark.jobs import condition, java_errors

    try:
        session = SparkSession.builder.remote(address).getOrCreate()
        # Only an answer shows that it is a server of Spark Connect.
        _ = session.version
    except java_errors() as error:
        raise EngineError(
            f"There is no session at {_shown(address)} ({condition(error)}). Is it a server of "
            f"Spark Connect of the same version, and does it want a token or TLS "
            f"(sc://HOST:PORT/;token=...;use_ssl=true)?"
        ) from None
    return session


def _check_reached(address: str) -> None:
    try:
        place = urlsplit(address)
        host, port = place.hostname, place.port or PORT
    except ValueError:
        host, port = None, PORT
    if host is None:
        raise SettingsError(
            f"{_shown(address)} is not the address of a server of Spark Connect. What works: "
            f"sc://HOST:PORT, such as sc://localhost:{PORT}."
        )
    try:
        socket.create_connection((host, port), _PATIENCE).close()
    except OSError:
        raise EngineError(
            f"Nothing answers at {_shown(address)}. Is the server of Spark Connect running "
            f"(sbin/start-connect-server.sh), and is the port the right one?"
        ) from None


def _shown(address: str) -> str:
    """The address without what follows it: there may be a token."""
    return address.partition("/;")[0]
