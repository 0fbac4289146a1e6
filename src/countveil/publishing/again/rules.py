"""What must stay as it is from one release of a ledger to the next.

Enters: an open ledger, the columns to protect and how they were prepared. Leaves: the sets of
columns that have one draw each, or the error that says what changed and what to do. Must not know:
rows, values.

A case is recognised by its person and its value. If values are prepared in another way, or drawn
with other columns, nobody would be recognised, and everybody drawn a second time.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from countveil.errors import LedgerError, option
from countveil.publishing.ledger.book import Book, ColumnSet
from countveil.release.values import kind_of
from countveil.tables import Column, Roles

_BATCH = "batch"
_WHAT = {
    "person": "the column that identifies persons",
    "kinds": "the kind of values",
    "steps": "how values were prepared",
    "missing": "which texts mean a missing value",
}


def rules_of(
    columns: Sequence[str],
    person: str,
    published: Sequence[Column],
    prepared: Mapping[str, Any],
) -> dict[str, Any]:
    """What has to stay for some columns; `prepared` is what a release says of its preparation."""
    steps = prepared.get("columns", {})
    rules = {
        "person": person,
        "kinds": {each.name: kind_of(each.type) for each in published if each.name in columns},
        "steps": {name: steps[name] for name in columns if name in steps},
        "missing": sorted(prepared.get("missing", [])),
    }
    # As it is read back: tuples are lists, numbers of keys are texts.
    read: dict[str, Any] = json.loads(json.dumps(rules))
    return read


def check_rare(rare: Collection[str], sensitive: Collection[str]) -> None:
    """Which values are rare changes from month to month, and with it what a case is."""
    for name in sensitive:
        if name in rare:
            raise LedgerError(
                f"The rare values of {name!r} are merged by their counts, which change from "
                f"release to release: a value that is rare now and not next month would be drawn a "
                f"second time. List the values to merge in a file, once for all releases: "
                f"{option('merge', {name: 'FILE'})}."
            )


def column_sets(
    book: Book, rules: Mapping[tuple[str, ...], Any], ells: Mapping[str, int], roles: Roles
) -> list[ColumnSet]:
    """The sets of columns to draw: those of the ledger where it has them, else new ones."""
    _check_still_protected(book, roles)
    sets, names = [], _free_names(book, roles)
    number = max((known.number for known in book.sets), default=0)
    for columns, rule in rules.items():
        known = next((each for each in book.sets if set(each.columns) & set(columns)), None)
        if known is None:
            number += 1
            sets.append(ColumnSet(number, columns, next(names), ells[columns[0]], rule))
        else:
            _check_same(book, known, columns, ells[columns[0]], rule)
            sets.append(known)
    return sets


def _check_still_protected(book: Book, roles: Roles) -> None:
    published = {column.name.casefold(): column.name for column in roles.published}
    for known in book.sets:
        if known.batch_column.casefold() in published:
            name = published[known.batch_column.casefold()]
            raise LedgerError(
                f"The table has a column {name!r}, and the releases of the ledger {book.path} have "
                f"one of this name for the batches of {', '.join(known.columns)}. Rename the "
                f"column of the table, or leave it out ({option('drop', name)})."
            )
        for name in known.columns:
            if name in roles.plain:
                raise LedgerError(
                    f"Column {name!r} is protected in the earlier releases of the ledger "
                    f"{book.path}, and would be published as it is now: that would reveal all true "
                    f"values. Protect it ({option('sensitive', {name: known.ell})}) or leave it "
                    f"out ({option('drop', name)})."
                )


def _check_same(
    book: Book, known: ColumnSet, columns: tuple[str, ...], ell: int, rule: Mapping[str, Any]
) -> None:
    listed = ", ".join(known.columns)
    what = f"of {listed} changed since the first release of the ledger {book.path}"
    why = (
        "Everybody would be drawn a second time, and whoever has both releases could combine the "
        "draws."
    )
    if known.columns != columns:
        together = option("together", list(known.columns)) if len(known.columns) > 1 else ""
        raise LedgerError(
            f"Which columns have one draw changed: {listed} in the ledger {book.path}, "
            f"{', '.join(columns)} now. {why} Publish them as before"
            f"{f', with {together}' if together else ', each by itself'}."
        )
    if known.ell != ell:
        raise LedgerError(
            f"The ell {what}: it was {known.ell}, and {ell} was asked for. Known cases publish "
            f"what they did, with the old ell. Use {option('sensitive', {columns[0]: known.ell})}; "
            f"for another ell, begin a new ledger with people about whom nothing was published."
        )
    for part, noun in _WHAT.items():
        if known.rules.get(part) != rule.get(part):
            raise LedgerError(
                f"{noun[0].upper()}{noun[1:]} {what}: it was {_short(known.rules.get(part))}, and "
                f"is {_short(rule.get(part))} now. {why} Use the same options as before."
            )


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else text[:197] + "..."


def _free_names(book: Book, roles: Roles) -> Iterator[str]:
    """Names for columns of batches that no other column has; to Spark, `Batch` is `batch`."""
    names = [column.name for column in roles.published]
    names += [name for known in book.sets for name in (known.batch_column, *known.columns)]
    taken = {name.casefold() for name in names}
    number = 1
    while True:
        name = _BATCH if number == 1 else f"{_BATCH}_{number}"
        number += 1
        if name not in taken:
            yield name
