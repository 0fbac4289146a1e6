"""What a column holds, over all rows.

Enters: encoded columns, one for every batch of rows. Leaves: the column's values in sorted order
with their counts, or the range of its numbers, or that it stays as it is. Must not know: roles,
draws.
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
from countveil.tables.encoded.encoding import (
    MOST_CODES,
    DictionaryColumn,
    EncodedColumn,
    RawColumn,
    dictionary_column,
)

_TOGETHER = 1 << 20


class Survey:
    """One column: batches are added, and `finish` makes it known.

    `coded` asks for the values and their counts whatever the type. `raw` says that the column is
    not encoded, and `raw_bytes` how large it is.
    """

    def __init__(self, name: str, kind: Any, *, coded: bool) -> None:
        self.name, self.kind, self.coded = name, kind, coded
        self.raw = False
        self.raw_bytes = 0
        self.low: int | None = None
        self.high = 0
        self.has_missing = False
        # Sorted, a missing value first; None until the end, and for numbers.
        self.values: Any = None
        self.counts = np.zeros(0, np.int64)
        self._originals: Any = None
        self._recoding: NDArray[np.int64] | None = None
        self._known: tuple[Any, NDArray[np.int64]] | None = None
        self._dictionaries: list[tuple[Any, NDArray[np.int64]]] = []
        self._n_dictionaries = 0
        self._text_bytes = 0

    def add(self, batch: EncodedColumn) -> None:
        """Take the next batch into account."""
        if isinstance(batch, RawColumn):
            self.raw = True
            self.raw_bytes += batch.nbytes
        elif isinstance(batch, DictionaryColumn):
            self._dictionaries.append((batch.dictionary, batch.counts))
            each = batch.dictionary.nbytes // max(1, len(batch.dictionary))
            self._text_bytes += each * batch.codes.size
            self._n_dictionaries += len(batch.dictionary)
            known = 0 if self._known is None else len(self._known[0])
            if self._n_dictionaries > max(_TOGETHER, known):
                self._merge()
        else:
            self.has_missing |= batch.missing is not None
            first = self.low is None
            self.low = batch.low if self.low is None else min(self.low, batch.low)
            self.high = batch.high if first else max(self.high, batch.high)

    def distinct(self) -> int:
        """How many different known values have been added up to now."""
        return len(self._merge()[0])

    def finish(self) -> None:
        """All batches were added."""
        if self.raw:
            self.raw_bytes += self._text_bytes
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

    def places(self, batch: DictionaryColumn) -> NDArray[np.int64]:
        """For each code of a batch, its position among the column's values."""
        places = self.original_places(batch)
        return places if self._recoding is None else self._recoding[places]

    def original_places(self, batch: DictionaryColumn) -> NDArray[np.int64]:
        """For each code of a batch, its position among the values as they were read."""
        originals = self._originals if self._recoding is not None else self.values
        first = int(len(originals) > 0 and not originals[0].is_valid)
        matches = pc.index_in(batch.dictionary, value_set=originals.slice(first))
        lacking = missing_rows(matches)
        if lacking is not None and np.any(batch.counts[:-1][lacking]):
            raise InputError("The table changed while it was read. Please publish it again.")
        places = np.zeros(len(batch.dictionary) + 1, np.int64)
        places[:-1] = to_numpy(matches) + first
        return places

    def without_counts(self) -> Survey:
        """The same values without how often each occurs."""
        other = copy.copy(self)
        other.counts = np.zeros_like(self.counts)
        return other

    @property
    def n_originals(self) -> int:
        """How many values there were when they were read."""
        return len(self.values) if self._recoding is None else self._recoding.size

    def recoded_counts(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """Counts of the values as they were read, summed for each of the present values."""
        if self._recoding is None:
            return counts
        return np.bincount(self._recoding, counts, len(self.values)).astype(np.int64)

    def recode(self, texts: Sequence[str | None]) -> None:
        """Put a text in place of each value, in the order of `values`."""
        self._originals = self._originals if self._recoding is not None else self.values
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
        self._recoding = new if self._recoding is None else new[self._recoding]
        self.kind = pa.string()

    @property
    def is_recoded(self) -> bool:
        """Whether texts were put in place of the values."""
        return self._recoding is not None

    def recoded(self, batch: DictionaryColumn) -> DictionaryColumn:
        """A batch with the texts that were put in place of its values, if any were."""
        if self._recoding is None:
            return batch
        first = int(len(self.values) > 0 and not self.values[0].is_valid)
        known = self.values.slice(first)
        codes = (self.places(batch) - first)[batch.codes]
        codes[codes < 0] = len(known)
        return dictionary_column(codes, known)

    def _merge(self) -> tuple[Any, NDArray[np.int64]]:
        listed = self._dictionaries if self._known is None else [self._known, *self._dictionaries]
        together = pa.concat_arrays([dictionary for dictionary, _ in listed])
        counts = np.concatenate([counts[:-1] for _, counts in listed])
        missing = sum(int(counts[-1]) for _, counts in listed)
        # A dictionary may list values that no row has.
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
            self.raw = True
        return self._known
