"""A table inspected before it is published.

    read -> profile columns -> identifiers -> giveaways, slices, odds -> unique rows -> a command

Enters: a table, perhaps the columns to protect. Leaves: an `Inspection`. Must not know: groups,
draws, releases. Nothing is written. No value of the table is quoted but marks such as `?`, and, of
slices, plain values that more than a hundred rows have: they would be published as they are.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from countveil.display import progress_shown
from countveil.engines.local_table import LocalTable
from countveil.errors import InputError
from countveil.maths.groups import largest_ell
from countveil.publishing.advise.inspecting.hints import (
    SUGGESTED_BINS,
    about_odd_cells,
    about_persons,
    about_weight,
    hints,
)
from countveil.publishing.advise.inspecting.inspection import (
    USUAL_ELL,
    InspectedColumn,
    Inspection,
    little_histogram,
)
from countveil.publishing.advise.inspecting.linkability import find_linkability
from countveil.publishing.advise.methods import settings_of, usual_method
from countveil.publishing.advise.pairs.association import PairFigures, pairs_in
from countveil.publishing.persons import counts_of_persons
from countveil.publishing.prepare import (
    MOST_NUMBERS,
    MOST_VALUES,
    numbers_of_classes,
    open_table,
    recode,
)
from countveil.publishing.safety import (
    Concerns,
    Fineness,
    find_concerns,
    fineness_of,
    giveaway_sentence,
    looks_missing,
    sample_size,
    slice_sentence,
    sounds_sensitive,
    to_leave_out,
    with_whole_table,
)
from countveil.release.values import NUMBER, TEXT, kind_of
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
from countveil.tables.columns import is_protectable
from countveil.tables.encoded.survey import CodedColumn, ColumnProfile
from countveil.tables.progress import Progress
from countveil.tables.recipe import takes_recipe

Counts = NDArray[np.int64]

# The counts of a column that cannot be protected.
_NOTHING = np.zeros(0, np.int64)


@takes_recipe
def inspect(
    table: object = None,
    *,
    sensitive: Mapping[str, int] | Sequence[str] | str = (),
    recipe: str | os.PathLike[str] | None = None,  # noqa: ARG001 - read by takes_recipe
    k: int | None = None,
    drop: Sequence[str] | str = (),
    keep: Sequence[str] | str = (),
    person: str | None = None,
    weight: str | None = None,
    bins: Mapping[str, object] | None = None,
    class_values: Mapping[str, Sequence[float] | str] | None = None,
    domain: Mapping[str, Sequence[object] | str | os.PathLike[str]] | None = None,
    merge: Mapping[str, Mapping[object, str] | str | os.PathLike[str]] | None = None,
    progress: Progress | bool | None = None,
    **options: Unpack[SourceOptions],
) -> Inspection:
    """Look at a table before publishing it: roles, identifiers, giveaways, eligible ell.

    Nothing is written. Options are those of `publish`, so that it can be rehearsed.

    Args:
        table: Anything that `publish` takes.
        sensitive: The columns to protect; without it, those whose names sound like it.
        recipe: A TOML file with any of these options; what the call itself says goes before it.
        k: How many rows should share a combination of plain values: advice follows about what
            coarsening would help.
        drop: Columns that would not be published.
        keep: Columns that would be published although they look unsafe.
        person: The column that identifies the person of a row.
        weight: The plain column with the survey weight of each row.
        bins: Classes for numbers and dates, by column.
        class_values: The numbers that stand for the classes of a column in averages.
        domain: The values that a column can have, by column.
        merge: Common labels for values, by column.
        progress: Called with the stage, the rows done and the rows in all. By
            default a bar is shown in a terminal and in a notebook; with False, nowhere.
        **options: How the table is read and prepared: see `SourceOptions`.

    Returns:
        What was found, and a command that would publish the table. Print it.

    Raises:
        InputError: The table cannot be read, or has no rows.
        UnknownColumnError: An option names a column that the table does not have.
        SettingsError: The options contradict each other or the table.

    Example:
        >>> found = cv.inspect(table, sensitive="occupation")
        >>> found.sensitive
        ('occupation',)
        >>> found.publish_line("census.csv")
        'countveil publish census.csv -s occupation:5 --missing none --to release'
    """
    named = (sensitive,) if isinstance(sensitive, str) else tuple(sensitive)
    reading, shaping = table_options(
        drop=drop, keep=keep, person=person, weight=weight, bins=bins,
        class_values=class_values, merge=merge, domain=domain, **options,
    )  # fmt: skip
    with progress_shown(progress) as shown:
        shown("looking", 0, 0)
        reading = replace(reading, progress=shown)
        return run_inspect(table, named, reading=reading, shaping=shaping, k=k)


def run_inspect(
    table: object,
    sensitive: Sequence[str] = (),
    *,
    reading: Reading | None = None,
    shaping: Shaping | None = None,
    k: int | None = None,
) -> Inspection:
    """Look at a table."""
    shaping = shaping or Shaping()
    source = open_table(table, reading or Reading(), shaping, sensitive)
    check_named(source.facts.columns, [*sensitive, *shaping.named])
    if source.facts.rows == 0:
        raise InputError("The table has no rows, so there is nothing to look at.")
    recoded = recode(source, shaping)
    numbers_of_classes(recoded, shaping)
    looked_at = [c for c in source.facts.columns if c.name not in {*shaping.drop, *shaping.persons}]
    names = [column.name for column in looked_at]
    profiles = source.profiles(names)
    unroled = [_profiled(column, profiles.get(column.name)) for column in looked_at]
    chosen = tuple(sensitive) or _likely_sensitive(unroled)
    marks = _take_as_missing(source, names)
    unroled = [_with_marks(source, column, chosen) for column in unroled] if marks else unroled
    _put_into_suggested_classes(source, unroled, chosen)
    counted = _cases(source, shaping, unroled, chosen)
    unroled = [_by_cases(column, counted.get(column.name)) for column in unroled]
    sample = source.sample(sample_size(len(names)), names)
    sampled = [name for name in chosen if name in sample]
    concerns = find_concerns(looked_at, sampled, source.facts.rows, sample, with_values=True)
    # A weight has a check of its own in place of that for identifiers.
    keep = (*shaping.keep, *shaping.weights)
    concerns = with_whole_table(concerns, source.facts.rows, keep, source.repeats)
    rounding, of_weight = about_weight(source, shaping)
    columns = [
        _with_role(column, chosen, concerns, keep, guessed=not sensitive) for column in unroled
    ]
    plain = [column.name for column in columns if column.role == "plain"]
    return Inspection(
        rows=source.facts.rows,
        columns=columns,
        giveaways=concerns.giveaways,
        slices=concerns.slices,
        fineness=_fineness(source, columns, counted),
        pairs=_pairs(source, columns),
        linkable=source.unique_rows(plain) / source.facts.rows if plain else 0.0,
        hints=[
            *source.facts.warnings,
            *recoded.warnings,
            *about_persons(source, shaping),
            *about_odd_cells(source, looked_at, sample),
            *hints(source, columns, chosen, marks, guessed=not sensitive),
            *of_weight,
        ],
        missing_marks=marks,
        guessed=not sensitive,
        left_out=_left_out(source, looked_at, columns, sample, keep),
        rounding=rounding,
        merged=recoded.merged,
        linkability=None if k is None else find_linkability(source, plain, k, shaping.prepared),
    )


def _cases(
    source: LocalTable,
    shaping: Shaping,
    columns: Sequence[InspectedColumn],
    sensitive: Sequence[str],
) -> dict[str, Counts]:
    """The numbers of cases of the columns to protect, where persons have several rows."""
    persons = {person: source.repeats(person) for person in shaping.persons}
    several = [name for name, each in persons.items() if each.several and not each.missing]
    return {
        column.name: counts_of_persons(source, person, column.name)
        for person in several
        for column in columns
        if column.name in sensitive and column.role != "nested" and column.method
    }


def _by_cases(column: InspectedColumn, counts: Counts | None) -> InspectedColumn:
    """What is eligible depends on cases."""
    if counts is None:
        return column
    return replace(column, largest_ell=largest_ell(counts), method=usual_method(counts, USUAL_ELL))


def _fineness(
    source: LocalTable, columns: Sequence[InspectedColumn], counted: Mapping[str, Counts]
) -> dict[str, Fineness]:
    """Of each sensitive column, what seeing its value published is worth."""
    return {
        column.name: fineness_of(
            counted.get(column.name, source.histogram(column.name).counts), column.suggested_ell
        )
        for column in columns
        if column.role == "sensitive" and column.method
    }


def _pairs(source: LocalTable, columns: Sequence[InspectedColumn]) -> Sequence[PairFigures]:
    """What publishing the sensitive columns apart or together would do, at the suggested ells."""
    settings = {
        column.name: settings_of(column.method, column.suggested_ell)
        for column in columns
        if column.role == "sensitive" and column.method
    }
    return pairs_in(source, settings) if len(settings) > 1 else ()


def _take_as_missing(source: LocalTable, names: Sequence[str]) -> list[str]:
    """Marks such as `?` become missing values, as in the command that is suggested."""
    sample = source.sample(sample_size(len(names)), names)
    suspects = {name: set(looks_missing(coded.examples)) for name, coded in sample.items()}
    marks = set().union(*suspects.values())
    text = {column.name for column in source.facts.columns if kind_of(column.type) == TEXT}
    for name in text & suspects.keys() if marks else ():
        values = source.histogram(name).values
        if marks & set(values):
            source.recode(name, [None if value in marks else value for value in values])
    return sorted(marks)


def _with_marks(
    source: LocalTable, column: InspectedColumn, sensitive: Sequence[str]
) -> InspectedColumn:
    """Missing values are one value, so marks can make a column less eligible."""
    if column.name not in sensitive or column.bins or column.role == "nested":
        return column
    counts = source.histogram(column.name).counts
    return replace(column, largest_ell=largest_ell(counts), method=usual_method(counts, USUAL_ELL))


def _left_out(
    source: LocalTable,
    looked_at: Sequence[Column],
    columns: Sequence[InspectedColumn],
    sample: Mapping[str, CodedColumn],
    keep: Sequence[str],
) -> list[str]:
    """What the command leaves out so that it is not stopped.

    Without some columns others are looked at more closely, so this goes on until nothing stops.
    """
    named = ("identifier", "giveaway", "nested")
    open_ones = {c.name for c in columns if c.role == "sensitive" and not c.method}
    left_out = {c.name for c in columns if c.role in named} | open_ones
    for _ in columns:
        published = [c for c in looked_at if c.name not in left_out]
        protected = [
            c.name
            for c in columns
            if c.role == "sensitive" and c.name not in left_out and c.name in sample
        ]
        concerns = find_concerns(published, protected, source.facts.rows, sample)
        concerns = with_whole_table(concerns, source.facts.rows, keep, source.repeats)
        more = to_leave_out(concerns, keep) - left_out
        if not more:
            break
        left_out |= more
    return sorted(left_out)


def _profiled(column: Column, profile: ColumnProfile | None) -> InspectedColumn:
    """A column before its role is known; without a profile, it holds nested values."""
    if profile is None:
        return InspectedColumn(column.name, column.type, 0, 0, "nested", "", 1, "", "", "", "")
    counts = profile.counts
    with_missing = np.append(counts, profile.missing) if profile.missing else counts
    # What `publish` would accept: missing is a value, and numbers with many values need classes.
    bins = ""
    if kind_of(column.type) == NUMBER and (
        with_missing.size > MOST_NUMBERS or not column.type.startswith(("int", "uint"))
    ):
        numbers = [] if profile.numbers is None else profile.numbers.tolist()
        with_missing, bins = _counts_of_classes(numbers, counts, profile.missing)
    elif not is_protectable(column.type) or with_missing.size > MOST_VALUES:
        with_missing = _NOTHING
    return InspectedColumn(
        column.name,
        column.type,
        int(counts.size),
        profile.missing,
        "plain",
        "",
        largest_ell(with_missing),
        bins,
        little_histogram(counts, profile.numbers),
        "",
        usual_method(with_missing, USUAL_ELL),
    )


def _counts_of_classes(numbers: list[float], counts: Any, missing: int) -> tuple[Any, str]:
    """The rows of each of the suggested classes of the numbers."""
    try:
        labels, _ = put_into_classes("", numbers, counts, Bins.parse(SUGGESTED_BINS))
    except InputError:
        return _NOTHING, ""
    totals = Counter[str | None]({None: missing} if missing else {})
    for label, count in zip(labels, counts.tolist(), strict=True):
        # What is no number (NaN) becomes missing too.
        totals[label] += count
    return np.array(list(totals.values()), np.int64), SUGGESTED_BINS


def _likely_sensitive(columns: Sequence[InspectedColumn]) -> tuple[str, ...]:
    """The columns that can be protected and whose names sound sensitive."""
    return tuple(
        column.name
        for column in columns
        if column.role != "nested" and column.method and sounds_sensitive(column.name)
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
    column: InspectedColumn,
    sensitive: Sequence[str],
    concerns: Concerns,
    keep: Sequence[str],
    *,
    guessed: bool,
) -> InspectedColumn:
    role, why, looks_like = column.role, "", ""
    # Of a pair, it is enough to leave out the first.
    stopping = {one.columns[0]: slice_sentence(one) for one in concerns.slices if one.stops}
    stopping |= {one.columns[0]: giveaway_sentence(one) for one in concerns.giveaways if one.stops}
    stopping = {name: why for name, why in stopping.items() if name not in keep}
    if role == "nested":
        why = "nested values cannot be published"
    elif column.name in sensitive and not (guessed and column.name in stopping):
        role = "sensitive"
    elif column.name in concerns.identifiers and column.name not in keep:
        suspicion = concerns.identifiers[column.name]
        role, why, looks_like = "identifier", suspicion.reason, suspicion.kind
    elif column.name in stopping:
        role, why = "giveaway", stopping[column.name]
    return replace(column, role=role, why=why, looks_like=looks_like)
