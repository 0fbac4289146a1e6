"""Work on the cluster, waited for.

Enters: something that starts jobs of Spark. Leaves: its result; progress while it runs; one
sentence if it fails. Must not know: what the jobs are for. What Spark says of a failure may quote
values, so nothing of it is repeated but the name of the condition.
"""

from __future__ import annotations

import contextlib
import re
import threading
import uuid
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from countveil.engines.partitions import CHANGED
from countveil.engines.spark.platform.kinds import is_connect
from countveil.errors import CountveilError, EngineError, InputError

Result = TypeVar("Result")
Interrupt = threading.Event
# What a task refuses, in words of ours that quote no value, between marks.
_REFUSED = re.compile(r"<countveil>(.*?)</countveil>", re.DOTALL)
_PATIENCE = 0.25
_MISSING = re.compile(r"No module named '([A-Za-z0-9_.]+)'")


def run(
    session: Any,
    work: Callable[[], Result],
    progress: Callable[[float], None] | None = None,
    interrupt: Interrupt | None = None,
) -> Result:
    """Do the work in another thread: an interrupt ends the jobs that it started.

    `progress` is called with the share of the tasks that are done. Whoever sets `interrupt` ends
    them too; that is an `EngineError`.
    """
    tag = f"countveil-{uuid.uuid4().hex}"
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def body() -> None:
        add(tag)
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            failure.append(error)
        finally:
            remove(tag)

    add, remove, cancel = _tagging(session)
    thread = _thread(session, body)
    with _progress(session, progress is not None) as share:
        thread.start()
        try:
            while thread.is_alive():
                thread.join(_PATIENCE)
                if progress is not None:
                    progress(share())
                _check(interrupt)
        except BaseException:
            _end(thread, lambda: cancel(tag))
            raise
    if failure:
        raise _in_a_sentence(failure[0]) from None
    return outcome[0]


def _check(interrupt: Interrupt | None) -> None:
    if interrupt is not None and interrupt.is_set():
        raise EngineError("The jobs on Spark were interrupted.")


def _tagging(session: Any) -> tuple[Callable[[str], Any], ...]:
    """How jobs are tagged, and cancelled by their tag."""
    if is_connect(session):
        return session.addTag, session.removeTag, session.interruptTag
    context = session.sparkContext
    return context.addJobTag, context.removeJobTag, context.cancelJobsWithTag


def _thread(session: Any, body: Callable[[], None]) -> threading.Thread:
    if is_connect(session):
        return threading.Thread(target=body, daemon=True)
    from pyspark import InheritableThread

    thread: threading.Thread = InheritableThread(target=body, daemon=True, session=session)
    return thread


def _end(thread: threading.Thread, cancel: Callable[[], Any]) -> None:
    """Cancel until it is over: between two jobs there is nothing to cancel."""
    while thread.is_alive():
        cancel()
        thread.join(_PATIENCE)


@contextlib.contextmanager
def _progress(session: Any, wanted: bool) -> Iterator[Callable[[], float]]:
    """What says the share of the tasks that are done."""
    if not is_connect(session):
        yield lambda: _share_done(session.sparkContext)
        return
    share = [0.0]

    def note(stages: Any, **_others: Any) -> None:
        total = sum(stage.num_tasks for stage in stages or ())
        done = sum(stage.num_completed_tasks for stage in stages or ())
        share[0] = done / total if total else 0.0

    if wanted:
        session.registerProgressHandler(note)
    try:
        yield lambda: share[0]
    finally:
        if wanted:
            session.removeProgressHandler(note)


def refusal(error: CountveilError) -> RuntimeError:
    """What a task raises so that the driver raises the sentence of `error`."""
    return RuntimeError(f"<countveil>{error}</countveil>")


def _share_done(context: Any) -> float:
    """Of the stages that are running, the share of tasks that are done."""
    tracker = context.statusTracker()
    done = total = 0
    try:
        for stage in tracker.getActiveStageIds():
            known = tracker.getStageInfo(stage)
            if known is not None:
                done += known.numCompletedTasks
                total += known.numTasks
    except Exception:  # noqa: BLE001 - a progress bar is no reason to fail
        return 0.0
    return done / total if total else 0.0


def _in_a_sentence(error: BaseException) -> BaseException:
    if isinstance(error, CountveilError | KeyboardInterrupt | SystemExit | MemoryError):
        return error
    text = str(error)
    if CHANGED in text:
        return InputError(f"{CHANGED}, or its partitions did. Please publish it again.")
    refused = _REFUSED.search(text)
    if refused is not None:
        return InputError(refused[1])
    missing = _MISSING.search(text)
    if missing is not None:
        return EngineError(
            f"The Python of Spark's workers lacks {missing[1]!r}. Install countveil there too, "
            f"with pip install '.[spark]', or set PYSPARK_PYTHON to a Python that has it."
        )
    return EngineError(
        f"A job failed on Spark ({condition(error)}). The logs of its executors say more; they "
        f"may quote values of the table."
    )


def java_errors() -> tuple[type[Exception], ...]:
    """What calls into Spark and Hadoop raise, also where Java cannot be started."""
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:
        # A client of Spark Connect has no way to Java.
        return PySparkException, OSError, RuntimeError
    return PySparkException, Py4JError, OSError, RuntimeError


def condition(error: BaseException) -> str:
    """The name that Spark or Java has for what went wrong."""
    named = getattr(error, "getCondition", None)
    try:
        name = named() if named is not None else None
    except Exception:  # noqa: BLE001 - asked from Java, which may be gone
        name = None
    java = getattr(error, "java_exception", None)
    if name is None and java is not None:
        name = java.getClass().getSimpleName()
    return str(name or type(error).__name__)
