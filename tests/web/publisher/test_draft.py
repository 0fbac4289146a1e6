"""A draft is replaced, never changed; each function is handed what it takes."""

from __future__ import annotations

from inspect import signature

import pytest

import countveil as cv
from countveil.tables.options import SourceOptions
from countveil.web.publisher.draft import TAKEN, Draft

DRAFT = Draft("t.csv", sensitive={"job": 5, "pay": 3}, keep=("zip",), reasons={"zip": "coarse"})


@pytest.mark.parametrize("function", TAKEN)
def test_a_function_is_handed_only_what_it_takes(function: str) -> None:
    takes = {*signature(getattr(cv, function)).parameters, *SourceOptions.__annotations__}
    assert {*TAKEN[function]} <= takes


def test_defaults_are_not_written() -> None:
    assert Draft("t.csv").arguments("inspect") == {}
    assert Draft("t.csv", reading={"header": True}).arguments("inspect") == {"header": True}
    assert Draft("t.csv", reading={"header": False}).arguments("inspect") == {"header": False}
    assert DRAFT.arguments("publish") == {
        "sensitive": {"job": 5, "pay": 3}, "keep": ["zip"], "reasons": {"zip": "coarse"},
    }  # fmt: skip
    assert DRAFT.arguments("advise") == {"sensitive": ["job", "pay"], "accuracy": "1%:10%"}


def test_a_column_has_one_role() -> None:
    draft = Draft("t.csv").with_role("a", "protect")
    assert draft.sensitive == {"a": None}
    assert not draft.complete
    for role in ("drop", "person", "publish", "protect"):
        draft = draft.with_role("a", role)
        assert draft.role("a") == role
        assert [draft.role("a")] == [role]
        assert ("a" in draft.drop, draft.person == "a") == (role == "drop", role == "person")


def test_another_role_takes_the_reason_along() -> None:
    assert DRAFT.with_role("zip", "drop").arguments("publish").get("reasons") is None
    assert DRAFT.with_role("zip", "publish").keep == ("zip",)


def test_random_groups_are_for_all_columns() -> None:
    draft = DRAFT.with_method("job", "common", 4, None)
    assert (draft.method("job"), draft.method("pay")) == ("common", "mixed")
    draft = draft.with_method("pay", "random", 6, 20.0)
    assert (draft.method("job"), draft.method("pay"), draft.odds) == ("random", "random", 20.0)
    assert draft.arguments("publish")["groups"] == "random"
    assert "common" not in draft.arguments("publish")


def test_another_table_begins_anew_and_another_way_to_read_does_not() -> None:
    assert DRAFT.of_table("u.csv", {}).sensitive == {}
    assert DRAFT.of_table("t.csv", {"encoding": "latin-1"}).sensitive == DRAFT.sensitive


def test_an_empty_text_is_no_option() -> None:
    draft = DRAFT.with_texts("age", {"bins": "5", "merge": ""})
    assert draft.texts("age") == {"bins": "5"}
    assert draft.with_texts("age", {"bins": ""}).by_column == {}
