"""From a table to a release: what must be the same afterwards, whatever is drawn."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import IneligibleError, SettingsError
from countveil.publishing.settings import Protecting
from tests.strategies import examples


def published(release: cv.Release) -> pa.Table:
    table: pa.Table = pq.read_table(release.folder / "data")
    return table


def multiset(table: pa.Table, columns: list[str]) -> Counter[tuple[Any, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in columns), strict=True))


@st.composite
def tables(draw: st.DrawFn) -> tuple[pa.Table, dict[str, int]]:
    """A small table with one or two sensitive columns, and an eligible ell for each."""
    rows = draw(st.integers(4, 60))
    columns: dict[str, list[Any]] = {
        "number": draw(st.lists(st.integers(-5, 5) | st.none(), min_size=rows, max_size=rows)),
        "text": draw(st.lists(st.sampled_from(["a", "", "é", None]), min_size=rows, max_size=rows)),
    }
    ells = {}
    for name in draw(st.sampled_from([["job"], ["job", "illness"]])):
        values = draw(st.integers(2, 6))
        # In turn, so that no value is too frequent; the order of rows is the draw's.
        column: list[Any] = [None if i % values == 0 else f"v{i % values}" for i in range(rows)]
        columns[name] = draw(st.permutations(column))
        most = max(Counter(column).values())
        ells[name] = draw(st.integers(2, rows // most)) if rows // most >= 2 else 0
    schema = pa.schema(
        [(name, pa.int32() if name == "number" else pa.string()) for name in columns]
    )
    return pa.table(columns, schema=schema), ells


@pytest.mark.slow
@examples(60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.sampled_from(["absorb", "drop"]))
def test_nothing_but_the_sensitive_values_changes(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[pa.Table, dict[str, int]], residue: str
) -> None:
    table, ells = case
    if min(ells.values()) < 2:
        return
    target = tmp_path_factory.mktemp("publish") / "release"
    try:
        release = cv.publish(table, ells, target, residue=residue, keep=table.column_names)
    except IneligibleError as error:
        if residue == "absorb" or "absorb" not in str(error):
            raise
        return
    found = published(release)
    assert found.schema.equals(table.schema)
    assert cv.verify(target) == []
    before, after = (multiset(t, ["number", "text"]) for t in (table, found))
    if residue == "absorb":
        assert found.num_rows == table.num_rows
        assert after == before
    else:
        assert all(found.num_rows % ell == 0 for ell in ells.values())
        assert after <= before
    for name in ells:
        assert set(found[name].to_pylist()) <= set(table[name].to_pylist())
        domain = release.manifest.sensitive[name].domain
        assert set(domain) == set(found[name].to_pylist())
        assert len(domain) == len(set(domain))


def test_two_columns_have_their_own_ell_and_draws(tmp_path: Path) -> None:
    table = pa.table({"a": list("wxyz") * 500, "b": list("wxyz") * 500})
    release = cv.publish(table, {"a": 2, "b": 4}, tmp_path / "release", seed=1, keep=["a", "b"])
    assert release.ell == {"a": 2, "b": 4}
    found = published(release)
    agree = sum(x == y for x, y in zip(*(found[n].to_pylist() for n in "ab"), strict=True))
    # The two columns were equal; drawn apart they agree in about a quarter of the rows.
    assert agree < 1_000


def test_types_of_sensitive_columns_are_kept(tmp_path: Path) -> None:
    days = [dt.date(2024, 1, 1 + i % 4) for i in range(40)]
    table = pa.table(
        {
            "day": days,
            "code": pa.array([i % 4 for i in range(40)], pa.int16()),
            "flag": [i % 2 == 0 for i in range(40)],
        }
    )
    names = ["day", "code", "flag"]
    release = cv.publish(table, names, tmp_path / "release", ell=2, keep=names)
    assert published(release).schema.equals(table.schema)
    assert release.count(day="2024-01-02").estimate is not None
    assert release.count(code=3).estimate is not None
    assert release.count(flag=True).estimate is not None


@pytest.mark.slow
def test_one_seed_gives_one_release(tmp_path: Path) -> None:
    table = cv.generate(2_000, seed=3)
    one, two, other = (
        cv.publish(table, {"occupation": 5}, tmp_path / name, seed=seed)
        for name, seed in (("one", 4), ("two", 4), ("other", 5))
    )
    assert published(one).equals(published(two))
    assert not published(one).equals(published(other))
    assert one.manifest.randomness == "seeded"
    fresh = [
        cv.publish(table, {"occupation": 5}, tmp_path / name, again=True) for name in ("f1", "f2")
    ]
    assert fresh[0].manifest.randomness == "cryptographic"
    assert not published(fresh[0]).equals(published(fresh[1]))


def test_a_dropped_column_is_gone(tmp_path: Path) -> None:
    release = cv.publish(
        cv.generate(500, seed=1), {"occupation": 3}, tmp_path / "release", drop=["age", "country"]
    )
    assert [column.name for column in release.columns] == [
        "gender", "education", "marital", "race", "workclass", "salary", "occupation",
    ]  # fmt: skip


def test_progress_reports_every_stage(tmp_path: Path) -> None:
    stages: list[str] = []
    cv.publish(
        cv.generate(500, seed=1),
        {"occupation": 3},
        tmp_path / "release",
        progress=lambda stage, _done, _total: stages.append(stage),
    )
    assert list(dict.fromkeys(stages)) == [
        "reading", "grouping occupation", "drawing and shuffling", "writing",
    ]  # fmt: skip


def test_sensitive_columns_can_be_named_in_three_ways() -> None:
    assert Protecting.of({"a": 3}).ell == {"a": 3}
    assert Protecting.of(["a", "b"], 4).ell == {"a": 4, "b": 4}
    assert Protecting.of("a", 4).ell == {"a": 4}


@pytest.mark.parametrize("sensitive", [{}, []])
def test_no_sensitive_column_is_refused(sensitive: Any) -> None:
    with pytest.raises(SettingsError, match="at least one"):
        Protecting.of(sensitive, 5)


def test_a_column_without_ell_is_refused() -> None:
    with pytest.raises(SettingsError, match="'a' has no ell"):
        Protecting.of(["a"])


def test_too_many_values_are_refused(tmp_path: Path) -> None:
    table = pa.table({"x": list(range(200_002))})
    with pytest.raises(cv.CountveilError, match="200,002 different values"):
        cv.publish(table, {"x": 2}, tmp_path / "release")
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_says_what_would_be_published(tmp_path: Path) -> None:
    table = cv.generate(2_000, seed=3)
    plan = cv.publish(table, {"occupation": 5}, tmp_path / "r", dry_run=True, drop="age")
    assert not list(tmp_path.iterdir())
    assert (plan.rows, plan.ell) == (2_000, {"occupation": 5})
    assert "age" not in [column.name for column in plan.manifest.columns]
    assert repr(plan) == f"PlannedRelease({str(tmp_path / 'r')!r}, 2,000 rows, occupation: ell 5)"
    assert plan.manifest.statement[0] in str(plan)
    with pytest.raises(cv.CountveilError, match="it was a dry run"):
        plan.count("gender = 'F'")


def test_a_misspelt_argument_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match=r"no argument 'dorp'\. Did you mean 'drop'"):
        cv.publish(cv.generate(500, seed=1), {"occupation": 5}, tmp_path, dorp="age")  # type: ignore[call-arg]
