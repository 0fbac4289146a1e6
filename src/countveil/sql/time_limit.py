"""A question that may take so many seconds, and no more.

Enters: how to end it from another thread, a number of seconds. Leaves: nothing, or a `QueryError`
once the time is over. Must not know: what is asked, of whom.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from countveil.errors import CountveilError, QueryError, SettingsError, option

_AGAIN_AFTER = 0.2


@contextlib.contextmanager
def time_limit(interrupt: Callable[[], object], seconds: float | None) -> Iterator[None]:
    """Whatever is asked inside ends after so many seconds."""
    if seconds is None:
        yield
        return
    if not seconds > 0:
        raise SettingsError(f"{option('timeout')} is a number of seconds above 0.")
    done, over = threading.Event(), threading.Event()

    def watch() -> None:
        if done.wait(seconds):
            return
        over.set()
        # One statement may end, and the next begin.
        while not done.wait(_AGAIN_AFTER):
            with contextlib.suppress(Exception):
                interrupt()

    threading.Thread(target=watch, name="countveil-time", daemon=True).start()
    try:
        yield
    except (CountveilError, KeyboardInterrupt):
        if not over.is_set():
            raise
        raise QueryError(
            f"The question took more than {seconds:g} seconds, the limit of {option('timeout')}. "
            f"Group by less, narrow it with WHERE, or allow more seconds."
        ) from None
    finally:
        done.set()
