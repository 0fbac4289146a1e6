"""Encrypted inputs, brought to the workers.

Enters: entries, encrypted under a key that goes with the tasks alone. Leaves: an object that a task
carries, by which it finds them. Must not know: what is in them.

    in this process      a broadcast variable, removed from the workers afterwards
    Spark Connect        inside the task if they are small: Spark broadcasts a task once for each
                         worker; else as a file of the session, which Spark removes with it
"""

from __future__ import annotations

import contextlib
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from countveil.engines.partitions.task_inputs import Carried, TaskInputs
from countveil.engines.spark.platform.kinds import is_connect

# A task is in the memory of Java several times at once; 60 MB fit into 1 GB, 120 MB did not.
IN_TASK = 1 << 24


@dataclass(frozen=True, slots=True)
class InFile:
    """Entries in a file that the session brought to the worker; places are first byte and size."""

    name: str
    places: Mapping[str, tuple[int, int]]

    @property
    def value(self) -> FileEntries:
        """The entries, read one by one."""
        from pyspark import SparkFiles

        return FileEntries(Path(SparkFiles.get(self.name)), self.places)


@dataclass(frozen=True, slots=True)
class FileEntries:
    """What is read of a mapping: one entry at a time."""

    path: Path
    places: Mapping[str, tuple[int, int]]

    def __getitem__(self, name: str) -> bytes:
        first, size = self.places[name]
        with self.path.open("rb") as file:
            file.seek(first)
            return file.read(size)

    def get(self, name: str) -> bytes | None:
        """None if there is no such entry."""
        return self[name] if name in self.places else None


@contextlib.contextmanager
def at_workers(session: Any, entries: Mapping[str, bytes]) -> Iterator[TaskInputs]:
    """Inputs at the workers, while tasks need them."""
    if is_connect(session):
        small = sum(map(len, entries.values())) <= IN_TASK
        yield TaskInputs(Carried(dict(entries)) if small else _sent(session, entries))
        return
    broadcast = session.sparkContext.broadcast(dict(entries))
    try:
        yield TaskInputs(broadcast)
    finally:
        broadcast.destroy()


def _sent(session: Any, entries: Mapping[str, bytes]) -> InFile:
    """A file of the session; it holds what is encrypted, and nothing else."""
    name, places, first = f"countveil-{uuid.uuid4().hex}", {}, 0
    with tempfile.TemporaryDirectory(prefix="countveil-") as folder:
        path = Path(folder) / name
        with path.open("wb") as file:
            for entry, content in entries.items():
                places[entry] = (first, len(content))
                first += file.write(content)
        session.addArtifacts(str(path), file=True)
    return InFile(name, places)
