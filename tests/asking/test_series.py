"""Several releases of one ledger: counts at each time, and what changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import countveil as cv
from countveil.asking.release import Release
from countveil.asking.series import ReleaseSeries
from countveil.asking.unlisted import UnlistedValueWarning
from countveil.cli.app import app
from countveil.engines.local.changed_rows import changed_rows
from countveil.engines.local.release_table import LocalRelease
from countveil.errors import QueryError, ReleaseError, SettingsError
from countveil.maths.estimate import Estimates
from countveil.maths.estimate.changes import difference
from countveil.release.batches import LedgerMark
from tests.batched_releases import batched_release, drawn_column, release_of
from tests.strategies import examples

ROWS = 4_000
RNG = np.random.default_rng(9)
PLAIN: dict[str, Any] = {
    "sex": RNG.integers(0, 2, ROWS), "town": RNG.integers(0, 50, ROWS),
    "w": RNG.integers(1, 4, ROWS), "number": np.arange(ROWS),
}  # fmt: skip
JOB = np.where(RNG.random(ROWS) < 0.3, PLAIN["town"] % 6, RNG.integers(0, 6, ROWS))
BATCH = np.repeat([1, 2, 3, 4], ROWS // 4)
COLUMN = drawn_column("job", JOB, BATCH, ell=3)
EARLY = np.flatnonzero(BATCH < 4)
LATE = np.concatenate([EARLY[RNG.random(EARLY.size) > 0.1 + 0.2 * (JOB[EARLY] < 2)],
                       np.flatnonzero(BATCH == 4)])  # fmt: skip


def release(rows: np.ndarray = EARLY, number: int = 1) -> Release:
    return batched_release(PLAIN, [COLUMN], rows, number)


@pytest.fixture(scope="module")
def series() -> ReleaseSeries:
    # The order in which they are given does not matter.
    return ReleaseSeries([release(LATE, 5), release(EARLY, 2)])


def test_releases_are_in_the_order_of_the_ledger(series: ReleaseSeries) -> None:
    assert series.numbers == (2, 5)
    assert [one.rows for one in series] == [EARLY.size, LATE.size]
    assert len(series) == 2
    assert repr(series).startswith("ReleaseSeries(releases 2, 5 of ledger ")


def test_counts_at_each_time(series: ReleaseSeries) -> None:
    query = "SELECT sex, count(*) FROM release WHERE job = 'j001' GROUP BY sex"
    answer = series.sql(query)
    assert answer.columns[:3] == ["release", "sex", "estimate"]
    assert answer.groups == [(2, 0), (2, 1), (5, 0), (5, 1)]
    apart = [cell for one in series for cell in one.sql(query).estimates]
    assert list(answer.estimates) == apart
    assert series.count("sex = 1", job="j001") == [
        one.count("sex = 1", job="j001") for one in series
    ]


def test_a_change_is_what_came_less_what_left(series: ReleaseSeries) -> None:
    """The unbiased change is the difference of the unbiased estimates, with a smaller error."""
    query = "SELECT town, count(*) AS n, sum(w) AS w FROM release WHERE job = 'j001' GROUP BY town"
    changes = series.changes(query, method="unbiased")
    before, after = (one.sql(query, method="unbiased") for one in series)
    assert changes.groups == after.groups
    for block, (one, two) in zip(
        changes.blocks, zip(before.blocks, after.blocks, strict=True), strict=True
    ):
        grid, early, late = (each.estimates.grid for each in (block, one, two))
        inside = (grid.low < grid.estimate) & (grid.estimate < grid.high)
        np.testing.assert_allclose(
            grid.estimate[inside], (late.estimate - early.estimate)[inside], atol=1e-6
        )
        assert inside.mean() > 0.7
        apart = np.hypot(early.std_error, late.std_error)
        assert (grid.std_error < 0.8 * apart).mean() > 0.9


def test_a_new_batch_is_known_as_well_as_a_whole_table(series: ReleaseSeries) -> None:
    """Of the rows of batch 4 all came: their published counts are the estimate."""
    answer = series.changes("SELECT job, count(*) FROM release WHERE batch = 4 GROUP BY job")
    published = Counter(COLUMN.published[BATCH == 4].tolist())
    for (value,), cell in zip(answer.groups, answer.estimates, strict=True):
        assert cell.estimate == published[int(value[1:])]


def test_what_is_not_sensitive_changes_exactly(series: ReleaseSeries) -> None:
    answer = series.changes("SELECT sex, count(*) FROM release GROUP BY sex ORDER BY sex")
    counts = [np.bincount(PLAIN["sex"][rows]) for rows in (EARLY, LATE)]
    assert [cell.estimate for cell in answer.estimates] == (counts[1] - counts[0]).tolist()
    assert {cell.std_error for cell in answer.estimates} == {0}
    assert {cell.verdict for cell in answer.estimates} == {"reliable"}


@pytest.mark.slow
def test_one_change_and_consecutive_ones(series: ReleaseSeries) -> None:
    three = ReleaseSeries([*series.releases, release(EARLY[:500], 9)])
    query = "SELECT count(*) FROM release WHERE job = 'j001'"
    answer = three.changes(query, consecutive=True)
    assert answer.columns[:3] == ["since", "release", "estimate"]
    assert answer.groups == [(2, 5), (5, 9)]
    assert answer.estimates[0] == series.changes(query).estimates[0]
    assert series.change(job="j001") == series.changes(query).estimates[0]
    assert series.change("sex = 1 AND job = 'j001'") == series.change("sex = 1", job="j001")


@pytest.mark.parametrize(
    "ask",
    [
        lambda series: series.change(job="j01"),
        lambda series: series.count(job="j01"),
        lambda series: series.sql("SELECT count(*) FROM release WHERE job = 'j01'"),
        lambda series: series.changes("SELECT count(*) FROM release WHERE job = 'j01'"),
    ],
)
def test_a_misspelt_value_is_warned_of(
    series: ReleaseSeries, ask: Callable[[ReleaseSeries], object]
) -> None:
    with pytest.warns(UnlistedValueWarning, match="no row with job = 'j01'"):
        ask(series)


def test_having_order_and_limit_apply_to_changes(series: ReleaseSeries) -> None:
    answer = series.changes(
        "SELECT job, count(*) FROM release GROUP BY job HAVING count(*) > 0 "
        "ORDER BY count(*) DESC LIMIT 2"
    )
    estimates = [cell.estimate for cell in answer.estimates]
    assert estimates == sorted(estimates, reverse=True)  # type: ignore[type-var]
    assert len(estimates) == 2


def test_nothing_changed() -> None:
    same = ReleaseSeries([release(EARLY, 1), release(EARLY[::-1], 2)])
    assert len(same.changes("SELECT job, count(*) FROM release GROUP BY job")) == 0
    change = same.change(job="j001")
    assert (change.estimate, change.std_error, change.low, change.high) == (0, 0, 0, 0)


@pytest.mark.slow
def test_values_and_batches_that_only_one_release_knows() -> None:
    """The domain grew, and the first batch is gone."""
    early, late = release(EARLY, 1), release(np.flatnonzero(BATCH > 1), 2)
    entry = early.manifest.sensitive["job"]
    short = replace(
        early.manifest,
        sensitive={"job": replace(entry, domain=entry.domain[::-1])},
        batches=tuple(
            replace(b, drawn=tuple(replace(d, counts=d.counts[::-1]) for d in b.drawn))
            for b in early.manifest.batches
        ),
    )
    query = "SELECT job, count(*) FROM release WHERE sex = 1 GROUP BY job"
    turned = release_of(early.table.rows([c.name for c in early.columns]).rename_columns(
        [c.name for c in early.columns]), short)  # fmt: skip
    wanted = ReleaseSeries([early, late]).changes(query)
    answer = ReleaseSeries([turned, late]).changes(query)
    assert answer.groups == wanted.groups
    np.testing.assert_allclose(
        answer.blocks[0].estimates.grid.estimate, wanted.blocks[0].estimates.grid.estimate
    )


def test_columns_together_change_too() -> None:
    both = drawn_column(("job", "sx"), JOB * 2 + PLAIN["sex"], BATCH, ell=3, groups="random",
                        sizes=(6, 2))  # fmt: skip
    pair = [batched_release(PLAIN, [both], rows, n) for n, rows in ((1, EARLY), (2, LATE))]
    answer = ReleaseSeries(pair).changes(
        "SELECT count(*) FROM release WHERE job = 'j001' AND sx = 's001'", method="unbiased"
    )
    truth = [((JOB[rows] == 1) & (PLAIN["sex"][rows] == 1)).sum() for rows in (EARLY, LATE)]
    (cell,) = answer.estimates
    assert cell.estimate is not None
    assert abs(cell.estimate - (truth[1] - truth[0])) < 6 * (cell.std_error or 0)


def test_many_rows_with_other_plain_values_are_noted() -> None:
    older = dict(PLAIN, town=PLAIN["town"] + 1)
    early = release(EARLY, 1)
    late = batched_release(older, [COLUMN], EARLY, 2)
    answer = ReleaseSeries([early, late]).changes("SELECT count(*) FROM release WHERE job = 'j001'")
    assert "3,000 rows of cases that the earlier release had already" in answer.warnings[0]


@pytest.mark.parametrize("query", [
    "SELECT avg(w) FROM release WHERE job = 'j001'",
    "SELECT count(*) FILTER (WHERE job = 'j001') / count(*) FROM release",
])  # fmt: skip
def test_averages_and_shares_are_refused(series: ReleaseSeries, query: str) -> None:
    with pytest.raises(QueryError, match="average or a share is not estimated"):
        series.changes(query)


@pytest.mark.parametrize(("changed", "said"), [
    ({"ledger": None}, "does not belong to a ledger"),
    ({"ledger": LedgerMark("f" * 32, 2)}, "Only releases of one ledger"),
    ({"ledger": LedgerMark("0123456789abcdef" * 2, 1)}, "Release 1 of the ledger is given twice"),
    ({"weight": "w"}, "the weight column is None in the first, and w in the second"),
])  # fmt: skip
def test_releases_that_do_not_belong_together(changed: dict[str, Any], said: str) -> None:
    early, late = release(EARLY, 1), release(LATE, 2)
    other = Release.over("x", replace(late._opened, manifest=replace(late.manifest, **changed)))
    with pytest.raises(ReleaseError, match=said):
        ReleaseSeries([early, other])


def test_another_ell_or_another_column_is_named() -> None:
    early = release(EARLY, 1)
    other = drawn_column("job", JOB, BATCH, ell=2)
    with pytest.raises(ReleaseError, match="ell of 'job' is 3 in the first, and 2 in the second"):
        ReleaseSeries([early, batched_release(PLAIN, [other], LATE, 2)])
    fewer = {name: values for name, values in PLAIN.items() if name != "town"}
    with pytest.raises(ReleaseError, match="column 'town' is int64, plain in the first, and missi"):
        ReleaseSeries([early, batched_release(fewer, [COLUMN], LATE, 2)])
    with pytest.raises(ReleaseError, match="two releases or more"):
        ReleaseSeries([early])


LINES = st.lists(st.tuples(st.sampled_from([1, 2, None]), st.sampled_from(["a", "b", None])))


@pytest.mark.slow
@examples(40)
@given(LINES, LINES)
def test_changed_rows_are_those_of_multisets(one: list[Any], two: list[Any]) -> None:
    def table(lines: list[Any]) -> LocalRelease:
        columns = list(zip(*lines, strict=True)) or [(), ()]
        rows = pa.table(
            {"x": pa.array(columns[0], pa.int64()), "y": pa.array(columns[1], pa.string())}
        )
        return LocalRelease(Path(), [], ["x", "y"], rows=[rows])

    changed, number = changed_rows(table(one), table(two), ["x", "y"], "came")
    lines = Counter(tuple(line.values()) for line in changed.rows(["x", "y", "came"]).to_pylist())
    came, left = Counter(two) - Counter(one), Counter(one) - Counter(two)
    assert lines == Counter({(*line, 1): n for line, n in came.items()}) + Counter(
        {(*line, 0): n for line, n in left.items()}
    )
    assert number == sum(lines.values())


def test_the_ends_of_a_difference() -> None:
    """Independent errors add up like the sides of a right angle: 3 and 4 are 5."""

    def one(estimate: float, low: float, high: float) -> Estimates:
        return Estimates(*(np.array([x]) for x in (estimate, 2.0, low, high)))

    change = difference(one(10, 7, 22), one(4, 0, 8), (np.array([9.0]), np.array([4.0])))
    assert change.estimate == [5]
    assert change.low == [6 - 5]
    assert change.high == [6 + np.hypot(12, 4)]
    assert change.std_error == [np.hypot(2, 2)]
    # Nothing left: it is what came.
    zero = one(0, 0, 0)
    assert difference(one(10, 7, 22), zero, (np.array([9.0]), np.array([0.0]))).high == [22]
    unknown = difference(one(np.nan, 0, 9), zero, (np.array([np.nan]), np.array([0.0])))
    assert np.isnan(unknown.estimate[0])


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two releases of a real ledger, and one without."""
    folder = tmp_path_factory.mktemp("series")
    cv.Ledger.init(folder / "book")
    places = [folder / name for name in ("december", "january", "alone")]
    for number, place in enumerate(places):
        # The last one is about others: a second release of the same people would be refused.
        who = np.arange(100 * number, 1_500 + 600 * number) + (10_001 if number == 2 else 0)
        table = pa.table({
            "person": [f"p{n}" for n in who], "sex": np.array(["F", "M"])[who % 2],
            "job": [f"j{n * 7 % 12 // 2}" for n in who],
        })  # fmt: skip
        ledger = None if number == 2 else folder / "book"
        cv.publish(table, {"job": 3}, place, person="person", drop="person", ledger=ledger)
    return places


def test_open_takes_a_list(published: list[Path]) -> None:
    series = cv.open(published[:2])
    assert isinstance(series, cv.ReleaseSeries)
    change = series.change(job="j1")
    truth = [np.bincount(np.arange(*ends) * 7 % 12 // 2)[1] for ends in ((0, 1_500), (100, 2_100))]
    assert abs((change.estimate or 0) - (truth[1] - truth[0])) < 6 * (change.std_error or 0)
    assert (change.std_error or 0) < 40
    with pytest.raises(ReleaseError, match="alone does not belong to a ledger"):
        cv.open(published)


def test_query_since(published: list[Path], tmp_path: Path) -> None:
    december, january, _ = map(str, published)
    sql = "SELECT sex, count(*) FROM release WHERE job = 'j1' GROUP BY sex"
    words = ["query", january, sql, "--since", december, "--format", "csv"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "sex,estimate,std_error,low,high,verdict"
    assert len(lines) == 3
    # In a database it is the same.
    place = f"duckdb:{tmp_path / 'r.duckdb'}#january"
    cv.export(january, place)
    again = CliRunner().invoke(app, ["query", place, *words[2:]])
    assert again.stdout == result.stdout
    for wrong, error in (
        (["query", december, sql, "--since", january], SettingsError),
        ([*words, "--method", "bayes", "--channel", "printed"], SettingsError),
    ):
        assert isinstance(CliRunner().invoke(app, wrong).exception, error)
