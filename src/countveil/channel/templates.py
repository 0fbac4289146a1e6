"""Group templates, and the channel of the whole domain that follows from them.

Enters: which values sit together in a group, how often. Leaves: W[u, v] = P(publish v | true u).
Must not know: tuples. Two groups with the same values are one template with multiplicity two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


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

    @property
    def sizes(self) -> NDArray[np.int64]:
        """Number of values in each template."""
        return np.diff(self.indptr)

    @property
    def counts(self) -> NDArray[np.int64]:
        """Tuples per value: the histogram that these groups partition."""
        counts = np.zeros(self.n_values, np.int64)
        np.add.at(counts, self.members, np.repeat(self.multiplicity, self.sizes))
        return counts


def channel_matrix(templates: Templates) -> NDArray[np.float64]:
    """W[u, v]: the sum over the groups that contain u and v of 1/size, divided by f[u].

    A value without tuples has a row of zeros.
    """
    joint = np.zeros((templates.n_values, templates.n_values))
    bounds = zip(templates.indptr[:-1], templates.indptr[1:], strict=True)
    for (start, end), times in zip(bounds, templates.multiplicity, strict=True):
        values = templates.members[start:end]
        joint[np.ix_(values, values)] += times / (end - start)
    return joint / np.maximum(templates.counts, 1)[:, None]
