"""What a session would leave in the clear, and which settings close it.

Enters: a session. Leaves: a sentence for everything that is open. Must not know: tables.

What we send to tasks is encrypted by ourselves, and no plan of ours has a value of the table in it.
The rows themselves are Spark's: it exchanges them through files and over the network.
"""

from __future__ import annotations

import re
from typing import Any

from countveil.engines.spark.platform.kinds import address_of, is_connect, setting

_ONE_MACHINE = re.compile(r"^(local(-cluster)?(\[.*)?$|spark://(127\.|localhost\b|\[::1\]))")
_LOOPBACK = re.compile(r"^sc://(127\.|localhost\b|\[?::1)")
ON_DISK = (
    "This Spark writes the rows that it exchanges or caches to the disks of its workers "
    "unencrypted. Start it with spark.io.encryption.enabled=true."
)
ON_THE_WIRE = (
    "The workers of this Spark send rows to each other unencrypted. Start it with "
    "spark.authenticate=true and spark.network.crypto.enabled=true, or with "
    "spark.ssl.rpc.enabled=true."
)
TO_THE_SERVER = (
    "This process and the server of Spark Connect exchange counts and keys unencrypted. Connect "
    "with sc://HOST:PORT/;use_ssl=true."
)


def exposures(session: Any) -> list[str]:
    """What is open, in sentences."""
    sentences = []
    if not _is_on(session, "spark.io.encryption.enabled"):
        sentences.append(ON_DISK)
    if not _ONE_MACHINE.match(setting(session, "spark.master", "local")) and not _wire(session):
        sentences.append(ON_THE_WIRE)
    if is_connect(session) and not _LOOPBACK.match(address_of(session)) and not _tls(session):
        sentences.append(TO_THE_SERVER)
    return sentences


def _wire(session: Any) -> bool:
    """Whether what workers send to each other is encrypted."""
    if _is_on(session, "spark.ssl.rpc.enabled"):
        return True
    crypto = ("spark.network.crypto.enabled", "spark.authenticate.enableSaslEncryption")
    return _is_on(session, "spark.authenticate") and any(_is_on(session, name) for name in crypto)


def _tls(session: Any) -> bool:
    # A platform's own way to its server does not say.
    return bool(getattr(session.client._builder, "secure", True))  # noqa: SLF001


def _is_on(session: Any, name: str) -> bool:
    return setting(session, name).lower() == "true"
