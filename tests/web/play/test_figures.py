"""The figures of play are those of the package's mathematics.

Tests of draws have a false-alarm rate of at most 1e-6 for any seed; `COUNTVEIL_TEST_SEED` tries
another one.
"""

from __future__ import annotations

import os

import numpy as np
import pytest

from countveil.maths.adversary import beliefs_after
from countveil.maths.channel import view_of_release
from countveil.maths.estimate.unbiased import unbiased_likelihood
from countveil.maths.guarantees import average_belief, belief, odds_factor
from countveil.web.play import breaking, group, guessing, sizes
from tests.statistical.bounds import FALSE_ALARM, binomial_two_sided, bonferroni, follows

SEED = int(os.environ.get("COUNTVEIL_TEST_SEED", "1").partition("-")[0]) % 9_999 + 1


@pytest.mark.few(1)
@pytest.mark.parametrize("ell", [2, 5, 10])
def test_a_group_has_different_values_and_her_first(ell: int) -> None:
    people = group.group_of(SEED, ell)
    assert len(people) == ell
    assert len({person.occupation for person in people}) == ell
    assert "".join(person.letter for person in people) == "ABCDEFGHIJ"[:ell]
    assert people[0] == group.group_of(SEED, 3)[0]
    assert (people[0].name, people[0].gender) == ("Ada", "woman")


@pytest.mark.parametrize("ell", [2, 3, 5, 7, 10])
def test_a_thousand_draws_show_every_value_as_often(ell: int) -> None:
    often = np.array(group.many_draws(SEED, ell, 1))
    assert often.sum() == group.DRAWS
    assert follows(often, np.full(ell, 1 / ell)) > FALSE_ALARM


def test_draws_one_by_one_follow_the_same_law() -> None:
    ell = 4
    drawn = np.array([group.one_draw(SEED, ell, number) for number in range(1, 301)])
    for person in range(ell):
        often = np.bincount(drawn[:, person], minlength=ell)
        assert follows(often, np.full(ell, 1 / ell)) > FALSE_ALARM / ell


def test_the_order_of_rows_is_an_order() -> None:
    assert sorted(group.onlooker_order(SEED, 7, 2)) == list(range(7))
    orders = {group.onlooker_order(SEED, 7, draw) for draw in range(1, 9)}
    assert len(orders) > 1


@pytest.mark.parametrize("ell", [2, 5, 7, 10])
@pytest.mark.parametrize("job", range(len(guessing.OCCUPATIONS)))
def test_beliefs_are_those_of_the_promise(job: int, ell: int) -> None:
    for percent in (1, 10, 50, 95):
        guess = guessing.guess_at(job, percent, ell)
        expected = belief(percent / 100, odds_factor(guess.share, ell))
        # The channel is that of a million people: their counts are whole numbers.
        assert guess.shown == pytest.approx(expected, rel=1e-3)
        assert guess.not_shown < guess.before
    curve = guessing.curve(job, ell)
    assert curve[49] == pytest.approx(guessing.guess_at(job, 50, ell).shown)
    assert list(curve) == sorted(curve)


def test_the_more_hide_together_the_less_a_value_tells() -> None:
    shown = [guessing.guess_at(4, 20, ell).shown for ell in range(2, 11)]
    assert shown == sorted(shown, reverse=True)


@pytest.mark.few(2)
@pytest.mark.parametrize("rows", sizes.SIZES)
def test_tables_have_what_is_asked_about(rows: int) -> None:
    parts, names = sizes.table_of(SEED, rows)
    assert parts.sum() == rows
    assert (parts >= 0).all()
    assert parts[sizes.IN_STREET].sum() == sizes.STREET
    assert parts[sizes.IN_STREET, names.index("nurse")] == sizes.FEW
    if rows >= 10_000:
        large, small = (question.truth for question in sizes.answers(SEED, 5, rows).questions[:2])
        assert large / rows == pytest.approx(0.29, abs=0.03)
        assert small / rows == pytest.approx(0.01, abs=0.005)


@pytest.mark.few(1)
@pytest.mark.parametrize("ell", [2, 10])
def test_parts_keep_their_rows_and_values_their_counts(ell: int) -> None:
    parts, _ = sizes.table_of(SEED, 3_000)
    published, used = sizes.publish(SEED, ell, 3_000)
    assert used == ell
    assert published.sum(axis=1).tolist() == parts.sum(axis=1).tolist()
    # Every value is published about as often as it is true: its variance is f (1 - 1/ell).
    true, shown = parts.sum(axis=0), published.sum(axis=0)
    deviation = (shown - true) / np.sqrt(np.maximum(true, 1) * (1 - 1 / ell))
    assert np.abs(deviation).max() < 9


@pytest.mark.few(1)
@pytest.mark.parametrize(("ell", "rows"), [(2, 1_000), (5, 30_000), (10, 1_000_000)])
def test_intervals_are_those_of_the_estimator(ell: int, rows: int) -> None:
    published, used = sizes.publish(SEED, ell, rows)
    _, names = sizes.table_of(SEED, rows)
    view = view_of_release(published.sum(axis=0), rows, used, "mixed")
    nurse = names.index("nurse")
    answers = sizes.answers(SEED, ell, rows).questions
    for question, part in ((answers[1], sizes.YOUNG), (answers[2], sizes.IN_STREET)):
        y = published[part].astype(float)[None]
        cells = unbiased_likelihood(y, y.sum(axis=1), view).estimates(sizes.LEVEL)
        assert question.answer.low == pytest.approx(float(cells.low[0, nurse]))
        assert question.answer.high == pytest.approx(float(cells.high[0, nurse]))
        assert question.answer.std_error == pytest.approx(float(cells.std_error[0, nurse]))


def test_large_counts_come_right_and_five_people_stay_hidden() -> None:
    large, _, few = sizes.answers(SEED, 5, 1_000_000).questions
    assert large.answer.verdict == "reliable"
    assert large.answer.estimate == pytest.approx(large.truth, rel=0.02)
    assert few.answer.verdict == "hidden"
    assert few.truth == sizes.FEW


@pytest.mark.slow
def test_intervals_hold_the_truth_as_often_as_they_say() -> None:
    asked = [sizes.answers(seed, 5, 1_000) for seed in range(SEED, SEED + 12)]
    pairs = [(one.truth, one.answer) for each in asked for one in each.questions[1:]]
    low, high = (np.array([getattr(one, end) for _, one in pairs]) for end in ("low", "high"))
    truth = np.array([true for true, _ in pairs])
    missed = int(((truth < low) | (truth > high)).sum())
    # 95% intervals of 24 counts; small counts may cost the normal approximation two points.
    assert binomial_two_sided(24 - missed, 24, 0.93) > FALSE_ALARM


@pytest.mark.few(1)
@pytest.mark.parametrize("ell", [2, 5, 10])
def test_one_release_is_guessed_right_once_in_ell(ell: int) -> None:
    known = breaking.known_after(SEED, ell, 1)
    right = round(known.right * breaking.ROWS)
    assert binomial_two_sided(right, breaking.ROWS, 1 / ell) > FALSE_ALARM


@pytest.mark.few(1)
@pytest.mark.parametrize("releases", [2, 3, 6])
def test_guesses_are_right_as_often_as_they_are_believed(releases: int) -> None:
    ell = 2
    values, n_values = breaking.values_of(SEED)
    prior = np.bincount(values, minlength=n_values) / values.size
    evidence = [breaking.release_of(SEED, ell, number) for number in range(1, releases + 1)]
    believed = beliefs_after(prior, evidence).max(axis=1)
    known = breaking.known_after(SEED, ell, releases)
    assert known.sure == pytest.approx((believed >= breaking.SURE).mean())
    # Hoeffding, two-sided, and what fitting the channel to few rows may cost.
    slack = np.sqrt(np.log(2 / FALSE_ALARM) / (2 * values.size)) + 0.02
    assert abs(known.right - believed.mean()) < slack


@pytest.mark.slow
def test_independent_releases_give_more_and_more_away() -> None:
    known = [breaking.known_after(SEED, 2, releases) for releases in (1, 3, 6, 12)]
    assert [one.right for one in known] == sorted(one.right for one in known)
    assert [one.sure for one in known] == sorted(one.sure for one in known)
    assert known[-1].right > 0.95
    # One release makes nobody sure who knew the shares alone.
    assert known[0].sure == 0


@pytest.mark.few(1)
@pytest.mark.parametrize("ell", [2, 5])
def test_a_pay_grade_gives_everything_away(ell: int) -> None:
    without = breaking.giveaway(SEED, ell, with_grade=False)
    with_grade = breaking.giveaway(SEED, ell, with_grade=True)
    # Of somebody who knows the shares alone, the mean belief has a closed form.
    values, n_values = breaking.values_of(SEED, "salary")
    shares_alone = average_belief(np.bincount(values, minlength=n_values).tolist(), ell)
    assert shares_alone - 0.05 < without.after < shares_alone + 0.15
    assert without.before < 0.2
    assert with_grade.before > 0.99
    assert with_grade.after > 0.99


@pytest.mark.few(1)
@pytest.mark.parametrize("ell", [2, 5])
def test_twins_agree_by_chance_or_always(ell: int) -> None:
    apart, as_one = (breaking.twins(SEED, ell, apart=apart) for apart in (True, False))
    rows = breaking.ROWS
    both_true = round(apart.agree * apart.right * rows)
    one_true = round(as_one.right * rows)
    assert as_one.agree == 1
    # Two rows with the same value are never in one group, so they draw independently.
    chances = [
        binomial_two_sided(both_true, rows, 1 / ell**2),
        binomial_two_sided(one_true, rows, 1 / ell),
    ]
    assert bonferroni(chances) > FALSE_ALARM
    assert apart.right > as_one.right
