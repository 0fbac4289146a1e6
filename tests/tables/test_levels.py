"""Coarser codes: prefixes, levels of a hierarchy, one label for all rare values."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import CountveilError, InputError, SettingsError
from countveil.tables import table_options
from countveil.tables.levels import Level, RareMerge, at_level, merge_rare, read_levels
from tests.strategies import examples

HIERARCHY = (
    "value,block,chapter\n250.1,diabetes,endocrine\n250.2,diabetes,endocrine\nV57,rehab,rehab\n"
)


@pytest.fixture
def hierarchy(tmp_path: Path) -> Path:
    path = tmp_path / "icd:9.csv"
    path.write_text(HIERARCHY)
    return path


def test_a_level_by_name_and_by_number(hierarchy: Path) -> None:
    chapter = Level("chapter", {"250.1": "endocrine", "250.2": "endocrine", "V57": "rehab"})
    assert read_levels("d", f"{hierarchy}:chapter") == chapter
    assert read_levels("d", (hierarchy, 2)) == chapter
    assert read_levels("d", "prefix:3") == 3
    headless = hierarchy.with_name("h.csv")
    headless.write_text(HIERARCHY.partition("\n")[2])
    level = read_levels("d", f"{headless}:1")
    assert isinstance(level, Level)
    assert (level.name, level.labels["250.1"]) == ("level 1", "diabetes")


def test_every_value_needs_a_label(hierarchy: Path) -> None:
    level = read_levels("d", (hierarchy, "block"))
    assert isinstance(level, Level)
    assert at_level("d", ["250.1", None, "V57"], level) == ["diabetes", None, "rehab"]
    with pytest.raises(InputError, match=r"1 value\(s\) that the hierarchy does not list") as told:
        at_level("d", ["250.1", "E88"], level)
    assert "E88" not in str(told.value)


@pytest.mark.parametrize(
    ("content", "level"),
    [
        (HIERARCHY, "section"), (HIERARCHY, "3"), ("", "1"), ("value,a\n1,\n", "a"),
        ("1,x\n1,y\n", "1"), ("value,a\n", "a"),
    ],
)  # fmt: skip
def test_hierarchies_that_are_refused(tmp_path: Path, content: str, level: str) -> None:
    path = tmp_path / "h.csv"
    path.write_text(content)
    with pytest.raises(CountveilError):
        read_levels("d", f"{path}:{level}")


@pytest.mark.parametrize("given", ["prefix:0", "prefix", "3", "file.csv", ":3", "prefix:x"])
def test_levels_that_cannot_be_read(given: str) -> None:
    with pytest.raises(SettingsError, match="prefix"):
        read_levels("d", given)


@pytest.mark.parametrize("given", ["rare:many", "rare:", "rare:1", "RARE:-3"])
def test_rare_values_without_a_number(given: str) -> None:
    with pytest.raises(SettingsError, match="rare"):
        RareMerge.parse(given)


def test_rare_values_get_one_label() -> None:
    values, counts = [None, "a", "b", "c", "d"], [2, 100, 49, 50, 1]
    merged, told = merge_rare("x", values, counts, RareMerge(50))
    assert merged == [None, "a", "other", "c", "other"]
    assert dict(told.rows) == {"b": 49, "d": 1}
    assert (
        "2 value(s) of column 'x' with fewer than 50 rows each, 50 rows together" in told.sentence()
    )
    _, nothing = merge_rare("x", ["a"], [100], RareMerge(50))
    assert "nothing was merged" in nothing.sentence()
    _, few = merge_rare("x", ["a", "b"], [100, 3], RareMerge(50))
    assert "still have fewer than 50 rows" in few.sentence()


def test_a_label_that_is_taken_is_refused_unless_it_is_rare_itself() -> None:
    with pytest.raises(SettingsError, match=r"has a value 'other' already.*rare:50:LABEL"):
        merge_rare("x", ["a", "other"], [3, 90], RareMerge(50))
    merged, _ = merge_rare("x", ["a", "other", "z"], [3, 4, 90], RareMerge(50))
    assert merged == ["other", "other", "z"]
    merged, _ = merge_rare("x", ["a", "other"], [3, 90], RareMerge(50, "rest"))
    assert merged == ["rest", "other"]


@examples(100)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(1, 60)))
def test_rows_are_neither_lost_nor_rare(column: dict[str, int]) -> None:
    merged, told = merge_rare("x", list(column), list(column.values()), RareMerge(20, "(rest)"))
    counts: dict[str | None, int] = {}
    for value, rows in zip(merged, column.values(), strict=True):
        counts[value] = counts.get(value, 0) + rows
    assert sum(counts.values()) == sum(column.values())
    assert all(rows >= 20 for value, rows in counts.items() if value != "(rest)")
    assert sum(told.rows.values()) == counts.get("(rest)", 0)


@pytest.mark.parametrize("text", ["rare:1", "rare:0"])
def test_a_rare_value_has_fewer_than_two_rows_at_least(text: str) -> None:
    with pytest.raises(SettingsError, match="from 2 on"):
        table_options(merge={"x": text})


def test_options_that_contradict_each_other(hierarchy: Path) -> None:
    level = f"{hierarchy}:block"
    for options in (
        {"bins": {"x": "month"}, "levels": {"x": "prefix:3"}, "round": {"x": 5}},
        {"bins": {"x": "10"}, "levels": {"x": level}},
        {"bins": {"x": "10"}, "merge": {"x": "rare:50"}},
        {"labels": {"x": {1: "a"}}, "levels": {"x": "prefix:2"}},
        {"person": "a", "one_per": {"b": "any"}},
        {"one_per": {"a": "any", "b": "any"}},
        {"one_per": {"a": "sometimes"}},
        {"one_per": {"a": "first by a"}},
    ):
        with pytest.raises(SettingsError):
            table_options(**options)
