"""The guide to publishing again: its commands run, and what it says happens."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import CountveilError, IneligibleError, LedgerError, TargetError
from tests.robustness.conftest import Quick

GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "publishing-again.md"
ILLNESSES = [f"illness {number}" for number in range(8)]


@pytest.mark.slow
def test_the_walk_through_twelve_months(
    tmp_path: Path, quick: Quick, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    walk = GUIDE.read_text().split("## What happens when")[0]
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", walk, flags=re.DOTALL | re.MULTILINE)
    names: dict[str, Any] = {}
    printed, shown = "", 0
    for language, block in blocks:
        if language == "python":
            exec(block, names)
        elif language == "sh":
            for line in block.splitlines():
                command, *words = shlex.split(line)
                assert command == "countveil"
                outcome = quick(*words, cwd=tmp_path)
                assert outcome.code == 0, outcome.err
                printed = outcome.out
        else:
            shown += 1
            assert block.strip() in printed
    assert shown == 2
    summary = cv.Ledger("hospital.ledger").show()
    assert len(summary.releases) == len(summary.batches) == 12
    # What a patient published in January, all of these visits publish in December.
    first, last = (pq.read_table(f"release-{month}/data").to_pylist() for month in ("01", "12"))
    assert sorted(map(str, first)) == sorted(str(row) for row in last if row["month"] == 1)


def test_the_figures_are_those_that_were_measured() -> None:
    results = (GUIDE.parents[2] / "benchmarks" / "RESULTS.md").read_text()
    told = " ".join(GUIDE.read_text().split())
    drawn = (GUIDE.parent / "figures" / "series.svg").read_text()
    row = r"\| built-in census, occupation \| {} \|.*\| (0\.\d+) \((0\.\d+)\) \|"
    for way, said in (
        ("independent", "guesses the value of {} of the persons right, and believes that of {} of"),
        ("with a ledger", "With a ledger {} are guessed right"),
    ):
        figures = re.search(row.format(way), results)
        assert figures is not None
        assert said.format(*figures.groups()) in told
        assert re.search(rf"{way}, 0\.20 and (0\.\d+)", drawn) is not None


def visits(**changes: Callable[[int], object]) -> pa.Table:
    """400 visits of 200 patients, numbered, with other values by number in some columns."""
    columns: dict[str, Callable[[int], object]] = {
        "patient": lambda visit: f"P{visit % 200:03d}",
        "visit": lambda visit: visit,
        "diagnosis": lambda visit: ILLNESSES[visit % 200 % 8],
    }
    return pa.table({name: [of(n) for n in range(400)] for name, of in (columns | changes).items()})


class Series:
    """A ledger and its releases, in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ledger = folder, cv.Ledger.init(folder / "visits.ledger")
        self.number = 0
        self.first = self.publish(visits())

    def publish(self, table: pa.Table, **options: Any) -> dict[int, dict[str, Any]]:
        """What the visits publish."""
        self.number += 1
        to = options.pop("to", self.folder / f"release-{self.number}")
        given = {"person": "patient", "ledger": self.ledger, "keep": "visit", **options}
        cv.publish(table, given.pop("sensitive", {"diagnosis": 4}), to, **given)
        if given.get("dry_run"):
            return {}
        return {row["visit"]: row for row in pq.read_table(to / "data").to_pylist()}


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return Series(tmp_path)


def batch_of(released: dict[int, dict[str, Any]], visits_of: range) -> set[int]:
    return {released[visit]["batch"] for visit in visits_of}


def corrected(visit: int) -> str:
    """Other diagnoses for the first forty patients."""
    return ILLNESSES[(visit % 200 + (visit % 200 < 40)) % 8]


def test_new_persons_are_a_batch_and_known_ones_publish_what_they_did(series: Series) -> None:
    grown = visits(patient=lambda visit: f"P{visit % 200 + (1_000 if visit >= 340 else 0):03d}")
    again = series.publish(grown)
    assert {visit for visit, row in again.items() if row["batch"] == 2} == set(range(340, 400))
    assert all(again[visit] == series.first[visit] for visit in range(340))


@pytest.mark.slow
def test_a_correction_is_a_new_case_until_it_is_taken_back(series: Series) -> None:
    again = series.publish(visits(diagnosis=corrected))
    assert batch_of(again, range(40)) == {2}
    assert batch_of(again, range(40, 200)) == {1}
    assert series.publish(visits()) == series.first
    assert series.publish(visits(diagnosis=corrected)) == again


def test_who_left_and_comes_back_is_known(series: Series) -> None:
    fewer = series.publish(visits().slice(50, 100))
    assert fewer == {visit: series.first[visit] for visit in range(50, 150)}
    assert series.publish(visits()) == series.first


def test_a_value_that_is_new_is_never_published_by_earlier_batches(series: Series) -> None:
    def with_new(visit: int) -> str:
        return "new" if visit % 200 < 5 else corrected(visit)

    again = series.publish(visits(diagnosis=with_new))
    assert all(row["batch"] == 2 for row in again.values() if row["diagnosis"] == "new")


@pytest.mark.slow
def test_plain_columns_may_come_and_go(series: Series) -> None:
    again = series.publish(visits(ward=lambda visit: visit % 3))
    assert {visit: row["diagnosis"] for visit, row in again.items()} == {
        visit: row["diagnosis"] for visit, row in series.first.items()
    }
    assert series.publish(visits()) == series.first


@pytest.mark.slow
def test_a_protected_column_may_come_and_may_be_left_out(series: Series) -> None:
    with_ward = visits(ward=lambda visit: f"ward {visit % 200 % 3}")
    both = series.publish(with_ward, sensitive={"diagnosis": 4, "ward": 2}, keep=["visit", "ward"])
    assert {row["batch_2"] for row in both.values()} == {1}
    with pytest.raises(LedgerError, match="published as it is now"):
        series.publish(with_ward)
    again = series.publish(with_ward, drop="ward")
    assert again == series.first


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sensitive": {"diagnosis": 3}}, "ell"),
        ({"merge": {"diagnosis": {"illness 0": "other"}}}, "prepared"),
        ({"merge": {"diagnosis": "rare:20"}}, "by their counts"),
        ({"missing": ["illness 0"]}, "missing"),
        ({"together": ["diagnosis", "sex"], "sensitive": {"diagnosis": 4, "sex": 4}}, "one draw"),
    ],
)
def test_what_would_draw_everybody_again_is_refused(
    series: Series, options: dict[str, Any], said: str
) -> None:
    table = visits(sex=lambda visit: "FMXY"[visit % 4])
    with pytest.raises(LedgerError, match=said):
        series.publish(table, **options)


def test_another_name_of_persons_is_refused_and_other_identifiers_are_noticed(
    series: Series,
) -> None:
    with pytest.raises(LedgerError, match="identifies persons"):
        series.publish(visits().rename_columns(["person", "visit", "diagnosis"]), person="person")
    others = visits(patient=lambda visit: f"{visit % 200}")
    with pytest.warns(UserWarning, match="Nobody in this table is known"):
        series.publish(others, dry_run=True)


@pytest.mark.slow
def test_identifiers_are_the_same_as_numbers_and_as_texts(tmp_path: Path) -> None:
    ledger = cv.Ledger.init(tmp_path / "ledger")
    diagnosis = [ILLNESSES[person % 8] for person in range(80)]
    kinds: list[Any] = [pa.int64(), pa.float64(), pa.string()]
    for number, kind in enumerate(kinds):
        table = pa.table({"person": pa.array(range(80)).cast(kind), "diagnosis": diagnosis})
        table = table.append_column("sex", pa.array(["F", "M"] * 40))
        cv.publish(table, {"diagnosis": 4}, tmp_path / str(number), person="person", ledger=ledger)
    assert ledger.show().cases == 80


def one_corrected(visit: int) -> str:
    return "illness 1" if visit == 0 else ILLNESSES[visit % 200 % 8]


@pytest.mark.slow
def test_too_few_new_cases_wait_all_of_them(series: Series) -> None:
    with pytest.raises(IneligibleError, match="hold=True"):
        series.publish(visits(diagnosis=one_corrected))
    with pytest.warns(UserWarning, match="wait|too few") as told:
        fewer = series.publish(visits(diagnosis=one_corrected), hold=True)
    assert "Rows that wait for a later release: 1." in {str(each.message) for each in told}
    assert set(series.first) - set(fewer) == {0}
    both = series.publish(visits(diagnosis=lambda n: one_corrected(n) if n == 0 else corrected(n)))
    assert both[0]["batch"] == 2


@pytest.mark.slow
def test_random_groups_of_newcomers_who_are_alike_are_warned_of(series: Series) -> None:
    alike = visits(diagnosis=lambda n: "new" if n % 200 < 30 else ILLNESSES[n % 200 % 8])
    with pytest.raises(IneligibleError, match="groups='random'"):
        series.publish(alike)
    with pytest.warns(UserWarning, match=r"100% of the 30 new cases.*probability 1\.00"):
        series.publish(alike, groups="random")


@pytest.mark.slow
def test_losing_the_ledger_an_old_copy_and_another_key_are_noticed(series: Series) -> None:
    folder, ledger = series.folder, series.ledger
    shutil.copy(ledger.path, folder / "old.ledger")
    series.publish(visits(diagnosis=corrected))
    other = cv.Ledger.init(folder / "other.ledger")
    for files, said in (
        ({"ledger": folder / "gone.ledger"}, "restore its newest copy"),
        ({"ledger": folder / "old.ledger", "ledger_key": ledger.key}, "older than"),
        ({"ledger": ledger.path, "ledger_key": other.key}, "does not belong"),
        ({"ledger": ledger.path, "ledger_key": folder / "gone.key"}, "no key"),
    ):
        with pytest.raises(LedgerError, match=said):
            series.publish(visits(), **files)


def test_a_release_without_the_ledger_is_recognised(series: Series) -> None:
    with pytest.raises(TargetError, match="the same people"):
        series.publish(visits(), ledger=None)
    alone = series.folder / "alone"
    series.publish(visits(), ledger=None, again=True, to=alone)
    (difference,) = series.ledger.verify(alone)
    assert "made without a ledger" in difference.problem
    assert not series.ledger.verify(series.folder / "release-1")


@pytest.mark.slow
def test_a_release_of_the_ledger_is_replaced_by_force(series: Series) -> None:
    there = series.folder / "release-1"
    with pytest.raises(CountveilError, match="force=True"):
        series.publish(visits(), to=there)
    assert series.publish(visits(), to=there, force=True) == series.first


def test_the_ledger_is_private_and_tells_nothing_by_itself(series: Series) -> None:
    """The ledger by itself has no identifier, value, or name of a column."""
    content = series.ledger.path.read_bytes()
    for text in ("P007", "illness", "diagnosis", "patient", str(series.folder)):
        assert text.encode() not in content
    assert {path.stat().st_mode & 0o777 for path in (series.ledger.path, series.ledger.key)} == {
        0o600
    }
