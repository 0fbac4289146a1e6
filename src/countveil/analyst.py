"""The analyst's path, from a release to estimates.

    open -> parse the question -> tally the published values -> estimate -> answer

Enters: a release folder and questions. Leaves: answers with errors. Must not know: the publisher's
side. Everything here is computed from what the release holds.
"""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.channel import ChannelView, view_of_absent, view_of_release
from countveil.engines.contract import ReleaseTable, TallyResult
from countveil.errors import SettingsError, nearest
from countveil.estimate import Estimate, Estimates, estimate_cells, verdicts
from countveil.estimate.methods import check_method
from countveil.query import (
    AllOf,
    Compare,
    CountQuery,
    IsNull,
    ReleaseColumns,
    Tally,
    parse_count,
    parse_where,
    plan_count,
)
from countveil.query.names import literal_for
from countveil.query.parse import Outline
from countveil.release import Manifest, PublishedColumn, read_manifest
from countveil.result import Answer

DEFAULT_METHOD, DEFAULT_CHANNEL, DEFAULT_LEVEL, DEFAULT_WITHIN = "unbiased", "exact", 0.95, 0.10


class Release:
    """A published release, opened for questions."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self.manifest: Manifest = read_manifest(self.folder)
        self._columns = ReleaseColumns(self.manifest.columns)
        self._views: dict[str, ChannelView] = {}

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.manifest.rows

    @property
    def columns(self) -> Sequence[PublishedColumn]:
        """The columns, in order."""
        return self.manifest.columns

    @property
    def ell(self) -> Mapping[str, int]:
        """Ell of each sensitive column."""
        return {name: entry.ell for name, entry in self.manifest.sensitive.items()}

    def __repr__(self) -> str:
        ells = ", ".join(f"{name}: ell {ell}" for name, ell in self.ell.items())
        return f"Release({str(self.folder)!r}, {self.rows:,} rows, {ells})"

    def sql(
        self,
        query: str,
        *,
        method: str = DEFAULT_METHOD,
        channel: str = DEFAULT_CHANNEL,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
    ) -> Answer:
        """Answer `SELECT [columns,] count(*) FROM release [WHERE ...] [GROUP BY ...]`."""
        outline = parse_count(query, self._columns)
        return self._answer(outline, method, channel, level, within)

    def count(
        self,
        where: str = "",
        *,
        method: str = DEFAULT_METHOD,
        channel: str = DEFAULT_CHANNEL,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        **sensitive: Any,
    ) -> Estimate:
        """Count the rows that meet `where` and have these values in columns named as keywords."""
        conditions = list(parse_where(where, self._columns).parts)
        for name, value in sensitive.items():
            column = self._columns.find(name)
            if value is None:
                conditions.append(IsNull(column.name))
            else:
                conditions.append(Compare(column.name, "=", literal_for(column, value)))
        outline = Outline((), (), AllOf(tuple(conditions)))
        return self._answer(outline, method, channel, level, within).estimates[0]

    def _answer(
        self, outline: Outline, method: str, channel: str, level: float, within: float
    ) -> Answer:
        check_method(method, channel, level)
        if not within > 0:
            raise SettingsError(f"within must be positive, such as 0.10; got {within}.")
        query = plan_count(outline, self._columns)
        name = query.tally.sensitive
        if name is None:
            tally = self._table.tally(query.tally, ())
            cells = Estimates.exact(tally.rows.astype(np.float64))
            return _labelled(query, tally, [None], cells, within, [])
        domain = self.manifest.sensitive[name].domain
        tally = self._table.tally(query.tally, domain)
        published, view, values = tally.published, self._view(name), list(domain)
        warnings = []
        if query.only is not None and query.only.value not in domain:
            # The draw may have removed it, or nobody ever had it: the release cannot tell.
            warnings = [_absent_warning(name, query.only.value, domain)]
            published, view, values = self._as_absent(name, tally, query.only.value)
        grid = estimate_cells(
            published, tally.rows, view, method=method, channel=channel, level=level
        )
        if query.only is not None:
            place = values.index(query.only.value)
            grid, values = grid.columns([place]), [query.only.value]
        return _labelled(query, tally, values, grid.flat(), within, warnings)

    def _as_absent(
        self, name: str, tally: TallyResult, value: Any
    ) -> tuple[NDArray[np.int64], ChannelView, list[Any]]:
        """Tally and channel for a value that is published nowhere."""
        entry = self.manifest.sensitive[name]
        nowhere = np.zeros((len(tally.keys), 1), np.int64)
        view = view_of_absent(self.rows, entry.ell)
        return nowhere, view, [value]

    @cached_property
    def _table(self) -> ReleaseTable:
        from countveil.engines.embedded.release_table import open_release_table

        files = [file.path for file in self.manifest.files]
        return open_release_table(self.folder, files, [c.name for c in self.manifest.columns])

    def _view(self, name: str) -> ChannelView:
        """The channel of a sensitive column, from the published histogram."""
        if name not in self._views:
            entry = self.manifest.sensitive[name]
            whole = self._table.tally(Tally(AllOf(()), (), name), entry.domain)
            self._views[name] = view_of_release(
                whole.published[0], self.rows, entry.ell, entry.groups
            )
        return self._views[name]


def _labelled(
    query: CountQuery,
    tally: TallyResult,
    values: Sequence[Any],
    cells: Estimates,
    within: float,
    warnings: Sequence[str],
) -> Answer:
    """Put the group's columns beside each cell; cells run over groups, then over values."""
    keys = query.tally.group_by
    sizes = np.repeat(tally.rows, len(values)).astype(np.float64)
    groups = [
        tuple(key[keys.index(name)] if name in keys else value for name in query.selected)
        for key in tally.keys
        for value in values
    ]
    return Answer(query.selected, groups, _as_list(cells, sizes, within), tuple(warnings))


def _as_list(cells: Estimates, sizes: NDArray[np.float64], within: float) -> list[Estimate]:
    columns = (cells.estimate, cells.std_error, cells.low, cells.high)
    numbers = zip(*(column.tolist() for column in columns), strict=True)
    words = verdicts(cells, sizes, within)
    known = ([None if math.isnan(number) else number for number in row] for row in numbers)
    return [
        Estimate(estimate, error, low, high, word)
        for (estimate, error, low, high), word in zip(known, words, strict=True)
    ]


def _absent_warning(name: str, value: Any, domain: Sequence[Any]) -> str:
    texts = [str(known) for known in domain if known is not None]
    near = nearest(str(value), texts)
    hint = f" {near}" if near.startswith("Did you mean") else ""
    return f"The release has no row with {name} = {value!r}.{hint}"
