"""What must stop a publication.

Enters: a sample of the table as it would be published, the sensitive columns, what the publisher
knowingly keeps. Leaves: `Concerns`, and the error that stops. Must not know: files, engines.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from countveil.errors import UnsafeError
from countveil.publishing.safety.giveaways import Giveaway, find_giveaways
from countveil.publishing.safety.identifiers import identifier_reason
from countveil.release.values import kind_of
from countveil.tables import Column
from countveil.tables.counted import CodedColumn

# Columns times rows that are looked at, and the least rows of a wide table.
_MOST_CELLS, _LEAST_SAMPLE, MOST_SAMPLE = 20_000_000, 2_000, 100_000
_MOST_LISTED = 8


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
            f"column out with --drop, or, if you have made sure that it harms nobody, publish it "
            f"with --keep. To be named: {', '.join(map(repr, sorted(to_name)[:_MOST_LISTED]))}."
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
