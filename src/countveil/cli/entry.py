"""The very first code of the command: signals and exit codes.

Enters: the arguments. Leaves: an exit code. Must not know: any command. Nothing heavy is imported
before Ctrl-C is handled.

    0          done
    1          the request could not be served; nothing was changed
    2          wrong usage
    3          what was asked for is in place and complete, but something failed after that
    128 + n    ended by signal n, as 130 by Ctrl-C; the message says if something is in place
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
_UNCONFIRMED = 3
# What Python and libraries of C++ and Rust say if memory ends, or no thread can be started.
_OF_THE_SYSTEM = {
    "There is not enough memory for this. Close other programs or let the process have more; "
    "publish --memory SIZE keeps what does not fit in an encrypted file.": (
        "MemoryError", "OutOfMemoryException", "bad_alloc", "annot allocate memory",
        "ut of memory", "malloc of size", "realloc of", "failed to map segment",
    ),
    "The system does not let this process start another thread. Raise the limit on processes "
    "(ulimit -u, or that of the container) or on memory (ulimit -v), or close other programs.": (
        "can't start new thread", "Resource temporarily unavailable", "thread constructor",
    ),
}  # fmt: skip
_BEGINNING = 60
_LITTLE_ROOM = 10**9
_received: list[int] = []
_exhausted: list[str] = []


# In the place of outputs that were closed; a file that nobody holds would be closed again.
_kept_open: list[io.FileIO] = []


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
        if not _exhausted:
            # Without memory or threads, libraries may crash in what they do at the end.
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
        _replace_closed_output()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                # What a terminal's encoding lacks is shown by its number.
                stream.reconfigure(errors="backslashreplace")
        _warn_of_little_room()
        if sys.argv[1:2] == ["query"]:
            from countveil.cli.quick_query import answered_quickly

            with _libraries_muffled():
                answered = answered_quickly(sys.argv[1:])
            if answered:
                sys.stdout.flush()
                # Nothing was opened for writing, and unloading the libraries takes a while.
                os._exit(0)
        code = _run()
        sys.stdout.flush()
        _warn_of_leftovers()
    except BaseException as error:
        if not _received:
            if isinstance(error, SystemExit) and not _flush_fails():
                _warn_of_leftovers()
                raise
            code = _explain(error)
        else:
            # Libraries turn an interrupt into other errors, so the signal decides.
            truth = " ".join(filter(None, _is_true())) or "Nothing was left behind."
            _say(f"Interrupted. {truth}")
            code = 128 + _received[0]
    sys.exit(code)


def _run() -> int:
    """Run the command that the arguments name."""
    if sys.argv[1:] == ["--version"]:
        # Without the library that reads command lines, which takes several times as long.
        from countveil import __version__

        print(f"countveil {__version__}")
        return 0
    if sys.argv[1:2] == ["app"]:
        from countveil.cli.quick_app import started_quickly

        if started_quickly(sys.argv[1:]):
            return 0
    if sys.argv[1:2] == ["publish"]:
        from countveil.cli.quick_publish import published_quickly

        with _libraries_muffled():
            if published_quickly(sys.argv[1:]):
                return 0
    from countveil.cli.app import run_app

    with _libraries_muffled():
        return run_app()


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
    done, left = _is_true()
    if isinstance(error, BrokenPipeError) and not done:
        # The reader closed the pipe, as `| head` does: not an error.
        sys.stderr.close()
        return 1
    if os.environ.get("COUNTVEIL_TRACEBACK") and not isinstance(error, errors.CountveilError):
        import traceback

        traceback.print_exception(error)
        return _UNCONFIRMED if done else 1
    said = _in_words(error)
    told = isinstance(error, errors.UnconfirmedError)
    more = [text for text in ("" if told else done, left) if text and text not in said]
    _say(f"Error: {visible(' '.join([said, *more]))}")
    return _UNCONFIRMED if done or told else 1


def _is_true() -> tuple[str, str]:
    """Sentences about what is in its place although something failed, and about what is left."""
    from countveil.system import outcome

    return outcome.in_place(), outcome.left()


def _replace_closed_output() -> None:
    """A closed standard output (`>&-`) becomes one that nobody reads.

    Otherwise a file that is opened later takes its number, and gets what is printed.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # It takes the lowest number that is free: this one.
            _kept_open.append(io.FileIO(os.devnull, "r+"))
    if sys.stdout is None:
        sys.stdout = io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8")


def _warn_of_little_room() -> None:
    """Said before: where a library ends the process for want of memory, nobody can say it then."""
    system = offers.RESOURCE
    if not hasattr(system, "RLIMIT_AS"):
        return
    most = system.getrlimit(system.RLIMIT_AS)[0]
    if most not in (system.RLIM_INFINITY, -1) and most < _LITTLE_ROOM:
        _say(
            f"Note: this process may map {most // 10**6:,} MB of memory (ulimit -v). With less "
            f"than {_LITTLE_ROOM // 10**6:,} MB a library may end it without a word; what is left "
            f"then is removed by the next publication."
        )


def _warn_of_leftovers() -> None:
    """A command that is done may have been unable to remove what it had beside its result."""
    if left := _is_true()[1]:
        from countveil.display import visible

        _say(visible(left))


def _in_words(error: BaseException) -> str:
    """One or two sentences; none of them quotes what a table holds."""
    if sentence := _of_the_system(error):
        _exhausted.append(sentence)
        return sentence
    if isinstance(error, errors.CountveilError):
        return str(error)
    if isinstance(error, OSError | SystemExit):
        why = getattr(error, "strerror", None) or "the output cannot be written"
        named = getattr(error, "filename", None)
        if named is not None:
            return f"{os.fsdecode(named)} cannot be used: {why}."
        return f"the command was done, but its output could not be printed: {why}."
    import traceback

    # A traceback may quote values of the table, so only the place is named.
    last = traceback.extract_tb(error.__traceback__)[-1:]
    place = f" at {last[0].name}, line {last[0].lineno}" if last else ""
    return (
        f"countveil failed in a way it should not ({type(error).__name__}{place}). This is "
        f"a bug. COUNTVEIL_TRACEBACK=1 shows details, which may contain "
        f"data."
    )


def _of_the_system(error: BaseException) -> str:
    """What the system does not give, if that is why it failed; nothing otherwise.

    A file that could not be read for want of memory is not damaged. What libraries say of values
    follows after the beginning of their message, so only that is compared.
    """
    cause: BaseException | None = error
    if isinstance(error, errors.UnconfirmedError):
        return ""
    while isinstance(cause, errors.CountveilError):
        cause = cause.__cause__
    said = f"{type(cause).__name__} {cause}"
    if cause is not error:
        said = said[:_BEGINNING]
    return next(
        (
            sentence
            for sentence, texts in _OF_THE_SYSTEM.items()
            if any(text in said for text in texts)
        ),
        "",
    )


def _flush_fails() -> bool:
    try:
        sys.stdout.flush()
    except OSError:
        return True
    return False


def _say(text: str) -> None:
    if sys.stderr is not None:
        print(text, file=sys.stderr)
