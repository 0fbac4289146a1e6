"""What the publisher wishes beside the columns to protect.

Enters: options as written on a command line or in Python. Leaves: `Choices`, checked among
themselves. Must not know: the table.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

from countveil.errors import SettingsError
from countveil.tables.classes import Bins
from countveil.tables.csv_style import PLAIN_CSV, CsvStyle
from countveil.tables.labels import read_labels
from countveil.tables.recode import read_domain, read_merges

FileOr = str | os.PathLike[str]


class SourceOptions(TypedDict, total=False):
    """How a table is read, wherever one is: what every call of the publisher's side takes.

    `missing` are texts that stand for a missing value. Of CSV files: `delimiter`, `quote` ("" for
    none), `encoding`, `decimal_comma`, and `header=False` if the first line is data. `where` is an
    SQL condition that rows must meet, `columns` are the only ones to publish beside the protected
    ones, `labels` says what the codes of columns stand for. `query` is a SELECT for a database.
    """

    missing: Sequence[str] | str
    delimiter: str | None
    quote: str | None
    encoding: str | None
    decimal_comma: bool
    header: bool
    where: str | None
    columns: Sequence[str] | str
    labels: Mapping[str, Mapping[Any, str] | FileOr] | None
    query: str | None


@dataclass(frozen=True, slots=True)
class Choices:
    """Columns left out or kept on purpose, the person, and what is done to values first."""

    drop: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    person: str | None = None
    bins: Mapping[str, Bins] = field(default_factory=dict)
    merge: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    domain: Mapping[str, Sequence[str]] = field(default_factory=dict)
    missing: tuple[str, ...] = ()
    csv: CsvStyle = PLAIN_CSV
    where: str | None = None
    columns: tuple[str, ...] = ()
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    query: str | None = None

    def __post_init__(self) -> None:
        both = set(self.drop) & set(self.keep)
        if both:
            raise SettingsError(f"Column {min(both)!r} is both dropped and kept; choose one.")
        both = set(self.drop) & set(self.columns)
        if both:
            raise SettingsError(
                f"Column {min(both)!r} is both among those to publish and dropped; choose one."
            )
        both = set(self.bins) & set(self.labels)
        if both:
            raise SettingsError(
                f"Column {min(both)!r} is both labelled and put into classes; choose one."
            )
        twice = (set(self.bins) & set(self.merge)) | (set(self.bins) & set(self.domain))
        if twice:
            raise SettingsError(
                f"Column {min(twice)!r} is put into classes, which are its domain; --merge and "
                f"--domain do not go with --bins."
            )

    @classmethod
    def of(
        cls,
        *,
        drop: Sequence[str] | str = (),
        keep: Sequence[str] | str = (),
        person: str | None = None,
        bins: Mapping[str, object] | None = None,
        merge: Mapping[str, Mapping[Any, str] | FileOr] | None = None,
        domain: Mapping[str, Sequence[Any] | FileOr] | None = None,
        missing: Sequence[str] | str = (),
        delimiter: str | None = None,
        quote: str | None = None,
        encoding: str | None = None,
        decimal_comma: bool = False,
        header: bool = True,
        where: str | None = None,
        columns: Sequence[str] | str = (),
        labels: Mapping[str, Mapping[Any, str] | FileOr] | None = None,
        query: str | None = None,
    ) -> Choices:
        """From what a caller may write; files are read here."""
        return cls(
            drop=_names(drop),
            keep=_names(keep),
            person=person,
            bins={name: Bins.of(wish) for name, wish in (bins or {}).items()},
            merge={name: read_merges(wish) for name, wish in (merge or {}).items()},
            domain={name: read_domain(wish) for name, wish in (domain or {}).items()},
            missing=_names(missing),
            csv=CsvStyle.of(
                delimiter=delimiter, quote=quote, encoding=encoding, decimal_comma=decimal_comma,
                header=header,
            ),
            where=where,
            query=query,
            columns=_names(columns),
            labels={name: read_labels(wish) for name, wish in (labels or {}).items()},
        )  # fmt: skip

    def wanted_columns(self, sensitive: Sequence[str]) -> tuple[str, ...]:
        """The columns to read; none named means all.

        What is protected, and who a row is about, is needed whatever is published beside it.
        """
        person = () if self.person is None else (self.person,)
        return (*self.columns, *sensitive, *person) if self.columns else ()

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that is named somewhere."""
        person = () if self.person is None else (self.person,)
        return (
            *self.drop,
            *self.keep,
            *person,
            *self.bins,
            *self.merge,
            *self.domain,
            *self.labels,
        )


def _names(given: Sequence[str] | str) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
