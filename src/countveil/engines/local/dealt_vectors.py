"""What rows are dealt where a draw is about several columns, or about all rows of a case.

Enters: what was drawn, the codes of a span's rows. Leaves: the published place of every row in each
column. Must not know: how a draw is made, where rows go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from countveil.engines.drawn import Drawn, DrawnCases, DrawnTogether
from countveil.engines.local.surveyed_table import EncodedSpan, SurveyedTable
from countveil.errors import InputError
from countveil.maths.mechanism import Dealer
from countveil.randomness import Randomness
from countveil.tables.encoded.vectors import Vectors


class Dealt(Protocol):
    """Columns whose published values come from one draw."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""

    @property
    def read(self) -> tuple[str, ...]:
        """The columns that have to be read for it, whether they are published or not."""

    def published(self) -> dict[str, NDArray[np.bool_]]:
        """Which values will be published, by column."""

    def codes(
        self, table: SurveyedTable, encoded: EncodedSpan, left_out: NDArray[np.int64]
    ) -> NDArray[Any]:
        """What is dealt to each row depends on this alone."""

    def reserve(self, codes: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """Take what these rows are dealt; the function hands it to them."""

    def places(self, codes: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
        """What each column publishes, by what was dealt."""


def dealt_vectors(drawn: Drawn, randomness: Randomness, table: SurveyedTable) -> list[Dealt]:
    """Whole vectors, then cases; the table gets a column that says when cases were drawn."""
    for cases in drawn.cases:
        if cases.batch is not None:
            table.add_column(cases.batch, np.unique(cases.batches).tolist())
    return [
        *(
            _DealtVectors(joint, Dealer(joint.table, randomness.stream("deal", *joint.columns)))
            for joint in drawn.together
        ),
        *map(_DealtCases, drawn.cases),
    ]


class _DealtVectors:
    """Columns that are dealt together: their codes are the numbers of vectors."""

    def __init__(self, joint: DrawnTogether, dealer: Dealer) -> None:
        self.names, self._dealer, self._vectors = joint.columns, dealer, joint.vectors
        self.read = self.names
        self._columns = joint.vectors.columns

    def published(self) -> dict[str, NDArray[np.bool_]]:
        """Which values will be published, by column."""
        drawn = self._dealer.published > 0
        masks = {}
        for name, size, places in zip(self.names, self._vectors.sizes, self._columns, strict=True):
            masks[name] = np.bincount(places[drawn], minlength=size) > 0
        return masks

    def codes(
        self, table: SurveyedTable, encoded: EncodedSpan, left_out: NDArray[np.int64]
    ) -> NDArray[Any]:
        """The number of each row's vector."""
        numbers = _numbers(self._vectors, self.names, table, encoded, left_out)
        return numbers.astype(self._dealer.dtype)

    def reserve(self, codes: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:
        """Take the share of these rows."""
        return self._dealer.reserve(self._dealer.count(codes)).deal

    def places(self, codes: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
        """What each column publishes, by published vectors."""
        for name, places in zip(self.names, self._columns, strict=True):
            yield name, places[codes]


class _DealtCases:
    """Columns that publish the same in all rows of a case: their codes are the numbers of cases."""

    def __init__(self, cases: DrawnCases) -> None:
        self._cases = cases
        self.read = (cases.person, *cases.columns)
        self._places = dict(zip(cases.columns, cases.published, strict=True))
        self._sizes = dict(zip(cases.columns, cases.vectors.sizes[1:], strict=True))
        if cases.batch is not None:
            numbers, self._places[cases.batch] = np.unique(cases.batches, return_inverse=True)
            self._sizes[cases.batch] = numbers.size
        self.names = tuple(self._places)

    def published(self) -> dict[str, NDArray[np.bool_]]:
        """Which values will be published, by column."""
        return {
            name: np.bincount(places, minlength=self._sizes[name]) > 0
            for name, places in self._places.items()
        }

    def codes(
        self, table: SurveyedTable, encoded: EncodedSpan, left_out: NDArray[np.int64]
    ) -> NDArray[Any]:
        """The number of each row's case."""
        return _numbers(self._cases.vectors, self.read, table, encoded, left_out)

    def reserve(self, codes: NDArray[Any]) -> Callable[[NDArray[Any]], NDArray[Any]]:  # noqa: ARG002
        """Nothing is used up: a case publishes the same every time."""
        return lambda cases: cases

    def places(self, codes: NDArray[Any]) -> Iterator[tuple[str, NDArray[Any]]]:
        """What each column publishes, by case."""
        for name, places in self._places.items():
            yield name, places[codes]


def _numbers(
    vectors: Vectors,
    names: Sequence[str],
    table: SurveyedTable,
    encoded: EncodedSpan,
    left_out: NDArray[np.int64],
) -> NDArray[np.int64]:
    places = [table.places(name, encoded[name], np.int64) for name in names]
    numbers = vectors.numbers([np.delete(place, left_out) for place in places])
    if np.any(numbers < 0):
        raise InputError("The table changed while it was read. Please publish it again.")
    return numbers
