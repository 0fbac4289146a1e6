"""How many cases publish each value, where persons have several rows: as anybody can work it out.

Enters: what a manifest says of cases and batches, how many rows publish each value. Leaves: about
how many cases do; rows, of columns without cases. Must not know: true counts, what follows from
them. Theory: docs/theory/cases.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from countveil.release.batches import BatchedColumns
    from countveil.release.manifest import CaseFigures, Manifest


def cases_of(
    manifest: Manifest, published: Mapping[str, Mapping[Any, int]]
) -> Mapping[str, Mapping[Any, int]]:
    """For each column of a release, the cases that publish each value."""
    entries = manifest.sensitive.items()
    figures = {name: entry.cases for name, entry in entries if entry.cases is not None}
    domains = {name: entry.domain for name, entry in entries}
    return counted_in_cases(published, domains, figures, manifest.batches)


def counted_in_cases(
    published: Mapping[str, Mapping[Any, int]],
    domains: Mapping[str, Sequence[Any]],
    figures: Mapping[str, CaseFigures],
    batches: Sequence[BatchedColumns],
) -> dict[str, Mapping[Any, int]]:
    """For each column, the cases that publish each value that was drawn."""
    counted = dict(published)
    for name, numbers in figures.items():
        means = dict(zip(domains[name], numbers.by_value, strict=True))
        counted[name] = {
            value: max(1, round(rows / means[value])) for value, rows in published[name].items()
        }
    for entry in batches:
        for column, name in enumerate(entry.columns):
            size = len(domains[name])
            each = [batch.counts_of(column, size) for batch in entry.drawn]
            by_value = zip(domains[name], map(sum, zip(*each, strict=True)), strict=True)
            cases = {value: count for value, count in by_value if value in published[name]}
            counted[name] = {value: max(1, count) for value, count in cases.items()}
    return counted
