"""Releases made on a real cluster: exact, the same on both engines, also when a worker dies.

Statistical tests have a false-alarm rate of at most 1e-6, for any seed.
"""

from __future__ import annotations

import base64
import datetime as dt
import itertools
import signal
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import countveil as cv
from countveil.engines.drawn import Drawn
from countveil.engines.spark.pinned import pinned
from countveil.engines.spark.session import find_session, our_settings
from countveil.engines.spark.source_table import SparkSource
from countveil.errors import (
    EngineError,
    InputError,
    QueryError,
    SettingsError,
    TargetError,
    UnsafeError,
)
from countveil.maths.channel import greedy_templates
from countveil.maths.mechanism import draw_published
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Randomness
from countveil.release import METADATA_NAMES
from countveil.release.metadata import metadata_texts
from tests.clusters import Cluster
from tests.statistical import textbook
from tests.statistical.bounds import FALSE_ALARM, follows
from tests.statistical.runs import as_array, side_by_side, vectors_follow

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("spark"),
    # What Spark says of the pandas and the Arrow that are installed beside it.
    pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]
ROWS = 40_000
NOTHING = np.zeros(0, np.int64)
Work = Callable[..., Any]


@pytest.fixture(scope="module")
def session(cluster: Cluster) -> Any:
    """The session that countveil itself starts; Ctrl-C stays with whoever had it."""
    before = signal.getsignal(signal.SIGINT)
    found = find_session(cluster.master)
    assert signal.getsignal(signal.SIGINT) is before
    return found


@pytest.fixture(scope="module")
def census(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A made-up census with the number of each row, in several files."""
    folder = tmp_path_factory.mktemp("census") / "census"
    folder.mkdir()
    table: Any = cv.generate(ROWS, seed=11)
    table = table.append_column("row", pa.array(range(ROWS), pa.int64()))
    for part in range(6):
        some = table.slice(part * ROWS // 6, (part + 1) * ROWS // 6 - part * ROWS // 6)
        pq.write_table(some, folder / f"part-{part}.parquet")
    return folder


def on_spark(table: Any, to: Path, **options: Any) -> Any:
    """Publish on the cluster; the row's number is kept so that tests can link."""
    options.setdefault("keep", "row")
    return cv.publish(table, {"occupation": 5}, to, engine="spark", **options)


def released(folder: Path) -> Any:
    return pq.read_table(folder / "data").combine_chunks()


def crosstab(truth: Any, release: Any) -> dict[tuple[Any, Any], int]:
    """How many rows with a true value publish which one: Y, as it came out."""
    true = truth.sort_by("row")["occupation"].to_pylist()
    said = release.sort_by("row")["occupation"].to_pylist()
    found: dict[tuple[Any, Any], int] = {}
    for pair in zip(true, said, strict=True):
        found[pair] = found.get(pair, 0) + 1
    return found


@pytest.fixture(scope="module")
def release(session: Any, census: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release made on the cluster with a seed, described for archives and catalogues."""
    folder = tmp_path_factory.mktemp("made") / "release"
    assert session is not None
    on_spark(str(census), folder, seed=5, metadata=tuple(METADATA_NAMES))
    return folder


def test_the_session_has_the_settings_that_matter(session: Any, cluster: Cluster) -> None:
    conf = session.sparkContext.getConf()
    assert conf.get("spark.driver.host") == "127.0.0.1"
    assert conf.get("spark.io.encryption.enabled") == "true"
    assert session.sparkContext.master == cluster.master
    assert len(list((cluster.folder / "work").glob("worker*"))) == 2


def test_a_release_is_a_release_on_one_machine(release: Path, census: Path) -> None:
    assert cv.verify(release) == []
    opened = cv.open(release)
    assert opened.rows == ROWS
    parts = {"data", "manifest.json", "report.html", *METADATA_NAMES.values()}
    assert {path.name for path in release.iterdir()} == parts
    for name, text in metadata_texts(opened.manifest, list(METADATA_NAMES)).items():
        assert (release / METADATA_NAMES[name]).read_text() == text
    times = {path.stat().st_mtime for path in [release, *release.rglob("*")]}
    assert len(times) == 1
    truth, ours = pq.read_table(census), released(release)
    assert ours.schema.names == truth.schema.names
    same = [name for name in truth.schema.names if name != "occupation"]
    assert ours.sort_by("row").select(same).equals(truth.sort_by("row").select(same))
    for path in (release / "data").iterdir():
        file = pq.ParquetFile(path).metadata
        assert set(file.metadata or {}) <= {
            b"org.apache.spark.version",
            b"org.apache.spark.sql.parquet.row.metadata",
        }
        for group, column in itertools.product(range(file.num_row_groups), range(file.num_columns)):
            chunk = file.row_group(group).column(column)
            assert not chunk.is_stats_set
            assert not chunk.has_column_index


def test_one_seed_gives_the_same_table_on_both_engines(
    release: Path, census: Path, tmp_path: Path
) -> None:
    truth = pq.read_table(census)
    cv.publish(census, {"occupation": 5}, tmp_path / "here", seed=5, keep="row")
    here, there = released(tmp_path / "here"), released(release)
    assert crosstab(truth, here) == crosstab(truth, there)
    assert here["row"].to_pylist() != there["row"].to_pylist()


def test_the_audit_finds_nothing_but_the_seed(release: Path, census: Path) -> None:
    audit = cv.audit(census, {"occupation": 5}, release=release, keep="row", seed=1)
    exceeded = [found.attack for found in audit.findings if found.verdict == "exceeds"]
    assert exceeded == ["redo the draw from its seed"]


def test_rows_come_out_in_random_order(release: Path) -> None:
    """Tenths of the source against tenths of the release: all hundred cells are as likely."""
    order = released(release)["row"].to_numpy()
    cells = (order * 10 // ROWS) * 10 + np.arange(ROWS) * 10 // ROWS
    counts = np.bincount(cells, minlength=100)
    assert follows(counts, np.full(100, 0.01)) > FALSE_ALARM
    # Neighbours in the source are no neighbours in the release: on average 1 pair stays one way.
    assert int((np.diff(order) == 1).sum()) < 20


def test_vectors_follow_the_exact_law(session: Any, tmp_path: Path) -> None:
    """Eight thousand copies of a table of six rows, side by side, their rows in six parts."""
    values, ell, copies = (0, 1, 0, 2, 0, 1), 2, 8_000
    counts = np.bincount(values)
    shift = counts.size * np.arange(copies)
    for place, value in enumerate(values):
        table = pa.table(
            {"value": value + shift, "copy": np.arange(copies), "place": [place] * copies}
        )
        pq.write_table(table, tmp_path / f"{place}.parquet")
    frame = session.read.parquet(str(tmp_path))
    (tmp_path / "out").mkdir()
    randomness = Randomness()
    with our_settings(session):
        source = SparkSource(frame, ["value"])
        assert frame.rdd.getNumPartitions() >= 3
        histogram = source.histogram("value", NOTHING)
        assert histogram.values == sorted(histogram.values)
        groups = side_by_side(greedy_templates(counts, ell), copies)
        drawn = draw_published(groups, randomness.stream("draw"))
        source.publish(
            source.facts.columns, Drawn({"value": drawn}), randomness, str(tmp_path / "out")
        )
    found = pq.read_table(tmp_path / "out").sort_by([("copy", "ascending"), ("place", "ascending")])
    published: NDArray[np.int64] = found["value"].to_numpy().reshape(copies, 6) - shift[:, None]
    law = as_array(textbook.exact_law(values, ell), counts.size)
    assert vectors_follow(published, law) > FALSE_ALARM


QUERIES = [
    "SELECT count(*) FROM release",
    "SELECT gender, occupation, count(*) FROM release GROUP BY ALL",
    "SELECT count(*) FROM release WHERE occupation = 'nurse' AND age >= 60",
    "SELECT age // 10, count(*), avg(age) AS mean FROM release WHERE gender = 'F' GROUP BY 1",
    "SELECT sum(age) FROM release WHERE occupation IN ('nurse', 'actuary') OR education LIKE 'B%'",
    "SELECT count(*) FROM release WHERE age % 7 = 3 AND NOT (race = 'x''y\\' OR age IS NULL)",
    "SELECT count(*) FROM release WHERE round(age / 7) = 4 OR floor(-age / 3) = -9 OR ceil(age)=2",
    "SELECT count(*) FROM release WHERE substr(gender, 1, 1) || right(gender, 1) = 'FF'",
    "SELECT count(*) FROM release WHERE greatest(age, 30) < least(40, age + 9) AND sign(age) = 1",
    "SELECT count(*) FROM release WHERE coalesce(nullif(age, 40), 0) = 0 OR length(trim(race)) = 5",
]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_has_the_same_answer_on_both_engines(release: Path, query: str) -> None:
    if "mean" in query:
        query = query.replace("count(*)", "count(*) AS n")
    there, here = cv.open(release, engine="spark").sql(query), cv.open(release).sql(query)
    assert list(there.columns) == list(here.columns)
    for one, other in zip(list(there.rows()), list(here.rows()), strict=True):
        for a, b in zip(one, other, strict=True):
            assert a == (pytest.approx(b, rel=1e-9) if isinstance(b, float) else b)


def test_what_spark_would_count_otherwise_is_refused(release: Path) -> None:
    opened = cv.open(release, engine="spark")
    with pytest.raises(QueryError, match="not the same in Spark"):
        opened.sql("SELECT count(*) FROM release WHERE lower(gender) = 'f'")
    with pytest.raises(QueryError, match="too large"):
        opened.sql("SELECT count(*) FROM release WHERE age * 9223372036854775807 > 0")
    assert (opened.count("age >= 60", occupation="nurse").estimate or 0) > 0
    assert len(list(opened.counts(["age > 30", "age > 40"]).rows())) == 2


def test_who_signed_it_and_how_long_a_question_may_take(
    session: Any, census: Path, tmp_path: Path
) -> None:
    from tests.engines.spark.test_connect import key_files

    assert session is not None
    public = key_files(tmp_path)
    part = str(census / "part-1.parquet")
    on_spark(part, tmp_path / "r", sign=tmp_path / "private.pem")
    opened = cv.open(tmp_path / "r", engine="spark", signed_by=public, timeout=600)
    assert opened.sql("SELECT count(*) FROM release").rows()
    opened._timeout = 0.01
    with pytest.raises(QueryError, match=r"took more than 0\.01 seconds"):
        opened.sql("SELECT age, occupation, count(*) FROM release GROUP BY ALL")
    (tmp_path / "other").mkdir()
    other = key_files(tmp_path / "other")
    with pytest.raises(cv.CountveilError, match="sign"):
        cv.open(tmp_path / "r", engine="spark", signed_by=other)
    file = next((tmp_path / "r" / "data").iterdir())
    table = pq.read_table(file)
    file.unlink()
    pq.write_table(table.slice(0, table.num_rows), file, compression="none")
    with pytest.raises(cv.CountveilError, match="is not the file that was signed"):
        cv.open(tmp_path / "r", engine="spark", signed_by=public)


@pytest.fixture(scope="module")
def uneven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Many small parts and a large one, which keeps a worker busy while the others are done."""
    folder = tmp_path_factory.mktemp("uneven") / "census"
    folder.mkdir()
    table: Any = cv.generate(700_000, seed=12)
    table = table.append_column("row", pa.array(range(700_000), pa.int64()))
    # The rows of a person are far apart, in several parts.
    persons = [f"person {row * 7_919 % 250_000}" for row in range(700_000)]
    table = table.append_column("person", pa.array(persons))
    for part in range(10):
        pq.write_table(table.slice(part * 20_000, 20_000), folder / f"part-{part}.parquet")
    pq.write_table(table.slice(200_000), folder / "part-x.parquet", row_group_size=500_000)
    return folder


@pytest.mark.parametrize("options", [{"drop": "person"}, {"person": "person"}])
def test_the_same_rows_when_a_worker_is_killed(
    options: dict[str, Any], session: Any, cluster: Cluster, uneven: Path, tmp_path: Path
) -> None:
    """Tasks that had finished there are run again elsewhere, and nobody can tell."""
    assert session is not None
    killed: list[int] = []

    def kill_once(stage: str, done: int, _total: int) -> None:
        if stage == "drawing and shuffling" and done > 0 and not killed:
            killed.append(done)
            cluster.kill(cluster.processes[-1])

    on_spark(str(uneven), tmp_path / "undisturbed", seed=5, **options)
    on_spark(str(uneven), tmp_path / "release", seed=5, progress=kill_once, **options)
    assert killed
    assert cv.verify(tmp_path / "release") == []
    assert released(tmp_path / "release").equals(released(tmp_path / "undisturbed"))
    cluster.add_worker(f"worker{len(cluster.processes)}")
    # The large part was begun a second time beside the first, before there was anything to mend.
    events = b"".join(p.read_bytes() for p in (cluster.folder / "events").rglob("*") if p.is_file())
    assert events.count(b'"Speculative":true') > 0


def _secrets(seed: int) -> list[bytes]:
    randomness = Randomness(seed)
    keys = [randomness._key, randomness.task_key("deal")._key]
    forms = []
    for key in keys:
        forms += [key, key.hex().encode(), base64.b64encode(key), repr(key)[2:-1].encode()]
        forms += [base64.b64encode(key)[:40], str(list(key)).encode()]
    return forms


def test_the_key_is_in_no_log(cluster: Cluster, release: Path) -> None:
    """In the logs of master, workers, executors and driver, the event log, and on their disks."""
    assert release.exists()
    secrets = _secrets(5)
    looked_at = 0
    for path in cluster.folder.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            looked_at += len(content)
            for secret in secrets:
                assert secret not in content, path
    events = b"".join(p.read_bytes() for p in (cluster.folder / "events").rglob("*") if p.is_file())
    # The tasks are there by name, their content is not.
    assert b"DealTask" in events
    assert b"SparkListenerSQLExecutionStart" in events
    assert looked_at > 100_000
    driver = (cluster.folder / "logs" / "driver.log").read_text(errors="replace")
    assert "SparkContext" in driver


def test_no_protected_value_stands_in_a_log(cluster: Cluster, release: Path) -> None:
    assert release.exists()
    for folder in ("events", "logs", "work"):
        for path in (cluster.folder / folder).rglob("*"):
            if path.is_file():
                assert b"nurse" not in path.read_bytes().replace(b"occupation = 'nurse'", b""), path


class TestSources:
    """Data frames, files and options."""

    def test_types_and_missing_values(self, session: Any, tmp_path: Path) -> None:
        rows = 600
        table = pa.table({
            "when": pa.array([dt.date(2020, 1, 1 + i % 3) for i in range(rows)]),
            "ok": pa.array([None if i % 5 == 0 else i % 2 == 0 for i in range(rows)]),
            "city": pa.array([None if i % 4 == 0 else f"ö{i % 4}" for i in range(rows)]),
            "small": pa.array([i % 90 for i in range(rows)], pa.int8()),
            "price": pa.array([Decimal(i % 7) / 4 for i in range(rows)], pa.decimal128(8, 2)),
            "at": pa.array([i % 24 for i in range(rows)], pa.timestamp("us")),
            "zoned": pa.array([i % 9 for i in range(rows)], pa.timestamp("us", "UTC")),
            "x": pa.array([float("nan") if i % 3 == 0 else i / 3 for i in range(rows)]),
            "raw": pa.array([bytes([i % 5]) for i in range(rows)]),
        })  # fmt: skip
        pq.write_table(table, tmp_path / "t.parquet")
        frame = session.read.parquet(str(tmp_path / "t.parquet"))
        made = cv.publish(frame, {"city": 3, "when": 2}, tmp_path / "r", keep=table.schema.names)
        assert cv.verify(tmp_path / "r") == []
        ours = released(tmp_path / "r")
        assert ours.schema.equals(table.schema)
        for name in ("ok", "small", "price", "at", "zoned", "raw"):
            key = lambda v: (v is not None, v)  # noqa: E731
            assert sorted(ours[name].to_pylist(), key=key) == sorted(
                table[name].to_pylist(), key=key
            )
        assert set(made.manifest.sensitive["city"].domain) == {None, "ö1", "ö2", "ö3"}
        missing = made.sql("SELECT count(*) FROM release WHERE city IS NULL")
        assert [row[0] for row in missing.rows()] == pytest.approx([150], abs=120)

    def test_the_publishers_options(self, session: Any, census: Path, tmp_path: Path) -> None:
        assert session is not None
        made = on_spark(
            str(census / "part-0.parquet"), tmp_path / "r", bins={"age": [30, 60]}, person="row",
            where="age >= 20 AND gender = 'F'", columns=["age", "occupation"], keep=(),
            residue="drop", missing=["nurse"],
        )  # fmt: skip
        assert [column.name for column in made.columns] == ["age", "occupation"]
        assert made.rows % 5 == 0
        ours = released(tmp_path / "r")
        truth = pq.read_table(census / "part-0.parquet").to_pylist()
        wanted = [row for row in truth if row["age"] >= 20 and row["gender"] == "F"]
        assert len(wanted) - 5 < made.rows <= len(wanted)
        ages = {str(row["age"]) for row in wanted}
        classes = set(ours["age"].to_pylist())
        assert len(classes) == 3
        assert not classes & ages
        assert "nurse" not in ours["occupation"].to_pylist()
        assert None in ours["occupation"].to_pylist()
        assert not [path for path in tmp_path.iterdir() if path.name != "r"]

    def test_a_csv_a_table_and_two_columns(self, session: Any, tmp_path: Path) -> None:
        lines = ["a;b;note"] + [f'{i % 4};{"xyz"[i % 3]};"say ""{i % 2}"""' for i in range(240)]
        (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
        made = cv.publish(
            str(tmp_path / "t.csv"), {"a": 2, "b": 3}, tmp_path / "r", engine="spark", delimiter=";"
        )
        assert [column.type for column in made.columns] == ["int64", "string", "string"]
        assert set(released(tmp_path / "r")["note"].to_pylist()) == {'say "0"', 'say "1"'}
        session.read.parquet(str(tmp_path / "r" / "data")).createOrReplaceTempView("people")
        again = cv.publish("people", {"b": 2}, tmp_path / "s", engine="spark", again=True)
        assert again.rows == 240

    def test_what_may_change_is_pinned(self, session: Any, census: Path) -> None:
        from pyspark.sql import functions as sql

        frame = session.read.parquet(str(census))
        assert pinned(frame) is frame
        steady = frame.where("age > 30").select("age", "occupation")
        assert pinned(steady) is steady
        for moving in (
            frame.where(sql.rand() < 0.5), frame.limit(100),
            frame.where("now() > timestamp '2020-01-01'"), frame.orderBy("age"),
            session.createDataFrame([(1,)], "a int"),
            frame.sample(0.5), frame.join(frame.select("row"), "row"), frame.distinct(),
            frame.withColumn("n", sql.monotonically_increasing_id()),
        ):  # fmt: skip
            assert pinned(moving) is not moving
        once = pinned(frame.where(sql.rand() < 0.5))
        assert once.count() == once.count()
        assert once.select("row").toArrow().equals(once.select("row").toArrow())

    def test_a_frame_that_is_computed_is_published(
        self, session: Any, census: Path, tmp_path: Path
    ) -> None:
        from pyspark.sql import functions as sql

        frame = session.read.parquet(str(census)).where(sql.rand() < 0.25)
        made = cv.publish(frame, {"occupation": 5}, tmp_path / "r", keep="row")
        assert ROWS / 5 < made.rows < ROWS / 3
        assert cv.verify(tmp_path / "r") == []

    def test_a_large_domain_is_counted_in_fewer_parts(
        self, session: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("countveil.engines.partitions.table.MOST_VALUES", 500)
        monkeypatch.setattr("countveil.engines.partitions.table.MOST_COUNTS", 700)
        monkeypatch.setattr("countveil.engines.partitions.task_inputs.MOST_RUNS", 1)
        for part in range(6):
            values = [f"v{i % 400}" for i in range(2_000)]
            pq.write_table(pa.table({"v": values}), tmp_path / f"{part}.parquet")
        frame = session.read.parquet(str(tmp_path))
        assert frame.rdd.getNumPartitions() > 1
        made = cv.publish(frame, {"v": 3}, tmp_path / "r")
        assert made.rows == 12_000
        assert cv.verify(tmp_path / "r") == []
        monkeypatch.setattr("countveil.engines.partitions.table.MOST_VALUES", 300)
        monkeypatch.setattr("countveil.engines.partitions.counts.MOST_VALUES", 300)
        with pytest.raises(InputError, match="more than 300 different values"):
            cv.publish(frame, {"v": 3}, tmp_path / "s")

    def test_settings_of_the_session_are_put_back(self, session: Any, tmp_path: Path) -> None:
        session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        try:
            frame = session.createDataFrame([(i % 3, i) for i in range(90)], "a int, b int")
            cv.publish(frame, {"a": 2}, tmp_path / "r", keep="b")
            assert session.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
            assert session.conf.get("spark.sql.parquet.outputTimestampType") == "INT96"
        finally:
            session.conf.unset("spark.sql.session.timeZone")

    def test_two_columns_and_a_residue_over_many_parts(
        self, session: Any, census: Path, tmp_path: Path
    ) -> None:
        frame = session.read.parquet(str(census)).where("row < 39999")
        made = cv.publish(
            frame, {"occupation": 5, "education": 2}, tmp_path / "r", keep="row", residue="drop"
        )
        assert made.rows == 39_990
        assert cv.verify(tmp_path / "r") == []
        assert len(set(released(tmp_path / "r")["row"].to_pylist())) == 39_990

    def test_times_of_a_session_in_another_zone(self, session: Any, tmp_path: Path) -> None:
        session.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
        try:
            frame = session.range(90).selectExpr(
                "CAST(concat('2024-01-0', 1 + id % 3, ' 08:00:00') AS timestamp) AS at",
                "id % 4 AS x",
            )
            shown = {row[0] for row in frame.selectExpr("CAST(at AS string)").collect()}
            made = cv.publish(frame, {"at": 2}, tmp_path / "r", keep="x")
        finally:
            session.conf.unset("spark.sql.session.timeZone")
        assert shown == {f"2024-01-0{day} 08:00:00" for day in (1, 2, 3)}
        greenwich = [value.astimezone(dt.UTC) for value in made.manifest.sensitive["at"].domain]
        assert {str(value) for value in greenwich} == {
            f"{day} 23:00:00+00:00" for day in ("2023-12-31", "2024-01-01", "2024-01-02")
        }
        assert cv.verify(tmp_path / "r") == []

    def test_text_files_are_taken_at_their_word(self, session: Any, tmp_path: Path) -> None:
        assert session is not None
        codes = tmp_path / "codes.csv"
        codes.write_text("zip,job\n" + "".join(f"0{i % 7},{'ab'[i % 2]}\n" for i in range(60)))
        made = cv.publish(str(codes), {"job": 2}, tmp_path / "r", engine="spark")
        assert {c.name: c.type for c in made.columns} == {"zip": "string", "job": "string"}
        assert "00" in released(tmp_path / "r")["zip"].to_pylist()
        bare = tmp_path / "bare.tsv"
        bare.write_text("".join(f"{i % 5}\t{'ab'[i % 2]}\n" for i in range(60)))
        made = cv.publish(str(bare), {"column2": 2}, tmp_path / "s", engine="spark", header=False)
        assert [c.type for c in made.columns] == ["int64", "string"]
        parted = tmp_path / "parted"
        for year in (2024, 2025):
            (parted / f"year={year}").mkdir(parents=True)
            jobs = pa.table({"job": ["a", "b"] * 30})
            pq.write_table(jobs, parted / f"year={year}" / "x.parquet")
        made = cv.publish(str(parted), {"job": 2}, tmp_path / "t", engine="spark")
        assert [c.name for c in made.columns] == ["job", "year"]

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.jsonl", '{"job": "a", "x": 1}\n' * 40 + '{"job": "b", "x"\n'),
            ("b.csv", "job,note\n" + "a,b\n" * 40 + 'a,"two\nlines"\n'),
            ("c.csv", "job,note\n" + "a,b\n" * 40 + "a,b,c\n"),
        ],
    )
    def test_lines_that_do_not_fit_are_refused(
        self, session: Any, tmp_path: Path, name: str, content: str
    ) -> None:
        assert session is not None
        (tmp_path / name).write_text(content)
        with pytest.raises((InputError, EngineError)):
            cv.publish(
                str(tmp_path / name), {"job": 2}, tmp_path / "r", engine="spark", columns=["job"]
            )
        assert [path.name for path in tmp_path.iterdir()] == [name]

    def test_headers_that_differ_are_refused(self, session: Any, tmp_path: Path) -> None:
        assert session is not None
        (tmp_path / "t").mkdir()
        (tmp_path / "t" / "a.csv").write_text("age,job\n" + "1,a\n2,b\n" * 20)
        (tmp_path / "t" / "b.csv").write_text("job,age\n" + "a,1\nb,2\n" * 20)
        with pytest.raises((InputError, EngineError)):
            cv.publish(str(tmp_path / "t"), {"job": 2}, tmp_path / "r", engine="spark")
        assert [path.name for path in tmp_path.iterdir()] == ["t"]

    def test_names_in_upper_and_lower_case(self, session: Any, tmp_path: Path) -> None:
        rows = [(i % 3, i % 5, "x") for i in range(90)]
        frame = session.createDataFrame(rows, "a int, KEY int, _metadata string")
        made = cv.publish(frame, {"a": 2}, tmp_path / "r")
        assert [c.name for c in made.columns] == ["a", "KEY", "_metadata"]
        pq.write_table(pa.table({"a": [1, 2] * 9, "A": [1, 2] * 9}), tmp_path / "t.parquet")
        with pytest.raises(InputError, match=r"one and the same|COLUMN_ALREADY_EXISTS"):
            cv.publish(str(tmp_path / "t.parquet"), {"a": 2}, tmp_path / "s", engine="spark")


class TestRefusals:
    """One sentence each, and nothing left behind."""

    def test_a_table_that_changes_between_the_passes(
        self, session: Any, census: Path, tmp_path: Path
    ) -> None:
        assert session is not None
        source = tmp_path / "t"
        source.mkdir()
        table = pq.read_table(census / "part-0.parquet")
        pq.write_table(table, source / "a.parquet")

        def change(stage: str, _done: int, _total: int) -> None:
            if stage == "splitting the draw":
                shifted = pa.concat_tables([table.slice(1), table.slice(2, 1)])
                pq.write_table(shifted, source / "a.parquet")

        with pytest.raises((InputError, EngineError)):
            on_spark(str(source), tmp_path / "r", progress=change)
        assert sorted(path.name for path in tmp_path.iterdir()) == ["t"]

    def test_a_copy_is_found_in_a_sorted_table(self, session: Any, tmp_path: Path) -> None:
        """The first rows of every part have one value; only rows from everywhere show it."""
        rows = 240_000
        codes = np.arange(rows) * 8 // rows
        names = np.array([f"diagnosis {code}" for code in range(8)])
        table = pa.table({"diag": codes, "name": names[codes], "x": np.arange(rows) % 90})
        pq.write_table(table, tmp_path / "t.parquet")
        assert session is not None
        with pytest.raises(UnsafeError, match="name"):
            cv.publish(str(tmp_path / "t.parquet"), {"diag": 5}, tmp_path / "r", engine="spark")

    def test_identifiers_and_giveaways_stop_it(self, census: Path, tmp_path: Path) -> None:
        with pytest.raises(UnsafeError, match="row"):
            on_spark(str(census), tmp_path / "r", keep=())
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize(
        ("table", "options", "error", "words"),
        [
            ("{census}", {"sensitive": {"ocupation": 5}}, InputError, "Did you mean 'occupation'"),
            ("{census}/nothing.parquet", {}, InputError, "There is nothing at"),
            ("{census}.xyz", {}, InputError, "There is nothing at"),
            ("no_such_table", {}, InputError, "There is nothing at"),
            ("{census}", {"sensitive": {"occupation": 500}}, SettingsError, "largest ell"),
            ("{census}", {"where": "lower(gender) = 'f'"}, SettingsError, "where="),
            ("{census}", {"where": "age > 1000"}, InputError, "No row of the table"),
            ("{census}", {"memory": "1GB"}, SettingsError, "memory="),
            ("{census}", {"output_format": "csv"}, SettingsError, "output_format="),
            ("{census}", {"query": "SELECT 1"}, SettingsError, "query="),
            ("{census}", {"to": "nope://x/y"}, TargetError, "nope://x/y"),
            ("{census}", {"to": "{tmp}/no/folder"}, TargetError, "does not exist"),
            ("{census}", {"to": "{tmp}/r[1]"}, TargetError, "pattern"),
            ("{census}", {"master": "local[7]"}, SettingsError, "session already"),
            ("{census}", {"to": "{census}"}, TargetError, "not empty"),
            ("{census}", {"to": "{census}", "force": True}, TargetError, "not a release"),
        ],
    )
    def test_what_cannot_be_served(
        self, census: Path, tmp_path: Path, table: str, options: dict[str, Any],
        error: type[Exception], words: str,
    ) -> None:  # fmt: skip
        filled: dict[str, Any] = {
            name: value.format(census=census, tmp=tmp_path) if isinstance(value, str) else value
            for name, value in options.items()
        }
        sensitive = filled.pop("sensitive", {"occupation": 5})
        to = filled.pop("to", str(tmp_path / "r"))
        before = sorted(census.iterdir())
        with pytest.raises(error, match=words):
            cv.publish(
                table.format(census=census), sensitive, to, engine="spark", keep="row", **filled
            )
        assert list(tmp_path.iterdir()) == []
        assert sorted(census.iterdir()) == before

    def test_a_release_is_replaced_only_if_asked(self, census: Path, tmp_path: Path) -> None:
        part = str(census / "part-1.parquet")
        # What a killed driver left, here and for another target, goes with the next publication.
        for target in ("r", "other"):
            (tmp_path / f".{target}.draft-0123456789ab" / "data").mkdir(parents=True)
        on_spark(part, tmp_path / "r")
        assert [path.name for path in tmp_path.iterdir()] == ["r"]
        first = (tmp_path / "r" / "manifest.json").read_text()
        with pytest.raises(TargetError, match="force=True and again=True"):
            on_spark(part, tmp_path / "r")
        with pytest.raises(TargetError, match="r seems to be a release of the same people"):
            on_spark(part, tmp_path / "next")
        on_spark(part, tmp_path / "r", seed=2, force=True, again=True)
        assert (tmp_path / "r" / "manifest.json").read_text() != first
        assert [path.name for path in tmp_path.iterdir()] == ["r"]
        assert cv.verify(tmp_path / "r") == []
        (tmp_path / "r" / "data" / "note.txt").write_text("mine")
        with pytest.raises(TargetError, match=r"note\.txt"):
            on_spark(part, tmp_path / "r", force=True, again=True)

    def test_where_folders_are_not_renamed_in_one_step(
        self, census: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As in object stores: the manifest comes last, and what is incomplete is taken away."""
        from countveil.engines.spark import files

        monkeypatch.setattr(files, "RENAMED_IN_ONE_STEP", set())
        part = str(census / "part-1.parquet")
        on_spark(part, tmp_path / "r", seed=1)
        assert cv.verify(tmp_path / "r") == []
        first = (tmp_path / "r" / "manifest.json").read_text()
        moved: list[str] = []
        really = files.Files.rename

        def failing(self: Any, old: str, new: str) -> None:
            moved.append(new.rpartition("/")[2])
            if moved[-1] == "manifest.json":
                raise OSError("no")
            really(self, old, new)

        monkeypatch.setattr(files.Files, "rename", failing)
        for to, force in (("s", False), ("r", True)):
            moved.clear()
            with pytest.raises(TargetError, match="could not be written"):
                on_spark(part, tmp_path / to, force=force, again=True)
            assert {"data", "report.html"} <= set(moved[: moved.index("manifest.json")])
        assert [path.name for path in tmp_path.iterdir()] == ["r"]
        assert (tmp_path / "r" / "manifest.json").read_text() == first
        assert cv.verify(tmp_path / "r") == []

    def test_what_appears_meanwhile_is_not_lost(self, census: Path, tmp_path: Path) -> None:
        def appear(stage: str, _done: int, _total: int) -> None:
            if stage == "checking":
                (tmp_path / "r").mkdir(exist_ok=True)
                (tmp_path / "r" / "mine.txt").write_text("mine")

        with pytest.raises(TargetError, match="not empty"):
            on_spark(str(census / "part-1.parquet"), tmp_path / "r", progress=appear)
        assert (tmp_path / "r" / "mine.txt").read_text() == "mine"
        assert [path.name for path in tmp_path.iterdir()] == ["r"]

    def test_what_a_frame_does_itself_may_fail(self, session: Any, tmp_path: Path) -> None:
        frame = session.range(100).selectExpr("id % 3 AS a", "assert_true(id < 50) AS b").distinct()
        with pytest.raises(EngineError, match="A job failed on Spark"):
            cv.publish(frame, {"a": 2}, tmp_path / "r")
        assert list(tmp_path.iterdir()) == []

    def test_what_is_no_release(self, session: Any, tmp_path: Path) -> None:
        assert session is not None
        with pytest.raises(cv.CountveilError, match="not a release"):
            cv.open(tmp_path, engine="spark")
        with pytest.raises(cv.CountveilError, match="nope"):
            cv.open("nope://x", engine="spark")

    def test_a_dry_run_writes_nothing(self, session: Any, census: Path, tmp_path: Path) -> None:
        from countveil.engines.spark.engine import SparkEngine
        from countveil.tables import Shaping

        assert session is not None
        done = run_publish(
            str(census),
            Protecting.of({"occupation": 5}),
            Writing.of(tmp_path / "r", dry_run=True),
            shaping=Shaping(keep=("row",)),
            engine=SparkEngine(),
        )
        assert done.rows == ROWS
        assert list(tmp_path.iterdir()) == []
