"""The result of inspecting a table, as a value and for people.

Enters: what is known about each column. Leaves: an `Inspection` with a table, sentences and a
command to copy. Must not know: the table.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.display import html_of, text_of, visible
from countveil.publishing.advise.inspecting.linkability import Linkability
from countveil.publishing.advise.pairs.association import PairFigures, as_plain, sentences_about
from countveil.publishing.safety import (
    Fineness,
    Giveaway,
    SliceGiveaway,
    Suspicion,
    fine_remedy,
    fineness_sentence,
    giveaway_sentence,
    identifier_sentence,
    slice_sentence,
)
from countveil.release.values import OTHER, kind_of
from countveil.tables.levels import MergedValues

USUAL_ELL = 5
_MOST_SLICES, _LONGEST_SHOWN = 8, 60
_NOT_PUBLISHED = ("identifier", "giveaway", "nested")
_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 8


@dataclass(frozen=True, slots=True)
class InspectedColumn:
    """One column: what it holds, and what to do with it.

    Attributes:
        name: Its name.
        type: The type of its values, as Arrow names it.
        distinct: How many different values it has, without the missing one.
        missing: In how many rows it is missing.
        role: `plain`, `sensitive`, `identifier`, `giveaway` or `nested`.
        why: The reason for this role.
        largest_ell: The largest eligible ell, for a column of many numbers that of the suggested
            classes; 1 where there are no groups of different values.
        bins: The suggested classes of a column of many numbers.
        histogram: A small picture of its counts.
        looks_like: The kind of an identifier.
        method: How the column can be protected: `mixed` groups of different values, or `common`
            values or `random` groups where these do not exist; empty if it cannot be.
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
    looks_like: str
    method: str = "mixed"

    @property
    def suggested_ell(self) -> int:
        """The usual ell, or the largest possible one below it."""
        if self.method in ("common", "random"):
            return USUAL_ELL
        return max(2, min(USUAL_ELL, self.largest_ell))


@dataclass(frozen=True, slots=True)
class Inspection:
    """What an inspection shows about a table: what `countveil.inspect` gives. Print it.

    Attributes:
        rows: How many rows the table has.
        columns: What is known about each column.
        giveaways: Plain columns from which a sensitive value is nearly known.
        linkable: The share of rows whose plain values no other row has.
        hints: What else to look at.
        missing_marks: Texts that seem to mean a missing value.
        guessed: Whether the sensitive columns were guessed by their names.
        left_out: The columns that the command leaves out, so that nothing stops it.
        rounding: Steps to which the weights should be rounded.
        slices: Parts of the table in which a sensitive value is nearly known.
        fineness: How fine the values of each sensitive column are, at the suggested ell.
        merged: The rare values that were merged.
        linkability: Advice about small combinations of plain values, if `k` was given.
        pairs: Every two sensitive columns, published apart and together.

    Example:
        >>> inspection = cv.inspect(table, sensitive="occupation")
        >>> [column.name for column in inspection.protectable]
        ['occupation']
        >>> inspection.columns[0].role
        'plain'
    """

    rows: int
    columns: Sequence[InspectedColumn]
    giveaways: Sequence[Giveaway]
    linkable: float
    hints: Sequence[str]
    missing_marks: Sequence[str]
    guessed: bool
    left_out: Sequence[str] = ()
    rounding: Mapping[str, float] = field(default_factory=dict)
    slices: Sequence[SliceGiveaway] = ()
    fineness: Mapping[str, Fineness] = field(default_factory=dict)
    merged: Sequence[MergedValues] = ()
    linkability: Linkability | None = None
    pairs: Sequence[PairFigures] = ()

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The columns that were named, or look like columns to protect."""
        return tuple(column.name for column in self.columns if column.role == "sensitive")

    @property
    def protectable(self) -> tuple[InspectedColumn, ...]:
        """The sensitive columns that a publication would not refuse."""
        return tuple(
            column
            for column in self.columns
            if column.role == "sensitive"
            and column.method
            and column.name not in self.left_out
            and not (column.name in self.fineness and self.fineness[column.name].stops)
        )

    def publish_line(
        self, table: str, command: str = "countveil", options: Sequence[str] = ()
    ) -> str:
        """A command that publishes this table, to copy and adapt.

        Args:
            table: The table, as the command should name it.
            command: The name of the command.
            options: Options that say how to read the table.

        Returns:
            The command; empty if no column can be protected, as nothing would be hidden then.
        """
        if not self.protectable:
            return ""
        words = [command, "publish", shlex.quote(table), *map(shlex.quote, options)]
        for column in self.columns:
            if column in self.protectable:
                words += ["-s", shlex.quote(f"{column.name}:{column.suggested_ell}")]
                words += ["--bins", shlex.quote(f"{column.name}={column.bins}")] * bool(column.bins)
        for column in self.columns:
            # A column that should be protected and cannot be is not published as it is.
            is_open = column.role == "sensitive" and column not in self.protectable
            stops = column.name in self.left_out or column.role in _NOT_PUBLISHED
            if is_open or stops:
                words += ["--drop", shlex.quote(column.name)]
        words += self._method_words()
        for name, step in self.rounding.items():
            words += ["--round", shlex.quote(f"{name}={step}")]
        for mark in self.missing_marks:
            words += ["--missing", shlex.quote(mark)]
        return " ".join([*words, "--to", "release"])

    def _method_words(self) -> list[str]:
        """How columns without groups of different values are published."""
        methods = {column.method for column in self.protectable}
        if "random" in methods:
            # For all columns of a release, or for none.
            return ["--groups", "random"]
        if methods == {"common"}:
            return ["--common", "auto"]
        named = [column.name for column in self.protectable if column.method == "common"]
        return [word for n in named for word in ("--common", shlex.quote(f"{n}=auto"))]

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        slices = [
            {
                "columns": list(giveaway.columns),
                "sensitive": giveaway.sensitive,
                "rows": giveaway.rows,
                "belief": giveaway.belief,
                "stops": giveaway.stops,
                "slices": [
                    {
                        "where": {name: _plain(value) for name, value in one.where},
                        "missing": one.missing,
                        "rows": one.rows,
                        "belief": one.belief,
                        "usual": one.usual,
                    }
                    for one in giveaway.slices
                ],
            }
            for giveaway in self.slices
        ]
        return {
            **asdict(self),
            "slices": slices,
            "pairs": as_plain(self.pairs),
            "sensitive": list(self.sensitive),
        }

    def __str__(self) -> str:
        return text_of([self.table(), *self.sentences()]) + "\n"

    def __repr__(self) -> str:
        sensitive = ", ".join(self.sensitive) or "none"
        return visible(
            f"Inspection({self.rows:,} rows, {len(self.columns):,} columns; sensitive: {sensitive}"
            f"; print() shows it)"
        )

    def _repr_html_(self) -> str:
        return html_of([self.table(), *self.sentences()])

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
        """The results in words."""
        sentences = [
            f"{identifier_sentence(column.name, Suspicion(column.looks_like, column.why))}."
            for column in self.columns
            if column.role == "identifier"
        ]
        for giveaway in self.giveaways:
            sentence = giveaway_sentence(giveaway)
            sentences.append(f"{sentence}." if giveaway.stops else f"Beware: {sentence}.")
        for certain in self.slices[:_MOST_SLICES]:
            sentence = slice_sentence(certain)
            opening = (
                f"{sentence[0].upper()}{sentence[1:]}" if certain.stops else f"Beware: {sentence}"
            )
            sentences.append(f"{opening}. {_worst(certain)}")
        if len(self.slices) > _MOST_SLICES:
            rest = len(self.slices) - _MOST_SLICES
            sentences.append(f"{rest:,} more such columns or pairs in the JSON.")
        for name, fine in self.fineness.items():
            more = f" {fine_remedy([name])}" if fine.stops else ""
            sentences.append(f"{fineness_sentence(name, fine)}.{more}")
        sentences += sentences_about(self.pairs)
        sentences.append(
            f"{self.linkable:.0%} of the rows have a unique combination of values in the columns "
            f"that would be published as they are: anybody who knows these values of a person can "
            f"find the row."
        )
        if self.linkability is not None:
            sentences += self.linkability.sentences()
        return [*sentences, *(merged.sentence() for merged in self.merged), *self.hints]


def _worst(giveaway: SliceGiveaway) -> str:
    """The largest slice, in plain values: these would be published as they are."""
    one = giveaway.slices[0]
    where = " and ".join(f"{name} = {_shown(value)}" for name, value in one.where)
    what = "no value" if one.missing else "the same value"
    return (
        f"The largest: where {where} ({one.rows:.1%} of the rows), {one.belief:.1%} have {what} of "
        f"{giveaway.sensitive!r}."
    )


def _shown(value: Any) -> str:
    if value is ...:
        return "(one of very many values)"
    text = "missing" if value is None else repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 3] + "..."


def _plain(value: Any) -> Any:
    """A value for JSON."""
    return value if isinstance(value, str | int | float | None) else _shown(value)


def little_histogram(counts: NDArray[np.int64], numbers: NDArray[np.float64] | None) -> str:
    """Bars: numbers by their size, from the first to the last percent; else the largest counts."""
    if not counts.size:
        return ""
    if numbers is not None and numbers.size > _WIDTH:
        heights = _by_size(counts, numbers)
    else:
        heights = counts if numbers is not None else np.sort(counts)[::-1][:_WIDTH]
    top = int(heights.max(initial=1))
    return "".join(_BARS[int(height) * (len(_BARS) - 1) // top] for height in heights)


def _by_size(counts: NDArray[np.int64], numbers: NDArray[np.float64]) -> NDArray[np.int64]:
    finite = np.isfinite(numbers)
    numbers, counts = numbers[finite], counts[finite]
    if not numbers.size:
        return counts
    reached = np.cumsum(counts) / counts.sum()
    low, high = numbers[np.searchsorted(reached, [0.01, 0.99])]
    if high <= low:
        return counts[:_WIDTH]
    place = np.clip(((numbers - low) / (high - low) * _WIDTH).astype(int), 0, _WIDTH - 1)
    return np.bincount(place, counts, minlength=_WIDTH).astype(np.int64)
