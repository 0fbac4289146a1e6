"""A table inspected before it is published.

    read -> profile columns -> identifiers -> giveaways, slices, odds -> unique rows -> a command

Enters: a table, perhaps the columns to protect. Leaves: an `Inspection`. Must not know: groups,
draws, releases. Nothing is written. No value of the table is quoted but marks such as `?`, and, of
slices, plain values that more than a hundred rows have: they would be published as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from countveil.engines.local_table import LocalTable
from countveil.errors import InputError, option
from countveil.maths.groups import largest_ell
from countveil.publishing.advise.inspection import (
    InspectedColumn,
    Inspection,
    little_histogram,
)
from countveil.publishing.prepare import MOST_NUMBERS, apply_labels, open_table
from countveil.publishing.safety import (
    Concerns,
    find_concerns,
    fineness_of,
    giveaway_sentence,
    looks_missing,
    sample_size,
    slice_sentence,
    sounds_sensitive,
    with_whole_table,
)
from countveil.release.values import NUMBER, kind_of
from countveil.tables import (
    Bins,
    Column,
    Reading,
    Shaping,
    SourceOptions,
    check_named,
    put_into_classes,
    table_options,
)
from countveil.tables.encoded.survey import ColumnProfile

_SUGGESTED_BINS = "q10"


def inspect(
    table: object,
    *,
    sensitive: Sequence[str] | str = (),
    **options: Unpack[SourceOptions],
) -> Inspection:
    """Look at a table before publishing it: roles, identifiers, giveaways, eligible ell.

    Without `sensitive`, columns whose names sound like it are taken. `options` say how to read the
    table: see `publish`. Print what comes back.
    """
    named = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    reading, shaping = table_options(**options)
    return run_inspect(table, named, reading=reading, shaping=shaping)


def run_inspect(
    table: object,
    sensitive: Sequence[str] = (),
    *,
    reading: Reading | None = None,
    shaping: Shaping | None = None,
) -> Inspection:
    """Look at a table."""
    shaping = shaping or Shaping()
    source = open_table(table, reading or Reading(), shaping, sensitive)
    check_named(source.columns, [*sensitive, *shaping.labels])
    if source.rows == 0:
        raise InputError("The table has no rows, so there is nothing to look at.")
    apply_labels(source, shaping)
    names = [column.name for column in source.columns]
    profiles = source.profiles(names)
    unroled = [_profiled(column, profiles.get(column.name)) for column in source.columns]
    chosen = tuple(sensitive) or _likely_sensitive(unroled)
    _put_into_suggested_classes(source, unroled, chosen)
    sample = source.sample(sample_size(len(names)), names)
    sampled = [name for name in chosen if name in sample]
    concerns = find_concerns(source.columns, sampled, source.rows, sample)
    concerns = with_whole_table(concerns, source.rows, (), source.repeats)
    columns = [_with_role(column, chosen, concerns, guessed=not sensitive) for column in unroled]
    plain = [column.name for column in columns if column.role == "plain"]
    marks = sorted({mark for coded in sample.values() for mark in looks_missing(coded.examples)})
    return Inspection(
        rows=source.rows,
        columns=columns,
        giveaways=concerns.giveaways,
        slices=concerns.slices,
        fineness={
            column.name: fineness_of(source.histogram(column.name).counts, column.suggested_ell)
            for column in columns
            if column.role == "sensitive" and column.largest_ell >= 2
        },
        linkable=source.unique_rows(plain) / source.rows if plain else 0.0,
        hints=_hints(columns, chosen, marks, guessed=not sensitive),
        missing_marks=marks,
        guessed=not sensitive,
    )


def _profiled(column: Column, profile: ColumnProfile | None) -> InspectedColumn:
    """A column before its role is known; without a profile, it holds nested values."""
    if profile is None:
        return InspectedColumn(column.name, column.type, 0, 0, "nested", "", 1, "", "", "")
    counts = profile.counts
    with_missing = np.append(counts, profile.missing) if profile.missing else counts
    ell, bins = largest_ell(with_missing), ""
    measured = kind_of(column.type) == NUMBER and (
        counts.size > MOST_NUMBERS or not column.type.startswith(("int", "uint"))
    )
    if measured and profile.numbers is not None and counts.size > 1:
        ell, bins = _ell_of_classes(profile.numbers, counts, profile.missing)
    return InspectedColumn(
        column.name,
        column.type,
        int(counts.size),
        profile.missing,
        "plain",
        "",
        ell,
        bins,
        little_histogram(counts, profile.numbers),
        "",
    )


def _ell_of_classes(numbers: Any, counts: Any, missing: int) -> tuple[int, str]:
    """The largest ell once the numbers are put into the suggested classes."""
    try:
        labels, _ = put_into_classes("", numbers.tolist(), counts, Bins.parse(_SUGGESTED_BINS))
    except InputError:
        return 1, ""
    _, places = np.unique([str(label) for label in labels], return_inverse=True)
    totals = np.bincount(places, counts).astype(np.int64)
    ell = largest_ell(np.append(totals, missing) if missing else totals)
    return ell, _SUGGESTED_BINS


def _likely_sensitive(columns: Sequence[InspectedColumn]) -> tuple[str, ...]:
    """The columns that can be protected and whose names sound sensitive."""
    return tuple(
        column.name
        for column in columns
        if column.role != "nested" and column.largest_ell >= 2 and sounds_sensitive(column.name)
    )


def _put_into_suggested_classes(
    source: LocalTable, columns: Sequence[InspectedColumn], sensitive: Sequence[str]
) -> None:
    """Giveaways are measured against the values that would be published."""
    for column in columns:
        if column.name in sensitive and column.bins:
            histogram = source.histogram(column.name)
            bins = Bins.parse(column.bins)
            labels, _ = put_into_classes(column.name, histogram.values, histogram.counts, bins)
            source.recode(column.name, labels)


def _with_role(
    column: InspectedColumn, sensitive: Sequence[str], concerns: Concerns, *, guessed: bool
) -> InspectedColumn:
    role, why, looks_like = column.role, "", ""
    # Of a pair, it is enough to leave out the first.
    stopping = {one.columns[0]: slice_sentence(one) for one in concerns.slices if one.stops}
    stopping |= {one.columns[0]: giveaway_sentence(one) for one in concerns.giveaways if one.stops}
    if role == "nested":
        why = "nested values cannot be published"
    elif column.name in sensitive and not (guessed and column.name in stopping):
        role = "sensitive"
    elif column.name in concerns.identifiers:
        found = concerns.identifiers[column.name]
        role, why, looks_like = "identifier", found.reason, found.kind
    elif column.name in stopping:
        role, why = "giveaway", stopping[column.name]
    return replace(column, role=role, why=why, looks_like=looks_like)


def _hints(
    columns: Sequence[InspectedColumn],
    sensitive: Sequence[str],
    marks: Sequence[str],
    *,
    guessed: bool,
) -> list[str]:
    hints = []
    if marks:
        listed = ", ".join(repr(mark) for mark in marks[:5])
        hints.append(
            f"Some values look like missing ones ({listed}): name them with {option('missing')}."
        )
    hints += [
        f"{column.name!r} cannot be protected as it is: one value fills more than half of the "
        f"rows. Split the most frequent value into several, or protect another column."
        for column in columns
        if column.role == "sensitive" and column.largest_ell < 2
    ]
    if guessed and sensitive:
        hints.append(
            f"Taken as sensitive because of the name: {', '.join(map(repr, sensitive))}. Name "
            f"others, or more, with {option('sensitive')}."
        )
    if not sensitive:
        hints.append(
            "No column has a name that sounds sensitive, so giveaways were not looked for. Name "
            f"the columns to protect with {option('sensitive')}."
        )
    return hints
