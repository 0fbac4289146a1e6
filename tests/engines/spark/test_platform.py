"""What is asked of each kind of session: plans as text, settings, files, inputs. Without Spark."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from countveil.engines.partitions.task_inputs import TaskInputs
from countveil.engines.spark.platform import secrecy, sending
from countveil.engines.spark.platform.arrow_files import ArrowFiles
from countveil.engines.spark.platform.plan_text import is_steady_text
from countveil.engines.spark.platform.server import connected
from countveil.errors import EngineError, SettingsError, TargetError

FILES = "Relation [id#6L,k#7L,t#8] parquet"
SCAN = "FileScan parquet [id#6L] Location: {}(1 paths)[file:/x], PartitionFilters: []"


def explained(plan: str, index: str = "InMemoryFileIndex") -> str:
    """A text as Spark writes it."""
    return (
        "== Parsed Logical Plan ==\n'Filter\n== Analyzed Logical Plan ==\nid: bigint\n"
        f"== Optimized Logical Plan ==\n{plan}\n== Physical Plan ==\n*(1) ColumnarToRow\n"
        f"+- {SCAN.format(index)}\n"
    )


@pytest.mark.parametrize(
    "plan",
    [
        FILES,
        f"Filter (isnotnull(k#7L) AND ((k#7L = 3) AND t#8 IN (a,b)))\n+- {FILES}",
        f"Project [id#6L, cast(k#7L as string) AS k#9]\n+- Filter (k#7L > 3)\n   +- {FILES}",
        "Relation spark_catalog.default.tt[a#52,b#53] orc",
    ],
)
def test_files_that_are_only_filtered_are_read_alike(plan: str) -> None:
    assert is_steady_text(explained(plan))
    # A log of the table's own lists the files anew each time.
    assert not is_steady_text(explained(plan, "PreparedDeltaFileIndex"))


@pytest.mark.parametrize(
    "plan",
    [
        f"Project [rand(-88) AS r#56]\n+- {FILES}",
        f"Project [mine(id#6L) AS r#56]\n+- {FILES}",
        f"Sample 0.0, 0.5, false, 1\n+- {FILES}",
        f"Aggregate [k#7L], [k#7L]\n+- {FILES}",
        f"Join Inner\n:- {FILES}\n+- {FILES}",
        "RelationV2[id#1] people",
        "Relation [id#6L] JDBCRelation(people) [numPartitions=1]",
        "LocalRelation [id#1]",
        "",
    ],
)
def test_all_else_is_computed_once(plan: str) -> None:
    assert not is_steady_text(explained(plan) if plan else "no plan")


@dataclass
class Settings:
    """The settings of a session, and the client that has them."""

    values: dict[str, str] = field(default_factory=dict)
    host: str = "127.0.0.1"
    secure: bool = False

    def get(self, name: str, default: str | None = None) -> str | None:
        return self.values.get(name, default)


def session(host: str = "127.0.0.1", *, secure: bool = False, **values: str) -> Any:
    """What `exposures` asks of a session of Spark Connect."""
    settings = Settings({f"spark.{n.replace('__', '.')}": v for n, v in values.items()})
    client = type("Client", (), {"host": host, "_builder": Settings(secure=secure)})()
    kind = type("SparkSession", (), {"conf": settings, "client": client})
    kind.__module__ = "pyspark.sql.connect.session"
    return kind()


ENCRYPTED: dict[str, Any] = {"io__encryption__enabled": "true"}
WIRE: dict[str, Any] = {"authenticate": "true", "network__crypto__enabled": "true"}


@pytest.mark.parametrize(
    ("made", "open_"),
    [
        (session(master="local[2]"), [secrecy.ON_DISK]),
        (session(master="local[2]", **ENCRYPTED), []),
        (session(master="spark://127.0.0.1:7077", **ENCRYPTED), []),
        (session(master="spark://node:7077", **ENCRYPTED), [secrecy.ON_THE_WIRE]),
        (session(master="yarn", **ENCRYPTED, authenticate="true"), [secrecy.ON_THE_WIRE]),
        (
            session(master="yarn", **ENCRYPTED, network__crypto__enabled="true"),
            [secrecy.ON_THE_WIRE],
        ),
        (session(master="yarn", **ENCRYPTED, **WIRE), []),
        (session(master="yarn", **ENCRYPTED, ssl__rpc__enabled="true"), []),
        (session("node", master="yarn", **ENCRYPTED, **WIRE), [secrecy.TO_THE_SERVER]),
        (session("node", master="yarn", **ENCRYPTED, **WIRE, secure=True), []),
        (
            session("node", master="yarn"),
            [secrecy.ON_DISK, secrecy.ON_THE_WIRE, secrecy.TO_THE_SERVER],
        ),
    ],
)
def test_what_is_open_is_said(made: Any, open_: list[str]) -> None:
    assert secrecy.exposures(made) == open_
    for sentence in open_:
        assert re.search(r"(Start it|Connect) with \S+=true|Connect with sc://", sentence)


def test_large_inputs_go_as_a_file_and_are_read_one_by_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entries = {"head": b"h" * 10, "a/0": b"", "a/1": bytes(range(200))}
    brought: list[Path] = []

    def bring(path: str, *, file: bool) -> None:
        assert file
        brought.append(tmp_path / Path(path).name)
        brought[-1].write_bytes(Path(path).read_bytes())

    client = session()
    client.addArtifacts = bring
    with sending.at_workers(client, entries) as inputs:
        assert pickle.loads(pickle.dumps(inputs))._sent.value == entries
    assert not brought
    monkeypatch.setattr(sending, "IN_TASK", 100)
    monkeypatch.setattr("pyspark.SparkFiles.get", lambda name: str(tmp_path / name))
    with sending.at_workers(client, entries) as inputs:
        assert len(pickle.dumps(inputs)) < 1_000
        there: TaskInputs = pickle.loads(pickle.dumps(inputs))
        values = there._sent.value
        assert {name: values[name] for name in entries} == entries
        assert {name: values.get(name) for name in entries} == entries
        assert values.get("b/0") is None
    assert brought[0].stat().st_size == 210


def test_files_of_a_client(tmp_path: Path) -> None:
    files = ArrowFiles(None, str(tmp_path / "r"))
    assert files.scheme == "file"
    assert files.renames_in_one_step
    assert not files.exists(files.root)
    files.make_folder(f"{files.root}/data")
    files.write(f"{files.root}/a.json", b"{}")
    with pytest.raises(OSError, match="already"):
        files.write(f"{files.root}/a.json", b"{}")
    assert files.listing(files.root) == {"a.json": 2, "data": -1}
    assert (files.read(f"{files.root}/a.json"), files.size(f"{files.root}/a.json")) == (b"{}", 2)
    files.set_rights(files.root, "700")
    files.set_time(files.root, 1_000)
    assert ((tmp_path / "r").stat().st_mode & 0o777, (tmp_path / "r").stat().st_mtime) == (
        0o700,
        1_000,
    )
    files.rename(files.root, f"{files.root}2")
    files.remove(f"{files.root}2")
    files.remove(f"{files.root}2")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(OSError, match="Arrow cannot reach nope"):
        ArrowFiles(None, "nope://host/x")


def test_a_place_that_the_server_does_not_see(tmp_path: Path) -> None:
    """Such as a path of this machine, where the server is another one."""
    files = ArrowFiles(None, str(tmp_path))
    with pytest.raises(TargetError, match="does not see what this process writes"):
        files.check_shared(str(tmp_path))
    assert list(tmp_path.iterdir()) == []


def test_servers_that_are_none() -> None:
    with pytest.raises(EngineError, match=r"Nothing answers at sc://127\.0\.0\.1:1\. Is the"):
        connected("sc://127.0.0.1:1/;token=secret")
    for address in ("sc://", "sc://host:port"):
        with pytest.raises(SettingsError, match="is not the address of a server"):
            connected(address)


def test_a_setting_that_cannot_be_set_is_named() -> None:
    """As on managed platforms; what was set before is put back."""
    from pyspark.errors import PySparkException

    from countveil.engines.spark.session import our_settings

    class Kept(Settings):
        def set(self, name: str, value: str) -> None:
            if name == "spark.sql.ansi.enabled":
                raise PySparkException("no")
            self.values[name] = value

        def unset(self, name: str) -> None:
            del self.values[name]

    client = session()
    client.conf = Kept({"spark.sql.files.minPartitionNum": "7"})
    with (
        pytest.raises(EngineError, match=r"does not let a session set spark\.sql\.ansi\.enabled"),
        our_settings(client),
    ):
        raise AssertionError
    assert client.conf.values == {"spark.sql.files.minPartitionNum": "7"}
