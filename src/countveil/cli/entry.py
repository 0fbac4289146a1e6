"""The very first code of the command: signals and exit codes.

Enters: the arguments. Leaves: an exit code. Must not know: any command. Nothing heavy is imported
before Ctrl-C is handled.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import signal
import sys
from types import FrameType
from typing import NoReturn

from countveil import errors
from countveil.system import offers


class Interrupted(BaseException):
    """Ctrl-C or a request to terminate; not an Exception, so that nothing swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


_SIGNALS = offers.STOP_SIGNALS
_received: list[int] = []


def ignore_interrupts() -> None:
    """From here on the command finishes: its result is complete.

    An interrupt that a library swallowed is raised again here, at the last moment at which nothing
    is left behind.
    """
    for number in _SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    if _received:
        raise Interrupted(_received[0])


def _interrupt(number: int, _frame: FrameType | None) -> NoReturn:
    # A second Ctrl-C must not disturb the clean-up after the first.
    for other in _SIGNALS:
        signal.signal(other, signal.SIG_IGN)
    _received.append(number)
    raise Interrupted(number)


def _unraisable(lost: sys.UnraisableHookArgs) -> None:
    # Raised where Python cannot pass it on (a finaliser): `ignore_interrupts` raises it again.
    if not isinstance(lost.exc_value, Interrupted):
        sys.__unraisablehook__(lost)


def command() -> NoReturn:
    """The installed command: `main`, and out."""
    try:
        main()
    except SystemExit as done:
        code = done.code if isinstance(done.code, int) else int(done.code is not None)
        for stream in (sys.stdout, sys.stderr):
            # Whoever reads may have gone, and has then been told.
            with contextlib.suppress(OSError, ValueError, AttributeError):
                stream.flush()
        atexit._run_exitfuncs()  # noqa: SLF001 - there is no public name for it
        # Arrow stops its threads while the process unloads, and now and then aborts it: all that
        # was to be done is done, so nothing is unloaded.
        os._exit(code)


def main() -> NoReturn:
    """Run the command line."""
    sys.unraisablehook = _unraisable
    errors.reader = "command line"
    try:
        for number in _SIGNALS:
            signal.signal(number, _interrupt)
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # What a terminal's encoding lacks is shown by its number.
                stream.reconfigure(errors="backslashreplace")
        if sys.argv[1:2] == ["query"]:
            from countveil.cli.quick_query import answered_quickly

            with _libraries_muffled():
                answered = answered_quickly(sys.argv[1:])
            if answered:
                sys.stdout.flush()
                # Nothing was opened for writing, and unloading the libraries takes a while.
                os._exit(0)
        from countveil.cli.app import run_app

        with _libraries_muffled():
            code = run_app()
        sys.stdout.flush()
    except BaseException as error:
        if not _received:
            if isinstance(error, SystemExit) and not _flush_fails():
                raise
            code = _explain(error)
        else:
            # Libraries turn an interrupt into other errors, so the signal decides.
            _say("Interrupted. Nothing was left behind.")
            code = 128 + _received[0]
    sys.exit(code)


def _libraries_muffled() -> contextlib.AbstractContextManager[None]:
    """A server's remarks are printed by the library that talks to it, as they are."""
    if not any(word.startswith("postgres") for word in sys.argv[1:]):
        return contextlib.nullcontext()
    from countveil.display import visible
    from countveil.system.error_output import harmless_error_output

    return harmless_error_output(visible)


def _explain(error: BaseException) -> int:
    from countveil.display import visible

    if isinstance(error, KeyboardInterrupt):
        # It came before our handler was in place.
        return 128 + signal.SIGINT
    if isinstance(error, errors.CountveilError):
        _say(f"Error: {visible(str(error))}")
        return 1
    if isinstance(error, BrokenPipeError):
        # The reader closed the pipe, as `| head` does: not an error.
        sys.stderr.close()
        return 1
    if isinstance(error, OSError | SystemExit):
        why = getattr(error, "strerror", None) or "the output cannot be written"
        _say(f"Error: the command was done, but its output could not be printed: {why}.")
        return 1
    import traceback

    if os.environ.get("COUNTVEIL_TRACEBACK"):
        traceback.print_exception(error)
        return 1
    # A traceback may quote values of the table, so only the place is named.
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {last[0].name}, line {last[0].lineno}" if last else ""
    _say(
        f"Error: countveil failed in a way it should not ({type(error).__name__}{place}). This is "
        f"a bug. COUNTVEIL_TRACEBACK=1 shows details, which may contain "
        f"data."
    )
    return 1


def _flush_fails() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _say(text: str) -> None:
    if sys.stderr is not None:
        print(text, file=sys.stderr)
