"""The publisher's table made ready: recoded, its columns in their roles, checked for safety.

    label, levels, merge, put into classes -> roles -> person -> domains
    -> identifiers, giveaways, odds

Enters: an opened table and its shaping. Leaves: a `PreparedTable`, or the error that stops before
harm. Must not know: groups, draws, where the release goes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Generic, TypeVar

from countveil.engines.contract import SourceTable
from countveil.engines.local_table import LocalTable
from countveil.errors import InputError, SettingsError, UnsafeError, option
from countveil.publishing.safety import (
    Concerns,
    Fineness,
    check_safe,
    find_concerns,
    fineness_of,
    sample_size,
    with_whole_table,
)
from countveil.publishing.safety.patterns import OddCells, find_odd_cells
from countveil.release.values import NUMBER, kind_of
from countveil.tables import (
    Classes,
    Column,
    Reading,
    Roles,
    Shaping,
    assign_roles,
    check_named,
    put_into_classes,
)
from countveil.tables.classes import class_values
from countveil.tables.encoded.survey import CodedColumn, Histogram
from countveil.tables.labels import has_all_labels, labelled
from countveil.tables.levels import MergedValues, at_level, merge_rare
from countveil.tables.recode import confirmed_values, declared_values, merge_values, value_text

# A numeric sensitive column with more values than this is a measurement, not a category.
MOST_NUMBERS = 100
# Groups of more values would take too long to form.
MOST_VALUES = 100_000
Table = TypeVar("Table", bound=SourceTable)


@dataclass(frozen=True, slots=True)
class Recoded:
    """What was done to values.

    `labels` has the columns whose codes the source itself has labels for, `kept_codes` those in
    which it has them for some codes only, `merged` the rare values that were given one label,
    `classes` the columns that were put into classes.
    """

    labels: Mapping[str, Mapping[str, str]]
    kept_codes: Mapping[str, Mapping[str, str]]
    merged: Sequence[MergedValues]
    classes: Mapping[str, Classes]
    warnings: Sequence[str]


@dataclass(frozen=True, slots=True)
class PreparedTable(Generic[Table]):
    """A table ready to be published.

    `domains` has the values of the columns whose values are public whatever the rows hold; those of
    the columns in `confirmed` were taken from the table, and the publisher says that they are;
    `concerns` are sentences about what a sample of the rows shows. `fineness` says of each
    sensitive column what seeing its value published is worth. `person` identifies persons, where
    some of them have several rows.
    """

    source: Table
    roles: Roles
    domains: Mapping[str, Sequence[Any]]
    recoded: Recoded
    class_values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    weight: str | None = None
    fineness: Mapping[str, Fineness] = field(default_factory=dict)
    concerns: Sequence[str] = ()
    confirmed: tuple[str, ...] = ()
    person: str | None = None

    @property
    def warnings(self) -> Sequence[str]:
        """Sentences for the publisher."""
        return [*self.source.facts.warnings, *self.recoded.warnings, *self.concerns]

    @property
    def classes(self) -> Mapping[str, Classes]:
        """The columns that were put into classes."""
        return self.recoded.classes


LocalPreparedTable = PreparedTable[LocalTable]


def prepare(
    source: Table,
    sensitive: Sequence[str] | Mapping[str, int],
    shaping: Shaping,
    together: Sequence[Sequence[str]] = (),
    *,
    cases: bool = False,
) -> PreparedTable[Table]:
    """Shape a table, and stop if publishing it would harm people.

    With an ell for each sensitive column, values that are too fine at this ell stop it too. What
    columns `together` say about each other does no harm: they are published in one draw. With
    `cases`, persons may have several rows.
    """
    names, ells = list(sensitive), sensitive if isinstance(sensitive, Mapping) else {}
    shaped = shape(source, names, shaping, cases=cases)
    concerns, odd = _look(shaped.source, shaped.roles.published, names, shaping.keep)
    concerns = concerns.outside(together) if together else concerns
    if shaping.weight is not None:
        concerns = _without_weight(concerns, shaped.source, shaping.weight, shaping)
    histograms = {name: source.histogram(name).counts for name, ell in ells.items() if ell >= 2}
    if shaped.person is not None:
        from countveil.publishing.persons import counts_of_persons

        histograms = {name: counts_of_persons(source, shaped.person, name) for name in histograms}
    fineness = {name: fineness_of(counts, ells[name]) for name, counts in histograms.items()}
    warnings = check_safe(concerns, shaping.keep, fineness)
    warnings = [*warnings, *(cells.sentence for cells in odd)]
    return replace(shaped, concerns=warnings, fineness=fineness)


def shape(
    source: Table, sensitive: Sequence[str], shaping: Shaping, *, cases: bool = False
) -> PreparedTable[Table]:
    """Recode values and give columns their roles; safety is not checked."""
    check_named(source.facts.columns, [*sensitive, *shaping.named])
    if source.facts.rows == 0:
        raise InputError("The table has no rows, so there is nothing to publish.")
    _check_filter(source, sensitive, shaping)
    recoded = recode(source, shaping)
    drop = set(shaping.drop)
    several = None
    if shaping.persons:
        # Loaded only where persons are known.
        from countveil.publishing.persons import with_several_rows

        several = with_several_rows(source, shaping, cases=cases)
        drop |= {*shaping.persons} - {*shaping.keep}
    roles = assign_roles(source.facts.columns, sensitive, drop)
    domains: dict[str, Sequence[Any]] = {
        name: column_classes.labels for name, column_classes in recoded.classes.items()
    }
    domains.update(declared_domains(source, shaping, domains))
    _check_not_measured(source, roles, domains)
    numbers = numbers_of_classes(recoded, shaping)
    if shaping.weight is not None:
        _check_weight_role(shaping.weight, roles)
    return PreparedTable(
        source, roles, domains, recoded, numbers, shaping.weight, confirmed=shaping.public,
        person=several,
    )  # fmt: skip


def numbers_of_classes(recoded: Recoded, shaping: Shaping) -> dict[str, tuple[float, ...]]:
    """The number that stands for each class of a column, where these were declared."""
    return {
        name: class_values(name, recoded.classes[name], given)
        for name, given in shaping.class_values.items()
    }


def _check_weight_role(weight: str, roles: Roles) -> None:
    """A weight is published as it is, and is a number."""
    if weight in roles.sensitive:
        raise SettingsError(
            f"Column {weight!r} is both sensitive and the weight; choose one. A weight is "
            f"published as it is."
        )
    column = next((column for column in roles.published if column.name == weight), None)
    if column is None:
        raise SettingsError(f"Column {weight!r} is both dropped and the weight; choose one.")
    if kind_of(column.type) != NUMBER:
        raise SettingsError(
            f"The weight {weight!r} holds {kind_of(column.type)} values; a weight is a number."
        )


def _without_weight(
    concerns: Concerns, source: SourceTable, weight: str, shaping: Shaping
) -> Concerns:
    """A weight has a check of its own in place of that for identifiers."""
    from countveil.publishing.safety.weights import check_weight

    check_weight(weight, source.histogram(weight), keep=weight in shaping.keep)
    others = {name: why for name, why in concerns.identifiers.items() if name != weight}
    return replace(concerns, identifiers=others)


def recode(source: SourceTable, shaping: Shaping) -> Recoded:
    """Put other values in place of a table's values."""
    kept, labels = _apply_labels(source, shaping)
    _put_at_levels(source, shaping)
    absent = _merge(source, shaping)
    merged = _merge_rare(source, shaping)
    coded = [
        f"Column {name!r} has values without a label in the file, so its codes are kept."
        for name in kept
    ]
    return Recoded(labels, kept, merged, _classify(source, shaping), [*coded, *absent])


def open_table(
    table: object, reading: Reading, shaping: Shaping, sensitive: Sequence[str]
) -> LocalTable:
    """Open a table in this process, or the chosen rows and columns of it."""
    from countveil.engines.local.engine import LocalEngine

    return LocalEngine().open_source(table, reading, shaping, sensitive)


def concerns_of(
    source: SourceTable,
    columns: Sequence[Column],
    sensitive: Sequence[str],
    keep: Collection[str] = (),
) -> Concerns:
    """What looks like an identifier, and what gives sensitive values away, in a sample of rows.

    How often a suspected value comes back is counted in all rows, but for columns that are kept.
    """
    return _look(source, columns, sensitive, keep)[0]


def _look(
    source: SourceTable,
    columns: Sequence[Column],
    sensitive: Sequence[str],
    keep: Collection[str],
) -> tuple[Concerns, Sequence[OddCells]]:
    """What a sample of rows shows, in one pass over it."""
    names = [column.name for column in columns]
    ordered = isinstance(source, LocalTable)
    look = partial(_looked_at, list(columns), list(sensitive), source.facts.rows, ordered)
    concerns, odd = source.on_sample(sample_size(len(columns)), names, look)
    return with_whole_table(concerns, source.facts.rows, keep, source.repeats), odd


def _looked_at(
    columns: Sequence[Column],
    sensitive: Sequence[str],
    rows: int,
    ordered: bool,
    sample: Mapping[str, CodedColumn],
) -> tuple[Concerns, Sequence[OddCells]]:
    odd = find_odd_cells(columns, rows if ordered else rows + 1, sample)
    return find_concerns(columns, sensitive, rows, sample), odd


def _apply_labels(
    source: SourceTable, shaping: Shaping
) -> tuple[dict[str, Mapping[str, str]], dict[str, Mapping[str, str]]]:
    """Replace codes by labels: those that were given, else those of the source itself.

    A column in which only some values have labels (9 is "no answer") holds numbers and is kept.
    Returns the labels of such columns, and the labels of the source that were used.
    """
    for name, labels in shaping.labels.items():
        values = source.histogram(name).values
        source.recode(name, labelled(name, values, labels))
    kept, used = {}, {}
    for name, labels in source.facts.labels.items():
        if name in {*shaping.labels, *shaping.bins, *shaping.drop, *shaping.levels}:
            continue
        values = source.histogram(name).values
        if has_all_labels(values, labels):
            source.recode(name, labelled(name, values, labels))
            used[name] = labels
        else:
            kept[name] = labels
    return kept, used


def _check_filter(source: SourceTable, sensitive: Sequence[str], shaping: Shaping) -> None:
    """A row that was chosen by its true value gives it away by being there."""
    for name in source.facts.filtered_by:
        if name in sensitive and name not in shaping.keep:
            raise UnsafeError(
                f"Nothing was published: the condition of {option('where')} chooses rows by "
                f"{name!r}, which is protected. Whoever knows that a person is in the release "
                f"would know something about the person's true value. Leave the column out of the "
                f"condition, or say that it is harmless with {option('keep', name)}."
            )


def _put_at_levels(source: SourceTable, shaping: Shaping) -> None:
    for name, level in shaping.levels.items():
        source.recode(name, at_level(name, source.histogram(name).values, level))


def _merge_rare(source: SourceTable, shaping: Shaping) -> list[MergedValues]:
    """Give the rare values of columns one label; which they are is for the publisher alone."""
    merged = []
    for name, rare in shaping.rare.items():
        histogram = source.histogram(name)
        texts, values = merge_rare(name, histogram.values, histogram.counts.tolist(), rare)
        source.recode(name, texts)
        merged.append(values)
    return merged


def _merge(source: SourceTable, shaping: Shaping) -> list[str]:
    warnings = []
    for name, merges in shaping.merge.items():
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


def _classify(source: SourceTable, shaping: Shaping) -> dict[str, Classes]:
    classes = {}
    for name, bins in shaping.bins.items():
        histogram = source.histogram(name)
        labels, classes[name] = put_into_classes(name, histogram.values, histogram.counts, bins)
        source.recode(name, labels)
    return classes


def declared_domains(
    source: SourceTable, shaping: Shaping, classes: Mapping[str, Sequence[Any]]
) -> dict[str, Sequence[Any]]:
    types = {column.name: column.type for column in source.facts.columns}
    values = {name: source.histogram(name).values for name in (*shaping.domain, *shaping.public)}
    public = {name: confirmed_values(values[name], classes.get(name)) for name in shaping.public}
    return public | {
        name: declared_values(name, texts, values[name], types[name])
        for name, texts in shaping.domain.items()
    }


def check_number_of_values(name: str, histogram: Histogram) -> None:
    """Refuse a column with more values than can be protected."""
    if histogram.counts.size > MOST_VALUES:
        raise InputError(
            f"Column {name!r} has {histogram.counts.size:,} different values; at most "
            f"{MOST_VALUES:,} can be protected. Put them into classes first."
        )


def value_namer(histogram: Histogram) -> Callable[[int], str]:
    """A function that names the value at a position, in a sentence for the publisher."""

    def name_value(position: int) -> str:
        value = histogram.values[position]
        return "the missing value" if value is None else f"the value {_shortened(value)}"

    return name_value


def _shortened(value: Any) -> str:
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _check_not_measured(
    source: SourceTable, roles: Roles, domains: Mapping[str, Sequence[Any]]
) -> None:
    """Refuse numbers with many values: all their counts are small. Classes have larger ones."""
    for column in roles.published:
        if column.name not in roles.sensitive or column.name in domains:
            continue
        if kind_of(column.type) != NUMBER:
            continue
        distinct = len(source.histogram(column.name).values)
        if distinct > MOST_NUMBERS:
            raise SettingsError(
                f"Column {column.name!r} holds numbers with {distinct:,} different values. Put "
                f"them into classes: {option('bins', {column.name: 10})} (rounded edges), "
                f"{option('bins', {column.name: 'q10'})} (equally many rows in each) or edges, "
                f"such as {option('bins', {column.name: [18, 30, 45, 65]})}. If they are codes, "
                f"declare them with {option('domain', {column.name: 'FILE'})}."
            )
