"""Publishing and asking through a real server of Spark Connect, beyond the conformance suite.

Here is what is special there: no context in this process, inputs inside tasks, files by Arrow; and
what no session of Spark may show: values, keys.
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import countveil as cv
from countveil.engines.spark.pinned import pinned
from countveil.engines.spark.platform import sending
from countveil.engines.spark.session import find_session
from countveil.errors import EngineError, InputError, QueryError, ReleaseError, SettingsError
from tests.connect_server import Server
from tests.engines.conformance.places import ON_SPARK
from tests.engines.spark.test_cluster import _secrets
from tests.engines.spark.test_session import countveil

pytestmark = [*ON_SPARK, pytest.mark.usefixtures("connect_session")]
ROWS, SEED = 12_000, 5
MARKER = "zyxmarker"


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up census in several files; every value of two columns can be found again."""
    folder = tmp_path_factory.mktemp("census") / "census"
    folder.mkdir()
    table: Any = cv.generate(ROWS, seed=11)
    jobs = [f"{MARKER} {job}" for job in table["occupation"].to_pylist()]
    place = table.schema.get_field_index("occupation")
    table = table.set_column(place, "occupation", pa.array(jobs))
    table = table.append_column("row", pa.array(range(ROWS), pa.int64()))
    persons = [f"{MARKER} {row * 7_919 % 4_000}" for row in range(ROWS)]
    table = table.append_column("person", pa.array(persons))
    for part in range(3):
        pq.write_table(table.slice(part * ROWS // 3, ROWS // 3), folder / f"{part}.parquet")
    return folder


def on_connect(table: Any, to: Path, **options: Any) -> Any:
    options = {"keep": "row", "seed": SEED, "engine": "spark", "again": True, **options}
    return cv.publish(table, {"occupation": 5}, to, **options)


def released(folder: Path) -> Any:
    return pq.read_table(folder / "data").combine_chunks()


def key_files(folder: Path) -> Path:
    """A key to sign with in `private.pem`; the path of the public one."""
    key = Ed25519PrivateKey.generate()
    forms = (serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    private = key.private_bytes(serialization.Encoding.PEM, *forms)
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    (folder / "private.pem").write_bytes(private)
    (folder / "public.pem").write_bytes(public)
    return folder / "public.pem"


@pytest.fixture(scope="module")
def release(connected: Any, census: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release made there with a signature."""
    from tests.connect_server import as_client

    assert connected is not None
    folder = tmp_path_factory.mktemp("made")
    key_files(folder)
    with as_client():
        on_connect(str(census), folder / "r", sign=folder / "private.pem", person="person")
    return folder / "r"


def test_the_session_is_a_clients(connect_session: Any, connect_server: Server) -> None:
    assert find_session() is connect_session
    assert find_session(connect_server.address) is connect_session
    for elsewhere in ("local[2]", "sc://127.0.0.1:1", "sc://127.0.0.1"):
        with pytest.raises(SettingsError, match=rf"a session already, at {connect_server.address}"):
            find_session(elsewhere)
    assert not hasattr(type(connect_session), "sparkContext")


def test_a_release_is_a_release_on_one_machine(release: Path, census: Path) -> None:
    assert cv.verify(release) == []
    truth, ours = pq.read_table(census).sort_by("row"), released(release).sort_by("row")
    same = [name for name in truth.schema.names if name not in ("occupation", "person")]
    assert ours.select(same).equals(truth.select(same))
    assert released(release)["row"].to_pylist() != truth["row"].to_pylist()
    assert len({path.stat().st_mtime for path in [release, *release.rglob("*")]}) == 1
    assert [path.name for path in release.parent.iterdir() if path.name[0] == "."] == []


def _python_workers(server: Server) -> list[int]:
    """The processes in which the server's tasks run Python."""
    found = []
    for folder in Path("/proc").iterdir():
        try:
            if os.getsid(int(folder.name)) == server.process.pid:
                words = (folder / "cmdline").read_bytes()
                parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
                above = Path(f"/proc/{parent}/cmdline").read_bytes()
                if b"pyspark.daemon" in words and b"pyspark.daemon" in above:
                    found.append(int(folder.name))
        except (ValueError, OSError):
            continue
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="finds processes in /proc")
@pytest.mark.parametrize("options", [{"drop": "person"}, {"person": "person"}])
def test_the_same_rows_when_python_workers_are_killed(
    options: dict[str, Any], connect_server: Server, census: Path, tmp_path: Path
) -> None:
    """And wherever their inputs come from: inside the task, or in a file of the session."""
    killed: list[int] = []
    log = connect_server.folder / "server.log"
    crashed = "Python worker exited unexpectedly"
    before = log.read_text().count(crashed)

    def kill_once(stage: str, _done: int, _total: int) -> None:
        # At first they are idle, and nobody misses them: until one was at work.
        if stage == "drawing and shuffling" and log.read_text().count(crashed) == before:
            for worker in _python_workers(connect_server):
                os.kill(worker, signal.SIGKILL)
                killed.append(worker)

    on_connect(str(census), tmp_path / "undisturbed", **options)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sending, "IN_TASK", 0)
        on_connect(str(census), tmp_path / "release", progress=kill_once, **options)
    assert killed
    # Tasks were at work there, failed, and were run again.
    assert log.read_text().count(crashed) > before
    assert cv.verify(tmp_path / "release") == []
    assert released(tmp_path / "release").equals(released(tmp_path / "undisturbed"))


def test_no_value_and_no_key_is_in_a_log_or_a_plan(
    release: Path, connect_session: Any, connect_server: Server, census: Path
) -> None:
    """The event log, from which the pages of Spark's UI are made; the server's log; its disk."""
    assert release.exists()
    secrets = _secrets(SEED)
    assert MARKER.encode() in (census / "0.parquet").read_bytes()
    looked_at = 0
    for path in connect_server.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            looked_at += len(content)
            for secret in [MARKER.encode(), *secrets]:
                assert secret not in content, path
    events = b"".join(p.read_bytes() for p in (connect_server.folder / "events").rglob("events_*"))
    assert b"SparkListenerConnectOperationStarted" in events
    assert b"DealTask" in events
    assert looked_at > 100_000
    explained = pinned(connect_session.read.parquet(str(census)))._explain_string(extended=True)
    assert MARKER not in explained


def test_a_failure_shows_no_value(
    connect_session: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """PySpark itself would write the value that it could not cast to the terminal."""
    frame = connect_session.range(600).selectExpr(
        "id % 3 AS job", f"CAST(concat('{MARKER}', id) AS int) AS n"
    )
    with pytest.raises(EngineError, match=r"A job failed on Spark \(CAST_INVALID_INPUT\)") as told:
        cv.publish(frame, {"job": 2}, tmp_path / "r")
    assert MARKER not in str(told.value)
    assert MARKER not in "".join(capfd.readouterr())
    assert list(tmp_path.iterdir()) == []


def test_what_may_change_is_pinned(connect_session: Any, census: Path) -> None:
    files = connect_session.read.parquet(str(census))
    for steady in (files, files.where("age > 30").select("age", "row"), files.where("age = 3")):
        assert pinned(steady) is steady
    for frame in (
        files.selectExpr("rand() AS r"),
        files.selectExpr("current_timestamp() AS now"),
        files.groupBy("age").count(),
        files.sample(0.5),
        connect_session.range(10),
    ):
        once = pinned(frame)
        assert once is not frame
        assert once.collect() == once.collect()


class TestTables:
    """By the names that a catalogue has for them."""

    def test_tables_and_views(self, connect_session: Any, census: Path, tmp_path: Path) -> None:
        connect_session.sql("CREATE DATABASE IF NOT EXISTS census")
        source = f"SELECT * FROM parquet.`{census}`"
        connect_session.sql(
            f"CREATE TABLE census.people USING parquet PARTITIONED BY (gender) AS {source}"
        )
        connect_session.sql("CREATE VIEW census.women AS SELECT * FROM census.people "
                            "WHERE gender = 'F'")  # fmt: skip
        truth = pq.read_table(census)
        for name, rows in {
            "census.people": ROWS,
            "spark_catalog.census.people": ROWS,
            "`census`.`people`": ROWS,
            "census.women": truth["gender"].to_pylist().count("F"),
        }.items():
            to = tmp_path / str(len(list(tmp_path.iterdir())))
            assert on_connect(name, to, drop="person").rows == rows
            assert cv.verify(to) == []
        here = on_connect(str(census), tmp_path / "here", drop="person")
        assert here.rows == ROWS

    def test_a_folder_of_folders(self, connect_session: Any, census: Path, tmp_path: Path) -> None:
        parts = tmp_path / "parts"
        connect_session.read.parquet(str(census)).write.partitionBy("gender").parquet(str(parts))
        made = on_connect(str(parts), tmp_path / "r", drop="person")
        assert made.rows == ROWS
        assert "gender" in [column.name for column in made.columns]

    def test_a_catalogue_of_another_maker(self, connect_session: Any, tmp_path: Path) -> None:
        """Such tables have plans of their own, as those of Iceberg do; they are read once."""
        connect_session.sql("CREATE NAMESPACE IF NOT EXISTS derby.STAFF")
        connect_session.sql("CREATE TABLE derby.STAFF.PEOPLE (JOB STRING, N INT)")
        connect_session.sql("INSERT INTO derby.STAFF.PEOPLE SELECT concat('job ', id % 3), id "
                            "FROM range(900)")  # fmt: skip
        made = cv.publish(
            "derby.STAFF.PEOPLE", {"JOB": 2}, tmp_path / "r", engine="spark", keep="N"
        )
        assert made.rows == 900
        assert sorted(released(tmp_path / "r")["N"].to_pylist()) == list(range(900))

    def test_a_release_as_a_table(self, connect_session: Any, release: Path) -> None:
        connect_session.sql(f"CREATE TABLE published USING parquet LOCATION '{release}/data'")
        assert connect_session.table("published").count() == ROWS

    @pytest.mark.parametrize(
        ("inside", "package"),
        [("_delta_log/00000000000000000000.json", "delta-spark"),
         ("metadata/version-hint.text", "iceberg-spark-runtime")],
    )  # fmt: skip
    def test_a_table_that_is_more_than_its_files(
        self, inside: str, package: str, tmp_path: Path
    ) -> None:
        """Files that it deleted are still in the folder, and must not be published."""
        (tmp_path / "t" / inside).parent.mkdir(parents=True)
        (tmp_path / "t" / inside).write_text("1")
        pq.write_table(pa.table({"occupation": ["a", "b"]}), tmp_path / "t" / "x.parquet")
        with pytest.raises(InputError, match=f"lacks the package that reads.*{package}"):
            on_connect(str(tmp_path / "t"), tmp_path / "r", keep=[])

    def test_tables_that_are_not_there(self, connect_session: Any, tmp_path: Path) -> None:
        for table in (connect_session.table("nobody"), "nobody", "no.body", "/no/body"):
            with pytest.raises(InputError, match=r"What works: a folder or pattern of Parquet"):
                on_connect(table, tmp_path / "r")
        assert list(tmp_path.iterdir()) == []


class TestOpening:
    """What is expected of a release."""

    def test_who_signed_it(self, release: Path, tmp_path: Path) -> None:
        public = release.parent / "public.pem"
        opened = cv.open(release, engine="spark", signed_by=public)
        assert opened.rows == ROWS
        other = key_files(tmp_path)
        with pytest.raises(ReleaseError, match="sign"):
            cv.open(release, engine="spark", signed_by=other)
        file = next((release / "data").iterdir())
        before = file.read_bytes()
        table = pq.read_table(file)
        try:
            file.unlink()
            pq.write_table(table.take(list(range(table.num_rows))[::-1]), file)
            with pytest.raises(ReleaseError, match="is not the file that was signed"):
                cv.open(release, engine="spark", signed_by=public)
        finally:
            file.write_bytes(before)

    def test_how_long_a_question_may_take(self, release: Path) -> None:
        opened = cv.open(release, engine="spark", timeout=600)
        assert opened.sql("SELECT count(*) FROM release").rows()
        opened._timeout = 0.01
        with pytest.raises(QueryError, match=r"took more than 0\.01 seconds"):
            opened.sql("SELECT age, occupation, count(*) FROM release GROUP BY ALL")
        with pytest.raises(QueryError, match="took more than"):
            cv.open(release, engine="spark", timeout=0.01)
        opened._timeout = None
        assert opened.sql("SELECT count(*) FROM release").rows()


@pytest.mark.parametrize("way", ["master", "environment"])
def test_the_commands(
    way: str,
    connect_server: Server,
    census: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """In processes of their own, as users start them, with nothing of Java in them."""
    monkeypatch.delenv("SPARK_CONNECT_MODE_ENABLED")
    if way == "master":
        words = ["--engine", "spark", "--master", connect_server.address]
    else:
        words = ["--engine", "spark"]
        monkeypatch.setenv("SPARK_REMOTE", connect_server.address)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    release = str(tmp_path / "r")
    made = countveil(
        "publish", str(census / "0.parquet"), "-s", "occupation:5", "--keep", "row", "--drop",
        "person", "--to", release, *words,
    )  # fmt: skip
    assert (made.returncode, made.stderr) == (0, "")
    assert f"Published {ROWS // 3:,} rows" in made.stdout
    question = "SELECT gender, count(*) FROM release GROUP BY gender"
    asked = countveil("query", release, question, *words)
    assert (asked.stdout, asked.stderr) == (countveil("query", release, question).stdout, "")


def test_an_interrupt_ends_the_jobs(connect_session: Any, census: Path, tmp_path: Path) -> None:
    calls: list[str] = []

    def interrupt(stage: str, _done: int, _total: int) -> None:
        calls.append(stage)
        # The first call comes before the job.
        if calls.count("drawing and shuffling") > 1:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        on_connect(str(census), tmp_path / "r", drop="person", progress=interrupt)
    assert list(tmp_path.iterdir()) == []
    assert not [tag for tag in connect_session.getTags() if tag.startswith("countveil")]
