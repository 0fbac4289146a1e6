"""Associated columns are noticed: by `inspect`, and by `publish` where they are published apart."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil.cli.app import app, with_optional_values

ROWS = 6_000
SAID = "'job' and 'branch' are associated"


def workers() -> pa.Table:
    """A branch for every two of twelve jobs; a town that has nothing to do with them."""
    rng = np.random.default_rng(2)
    jobs = rng.integers(0, 12, ROWS)
    wrong = rng.random(ROWS) < 0.1
    branch = np.where(wrong, rng.integers(0, 6, ROWS), jobs // 2)
    return pa.table({
        "age": rng.integers(20, 60, ROWS).tolist(),
        "town": [f"t{n}" for n in rng.integers(0, 8, ROWS)],
        "job": [f"j{n}" for n in jobs],
        "branch": [f"b{n}" for n in branch],
    })  # fmt: skip


def said(action: Any) -> list[str]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        action()
    return [str(one.message) for one in caught if "are associated" in str(one.message)]


@pytest.mark.slow
def test_publish_says_what_apart_and_together_do(tmp_path: Path) -> None:
    options: dict[str, Any] = {"seed": 1, "keep": ["job", "branch"]}
    table = workers()
    (text,) = said(lambda: cv.publish(table, {"job": 4, "branch": 4}, tmp_path / "a", **options))
    assert text.startswith(f"{SAID} (Cramér's V 0.89)")
    for part in (
        "the true pair at 0.",
        "apart (ell = 4) and together (ell = 4)",
        "half as much again",
        "together=['job', 'branch']",
        "in a tenth of the table",
    ):
        assert part in text
    assert not said(
        lambda: cv.publish(table, {"job": 4, "branch": 4}, tmp_path / "b", together=True, **options)
    )
    assert not said(lambda: cv.publish(table, {"job": 4, "town": 4}, tmp_path / "c", **options))
    three, sets = {"job": 4, "branch": 3, "town": 4}, [["job", "town"]]
    assert said(lambda: cv.publish(table, three, tmp_path / "d", together=sets, **options))


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "way", [{"groups": "random"}, {"common": "auto"}, {"groups": "anatomy"},
            {"odds": 30, "domain": {"job": "public:occurring", "branch": "public:occurring"}}],
)  # fmt: skip
def test_every_method_has_figures(way: dict[str, Any], tmp_path: Path) -> None:
    table, keep = workers(), ["job", "branch"]
    (text,) = said(
        lambda: cv.publish(table, {"job": 3, "branch": 3}, tmp_path / "r", seed=1, keep=keep, **way)
    )
    assert text.startswith(SAID)


def test_a_database_is_looked_at_too(tmp_path: Path) -> None:
    file, table = tmp_path / "people.db", workers()
    with contextlib.closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("CREATE TABLE people (age INTEGER, town TEXT, job TEXT, branch TEXT)")
        rows = zip(*table.to_pydict().values(), strict=True)
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", rows)
    address = f"sqlite:{file}#people"
    ells, keep = {"job": 3, "branch": 3}, ["job", "branch"]
    assert said(lambda: cv.publish(address, ells, tmp_path / "r", seed=1, keep=keep))


def test_inspect_has_the_figures_and_the_sentence() -> None:
    found = cv.inspect(workers(), sensitive=["job", "branch", "town"])
    strongest, *others = found.pairs
    assert strongest.columns == ("job", "branch")
    assert strongest.associated
    assert not any(pair.associated for pair in others)
    assert sum(SAID in sentence for sentence in found.sentences()) == 1
    assert "'town'" not in " ".join(s for s in found.sentences() if "associated" in s)
    # Together both columns are random groups: 1/ell + (1 - 1/ell) p, whatever the other is.
    assert strongest.together.above == (0.0, 0.0)
    assert strongest.apart.above is not None
    assert max(strongest.apart.above) > 0.05
    told = json.loads(json.dumps(found.as_dict(), default=str))["pairs"][0]
    assert told["associated"] is True
    assert told["apart"]["mean_belief"] == strongest.apart.mean_belief


@pytest.mark.slow
def test_the_command_line_prints_it(tmp_path: Path) -> None:
    import pyarrow.csv as pc

    pc.write_csv(workers(), tmp_path / "in.csv")
    words = [str(tmp_path / "in.csv"), "-s", "job:3", "-s", "branch:3", "--keep", "job"]
    to = ["--keep", "branch", "--to", str(tmp_path / "r"), "--seed", "1"]
    done = CliRunner().invoke(app, ["publish", *words, *to])
    assert done.exit_code == 0
    assert SAID in done.stderr
    again = with_optional_values(["publish", *words, *to, "--together", "--force", "--again"])
    done = CliRunner().invoke(app, again)
    assert done.exit_code == 0, done.exception
    assert SAID not in done.stderr


def test_columns_with_very_many_values_are_left_alone() -> None:
    rng = np.random.default_rng(3)
    codes = rng.integers(0, 800, ROWS)
    table = pa.table({"a": [f"{n}" for n in codes], "b": [f"x{n}" for n in codes]})
    assert cv.inspect(table, sensitive=["a", "b"]).pairs == []
