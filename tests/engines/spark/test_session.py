"""What a user meets who has no Java, no PySpark, no cluster; and the commands, in a process."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from countveil.cli.publishing import next_step as step_after
from countveil.engines.choice import chosen_engine
from countveil.engines.spark import session
from countveil.errors import EngineError, MissingExtraError, SettingsError
from tests.clusters import java_is_there
from tests.robustness.tools import PATIENCE

COMMAND = [sys.executable, "-c", "from countveil.cli.entry import main; main()"]


def countveil(*words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    # Without the configuration of a cluster that other tests may have started.
    own = {name: value for name, value in os.environ.items() if name != "SPARK_CONF_DIR"}
    return subprocess.run(
        [*COMMAND, *words], capture_output=True, text=True, env={**own, **settings},
        timeout=PATIENCE, check=False,
    )  # fmt: skip


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "census.parquet"
    cv.generate(3_000, seed=1, to=path)
    return path


@pytest.mark.slow
def test_without_java_it_says_what_to_install(table: Path, tmp_path: Path) -> None:
    done = countveil(
        "publish", str(table), "-s", "occupation:5", "--to", str(tmp_path / "r"),
        "--engine", "spark", PATH="/nowhere", JAVA_HOME="",
    )  # fmt: skip
    assert done.returncode == 1
    assert "Java 17 or newer" in done.stderr
    assert "openjdk-17-jre-headless" in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_java_home_without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(EngineError, match="JAVA_HOME names"):
        session._check_java()


def test_without_pyspark_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *others: Any, **named: Any) -> Any:
        if name.split(".", maxsplit=1)[0] == "pyspark":
            raise ImportError(name)
        return real(name, *others, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingExtraError, match=r"pip install '\.\[spark\]'"):
        chosen_engine("spark", "table.parquet")


def test_engines_and_masters_that_are_none(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="Available: embedded, spark"):
        cv.publish("t.parquet", {"a": 2}, tmp_path / "r", engine="flink")
    with pytest.raises(SettingsError, match="add engine='spark'"):
        cv.open(tmp_path, master="local[2]")
    with pytest.raises(SettingsError, match="not the address of a Spark master"):
        session._check_master("not a master")


def test_an_address_elsewhere_needs_the_engine() -> None:
    with pytest.raises(cv.CountveilError, match="engine='spark'"):
        cv.open("hdfs://host/release")


@pytest.mark.parametrize(
    ("folder", "next_step"),
    [
        ("census", "show census"),
        ("/a b/c", "show '/a b/c'"),
        ("file:///a/b", "show /a/b"),
        ("hdfs://n/r", "query hdfs://n/r 'SELECT count(*) FROM release' --engine spark"),
        ("s3a://b/r 1", "query 's3a://b/r 1' 'SELECT count(*) FROM release' --engine spark"),
    ],
)
def test_the_next_step_fits_the_place(folder: str, next_step: str) -> None:
    assert step_after(folder) == next_step


@pytest.mark.slow
@pytest.mark.xdist_group("spark")
@pytest.mark.skipif(not java_is_there(), reason="Spark needs Java, and this machine has none")
class TestCommands:
    """In processes of their own, as users start them."""

    @pytest.mark.parametrize("master", ["local[2]", "local-cluster[1,1,768]"])
    def test_from_a_table_to_an_answer(self, table: Path, tmp_path: Path, master: str) -> None:
        release = str(tmp_path / "r")
        made = countveil(
            "publish", str(table), "-s", "occupation:5", "--to", release, "--engine", "spark",
            "--master", master,
        )  # fmt: skip
        assert made.returncode == 0, made.stderr
        assert made.stderr == ""
        assert "Published 3,000 rows" in made.stdout
        assert countveil("verify", release).returncode == 0
        question = "SELECT gender, count(*) FROM release GROUP BY gender"
        asked = countveil("query", release, question, "--engine", "spark", "--master", master)
        assert asked.stdout == countveil("query", release, question).stdout
        assert asked.stderr == ""

    def test_a_master_that_is_not_there(self, table: Path, tmp_path: Path) -> None:
        done = countveil(
            "publish", str(table), "-s", "occupation:5", "--to", str(tmp_path / "r"),
            "--engine", "spark", "--master", "k8s-nonsense://127.0.0.1:1",
        )  # fmt: skip
        assert done.returncode == 1
        assert "Spark could not be started at k8s-nonsense://127.0.0.1:1" in done.stderr
        assert done.stderr.count("\n") == 1
        assert list(tmp_path.iterdir()) == []

    def test_a_workers_python_without_countveil(self, table: Path, tmp_path: Path) -> None:
        poor = tmp_path / "python"
        poor.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
        poor.chmod(0o755)
        done = countveil(
            "publish", str(table), "-s", "occupation:5", "--to", str(tmp_path / "r"),
            "--engine", "spark", "--master", "local[1]", PYSPARK_PYTHON=str(poor),
        )  # fmt: skip
        assert done.returncode == 1
        assert "The Python of Spark's workers lacks" in done.stderr
        assert sorted(path.name for path in tmp_path.iterdir()) == ["python"]
