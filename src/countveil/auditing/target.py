"""A release under attack: what the adversary has, and the truth to score him by.

Enters: codes of rows that are linked to persons, and public facts of the release. Leaves: arrays.
Must not know: files, values (codes only), how rows were linked.

Rows here are the *linked* ones: the adversary knows whose they are. `truth` is the publisher's, and
is used for priors that the adversary is granted, and for scoring.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from countveil.maths.adversary import KnownColumn, published_chances
from countveil.maths.channel import ChannelView, view_of_release
from countveil.maths.channel.view import WHOLE_DOMAIN_LIMIT
from countveil.release.manifest import OddsBound

Codes = NDArray[np.int64]
Floats = NDArray[np.float64]

# With fewer linked rows an attack on them has no power.
LEAST_LINKED = 50


@dataclass(frozen=True)
class AttackedColumn:
    """One protected column of the release, or the vectors of several that publish them together.

    `counts` are the true counts of the whole table, `published` those of the whole release; `truth`
    and `released` are the codes of the linked rows. `common` values may repeat in a group. With
    `odds`, noise over all values came before the groups. Vectors are those of the columns
    `vector_of`, and `places` has the value of each vector (columns) in each of these (rows).
    """

    name: str
    ell: int
    groups: str
    counts: Codes
    published: Codes
    truth: Codes
    released: Codes
    common: tuple[int, ...] = ()
    odds: OddsBound | None = None
    vector_of: tuple[str, ...] = ()
    places: Codes | None = None

    @property
    def n_values(self) -> int:
        """Size of the domain."""
        return self.counts.size

    @property
    def rows(self) -> int:
        """Rows of the release."""
        return int(self.published.sum())

    @property
    def dropped(self) -> int:
        """Rows of the table that are not in the release."""
        return int(self.counts.sum()) - self.rows

    @property
    def repeats(self) -> bool:
        """Whether a group may hold a value several times."""
        return self.groups == "random" or bool(self.common)

    @property
    def different(self) -> bool:
        """Whether groups of different values exist."""
        return int(self.grouped.max()) <= int(self.grouped.sum()) // self.ell

    @property
    def gamma(self) -> float:
        """The chance that noise gave a row one of the values at random."""
        return 0.0 if self.odds is None else self.odds.gamma

    @property
    def grouped(self) -> Codes:
        """The counts that groups are formed of: after noise, those to be expected."""
        if self.odds is None:
            return self.counts
        noise = self.gamma * float(self.counts.sum()) / self.n_values
        expected: Codes = np.rint((1 - self.gamma) * self.counts + noise).astype(np.int64)
        return expected

    @property
    def kept(self) -> NDArray[np.bool_]:
        """Which rows publish their true value."""
        same: NDArray[np.bool_] = self.truth == self.released
        return same

    @property
    def chances(self) -> tuple[float, float]:
        """The smallest and largest chance of publishing the true value, by the sizes of groups."""
        groups = self.rows // self.ell
        size, larger = divmod(self.rows, groups)
        return 1 / (size + (larger > 0)), 1 / size

    @cached_property
    def view(self) -> ChannelView:
        """The channel, as the published histogram determines it for everybody."""
        return view_of_release(
            self.published, self.rows, self.ell, self.groups, self.common, self.noise
        )

    @property
    def noise(self) -> tuple[float, int] | None:
        """Gamma and the number of declared values, if there is noise."""
        return None if self.odds is None else (self.gamma, self.n_values)

    @property
    def small_domain(self) -> bool:
        """Whether all pairs of values can be examined."""
        return self.n_values <= WHOLE_DOMAIN_LIMIT

    @cached_property
    def channel(self) -> Floats:
        """P(published | true) as the adversary works it out from the release alone."""
        return published_chances(self.view, self.published)

    @property
    def shares(self) -> Floats:
        """The share of each value in the table, estimated from the release."""
        if self.odds is not None:
            return self.view.shares
        smoothed = np.maximum(self.published, 0.5)
        shares: Floats = smoothed / smoothed.sum()
        return shares

    def pairs(self) -> Codes:
        """How many linked rows with each true value publish each value."""
        n_values = self.n_values
        flat = np.bincount(self.truth * n_values + self.released, minlength=n_values**2)
        return flat.reshape(n_values, n_values)

    def rows_at(self, rows: Codes) -> AttackedColumn:
        """The same column with some of the linked rows."""
        return replace(self, truth=self.truth[rows], released=self.released[rows])


@dataclass(frozen=True)
class CaseRows:
    """All linked rows of cases: the person and the case of each, and what it publishes.

    Cases are known by their places among the units of the target.
    """

    person: Codes
    case: Codes
    released: Codes


@dataclass(frozen=True)
class Target:
    """Linked rows: the place of each in the source and in the release, and what is known of it.

    `sensitive` has every protected column, and after them the vectors of columns that are
    published `together`. Where persons have several rows, the units are `cases`, each with the
    place of its first linked row, of columns that have one draw (`auditing.cases`).
    """

    source_place: Codes
    release_place: Codes
    plain: Sequence[KnownColumn]
    sensitive: Sequence[AttackedColumn]
    rows: int
    together: tuple[tuple[str, ...], ...] = ()
    cases: CaseRows | None = None

    @property
    def columns(self) -> list[AttackedColumn]:
        """The protected columns by themselves."""
        return [column for column in self.sensitive if not column.vector_of]

    @property
    def vectors(self) -> list[AttackedColumn]:
        """The sets of columns that are published together."""
        return [column for column in self.sensitive if column.vector_of]

    @property
    def n_linked(self) -> int:
        """How many rows are linked."""
        return self.source_place.size

    def fine_cells(self, least: int) -> Codes:
        """Cells by ever more of the other columns, while an average row's has `least` rows."""
        cell = np.zeros(self.n_linked, np.int64)
        for column in sorted(self.plain, key=lambda plain: plain.n_levels):
            finer = np.unique(cell * column.n_levels + column.codes, return_inverse=True)[1]
            if np.bincount(finer)[finer].mean() < least:
                break
            cell = finer
        return cell

    def sample(self, most: int) -> Target:
        """At most `most` of the linked rows, evenly spread over the source."""
        if self.n_linked <= most:
            return self
        chosen = np.linspace(0, self.n_linked - 1, most).astype(np.int64)
        return Target(
            self.source_place[chosen],
            self.release_place[chosen],
            [KnownColumn(c.name, c.codes[chosen], c.n_levels) for c in self.plain],
            [column.rows_at(chosen) for column in self.sensitive],
            self.rows,
            self.together,
        )
