"""Series of releases under attack: sound ones pass, and each claim has a series that trips it.

Deviations are many standard errors: a broken series escapes with a probability far below 1e-6.
Audits of sound series raise a false alarm with probability 1e-4 at most each, as documented; those
here are asked about with the level of 1e-7.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.auditing.findings import EXCEEDS, NOT_RUN
from countveil.auditing.series import simulated
from countveil.auditing.summary import Audit
from countveil.errors import ReleaseError, SettingsError
from countveil.maths.mechanism.cases import PublishedCases, draw_cases
from countveil.publishing import cases
from countveil.publishing.ledger import keys
from countveil.publishing.publisher import run_publish

ELL, VALUES, RARE = {"illness": 4}, 16, 60
SERIES, LEDGER = "series of releases", "leaked ledger"


def patients(rows: int, seed: int = 3) -> pa.Table:
    """Visits with a number each, and some illnesses that one visit alone has."""
    rng = np.random.default_rng(seed)
    illness = [f"illness {code:02d}" for code in rng.integers(0, VALUES, rows)]
    illness[:RARE] = [f"rare illness {number:02d}" for number in range(RARE)]
    return pa.table(
        {
            "patient": [f"Patient {number:05d}" for number in range(rows)],
            "visit": np.arange(rows),
            "sex": rng.choice(["F", "M"], rows).tolist(),
            "illness": illness,
        }
    )


def audited(table: pa.Table, **options: Any) -> Audit:
    given = {"attacks": "series", "keep": ["visit", "illness"], "person": "patient", **options}
    return cv.audit(table, ELL, **given)


def claims(audit: Audit, *, exceeded: bool) -> set[str]:
    """The claims that were tested, or those among them that do not hold."""
    return {
        f"{one.adversary}: {one.attack}"
        for one in audit.findings
        if one.p_value is not None and (one.verdict == EXCEEDS or not exceeded)
    }


Breaking = Callable[[pytest.MonkeyPatch], None]


def publishing(change: Callable[[Any, Any, Path], Any], *numbers: int) -> Breaking:
    """Some releases of the series are published in another way."""

    def publish(table: Any, protecting: Any, writing: Any, **options: Any) -> Any:
        target = Path(writing.to)
        if target.name in {f"release-{number}" for number in numbers}:
            writing = change(table, writing, target) or writing
        done = run_publish(table, protecting, writing, **options)
        if target.name in {f"release-{number}" for number in numbers}:
            change(table, None, target)
        return done

    return lambda patch: patch.setattr(simulated, "run_publish", publish)


def without_the_ledger(_table: Any, writing: Any, _target: Path) -> Any:
    return None if writing is None else replace(writing, ledger=None)


def values_of_others(table: Any, writing: Any, target: Path) -> None:
    """A newcomer publishes a value that no newcomer has."""
    if writing is not None:
        return
    path = target / "data" / "part-00000.parquet"
    rows = pq.read_table(path)
    truth = dict(zip(table["row"].to_pylist(), table["illness"].to_pylist(), strict=True))
    newest = max(rows["batch"].to_pylist())
    illness, at = rows["illness"].to_pylist(), rows["batch"].to_pylist().index(newest)
    have = {
        truth[r["row"]] for r in rows.select(["row", "batch"]).to_pylist() if r["batch"] == newest
    }
    illness[at] = next(value for value in truth.values() if value not in have)
    changed = rows.set_column(rows.column_names.index("illness"), "illness", pa.array(illness))
    pq.write_table(changed, path)


def a_ledger_with_names(table: Any, writing: Any, target: Path) -> None:
    if writing is None:
        with closing(sqlite3.connect(target.parent / "ledger")) as ledger:
            ledger.execute("CREATE TABLE notes (person TEXT)")
            ledger.execute("INSERT INTO notes VALUES (?)", (table["person"][0].as_py(),))
            ledger.commit()


def no_pads(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(keys.LedgerKey, "pads", lambda _key, marks: np.zeros(marks.shape[0], np.uint64))


def drawing(change: Callable[[Any, Any], Any]) -> Breaking:
    """What cases publish is changed after it was drawn."""

    def draw(values: Any, *others: Any) -> PublishedCases:
        drawn = draw_cases(values, *others)
        return replace(drawn, values=change(values, drawn.values))

    return lambda patch: patch.setattr(cases, "draw_cases", draw)


BROKEN: dict[str, tuple[Breaking, set[str]]] = {
    "releases without the ledger": (
        publishing(without_the_ledger, 2, 3, 4),
        {
            f"{SERIES}: releases that were made without the ledger",
            f"{SERIES}: cases that publish different values",
            f"{SERIES}: believe what most rows of a person show",
        },
    ),
    "the newest release without the ledger": (
        publishing(without_the_ledger, 4), {f"{SERIES}: believe what all releases show"},
    ),
    "the truth for every third case": (
        drawing(lambda values, shown: np.where(np.arange(shown.size) % 3 == 0, values, shown)),
        {
            f"{SERIES}: believe what all releases show",
            f"{SERIES}: believe what most rows of a person show",
            f"{SERIES}: believe what newcomers publish",
            f"{SERIES}: believe what the smallest batch publishes",
        },
    ),
    "one value in the place of another": (
        drawing(lambda _values, shown: np.where(shown == 1, 0, shown)),
        {f"{SERIES}: counts of what a release added"},
    ),
    "values of others": (
        publishing(values_of_others, 4),
        {f"{SERIES}: values from outside of a batch"},
    ),
    "a ledger with names": (
        publishing(a_ledger_with_names, 4),
        {f"{LEDGER}: find identifiers, values and names"},
    ),
    "a ledger without pads": (
        no_pads,
        {
            f"{LEDGER}: patterns in marks and hidden words",
            f"{LEDGER}: cases with equal entries",
            f"{LEDGER}: guess what a case published",
        },
    ),
    "a key that everybody knows": (
        lambda patch: patch.setattr(keys, "fresh_key", lambda: bytes(32)),
        {f"{LEDGER}: try persons and values without the key"},
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_series_trips_its_claims(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    breaking, expected = BROKEN[name]
    breaking(monkeypatch)
    caught = claims(audited(patients(6_000)), exceeded=True)
    assert expected <= caught, expected - caught


@pytest.mark.slow
def test_every_claim_about_a_series_can_be_tripped() -> None:
    told = claims(audited(patients(800)), exceeded=False)
    assert told == set().union(*(expected for _, expected in BROKEN.values()))


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"groups": "random"}])
def test_a_sound_series_passes(options: dict[str, Any]) -> None:
    audit = audited(patients(1_500), **options)
    assert all(one.p_value is None or one.p_value > 1e-7 for one in audit.findings)
    told = {one.attack: one.measured for one in audit.findings}
    assert told["try persons and values with the key"] == 1
    assert "try persons and values with the key" in audit.to_html()


@pytest.fixture(scope="module")
def series(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger, a first and a second release of it, and one that was made without it."""
    folder = tmp_path_factory.mktemp("series")
    table, ledger = patients(900), cv.Ledger.init(folder / "ledger")
    for name, rows in (("first", 500), ("second", 900)):
        cv.publish(
            table.slice(0, rows), ELL, folder / name, person="patient",
            keep=["visit", "illness"], ledger=ledger,
        )  # fmt: skip
    cv.publish(table, ELL, folder / "alone", drop="patient", keep=["visit", "illness"], again=True)
    return folder


def test_a_finished_series_is_attacked_with_its_ledger(series: Path) -> None:
    table = patients(900)
    audit = audited(
        table, release=series / "second", earlier={str(series / "first"): table.slice(0, 500)},
        ledger=series / "ledger",
    )  # fmt: skip
    assert all(one.p_value is None or one.p_value > 1e-7 for one in audit.findings)
    assert claims(audit, exceeded=False) == set().union(*(e for _, e in BROKEN.values()))
    assert audit.as_dict()["releases"] == 2
    notes = {one.attack: one.note for one in audit.findings}
    assert "2 of 2 batches" in notes["values from outside of a batch"]


def test_a_release_without_the_ledger_is_caught(series: Path) -> None:
    audit = audited(patients(900), release=series / "second", earlier=[series / "alone"])
    assert claims(audit, exceeded=True) >= {
        f"{SERIES}: releases that were made without the ledger",
        f"{SERIES}: cases that publish different values",
    }


def test_a_release_of_several_batches_is_attacked_as_a_series(series: Path) -> None:
    audit = audited(patients(900), release=series / "second", attacks=())
    assert {one.adversary for one in audit.findings} == {SERIES}
    with pytest.raises(SettingsError, match="as a whole"):
        audited(patients(900), release=series / "second", attacks="linkage")
    with pytest.raises(SettingsError, match="person=\\.\\.\\."):
        audited(patients(900), release=series / "second", person=None, attacks=())


def test_the_page_of_a_series_has_no_empty_place(series: Path) -> None:
    """No heading without charts, no adversary without knowledge, and what the columns hold."""
    audit = audited(patients(900), release=series / "second", attacks=())
    page = audit.to_html()
    assert "<h2>Series of releases</h2>" in page
    assert ("<h2>Charts</h2>" in page) == bool(audit.charts)
    assert "Knows: -." not in page
    assert not any("Knows: -." in heading for heading, _ in audit.by_adversary())
    assert ">F, M</td>" in page


def test_a_page_without_charts_has_no_heading_for_them(series: Path) -> None:
    audit = audited(patients(900), release=series / "second", attacks=())
    assert "<h2>Charts</h2>" not in replace(audit, charts=()).to_html()


def test_releases_without_any_ledger_are_caught_too(series: Path, tmp_path: Path) -> None:
    table = patients(900)
    cv.publish(table, ELL, tmp_path / "r", drop="patient", keep=["visit", "illness"])
    audit = audited(table, release=tmp_path / "r", earlier=str(series / "alone"))
    assert f"{SERIES}: cases that publish different values" in claims(audit, exceeded=True)


@pytest.mark.slow
def test_too_few_linked_cases_are_said(tmp_path: Path) -> None:
    table, ledger = patients(900).drop_columns(["visit"]), cv.Ledger.init(tmp_path / "ledger")
    cv.publish(table, ELL, tmp_path / "r", ledger=ledger, person="patient", keep="illness")
    audit = audited(table, release=tmp_path / "r", ledger=ledger, keep="illness", attacks=())
    told = {one.attack: one.verdict for one in audit.findings}
    assert told["linked rows"] == NOT_RUN
    assert told["patterns in marks and hidden words"] != NOT_RUN


def test_what_belongs_to_a_release_needs_one(series: Path) -> None:
    with pytest.raises(SettingsError, match="release=\\.\\.\\."):
        audited(patients(900), ledger=series / "ledger")


def test_a_table_that_is_not_that_of_a_release_is_refused(series: Path) -> None:
    with pytest.raises(ReleaseError, match="other plain values"):
        audited(patients(900, seed=4), release=series / "second", attacks=())
