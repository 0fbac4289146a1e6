"""A table looked at before it is published.

    read -> profile each column -> identifiers -> giveaways -> who is alone -> a line to publish it

Enters: a table, perhaps the columns to protect. Leaves: an `Inspection`. Must not know: groups,
draws, releases. Nothing is written, and no value of the table is quoted but marks such as `?`.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Unpack

import numpy as np

from countveil.engines.contract import LocalTable
from countveil.errors import InputError
from countveil.maths.groups import largest_ell
from countveil.publishing.prepare import MOST_NUMBERS, apply_labels, open_table
from countveil.publishing.safety import (
    Concerns,
    Giveaway,
    giveaway_sentence,
    little_histogram,
    looks_missing,
    sample_size,
    sounds_sensitive,
)
from countveil.publishing.safety.concerns import find_concerns
from countveil.release.values import NUMBER, OTHER, kind_of
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
from countveil.tables.counted import ColumnProfile

_USUAL_ELL = 5
_SUGGESTED_BINS = "q10"


@dataclass(frozen=True, slots=True)
class InspectedColumn:
    """One column: what it holds, and what to do with it.

    `role` is `plain`, `sensitive`, `identifier`, `giveaway` or `nested`; `why` says why.
    `largest_ell` is 1 where the column cannot be protected as it is. For a column of many numbers
    it is that of the suggested classes (`bins`).
    """

    name: str
    type: str
    distinct: int
    missing: int
    role: str
    why: str
    largest_ell: int
    bins: str
    histogram: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """What was found in a table."""

    rows: int
    columns: Sequence[InspectedColumn]
    giveaways: Sequence[Giveaway]
    linkable: float
    hints: Sequence[str]
    missing_marks: Sequence[str]
    guessed: bool

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that were named, or look like ones to protect."""
        return tuple(column.name for column in self.columns if column.role == "sensitive")

    def publish_line(
        self, table: str, command: str = "countveil", options: Sequence[str] = ()
    ) -> str:
        """A command that publishes this table, to copy and adapt; `options` say how to read it."""
        words = [command, "publish", shlex.quote(table), *map(shlex.quote, options)]
        for column in self.columns:
            if column.role == "sensitive":
                ell = max(2, min(_USUAL_ELL, column.largest_ell))
                words += ["-s", shlex.quote(f"{column.name}:{ell}")]
                words += ["--bins", shlex.quote(f"{column.name}={column.bins}")] * bool(column.bins)
        for column in self.columns:
            if column.role in ("identifier", "giveaway", "nested"):
                words += ["--drop", shlex.quote(column.name)]
        for mark in self.missing_marks:
            words += ["--missing", shlex.quote(mark)]
        return " ".join([*words, "--to", "release"])

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        return {**asdict(self), "sensitive": list(self.sensitive)}

    def __str__(self) -> str:
        from countveil.display import text_table

        names, rows = self.table()
        return text_table(names, rows) + "".join(f"{text}\n" for text in self.sentences())

    def __repr__(self) -> str:
        return str(self)

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """The columns as a table for people."""
        names = ["column", "holds", "distinct", "missing", "ell", "values", "role"]
        rows: list[list[Any]] = [
            [
                column.name,
                kind_of(column.type) if kind_of(column.type) != OTHER else column.type[:12],
                column.distinct,
                column.missing,
                column.largest_ell
                if column.largest_ell > 1 and column.role != "identifier"
                else None,
                column.histogram,
                column.role,
            ]
            for column in self.columns
        ]
        return names, rows

    def sentences(self) -> list[str]:
        """What was found, in words."""
        said = [
            f"{column.name!r} looks like a direct identifier: {column.why}."
            for column in self.columns
            if column.role == "identifier"
        ]
        for giveaway in self.giveaways:
            sentence = giveaway_sentence(giveaway)
            said.append(f"{sentence}." if giveaway.stops else f"Beware: {sentence}.")
        said.append(
            f"{self.linkable:.0%} of the rows are alone with their combination of values in the "
            f"columns that would be published as they are: whoever knows these values about "
            f"somebody finds the row."
        )
        return [*said, *self.hints]


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
    profiles = source.profiles([column.name for column in source.columns])
    glances = [_glance(column, profiles.get(column.name)) for column in source.columns]
    chosen = tuple(sensitive) or tuple(
        glance.name for glance in glances if sounds_sensitive(glance.name) and _protectable(glance)
    )
    for glance in glances:
        if glance.name in chosen and glance.bins:
            _put_into_suggested_classes(source, glance)
    names = [glance.name for glance in glances]
    sample = source.sample(sample_size(len(glances)), names)
    sampled = [name for name in chosen if name in sample]
    concerns = find_concerns(source.columns, sampled, source.rows, sample)
    columns = [_with_role(glance, chosen, concerns, guessed=not sensitive) for glance in glances]
    plain = [column.name for column in columns if column.role == "plain"]
    marks = sorted({mark for coded in sample.values() for mark in looks_missing(coded.examples)})
    return Inspection(
        rows=source.rows,
        columns=columns,
        giveaways=concerns.giveaways,
        linkable=source.unique_rows(plain) / source.rows if plain else 0.0,
        hints=_hints(columns, chosen, marks, guessed=not sensitive),
        missing_marks=marks,
        guessed=not sensitive,
    )


def _glance(column: Column, profile: ColumnProfile | None) -> InspectedColumn:
    """A column before its role is known; without profile, it holds nested values."""
    if profile is None:
        return InspectedColumn(column.name, column.type, 0, 0, "nested", "", 1, "", "")
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


def _protectable(column: InspectedColumn) -> bool:
    return column.role != "nested" and column.largest_ell >= 2


def _put_into_suggested_classes(source: LocalTable, column: InspectedColumn) -> None:
    """What other columns give away is measured against what would be published."""
    histogram = source.histogram(column.name)
    bins = Bins.parse(column.bins)
    labels, _ = put_into_classes(column.name, histogram.values, histogram.counts, bins)
    source.recode(column.name, labels)


def _with_role(
    column: InspectedColumn, sensitive: Sequence[str], concerns: Concerns, *, guessed: bool
) -> InspectedColumn:
    role, why = column.role, ""
    stopping = {
        # Of a pair, leaving the one out that is named first is enough.
        giveaway.columns[0]: giveaway_sentence(giveaway)
        for giveaway in concerns.giveaways
        if giveaway.stops
    }
    if role == "nested":
        why = "nested values cannot be published"
    elif column.name in sensitive and not (guessed and column.name in stopping):
        role = "sensitive"
    elif column.name in concerns.identifiers:
        role, why = "identifier", concerns.identifiers[column.name]
    elif column.name in stopping:
        role, why = "giveaway", stopping[column.name]
    values = {**asdict(column), "role": role, "why": why}
    return InspectedColumn(**values)


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
        hints.append(f"Some values look like missing ones ({listed}): say so with --missing.")
    hints += [
        f"{column.name!r} cannot be protected as it is: one value fills more than half of the "
        f"rows. Split the most frequent value into several, or protect another column."
        for column in columns
        if column.role == "sensitive" and column.largest_ell < 2
    ]
    if guessed and sensitive:
        hints.append(
            f"Taken as sensitive by its name: {', '.join(map(repr, sensitive))}. Name others, or "
            f"more, with -s."
        )
    if not sensitive:
        hints.append(
            "No column sounds sensitive by its name, so giveaways were not looked for. Name the "
            "columns to protect with -s."
        )
    return hints
