"""Regressions on releases: without noise they are those of statsmodels, with it near them."""

from __future__ import annotations

import sys
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import countveil as cv
from countveil.asking.models.regression import Regression
from countveil.errors import MissingExtraError, QueryError, SettingsError
from countveil.maths.channel import ChannelView
from countveil.maths.models.value_classes import ValueClasses
from tests.batched_releases import batched_release, drawn_column

ROWS = 6_000
JOBS = list("abcdefgh")


def people(seed: int = 1) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    job = rng.choice(8, ROWS, p=np.array([16, 15, 14, 13, 12, 12, 10, 8]) / 100)
    sex = np.where(rng.random(ROWS) < 0.3 + 0.4 * (job == 0), "F", "M")
    age = rng.integers(20, 60, ROWS) + 5 * (job == 1)
    visits = rng.poisson(np.exp(0.3 + 0.5 * (job == 0) + 0.2 * (sex == "F")))
    return pd.DataFrame({
        "job": [JOBS[n] for n in job], "sex": sex, "age": age, "visits": visits,
        "grade": rng.integers(0, 4, ROWS) + (job < 3), "w": rng.integers(1, 5, ROWS) * 10.0,
    })  # fmt: skip


def published(to: Path, **options: Any) -> cv.Release:
    chosen: dict[str, Any] = {"sensitive": {"job": 3}, "seed": 1} | options
    return cv.publish(people(), to=to / "release", **chosen)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> cv.Release:
    return published(tmp_path_factory.mktemp("m"), weight="w", sensitive={"job": 3, "grade": 2})


@pytest.fixture
def noiseless(monkeypatch: pytest.MonkeyPatch, release: cv.Release) -> cv.Release:
    """The release as if every row published its true value; its rows are those it publishes."""
    unit = property(lambda view: np.eye(view.published.size))
    monkeypatch.setattr(ChannelView, "weights", unit)
    monkeypatch.setattr(ChannelView, "identifiable", property(lambda v: v.published >= 0))
    for correction in ("control", "dependence"):
        monkeypatch.setattr(ValueClasses, correction, lambda *_: None)
    return cv.open(release.folder)


def rows_of(release: cv.Release) -> pd.DataFrame:
    names = [column.name for column in release.columns]
    return release.table.rows(names).rename_columns(names).to_pandas()


MODELS = [
    ("linear", "age ~ C(job)", "age ~ C(job)"),
    ("linear", "grade ~ sex + age", "grade ~ sex + age"),
    ("linear", "age ~ sex + job = 'a' + grade:(job = 'a')",
     "age ~ sex + I((job == 'a') * 1) + grade:I((job == 'a') * 1)"),
    ("linear", "np.log(age) ~ I(visits ** 2)", "np.log(age) ~ I(visits ** 2)"),
    ("logistic", "job = 'a' ~ C(sex) + age", "I((job == 'a') * 1) ~ C(sex) + age"),
    ("logistic", "sex == \"F\" ~ job IN ('a', 'b')",
     "I((sex == 'F') * 1) ~ I(job.isin(['a','b']) * 1)"),
    ("logistic", "age >= 40 ~ grade", "I((age >= 40) * 1) ~ grade"),
    ("poisson", "visits ~ sex + job = 'a'", "visits ~ sex + I((job == 'a') * 1)"),
    ("multinomial", "grade ~ age", "grade ~ age"),
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("family", "ours", "theirs"), MODELS)
def test_without_noise_it_is_the_fit_of_statsmodels(
    family: str, ours: str, theirs: str, noiseless: cv.Release
) -> None:
    import statsmodels.formula.api as smf

    fitted, frame = noiseless.regress(ours, family=family), rows_of(noiseless)
    make = {"linear": smf.ols, "logistic": smf.logit, "poisson": smf.poisson,
            "multinomial": smf.mnlogit}[family]  # fmt: skip
    options = {} if family == "linear" else {"disp": 0}
    reference = make(theirs, frame).fit(cov_type="HC0", **options)
    expected = np.asarray(reference.params)
    names = reference.model.exog_names
    assert fitted.estimates == pytest.approx(expected.T.ravel(), rel=1e-5, abs=1e-7)
    assert len(fitted) == len(names) * (expected.shape[1] if expected.ndim > 1 else 1)
    wanted = np.sqrt(np.diag(np.asarray(reference.cov_params())))
    assert fitted.rows_used == ROWS
    assert fitted.std_errors == pytest.approx(wanted, rel=1e-5)


@pytest.mark.slow
def test_survey_weights_weigh(noiseless: cv.Release) -> None:
    import statsmodels.formula.api as smf

    frame = rows_of(noiseless)
    fitted = noiseless.regress("age ~ sex + visits", weighted=True)
    expected = smf.wls("age ~ sex + visits", frame, weights=frame["w"]).fit(cov_type="HC0")
    assert fitted.estimates == pytest.approx(expected.params.to_numpy())
    assert fitted.std_errors == pytest.approx(expected.bse.to_numpy())


def near(fitted: Regression, truth: Any) -> None:
    """Within 6 standard errors: a false alarm in 10^8, twice as many for rough errors."""
    assert np.all(np.abs(fitted.estimates - truth) < 6 * fitted.std_errors)


WAYS: dict[str, dict[str, Any]] = {
    "mixed": {},
    "random": {"groups": "random"},
    "common": {"common": {"job": ["a"]}},
    "noised": {"odds": 30, "domain": {"job": JOBS}},
    "together": {"sensitive": {"job": 3, "grade": 3}, "together": True},
    "apart": {"sensitive": {"job": 3, "grade": 2}},
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_publishing_gives_the_true_model_within_its_errors(
    way: str, tmp_path: Path
) -> None:
    import statsmodels.formula.api as smf

    release, frame = published(tmp_path, **WAYS[way]), people()
    frame["a"] = (frame["job"] == "a") * 1
    near(release.regress("age ~ C(job)"), smf.ols("age ~ C(job)", frame).fit().params)
    outcome = release.regress("job = 'a' ~ sex + age", family="logistic", about="table")
    near(outcome, smf.logit("a ~ sex + age", frame).fit(disp=0).params)
    both = release.regress("visits ~ job = 'a' + grade", family="poisson")
    near(both, smf.poisson("visits ~ a + grade", frame).fit(disp=0).params)
    crossed = release.regress("job = 'a' ~ grade >= 3", family="logistic")
    frame["high"] = (frame["grade"] >= 3) * 1
    near(crossed, smf.logit("a ~ high", frame).fit(disp=0).params)
    assert (
        outcome.std_errors < release.regress(outcome.formula, family="logistic").std_errors
    ).all()


def test_rows_as_they_are_published_attenuate(release: cv.Release) -> None:
    """On an indicator, the slope of least squares is a difference of two averages."""

    def slope(frame: pd.DataFrame) -> float:
        average = frame["age"].groupby(frame["job"] == "b").mean()
        return float(average[True] - average[False])

    truth, naive = slope(people()), slope(rows_of(release))
    fitted = release.regress("age ~ job = 'b'")["job = 'b'"]
    assert abs(naive) < 0.6 * truth
    assert abs(fitted["coef"] - truth) < 6 * fitted["std_error"]


@pytest.mark.slow
def test_statsmodels_gives_the_same_with_the_weights(release: cv.Release) -> None:
    """The weight takes the place of an outcome that is 0 or 1."""
    import statsmodels.api as sm

    rows = release.weights("job", ["a"]).read_all().to_pandas()
    design = sm.add_constant(rows[["age", "visits"]].to_numpy(float))
    weight = rows["weight_a"].to_numpy()
    linear = release.regress("job = 'a' ~ age + visits")
    by_hand = sm.OLS(weight, design).fit(cov_type="HC0")
    assert linear.estimates == pytest.approx(by_hand.params)
    # That the histogram of the release is used changes errors a little.
    assert linear.std_errors == pytest.approx(by_hand.bse, rel=0.1)
    logistic = release.regress("job = 'a' ~ age + visits", family="logistic")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        glm = sm.GLM(weight, design, sm.families.Binomial())
        by_hand = glm.fit(start_params=np.zeros(3), tol_criterion="params", cov_type="HC0")
    assert logistic.estimates == pytest.approx(by_hand.params, rel=1e-5)


def test_sums_of_weights_are_unbiased_counts(release: cv.Release) -> None:
    reader = release.weights("job")
    assert isinstance(reader, pa.RecordBatchReader)
    rows = reader.read_all().to_pandas()
    assert list(rows.columns) == ["sex", "age", "visits", "w", *(f"weight_{job}" for job in JOBS)]
    assert rows.filter(like="weight_").sum(axis=1).to_numpy() == pytest.approx(1.0)
    for job in ("a", "h"):
        count = release.count("sex = 'F' AND age < 40", job=job, method="unbiased")
        chosen = (rows["sex"] == "F") & (rows["age"] < 40)
        assert rows[f"weight_{job}"][chosen].sum() == pytest.approx(count.estimate, abs=0.02)


@pytest.mark.slow
@pytest.mark.parametrize("place", ["duckdb", "postgresql"])
def test_a_database_gives_the_fit_of_the_folder(
    place: str, release: cv.Release, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    address = f"duckdb:{tmp_path}/r.duckdb#release"
    if place == "postgresql":
        address = f"{request.getfixturevalue('postgres')}#models {tmp_path.name}"
    cv.export(release.folder, address)
    inside = cv.open(address)
    formula = "age > 30 ~ C(job) + sex = 'F'"
    ours, theirs = (
        r.regress(formula, family="logistic", where="visits < 5", weighted=True)
        for r in (release, inside)
    )
    assert theirs.terms == ours.terms
    assert theirs.estimates == pytest.approx(ours.estimates)
    assert theirs.std_errors == pytest.approx(ours.std_errors)
    one, two = (r.weights("job", ["a"]).read_all() for r in (release, inside))
    assert two.schema.names == one.schema.names
    assert two["weight_a"].to_numpy().sum() == pytest.approx(one["weight_a"].to_numpy().sum())


@pytest.mark.slow
def test_batches_of_a_ledger_are_fitted_together() -> None:
    import statsmodels.formula.api as smf

    frame = people()
    codes = np.array([JOBS.index(job) for job in frame["job"]])
    batch = np.arange(ROWS) % 2 + 1
    column = drawn_column("job", codes, batch, ell=3)
    release = batched_release({"age": frame["age"].to_numpy()}, [column])
    near(release.regress("age ~ C(job)"), smf.ols("age ~ C(job)", frame).fit().params)
    rows = release.weights("job", ["j001"]).read_all().to_pandas()
    count = release.count("age < 40", job="j001", method="unbiased")
    assert rows["weight_j001"][rows["age"] < 40].sum() == pytest.approx(count.estimate, rel=1e-3)


@pytest.mark.slow
def test_several_rows_of_a_person_widen_errors(tmp_path: Path) -> None:
    import statsmodels.formula.api as smf

    frame = people().iloc[: ROWS // 2]
    frame = frame.assign(person=np.arange(len(frame)))
    twice = pd.concat([frame, frame.assign(age=frame["age"] + 1)])
    options: dict[str, Any] = {"person": "person", "drop": ["person"], "seed": 1}
    release = cv.publish(twice, {"job": 3}, tmp_path / "cases", **options)
    fitted = release.regress("age ~ C(job)")
    near(fitted, smf.ols("age ~ C(job)", twice).fit().params)
    once = cv.publish(frame, {"job": 3}, tmp_path / "once", drop=["person"], seed=1)
    assert np.all(fitted.std_errors > 0.9 * once.regress("age ~ C(job)").std_errors)


@pytest.mark.slow
def test_names_and_values_may_be_anything(tmp_path: Path) -> None:
    frame = people()
    frame["condition_1_"] = frame["visits"]
    frame = frame.rename(columns={"job": "my job", "sex": "the sex"})
    frame["my job"] = frame["my job"].replace({"a": "O'Brien ~ x = 1", "b": 'say "b"'})
    release = cv.publish(frame, {"my job": 3}, tmp_path / "release", seed=1)
    formula = "condition_1_ ~ `my job` = 'O''Brien ~ x = 1' + C(`the sex`)"
    fitted = release.regress(formula)
    assert [term for (term,) in fitted.terms] == [
        "Intercept", "\"my job\" = 'O''Brien ~ x = 1'", "C(`the sex`)[T.M]",
    ]  # fmt: skip
    double = release.regress(formula.replace("'O''Brien ~ x = 1'", '"O\'Brien ~ x = 1"'))
    assert double.estimates == pytest.approx(fitted.estimates)
    outcome = release.regress("`my job` ~ `the sex`", family="multinomial")
    assert outcome.reference == "O'Brien ~ x = 1"


REFUSED = [
    ("age + sex", {}, "needs one ~"),
    ("age ~ wage", {}, "no column 'wage'"),
    ("age ~ jobb = 'a'", {}, "no column 'jobb'"),
    ("age ~ job = 'z'", {}, "no row with job = 'z'"),
    ("job ~ age", {}, "has no numbers"),
    ("age ~ job = 'a'", {"family": "logistic"}, "must be 0 or 1"),
    ("age ~ center(visits)", {}, "no column 'center'"),
    ("age ~ np.load(sex)", {}, "np.load is not supported"),
    ("age ~ __import__('os').system('true')", {}, "cannot be read"),
    ("age ~ __import__(sex)", {}, "no column '__import__'"),
    ("age ~ sex.__class__", {}, "no column|not supported"),
    ("age ~ [n for n in sex]", {}, "not supported|cannot be read"),
    ("age ~ job", {"where": "job = 'a'"}, "it is sensitive"),
    ("age ~ job", {"where": "age > 200"}, "No row"),
    ("age ~ sex + I(2 * visits) + visits", {}, "depend on each other"),
    ("age ~ np.log(visits)", {}, "not finite"),
    ("age ~ age", {}, "outcome and predictor"),
    ("age ~ (", {}, "cannot be read"),
    ("job = 'a' ~ C(age)", {"family": "logistic", "where": "visits = 5 AND sex = 'F'"},
     "no estimate"),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "options", "message"), REFUSED)
def test_what_cannot_be_fitted_is_refused_with_the_reason(
    formula: str, options: dict[str, Any], message: str, release: cv.Release
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(QueryError, match=message):
            release.regress(formula, **options)


def test_settings_are_checked(release: cv.Release, tmp_path: Path) -> None:
    for options in ({"family": "probit"}, {"about": "people"}, {"level": 1.0}):
        with pytest.raises(SettingsError):
            release.regress("age ~ sex", **options)
    with pytest.raises(SettingsError, match="not sensitive"):
        release.weights("age")
    with pytest.raises(QueryError, match="no row with job = 'z'"):
        release.weights("job", ["z"])
    with pytest.raises(SettingsError, match="no survey weights"):
        published(tmp_path).regress("age ~ sex", weighted=True)


def test_greedy_groups_are_refused(tmp_path: Path) -> None:
    release = published(tmp_path, groups="anatomy")
    for ask in (lambda: release.regress("age ~ job"), lambda: release.weights("job")):
        with pytest.raises(QueryError, match="greedy groups"):
            ask()


def test_without_formulaic_it_says_what_to_install(
    release: cv.Release, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "formulaic", None)
    with pytest.raises(MissingExtraError, match=r"\[models\]"):
        release.regress("age ~ sex")


def test_plain_columns_are_known_about_the_table(release: cv.Release) -> None:
    frame = people()
    fitted = release.regress("age ~ sex + visits", about="table")
    assert (fitted.std_errors == 0).all()
    design = np.column_stack([np.ones(ROWS), frame["sex"] == "M", frame["visits"]])
    expected, *_ = np.linalg.lstsq(design, frame["age"].to_numpy(float))
    assert fitted.estimates == pytest.approx(expected)


def test_the_result_is_a_table(release: cv.Release) -> None:
    fitted = release.regress("age ~ job = 'b' + sex")
    frame = fitted.to_pandas()
    assert list(frame.columns) == ["term", "coef", "std_error", "z", "p", "low", "high"]
    assert frame["term"].tolist() == ["Intercept", "job = 'b'", "sex[T.M]"]
    assert fitted.to_polars()["coef"].to_list() == pytest.approx(frame["coef"].tolist())
    assert [row["low"] for row in fitted.to_dicts()] == pytest.approx(frame["low"].tolist())
    assert frame["z"].tolist() == pytest.approx((frame["coef"] / frame["std_error"]).tolist())
    assert "job = &#x27;b&#x27;" in fitted._repr_html_()
    assert "about the population" in str(fitted)
    assert fitted.ratios()[1]["ratio"] == pytest.approx(np.exp(frame["coef"][1]))
    several = release.regress("grade ~ sex", family="multinomial")
    assert several.columns[:2] == ["category", "term"]
    assert several[1, "Intercept"]["coef"] == several.estimates[0]
    assert "categories against 0" in str(several)


def test_a_picture_shows_coefficients_beside_others(release: cv.Release) -> None:
    fitted = release.regress("age ~ C(job)")
    hidden = replace(fitted, estimates=np.where(np.arange(8) == 3, np.nan, fitted.estimates))
    picture = hidden.plot(beside={"<true>": {"C(job)[T.b]": 5.0}}).svg
    assert picture.startswith("<svg")
    assert picture.count("<circle") == 1 + 6
    assert ">hidden</text>" in picture
    assert "&lt;true&gt;" in picture
    assert "Intercept" not in picture
    assert "hidden" in str(hidden)
    assert hidden.to_arrow()["coef"].null_count == 1


@pytest.mark.slow
def test_missing_values_are_left_out(tmp_path: Path) -> None:
    import statsmodels.formula.api as smf

    frame = people()
    frame.loc[::10, "visits"] = np.nan
    frame.loc[frame["job"] == "h", "job"] = None
    release = cv.publish(frame, {"job": 3}, tmp_path / "release", seed=1)
    fitted = release.regress("age ~ visits + C(job)")
    assert fitted.rows_used == frame["visits"].notna().sum()
    assert any("miss a value" in note for note in fitted.warnings)
    near(fitted, smf.ols("age ~ C(job) + visits", frame).fit().params[_order(fitted)])


def _order(fitted: Any) -> list[str]:
    return [term for (term,) in fitted.terms]
