"""What must stop a publication: identifiers, persons, and columns that give sensitive values away.

Enters: a sample of the table as it would be published, as codes, the sensitive columns, what the
publisher knowingly keeps. Leaves: `Concerns` with measured figures, and the error that stops. Must
not know: files, engines, how anything is published.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from countveil.errors import UnsafeError, option
from countveil.publishing.safety.giveaways import (
    Fineness,
    Giveaway,
    check_fine,
    find_giveaways,
    fine_remedy,
    giveaway_sentence,
)
from countveil.publishing.safety.identifiers import (
    BIRTH,
    DEATH,
    DIRECT,
    MOST_ROWS_EACH,
    PERSON,
    POSTCODE,
    Facts,
    Suspicion,
    steady_columns,
    suspicion,
    uniqueness,
)
from countveil.publishing.safety.slices import SliceGiveaway, find_slices, slice_sentence
from countveil.release.values import kind_of
from countveil.tables import Column
from countveil.tables.encoded.survey import CodedColumn, Repeats, repeats

# Columns times rows that are looked at, and the least rows of a wide table.
_MOST_CELLS, _LEAST_SAMPLE, MOST_SAMPLE = 20_000_000, 2_000, 100_000
_MOST_LISTED = 8


@dataclass(frozen=True, slots=True)
class Concerns:
    """Columns that look like identifiers, columns and parts of columns that give values away.

    `rows` is how many rows were looked at.
    """

    identifiers: Mapping[str, Suspicion]
    giveaways: Sequence[Giveaway]
    slices: Sequence[SliceGiveaway] = field(default=())
    rows: int = 0

    def outside(self, together: Sequence[Sequence[str]]) -> Concerns:
        """Without what columns say about each other that publish the values of one row anyway."""
        sets = [{*names} for names in together]
        giveaways = [
            one
            for one in self.giveaways
            if not any({one.sensitive, *one.columns} <= names for names in sets)
        ]
        return replace(self, giveaways=giveaways)


def sample_size(n_columns: int) -> int:
    """How many rows to look at in a table with this many columns."""
    return max(_LEAST_SAMPLE, min(MOST_SAMPLE, _MOST_CELLS // max(n_columns, 1)))


def find_concerns(
    columns: Sequence[Column],
    sensitive: Sequence[str],
    rows: int,
    sample: Mapping[str, CodedColumn],
    *,
    with_values: bool = False,
) -> Concerns:
    """The concerns about the columns that would be published.

    Plain values of slices are part of it `with_values` alone: elsewhere no value leaves the place
    where the rows are.
    """
    sampled = [column for column in columns if column.name in sample]
    identifiers = _find_identifiers(sampled, sensitive, rows, sample)
    giveaways: list[Giveaway] = []
    slices: list[SliceGiveaway] = []
    # An identifier is a concern already; its values repeat too little to be measured.
    unique = {name for name, why in identifiers.items() if why.kind in (DIRECT, PERSON)}
    for name in sensitive:
        others = {
            column.name: sample[column.name]
            for column in sampled
            if column.name != name and column.name not in unique
        }
        target = sample[name].codes
        codes = {other: coded.codes for other, coded in others.items()}
        candidates = find_giveaways(codes, name, target, sampled=target.size < rows)
        # Two protected columns that reveal each other are one concern.
        known = {(giveaway.sensitive, *giveaway.columns) for giveaway in giveaways}
        giveaways += [one for one in candidates if (*one.columns, one.sensitive) not in known]
        named = {column for giveaway in candidates for column in giveaway.columns}
        plain = {n: coded for n, coded in others.items() if n not in named and n not in sensitive}
        slices += find_slices(plain, name, sample[name], with_values=with_values)
    looked_at = max((coded.codes.size for coded in sample.values()), default=0)
    return Concerns(identifiers, giveaways, slices, looked_at)


def _find_identifiers(
    columns: Sequence[Column],
    sensitive: Sequence[str],
    rows: int,
    sample: Mapping[str, CodedColumn],
) -> dict[str, Suspicion]:
    facts = {
        column.name: Facts.of(column.name, kind_of(column.type), sample[column.name])
        for column in columns
        if column.name not in sensitive
    }
    suspicions = {name: why for name, fact in facts.items() if (why := suspicion(fact)) is not None}
    others = [name for name in facts if name not in suspicions]
    steady = steady_columns(sample, [name for name in others if facts[name].is_number])
    suspicions |= {name: Suspicion(PERSON, why.reason) for name, why in steady.items()}
    suspicions |= {n: why for n in others if n not in steady and (why := uniqueness(facts[n]))}
    complete = {
        name: with_repeats(why, _repeats_of(sample[name]), facts[name].rows, facts[name].rows)
        for name, why in suspicions.items()
        if sample[name].codes.size == rows
    }
    return {name: complete.get(name) or why for name, why in suspicions.items()}


def _repeats_of(coded: CodedColumn) -> Repeats:
    counts = np.bincount(coded.codes)
    return repeats(0, counts[int(coded.missing > 0) :])


def with_whole_table(
    concerns: Concerns, rows: int, keep: Collection[str], count: Callable[[str], Repeats]
) -> Concerns:
    """The concerns of a sample, with how often the suspected values occur in all rows."""
    if concerns.rows >= rows:
        return concerns
    suspicions = {}
    for name, why in concerns.identifiers.items():
        complete = why if name in keep else with_repeats(why, count(name), concerns.rows, rows)
        if complete is not None:
            suspicions[name] = complete
    return replace(concerns, identifiers=suspicions)


def with_repeats(
    suspicion: Suspicion, repeats: Repeats, rows: int, whole_rows: int
) -> Suspicion | None:
    """The suspicion with how many rows a value has in the whole table; None if that refutes it.

    `rows` is how many rows were looked at.
    """
    known = whole_rows - repeats.missing
    each = known / max(repeats.different, 1)
    if rows < whole_rows and each > MOST_ROWS_EACH and not suspicion.named:
        # In a sample it looked rarer than it is.
        return None
    kind = suspicion.kind
    if kind == PERSON and repeats.most <= 1:
        # Nobody has several rows: it says who somebody is, and no more.
        kind = DIRECT
    elif kind == DIRECT and not suspicion.named and rows < whole_rows:
        # Unique in a sample, but not in the table: a person's rows are far apart.
        kind = PERSON if known >= 1.2 * repeats.different else DIRECT
    figures = f"{repeats.different:,} different values, {each:,.1f} rows each on average"
    if repeats.most > 1:
        figures += f", at most {repeats.most:,}"
    reason = f"{suspicion.reason} ({figures})"
    return replace(suspicion, kind=kind, reason=reason)


def check_safe(
    concerns: Concerns, keep: Collection[str], fineness: Mapping[str, Fineness] | None = None
) -> list[str]:
    """Stop unless everything dangerous is kept on purpose; return what is worth a warning."""
    to_name = {name for name in concerns.identifiers if name not in keep}
    stops = [
        identifier_sentence(name, why)
        for name, why in concerns.identifiers.items()
        if name in to_name
    ]
    warnings = []
    giveaways: list[tuple[Giveaway | SliceGiveaway, str]] = [
        *((one, _with_remedy(one, fineness or {})) for one in concerns.giveaways),
        *((one, slice_sentence(one)) for one in concerns.slices),
    ]
    for giveaway, sentence in giveaways:
        if set(giveaway.columns) <= set(keep):
            continue
        if giveaway.stops:
            stops.append(sentence)
            to_name.update(name for name in giveaway.columns if name not in keep)
        else:
            warnings.append(f"Beware: {sentence}.")
    too_fine, rare = check_fine(fineness or {}, keep)
    warnings += [f"Beware: {sentence}." for sentence in rare]
    if stops or too_fine:
        raise UnsafeError(_refusal(stops, too_fine, sorted(to_name)))
    return warnings


def _with_remedy(giveaway: Giveaway, protected: Collection[str]) -> str:
    """What a column gives away; if it is protected too, there is a way to publish both."""
    sentence = giveaway_sentence(giveaway)
    if not giveaway.stops or not set(giveaway.columns) <= set(protected):
        return sentence
    written = option("together", [giveaway.sensitive, *giveaway.columns])
    return f"{sentence} (in one draw for all of them, {written}, this would be no concern)"


def to_leave_out(concerns: Concerns, keep: Collection[str]) -> set[str]:
    """The columns without which nothing would stop a publication, as far as is known.

    Of several that give a value away together, it is enough to leave out the first.
    """
    identifiers = {name for name in concerns.identifiers if name not in keep}
    giveaways: list[Giveaway | SliceGiveaway] = [*concerns.giveaways, *concerns.slices]
    giving = {
        next(name for name in one.columns if name not in keep)
        for one in giveaways
        if one.stops and not set(one.columns) <= set(keep)
    }
    return identifiers | giving


def _refusal(stops: Sequence[str], too_fine: Mapping[str, str], to_name: Sequence[str]) -> str:
    every = [*stops, *too_fine.values()]
    listed = "; ".join(every[:_MOST_LISTED])
    more = f"; and {len(every) - _MOST_LISTED} more like these" if len(every) > _MOST_LISTED else ""
    text = f"Nothing was published, because people could be harmed: {listed}{more}."
    if stops:
        named = ", ".join(map(repr, to_name[:_MOST_LISTED]))
        text += (
            f" Leave such a column out with {option('drop')}, or, if you have made sure that it "
            f"harms nobody, publish it with {option('keep')}. To be named: {named}."
        )
    if too_fine:
        text += f" {fine_remedy(list(too_fine))}"
    return text


def identifier_sentence(name: str, why: Suspicion) -> str:
    """An identifier in words."""
    return f"{name!r} looks like a {why.kind}: {why.reason}{_remedy(name, why.kind)}"


def _remedy(name: str, kind: str) -> str:
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
