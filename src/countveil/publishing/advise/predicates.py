"""Questions that could be asked of a table: conjunctions of plain columns, drawn from its rows.

Enters: codes of the plain columns, a stream. Leaves: for each predicate the rows that meet it. Must
not know: the sensitive column, values.

A predicate is a random row and one to three random columns: the rows that have the same values
there. So predicates occur as often as people who meet them.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from countveil.randomness import Stream

Codes = NDArray[np.int64]

# A column with more values than this is asked about in classes if it has an order.
_MOST_SINGLE, _CLASSES = 100, 10
_MOST_COLUMNS, _LEAST_ROWS, _LEAST_SHARE = 3, 10, 1_000
_TRIES = 400
_HARDLY_VARIES = 0.95


def askable(columns: Mapping[str, Codes], ordered: frozenset[str]) -> dict[str, Codes]:
    """The columns that predicates can be made of; many numbers become classes of equal size.

    A column in which nearly all rows have the same value says nothing about accuracy: a condition
    on it selects nearly all rows.
    """
    askable_codes = {}
    for name, codes in columns.items():
        distinct = int(codes.max(initial=-1)) + 1
        if not codes.size or int(np.bincount(codes).max()) > _HARDLY_VARIES * codes.size:
            continue
        if distinct > _MOST_SINGLE and name in ordered:
            place = np.cumsum(np.bincount(codes)) - 1
            askable_codes[name] = (place * _CLASSES // codes.size)[codes]
        elif 1 < distinct <= codes.size // 2:
            askable_codes[name] = codes
    return askable_codes


def find_predicates(columns: Mapping[str, Codes], number: int, stream: Stream) -> list[Codes]:
    """At most `number` different predicates that some rows meet, but not all."""
    names = list(columns)
    if not names:
        return []
    rows = columns[names[0]].size
    least = max(_LEAST_ROWS, rows // _LEAST_SHARE)
    tried: set[tuple[tuple[str, int], ...]] = set()
    predicates: list[Codes] = []
    failures = 0
    # A table with few columns has few predicates: most attempts then repeat a known one.
    while len(predicates) < number and failures < _TRIES:
        row = int(stream.below(rows, 1)[0])
        most = min(_MOST_COLUMNS, len(names))
        chosen = stream.choose(1 + int(stream.below(most, 1)[0]), len(names)).tolist()
        key = tuple((names[place], int(columns[names[place]][row])) for place in chosen)
        failures += 1
        if key in tried:
            continue
        tried.add(key)
        met = columns[key[0][0]] == key[0][1]
        for name, code in key[1:]:
            met &= columns[name] == code
        places = np.flatnonzero(met)
        if least <= places.size < rows:
            predicates.append(places)
            failures = 0
    return predicates
