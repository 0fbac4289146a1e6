"""The three methods through an open release: one column, sets of values, several columns."""

from __future__ import annotations

import pytest

import countveil as cv
from countveil.errors import QueryError

# Values that nobody publishes are asked for on purpose.
pytestmark = pytest.mark.filterwarnings("ignore:The release has no row with:UserWarning")

WOMEN = "SELECT occupation, count(*) FROM release WHERE gender = 'F' GROUP BY occupation"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    folder = tmp_path_factory.mktemp("methods") / "release"
    table = cv.generate(20_000, seed=3)
    return cv.publish(table, {"occupation": 2, "education": 2}, folder, seed=5)


def test_shrunk_is_the_default(release: cv.Release) -> None:
    assert release.sql(WOMEN).to_dicts() == release.sql(WOMEN, method="shrunk").to_dicts()
    assert release.sql(WOMEN).to_dicts() != release.sql(WOMEN, method="unbiased").to_dicts()


def test_a_shrunk_estimate_lies_in_the_interval_of_the_unbiased_one(release: cv.Release) -> None:
    shrunk, plain = release.sql(WOMEN), release.sql(WOMEN, method="unbiased")
    for one, other in zip(shrunk.estimates, plain.estimates, strict=True):
        assert (one.low, one.high, one.std_error) == (other.low, other.high, other.std_error)
        assert one.estimate is not None
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.estimate <= one.high


def test_shrunk_values_add_up_to_the_rows(release: cv.Release) -> None:
    """But for the few that are cut at the ends of their intervals."""
    answer = release.sql(WOMEN)
    total = sum(cell.estimate or 0 for cell in answer.estimates)
    assert total == pytest.approx(release.count("gender = 'F'").estimate, rel=0.02)


def test_a_set_of_values_is_the_sum_of_its_values(release: cv.Release) -> None:
    """Up to the cut into the interval, which a set and its values have of their own."""
    jobs = ("nurse", "teacher", "office clerk")
    whole = release.count(f"gender = 'F' AND occupation IN {jobs}").estimate
    parts = [release.count("gender = 'F'", occupation=job).estimate for job in jobs]
    assert whole == pytest.approx(sum(part or 0 for part in parts), rel=0.05)


def test_all_but_one_value_is_the_rest(release: cv.Release) -> None:
    others = release.count("gender = 'F' AND occupation <> 'nurse'")
    nurses = release.count("gender = 'F'", occupation="nurse")
    women = release.count("gender = 'F'").estimate
    assert women is not None
    assert (others.estimate or 0) + (nurses.estimate or 0) == pytest.approx(women, rel=0.02)
    assert others.high == pytest.approx(women - (nurses.low or 0))


def test_a_shrunk_sum_has_the_interval_of_the_unbiased_one(release: cv.Release) -> None:
    query = "SELECT sum(age) FROM release WHERE occupation = 'nurse'"
    shrunk, unbiased = (release.sql(query, method=m).estimates[0] for m in ("shrunk", "unbiased"))
    assert (shrunk.low, shrunk.high) == (unbiased.low, unbiased.high)
    assert shrunk.estimate != unbiased.estimate
    mean = release.sql("SELECT avg(age) FROM release").estimates[0].estimate
    count = release.count(occupation="nurse").estimate
    assert shrunk.estimate == pytest.approx((mean or 0) * (count or 0), rel=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["shrunk", "unbiased", "bayes"])
def test_two_columns_grouped_one_by_one_and_in_a_batch_agree(
    release: cv.Release, method: str
) -> None:
    grouped = release.sql(
        "SELECT occupation, education, count(*) FROM release WHERE gender = 'F' GROUP BY ALL",
        method=method,
    )
    wanted = [("nurse", "bachelor"), ("lawyer", "doctorate"), ("driver", "primary")]
    conditions = [
        f"gender = 'F' AND occupation = '{job}' AND education = '{level}'" for job, level in wanted
    ]
    batch = release.counts(conditions, method=method).estimates
    for (job, level), together in zip(wanted, batch, strict=True):
        place = grouped.groups.index((job, level))
        alone = release.count("gender = 'F'", method=method, occupation=job, education=level)
        for other in (grouped.estimates[place], together):
            assert other.estimate == pytest.approx(alone.estimate, rel=1e-6, abs=1e-6)
            assert other.high == pytest.approx(alone.high)


@pytest.mark.slow
def test_shrunk_is_nearer_to_the_truth_than_the_paper_for_two_columns(
    release: cv.Release,
) -> None:
    """Summed over all combinations of a small table, where even the best guess is far off."""
    table = cv.generate(20_000, seed=3)
    assert table is not None
    truth: dict[tuple[str, str], int] = {}
    for row in table.select(["gender", "occupation", "education"]).to_pylist():
        if row["gender"] == "F":
            cell = (row["occupation"], row["education"])
            truth[cell] = truth.get(cell, 0) + 1
    query = "SELECT occupation, education, count(*) FROM release WHERE gender = 'F' GROUP BY ALL"

    def error(**options: str) -> float:
        answer = release.sql(query, **options)  # type: ignore[arg-type]
        pairs = zip(answer.groups, answer.estimates, strict=True)
        return sum(abs((one.estimate or 0) - truth.get(cell, 0)) for cell, one in pairs)

    assert error() < error(method="bayes", channel="printed")
    assert error() < 0.8 * error(method="unbiased")


def test_bayes_says_how_many_rounds_it_took(release: cv.Release) -> None:
    answer = release.sql(WOMEN, method="bayes")
    assert any(text.startswith("Iterations: median") for text in answer.warnings)
    batch = release.counts(["occupation = 'nurse' AND age = 40"], method="bayes")
    assert any("(cells: " in text for text in batch.warnings)
    assert not release.sql(WOMEN).warnings


def test_the_printed_channel_carries_no_errors(release: cv.Release) -> None:
    answer = release.sql(WOMEN, method="bayes", channel="printed").estimates
    assert all(one.estimate is not None for one in answer)
    assert all(one.std_error is None and one.verdict is None for one in answer)


def test_bayes_refuses_what_the_paper_does_not_have(release: cv.Release) -> None:
    with pytest.raises(QueryError, match="'shrunk' or 'unbiased'"):
        release.count("occupation IN ('nurse', 'lawyer') AND age = 40", method="bayes")
    with pytest.raises(QueryError, match="single values"):
        release.sql("SELECT avg(age) FROM release WHERE occupation = 'nurse'", method="bayes")


def test_no_count_of_a_set_has_an_interval_of_one_point(release: cv.Release) -> None:
    """Small groups: many unbiased estimates lie below nothing or beyond all rows."""
    jobs = ("nurse", "lawyer", "driver")
    conditions = [f"age = {age} AND gender = 'F' AND occupation IN {jobs}" for age in range(60, 80)]
    answer = release.counts(conditions, method="unbiased")
    estimates = [cell.estimate or 0 for cell in answer.estimates]
    assert min(estimates) < 0, "or the test shows nothing"
    for cell in answer.estimates:
        assert cell.low is not None
        assert cell.high is not None
        assert cell.high - cell.low > 1 or cell.std_error == 0
