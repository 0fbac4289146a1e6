"""What must stop a publication: identifiers, and columns that give a sensitive value away.

Enters: a sample of the table as it would be published, as codes (equal values, equal codes, in the
order of the values), the sensitive columns, what the publisher knowingly keeps. Leaves: `Concerns`
with measured figures, and the error that stops. Must not know: files, engines, how anything is
published.

**How a giveaway is measured.** Guess a row's sensitive value as the most frequent one among the
*other* rows with the same value of the column; where there is no other row, as the most frequent
one of all. The share of right guesses beyond what guessing the most frequent value of all would
give is what the column gives away: 1 for a code beside its name, about 0 for an unrelated column. A
column with many ordered values (a birth date beside an age class) is also tried with its
neighbours: where the rows with the next smaller and the next larger value agree, their value is the
guess.

In a sample of a larger table, a value that occurs once shows nothing; there the share is among the
rows whose value occurs more than once.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.errors import UnsafeError, option
from countveil.publishing.safety.identifiers import identifier_reason
from countveil.release.values import kind_of
from countveil.tables import Column
from countveil.tables.encoded.survey import CodedColumn

Codes = NDArray[np.int64]

STOPPING, NOTEWORTHY = 0.8, 0.5
LEAST_ROWS = 30
_MOST_PAIRED = 16
_PAIR_ROWS = 20_000
_LEAST_ORDERED = 20
_SHORT_TABLE = 8
# Columns times rows that are looked at, and the least rows of a wide table.
_MOST_CELLS, _LEAST_SAMPLE, MOST_SAMPLE = 20_000_000, 2_000, 100_000
_MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class Giveaway:
    """One or two columns, the sensitive column, and the share of rows whose value is then known.

    `beyond` is that share beyond guessing: 0 for an unrelated column, 1 for a code beside its name.
    """

    columns: tuple[str, ...]
    sensitive: str
    known: float
    beyond: float

    @property
    def stops(self) -> bool:
        """Whether publishing them together would be careless."""
        return self.beyond >= STOPPING


@dataclass(frozen=True, slots=True)
class Concerns:
    """Columns that look like identifiers, with the reason, and columns that give values away."""

    identifiers: Mapping[str, str]
    giveaways: Sequence[Giveaway]


def sample_size(n_columns: int) -> int:
    """How many rows to look at in a table with this many columns."""
    return max(_LEAST_SAMPLE, min(MOST_SAMPLE, _MOST_CELLS // max(n_columns, 1)))


def find_concerns(
    columns: Sequence[Column],
    sensitive: Sequence[str],
    rows: int,
    sample: Mapping[str, CodedColumn],
) -> Concerns:
    """The concerns about the columns that would be published."""
    sampled = [column for column in columns if column.name in sample]
    identifiers = {}
    for column in sampled:
        coded = sample[column.name]
        reason = identifier_reason(
            column.name, kind_of(column.type), coded.codes.size, coded.distinct, coded.examples
        )
        if reason and column.name not in sensitive:
            identifiers[column.name] = reason
    giveaways: list[Giveaway] = []
    for name in sensitive:
        # An identifier is a concern already; its values repeat too little to be measured.
        others = {
            column.name: sample[column.name].codes
            for column in sampled
            if column.name != name and column.name not in identifiers
        }
        target = sample[name].codes
        candidates = find_giveaways(others, name, target, sampled=target.size < rows)
        # Two protected columns that reveal each other are one concern.
        known = {(giveaway.sensitive, *giveaway.columns) for giveaway in giveaways}
        giveaways += [one for one in candidates if (*one.columns, one.sensitive) not in known]
    return Concerns(identifiers, giveaways)


def check_safe(concerns: Concerns, keep: Collection[str]) -> list[str]:
    """Stop unless everything dangerous is kept on purpose; return what is worth a warning."""
    stops = [
        f"{name!r} looks like a direct identifier: {reason}"
        for name, reason in concerns.identifiers.items()
        if name not in keep
    ]
    to_name = {name for name in concerns.identifiers if name not in keep}
    warnings = []
    for giveaway in concerns.giveaways:
        if set(giveaway.columns) <= set(keep):
            continue
        if giveaway.stops:
            stops.append(giveaway_sentence(giveaway))
            to_name.update(name for name in giveaway.columns if name not in keep)
        else:
            warnings.append(f"Beware: {giveaway_sentence(giveaway)}.")
    if stops:
        listed = "; ".join(stops[:_MOST_LISTED])
        more = (
            f"; and {len(stops) - _MOST_LISTED} more like these"
            if len(stops) > _MOST_LISTED
            else ""
        )
        raise UnsafeError(
            f"Nothing was published, because people could be harmed: {listed}{more}. Leave such a "
            f"column out with {option('drop')}, or, if you have made sure that it harms nobody, "
            f"publish it with {option('keep')}. To be named: "
            f"{', '.join(map(repr, sorted(to_name)[:_MOST_LISTED]))}."
        )
    return warnings


def giveaway_sentence(giveaway: Giveaway) -> str:
    """A giveaway in words."""
    names = " together with ".join(repr(name) for name in giveaway.columns)
    verb = "gives" if len(giveaway.columns) == 1 else "give"
    return (
        f"{names} {verb} {giveaway.sensitive!r} away: the value of {giveaway.known:.0%} of the "
        f"rows is then known"
    )


def find_giveaways(
    columns: Mapping[str, Codes], sensitive: str, target: Codes, *, sampled: bool = False
) -> list[Giveaway]:
    """Single columns first; pairs only of columns that do not give it away alone."""
    if target.size < LEAST_ROWS:
        return []
    base = _plain_guess(target)[0]
    giveaways, alone = [], {}
    for name, codes in columns.items():
        known = max(known_share(codes, target, sampled=sampled), neighbour_share(codes, target))
        alone[name] = _beyond(known, base)
        if alone[name] >= NOTEWORTHY:
            giveaways.append(Giveaway((name,), sensitive, known, alone[name]))
    paired = _worth_pairing(columns, [name for name in columns if alone[name] < NOTEWORTHY])
    rows = slice(0, None, max(1, target.size // _PAIR_ROWS))
    sampled = sampled or rows.step > 1
    for one, two in itertools.combinations(paired, 2):
        first, second = columns[one][rows], columns[two][rows]
        joint = first * (int(second.max(initial=0)) + 1) + second
        known = known_share(joint, target[rows], sampled=sampled)
        beyond = _beyond(known, base)
        # A pair counts only if it gives away more than each column alone.
        if beyond >= NOTEWORTHY and beyond > max(alone[one], alone[two]) + 0.1:
            giveaways.append(Giveaway((one, two), sensitive, known, beyond))
    return sorted(giveaways, key=lambda giveaway: -giveaway.beyond)


def known_share(codes: Codes, target: Codes, *, sampled: bool = False) -> float:
    """The share of right guesses from the other rows with the same code."""
    most_frequent = _plain_guess(target)[1]
    n_values = int(target.max(initial=0)) + 1
    cells, counts = _counted(codes * n_values + target)
    group = np.cumsum(np.diff(cells // n_values, prepend=-1) != 0) - 1
    order = np.lexsort((-counts, group))
    starts = np.flatnonzero(np.diff(group, prepend=-1))
    top = counts[order][starts]
    second = np.zeros(starts.size, np.int64)
    several = np.diff(np.append(starts, cells.size)) > 1
    second[several] = counts[order][starts[several] + 1]
    size = np.bincount(group, counts).astype(np.int64)
    # The row's value must lead even when the row itself is left out.
    right = int(top[top - 1 > second].sum())
    lonely = cells[(size == 1)[group]] % n_values
    if not sampled:
        return (right + int((lonely == most_frequent).sum())) / target.size
    covered = target.size - lonely.size
    return right / covered if covered >= max(200, 0.005 * target.size) else 0.0


def neighbour_share(codes: Codes, target: Codes) -> float:
    """The share of right guesses from the next smaller and the next larger value of the column."""
    n_values = int(target.max(initial=0)) + 1
    cells, counts = _counted(codes * n_values + target)
    places = cells // n_values
    starts = np.flatnonzero(np.diff(places, prepend=-1))
    if starts.size < _LEAST_ORDERED:
        return 0.0
    # The most frequent target of every value of the column, in the order of the column.
    order = np.lexsort((-counts, places))
    usual = (cells % n_values)[order][starts]
    guess = np.full(starts.size, -1)
    guess[1:-1] = np.where(usual[:-2] == usual[2:], usual[:-2], -1)
    place = np.cumsum(np.diff(places, prepend=-1) != 0) - 1
    right = counts[guess[place] == cells % n_values].sum()
    return float(right / target.size)


def _counted(cells: Codes) -> tuple[Codes, Codes]:
    """The different numbers in rising order, and how often each occurs."""
    if int(cells.max(initial=0)) > _SHORT_TABLE * cells.size:
        return np.unique(cells, return_counts=True)
    # Counting every possible number is quicker than sorting those that occur.
    counts = np.bincount(cells)
    present = np.flatnonzero(counts)
    return present, counts[present]


def _worth_pairing(columns: Mapping[str, Codes], harmless: Sequence[str]) -> list[str]:
    """Columns with the most values first: they reveal the most."""
    by_values = sorted(harmless, key=lambda name: -int(columns[name].max(initial=0)))
    return by_values[:_MOST_PAIRED]


def _plain_guess(target: Codes) -> tuple[float, int]:
    counts = np.bincount(target)
    top = int(np.argmax(counts))
    return float(counts[top] / target.size), top


def _beyond(share: float, base: float) -> float:
    return max(0.0, (share - base) / (1 - base)) if base < 1 else 0.0
