"""The dangers that an inspection names, one by one, and what was decided about each.

Enters: an inspection and a draft. Leaves: `Danger`s with their measured figures. Must not know:
pages, how anything was measured. What stops is what `publish` would stop at.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from countveil.publishing.advise.inspecting.inspection import Inspection
from countveil.publishing.advise.pairs.association import sentences_about
from countveil.publishing.safety import (
    Suspicion,
    fineness_sentence,
    giveaway_sentence,
    identifier_sentence,
    slice_sentence,
)
from countveil.web.publisher.draft import Draft


@dataclass(frozen=True, slots=True)
class Danger:
    """One finding: what it is, its figure, the columns that it is about.

    It `stops` a publication unless it is `decided`. `columns` can be dropped or kept; `together`
    are those that one draw would make harmless. `coarsen` is the column whose values could be
    coarser. Where `keepable` is false, keeping is not possible.
    """

    kind: str
    title: str
    figure: str
    figure_note: str
    sentence: str
    columns: tuple[str, ...]
    stops: bool
    decided: bool
    reason: str = ""
    coarsen: str = ""
    keepable: bool = True
    together: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """By which a page names it; it says nothing about the table."""
        text = "\0".join([self.kind, *self.columns, self.sentence])
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    @property
    def open(self) -> bool:
        """Whether somebody still has to decide."""
        return self.stops and not self.decided


def dangers_of(inspection: Inspection, draft: Draft) -> list[Danger]:
    """All of them, those that are open first."""
    every = [
        *_identifiers(inspection, draft),
        *_giveaways(inspection, draft),
        *_slices(inspection, draft),
        *_fineness(inspection, draft),
        *_not_protectable(inspection, draft),
        *_pairs(inspection, draft),
    ]
    return sorted(every, key=lambda danger: (not danger.open, not danger.stops))


def all_decided(inspection: Inspection, draft: Draft) -> bool:
    """Whether nothing stops any more, as far as the inspection knows."""
    return not any(danger.open for danger in dangers_of(inspection, draft))


def _why(draft: Draft, names: Iterable[str]) -> str:
    return next((draft.reasons[name] for name in names if name in draft.reasons), "")


def _identifiers(inspection: Inspection, draft: Draft) -> Iterator[Danger]:
    for column in inspection.columns:
        if column.role == "identifier":
            why = Suspicion(column.looks_like, column.why)
            share = column.distinct / max(inspection.rows, 1)
            yield Danger(
                "identifier", f"{column.name}: looks like a {column.looks_like}",
                f"{column.distinct:,}", f"different values ({share:.0%} of the rows)",
                f"{identifier_sentence(column.name, why)}.", (column.name,),
                stops=True, decided=column.name in draft.keep,
                reason=_why(draft, [column.name]), coarsen=column.name,
            )  # fmt: skip


def _giveaways(inspection: Inspection, draft: Draft) -> Iterator[Danger]:
    for one in inspection.giveaways:
        names = one.columns
        joined = {one.sensitive, *names}
        protected = joined <= {*draft.sensitive}
        settled = any(joined <= {*names} for names in draft.together)
        verb = "gives" if len(names) == 1 else "give"
        yield Danger(
            "giveaway", f"{' and '.join(names)}: {verb} {one.sensitive} away",
            f"{one.known:.0%}", "of the rows have a value that is then known",
            f"{giveaway_sentence(one)}.", names,
            stops=one.stops, decided=settled or {*names} <= {*draft.keep},
            reason=_why(draft, names), coarsen=names[0],
            together=(one.sensitive, *names) if protected else (),
        )  # fmt: skip


def _slices(inspection: Inspection, draft: Draft) -> Iterator[Danger]:
    for one in inspection.slices:
        yield Danger(
            "slice", f"{' and '.join(one.columns)}: parts of the table give {one.sensitive} away",
            f"{one.belief:.0%}", f"of {one.rows:.1%} of the rows have the value that is expected",
            f"{slice_sentence(one)}.", one.columns,
            stops=one.stops, decided={*one.columns} <= {*draft.keep},
            reason=_why(draft, one.columns), coarsen=one.columns[0],
        )  # fmt: skip


def _fineness(inspection: Inspection, draft: Draft) -> Iterator[Danger]:
    for name, fine in inspection.fineness.items():
        if fine.rows:
            yield Danger(
                "fineness", f"{name}: values too rare to be hidden",
                f"{fine.rows:.0%}", "of the rows have a value that is too fine to protect",
                f"{fineness_sentence(name, fine)}.", (name,),
                stops=fine.stops, decided=name in draft.keep,
                reason=_why(draft, [name]), coarsen=name,
            )  # fmt: skip


def _not_protectable(inspection: Inspection, draft: Draft) -> Iterator[Danger]:
    """What no option publishes: nested values, and columns without any groups."""
    for column in inspection.columns:
        if column.role == "nested":
            yield Danger(
                "nested", f"{column.name}: holds nested values", column.type, "is its type",
                "Nested values cannot be published. Drop the column, or flatten the table first.",
                (column.name,), stops=True, decided=False, keepable=False,
            )  # fmt: skip
        elif column.name in draft.sensitive and not column.method:
            said = [hint for hint in inspection.hints if repr(column.name) in hint]
            yield Danger(
                "ungrouped", f"{column.name}: cannot be protected as it is",
                f"{column.distinct:,}", "different values",
                " ".join(said) or f"{column.name!r} cannot be protected.",
                (column.name,), stops=True, decided=False, coarsen=column.name, keepable=False,
            )  # fmt: skip


def _pairs(inspection: Inspection, draft: Draft) -> Iterator[Danger]:
    for pair in inspection.pairs:
        sentences: Sequence[str] = sentences_about([pair])
        if sentences:
            joined = any({*pair.columns} <= {*names} for names in draft.together)
            yield Danger(
                "pair", f"{' and '.join(pair.columns)}: say something about each other",
                f"{pair.strength:.2f}", "is their association (Cramér's V, from 0 to 1)",
                " ".join(sentences), pair.columns, stops=False, decided=joined,
                together=pair.columns, keepable=False,
            )  # fmt: skip
