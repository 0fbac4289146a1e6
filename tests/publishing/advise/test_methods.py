"""Which method: figures by hand, the choice for a wish, and lines that `publish` accepts."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import SettingsError
from countveil.publishing.advise.advice import Advice, ColumnAdvice
from countveil.publishing.advise.choice import WASTE, about_waste, choose, per_method
from countveil.publishing.advise.methods import (
    METHODS,
    MethodFigures,
    is_possible,
    method_figures,
    settings_of,
    tried_ells,
    usual_method,
)
from countveil.publishing.advise.recommend import Goal, Recommendation
from countveil.publishing.advise.tables import methods_table
from tests.robustness.conftest import Quick, quick  # noqa: F401 - a fixture
from tests.robustness.tools import assert_refused
from tests.strategies import examples

SKEWED = np.array([1_600, 100, 100, 80, 60, 60])
histograms = st.lists(st.integers(1, 400), min_size=2, max_size=9).map(
    lambda counts: np.array(counts, np.int64)
)


def table(seed: int = 3) -> pa.Table:
    rng = np.random.default_rng(seed)
    country = np.repeat(["home", "a", "b", "c", "d", "e"], SKEWED)
    rng.shuffle(country)
    rows = country.size
    return pa.table({
        "region": rng.choice(["n", "s", "e", "w"], rows),
        "sex": rng.choice(["F", "M"], rows),
        "job": rng.choice([f"job {n}" for n in range(12)], rows),
        "country": country,
    })  # fmt: skip


@given(histograms, st.integers(2, 12))
@examples(60)
def test_random_groups_by_hand(counts: np.ndarray, ell: int) -> None:
    """B = 1/ell^2 + h (1 - 1/ell^2); the variance per row is (1 - h)(ell^2 - 1): the bound."""
    found = method_figures("random", counts, ell, None, ())
    p = counts / counts.sum()
    h = float(p @ p)
    assert found.mean_belief == pytest.approx(1 / ell**2 + h * (1 - 1 / ell**2))
    assert found.distance == pytest.approx(1)
    assert found.error == pytest.approx((1_000 * (1 - h) * (ell**2 - 1) / counts.size) ** 0.5)
    assert found.published_belief == pytest.approx(1 / ell + (1 - 1 / ell) * h)
    assert found.largest_belief == pytest.approx(1 / ell + (1 - 1 / ell) * p.max())


@given(histograms, st.integers(2, 6))
@examples(40)
def test_no_method_is_below_the_bound(counts: np.ndarray, ell: int) -> None:
    for method in METHODS:
        if is_possible(method, counts, ell):
            found = method_figures(method, counts, ell, None, ())
            assert found.distance is None or found.distance > 1 - 1e-6
            assert 0 < found.published_belief <= found.largest_belief + 1e-9 <= 1 + 2e-9


def test_mixed_groups_by_hand() -> None:
    """Four values of a quarter each, ell = 4: everything is published equally often."""
    found = method_figures("mixed", np.array([50, 50, 50, 50]), 4, None, ())
    assert found.mean_belief == pytest.approx(1 / 4)
    assert (found.error, found.distance) == (None, None)
    # ell = 2: own value, or one of three others, so B = 1/4 + 3/36; on the bound.
    found = method_figures("mixed", np.array([50, 50, 50, 50]), 2, None, ())
    assert found.mean_belief == pytest.approx(1 / 4 + 3 / 36, abs=1e-3)
    assert found.distance == pytest.approx(1, abs=1e-3)
    assert found.published_belief == pytest.approx(1 / 2)


def test_common_values_by_hand() -> None:
    found = method_figures("common", SKEWED, 5, None, ())
    share = 0.8
    assert found.largest_belief == pytest.approx(share + (1 - share) / 5, abs=0.01)
    # By hand: 1 / (1 + (ell - 1)(1 - s)), with a little more for values that meet no equal ones.
    assert found.without_common == pytest.approx(1 / (1 + 4 * 0.2), abs=0.12)
    random = method_figures("random", SKEWED, 5, None, ())
    assert random.without_common == pytest.approx((0.2 + 0.8 * 0.05) / (0.2 + 0.8 * 0.2))
    assert method_figures("mixed", np.full(9, 100), 3, None, ()).without_common is None


@given(histograms, st.integers(2, 12))
@examples(60)
def test_what_is_possible_is_published(counts: np.ndarray, ell: int) -> None:
    """Each method that is called possible draws what it promises."""
    from countveil.maths.mechanism.draw import draw_column
    from countveil.publishing.advise.methods import repeating
    from countveil.randomness import Randomness

    for method in METHODS:
        if is_possible(method, counts, ell):
            streams = Randomness(1).stream("groups"), Randomness(1).stream("draw")
            drawn = draw_column(
                counts, settings_of(method, ell), streams, repeating(method, counts, ell)
            )
            assert int(drawn.published().sum()) == int(counts.sum())


def test_possible_methods_and_ells() -> None:
    assert [m for m in METHODS if is_possible(m, SKEWED, 5)] == ["common", "random"]
    even = np.full(20, 100)
    assert [m for m in METHODS if is_possible(m, even, 5)] == ["mixed", "random"]
    assert [m for m in METHODS if is_possible(m, even, 11)] == ["mixed", "common", "random"]
    assert not any(is_possible(m, np.array([50]), 2) for m in METHODS)
    assert not any(is_possible(m, np.array([3, 3]), 4) for m in METHODS)
    assert [usual_method(c, 5) for c in (even, SKEWED, np.array([50]))] == ["mixed", "common", ""]
    assert tried_ells(SKEWED) == [2, 3, 5, 8, 10]
    assert tried_ells(even) == [2, 3, 5, 8, 10, 15, 20]


def line(
    method: str, ell: int, error: float | None, belief: float, distance: float = 1.0
) -> MethodFigures:
    return MethodFigures(
        method, ell, {0.01: error}, {0.01: 30}, 5 * ell, 1 / ell, 0.3, 0.4, belief, 20.0, distance
    )


MIXED = [line("mixed", 2, 0.04, 0.30, 1.01), line("mixed", 4, 0.09, 0.14, 1.1)]
WASTING = [MIXED[0], replace(MIXED[1], distance=2.0)]
COMMON = [line("common", 4, 0.08, 0.16), line("common", 6, 0.095, 0.12)]
RANDOM = [line("random", 4, 0.07, 0.17), line("random", 6, 0.09, 0.13)]


@pytest.mark.parametrize(
    ("lines", "goal", "method", "ell"),
    [
        # Mixed groups where they do, and waste little.
        ([*MIXED, *COMMON, *RANDOM], Goal((0.01, 0.10)), "mixed", 4),
        ([*MIXED, *COMMON, *RANDOM], Goal(), "mixed", 4),
        # They waste: of those that are accurate enough, the least mean belief.
        ([*WASTING, *COMMON, *RANDOM], Goal((0.01, 0.10)), "common", 6),
        ([*WASTING, *COMMON, *RANDOM], Goal((0.01, 0.09)), "random", 6),
        # About the same mean belief: the more accurate one.
        ([COMMON[1], replace(RANDOM[1], mean_belief=0.122)], Goal((0.01, 0.10)), "random", 6),
        # Not eligible.
        ([*COMMON, *RANDOM], Goal(), "common", 6),
        # Only hiding: the most accurate that hides enough.
        ([*WASTING, *COMMON, *RANDOM], Goal(hide=15), "random", 4),
        ([*MIXED, *COMMON, *RANDOM], Goal(hide=15), "mixed", 4),
        # Nobody is accurate enough: the nearest, with the smallest error.
        ([*COMMON, *RANDOM], Goal((0.01, 0.05)), "random", 4),
        ([*MIXED, *COMMON, *RANDOM], Goal((0.01, 0.01)), "mixed", 2),
    ],
)
def test_the_method_for_a_wish(
    lines: list[MethodFigures], goal: Goal, method: str, ell: int
) -> None:
    found = choose(lines, per_method(lines, goal), goal)
    assert (found.method, found.ell) == (method, ell)
    assert found.why.endswith(".")
    if method == "mixed":
        assert "believed above 1/" in found.why
    elif method == "common":
        assert "no common value the published one at up to 0.40" in found.why
    else:
        assert "the most frequent one at 0.30" in found.why


def test_nothing_possible_and_nothing_measured() -> None:
    assert choose([], per_method([], Goal()), Goal()).ell is None
    untried = [replace(one, errors={0.01: None}) for one in COMMON]
    assert choose(untried, per_method(untried, Goal()), Goal()).method == "common"
    unknown = Goal((0.01, 0.1))
    assert "is unknown" in choose(untried, per_method(untried, unknown), unknown).reason


def test_wasted_accuracy_is_said_from_the_first_ell_on() -> None:
    counts = np.array([310, *[115] * 6])
    lines = [method_figures("mixed", counts, ell, None, ()) for ell in (2, 3)]
    distances = [one.distance for one in lines]
    assert distances[0] is not None
    assert distances[1] is not None
    assert distances[0] < WASTE < distances[1]
    (said,) = about_waste(lines, counts, lambda place: f"the value {place}")
    assert said.startswith("From ell = 3 on, mixed groups waste accuracy: the value 0 has 31.0%")
    assert "1.00 times with random groups" in said
    assert "with common values" in said
    assert about_waste(lines[:1], counts, str) == []


def advice_of(**methods: str) -> Advice:
    def column(name: str, method: str) -> ColumnAdvice:
        taken = Recommendation(4, met=True, reason="So.", method=method)
        choices = {method: taken, "random": replace(taken, ell=7, method="random")}
        return ColumnAdvice(name, 9, 9, [], taken, "", [], choices=choices)

    return Advice({name: column(name, method) for name, method in methods.items()}, (), ["id"])


@pytest.mark.parametrize(
    ("methods", "words", "call"),
    [
        ({"a": "mixed"}, "-s a:4", "{'a': 4}, 'release'"),
        ({"a": "common"}, "-s a:4 --common auto", "{'a': 4}, 'release', common='auto'"),
        ({"a": "random"}, "-s a:7 --groups random", "{'a': 7}, 'release', groups='random'"),
        (
            {"a": "mixed", "b c": "common"},
            "-s a:4 -s 'b c:4' --common 'b c=auto'",
            "{'a': 4, 'b c': 4}, 'release', common={'b c': 'auto'}",
        ),
        # Random groups are for all columns.
        (
            {"a": "mixed", "b": "random"},
            "-s a:7 -s b:7 --groups random",
            "{'a': 7, 'b': 7}, 'release', groups='random'",
        ),
    ],
)
def test_the_line_to_copy(methods: dict[str, str], words: str, call: str) -> None:
    advice = advice_of(**methods)
    assert advice.publish_line("t.csv") == (
        f"countveil publish t.csv {words} --drop id --to release"
    )
    assert advice.publish_call() == f"countveil.publish(table, {call}, drop=['id'])"
    nothing = replace(advice["a"], recommendation=Recommendation(None, met=False, reason="No."))
    assert replace(advice, columns={"a": replace(nothing, choices={})}).publish_line("t") == ""


@pytest.mark.slow
def test_a_skewed_column_is_advised_and_published(quick: Quick, tmp_path: Path) -> None:  # noqa: F811
    """The line that is printed publishes, for one column and for two."""
    pq.write_table(table(), tmp_path / "t.parquet")
    report = tmp_path / "advice.html"
    done = quick(
        "advise", tmp_path / "t.parquet", "-s", "country", "-s", "job", "--seed", "1",
        "--report", report,
    )  # fmt: skip
    assert (done.code, done.err) == (0, "")
    words = shlex.split(done.out.splitlines()[-1])[2:]
    assert any(word.startswith("country:") for word in words)
    words[words.index("--to") + 1] = str(tmp_path / "release")
    published = quick("publish", *words)
    assert published.code == 0, published.err
    entry = cv.open(tmp_path / "release").manifest.sensitive["country"]
    assert entry.groups == "random" or entry.common == ("home",)
    page = report.read_text()
    # One for each column, and one for both.
    assert page.count("<figure") == 3
    assert "the bound" in page
    assert "--to release" in page
    assert "<script" not in page


@pytest.mark.slow
def test_one_method_can_be_asked_for() -> None:
    found = cv.advise(table(), "job", groups="random", seed=1)["job"]
    assert {one.method for one in found.methods} == {"random"}
    assert found.lines == []
    assert found.recommendation.method == "random"
    for wrong, said in (
        ({"groups": "anatomy"}, "Only mixed and random groups"),
        ({"common": "home"}, "common='auto'"),
        ({"groups": "random", "common": "auto"}, "Common values are for mixed groups"),
    ):
        arguments: dict[str, Any] = wrong
        with pytest.raises(SettingsError, match=said):
            cv.advise(table(), "job", **arguments)


def test_the_command_refuses_in_one_paragraph(quick: Quick, tmp_path: Path) -> None:  # noqa: F811
    pq.write_table(table(), tmp_path / "t.parquet")
    words = ("advise", tmp_path / "t.parquet", "-s", "job")
    assert_refused(quick(*words, "--groups", "anatomy"), "mixed and random")
    assert_refused(quick(*words, "--report", tmp_path / "no" / "a.html"), "no folder")


@pytest.mark.parametrize("options", [{}, {"groups": "random"}, {"common": "auto"}])
@pytest.mark.slow
def test_questions_about_a_skewed_column(options: dict[str, Any]) -> None:
    question = "SELECT count(*) FROM release WHERE country = 'home' AND sex = 'F'"
    found = cv.advise(table(), "country", questions=[question], seed=1, **options)
    (asked,) = found.questions
    assert asked.refused is None
    assert asked.figures[0].error is not None
    # Some 800 of 1,000 women: four of five of what is published is true.
    assert asked.figures[0].error < 0.1
    assert asked.figures[0].coverage is not None
    # Ten releases at 95%: five or fewer that hold the truth have a chance below 1e-4.
    assert asked.figures[0].coverage >= 0.5


@pytest.mark.slow
def test_inspect_says_how_a_skewed_column_is_published(quick: Quick, tmp_path: Path) -> None:  # noqa: F811
    pq.write_table(table(), tmp_path / "t.parquet")
    seen = cv.inspect(tmp_path / "t.parquet", sensitive=["country", "job"])
    column = next(c for c in seen.columns if c.name == "country")
    assert (column.method, column.largest_ell, column.suggested_ell) == ("common", 1, 5)
    assert "It can be published with ell = 5 in other ways" in str(seen)
    line = seen.publish_line("t.csv")
    assert (
        line == "countveil publish t.csv -s job:5 -s country:5 --common country=auto --to release"
    )
    alone = cv.inspect(tmp_path / "t.parquet", sensitive="country").publish_line("t.csv")
    assert alone.endswith("-s country:5 --common auto --to release")
    words = shlex.split(line)[3:]
    words[words.index("--to") + 1] = str(tmp_path / "release")
    assert quick("publish", tmp_path / "t.parquet", *words).code == 0
    sensitive = cv.open(tmp_path / "release").manifest.sensitive
    assert (sensitive["job"].common, sensitive["country"].common) == ((), ("home",))


def test_the_table_of_methods_shows_the_wished_share() -> None:
    taken = Recommendation(6, met=True, reason="So.", method="common")
    column = ColumnAdvice(
        "job", 9, 9, [], taken, "", [], methods=[MIXED[1], *COMMON],
        choices={"common": taken}, wished_share=0.01,
    )  # fmt: skip
    names, rows = methods_table(column)
    assert names[2] == "error at 1%"
    assert rows[0] == [4, "mixed", "9.0%", "25.0%", "30.0%", "14.0%", "1.10"]
    assert [row[:2] for row in rows] == [[4, "mixed"], [4, "common"], [6, "common"]]
