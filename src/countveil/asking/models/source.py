"""What models use of a release.

Enters: an opened release. Leaves: its rows, columns, conditions and channels. Must not know:
formulas, fits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from countveil.engines.contract import ReleaseTable
from countveil.maths.channel import ChannelView
from countveil.release import Manifest, PublishedColumn
from countveil.sql.query import ReleaseColumns
from countveil.sql.query.conditions import ConditionReader

if TYPE_CHECKING:
    from countveil.asking.batch_channels import BatchedRelease
    from countveil.asking.together import TogetherChannels

Domain = tuple[Any, ...]


@dataclass(frozen=True)
class ModelSource:
    """An opened release, as models see it."""

    manifest: Manifest
    table: ReleaseTable
    columns: ReleaseColumns
    conditions: ConditionReader
    view_of: Callable[[str, Domain], ChannelView]
    batches: Callable[[], BatchedRelease]
    together: Callable[[], TogetherChannels]

    @property
    def names(self) -> list[str]:
        """The columns, in order."""
        return [column.name for column in self.manifest.columns]

    def column(self, name: str) -> PublishedColumn:
        """The column of a name."""
        return next(column for column in self.manifest.columns if column.name == name)

    def views(self, columns: Sequence[str], domains: Sequence[Domain]) -> Sequence[ChannelView]:
        """The channels of a column, or of columns together: one, or one for each batch."""
        if len(columns) > 1:
            return [self.together().grid(tuple(columns), tuple(domains))]
        if any(columns[0] in entry.columns for entry in self.manifest.batches):
            return self.batches().views(columns[0], domains[0]).views
        return [self.view_of(columns[0], domains[0])]
