"""Releases that continue each other: a case publishes the same for ever, whatever happens to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import (
    IneligibleError,
    InputError,
    LedgerError,
    SettingsError,
    TargetError,
)
from tests.publishing.again.hospital import DIAGNOSES, Hospital, by_case, publish, rows_of


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return cv.Ledger.init(tmp_path / "hospital.ledger").path


@pytest.fixture
def hospital() -> Hospital:
    return Hospital(range(150))


def test_known_cases_publish_what_they_did_and_new_ones_are_a_batch(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    publish(hospital.table(), tmp_path / "january", ledger)
    january = by_case(rows_of(tmp_path / "january"), hospital.visits)
    hospital.admit([*range(60), *range(150, 260)])
    release = publish(hospital.table(), tmp_path / "february", ledger)
    february = by_case(rows_of(tmp_path / "february"), hospital.visits)
    assert all(len(published) == 1 for published in february.values())
    assert {batch for each in january.values() for _, batch in each} == {1}
    assert all(february[case] == january[case] for case in january)
    new = set(february) - set(january)
    assert new
    assert {batch for case in new for _, batch in february[case]} == {2}
    (entry,) = release.manifest.batches
    assert [batch.number for batch in entry.drawn] == [1, 2]
    assert sum(batch.cases for batch in entry.drawn) == pytest.approx(len(february), rel=0.1)
    assert release.manifest.ledger is not None
    assert release.manifest.ledger.release == 2


def test_the_person_never_leaves(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    publish(hospital.table(), tmp_path / "r", ledger)
    content = b"".join(path.read_bytes() for path in (tmp_path / "r").rglob("*") if path.is_file())
    assert b"P00001" not in content
    assert b"patient" not in content


@pytest.mark.slow
def test_corrections_deletions_and_returns(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    publish(hospital.table(), tmp_path / "1", ledger)
    first = rows_of(tmp_path / "1")
    before = dict(hospital.visits)
    corrected = [number for number in before if number % 4 == 0]
    for number in corrected:
        patient, value = before[number]
        hospital.visits[number] = patient, DIAGNOSES[(DIAGNOSES.index(value) + 1) % 8]
    left = {number for number, (patient, _) in before.items() if patient >= 120}
    publish(hospital.table(set(before) - left), tmp_path / "2", ledger)
    second = rows_of(tmp_path / "2")
    assert not set(second) & left
    known = {hospital.visits[number] for number in before if number not in corrected}
    known |= set(before.values())
    for number in second:
        # A corrected value is a new case, unless the person has it already.
        is_known = hospital.visits[number] in known
        assert (second[number][1] == 1) == is_known
        if number not in corrected:
            assert second[number] == first[number]
    hospital.visits.update(before)
    publish(hospital.table(), tmp_path / "3", ledger)
    assert rows_of(tmp_path / "3") == first


@pytest.mark.slow
def test_values_that_come_later_and_values_that_are_gone(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    release = publish(hospital.table(), tmp_path / "1", ledger)
    assert "D99" not in release.manifest.sensitive["diagnosis"].domain
    table = hospital.table([n for n, (_, value) in hospital.visits.items() if value > "D03"])
    more = Hospital(range(1_000, 1_100), seed=9)
    more.visits = {n + 10_000: (p, v if n % 5 else "D99") for n, (p, v) in more.visits.items()}
    release = publish(pa.concat_tables([table, more.table()]), tmp_path / "2", ledger)
    domain = release.manifest.sensitive["diagnosis"].domain
    assert "D99" in domain
    # What was published stays public, though nobody in the table has it any more.
    assert set(DIAGNOSES) <= set(domain)
    first, second = rows_of(tmp_path / "1"), rows_of(tmp_path / "2")
    numbers: list[Any] = table["number"].to_pylist()
    assert all(second[number] == first[number] for number in numbers)


def test_plain_columns_come_and_go(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    publish(hospital.table(ward=lambda n: n % 3), tmp_path / "1", ledger)
    publish(hospital.table(month=lambda n: n % 12), tmp_path / "2", ledger)
    assert rows_of(tmp_path / "1") == rows_of(tmp_path / "2")


@pytest.mark.slow
def test_protected_columns_come_and_go(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    table = hospital.table(ward=lambda n: f"W{n % 5}")
    publish(table, tmp_path / "1", ledger, drop=["ward"])
    both: dict[str, Any] = {"sensitive": {"diagnosis": 3, "ward": 2}}
    release = publish(table, tmp_path / "2", ledger, **both)
    assert [entry.batch for entry in release.manifest.batches] == ["batch", "batch_2"]
    first, second = rows_of(tmp_path / "1"), rows_of(tmp_path / "2")
    assert first == second
    publish(table, tmp_path / "3", ledger, sensitive={"ward": 2}, drop=["diagnosis"])
    wards = rows_of(tmp_path / "2", "ward", "batch_2")
    assert rows_of(tmp_path / "3", "ward", "batch_2") == wards
    publish(table, tmp_path / "4", ledger, **both)
    assert rows_of(tmp_path / "4") == first
    assert rows_of(tmp_path / "4", "ward", "batch_2") == wards


@pytest.mark.slow
def test_a_column_with_the_name_of_the_batches_is_refused(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    publish(hospital.table(), tmp_path / "1", ledger)
    with pytest.raises(LedgerError, match="has a column 'Batch'"):
        publish(hospital.table(Batch=lambda n: n % 3), tmp_path / "2", ledger)
    other = cv.Ledger.init(tmp_path / "other").path
    release = publish(hospital.table(batch=lambda n: n % 3), tmp_path / "3", other, again=True)
    assert [entry.batch for entry in release.manifest.batches] == ["batch_2"]


@pytest.mark.slow
def test_columns_together_have_one_batch(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    def table() -> pa.Table:
        return hospital.table(ward=lambda n: f"W{hospital.visits[n][0] % 4}")

    options: dict[str, Any] = {"sensitive": {"diagnosis": 3, "ward": 3}, "together": True}
    publish(table(), tmp_path / "1", ledger, **options)
    first = rows_of(tmp_path / "1", "diagnosis", "ward", "batch")
    hospital.admit(range(150, 220))
    release = publish(table(), tmp_path / "2", ledger, **options)
    second = rows_of(tmp_path / "2", "diagnosis", "ward", "batch")
    assert all(second[number] == first[number] for number in first)
    (entry,) = release.manifest.batches
    assert entry.columns == ("diagnosis", "ward")
    assert len(entry.drawn) == 2
    true = {(value, f"W{patient % 4}") for patient, value in hospital.visits.values()}
    assert {published[:2] for published in second.values()} <= true
    with pytest.raises(LedgerError, match=r"have one draw changed.*together"):
        publish(table(), tmp_path / "3", ledger, sensitive={"diagnosis": 3}, drop=["ward"])


def test_too_few_new_cases_wait_or_have_random_groups(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    publish(hospital.table(), tmp_path / "1", ledger)
    first = rows_of(tmp_path / "1")
    alike = {len(first) + n: (500 + n, "D00") for n in range(4)}
    hospital.visits |= alike
    with pytest.raises(
        IneligibleError, match=r"new cases of diagnosis are too few.* there are 4"
    ) as refused:
        publish(hospital.table(), tmp_path / "2", ledger)
    assert {"hold": True} in refused.value.ways
    assert not (tmp_path / "2").exists()
    with pytest.warns(UserWarning, match=r"wait for a later release: 4|too few, or too much alike"):
        publish(hospital.table(), tmp_path / "2", ledger, hold=True)
    assert rows_of(tmp_path / "2") == first
    with pytest.warns(UserWarning, match="Random groups hide it little"):
        publish(hospital.table(), tmp_path / "3", ledger, groups="random")
    third = rows_of(tmp_path / "3")
    assert {third[number][1] for number in alike} == {2}
    assert {number: third[number] for number in first} == first


@pytest.mark.slow
def test_a_row_waits_if_one_of_its_columns_does(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    wards = {number: f"W{number % 5}" for number in hospital.visits}
    options: dict[str, Any] = {"sensitive": {"diagnosis": 3, "ward": 3}, "hold": True}
    publish(hospital.table(ward=wards.__getitem__), tmp_path / "1", ledger, **options)
    # Two patients change wards: too few for groups of three, and their other column is known.
    changed = [0, 1]
    wards |= dict.fromkeys(changed, "W9")
    with pytest.warns(UserWarning, match=r"new cases of ward|later release: 2"):
        publish(hospital.table(ward=wards.__getitem__), tmp_path / "2", ledger, **options)
    assert set(rows_of(tmp_path / "1")) - set(rows_of(tmp_path / "2")) == set(changed)


def test_nothing_is_published_if_everybody_waits(ledger: Path, tmp_path: Path) -> None:
    table = Hospital(range(2), visits=1).table()
    with pytest.raises(InputError, match="every row has a new case"):
        publish(table, tmp_path / "1", ledger, hold=True)
    assert not (tmp_path / "1").exists()
    assert cv.Ledger(ledger).show().releases == []


def test_what_must_stay_the_same(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    table = hospital.table(age=lambda n: hospital.visits[n][0] % 90)
    options: dict[str, Any] = {
        "sensitive": {"diagnosis": 3, "age": 2}, "bins": {"age": "20,40,60"},
    }  # fmt: skip
    publish(table, tmp_path / "1", ledger, **options)
    refused: dict[str, dict[str, Any]] = {
        "ell of diagnosis changed": {**options, "sensitive": {"diagnosis": 4, "age": 2}},
        "how values were prepared of age changed": {**options, "bins": {"age": "30,60"}},
        "'age' is protected in the earlier releases": {"bins": {"age": "20,40,60"}},
        "rare values of 'diagnosis'": {**options, "merge": {"diagnosis": "rare:50"}},
        "column that identifies persons": {
            **options,
            "person": "number",
            "keep": [],
            "drop": ["patient"],
        },
        "one draw changed": {**options, "sensitive": {"diagnosis": 3, "age": 3}, "together": True},
    }
    for message, changed in refused.items():
        with pytest.raises(LedgerError, match=f"(?i){message}"):
            publish(table, tmp_path / "2", ledger, **changed)
        assert not (tmp_path / "2").exists()
    assert len(cv.Ledger(ledger).show().releases) == 1


def test_another_kind_of_values_is_refused(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    coded = hospital.table(code=lambda n: int(hospital.visits[n][1][1:])).drop_columns("diagnosis")
    publish(coded, tmp_path / "1", ledger, sensitive={"code": 3})
    texts = coded.set_column(3, "code", coded["code"].cast(pa.string()))
    with pytest.raises(LedgerError, match="kind of values of code changed"):
        publish(texts, tmp_path / "2", ledger, sensitive={"code": 3})


def test_persons_are_recognised_as_numbers_and_as_texts(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    table = hospital.table()
    persons: list[Any] = table["patient"].to_pylist()
    numbers = pa.array([int(text[1:]) for text in persons])
    publish(table.set_column(0, "patient", numbers), tmp_path / "1", ledger)
    texts = numbers.cast(pa.string())
    publish(table.set_column(0, "patient", texts), tmp_path / "2", ledger)
    assert rows_of(tmp_path / "1") == rows_of(tmp_path / "2")


def test_strangers_are_noticed(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    publish(hospital.table(), tmp_path / "1", ledger)
    table = hospital.table()
    other = pa.array([f"X{text}" for text in table["patient"].to_pylist()])
    with pytest.warns(UserWarning, match="Nobody in this table is known"):
        publish(table.set_column(0, "patient", other), tmp_path / "2", ledger, again=True)


def test_what_goes_with_a_ledger(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    table, to = hospital.table(), tmp_path / "1"
    with pytest.raises(SettingsError, match="needs to know whose rows are whose"):
        publish(table, to, ledger, person=None)
    with pytest.raises(SettingsError, match=r"hold.* goes with .*ledger"):
        cv.publish(table, {"diagnosis": 3}, to, person="patient", hold=True)
    with pytest.raises(SettingsError, match="odds"):
        publish(table, to, ledger, odds=20, domain={"diagnosis": DIAGNOSES})
    with pytest.raises(SettingsError, match="residue"):
        publish(table, to, ledger, residue="drop")


@pytest.mark.slow
def test_a_release_is_replaced_without_saying_it_twice(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    publish(hospital.table(), tmp_path / "1", ledger)
    first = rows_of(tmp_path / "1")
    with pytest.raises(TargetError, match=r"is a release of the ledger .* already.*force=True"):
        publish(hospital.table(), tmp_path / "1", ledger)
    release = publish(hospital.table(), tmp_path / "1", ledger, force=True)
    assert rows_of(tmp_path / "1") == first
    assert release.manifest.ledger is not None
    assert release.manifest.ledger.release == 2


def test_a_dry_run_leaves_the_ledger_as_it_is(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    before = ledger.read_bytes()
    planned = publish(hospital.table(), tmp_path / "1", ledger, dry_run=True)
    assert planned.manifest.batches[0].drawn[0].number == 1
    assert ledger.read_bytes() == before


@pytest.mark.slow
def test_a_seed_is_never_forgotten(hospital: Hospital, ledger: Path, tmp_path: Path) -> None:
    assert publish(hospital.table(), tmp_path / "1", ledger, seed=1).manifest.randomness == "seeded"
    hospital.admit(range(150, 250))
    assert publish(hospital.table(), tmp_path / "2", ledger).manifest.randomness == "seeded"


def test_the_statement_says_what_holds_for_the_series(
    hospital: Hospital, ledger: Path, tmp_path: Path
) -> None:
    release = publish(hospital.table(), tmp_path / "1", ledger)
    series = [text for text in release.manifest.statement if text.startswith("A series")]
    assert len(series) == 1
    for words in ("drawn once for the whole series", "who joined the series", "second draw"):
        assert words in series[0]


months = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 60), st.floats(0, 0.5)), min_size=2, max_size=4
)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*(too few, or too much alike|Rows that wait|is known to the)")
@given(months=months, seed=st.integers(0, 1_000))
@settings(max_examples=8)
def test_whatever_happens_a_case_publishes_one_thing(
    months: list[tuple[int, int, float]],
    seed: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Patients come, come again and go; diagnoses are corrected. Too few wait."""
    folder = tmp_path_factory.mktemp("months")
    ledger = cv.Ledger.init(folder / "l").path
    hospital = Hospital(range(100), seed)
    ever: dict[tuple[int, str], tuple[Any, ...]] = {}
    for month, (again, new, gone) in enumerate(months):
        present = [n for n in hospital.visits if (n * 7919 + seed) % 100 >= 100 * gone]
        publish(hospital.table(present), folder / str(month), ledger, hold=True, keep=["number"])
        cases = by_case(rows_of(folder / str(month)), hospital.visits)
        for case, published in cases.items():
            (one,) = published
            assert ever.setdefault(case, one) == one
        hospital.admit([*range(again), *range(1_000 * month, 1_000 * month + new)])
        for number in range(0, len(hospital.visits), 17):
            patient, _ = hospital.visits[number]
            hospital.visits[number] = patient, DIAGNOSES[(number + month) % 8]
