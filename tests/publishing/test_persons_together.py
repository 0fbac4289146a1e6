"""Persons with several rows, and columns together: a case is a person with one vector of values."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.maths.guarantees.several_rows import several_rows
from countveil.release import Manifest
from countveil.release.batches import Batch
from tests.publishing.test_persons import VISITS, published, visits
from tests.statistical.bounds import FALSE_ALARM, binomial_two_sided

ELL = 4
SET = ("diagnosis", "ward")


@pytest.fixture(scope="module")
def table() -> pa.Table:
    months = np.random.default_rng(4).integers(1, 7, VISITS)
    return visits().append_column("month", pa.array([f"M{month}" for month in months]))


@pytest.fixture(scope="module")
def folder(table: pa.Table, tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("together") / "r"
    cv.publish(
        table, {"diagnosis": ELL, "ward": ELL, "month": 3}, to, person="patient", keep="number",
        together=SET,
    )  # fmt: skip
    return to


def rows_of(table: pa.Table, names: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    return zip(*(table[name].to_pylist() for name in names), strict=True)


def cases_of(
    table: pa.Table, folder: Path, names: tuple[str, ...]
) -> dict[tuple[str, ...], set[tuple[str, ...]]]:
    """What the rows of every person with every vector publish."""
    cases: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    drawn = rows_of(published(folder), names)
    for case, vector in zip(rows_of(table, ("patient", *names)), drawn, strict=True):
        cases.setdefault(case, set()).add(vector)
    return cases


@pytest.mark.few(1)
@pytest.mark.parametrize("names", [SET, ("month",)], ids=["together", "apart beside them"])
def test_all_rows_of_a_case_publish_the_same(
    table: pa.Table, folder: Path, names: tuple[str, ...]
) -> None:
    cases = cases_of(table, folder, names)
    assert {len(vectors) for vectors in cases.values()} == {1}
    # Every published vector is a real one.
    drawn = {vector for vectors in cases.values() for vector in vectors}
    assert drawn <= set(rows_of(table, names))


def test_a_case_publishes_its_own_vector_as_often_as_promised(
    table: pa.Table, folder: Path
) -> None:
    """1/ell, and the share of its vector otherwise. False-alarm rate 1e-6.

    Given the groups the draws are independent. Who meets whom widens the sum by 1 in 100, for
    which half of the rate is left.
    """
    cases = cases_of(table, folder, SET)
    having = Counter(case[1:] for case in cases)
    size = len(cases) / (len(cases) // ELL)
    met = sum(count * (count - 1) for count in having.values()) / len(cases) / (len(cases) - 1)
    same = sum(vectors == {case[1:]} for case, vectors in cases.items())
    chance = 1 / size + (1 - 1 / size) * met
    assert binomial_two_sided(same, len(cases), chance) > FALSE_ALARM / 2


def test_what_the_manifest_says(table: pa.Table, folder: Path) -> None:
    manifest = Manifest.from_json((folder / "manifest.json").read_text())
    (entry,) = manifest.batches
    assert (entry.columns, entry.batch) == (SET, None)
    (batch,) = entry.drawn
    assert isinstance(batch, Batch)
    assert (batch.number, batch.groups, batch.common) == (1, "random", ())
    assert all(manifest.sensitive[name].cases is None for name in SET)
    assert manifest.sensitive["month"].cases is not None
    cases = cases_of(table, folder, SET)
    assert batch.cases == pytest.approx(len(cases), rel=0.02)
    domains = [manifest.sensitive[name].domain for name in SET]
    listed = {
        (domains[0][one], domains[1][two]): count
        for one, two, count in zip(*batch.vectors, batch.counts, strict=True)
    }
    exact = Counter(next(iter(vectors)) for vectors in cases.values())
    assert set(listed) == set(exact)
    rows = Counter(rows_of(published(folder), SET))
    for vector, count in listed.items():
        assert 1 <= count <= rows[vector]
        assert abs(count - exact[vector]) <= max(12, 0.3 * exact[vector] ** 0.5)
    rows_per_case = np.array(list(Counter(rows_of(table, ("patient", *SET))).values()), float)
    effect = (rows_per_case**2).sum() / rows_per_case.sum()
    assert effect <= batch.design_effect < effect * (1 + 0.5 / rows_per_case.size**0.5)
    assert "patient" not in (folder / "manifest.json").read_text().lower()
    assert not cv.verify(folder)


def test_the_promise_is_said_of_vectors(folder: Path) -> None:
    text = " ".join(json.loads((folder / "manifest.json").read_text())["statement"])
    assert (
        "the same value of a protected column, or the same values of all columns that are" in text
    )
    assert "diagnosis and ward together, about" in text
    assert "k cases of one person, which hide behind each other" in text
    assert "Rows that agree in one of the columns together, and not in all" in text
    # What is said of a combination that a single row has is said of a single case.
    (entry,) = Manifest.from_json((folder / "manifest.json").read_text()).batches
    cases = entry.drawn[0].cases
    assert f"grow by a factor of about {1 + cases / (ELL - 1):,.0f}," in text
    page = (folder / "report.html").read_text()
    assert "Persons have several rows." in page
    assert ">cases</th>" in page


def test_the_paragraph_where_all_columns_are_together() -> None:
    text = several_rows({"a": 10, "b": 10}, [("a", "b")])
    assert "a person with the same values of all columns that are published together" in text
    assert "(about 10 for a and b together)" in text
    alone = several_rows({"a": 10})
    assert "together" not in alone
    assert "with the same value of a protected column are one case (about 10 for a)" in alone


def test_a_group_with_a_person_twice_is_told_to_the_publisher_alone(tmp_path: Path) -> None:
    """Two persons with ten values each, in groups of four: somebody is twice in each."""
    values = [f"v{number}" for number in range(10)] * 4
    table = pa.table({"who": ["A", "B"] * 20, "what": sorted(values)})
    with pytest.warns(UserWarning, match=r"\d+ of 20 cases of 'what' share a group") as warned:
        cv.publish(table, {"what": 4}, tmp_path / "r", person="who", keep="what")
    assert "k - 1 decoys less" in str(warned[0].message)
    content = (tmp_path / "r" / "manifest.json").read_text()
    assert "of 20 cases" not in content
    assert "the person has k - 1 decoys less" in content
