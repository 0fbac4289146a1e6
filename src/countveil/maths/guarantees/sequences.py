"""What is promised where releases continue each other, through a ledger.

Enters: the batches of the protected columns, and their ell. Leaves: a paragraph of the statement.
Must not know: true values or counts, persons. Theory: docs/theory/cases.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_MOST_LISTED = 12


@dataclass(frozen=True, slots=True)
class StatedBatches:
    """Some columns that have one draw, their ell, and of each batch: number, cases, groups."""

    columns: tuple[str, ...]
    ell: int
    batches: Sequence[tuple[int, int, str]]


def sequences(release: int, stated: Sequence[StatedBatches]) -> str:
    """The paragraph about a release that belongs to a series."""
    listed = " ".join(map(_listed, stated))
    return (
        f"A series of releases. This is release {release} of a series that one private ledger "
        f"holds together. A case is drawn once for the whole series: in every release it is in, it "
        f"publishes what was drawn when it came first. So all releases of the series together say "
        f"about a case what one of them says, and this statement holds for the series as it does "
        f"for one release, with the cases of a batch (those that were drawn for the same release) "
        f"in the place of the table: groups were formed within a batch, and where shares or counts "
        f"of values matter, those of the batch are meant. {listed} Not hidden are who joined the "
        f"series, who left it and when, as far as persons can be recognised by other columns, and "
        f"that a value changed: a corrected value is a new case, and a hint of its own. A release "
        f"about the same people that was made without the ledger, or with another one, is a second "
        f"draw, and breaks this promise; so does the ledger in the hands of others, together with "
        f"its key: they could try out which value a person has."
    )


def _listed(one: StatedBatches) -> str:
    names = ", ".join(one.columns)
    shown = [
        f"batch {number} has about {cases:,} cases ({groups} groups)"
        for number, cases, groups in one.batches[:_MOST_LISTED]
    ]
    more = len(one.batches) - len(shown)
    rest = f", and {more} more batches have others" if more else ""
    random = any(groups == "random" for _, _, groups in one.batches)
    belief = (
        f" In a batch with random groups, a published value with the share p of the batch is the "
        f"true one with probability 1/{one.ell} + (1 - 1/{one.ell}) p."
    )
    return f"Of {names}, {', '.join(shown)}{rest}.{belief if random else ''}"
