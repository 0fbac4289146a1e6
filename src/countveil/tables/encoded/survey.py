"""What a column holds, over all rows.

Enters: the pieces of a column, span by span. Leaves: its values in their own order with counts, or
the range of its numbers, or that it is carried. Must not know: roles, draws.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from countveil.errors import InputError
from countveil.tables.encoded.arrow_arrays import from_numpy, missing_rows, text_array, to_numpy
from countveil.tables.encoded.encoding import MOST_CODES, CarriedPiece, CodedPiece, Piece

_TOGETHER = 1 << 20


class Survey:
    """One column, seen piece by piece and then known."""

    def __init__(self, name: str, kind: Any, *, coded: bool) -> None:
        self.name, self.kind, self.coded = name, kind, coded
        self.carried = False
        self.carried_bytes = 0
        self.low: int | None = None
        self.high = 0
        self.has_missing = False
        # Sorted, a missing value first; None until the end, and for numbers.
        self.values: Any = None
        self.counts = np.zeros(0, np.int64)
        self._originals: Any = None
        self._renamed: NDArray[np.int64] | None = None
        self._known: tuple[Any, NDArray[np.int64]] | None = None
        self._dictionaries: list[tuple[Any, NDArray[np.int64]]] = []
        self._n_dictionaries = 0
        self._text_bytes = 0

    def see(self, piece: Piece) -> None:
        """Take notice of a piece."""
        if isinstance(piece, CarriedPiece):
            self.carried = True
            self.carried_bytes += piece.nbytes
        elif isinstance(piece, CodedPiece):
            self._dictionaries.append((piece.dictionary, piece.counts))
            each = piece.dictionary.nbytes // max(1, len(piece.dictionary))
            self._text_bytes += each * piece.codes.size
            self._n_dictionaries += len(piece.dictionary)
            known = 0 if self._known is None else len(self._known[0])
            if self._n_dictionaries > max(_TOGETHER, known):
                self._merge()
        else:
            self.has_missing |= piece.missing is not None
            first = self.low is None
            self.low = piece.low if self.low is None else min(self.low, piece.low)
            self.high = piece.high if first else max(self.high, piece.high)

    def distinct(self) -> int:
        """How many different known values were seen up to now."""
        return len(self._merge()[0])

    def finish(self) -> None:
        """All pieces were seen."""
        if self.carried:
            self.carried_bytes += self._text_bytes
            self._dictionaries, self._known = [], None
        elif self._known is not None or self._dictionaries:
            known, counts = self._merge()
            missing, counts = int(counts[-1]), counts[:-1]
            order = to_numpy(pc.sort_indices(known))
            self.values, self.counts = known.take(from_numpy(order)), counts[order]
            if missing:
                self.values = pa.concat_arrays([pa.nulls(1, known.type), self.values])
                self.counts = np.concatenate([[missing], self.counts])
            self._known = None

    def places(self, piece: CodedPiece) -> NDArray[np.int64]:
        """For each code of a piece, its position among the column's values."""
        places = self.original_places(piece)
        return places if self._renamed is None else self._renamed[places]

    def original_places(self, piece: CodedPiece) -> NDArray[np.int64]:
        """For each code of a piece, its position among the values as they were read."""
        own = self._originals if self._renamed is not None else self.values
        first = int(len(own) > 0 and not own[0].is_valid)
        found = pc.index_in(piece.dictionary, value_set=own.slice(first))
        lacking = missing_rows(found)
        if lacking is not None and np.any(piece.counts[:-1][lacking]):
            raise InputError("The table changed while it was read. Please publish it again.")
        places = np.zeros(len(piece.dictionary) + 1, np.int64)
        places[:-1] = to_numpy(found) + first
        return places

    def without_counts(self) -> Survey:
        """The same values, of which nobody can tell how often they occur."""
        other = copy.copy(self)
        other.counts = np.zeros_like(self.counts)
        return other

    @property
    def n_originals(self) -> int:
        """How many values there were when they were read."""
        return len(self.values) if self._renamed is None else self._renamed.size

    def gathered(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of the values as they were read, by the values as they are now."""
        if self._renamed is None:
            return counts
        return np.bincount(self._renamed, counts, len(self.values)).astype(np.int64)

    def rename(self, texts: Sequence[str | None]) -> None:
        """Put a text in place of each value, in the order of `values`."""
        self._originals = self._originals if self._renamed is not None else self.values
        encoded = text_array(texts).dictionary_encode()
        order = to_numpy(pc.sort_indices(encoded.dictionary))
        first = int(encoded.indices.null_count > 0)
        rank = np.zeros(order.size + 1, np.int64)
        rank[order] = np.arange(order.size) + first
        new = rank[to_numpy(encoded.indices, order.size)]
        self.values = encoded.dictionary.take(from_numpy(order))
        if first:
            self.values = pa.concat_arrays([pa.nulls(1, pa.string()), self.values])
        self.counts = np.bincount(new, self.counts, len(self.values)).astype(np.int64)
        self._renamed = new if self._renamed is None else new[self._renamed]
        self.kind = pa.string()

    @property
    def is_renamed(self) -> bool:
        """Whether texts were put in place of the values."""
        return self._renamed is not None

    def renamed(self, piece: CodedPiece) -> CodedPiece:
        """A piece with the texts that were put in place of its values."""
        first = int(len(self.values) > 0 and not self.values[0].is_valid)
        known = self.values.slice(first)
        codes = (self.places(piece) - first)[piece.codes]
        codes[codes < 0] = len(known)
        return CodedPiece(codes, known, np.bincount(codes, minlength=len(known) + 1))

    def _merge(self) -> tuple[Any, NDArray[np.int64]]:
        listed = self._dictionaries if self._known is None else [self._known, *self._dictionaries]
        together = pa.concat_arrays([dictionary for dictionary, _ in listed])
        counts = np.concatenate([own[:-1] for _, own in listed])
        missing = sum(int(own[-1]) for _, own in listed)
        # A dictionary may list what no row of its block has.
        used = counts > 0
        encoded = together.filter(from_numpy(used)).dictionary_encode()
        sums = np.zeros(len(encoded.dictionary) + 1, np.int64)
        places = to_numpy(encoded.indices)
        np.add.at(sums, places, counts[used])
        sums[-1] = missing
        self._known = encoded.dictionary, sums
        self._dictionaries = []
        self._n_dictionaries = 0
        if not self.coded and len(encoded.dictionary) > MOST_CODES:
            self.carried = True
        return self._known
