"""The publisher's table made ready: recoded, its columns in their roles, found safe.

    label, merge, put into classes -> roles -> person -> domains -> identifiers, giveaways

Enters: an opened table and the publisher's choices. Leaves: `Prepared`, or the error that stops
before harm. Must not know: groups, draws, where the release goes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Generic, TypeVar

from countveil.engines.contract import LocalTable, Reading, SourceTable
from countveil.errors import InputError, SettingsError, UnsafeError
from countveil.publishing.safety import Concerns, check_safe, find_concerns, sample_size
from countveil.release.values import NUMBER, kind_of
from countveil.tables import (
    Choices,
    Classes,
    Column,
    Roles,
    assign_roles,
    check_named,
    put_into_classes,
)
from countveil.tables.counted import CodedColumn, Repeats
from countveil.tables.labels import has_all_labels, labelled
from countveil.tables.recode import declared_values, merge_values, value_text

# A numeric sensitive column with more values than this is a measurement, not a category.
MOST_NUMBERS = 100
Table = TypeVar("Table", bound=SourceTable)


@dataclass(frozen=True, slots=True)
class Prepared(Generic[Table]):
    """A table ready to be published.

    `domains` has the values of the columns whose values are public whatever the rows say; `classes`
    the columns that were put into classes. `warnings` are sentences for the publisher.
    """

    source: Table
    roles: Roles
    domains: Mapping[str, Sequence[Any]]
    classes: Mapping[str, Classes]
    warnings: Sequence[str]


LocalPrepared = Prepared[LocalTable]


def prepare(source: Table, sensitive: Sequence[str], choices: Choices) -> Prepared[Table]:
    """Do to a table's values what was asked, and stop if publishing it would harm."""
    shaped = shape(source, sensitive, choices)
    concerns = concerns_of(shaped.source, shaped.roles.published, sensitive)
    return replace(shaped, warnings=[*shaped.warnings, *check_safe(concerns, choices.keep)])


def shape(source: Table, sensitive: Sequence[str], choices: Choices) -> Prepared[Table]:
    """Do to a table's values what was asked; whether it is safe is not looked at."""
    check_named(source.columns, [*sensitive, *choices.named])
    if source.rows == 0:
        raise InputError("The table has no rows, so there is nothing to publish.")
    warnings = [*source.warnings, *put_labels(source, choices), *_merge(source, choices)]
    classes = _classify(source, choices)
    drop = set(choices.drop)
    if choices.person is not None:
        _check_persons(source.repeats(choices.person), choices.person)
        if choices.person not in choices.keep:
            drop.add(choices.person)
    roles = assign_roles(source.columns, sensitive, drop)
    domains: dict[str, Sequence[Any]] = {name: found.labels for name, found in classes.items()}
    domains.update(_declared(source, choices))
    _check_not_measured(source, roles, domains)
    return Prepared(source, roles, domains, classes, warnings)


def open_table(
    table: object,
    choices: Choices,
    reading: Reading | None = None,
    sensitive: Sequence[str] = (),
) -> LocalTable:
    """Open a table, or the part of it that was asked for, in this process."""
    from countveil.engines.local.engine import LocalEngine

    return LocalEngine().open_source(table, choices, sensitive, reading or Reading())


def concerns_of(
    source: SourceTable, columns: Sequence[Column], sensitive: Sequence[str]
) -> Concerns:
    """What looks like an identifier, and what gives sensitive values away, in a sample of rows."""
    names = [column.name for column in columns]
    look = partial(_concerns_in, list(columns), list(sensitive), source.rows)
    return source.on_sample(sample_size(len(columns)), names, look)


def _concerns_in(
    columns: Sequence[Column],
    sensitive: Sequence[str],
    rows: int,
    sample: Mapping[str, CodedColumn],
) -> Concerns:
    return find_concerns(columns, sensitive, sample, rows)


def put_labels(source: SourceTable, choices: Choices) -> list[str]:
    """Put labels in place of codes: those that were named, else those of the source itself.

    A column that has labels for some of its values only (9 is "no answer") holds numbers.
    """
    for name, labels in choices.labels.items():
        values = source.histogram(name).values
        source.recode(name, labelled(name, values, labels))
    warnings = []
    for name, labels in source.labels.items():
        if name in choices.labels or name in choices.bins or name in choices.drop:
            continue
        values = source.histogram(name).values
        if has_all_labels(values, labels):
            source.recode(name, labelled(name, values, labels))
        else:
            warnings.append(
                f"Column {name!r} has values without a label in the file, so its codes are kept."
            )
    return warnings


def _merge(source: SourceTable, choices: Choices) -> list[str]:
    warnings = []
    for name, merges in choices.merge.items():
        values = source.histogram(name).values
        occurring = {value_text(value) for value in values if value is not None}
        absent = sum(value not in occurring for value in merges)
        if absent == len(merges):
            raise SettingsError(
                f"None of the {len(merges):,} values to merge occurs in column {name!r}. Check the "
                f"spelling; upper and lower case and spaces matter."
            )
        if absent:
            warnings.append(f"{absent:,} of the values to merge do not occur in column {name!r}.")
        source.recode(name, merge_values(values, merges))
    return warnings


def _classify(source: SourceTable, choices: Choices) -> dict[str, Classes]:
    classes = {}
    for name, bins in choices.bins.items():
        histogram = source.histogram(name)
        labels, classes[name] = put_into_classes(name, histogram.values, histogram.counts, bins)
        source.recode(name, labels)
    return classes


def _declared(source: SourceTable, choices: Choices) -> dict[str, Sequence[Any]]:
    types = {column.name: column.type for column in source.columns}
    return {
        name: declared_values(name, texts, source.histogram(name).values, types[name])
        for name, texts in choices.domain.items()
    }


def _check_persons(found: Repeats, person: str) -> None:
    """A row must be a person: several rows are several hints about the same one."""
    if found.missing:
        raise InputError(
            f"Column {person!r} says who a row is about, but {found.missing:,} rows have no "
            f"value in it. Complete it, or take these rows out first."
        )
    if found.several:
        raise UnsafeError(
            f"Nothing was published: {found.several:,} persons in column {person!r} have more "
            f"than one row, up to {found.most:,}. Every row gives a hint about its person, "
            f"and hints add up. What works: make a table with one row per person (choose one row "
            f"of each, or summarise them), and publish that. If rows are not about persons, leave "
            f"--person away."
        )


def _check_not_measured(
    source: SourceTable, roles: Roles, domains: Mapping[str, Sequence[Any]]
) -> None:
    """Numbers with many values have small counts only; classes are what can be published well."""
    for column in roles.published:
        if column.name not in roles.sensitive or column.name in domains:
            continue
        if kind_of(column.type) != NUMBER:
            continue
        distinct = len(source.histogram(column.name).values)
        if distinct > MOST_NUMBERS:
            raise SettingsError(
                f"Column {column.name!r} holds numbers with {distinct:,} different values. Put "
                f"them into classes: --bins {column.name}=10 (rounded edges), "
                f"--bins {column.name}=q10 (equally many rows in each) or edges, such as "
                f"--bins {column.name}=18,30,45,65. "
                f"If they are codes, declare them with --domain {column.name}=FILE."
            )
