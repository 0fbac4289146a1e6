"""Each adversary on tables where the right answer is known."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from countveil.auditing.attacks import (
    associated_columns,
    correlation,
    elimination,
    layout,
    linkage,
    neighbours,
    reconstruction,
    repetition,
    small_counts,
)
from countveil.auditing.attacks.repetition import deal_again
from countveil.auditing.beliefs import score, update
from countveil.auditing.findings import (
    EXCEEDS,
    FALSE_ALARM,
    HOLDS,
    KNOWN_LIMIT,
    NOT_RUN,
    Finding,
    judged,
)
from countveil.auditing.linking import TrueColumn
from countveil.auditing.summary import Audit
from countveil.auditing.target import AttackedColumn, Target
from countveil.maths.adversary import KnownColumn, cross_fitted
from countveil.maths.channel import channel_matrix, design_channel, greedy_templates
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.randomness import Randomness, Stream
from countveil.report.chart import Chart, Line

ROWS, VALUES, ELL = 4_000, 12, 4


def make_target(seed: int, *, groups: str = "mixed", twice: bool = False) -> Target:
    stream = Randomness(seed).stream("target")
    truth = np.minimum(stream.below(VALUES + 4, ROWS), stream.below(VALUES, ROWS))
    told = np.where(stream.below(3, ROWS) > 0, truth % 5, stream.below(5, ROWS))
    known = [KnownColumn.of("told", told), KnownColumn.of("noise", stream.below(7, ROWS))]
    counts = np.bincount(truth, minlength=VALUES)
    settings = ColumnSettings(ELL, groups)
    sensitive = []
    for name in ("job", "twin")[: 1 + twice]:
        seen = deal_again(truth, settings, VALUES, stream)
        published = np.bincount(seen, minlength=VALUES)
        sensitive.append(AttackedColumn(name, ELL, groups, counts, published, truth, seen))
    return Target(np.arange(ROWS), stream.permutation(ROWS), known, sensitive, ROWS)


def unused() -> Stream:
    """For attacks that draw nothing."""
    return Randomness(0).stream("unused")


def by_attack(findings: list[Finding], attack: str) -> Finding:
    return next(finding for finding in findings if finding.attack.startswith(attack))


def test_exact_bayes_gives_the_belief_of_the_odds_formula(seed: int) -> None:
    column = make_target(seed).sensitive[0]
    f, n, ell = column.published[0], column.rows, column.ell
    prior = np.array([column.shares], np.float32)
    two_state = np.tile(column.view.b, (VALUES, 1))
    np.fill_diagonal(two_state, 1 / ell)
    beliefs = update(prior, two_state)
    odds = f / (n - f) * (n - f) / ((ell - 1) * f)
    assert beliefs.guess[0, 0] == 0
    assert beliefs.belief[0, 0] == pytest.approx(odds / (1 + odds), rel=1e-3)
    assert odds / (1 + odds) == pytest.approx(1 / ell)


def test_a_guess_that_ignores_the_published_value_scores_what_is_expected(seed: int) -> None:
    column = make_target(seed).sensitive[0]
    always = np.tile((column.truth == 3)[:, None], (1, VALUES))
    found = score(always, column)
    assert found.successes == pytest.approx(found.expected) == (column.truth == 3).sum()
    assert found.p_value == pytest.approx(1.0)


def test_a_value_dealt_by_another_column_is_noticed(seed: int) -> None:
    """Rows of one town get their own values: the shares of all values stay as they are."""
    target = make_target(seed)
    column = target.sensitive[0]
    seen = column.released.copy()
    chosen = target.plain[1].codes < 3
    for value in range(VALUES):
        rows = np.flatnonzero(column.truth == value)
        kept = np.sort(seen[rows] == value)[::-1]
        others = seen[rows][seen[rows] != value]
        order = rows[np.argsort(~chosen[rows], kind="stable")]
        seen[order[kept]] = value
        seen[order[~kept]] = others
    told = replace_seen(target, seen)
    own = told.sensitive[0]
    believed = (np.arange(VALUES) == own.truth[:, None]) & chosen[:, None]
    assert score(believed, column).p_value > 1e-6
    assert score(believed, own).p_value < 1e-12
    found = elimination.attack(told, unused()).findings
    assert by_attack(found, "the most exposed slice").p_value < 1e-12  # type: ignore[operator]


def replace_seen(target: Target, seen: np.ndarray) -> Target:
    column = target.sensitive[0]
    changed = AttackedColumn(
        column.name, column.ell, column.groups, column.counts, column.published, column.truth, seen
    )
    return Target(target.source_place, target.release_place, target.plain, [changed], target.rows)


def test_greedy_groups_leave_fewer_candidates(seed: int) -> None:
    found = reconstruction.attack(make_target(seed), unused()).findings
    mixed, greedy = (by_attack(found, f"candidates left by {m}") for m in ("mixed", "anatomy"))
    assert mixed.measured > greedy.measured


def test_published_groups_would_break_at_ell_less_one(seed: int) -> None:
    outcome = elimination.attack(make_target(seed), unused())
    ours, anatomy = outcome.charts[0].lines
    assert anatomy.y[ELL - 1] == 1.0
    assert ours.y[ELL - 1] < 0.9
    assert list(ours.y) == sorted(ours.y)


def test_knowing_all_but_two_is_not_knowing_all(seed: int) -> None:
    found = neighbours.attack(make_target(seed), Randomness(seed).stream("n")).findings
    two = by_attack(found, "who of two")
    assert 0.5 < two.measured < 0.9


def test_two_columns_that_are_one_multiply_their_evidence(seed: int) -> None:
    found = associated_columns.attack(make_target(seed, twice=True), unused()).findings
    both = by_attack(found, "rows that publish the truth in both")
    assert both.measured == pytest.approx(1 / ELL**2, abs=0.03)
    assert all(finding.p_value > 1e-8 for finding in found)  # type: ignore[operator]


def test_every_further_release_tells_more(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(repetition, "MOST_RELEASES", 8)
    outcome = repetition.attack(make_target(seed), Randomness(seed).stream("r"))
    share = outcome.charts[0].lines[0].y
    assert share[0] == pytest.approx(1 / ELL, abs=0.05)
    assert share[7] > share[3] > share[0]
    agree = by_attack(outcome.findings, "two releases that agree")
    assert agree.measured > 1.4 / ELL
    assert agree.verdict == KNOWN_LIMIT


@pytest.mark.slow
def test_differencing_sees_rows_that_publish_the_truth(seed: int) -> None:
    target = make_target(seed)
    bare = replace(target.sensitive[0], released=target.sensitive[0].truth)
    open_table = replace(target, sensitive=[bare])
    found = small_counts.attack(open_table, Randomness(seed).stream("d")).findings
    assert by_attack(found, "two queries").p_value < 1e-8  # type: ignore[operator]
    found = small_counts.attack(target, Randomness(seed).stream("d")).findings
    assert by_attack(found, "two queries").p_value > 1e-8  # type: ignore[operator]


@pytest.mark.slow
def test_the_better_guess_of_a_small_count_is_reported_and_nothing_is_claimed(seed: int) -> None:
    found = small_counts.attack(make_target(seed), Randomness(seed).stream("d")).findings
    published = by_attack(found, "count a value")
    better = by_attack(found, "the same, by the best guess")
    assert "of the published count" in published.claimed
    assert better.measured < published.measured
    assert better.p_value is None
    assert better.verdict == KNOWN_LIMIT
    within = by_attack(found, "count (P, s)")
    assert within.p_value is None
    assert within.claimed.startswith("nothing; the lemma says")


def test_groups_stay_within_what_the_tests_concede() -> None:
    """Whatever groups come about, a bet on a rule is no better than fair on average."""
    shares = 1 / np.arange(1, 31) ** 0.7
    for rows, ell in ((6_000, 4), (60_000, 5), (60_000, 2)):
        counts = np.floor(rows * shares / shares.sum()).astype(np.int64)
        counts = np.minimum(counts, int(counts.sum()) // (ell + 1))
        counts[-1] += -int(counts.sum()) % ell
        groups = form_groups(counts, ColumnSettings(ell), Randomness(None).stream("g"))
        truth = np.repeat(np.arange(30), counts)
        column = AttackedColumn("x", ell, "mixed", counts, counts, truth, truth)
        design = design_channel(counts, ell)
        rule = channel_matrix(greedy_templates(counts, ell))
        for part in (0.5, 0.005):
            ratio, mean = reconstruction.fair_mean(column, design, rule, part)
            real = (channel_matrix(groups) * ratio).sum(axis=1)
            assert np.all(real <= mean + 1e-12)


@pytest.mark.slow
def test_a_fifth_of_the_groups_made_by_a_rule_is_found(seed: int) -> None:
    stream = Randomness(seed).stream("mixture")
    truth = np.minimum(stream.below(40, 100_000), stream.below(40, 100_000))
    counts = np.bincount(truth, minlength=40)
    for greedy, found in ((20_000, True), (0, False)):
        parts = [(truth[:greedy], "anatomy"), (truth[greedy:], "mixed")]
        seen = np.concatenate(
            [
                deal_again(part, ColumnSettings(5, groups), 40, stream)
                for part, groups in parts
                if part.size
            ]
        )
        published = np.bincount(seen, minlength=40)
        column = AttackedColumn("x", 5, "mixed", counts, published, truth, seen)
        target = Target(np.arange(truth.size), stream.permutation(truth.size), [], [column], 10**5)
        rule = by_attack(reconstruction.attack(target, unused()).findings, "explain the release")
        assert (rule.p_value < 1e-8) == found  # type: ignore[operator]


@pytest.mark.slow
def test_what_is_too_large_is_said_not_hidden(seed: int) -> None:
    stream = Randomness(seed).stream("large")
    truth = np.arange(8_000) % 2_500
    counts = np.bincount(truth)
    seen = deal_again(truth, ColumnSettings(4), 2_500, stream)
    column = AttackedColumn("code", 4, "mixed", counts, np.bincount(seen), truth, seen)
    target = Target(np.arange(8_000), stream.permutation(8_000), [], [column], 8_000)
    found = []
    for room in (reconstruction, elimination, linkage, neighbours, correlation, repetition):
        found += room.attack(target, stream).findings
    left_out = {finding.adversary for finding in found if finding.verdict == NOT_RUN}
    assert left_out == {
        "reconstruction", "elimination", "linkage", "known neighbours", "correlation",
        "repeated release",
    }  # fmt: skip
    audit = Audit(8_000, 8_000, {"code": 4}, {"code": "mixed"}, True, found, [])
    said = next(sentence for sentence in audit.sentences() if sentence.startswith("Not run"))
    assert "2,500 values" in said
    assert any(NOT_RUN in row for row in audit.table()[1])


def test_a_classifier_learns_through_the_channel(seed: int) -> None:
    target = make_target(seed)
    column = target.sensitive[0]
    beliefs, _ = cross_fitted(
        target.plain, column.shares, column.released, column.channel,
        Randomness(seed).stream("m"), asked=np.arange(ROWS),
    )  # fmt: skip
    right = (beliefs.argmax(axis=1) == column.truth).mean()
    assert right > 1.15 * column.counts.max() / ROWS
    assert np.allclose(beliefs.sum(axis=1), 1, atol=1e-4)


def test_row_order_that_tells_nothing_passes(seed: int) -> None:
    found = layout.attack(make_target(seed), unused()).findings
    assert len(found) == 5
    assert all(finding.p_value > 1e-8 for finding in found)  # type: ignore[operator]


def test_linkage_states_what_it_knows_claims_and_measures(seed: int) -> None:
    outcome = linkage.attack(make_target(seed), Randomness(seed).stream("l"))
    assert len(outcome.findings) == 6
    for finding in outcome.findings:
        assert finding.knows
        assert finding.method
        assert finding.claimed
        assert finding.p_value is not None


def a_finding(p_value: float | None, verdict: str = HOLDS) -> Finding:
    return Finding("a", "b", "c", "d", "0.2", 0.5, "share", 0.4, 0.6, p_value, verdict)


def test_the_false_alarm_rate_is_shared_by_all_tests() -> None:
    near = FALSE_ALARM / 2
    alone = judged([a_finding(near)])
    assert alone[0].verdict == EXCEEDS
    shared = judged([a_finding(near), *[a_finding(1.0)] * 2, a_finding(None, KNOWN_LIMIT)])
    assert [finding.verdict for finding in shared] == [HOLDS, HOLDS, HOLDS, KNOWN_LIMIT]


def test_text_from_data_is_harmless_in_the_report() -> None:
    hostile = '<script>alert("x")</script>\x1b[31m[red]'
    finding = replace(a_finding(1.0), column=hostile)
    chart = Chart(hostile, hostile, "y", [Line(hostile, [0.0, 1.0], [0.0, 1.0])])
    found = Audit(10, 10, {hostile: 2}, {hostile: "mixed"}, True, [finding], [chart])
    page = found.to_html()
    assert "<script" not in page
    assert "\x1b" not in page + str(found)
    assert "default-src 'none'" in page
    json.dumps(found.as_dict())


def test_a_column_of_many_values_becomes_classes_of_neighbours() -> None:
    codes = np.arange(10_000) % 5_000
    column = KnownColumn.of("x", codes)
    assert column.n_levels <= 48
    assert np.all(np.diff(column.codes[np.argsort(codes, kind="stable")]) >= 0)
    assert TrueColumn(["a"], codes).values == ["a"]
