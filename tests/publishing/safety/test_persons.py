"""Numbers of persons are found by what comes back with them, whatever they are called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from countveil.publishing.safety import Concerns, find_concerns, with_whole_table
from countveil.publishing.safety.concerns import with_repeats
from countveil.publishing.safety.identifiers import Suspicion
from countveil.tables import Column
from countveil.tables.encoded.survey import CodedColumn, Repeats

ROWS = 6_000


def coded(values: Any) -> CodedColumn:
    different, codes = np.unique(np.asarray(values), return_inverse=True)
    places = np.linspace(0, different.size - 1, min(1_000, different.size)).astype(int)
    return CodedColumn(codes.astype(np.int64), 0, different[places].tolist())


def looked_at(columns: dict[str, Any], rows: int | None = None) -> dict[str, Suspicion]:
    sample = {name: coded(values) for name, values in columns.items()}
    size = next(iter(sample.values())).codes.size
    types = {
        name: "string" if isinstance(np.asarray(values)[0].item(), str) else "int64"
        for name, values in columns.items()
    }
    listed = [Column(name, types[name]) for name in columns]
    return dict(find_concerns(listed, [], rows or size, sample).identifiers)


def visits(most: int, seed: int = 1, wrong: float = 0.0) -> dict[str, NDArray[Any]]:
    """Rows of persons with 1 to `most` rows each: number, sex, year of birth, and what varies."""
    rng = np.random.default_rng(seed)
    times = rng.integers(1, most + 1, ROWS)
    times = times[: int(np.searchsorted(np.cumsum(times), ROWS)) + 1]
    number = rng.permutation(np.arange(3_000, 3_000 + 37 * times.size, 37))
    person = np.repeat(np.arange(times.size), times)[:ROWS]
    sex, year = rng.integers(0, 2, times.size), rng.integers(1930, 2010, times.size)
    change = rng.random(ROWS) < wrong
    rows = rng.permutation(ROWS)
    table = {
        "x": number[person],
        "sex": np.where(change, 1 - sex[person], sex[person]),
        "year": year[person],
        "ward": rng.integers(0, 5, ROWS),
        "lab": rng.integers(0, 40, ROWS),
    }
    return {name: values[rows] for name, values in table.items()}


@pytest.mark.parametrize("most", [2, 5, 20, 40])
@pytest.mark.parametrize("wrong", [0.0, 0.01])
def test_persons_with_one_to_forty_rows(most: int, wrong: float) -> None:
    found = looked_at(visits(most, wrong=wrong))
    assert list(found) == ["x"]
    assert found["x"].kind == "person number"
    assert "agree in" in found["x"].reason
    assert "'year'" in found["x"].reason
    assert f"at most {most}" in found["x"].reason


def test_as_text_and_with_sex_alone() -> None:
    table = visits(8)
    found = looked_at({"x": [f"P{n:06d}" for n in table["x"]], "sex": table["sex"]})
    assert list(found) == ["x"]
    assert found["x"].kind == "person number"


def test_measurements_bring_nobody_with_them() -> None:
    rng = np.random.default_rng(2)
    income = (rng.lognormal(10, 0.5, ROWS) // 10 * 10).astype(int)
    table = {
        "income": income,
        "decile": np.searchsorted(np.quantile(income, np.arange(0.1, 1, 0.1)), income),
        "sex": rng.integers(0, 2, ROWS),
        "glucose": (rng.normal(1_000, 200, ROWS)).astype(int),
        "seconds": rng.integers(0, 4_000, ROWS),
        "code": rng.integers(0, 700, ROWS),
    }
    assert looked_at(table) == {}


def test_places_have_too_large_a_share_to_be_persons() -> None:
    """Cities bring their country with them, but sizes of cities differ by far."""
    rng = np.random.default_rng(3)
    city = np.minimum((rng.pareto(0.7, ROWS) * 3).astype(int), 400)
    country = rng.integers(0, 9, 401)
    table = {"city": city, "country": country[city], "sex": rng.integers(0, 2, ROWS)}
    assert looked_at(table) == {}


def test_terms_bring_their_chapter_with_them() -> None:
    """In words, and however many levels there are above them: they are nobody's numbers."""
    rng = np.random.default_rng(6)
    term = rng.integers(0, 600, ROWS)
    names = ["".join(rng.choice(list("abcdefgh"), 9)) for _ in range(600)]
    group = rng.integers(0, 40, 600)
    table = {
        "term": [names[n] for n in term],
        "group": group[term],
        "chapter": group[term] // 4,
        "sex": rng.integers(0, 2, ROWS),
    }
    assert looked_at(table) == {}
    sex, year = rng.integers(0, 2, 600), rng.integers(0, 80, 600)
    persons = {"term": table["term"], "sex": sex[term], "year": year[term]}
    assert list(looked_at(persons)) == ["term"], "names of persons bring more than one thing"


def test_a_number_that_says_the_same_as_another_is_no_person() -> None:
    """A day in two spellings: each brings the other with it, and nothing else."""
    rng = np.random.default_rng(4)
    day = rng.integers(0, 1_000, ROWS)
    table = {"day": day, "other": 500_000 - 3 * day, "sex": rng.integers(0, 2, ROWS)}
    assert looked_at(table) == {}


def test_a_sample_of_a_larger_table_shows_repeated_persons() -> None:
    """One row in ten: of most persons one row is left, of some two."""
    table = visits(40)
    few = np.random.default_rng(5).permutation(ROWS)[:2_500]
    found = looked_at({name: values[few] for name, values in table.items()}, rows=ROWS)
    assert found["x"].kind == "person number"


def test_the_whole_table_is_counted_where_a_sample_shows_too_little() -> None:
    """An evenly spread sample of a table that is sorted by persons has each person once."""
    found = looked_at({"x": np.arange(7, 7 * 2_000, 7)}, rows=80_000)
    assert found["x"].kind == "direct identifier"
    concerns = Concerns(found, [], rows=2_000)
    asked = []

    def count(name: str) -> Repeats:
        asked.append(name)
        return Repeats(0, 2_000, 40, 2_000)

    complete = with_whole_table(concerns, 80_000, (), count).identifiers["x"]
    assert complete.kind == "person number"
    assert "2,000 different values, 40.0 rows each on average, at most 40" in complete.reason
    assert with_whole_table(concerns, 80_000, ["x"], count).identifiers == found
    assert asked == ["x"], "what is kept is not counted"


def test_a_code_that_only_a_sample_makes_rare_is_let_go() -> None:
    once = Suspicion("direct identifier", "it has a different value in 96% of the rows")
    often = Repeats(0, 5_000, 9_000, 5_000)
    assert with_repeats(once, often, 100_000, 10_000_000) is None
    named = Suspicion("person number", "its name says so", named=True)
    assert with_repeats(named, often, 100_000, 10_000_000) is not None


def test_no_value_is_quoted() -> None:
    table = visits(5)
    reason = looked_at(table)["x"].reason
    assert not any(str(value) in reason for value in table["x"][:50].tolist())
