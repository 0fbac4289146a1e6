"""The very first code of the command: signals and exit codes.

Enters: the arguments. Leaves: an exit code. Must not know: any command. Nothing heavy is imported
before Ctrl-C is taken care of.
"""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn


class Interrupted(BaseException):
    """Ctrl-C or a request to terminate; not an Exception, so that nothing swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_SIGNALS = (signal.SIGINT, signal.SIGTERM)
_received: list[int] = []


def ignore_interrupts() -> None:
    """From here on the command finishes: what it was to leave is complete."""
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    # A second Ctrl-C must not disturb the clean-up after the first.
    ignore_interrupts()
    _received.append(number)
    raise Interrupted(number)


def main() -> NoReturn:
    """Run the command line."""
    try:
        for number in _SIGNALS:
            signal.signal(number, _interrupt)
        from countveil.cli.app import run

        code = run()
    except BaseException as error:
        if not _received:
            if isinstance(error, SystemExit):
                raise
            code = _explain(error)
        else:
            # Libraries turn an interrupt into errors of their own; the signal tells the truth.
            _say("Interrupted. Nothing was left behind.")
            code = 128 + _received[0]
    sys.exit(code)


def _explain(error: BaseException) -> int:
    from countveil.cli.output import visible
    from countveil.errors import CountveilError

    if isinstance(error, CountveilError):
        _say(f"Error: {visible(str(error))}")
        return 1
    if isinstance(error, BrokenPipeError):
        # The reader went away (such as `| head`): no reason to complain.
        sys.stderr.close()
        return 1
    import os
    import traceback

    if os.environ.get("COUNTVEIL_TRACEBACK"):
        traceback.print_exception(error)
        return 1
    # A traceback may quote values of the table, so only the place is named.
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {last[0].name}, line {last[0].lineno}" if last else ""
    _say(
        f"Error: countveil failed in a way it should not ({type(error).__name__}{place}). This is "
        f"a bug; nothing was published. COUNTVEIL_TRACEBACK=1 shows details, which may contain "
        f"data."
    )
    return 1


def _say(text: str) -> None:
    print(text, file=sys.stderr)
