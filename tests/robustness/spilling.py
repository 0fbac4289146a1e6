"""The command as it is, except that every table is too large for the memory.

With COUNTVEIL_TEST_PAUSE, it says "spilled" on standard output before it reads anything back, and
waits until standard input ends: a test can then look at the folder, or send a signal.
"""

from __future__ import annotations

import os
import sys

import countveil.cli.entry
from countveil.engines.local import publish_rows
from countveil.tables.storage import memory
from countveil.tables.storage.spill import Spill


def leave_no_memory_for_rows() -> None:
    """From here on every table is too large for the memory."""
    memory.COLUMNS_SHARE = memory.ROWS_SHARE = 0.0
    publish_rows.BUCKET_ROWS = 1 << 12


def main() -> None:
    """Run the command line."""
    leave_no_memory_for_rows()
    if os.environ.get("COUNTVEIL_TEST_PAUSE"):
        get = Spill.get

        def paused(self: Spill, number: int) -> bytes:
            if number == 0:
                sys.stdout.write("spilled\n")
                sys.stdout.flush()
                sys.stdin.read()
            return get(self, number)

        Spill.get = paused  # type: ignore[method-assign]
    sys.argv[0] = "countveil"
    countveil.cli.entry.main()


if __name__ == "__main__":
    main()
