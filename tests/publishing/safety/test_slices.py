"""Parts of a table in which a value is certain are found; what chance makes is not."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.publishing.safety import find_slices, slice_sentence
from countveil.publishing.safety.slices import Slice, SliceGiveaway, is_above
from countveil.tables.encoded.survey import CodedColumn

ROWS = 4_000


def coded(values: Any, missing: int = 0) -> CodedColumn:
    """Codes from 0 without gaps; with `missing`, 0 means none."""
    codes = np.asarray(values, np.int64)
    examples = [f"v{code}" for code in range(int(missing > 0), int(codes.max()) + 1)]
    return CodedColumn(codes, missing, examples)


def drawn(n_values: int, seed: int, rows: int = ROWS) -> NDArray[np.int64]:
    return np.random.default_rng(seed).integers(0, n_values, rows)


def found(target: Any, **columns: Any) -> dict[tuple[str, ...], SliceGiveaway]:
    coded_columns = {
        name: values if isinstance(values, CodedColumn) else coded(values)
        for name, values in columns.items()
    }
    target = target if isinstance(target, CodedColumn) else coded(target)
    return {one.columns: one for one in find_slices(coded_columns, "secret", target)}


def test_no_medication_at_all_means_no_insulin() -> None:
    """A quarter of the rows are certain, though on average the column says little."""
    treated = drawn(4, 1) > 0
    insulin = np.where(treated, drawn(4, 2), 0)
    giveaways = found(insulin, treated=treated, ward=drawn(6, 3))
    assert list(giveaways) == [("treated",)]
    one = giveaways["treated",]
    assert one.stops
    assert one.belief == 1
    assert one.rows == pytest.approx(float((~treated).mean()))
    assert one.slices[0].where == (("treated", "v0"),)
    assert "'treated' make 'secret' nearly certain" in slice_sentence(one)
    assert "v0" not in slice_sentence(one), "values are for inspect alone"


def test_values_leave_only_on_request() -> None:
    treated = drawn(4, 1) > 0
    columns = {"treated": coded(treated)}
    target = coded(np.where(treated, drawn(4, 2), 0))
    (hidden,) = find_slices(columns, "secret", target, with_values=False)
    assert hidden.slices[0].where == (("treated", ...),)
    assert hidden.stops
    assert "v0" not in repr(hidden)


def test_values_of_one_column_are_added_up() -> None:
    """Each age of a child is a small slice; all of them together are a fifth of the table."""
    age = drawn(20, 1)
    job = np.where(age < 4, 0, 1 + drawn(9, 2))
    giveaway = found(job, age=age)["age",]
    assert giveaway.stops
    assert {one.where[0][1] for one in giveaway.slices} == {"v0", "v1", "v2", "v3"}
    assert giveaway.rows == pytest.approx(float((age < 4).mean()))


def test_two_columns_together() -> None:
    one, two = drawn(4, 1), drawn(4, 2)
    secret = np.where((one == 2) & (two == 3), 5, drawn(6, 3))
    giveaways = found(secret, one=one, two=two, other=drawn(3, 4))
    assert list(giveaways) == [("one", "two")]
    assert giveaways["one", "two"].slices[0].where == (("one", "v2"), ("two", "v3"))


def test_a_pair_is_not_named_for_what_one_column_does() -> None:
    treated = drawn(4, 1) > 0
    insulin = np.where(treated, drawn(4, 2), 0)
    assert list(found(insulin, treated=treated, sex=drawn(2, 3), ward=drawn(3, 4))) == [
        ("treated",)
    ]


@pytest.mark.few(5)
@pytest.mark.parametrize("seed", range(10))
def test_chance_is_not_a_finding(seed: int) -> None:
    """Thousands of slices, single and paired; in hundreds of those with few rows all agree.

    A slice of 120 rows, the least that counts, has nine tenths alike of what a coin decides with
    probability exp(-44): below 1e-15 for all of them together.
    """
    columns = {f"x{n}": drawn(3 + 5 * n, 100 * seed + n) for n in range(12)}
    secret = drawn(2, 100 * seed + 99)
    agree = 0
    for one, two in itertools.combinations(columns.values(), 2):
        cells = np.unique(one * 100 + two, return_inverse=True)[1]
        heads, rows = np.bincount(cells, secret), np.bincount(cells)
        agree += int(((heads == 0) | (heads == rows)).sum())
    assert agree > 100
    assert found(secret, **columns) == {}


def test_twelve_rows_that_agree_are_not_certain() -> None:
    rare = np.where(np.arange(ROWS) < 12, 1, 0)
    secret = np.where(np.arange(ROWS) < 12, 0, drawn(2, 1))
    assert found(secret, rare=rare) == {}


def test_what_nearly_everybody_has_is_no_news() -> None:
    common = np.where(drawn(100, 1) < 95, 0, 1)
    sex = drawn(2, 2)
    assert found(np.where(sex == 1, 0, common), sex=sex) == {}


def test_nearly_certain_is_a_warning() -> None:
    treated = drawn(4, 1) > 0
    insulin = np.where(treated | (drawn(100, 5) < 3), drawn(4, 2), 0)
    giveaway = found(insulin, treated=treated)["treated",]
    assert not giveaway.stops
    assert 0.95 < giveaway.belief < 0.99


def test_that_a_value_is_missing_is_a_warning() -> None:
    child = drawn(4, 1) == 0
    job = coded(np.where(child, 0, 1 + drawn(6, 2)), missing=int(child.sum()))
    giveaway = found(job, child=child)["child",]
    assert not giveaway.stops
    assert giveaway.slices[0].missing
    marked = CodedColumn(job.codes, 0, ["?", *(f"job {n}" for n in range(6))])
    assert not found(marked, child=child)["child",].stops
    meant = CodedColumn(job.codes, 0, ["none", *(f"drug {n}" for n in range(6))])
    assert found(meant, child=child)["child",].stops, "no drug is an answer"


def test_a_column_with_very_many_values() -> None:
    """Only its frequent values are slices, and a sample keeps none of their names."""
    income = np.where(drawn(5, 1) == 0, 0, 1 + drawn(3_000, 2))
    job = np.where(income == 0, 0, 1 + drawn(9, 3))
    codes = np.unique(income, return_inverse=True)[1].astype(np.int64)
    column = CodedColumn(codes, 0, list(range(1_000)))
    giveaway = found(job, income=column)["income",]
    assert giveaway.slices[0].where == (("income", ...),)


def test_the_bound_is_that_of_chernoff() -> None:
    """With n of n alike, a share of p or less has probability p^n at most."""
    full, needed = np.ones(3), np.full(3, 0.9)
    rows = np.array([50, 131, 200])
    doubt = float(-np.log(1e-6))
    assert is_above(full, rows, needed, doubt).tolist() == [
        bool(0.9**n <= 1e-6) for n in rows.tolist()
    ]
    assert not is_above(np.array([0.89]), np.array([10**6]), needed[:1], doubt).any()


def test_what_stops() -> None:
    def one(rows: float, belief: float) -> SliceGiveaway:
        part = Slice((("a", 1),), missing=False, rows=rows, belief=belief, usual=0.3)
        return SliceGiveaway(("a",), "s", rows, belief, (part,))

    assert one(0.05, 0.99).stops
    assert not one(0.049, 1.0).stops
    assert not one(0.5, 0.98).stops
