"""Releases whose values were drawn in batches, through every way of asking."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from typer.testing import CliRunner

import countveil as cv
from countveil.asking.result import Answer
from countveil.cli.app import app
from countveil.engines.local import release_table
from countveil.errors import QueryError, ReleaseError
from tests.batched_releases import (
    DrawnColumn,
    batched_manifest,
    batched_release,
    batched_table,
    drawn_column,
    one_batch,
    release_of,
)

ROWS = 6_000
RNG = np.random.default_rng(4)
PLAIN = {
    "sex": RNG.integers(0, 2, ROWS), "age": RNG.integers(20, 80, ROWS),
    "w": RNG.integers(1, 4, ROWS),
}  # fmt: skip
JOB = np.where(RNG.random(ROWS) < 0.3, PLAIN["age"] // 10 % 8, RNG.integers(0, 8, ROWS))
BAND = np.where(RNG.random(ROWS) < 0.4, JOB % 5, RNG.integers(0, 5, ROWS))
BATCH = RNG.integers(1, 5, ROWS)
EVERYBODY = np.arange(ROWS)
STAYED = np.flatnonzero(~((BATCH == 1) & (JOB < 4) & (RNG.random(ROWS) < 0.4)))

QUESTIONS = [
    "SELECT job, count(*) FROM release GROUP BY job",
    "SELECT count(*) FROM release WHERE job = 'j003' AND age > 50",
    "SELECT sex, count(*) FROM release WHERE job <> 'j003' GROUP BY sex",
    "SELECT sex, job, count(*) FROM release GROUP BY ALL",
    "SELECT count(*) FROM release WHERE job IN ('j001', 'j002') OR sex = 1",
    "SELECT sex, sum(w) FROM release WHERE job = 'j003' GROUP BY sex",
    "SELECT sex, avg(age) FROM release WHERE job IN ('j001', 'j002') GROUP BY sex",
    "SELECT count(*) FILTER (WHERE job = 'j001') / count(*) FROM release WHERE sex = 1",
    "SELECT count(*) FILTER (WHERE job = 'j001') AS x, count(*) AS n FROM release WHERE age < 40",
]
TWO = [
    "SELECT count(*) FROM release WHERE job = 'j001' AND band = 'b001' AND sex = 1",
    "SELECT job, band, count(*) FROM release WHERE age > 50 GROUP BY ALL",
    "SELECT sum(w) FROM release WHERE job = 'j001' AND band = 'b001'",
    "SELECT sex, count(*) FROM release WHERE job = 'j001' OR band = 'b001' GROUP BY sex",
    """SELECT count(*) FILTER (WHERE job = 'j001') AS x, count(*) FILTER (WHERE band = 'b001') AS y
       FROM release WHERE sex = 0""",
]


def job(batch: np.ndarray = BATCH, groups: str = "mixed") -> DrawnColumn:
    return drawn_column("job", JOB, batch, ell=3, groups=groups)


def together(batch: np.ndarray = BATCH) -> DrawnColumn:
    return drawn_column(
        ("job", "band"), JOB * 5 + BAND, batch, ell=3, groups="random", sizes=(8, 5)
    )


def apart() -> list[DrawnColumn]:
    other = 1 + BATCH // 3
    return [job(), drawn_column("band", BAND, other, ell=2, mark="other", seed=3)]


def same(one: Answer, other: Answer, rtol: float = 1e-6) -> None:
    assert one.columns == other.columns
    assert one.groups == other.groups
    for mine, theirs in zip(one.blocks, other.blocks, strict=True):
        pairs = zip(mine.estimates.grid.arrays(), theirs.estimates.grid.arrays(), strict=True)
        for array, wanted in pairs:
            np.testing.assert_allclose(array, wanted, rtol=rtol, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("groups", ["mixed", "random"])
@pytest.mark.parametrize("method", ["shrunk", "unbiased"])
def test_one_batch_answers_as_a_release_without_batches(groups: str, method: str) -> None:
    column = job(np.ones(ROWS, np.int64), groups)
    release = batched_release(PLAIN, [column])
    plain = release_of(
        batched_table(PLAIN, [column], EVERYBODY), replace(release.manifest, batches=())
    )
    unmarked = batched_release(PLAIN, [one_batch(column)])
    for question in QUESTIONS:
        wanted = plain.sql(question, method=method)
        same(release.sql(question, method=method), wanted)
        same(unmarked.sql(question, method=method), wanted)


@pytest.mark.slow
def test_columns_together_in_one_batch_answer_as_without_batches() -> None:
    column = together(np.ones(ROWS, np.int64))
    release = batched_release(PLAIN, [column])
    plain = release_of(
        batched_table(PLAIN, [column], EVERYBODY), replace(release.manifest, batches=())
    )
    for question in [*TWO, *QUESTIONS]:
        same(release.sql(question), plain.sql(question))


RELEASES = {
    "mixed": lambda: batched_release(PLAIN, [job()]),
    "random": lambda: batched_release(PLAIN, [job(groups="random")]),
    "some left": lambda: batched_release(PLAIN, [job()], STAYED),
    "together": lambda: batched_release(PLAIN, [together()], STAYED),
    "apart": lambda: batched_release(PLAIN, apart(), STAYED),
}


@pytest.fixture(scope="module", params=RELEASES)
def release(request: pytest.FixtureRequest) -> cv.Release:
    return RELEASES[request.param]()


@pytest.mark.few(1)
def test_answers_lie_near_the_truth(release: cv.Release) -> None:
    """Within five standard errors, and at least 1: false alarms are a matter of 1e-6 each."""
    rows = STAYED if release.rows < ROWS else EVERYBODY
    age, sex = PLAIN["age"][rows], PLAIN["sex"][rows]
    truth = {
        QUESTIONS[1]: ((JOB[rows] == 3) & (age > 50)).sum(),
        QUESTIONS[4]: (np.isin(JOB[rows], (1, 2)) | (sex == 1)).sum(),
        QUESTIONS[8]: ((JOB[rows] == 1) & (age < 40)).sum(),
        TWO[0]: ((JOB[rows] == 1) & (BAND[rows] == 1) & (sex == 1)).sum(),
        TWO[2]: PLAIN["w"][rows][(JOB[rows] == 1) & (BAND[rows] == 1)].sum(),
    }
    both = "band" in release.manifest.sensitive
    for question, count in truth.items():
        if not both and "band" in question:
            continue
        cell = release.sql(question, method="unbiased").estimates[0]
        assert cell.estimate is not None
        assert cell.std_error is not None
        assert abs(cell.estimate - count) < 5 * cell.std_error + 1


@pytest.mark.few(2)
def test_batches_of_a_group_by_add_up(release: cv.Release) -> None:
    """Counts of each batch are better known than those of as many other rows, and add up."""
    by_batch = release.sql(
        "SELECT batch, job, count(*) FROM release GROUP BY batch, job", method="unbiased"
    )
    whole = release.sql("SELECT job, count(*) FROM release GROUP BY job", method="unbiased")
    sums: dict[str, float] = {}
    for (_, value), cell in zip(by_batch.groups, by_batch.estimates, strict=True):
        sums[value] = sums.get(value, 0.0) + (cell.estimate or 0.0)
    for (value,), cell in zip(whole.groups, whole.estimates, strict=True):
        assert sums[value] == pytest.approx(cell.estimate)
    one = release.sql("SELECT count(*) FROM release WHERE batch = 2 AND job = 'j003'")
    rows = int((BATCH == 2).sum())
    few = release.sql(f"SELECT count(*) FROM release WHERE age < {20 + 60 * rows // ROWS} "
                      f"AND job = 'j003'")  # fmt: skip
    assert one.estimates[0].std_error < few.estimates[0].std_error / 2  # type: ignore[operator]


@pytest.mark.few(1)
def test_many_counts_are_the_same_as_one_by_one(release: cv.Release) -> None:
    conditions = [
        "age > 40 AND job = 'j001'", "job IN ('j001', 'j005')", "sex = 1 AND NOT job = 'j002'",
        "batch = 3 AND job = 'j000'", "sex = 0 OR job = 'j003'", "age < 30",
    ]  # fmt: skip
    at_once = release.counts(conditions)
    for condition, cell in zip(conditions, at_once.estimates, strict=True):
        alone = release.sql(f"SELECT count(*) FROM release WHERE {condition}").estimates[0]
        assert cell.estimate == pytest.approx(alone.estimate, rel=1e-6)
        assert (cell.low, cell.high) == pytest.approx((alone.low, alone.high), rel=1e-6)


@pytest.mark.slow
def test_memory_and_files_answer_alike(
    release: cv.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [*QUESTIONS, *(TWO if "band" in release.manifest.sensitive else [])]
    from_memory = [release.sql(question) for question in [*QUESTIONS, *questions]][
        -len(questions) :
    ]
    monkeypatch.setattr(release_table, "FROM_FILES", 10**9)
    other = cv.Release.over("again", release._opened)
    for question, answer in zip(questions, from_memory, strict=True):
        same(other.sql(question), answer)


@pytest.mark.few(2)
def test_a_crosstab_and_bayes(release: cv.Release) -> None:
    table = release.crosstab("sex", "job")
    assert str(table)
    same(
        release.sql("SELECT count(*) FROM release WHERE job = 'j001'", method="bayes"),
        release.sql("SELECT count(*) FROM release WHERE job = 'j001'", method="unbiased"),
        rtol=0.02,
    )


@pytest.mark.slow
def test_survey_weights() -> None:
    columns = [job()]
    table = batched_table(PLAIN, columns, STAYED)
    manifest = batched_manifest(table, columns, STAYED)
    release, weighted = (
        release_of(table, manifest),
        release_of(table, replace(manifest, weight="w")),
    )
    where = "FROM release WHERE job = 'j003' GROUP BY sex"
    same(
        weighted.sql(f"SELECT sex, count(*) {where}", weighted=True),
        release.sql(f"SELECT sex, sum(w) {where}"),
    )


def test_a_value_that_nobody_publishes(release: cv.Release) -> None:
    with pytest.warns(UserWarning, match="no row with job"):
        answer = release.sql("SELECT count(*) FROM release WHERE job = 'pope' AND sex = 1")
    assert "no row with job" in answer.warnings[0]
    assert answer.estimates[0].estimate == 0


def test_plain_sql_is_refused_in_a_sentence(release: cv.Release) -> None:
    with pytest.raises(QueryError, match="drawn in several batches"):
        release.plain_sql("SELECT count(*) FROM release WHERE job = 'j001'")
    assert release.plain_sql("SELECT batch, count(*) FROM release GROUP BY batch")


def test_rows_of_a_batch_that_the_manifest_lacks_are_refused() -> None:
    columns = [job()]
    table = batched_table(PLAIN, columns, EVERYBODY)
    manifest = batched_manifest(table, columns, np.flatnonzero(BATCH < 4))
    release = release_of(table, manifest)
    with pytest.raises(ReleaseError, match="the manifest does not list"):
        release.count(job="j001")


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Three releases of a ledger."""
    folder = tmp_path_factory.mktemp("ledger")
    cv.Ledger.init(folder / "book")
    rng = np.random.default_rng(7)
    places = []
    for month in range(1, 4):
        who = np.arange(200 * (month - 1), 1_200 * month)
        table = pa.table({
            "person": [f"p{number}" for number in who],
            "sex": np.array(["F", "M"])[who % 2],
            "job": [f"j{number * 7 % 12 // 2}" for number in who],
            "town": [f"t{number % 5}" for number in rng.permutation(who.size) * 0 + who // 3],
        })  # fmt: skip
        places.append(folder / f"month-{month}")
        cv.publish(
            table, {"job": 3}, places[-1], person="person", drop="person",
            ledger=folder / "book", keep=["town"],
        )  # fmt: skip
    return places


def test_a_published_series_is_answered_batch_by_batch(published: list[Path]) -> None:
    release = cv.open(published[-1])
    (entry,) = release.manifest.batches
    assert [batch.number for batch in entry.drawn] == [1, 2, 3]
    answer = release.sql("SELECT job, count(*) FROM release GROUP BY job")
    who = np.arange(400, 3_600)
    truth = np.bincount(who * 7 % 12 // 2)
    for (value,), cell in zip(answer.groups, answer.estimates, strict=True):
        assert abs((cell.estimate or 0) - truth[int(value[1:])]) < 6 * (cell.std_error or 0)


@pytest.mark.slow
def test_databases_answer_alike(published: list[Path], tmp_path: Path) -> None:
    release = cv.open(published[-1])
    place = f"duckdb:{tmp_path / 'r.duckdb'}#census"
    cv.export(published[-1], place)
    exported = cv.open(place)
    for question in (
        "SELECT job, count(*) FROM release WHERE sex = 'F' GROUP BY job",
        "SELECT sex, count(*) FROM release WHERE job = 'j1' GROUP BY sex ORDER BY sex",
    ):
        same(exported.sql(question), release.sql(question))
    same(
        exported.counts(["job = 'j1' AND sex = 'M'"]), release.counts(["job = 'j1' AND sex = 'M'"])
    )


def test_show_and_verify_say_what_batches_are(published: list[Path]) -> None:
    text = CliRunner().invoke(app, ["show", str(published[-1])]).stdout
    assert "is the number of the batch in which a row's value was drawn" in " ".join(text.split())
    lines = [line.split() for line in text.splitlines()]
    mark = cv.open(published[-1]).manifest.batches[0].batch
    assert [mark, "int64", "batch"] in [line[:3] for line in lines]
    assert ["3", "1,200", "mixed"] in lines
    assert "Release 3 of the ledger" in text
    assert not cv.verify(published[-1])
    page = (published[-1] / "report.html").read_text()
    assert "with the batch of a row" in page
    # Its counts are those of the series; the next release of it breaks nothing.
    assert "of all cases of the series so far, those that left the table included" in page
    assert "How many cases of the whole series publish a value" in page
    assert "A release of the same people without the ledger would break the protection." in page
    assert "A second release of the same people would break the protection." not in page
    assert "Error of counts of 1% of the cases, " in page
    assert "of the rows, " not in page.partition("<h2>Codebook")[0]
