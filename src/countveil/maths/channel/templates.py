"""Group templates, and the channel of the whole domain that follows from them.

Enters: which values share a group, and how often. Leaves: W[u, v] = P(publish v | true u).
Must not know: rows. Two groups with the same values are one template with multiplicity two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

_KEYS_AT_ONCE = 1 << 21


@dataclass(frozen=True, slots=True)
class Templates:
    """`members[indptr[t]:indptr[t + 1]]` are the values of template t, `multiplicity[t]` times."""

    n_values: int
    indptr: NDArray[np.int64]
    members: NDArray[np.int64]
    multiplicity: NDArray[np.int64]

    @classmethod
    def from_mapping(cls, n_values: int, templates: Mapping[tuple[int, ...], int]) -> Templates:
        """From a mapping of sorted value tuples to how many groups have them."""
        sizes = np.fromiter((len(key) for key in templates), np.int64, len(templates))
        members = np.fromiter((value for key in templates for value in key), np.int64, sizes.sum())
        return cls(
            n_values,
            np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
            members,
            np.fromiter(templates.values(), np.int64, len(templates)),
        )

    @classmethod
    def from_rows(
        cls, n_values: int, matrices: Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]
    ) -> Templates:
        """From matrices whose rows are groups, with how many there are of each row.

        All matrices have different widths. Equal rows become one template.
        """
        sizes, members, multiplicity = [], [], []
        for rows, times in matrices:
            ordered = np.sort(rows, axis=1)
            packed = _packed(ordered, n_values)
            order = np.lexsort(packed[::-1])
            ordered = ordered[order]
            fresh = np.ones(order.size, bool)
            fresh[1:] = np.any([key[order[1:]] != key[order[:-1]] for key in packed], axis=0)
            starts = np.flatnonzero(fresh)
            members.append(ordered[starts].ravel())
            multiplicity.append(np.add.reduceat(times[order], starts) if starts.size else times)
            sizes.append(np.full(starts.size, rows.shape[1], np.int64))
        ends = np.cumsum(np.concatenate(sizes))
        return cls(
            n_values,
            np.concatenate([[0], ends]).astype(np.int64),
            np.concatenate(members).astype(np.int64),
            np.concatenate(multiplicity).astype(np.int64),
        )

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of values in each template."""
        return np.diff(self.indptr)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Rows per value: the histogram that these groups partition."""
        counts = np.zeros(self.n_values, np.int64)
        np.add.at(counts, self.members, np.repeat(self.multiplicity, self.sizes))
        return counts


def channel_matrix(templates: Templates) -> NDArray[np.float64]:
    """W[u, v]: the sum over the groups that contain u and v of 1/size, divided by f[u].

    A value without rows in the table has a row of zeros.
    """
    joint = np.zeros((templates.n_values, templates.n_values))
    diagonal = np.zeros(templates.n_values)
    for size in np.unique(templates.sizes).tolist():
        chosen = templates.sizes == size
        starts = templates.indptr[:-1][chosen]
        members = templates.members[starts[:, None] + np.arange(size)]
        shares = templates.multiplicity[chosen] / size
        joint += meetings(members, shares, templates.n_values)
        diagonal += np.bincount(members.ravel(), np.repeat(shares, size), templates.n_values)
    np.fill_diagonal(joint, diagonal)
    whole: NDArray[np.float64] = joint / np.maximum(templates.counts, 1)[:, None]
    return whole


def _packed(rows: NDArray[np.int64], n_values: int) -> list[NDArray[np.int64]]:
    """Each row packed into as few integers as possible, so that sorting compares fewer of them."""
    bits = max(1, (n_values - 1).bit_length())
    packed = [np.zeros(rows.shape[0], np.int64)]
    for place, column in enumerate(rows.T):
        if place and place % (62 // bits) == 0:
            packed.append(np.zeros(rows.shape[0], np.int64))
        packed[-1] = (packed[-1] << bits) | column
    return packed


def meetings(
    members: NDArray[np.int64], times: NDArray[np.float64] | None, n_values: int
) -> NDArray[np.float64]:
    """How often two values share a group: rows of `members` are groups, row i counted `times[i]`.

    Members from `n_values` on are not counted; the diagonal is zero.
    """
    side = n_values + 1
    counted = np.zeros(side * side)
    for rows, keys in pair_keys(members, n_values):
        weights = None if times is None else np.tile(times[rows], keys.shape[0])
        counted += np.bincount(keys.ravel(), weights, minlength=counted.size)
    square = counted.reshape(side, side)[:n_values, :n_values]
    return square + square.T


def pair_keys(
    members: NDArray[np.int64], n_values: int
) -> Iterator[tuple[slice, NDArray[np.int64]]]:
    """For some rows at a time, every pair of places as u * (n_values + 1) + v, a row per pair."""
    capped = np.ascontiguousarray(np.minimum(members, n_values).T)
    one, two = np.triu_indices(members.shape[1], 1)
    step = max(1, _KEYS_AT_ONCE // max(one.size, 1))
    for first in range(0, members.shape[0] if one.size else 0, step):
        rows = slice(first, first + step)
        yield rows, capped[one, rows] * (n_values + 1) + capped[two, rows]
