"""Tasks on Dask, waited for.

Enters: functions and their arguments, the address of a scheduler or nothing. Leaves: results, or
one sentence if a task failed. Must not know: what the tasks are for.

Without an address the tasks run where Dask is configured to run them: at the client that is active,
or in threads of this process. Dask logs the arguments of a task that raises, which may be rows, so
ours never do: what went wrong comes back as a result.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

from countveil.engines.partitions import CHANGED
from countveil.errors import (
    CountveilError,
    EngineError,
    InputError,
    MissingExtraError,
    QueryError,
    ReleaseError,
    SettingsError,
)

_CARRIED = (InputError, SettingsError, QueryError, ReleaseError, EngineError)
_PATIENCE = 10
_IN_THE_CLEAR = (
    "Dask's machines communicate in the clear: counts, keys of tasks and partitions of a data "
    "frame can be read on the network. Start the scheduler, the workers and the client with TLS "
    "(distributed.security.Security)."
)
INTERRUPTED = "The tasks on Dask were interrupted."


class Failure:
    """What a task refuses or could not do, in words of ours that quote no value."""

    __slots__ = ("kind", "text")

    def __init__(self, kind: type[CountveilError], text: str) -> None:
        self.kind, self.text = kind, text


class _Guarded:
    """A function that never raises: see `Failure`."""

    def __init__(self, work: Callable[..., Any]) -> None:
        self._work = work
        self.__name__ = f"countveil-{work.__name__}"

    def __call__(self, *given: Any) -> Any:
        for each in given:
            if isinstance(each, Failure):
                return each
        try:
            return self._work(*given)
        except KeyboardInterrupt:
            return Failure(EngineError, INTERRUPTED)
        except Exception as error:  # noqa: BLE001 - it may quote values, and must not be logged
            return _failure(error)


def _failure(error: Exception) -> Failure:
    for kind in _CARRIED:
        if type(error) is kind:
            return Failure(kind, str(error))
    if CHANGED in str(error):
        return Failure(InputError, f"{CHANGED}, or its partitions did. Please publish it again.")
    if isinstance(error, OSError):
        return Failure(
            EngineError,
            f"A worker of Dask could not read or write a file ({type(error).__name__}: "
            f"{error.strerror}). The table and the folder of the release must be at the same paths "
            f"on all workers and in this process, for the same user.",
        )
    return Failure(
        EngineError,
        f"A task failed on Dask ({type(error).__name__}). Its message may quote values of the "
        f"table, and is not repeated.",
    )


class Cluster:
    """Where tasks run."""

    def __init__(self, address: str | None = None) -> None:
        check_dask()
        self._client = _active_client() if address is None else _connected(address)
        self._futures: list[Any] = []

    def node(self, work: Callable[..., Any], *given: Any) -> Any:
        """A task, not yet run; other tasks among the arguments are run before."""
        import dask

        return dask.delayed(_Guarded(work), pure=False, traverse=False)(*given)

    def shared(self, content: object) -> Any:
        """What many tasks take: it is sent once to each worker that needs it."""
        import dask

        # Named by us: Dask would read all of it to find a name.
        return dask.delayed(content, name=f"countveil-{uuid.uuid4().hex}", traverse=False)

    def run(self, nodes: Sequence[Any]) -> list[Any]:
        """The results of tasks, in their order."""
        try:
            results = self._results(list(nodes))
        except (CountveilError, KeyboardInterrupt, SystemExit, MemoryError):
            raise
        except BaseException as error:  # noqa: BLE001 - Dask has errors of many kinds
            raise _in_a_sentence(error) from None
        for result in results:
            if isinstance(result, Failure):
                raise result.kind(result.text)
        return results

    def _results(self, nodes: list[Any]) -> list[Any]:
        if self._client is None:
            import dask

            return list(dask.compute(*nodes))
        self._futures = futures = self._client.compute(nodes)
        try:
            return list(self._client.gather(futures))
        finally:
            self._futures = []

    def interrupt(self) -> None:
        """End what was started by another thread."""
        if self._client is not None and self._futures:
            self._client.cancel(self._futures)

    @property
    def in_this_process(self) -> bool:
        """Whether no cluster is used."""
        return self._client is None

    @property
    def exposures(self) -> list[str]:
        """What is open between the machines, in a sentence each."""
        if self._client is None:
            return []
        address = urlsplit(str(self._client.scheduler_info()["address"]))
        here = address.hostname in {"localhost", "127.0.0.1", "::1"} or address.scheme == "inproc"
        if here or address.scheme in {"tls", "wss"}:
            return []
        return [_IN_THE_CLEAR]


def check_dask() -> None:
    """Refuse where the library is missing."""
    try:
        import dask  # noqa: F401 - whether it is there
        import distributed  # noqa: F401
    except ImportError:
        raise MissingExtraError("Dask", "dask") from None


def _active_client() -> Any:
    """The client that is active in this process, if there is one."""
    from distributed import default_client

    try:
        return default_client()
    except ValueError:
        return None


def _connected(address: str) -> Any:
    from distributed import Client

    active = _active_client()
    if active is not None and active.scheduler_info()["address"] == address:
        return active
    if "://" not in address:
        raise SettingsError(
            f"{address!r} is not the address of a Dask scheduler. What works: tcp://HOST:8786 or "
            f"tls://HOST:8786; without one, Dask runs in threads of this process."
        )
    try:
        return Client(address, timeout=_PATIENCE, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise EngineError(
            f"There is no Dask scheduler at {address} ({type(error).__name__}). Start one with "
            f"'dask scheduler', and workers with 'dask worker {address}'."
        ) from None


def _in_a_sentence(error: BaseException) -> CountveilError:
    if isinstance(error, ModuleNotFoundError):
        return EngineError(
            f"The Python of Dask's workers lacks {error.name!r}. Install countveil there too, with "
            f"pip install '.[dask]'."
        )
    if type(error).__name__ in {"CancelledError", "FutureCancelledError"}:
        return EngineError(INTERRUPTED)
    return EngineError(
        f"Work on Dask failed ({type(error).__name__}). The logs of its workers say more; they may "
        f"quote values of the table."
    )
