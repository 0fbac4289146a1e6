"""Numbers of persons found by behaviour: a value comes back, and brings the same person with it.

Enters: a sample of the table as codes. Leaves: the columns whose rows with the same value agree in
other columns (sex, year of birth) far more than other rows do; for every suspected column, how many
rows a value has. Must not know: names of columns mean nothing here, and values even less.

**How it is measured.** Sort the rows by the column. Two rows next to each other either share its
value (a pair of the same person, if it is a person's number) or have neighbouring values. For each
other column: how often do pairs with the same value agree, and how often do pairs of neighbouring
values, or any two rows of the table? The share of the way from the latter to certainty is what the
value brings with it. An income brings its own decile with it, but so does the next larger income; a
person's number brings the person's sex, and the next number does not. Cities bring their country
with them, but the largest has a large share of the rows, and nobody has; terms without a digit
bring their chapter, so they must bring two things that do not follow from each other.

In a sample of a larger table, values that come back are rarer, and sorting the table by persons
can hide them all from an evenly spread sample; then the column has a new value in nearly every
sampled row, which is found as well, and the whole table is counted.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from countveil.errors import option
from countveil.publishing.safety.identifiers import (
    BIRTH,
    DEATH,
    DIRECT,
    MOST_ROWS_EACH,
    PERSON,
    POSTCODE,
    Suspicion,
)
from countveil.tables.encoded.survey import CodedColumn, Repeats

Codes = NDArray[np.int64]

_LEAST_VALUES, _LEAST_PAIRS = 100, 50
_MOST_EACH = 25
# Nobody has more rows than this, or than this share of the table.
_MOST_OF_ONE, _MOST_SHARE = 100, 0.005
_BRINGS, _BRINGS_CLEARLY = 0.9, 0.95
# A column in which nearly all rows agree shows nothing.
_MOST_COMMON = 0.9
_MOST_CANDIDATES, _MOST_OTHERS = 24, 60


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


def steady_columns(
    sample: Mapping[str, CodedColumn], candidates: Sequence[str]
) -> dict[str, Steady]:
    """Those of the candidates that behave like numbers of persons."""
    found = {}
    several = [name for name in candidates if _comes_back(_known(sample[name]))]
    for name in several[:_MOST_CANDIDATES]:
        in_words = not any(map(str.isdigit, "".join(map(str, sample[name].examples[:50]))))
        known = sample[name].codes >= int(sample[name].missing > 0)
        # A column with nearly as many values says the same in other words.
        coarser = [other for other in sample if 2 * sample[other].distinct <= sample[name].distinct]
        others = {other: sample[other].codes[known] for other in coarser[:_MOST_OTHERS]}
        steady = _steady(sample[name].codes[known], others)
        if steady is not None and not (in_words and _nested(sample[name].codes, steady, sample)):
            found[name] = steady
    return found


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
    few = counts.size >= _LEAST_VALUES and codes.size <= _MOST_EACH * counts.size
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


def with_repeats(
    found: Suspicion, repeats: Repeats, rows: int, whole_rows: int
) -> Suspicion | None:
    """The suspicion with how many rows a value has in the whole table; None if that refutes it.

    `rows` is how many rows were looked at.
    """
    known = whole_rows - repeats.missing
    each = known / max(repeats.different, 1)
    if rows < whole_rows and each > MOST_ROWS_EACH and not found.named:
        # In a sample it looked rarer than it is.
        return None
    kind = found.kind
    if kind == PERSON and repeats.most <= 1:
        # Nobody has several rows: it says who somebody is, and no more.
        kind = DIRECT
    elif kind == DIRECT and not found.named and rows < whole_rows:
        # Unique in a sample, but not in the table: a person's rows are far apart.
        kind = PERSON if known >= 1.2 * repeats.different else DIRECT
    figures = f"{repeats.different:,} different values, {each:,.1f} rows each on average"
    if repeats.most > 1:
        figures += f", at most {repeats.most:,}"
    reason = f"{found.reason} ({figures})"
    return replace(found, kind=kind, reason=reason)


def remedy(name: str, kind: str) -> str:
    """What can be done with such a column, besides leaving it out or keeping it."""
    if kind == PERSON:
        return (
            f", by which rows of one person can be put together ({option('person', name)} leaves "
            f"it out, and checks that everybody has one row)"
        )
    if kind in (BIRTH, DEATH):
        return f", which {option('bins', {name: 'year'})} would make coarser"
    if kind == POSTCODE:
        return f", which {option('levels', {name: 'prefix:2'})} would make coarser"
    return ""
