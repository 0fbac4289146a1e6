"""Work on the cluster, waited for.

Enters: something that starts jobs of Spark. Leaves: its result; progress while it runs; one
sentence if it fails. Must not know: what the jobs are for. What Spark says of a failure may quote
values, so nothing of it is repeated but the name of the condition.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from countveil.errors import CountveilError, EngineError, InputError

Result = TypeVar("Result")
CHANGED = "The table changed while it was read"
# What a task refuses, in words of ours that quote no value, between marks.
_REFUSED = re.compile(r"<countveil>(.*?)</countveil>", re.DOTALL)
_PATIENCE = 0.25
_MISSING = re.compile(r"No module named '([A-Za-z0-9_.]+)'")


def run(
    session: Any, work: Callable[[], Result], progress: Callable[[float], None] | None = None
) -> Result:
    """Do the work in another thread: an interrupt ends the jobs that it started.

    `progress` is called with the share of the tasks that are done.
    """
    from pyspark import InheritableThread

    tag = f"countveil-{uuid.uuid4().hex}"
    outcome: list[Result] = []
    failure: list[BaseException] = []

    def body() -> None:
        context.addJobTag(tag)
        try:
            outcome.append(work())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            failure.append(error)
        finally:
            context.removeJobTag(tag)

    context = session.sparkContext
    thread = InheritableThread(target=body, daemon=True, session=session)
    thread.start()
    try:
        while thread.is_alive():
            thread.join(_PATIENCE)
            if progress is not None:
                progress(_share_done(context))
    except BaseException:
        context.cancelJobsWithTag(tag)
        thread.join()
        raise
    if failure:
        raise _in_a_sentence(failure[0]) from None
    return outcome[0]


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
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

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
