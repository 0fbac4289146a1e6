"""What the engine on Dask refuses, each with what works; and what it says of failures."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dask.dataframe as dd
import pandas as pd
import pytest

import countveil as cv
from countveil.engines.dask.cluster import Cluster
from countveil.errors import (
    CountveilError,
    EngineError,
    InputError,
    MissingExtraError,
    SettingsError,
)
from tests.engines.conformance.people import people

pytestmark = [
    pytest.mark.xdist_group("dask"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
]


def frame(**columns: Any) -> Any:
    table = people().to_pandas(types_mapper=pd.ArrowDtype)
    return dd.from_pandas(table.assign(**columns), npartitions=2)


REFUSED: list[tuple[dict[str, Any], type[CountveilError], str]] = [
    ({"one_per": {"age": "first by row"}}, SettingsError, "no engine="),
    ({"output_format": "csv"}, SettingsError, "engine='dask'. Leave it out"),
    ({"rows_per_file": 100}, SettingsError, "engine='dask'. Leave it out"),
    ({"private_report": "private.html"}, SettingsError, "engine='dask'. Leave it out"),
    ({"memory": "1GB"}, SettingsError, "engine='dask'. Leave it out"),
    ({"query": "SELECT 1"}, SettingsError, "What works: Parquet files"),
    ({"delimiter": ";"}, SettingsError, "What works: Parquet files"),
    ({"master": "somewhere"}, SettingsError, "What works: tcp://HOST:8786"),
    ({"to": "s3://bucket/release"}, SettingsError, "are reached with engine='spark'"),
]


@pytest.mark.parametrize(("options", "error", "words"), REFUSED, ids=lambda each: str(each)[:30])
def test_what_it_cannot_do_is_refused_with_what_works(
    options: dict[str, Any], error: type[CountveilError], words: str, tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    options = {"to": "release", "keep": "row", **options}
    with pytest.raises(error) as caught:
        cv.publish(frame(), {"job": 3}, **options)
    assert words in str(caught.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["in.csv", "in.arrow"])
def test_other_files_are_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text("job\na\n")
    with pytest.raises(InputError, match=r"What works: Parquet files .* dask\.dataframe.read_csv"):
        cv.publish(tmp_path / name, {"job": 3}, tmp_path / "r", engine="dask")


def test_a_frame_that_does_not_know_its_types_is_refused(tmp_path: Path) -> None:
    mixed = frame().assign(mixed=lambda table: table["age"].astype(object))
    with pytest.raises(InputError, match=r"'mixed' holds Python objects.*astype"):
        cv.publish(mixed, {"job": 3}, tmp_path / "r", keep="row")
    lying = frame().map_partitions(lambda part: part.assign(age="old"), meta=frame()._meta)
    with pytest.raises(InputError, match="other columns or types than the frame says"):
        cv.publish(lying, {"job": 3}, tmp_path / "r", keep="row")


def test_a_frame_that_fails_says_nothing_of_its_values(tmp_path: Path) -> None:
    def broken(part: Any) -> Any:
        raise ValueError(f"{part['job'].iloc[0]} is wrong")

    failing = frame().map_partitions(broken, meta=frame()._meta)
    with pytest.raises(EngineError) as caught:
        cv.publish(failing, {"job": 3}, tmp_path / "r", keep="row")
    assert str(caught.value) == (
        "Work on Dask failed (ValueError). The logs of its workers say more; they may quote values "
        "of the table."
    )
    assert caught.value.__cause__ is None


def test_a_task_that_fails_says_nothing_of_its_values() -> None:
    def fails(value: str) -> None:
        raise ValueError(f"{value} is wrong")

    cluster = Cluster()
    with pytest.raises(EngineError, match=r"^A task failed on Dask \(ValueError\)") as caught:
        cluster.run([cluster.node(fails, "nurse")])
    assert "nurse" not in str(caught.value)


def test_a_scheduler_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("countveil.engines.dask.cluster._PATIENCE", 1)
    with pytest.raises(EngineError, match=r"no Dask scheduler at tcp://127.0.0.1:9 .*dask worker"):
        cv.publish(frame(), {"job": 3}, tmp_path / "r", master="tcp://127.0.0.1:9")


@pytest.mark.parametrize("library", ["dask", "distributed"])
def test_a_missing_library_is_named_with_its_extra(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingExtraError, match=r"needs Dask.*pip install '.\[dask\]'"):
        cv.publish(people(), {"job": 3}, tmp_path / "r", engine="dask")
    with pytest.raises(MissingExtraError, match=r"needs Dask.*pip install '.\[dask\]'"):
        cv.open(tmp_path / "r", engine="dask")


def test_a_network_without_encryption_is_warned_of() -> None:
    cluster = Cluster()
    assert cluster.exposures == []
    for address, warned in [
        ("tcp://10.0.0.7:8786", True),
        ("tls://10.0.0.7:8786", False),
        ("tcp://127.0.0.1:8786", False),
        ("inproc://10.0.0.7/1/1", False),
    ]:
        cluster._client = SimpleNamespace(
            scheduler_info=lambda address=address: {"address": address}
        )
        assert bool(cluster.exposures) is warned, address


def test_a_master_is_for_a_cluster(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="add engine='spark' or engine='dask'"):
        cv.publish(people(), {"job": 3}, tmp_path / "r", master="tcp://127.0.0.1:9")
