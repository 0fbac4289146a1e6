"""Fresh keys from the operating system.

Enters: nothing. Leaves: 256 bits that no seed may decide, for keys, tokens and names that nobody
can guess. Must not know: arrays. What only needs a secret is loaded without them.
"""

from __future__ import annotations

import functools
import operator
import secrets
from collections.abc import Callable

KEY_BYTES = 32
# `secrets.token_bytes(KEY_BYTES)`, at each call.
fresh_key: Callable[[], bytes] = functools.partial(
    operator.methodcaller("token_bytes", KEY_BYTES), secrets
)
