"""Which columns say who somebody is: by their names, their values, and what comes back with these.

Enters: a column's name, kind, how many rows and different values it has, and some of the values;
for numbers of persons, a sample of the table as codes. Leaves: a `Suspicion` with its reason in
words, a `Steady` with figures. Must not know: what becomes of a suspected column. No value is
quoted.

**By name and values.** A name alone is enough only where it can hardly mean anything else, and
where the column has more than a handful of values: `phone_service` with yes and no is nobody's
number. Everything else needs many values beside the name. Measurements and counts have many values
too; what tells them from numbers of persons is said at each rule. `benchmarks/identifiers.py`
measures how often it is right.

**By behaviour.** A person's number comes back, and brings the same person with it. Sort the rows by
the column. Two rows next to each other either share its value (a pair of the same person, if it is
a person's number) or have neighbouring values. For each other column: how often do pairs with the
same value agree, and how often do pairs of neighbouring values, or any two rows of the table? The
share of the way from the latter to certainty is what the value brings with it. An income brings its
own decile with it, but so does the next larger income; a person's number brings the person's sex,
and the next number does not. Cities bring their country with them, but the largest has a large
share of the rows, and nobody has; terms without a digit bring their chapter, so they must bring two
things that do not follow from each other.

In a sample of a larger table, values that come back are rarer, and sorting the table by persons
can hide them all from an evenly spread sample; then the column has a new value in nearly every
sampled row, which is found as well, and the whole table is counted.
"""

from __future__ import annotations

import functools
import itertools
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.publishing.safety import patterns
from countveil.publishing.safety import vocabulary as words
from countveil.release.values import NUMBER, TEXT
from countveil.tables.encoded.survey import CodedColumn

Codes = NDArray[np.int64]

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
# Numbers of persons, by behaviour: how many values, and how many pairs of rows with the same one.
_LEAST_PERSONS, _LEAST_PAIRS = 100, 50
_MOST_EACH = 25
# Nobody has more rows than this, or than this share of the table.
_MOST_OF_ONE, _MOST_SHARE = 100, 0.005
_BRINGS, _BRINGS_CLEARLY = 0.9, 0.95
# A column in which nearly all rows agree shows nothing.
_MOST_COMMON = 0.9
_MOST_CANDIDATES, _MOST_OTHERS = 24, 60
# Letters that are not a plain letter and an accent.
_LETTERS: dict[int, str | int | None] = {
    ord("ø"): "o", ord("ł"): "l", ord("æ"): "ae", ord("ß"): "ss", ord("đ"): "d",
}  # fmt: skip


@dataclass(frozen=True)
class Facts:
    """One column: `rows` with a known value, different values, and up to a thousand of these.

    `rows_each` says how many rows have each of the examples.
    """

    name: str
    kind: str
    rows: int
    distinct: int
    examples: Sequence[Any]
    rows_each: Codes

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

    @functools.cached_property
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


@dataclass(frozen=True, slots=True)
class Steady:
    """A column whose value comes back with the same values of `others`; `agree` of such pairs do.

    `by_chance` is the share among other pairs of rows, for the column in which the two differ most.
    """

    others: tuple[str, ...]
    agree: float
    by_chance: float

    @property
    def reason(self) -> str:
        """In words."""
        listed = ", ".join(map(repr, self.others[:3]))
        more = f" and {len(self.others) - 3} more columns" if len(self.others) > 3 else ""
        return (
            f"rows with the same value agree in {listed}{more} ({self.agree:.0%} of such pairs; of "
            f"others {self.by_chance:.0%})"
        )


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


def steady_columns(
    sample: Mapping[str, CodedColumn], candidates: Sequence[str]
) -> dict[str, Steady]:
    """Those of the candidates that behave like numbers of persons."""
    steady_ones = {}
    several = [name for name in candidates if _comes_back(_known(sample[name]))]
    for name in several[:_MOST_CANDIDATES]:
        in_words = not any(map(str.isdigit, "".join(map(str, sample[name].examples[:50]))))
        known = sample[name].codes >= int(sample[name].missing > 0)
        # A column with nearly as many values says the same in other words.
        coarser = [other for other in sample if 2 * sample[other].distinct <= sample[name].distinct]
        others = {other: sample[other].codes[known] for other in coarser[:_MOST_OTHERS]}
        steady = _steady(sample[name].codes[known], others)
        if steady is not None and not (in_words and _nested(sample[name].codes, steady, sample)):
            steady_ones[name] = steady
    return steady_ones


def _nested(codes: Codes, steady: Steady, sample: Mapping[str, CodedColumn]) -> bool:
    """Whether all that a value brings with it is one thing: a term its chapter, a city its country.

    Persons bring several that do not follow from each other: sex and year of birth.
    """
    rows = np.unique(codes, return_index=True)[1]
    for one, two in itertools.combinations(steady.others[:_MOST_CANDIDATES], 2):
        first, second = sample[one].codes[rows], sample[two].codes[rows]
        together = np.unique(first * (int(second.max(initial=0)) + 1) + second).size
        if together > 1.1 * max(np.unique(first).size, np.unique(second).size):
            return False
    return True


def _known(column: CodedColumn) -> Codes:
    return column.codes[column.codes >= int(column.missing > 0)]


def _comes_back(codes: Codes) -> bool:
    """Whether there are many values with several rows each, and none with a large share."""
    counts = np.bincount(codes)
    counts = counts[counts > 0]
    most = max(_MOST_OF_ONE, _MOST_SHARE * codes.size)
    few = counts.size >= _LEAST_PERSONS and codes.size <= _MOST_EACH * counts.size
    return bool(few and counts.max(initial=0) <= most and codes.size - counts.size >= _LEAST_PAIRS)


def _steady(codes: Codes, others: Mapping[str, Codes]) -> Steady | None:
    order = np.argsort(codes, kind="stable")
    same = np.diff(codes[order]) == 0
    brought = {}
    for name, other in others.items():
        equal = np.diff(other[order]) == 0
        agree = float(equal[same].mean())
        shares = np.bincount(other) / other.size
        by_chance = max(float((shares**2).sum()), float(equal[~same].mean()))
        if by_chance <= _MOST_COMMON:
            brought[name] = ((agree - by_chance) / (1 - by_chance), agree, by_chance)
    clear = sorted((n for n in brought if brought[n][0] >= _BRINGS), key=lambda n: -brought[n][0])
    if not clear or (len(clear) < 2 and brought[clear[0]][0] < _BRINGS_CLEARLY):
        return None
    return Steady(tuple(clear), *brought[clear[0]][1:])


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
