"""What one column says about itself, by its name and its values: an identifier? sensitive?

Enters: a column's name, kind, how many rows and different values it has, and some of the values.
Leaves: a `Suspicion` with its reason in words. Must not know: other columns (`persons.py` does). No
value is quoted.

A name alone is enough only where it can hardly mean anything else, and where the column has more
than a handful of values: `phone_service` with yes and no is nobody's number. Everything else needs
many values beside the name. Measurements and counts have many values too; what tells them from
numbers of persons is said at each rule. `benchmarks/identifiers.py` measures how often it is right.
"""

from __future__ import annotations

import itertools
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.publishing.safety import patterns
from countveil.publishing.safety import vocabulary as words
from countveil.release.values import NUMBER, TEXT
from countveil.tables.encoded.survey import CodedColumn

DIRECT, PERSON, POSTCODE = "direct identifier", "person number", "postcode"
BIRTH, DEATH = "date of birth", "date of death"
ITS_NAME = "its name says so"

_FEW = 10
_LEAST_VALUES = 30
_MANY, _HALF, _FIFTH, _ALL = 0.05, 0.5, 0.2, 0.95
# On average, a person has at most this many rows, and a fine postcode too.
MOST_ROWS_EACH = 100
# As many as there are years of birth; classes of years have fewer.
_YEARS = 120
# Letters that are not a plain letter and an accent.
_LETTERS: dict[int, str | int | None] = {
    ord("ø"): "o", ord("ł"): "l", ord("æ"): "ae", ord("ß"): "ss", ord("đ"): "d",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Facts:
    """One column: `rows` with a known value, different values, and up to a thousand of these.

    `rows_each` says how many rows have each of the examples.
    """

    name: str
    kind: str
    rows: int
    distinct: int
    examples: Sequence[Any]
    rows_each: NDArray[np.int64]

    @classmethod
    def of(cls, name: str, kind: str, coded: CodedColumn) -> Facts:
        """The facts of a column of a sample."""
        first = int(coded.missing > 0)
        counts = np.bincount(coded.codes, minlength=first + coded.distinct)[first:]
        places = np.linspace(0, max(counts.size - 1, 0), len(coded.examples)).astype(np.int64)
        rows = coded.codes.size - coded.missing
        return cls(name, kind, rows, coded.distinct, coded.examples, counts[places])

    @property
    def differing(self) -> float:
        """The share of rows in which a value is a new one."""
        return self.distinct / max(self.rows, 1)

    @property
    def is_label(self) -> bool:
        """Whether the values could name somebody: whole numbers, and texts that are no decimals."""
        if self.kind not in (NUMBER, TEXT) or patterns.dates_in(self.examples):
            return False
        if self.kind == NUMBER:
            return all(isinstance(patterns.whole(value), int) for value in self.examples)
        return not patterns.are_decimals([str(value) for value in self.examples])

    @property
    def is_number(self) -> bool:
        """Whether the values are as short as the numbers of persons are, not sentences."""
        texts = [str(value) for value in self.examples]
        return self.is_label and sum(" " in text.strip() for text in texts) <= _HALF * len(texts)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """What a column looks like (`kind`), and why. `named`: its name alone says so."""

    kind: str
    reason: str
    named: bool = False


def suspicion(facts: Facts) -> Suspicion | None:
    """Why name and values of this column look like an identifier's; None if they do not."""
    if not facts.distinct:
        return None
    return _by_name(facts) or _by_values(facts)


def _by_name(facts: Facts) -> Suspicion | None:
    parts = words_of(facts.name)
    kind = _kind_of_few(facts, parts)
    labels = facts.distinct >= _LEAST_VALUES and (facts.is_label or _names_place(parts))
    if not kind and labels:
        kind = _kind_of_many(facts, parts)
    if not kind and labels and facts.differing >= _MANY and _names_often(parts):
        reason = f"{ITS_NAME}, and it has a different value in {facts.differing:.0%} of the rows"
        return Suspicion(DIRECT, reason)
    return Suspicion(kind, ITS_NAME, named=True) if kind else None


def _kind_of_few(facts: Facts, parts: Sequence[str]) -> str:
    """What a column is called that need not have many values, nor labels."""
    mostly_new = facts.differing >= _HALF
    if (facts.distinct >= _FEW or mostly_new) and _names_direct(parts):
        return DIRECT
    fine = facts.distinct > _YEARS or (mostly_new and facts.distinct >= _LEAST_VALUES)
    return _named_date(parts) if fine else ""


def _kind_of_many(facts: Facts, parts: Sequence[str]) -> str:
    """What a column of many labels is called."""
    few_rows_each = facts.rows <= MOST_ROWS_EACH * facts.distinct
    if few_rows_each and _names_postcode(parts):
        return POSTCODE
    together, apart = _names_person(parts)
    return PERSON if together or (apart and few_rows_each) else ""


def _by_values(facts: Facts) -> Suspicion | None:
    if facts.distinct < _LEAST_VALUES:
        return None
    texts = [str(value).strip() for value in facts.examples] if facts.kind == TEXT else []
    if texts and (what := patterns.identifier_pattern(texts)):
        return Suspicion(DIRECT, f"its values look like {what}")
    if days := patterns.dates_in(facts.examples):
        known = np.array([day is not None for day in days])
        births = [day for day in days if day is not None]
        if patterns.could_be_births(births, facts.rows_each[known], facts.distinct):
            return Suspicion(BIRTH, "its dates are spread over many decades, and none is to come")
    elif facts.is_label and (rule := patterns.check_digit(facts.examples)):
        return Suspicion(DIRECT, f"its numbers have a check digit ({rule})")
    return _by_words(facts, texts) if texts and not days else None


def _by_words(facts: Facts, texts: Sequence[str]) -> Suspicion | None:
    if facts.rows >= MOST_ROWS_EACH * facts.distinct:
        return None
    if patterns.are_postcodes(texts):
        return Suspicion(POSTCODE, "its values look like postcodes")
    if facts.differing >= _MANY and patterns.are_names(texts):
        return Suspicion(DIRECT, "its values look like personal names")
    return None


def uniqueness(facts: Facts) -> Suspicion | None:
    """Why a column looks like an identifier because its values hardly repeat."""
    if facts.distinct < _LEAST_VALUES or not facts.is_label:
        return None
    reason = f"it has a different value in {facts.differing:.0%} of the rows"
    several = facts.distinct >= patterns.LEAST_NUMBERS
    if facts.kind == TEXT:
        many = facts.differing > _ALL or (facts.differing >= _HALF and several)
        return Suspicion(DIRECT, reason) if many else None
    numbers = np.array([float(value) for value in facts.examples])
    if facts.differing > _ALL:
        return None if patterns.looks_measured(numbers) else Suspicion(DIRECT, reason)
    if facts.differing >= _FIFTH and several and patterns.looks_issued(numbers):
        reason += ", its numbers are equally long and end in all digits alike"
        return Suspicion(DIRECT, reason)
    return None


def _names_direct(parts: Sequence[str]) -> bool:
    joined = "".join(parts)
    if words.PROPERTIES & set(parts) and not {"number", "name"} & set(parts):
        return False
    if joined in words.WHOLE_NAMES or set(parts) & words.DIRECT:
        return True
    return any(part in joined for part in words.DIRECT_PARTS)


def _named_date(parts: Sequence[str]) -> str:
    """A date of birth or death, if that is what a column is called."""
    joined, last = "".join(parts), parts[-1] if parts else ""
    if any(part in joined for part in words.DEATH_PARTS):
        return DEATH
    dated = {"date", "day", "datum", "dt", "d"} | words.BIRTHS
    named = bool(set(parts) & words.BIRTHS) and (last in dated or len(parts) == 1)
    return BIRTH if named or any(part in joined for part in words.BIRTH_PARTS) else ""


def _names_postcode(parts: Sequence[str]) -> bool:
    joined = "".join(parts)
    if joined in words.WHOLE_POSTCODES or set(parts) & words.POSTCODES:
        return True
    return any(part in joined for part in words.POSTCODE_PARTS)


def _names_person(parts: Sequence[str]) -> tuple[bool, bool]:
    """Whether a person and a number stand together, and whether the name means persons at all."""
    pairs = list(itertools.pairwise(parts))
    together = any(
        (one in words.PERSONS and two in words.NUMBERS)
        or (one in words.NUMBERS and two in words.PERSONS)
        for one, two in pairs
    ) or any(_glued(part, words.PERSONS, words.NUMBERS) for part in parts)
    alone = len(parts) == 1 and parts[0] in words.PERSONS | words.WHOLE_NUMBERS
    kinds = bool(set(parts) & words.PERSONS) and bool(parts) and parts[-1] in words.BARE_NUMBERS
    return together, alone or kinds


def _names_place(parts: Sequence[str]) -> bool:
    """Coordinates are no labels, and still somebody's address."""
    return bool({"lat", "lon", "lng", "latitude", "longitude", "gps"} & set(parts))


def _names_often(parts: Sequence[str]) -> bool:
    if set(parts) & words.OFTEN_DIRECT:
        return True
    last = parts[-1] if parts else ""
    if last in words.BARE_NUMBERS or set(parts) & (words.BARE_NUMBERS - words.COUNTS):
        return True
    return any(_glued(part, words.EVENTS, words.NUMBERS) for part in parts) or _ends_in_id(last)


def _ends_in_id(word: str) -> bool:
    return len(word) > 2 and word.endswith("id") and word not in words.NOT_IDS


def _glued(word: str, first: frozenset[str], second: frozenset[str]) -> bool:
    """`patientid`, `dupersid`, `kundennr`, `idpaciente`: two words written as one."""
    for cut in range(2, len(word) - 1):
        one, two = word[:cut], word[cut:]
        if two in second and (one in first or any(one.endswith(f) for f in first if len(f) > 3)):
            return True
        if one in second - words.COUNTS and two in first:
            return True
    return False


def words_of(name: str) -> list[str]:
    """The words of a column name: patient_id, PatientId and "patient id" have the same."""
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name)
    folded = spaced.lower().translate(_LETTERS)
    plain = "".join(
        c for c in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(c)
    )
    return [word for word in re.split(r"[^a-z0-9]+", plain) if word]


def sounds_sensitive(name: str) -> bool:
    """Whether a column of this name usually holds what people want to keep private."""
    return bool(words.SENSITIVE & set(words_of(name)))
