"""Persons with several rows: linked rows become linked cases, which is what was drawn.

Enters: the linked rows of a release, the person of every row of the table. Leaves: for each set of
columns with one draw a target whose units are cases. Must not know: files, attacks. Theory:
docs/theory/cases.md.

The adversary knows which rows are a person's. Where only some rows are linked, a case is linked if
one of its rows is. How many cases publish a value is then not known; he is granted the numbers of
those that have it, which it is on average.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from countveil.auditing.linking import TrueColumn
from countveil.auditing.target import AttackedColumn, CaseRows, Codes, Target
from countveil.maths.adversary import KnownColumn
from countveil.tables.encoded.vectors import vector_keys


def targets_by_case(
    target: Target, truth: Mapping[str, TrueColumn], persons: Codes
) -> list[Target]:
    """One target for each draw: a set of columns together, or a column."""
    joined = {name for names in target.together for name in names}
    apart = [(column.name,) for column in target.columns if column.name not in joined]
    return [_by_case(target, names, truth, persons) for names in [*target.together, *apart]]


def _by_case(
    target: Target, names: tuple[str, ...], truth: Mapping[str, TrueColumn], persons: Codes
) -> Target:
    columns = [column for column in target.columns if column.name in names]
    columns += [column for column in target.vectors if column.vector_of == names]
    # Of columns together the vectors come last, and are what was drawn.
    drawn = columns[-1]
    keys = persons * drawn.n_values + _true_codes(drawn, truth)
    cases = np.unique(keys)
    _, first, number = np.unique(keys[target.source_place], return_index=True, return_inverse=True)
    # Cases are known by their first linked row, in the order of the table.
    order = np.argsort(first)
    units, place = first[order], np.argsort(order)
    everybody = units.size == cases.size
    return Target(
        target.source_place[units],
        target.release_place[units],
        [KnownColumn(c.name, c.codes[units], c.n_levels) for c in target.plain],
        [
            _of_cases(column.rows_at(units), drawn, cases % drawn.n_values, everybody=everybody)
            for column in columns
        ],
        cases.size,
        (names,) if len(names) > 1 else (),
        CaseRows(persons[target.source_place], place[number], drawn.released),
    )


def _true_codes(column: AttackedColumn, truth: Mapping[str, TrueColumn]) -> Codes:
    """The true value, or vector, of every row of the table."""
    if column.places is None:
        return truth[column.name].codes
    sizes = [len(truth[name].values) for name in column.vector_of]
    known = np.ravel_multi_index(tuple(column.places), tuple(sizes))
    return np.searchsorted(known, vector_keys([truth[n].codes for n in column.vector_of], sizes))


def _of_cases(
    column: AttackedColumn, drawn: AttackedColumn, having: Codes, *, everybody: bool
) -> AttackedColumn:
    """The column with the numbers of cases; `having` is what each of them has of what was drawn."""
    if drawn.places is not None and not column.vector_of:
        having = drawn.places[drawn.vector_of.index(column.name)][having]
    counts = np.bincount(having, minlength=column.n_values)
    published = np.bincount(column.released, minlength=column.n_values) if everybody else counts
    return replace(column, counts=counts, published=published)
