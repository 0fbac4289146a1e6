"""The columns of a table and the role of each.

Enters: names and Arrow type names as the engine reports them, and the publisher's options.
Leaves: `TableFacts`: what is known of a table as a whole; `Roles`: what is dropped, what is
protected, what is published as it is.
Must not know: values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from countveil.errors import InputError, SettingsError, UnknownColumnError, option

_PUBLISHABLE = (
    "string", "large_string", "bool", "int8", "int16", "int32", "int64", "uint", "float", "double",
    "halffloat", "decimal", "date", "timestamp", "time", "duration", "binary", "large_binary",
    "fixed_size_binary", "null",
)  # fmt: skip
_PROTECTABLE = ("string", "large_string", "bool", "int", "uint", "date", "timestamp")


@dataclass(frozen=True, slots=True)
class Column:
    """A column's name and the name of its Arrow type."""

    name: str
    type: str


@dataclass(frozen=True, slots=True)
class TableFacts:
    """What an engine knows of a table that it opened.

    `columns` are in the table's order; `labels` has, by column, the labels that the source itself
    gives to codes, and `column_labels` what it calls columns. `warnings` are sentences for the
    publisher about where the table is, and `filtered_by` the columns of the condition that chose
    the rows, if there was one.
    """

    rows: int
    columns: Sequence[Column]
    labels: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    warnings: Sequence[str] = ()
    filtered_by: Sequence[str] = ()
    column_labels: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Roles:
    """Which columns are published, and which of them are protected."""

    published: tuple[Column, ...]
    sensitive: tuple[str, ...]

    @property
    def plain(self) -> list[str]:
        """The columns that are published as they are."""
        return [column.name for column in self.published if column.name not in self.sensitive]


def check_named(columns: Sequence[Column], named: Iterable[str]) -> None:
    """Every column that the publisher named must be there, once."""
    names = [column.name for column in columns]
    repeated = [name for name, times in Counter(names).items() if times > 1]
    if repeated:
        raise InputError(
            f"The table has {len(repeated)} column name(s) more than once: "
            f"{', '.join(map(repr, repeated[:5]))}. Rename them so that each is unique."
        )
    for name in named:
        if name not in names:
            raise UnknownColumnError(name, names, "the table")


def assign_roles(columns: Sequence[Column], sensitive: Sequence[str], drop: Iterable[str]) -> Roles:
    """Give each column its role, and check that it can have it."""
    dropped = set(drop)
    check_named(columns, [*sensitive, *sorted(dropped)])
    for name in sensitive:
        if name in dropped:
            raise SettingsError(f"Column {name!r} is both sensitive and dropped; choose one.")
    published = tuple(column for column in columns if column.name not in dropped)
    for column in published:
        _check_type(column, sensitive)
    return Roles(published, tuple(sensitive))


def is_protectable(type_name: str) -> bool:
    """Whether values of this type can be protected as they are."""
    return type_name.startswith(_PROTECTABLE)


def _check_type(column: Column, sensitive: Sequence[str]) -> None:
    if not column.name:
        raise InputError("The table has a column without a name. Name it, or leave it out.")
    if not column.type.startswith(_PUBLISHABLE):
        raise InputError(
            f"Column {column.name!r} holds nested or special values ({column.type[:60]}), which "
            f"cannot be published. Flatten it first, or leave it out with {option('drop')}."
        )
    if column.name in sensitive and not is_protectable(column.type):
        raise InputError(
            f"Column {column.name!r} holds {column.type} values and cannot be protected as it is. "
            f"Text, whole numbers, dates and true/false can; numbers can be put into classes: "
            f"{option('bins', {column.name: 10})}."
        )
