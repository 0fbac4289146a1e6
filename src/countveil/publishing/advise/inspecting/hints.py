"""What an inspection advises, in sentences: marks, persons, weights, odd cells, skewed columns.

Enters: an opened table, what is known about its columns. Leaves: sentences for the publisher, who
may see the table. Must not know: how they are shown. No value is quoted but marks such as `?`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from countveil.engines.local_table import LocalTable
from countveil.errors import InputError, UnsafeError, option
from countveil.maths.groups import what_helps
from countveil.maths.groups.feasible import other_ways
from countveil.publishing.advise.inspecting.inspection import InspectedColumn
from countveil.publishing.persons import check_persons
from countveil.publishing.prepare import MOST_NUMBERS
from countveil.publishing.safety.patterns import find_odd_cells, mostly_alike
from countveil.tables import Column, Shaping
from countveil.tables.encoded.survey import CodedColumn

SUGGESTED_BINS = "q10"


def hints(
    source: LocalTable,
    columns: Sequence[InspectedColumn],
    sensitive: Sequence[str],
    marks: Sequence[str],
    *,
    guessed: bool,
) -> list[str]:
    """What the publisher should know or name."""
    said = []
    if marks:
        listed = ", ".join(repr(mark) for mark in marks[:5])
        said.append(
            f"Some values look like missing ones ({listed}): name them with {option('missing')}."
        )
    for column in columns:
        if column.role != "sensitive" or column.largest_ell >= 2:
            continue
        counts = source.histogram(column.name).counts
        said.append(
            f"{column.name!r} is very skewed. {what_helps(counts)} "
            f"{other_ways(counts, column.suggested_ell)}"
            if column.method
            else f"{column.name!r} cannot be protected, and should then not be published. "
            f"{what_helps(counts)}"
        )
    classed = [column.name for column in columns if column.role == "sensitive" and column.bins]
    if classed:
        said.append(
            f"Numbers with more than {MOST_NUMBERS} different values are protected in classes: the "
            f"ell of {', '.join(map(repr, classed))} is that with "
            f"{option('bins', {classed[0]: SUGGESTED_BINS})}."
        )
    if guessed and sensitive:
        said.append(
            f"Taken as sensitive because of the name: {', '.join(map(repr, sensitive))}. Name "
            f"others, or more, with {option('sensitive')}."
        )
    if not sensitive:
        said.append(
            "No column has a name that sounds sensitive, so giveaways were not looked for. Name "
            f"the columns to protect with {option('sensitive')}."
        )
    return said


def about_odd_cells(
    source: LocalTable, columns: Sequence[Column], sample: Mapping[str, CodedColumn]
) -> list[str]:
    """Text that would be numbers or dates but for a few cells, counted in all rows."""
    suspects = {
        name: coded
        for name, coded in sample.items()
        if (coded.codes.size < source.facts.rows or coded.distinct > len(coded.examples))
        and mostly_alike(coded.examples)
    }
    whole = dict(sample)
    for name in suspects:
        histogram = source.histogram(name)
        known = [value for value in histogram.values if value is not None]
        missing = int(histogram.counts[: len(histogram.values) - len(known)].sum())
        whole[name] = CodedColumn(source.codes(name), missing, known)
    return [cells.sentence for cells in find_odd_cells(columns, source.facts.rows, whole)]


def about_persons(source: LocalTable, shaping: Shaping) -> list[str]:
    """What would stop a publication, and who has several rows."""
    sentences = []
    for person in shaping.persons:
        repeats = source.repeats(person)
        try:
            check_persons(repeats, person, cases=True)
        except InputError as error:
            return [str(error)]
        if repeats.several:
            sentences.append(
                f"{repeats.several:,} persons in column {person!r} have more than one row, up to "
                f"{repeats.most:,}. The rows of a person with the same value publish alike."
            )
    return sentences


def about_weight(source: LocalTable, shaping: Shaping) -> tuple[dict[str, float], list[str]]:
    """Whether the survey weights find people, and what rounding would do."""
    weight = shaping.weight
    if weight is None:
        return {}, []
    from countveil.publishing.safety.weights import check_weight, suggested_rounding

    histogram = source.histogram(weight)
    try:
        check_weight(weight, histogram, keep=weight in shaping.keep)
    except UnsafeError as error:
        numbers = np.array([float(value) for value in histogram.values])
        rounding = suggested_rounding(numbers, histogram.counts)
        said = str(error).partition(": ")[2]
        return ({} if rounding is None else {weight: rounding.step}), [said[:1].upper() + said[1:]]
    except InputError as error:
        return {}, [str(error)]
    return {}, [f"The weight {weight!r} is published as it is; its values find hardly anybody."]
