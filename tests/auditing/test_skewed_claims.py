"""Random groups and common values: sound releases hold what they promise, broken ones are caught.

What differs between ways to form groups is how often a row publishes its own value, how often its
value is published, and who meets whom. Every claim about these is tripped by a broken release here.
The other claims are about how published values are dealt, ordered and stored, which is the same for
all groups: `test_every_claim_can_fail`. Deviations are many standard errors: a broken release
escapes with a probability far below 1e-6.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.auditing import promised
from countveil.auditing.attacks import repetition
from countveil.auditing.attacks.by_method import common_values
from countveil.auditing.target import AttackedColumn, Target
from countveil.errors import SettingsError
from countveil.maths.channel.common import beliefs_without_common, frequent_values
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.mechanism import draw, random_groups
from countveil.randomness import Randomness
from tests.auditing import broken
from tests.robustness.tools import run

ROWS, ELL, HOME = 6_000, 4, "United States"
ATTACKS = ["linkage", "reconstruction", "elimination", "small-counts"]
WAYS: dict[str, dict[str, Any]] = {
    "random": {"groups": "random"},
    "common": {"common": {"country": HOME}},
}
OWN = {
    "linkage: believe the published value",
    "linkage: believe a published rare value",
    "linkage: odds of every value",
    "elimination: rule out the 3 likeliest wrong values",
}
COUNTED = {
    "small count: count a value that 1 to 10 rows have",
    "small count: published counts of all values",
}
MET = {"reconstruction: explain the release by a rule"}
RULED_OUT = {
    "linkage: believe a published common value",
    "linkage: believe another value, common ones ruled out",
}


def skewed(rows: int = ROWS, share: float = 0.6, n_others: int = 6) -> pa.Table:
    rng = np.random.default_rng(3)
    others = [f"country {number}" for number in range(n_others)]
    country = np.where(rng.random(rows) < share, HOME, rng.choice(others, rows))
    return pa.table({"band": rng.integers(0, 6, rows), "country": country.tolist()})


def audited(table: pa.Table, way: str, *attacks: str, **options: Any) -> Any:
    return cv.audit(table, {"country": ELL}, attacks=attacks, **WAYS[way], **options)


def claims(found: Any, *, exceeded: bool = False) -> set[str]:
    findings = found.exceeded if exceeded else [f for f in found.findings if f.p_value is not None]
    return {f"{own.adversary}: {own.attack}" for own in findings}


Broken = tuple[object, str, Callable[..., object], list[str], set[str]]
BROKEN: dict[str, list[Broken]] = {
    "random": [
        (
            random_groups, "draw_random_groups",
            broken.draws_random_groups_with_the_truth_too_often, ["linkage", "elimination"], OWN,
        ),
        (
            random_groups, "draw_random_groups",
            broken.draws_random_groups_with_the_first_value_too_often, ["small-counts"], COUNTED,
        ),
        (
            random_groups, "draw_random_groups",
            broken.draws_groups_that_are_not_random, ["reconstruction"], MET,
        ),
    ],
    "common": [
        (draw, "draw_published", broken.draws_the_truth_too_often, ["linkage", "elimination"], OWN),
        (draw, "draw_published", broken.draws_the_first_value_too_often, ["small-counts"], COUNTED),
        (
            draw, "form_groups",
            broken.spreads_common_values_evenly, ["linkage", "reconstruction"], RULED_OUT | MET,
        ),
    ],
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(("way", "number"), [(way, n) for way in BROKEN for n in range(3)])
def test_a_broken_release_trips_its_claims(
    way: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    where, name, instead, attacks, expected = BROKEN[way][number]
    monkeypatch.setattr(where, name, instead)
    # Where others are many, common values that repeat at random repeat more.
    table = skewed(3 * ROWS, n_others=24 if expected >= RULED_OUT else 6)
    caught = claims(audited(table, way, *attacks), exceeded=True)
    assert expected <= caught, expected - caught


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_a_sound_release_passes_and_every_claim_about_it_can_fail(way: str, tmp_path: Path) -> None:
    """One audit in 10,000 may fail; two that both do have probability 1e-8."""
    table = skewed().append_column("row", pa.array(np.arange(ROWS)))
    cv.publish(table, {"country": ELL}, tmp_path / "release", keep=["row"], **WAYS[way])
    # The release says how its groups were formed.
    finished = cv.audit(
        table, {"country": ELL}, release=tmp_path / "release", keep=["row"],
        attacks=["linkage", "small-counts"],
    )  # fmt: skip
    planned = audited(skewed(), way, *ATTACKS)
    assert finished.passed or planned.passed
    assert finished.linked == ROWS
    tripped = set().union(*(expected for *_, expected in BROKEN[way]))
    assert tripped <= claims(planned)
    told = [own for own in planned.findings if own.adversary in ("linkage", "small count")]
    by_method = {
        f"{own.adversary}: {own.attack}"
        for own in told
        if own.p_value is not None and "prior" not in own.knows and "classifier" not in own.knows
    }
    assert by_method - tripped == {"small count: two queries that differ in one person"}


@pytest.mark.few(1)
@pytest.mark.parametrize("way", WAYS)
def test_the_audit_names_the_method_and_what_it_promises(way: str) -> None:
    found = audited(skewed(), way, "linkage", seed=4)
    facts = json.loads(json.dumps(found.as_dict()))
    promised, text = facts["promised_beliefs"]["country"], str(found)
    believe = next(own for own in found.findings if own.attack == "believe the published value")
    share = skewed()["country"].to_pylist().count(HOME) / ROWS
    if way == "random":
        assert "country (ell 4, random groups)" in text
        by_rank = promised["published_value_by_frequency"]
        # Published shares are within six standard errors of the true one.
        assert by_rank["most_frequent"] == pytest.approx(0.25 + 0.75 * share, abs=0.04)
        assert facts["common"] == {}
    else:
        assert f"country (ell 4, mixed groups, common: '{HOME}')" in text
        assert promised["published_common_values"] == [
            pytest.approx(share + (1 - share) / 4, abs=0.04)
        ]
        assert promised["published_value"] == 0.25
        ruled_out = promised["published_value_common_ones_ruled_out"]
        # Six others share what is not common, and do not meet themselves.
        expected = 1 / (1 + 3 * (1 - share) * 5 / 6)
        assert ruled_out["average"] == pytest.approx(expected, abs=0.04)
        assert facts["common"] == {"country": [HOME]}
    assert believe.measured == pytest.approx(float(believe.claimed[:6]), abs=0.05)
    assert "Promised for country" in found.to_html()


SHAPES: dict[str, tuple[pa.Table, dict[str, int], dict[str, Any]]] = {
    "more rows in a group than values": (
        pa.table({"band": list(range(300)), "country": ["a", "b", "a"] * 100}),
        {"country": 7}, {"groups": "random"},
    ),
    "one value only": (
        pa.table({"band": list(range(200)), "country": ["a"] * 200}),
        {"country": 3}, {"groups": "random"},
    ),
    "nearly everybody": (skewed(1_200, 0.95), {"country": 5}, {"common": "auto"}),
    "nearly everybody at random": (skewed(1_200, 0.95), {"country": 5}, {"groups": "random"}),
    "rows that are dropped": (
        skewed(1_199), {"country": 6}, {"common": "auto", "residue": "drop"},
    ),
    "dropped from random groups": (
        skewed(1_199), {"country": 6}, {"groups": "random", "residue": "drop"},
    ),
    "a missing value is common": (
        pa.table({"band": list(range(400)), "country": [None, None, None, "x", "y"] * 80}),
        {"country": 3}, {"common": {"country": [None, "x"]}},
    ),
    "all values are common": (
        pa.table({"band": list(range(400)), "country": ["a", "b"] * 200}),
        {"country": 4}, {"common": "auto"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.slow
def test_every_attack_runs_on_every_shape(
    shape: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One audit in 10,000 may fail; two that both do have probability 1e-8."""
    monkeypatch.setattr(repetition, "MOST_RELEASES", 5)
    table, sensitive, options = SHAPES[shape]
    numbered = table.append_column("row", pa.array(np.arange(table.num_rows)))
    attacks = [*ATTACKS, "neighbours", "repetition", "correlation"]
    planned = cv.audit(table, sensitive, attacks=attacks, keep=["band"], **options)
    to = tmp_path / "release"
    cv.publish(numbered, sensitive, to, keep=["band", "row"], **options)
    finished = cv.audit(
        numbered, sensitive, release=to, keep=["band", "row"], attacks=attacks
    )  # fmt: skip
    assert planned.passed or finished.passed, [planned.exceeded, finished.exceeded]
    assert finished.linked >= finished.rows - 10
    assert all(np.isfinite(own.measured) for own in (*planned.findings, *finished.findings))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* are associated:UserWarning")
def test_two_columns_of_different_methods(tmp_path: Path) -> None:
    table = skewed(1_500)
    first = np.array(table["country"].to_pylist())
    rng = np.random.default_rng(8)
    table = table.append_column(
        "drug", pa.array(np.where(first == HOME, "none", rng.choice(["a", "b", "c"], first.size)))
    ).append_column("row", pa.array(np.arange(first.size)))
    sensitive = {"country": 4, "drug": 6}
    cv.publish(table, sensitive, tmp_path / "r", groups="random", keep=["row"])
    found = [
        cv.audit(table, sensitive, release=tmp_path / "r", keep=["row"], attacks=["linkage"]),
        cv.audit(table, sensitive, common="auto", keep=["row"], attacks=["linkage"]),
    ]
    assert any(own.passed for own in found)
    assert {own.column for own in found[1].findings} >= {"country", "drug", "country, drug"}


@pytest.mark.slow
def test_the_command_takes_common_values(tmp_path: Path) -> None:
    import pyarrow.csv

    path = tmp_path / "table.csv"
    pyarrow.csv.write_csv(skewed(800), path)
    found = run(
        "audit", path, "-s", "country", "--ell", "4", "--common", f"country={HOME}",
        "--attacks", "linkage", "--format", "json",
    )  # fmt: skip
    assert found.code == 0, found.err
    assert json.loads(found.out)["common"] == {"country": [HOME]}
    wrong = run("audit", path, "-s", "country", "--ell", "4", "--common", "country=Mars")
    assert wrong.code != 0
    assert "no value 'Mars'" in wrong.err.replace("\n", " ")


def test_common_values_that_are_not_those_of_the_release(tmp_path: Path) -> None:
    cv.publish(skewed(800), {"country": 4}, tmp_path / "r", groups="random")
    with pytest.raises(SettingsError, match="published with random groups and no common values"):
        cv.audit(skewed(800), {"country": 4}, release=tmp_path / "r", common="auto")


@pytest.mark.slow
def test_groups_stay_within_what_the_tests_concede_about_common_values() -> None:
    """Chances of the groups that were formed, beside those that the tests allow."""
    for number in range(12):
        rng = np.random.default_rng(number)
        ell, n_others = int(rng.integers(2, 8)), int(rng.integers(8, 30))
        shares = np.array([rng.uniform(0.3, 0.9), *np.linspace(2, 1, n_others)])
        shares[1:] *= (1 - shares[0]) / shares[1:].sum()
        counts = rng.multinomial(int(rng.integers(400, 4_000)), shares)
        common = tuple(frequent_values(counts, ell).tolist())
        settings = ColumnSettings(ell, common_auto=True)
        groups = form_groups(counts, settings, Randomness(number).stream("groups"), common=common)
        met = np.zeros((counts.size, counts.size))
        for start, end, times in zip(
            groups.indptr[:-1], groups.indptr[1:], groups.multiplicity, strict=True
        ):
            members = groups.members[start:end]
            np.add.at(met, (members[:, None], members[None, :]), times / members.size)
        chances = met / np.maximum(counts, 1)[:, None]
        truth = np.repeat(np.arange(counts.size), counts)
        column = AttackedColumn("x", ell, "mixed", counts, counts, truth, truth, common)
        rare = np.delete(np.arange(counts.size), common)
        least, most = promised.kept_between(column)
        own = np.diag(chances)
        assert (least - 1e-9 <= own).all()
        assert (own <= most + 1e-9).all()
        shown = chances[:, rare].sum(axis=1)[rare]
        least, most = common_values.shown_between(column, everybody=False)
        assert (least[rare] <= shown).all()
        assert (shown <= most[rare]).all()
        least, most = common_values.shown_between(column, everybody=True)
        assert least[rare] @ counts[rare] <= shown @ counts[rare] <= most[rare] @ counts[rare]


def test_who_rules_common_values_out_is_judged_by_the_promised_figure() -> None:
    """Tested are those who publish their own and those who publish no common value: its parts."""
    counts = np.array([900, 300, 200, 150, 60, 40])
    truth = np.repeat(np.arange(counts.size), counts)
    column = AttackedColumn("x", 4, "mixed", counts, counts, truth, truth, (0,))
    average, _ = beliefs_without_common(counts, 4, np.array([0]))
    least, most = common_values.shown_between(column, everybody=True)
    shown, kept = (least + most) / 2, promised.kept_chances(column)
    rare = slice(1, None)
    expected = float(counts[rare] @ kept[rare]) / float(counts[rare] @ shown[rare])
    # Two of the groups are larger, which the promise leaves out.
    assert average == pytest.approx(expected, rel=1e-3)
    finding = common_values.attack(
        Target(truth, truth, [], [column], truth.size), Randomness(1).stream("unused")
    ).findings[1]
    assert finding.claimed.startswith(f"{average:.4f} on average")
    # Everybody publishes the truth here: that is not what is promised.
    assert finding.p_value is not None
    assert finding.p_value < 1e-9
