"""Publishing on a Spark cluster beside Spark's own shuffle of the same table.

    python -m benchmarks.spark [--rows 5000000 20000000 50000000] [--times 3]

For every size, in a process and a session of its own: `read -> orderBy(rand()) -> write` by Spark
(the reference), and `publish`, by turns. Told are the best times, their ratio, the bytes that were
exchanged (from the event log) and the peak memory of the driver, of its Python and its Java. The
cluster is started for it: one master, two workers of one core, loopback.

What the driver does between the passes needs no cluster: `python -m benchmarks.plan`.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from pyspark.sql import functions as sql

import countveil as cv
from countveil.engines.spark.session import find_session
from tests.clusters import running_cluster

_SETTINGS = """\
spark.executor.memory 3g
spark.driver.memory   1g
"""
_ELL = 5


def main() -> None:
    """Measure every size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[5_000_000, 20_000_000, 50_000_000])
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.one:
        print(json.dumps(_measure(Path(asked.one), asked.times)))
        return
    titles = ["rows", "Spark", "publish", "ratio", "exchanged", "of Spark", "Python", "Java"]
    print("".join(f"{title:>12}" for title in titles))
    with tempfile.TemporaryDirectory(prefix="bench-spark-") as scratch:
        place = Path(scratch)
        (place / "cluster").mkdir()
        with running_cluster(place / "cluster", _SETTINGS, workers=2, memory="4g") as cluster:
            for rows in asked.rows:
                job = {"rows": rows, "master": cluster.master}
                (place / "job.json").write_text(json.dumps(job))
                _print(rows, _in_a_process(place / "job.json", asked.times))


def _print(rows: int, found: dict[str, Any]) -> None:
    reference, publish = min(found["reference"]), min(found["publish"])
    theirs, ours = found["exchanged"]
    cells = [
        f"{rows:,}", f"{reference:.1f} s", f"{publish:.1f} s", f"{publish / reference:.2f}",
        f"{ours / 1e6:,.0f} MB", f"{ours / theirs:.3f}",
        f"{found['python_mb']:.0f} MB", f"{found['java_mb']:.0f} MB",
    ]  # fmt: skip
    print("".join(f"{cell:>12}" for cell in cells))
    print(
        f"    Spark {found['reference']}, publish {found['publish']}: {found['stages']}", flush=True
    )


def _in_a_process(job: Path, times: int) -> dict[str, Any]:
    done = subprocess.run(  # noqa: S603 - this very module
        [sys.executable, "-W", "ignore", "-m", "benchmarks.spark", "--one", str(job),
         "--times", str(times)],
        check=True, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    found: dict[str, Any] = json.loads(done.stdout.strip().split("\n")[-1])
    return found


class _Works:
    """The two ways from a table to shuffled files, and how long the stages of ours take."""

    def __init__(self, session: Any, folder: Path) -> None:
        self._session, self._folder = session, folder
        self.stages: dict[str, float] = {}
        self._stage, self._begun = "", 0.0

    def reference(self, source: Path) -> None:
        """What Spark itself does."""
        frame = self._session.read.parquet(str(source))
        frame.orderBy(sql.rand()).write.parquet(str(self._folder / "shuffled"))

    def publish(self, source: Path) -> None:
        """What countveil does."""
        self.stages.clear()
        to = self._folder / "released"
        cv.publish(str(source), {"occupation": _ELL}, to, engine="spark", progress=self._tell)
        self._tell("", 0, 0)

    def _tell(self, stage: str, _done: int, _total: int) -> None:
        if stage != self._stage:
            now = time.perf_counter()
            if self._stage:
                self.stages[self._stage] = round(now - self._begun, 1)
            self._stage, self._begun = stage, now

    def timed(self, name: str, source: Path) -> float:
        """Seconds, by the clock."""
        started = time.perf_counter()
        getattr(self, name)(source)
        took = time.perf_counter() - started
        for made in ("shuffled", "released"):
            shutil.rmtree(self._folder / made, ignore_errors=True)
        return round(took, 2)


def _measure(job: Path, times: int) -> dict[str, Any]:
    asked = json.loads(job.read_text())
    folder = job.parent / "tables"
    folder.mkdir(exist_ok=True)
    small, table = folder / "small.parquet", folder / f"{asked['rows']}.parquet"
    _generate(100_000, small)
    _generate(asked["rows"], table)
    session = find_session(asked["master"])
    works = _Works(session, folder)
    found: dict[str, list[float]] = {"reference": [], "publish": []}
    for name in found:
        works.timed(name, small)
    exchanged = dict.fromkeys(found, 0)
    for _ in range(times):
        for name, taken in found.items():
            before = _exchanged(job.parent)
            taken.append(works.timed(name, table))
            exchanged[name] = _exchanged(job.parent) - before
    table.unlink()
    java = session.sparkContext._gateway.proc.pid  # noqa: SLF001 - the only way to know
    return {
        **found,
        "exchanged": list(exchanged.values()),
        "stages": works.stages,
        "python_mb": _peak("self"),
        "java_mb": _peak(str(java)),
    }


def _generate(rows: int, to: Path) -> None:
    if not to.exists():
        # In a process of its own: its memory is not the driver's.
        code = "import sys; from countveil.cli.entry import main; main()"
        command = [sys.executable, "-c", code, "generate", "--rows", str(rows), "--to", str(to)]
        subprocess.run([*command, "--seed", "1"], check=True, stdout=subprocess.DEVNULL)  # noqa: S603


def _exchanged(place: Path) -> int:
    """Bytes that tasks wrote for exchanges, up to now."""
    # Events are written by a thread of their own.
    time.sleep(1)
    total = 0
    for path in (place / "cluster" / "events").rglob("*"):
        if path.is_file():
            for line in path.read_text().splitlines():
                if '"SparkListenerTaskEnd"' in line:
                    metrics = json.loads(line).get("Task Metrics") or {}
                    total += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
    return total


def _peak(process: str) -> float:
    """The most memory that a process ever held, in MB."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return round(int(line.split()[1]) / 1024, 1)
    return 0.0


if __name__ == "__main__":
    main()
