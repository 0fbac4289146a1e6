"""The list of planted mistakes fits the code: a stale one would be noticed by everything."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest

from tools.mutants.planting import PACKAGE, ROOT, Mutant, Nursery, planted_mutants
from tools.mutants.trying import CAUGHT, SURVIVED, Outcome, Outcomes, attempt

MUTANTS = planted_mutants()
# Rooms that decide what is published of a person, and what is concluded from it.
ROOMS = {
    "asking", "channel", "engines", "estimate", "groups", "guarantees", "mechanism", "publishing",
    "randomness", "release", "sql", "tables",
}  # fmt: skip


def test_there_are_enough_of_them_in_every_room_that_matters() -> None:
    assert len(MUTANTS) >= 100
    assert {mutant.room for mutant in MUTANTS} >= ROOMS
    assert max(Counter(mutant.name for mutant in MUTANTS).values()) == 1
    assert len({mutant.edited for mutant in MUTANTS}) == len(MUTANTS)


@pytest.mark.few(5)
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda mutant: mutant.name)
def test_each_is_one_small_edit_with_its_harm(mutant: Mutant) -> None:
    assert mutant.source.count(mutant.before) == 1, "the edit does not fit its file any more"
    ast.parse(mutant.edited)
    assert mutant.edited != mutant.source
    assert len(mutant.harm.split()) >= 5
    assert mutant.harm.endswith(".")
    assert mutant.tests
    for name in mutant.tests:
        assert (ROOT / name.partition("::")[0]).exists(), name


def one_of(room: str) -> Mutant:
    return next(mutant for mutant in MUTANTS if mutant.room == room)


def test_outcomes_are_kept_until_something_changes(tmp_path: Path) -> None:
    mutant, path = one_of("tables"), tmp_path / "build" / "mutants.json"
    assert Outcomes(path).get(mutant) is None
    Outcomes(path).put(mutant, Outcome(CAUGHT, "a test"))
    assert Outcomes(path).get(mutant) == Outcome(CAUGHT, "a test")
    other = Mutant(**{**vars(mutant), "after": mutant.after + " "})
    assert Outcomes(path).get(other) is None


@pytest.mark.slow
def test_a_mistake_is_noticed_and_a_harmless_edit_is_not(tmp_path: Path) -> None:
    """In a copy: the package itself stays as it is."""
    before = (PACKAGE / "tables/classes.py").read_text(encoding="utf-8")
    nursery = Nursery(tmp_path)
    mutant = next(m for m in MUTANTS if m.name == "edge-in-the-class-below")
    harmless = Mutant(**{**vars(mutant), "after": f"{mutant.before}  # as it is"})
    for planted, expected in ((mutant, CAUGHT), (harmless, SURVIVED)):
        with nursery.planted(planted):
            outcome = attempt(planted, tmp_path, by_audit=False)
        assert outcome.result == expected, outcome.by
    assert (PACKAGE / "tables/classes.py").read_text(encoding="utf-8") == before
    assert (tmp_path / "countveil/tables/classes.py").read_text(encoding="utf-8") == before
