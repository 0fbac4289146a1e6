"""Groups compared, and chi-square tests."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import QueryError, SettingsError

ROWS = 12_000
JOBS = ["nurse", "cook", "clerk", "driver", "baker", "smith"]


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    rng = np.random.default_rng(3)
    gender = rng.choice(["F", "M"], ROWS)
    women, men = [0.25, 0.15, 0.2, 0.1, 0.15, 0.15], [0.1, 0.2, 0.2, 0.2, 0.15, 0.15]
    jobs = np.where(gender == "F", rng.choice(JOBS, ROWS, p=women), rng.choice(JOBS, ROWS, p=men))
    table = pa.table({
        "gender": gender, "job": jobs, "age": rng.integers(18, 80, ROWS),
        "town": rng.choice(["A", "B", "C"], ROWS),
    })  # fmt: skip
    return cv.publish(table, {"job": 2}, tmp_path_factory.mktemp("comparing") / "r", seed=4)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("measure", "true"), [("difference", 0.15), ("ratio", 2.5), ("odds ratio", 3.0)]
)
def test_two_groups(measure: str, true: float, release: cv.Release) -> None:
    (pair,) = release.compare("job = 'nurse'", "gender", measure=measure)
    assert (pair.first, pair.second) == ("F", "M")
    assert pair.low is not None
    assert pair.high is not None
    # Far outside a 95% interval would be a mistake and not chance: twice as wide, and more.
    margin = pair.high - pair.low
    assert pair.low - margin < true < pair.high + margin
    assert pair.low < (pair.estimate or 0) < pair.high
    assert pair.p_value is not None
    assert pair.p_value < 1e-4


def test_groups_by_conditions_and_averages(release: cv.Release) -> None:
    (pair,) = release.compare("avg(age)", ["job = 'nurse'", "job = 'cook'"], where="town = 'A'")
    assert pair.first_estimate is not None
    assert pair.second_estimate is not None
    assert pair.estimate == pytest.approx(pair.first_estimate - pair.second_estimate)


@pytest.mark.slow
def test_many_groups_and_adjusted_p_values(release: cv.Release) -> None:
    plain = release.compare("job = 'nurse'", "town")
    assert [(p.first, p.second) for p in plain] == [("A", "B"), ("A", "C"), ("B", "C")]
    for how in ("holm", "fdr"):
        adjusted = release.compare("job = 'nurse'", "town", adjust=how)
        for one, two in zip(plain, adjusted, strict=True):
            assert (one.p_value or 0) <= (two.p_value or 0) <= 1
    against = release.compare("job = 'nurse'", "town", against="B")
    assert [(p.first, p.second) for p in against] == [("A", "B"), ("C", "B")]


def test_the_table_has_rows_and_can_be_shown(release: cv.Release) -> None:
    comparison = release.compare("job = 'nurse'", "gender")
    assert len(comparison) == 1
    assert "F : M" in str(comparison)
    assert "<table" in comparison._repr_html_()
    assert comparison.to_dicts()[0]["first"] == "F"
    assert list(comparison.to_pandas().columns) == comparison.columns


def test_wrong_settings_are_refused(release: cv.Release) -> None:
    with pytest.raises(SettingsError, match="measure must be one of"):
        release.compare("job = 'nurse'", "gender", measure="quotient")
    with pytest.raises(SettingsError, match="adjust must be one of"):
        release.compare("job = 'nurse'", "gender", adjust="bonferroni")
    with pytest.raises(QueryError, match="There is no group 'X'"):
        release.compare("job = 'nurse'", "gender", against="X")
    with pytest.raises(QueryError, match="needs a condition"):
        release.compare("avg(age)", "gender", measure="odds ratio")
    with pytest.raises(QueryError, match="two conditions or more"):
        release.compare("job = 'nurse'", ["gender = 'F'"])
    with pytest.raises(QueryError, match="2 to 40 are compared"):
        release.compare("job = 'nurse'", "age")


def test_independence(release: cv.Release) -> None:
    assert release.independence("gender", "job").p_value < 1e-6
    # Independent in truth: a p-value below 1e-7 has that chance.
    assert release.independence("town", "job").p_value > 1e-7
    assert release.independence("town", "gender").degrees == pytest.approx(2)
    with pytest.raises(QueryError, match="two columns with two values"):
        release.independence("gender", "job", "gender = 'F'")


def test_goodness_of_fit(release: cv.Release) -> None:
    shares = dict(zip(JOBS, [0.175, 0.175, 0.2, 0.15, 0.15, 0.15], strict=True))
    assert release.goodness_of_fit("job", shares).p_value > 1e-7
    even = dict.fromkeys(JOBS, 1 / 6)
    assert release.goodness_of_fit("job", even).p_value < 0.01
    with pytest.raises(QueryError, match="all 6 values"):
        release.goodness_of_fit("job", {"nurse": 1.0})
    with pytest.raises(SettingsError, match="add up to 1"):
        release.goodness_of_fit("job", dict.fromkeys(JOBS, 0.5))
