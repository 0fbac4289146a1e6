"""Several releases of one ledger, opened together: counts at each time, and what changed.

Enters: releases of one ledger. Leaves: answers with the number of the release, and changes. Must
not know: the publisher's side, engines. It is loaded only when several releases are opened.
Theory: docs/theory/cases.md, "Changes".
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from countveil.asking.answer import EstimationSettings
from countveil.asking.changes import Changes
from countveil.asking.questions.counting import (
    DEFAULT_CHANNEL,
    DEFAULT_LEVEL,
    DEFAULT_METHOD,
    DEFAULT_WITHIN,
)
from countveil.asking.release import Release
from countveil.asking.result import Answer, Block, Cells
from countveil.errors import ReleaseError
from countveil.maths.estimate import Estimate, Estimates


class ReleaseSeries:
    """Releases of one ledger, the earliest first: counts at each time, and what changed.

    `countveil.open` opens one from a list. It has a length, and its releases can be iterated over.

    Args:
        releases: Two or more releases of one ledger, in any order.

    Attributes:
        releases (tuple[Release, ...]): The releases.
        numbers (tuple[int, ...]): Their numbers in the ledger.

    Raises:
        ReleaseError: They are not releases of one ledger, or questions would mean different
            things in them.

    Example:
        >>> ledger = cv.Ledger.init("months.ledger")
        >>> visits = table.append_column("patient", [list(range(table.num_rows))])
        >>> for month, rows in ("january", 4_000), ("february", 5_000):
        ...     some = visits.slice(0, rows)
        ...     options = {"person": "patient", "ledger": ledger, "again": True, "seed": 1}
        ...     _ = cv.publish(some, {"occupation": 5}, month, **options)
        >>> series = cv.open(["january", "february"])
        >>> series.change(occupation="nurse")
        Estimate(25.0 ± 4.5, 17.6 to 35.4, indicative)
    """

    def __init__(self, releases: Sequence[Release]) -> None:
        _check_ledger(releases)
        self.releases = tuple(sorted(releases, key=_number))
        self.numbers = tuple(_number(release) for release in self.releases)
        for earlier, later in pairwise(self.releases):
            _check_alike(earlier, later)
        self._changes: dict[tuple[int, int], Changes] = {}

    def __repr__(self) -> str:
        listed = ", ".join(map(str, self.numbers))
        return f"ReleaseSeries(releases {listed} of ledger {_ledger(self.releases[0])})"

    def __len__(self) -> int:
        return len(self.releases)

    def __iter__(self) -> Iterator[Release]:
        return iter(self.releases)

    def sql(
        self,
        query: str,
        *,
        method: str = DEFAULT_METHOD,
        channel: str = DEFAULT_CHANNEL,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        weighted: bool = False,
        params: Sequence[Any] | Mapping[str, Any] = (),
        tables: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Answer a query for every release; the first column has the number of the release.

        ORDER BY and LIMIT apply to each release.

        Args:
            query: A SELECT from `release`.
            method: "shrunk", "unbiased" or "bayes".
            channel: "exact" or "printed".
            level: The level of the intervals.
            within: The relative standard error up to which an estimate is `reliable`.
            weighted: Every row counts with its survey weight.
            params: The values of `?` (a list) or `$name` (a dictionary).
            tables: Small lookup tables that the query may join, by name.

        Returns:
            The answers one below the other.

        Raises:
            QueryError: The query is not supported.
        """
        answers = [
            release.sql(
                query,
                method=method,
                channel=channel,
                level=level,
                within=within,
                weighted=weighted,
                params=params,
                tables=tables,
            )
            for release in self.releases
        ]
        return _joined(["release"], [(number,) for number in self.numbers], answers)

    def count(
        self,
        where: str = "",
        *,
        method: str = DEFAULT_METHOD,
        channel: str = DEFAULT_CHANNEL,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        weighted: bool = False,
        **values: Any,
    ) -> list[Estimate]:
        """Count rows as `Release.count` does, in every release.

        Args:
            where: A condition in SQL; all rows if empty.
            method: "shrunk", "unbiased" or "bayes".
            channel: "exact" or "printed".
            level: The level of the intervals.
            within: The relative standard error up to which an estimate is `reliable`.
            weighted: Every row counts with its survey weight.
            **values: Values of columns, by their names.

        Returns:
            One estimate per release.

        Raises:
            QueryError: The condition is not supported.
        """
        return [
            release.count(
                where, method=method, channel=channel, level=level, within=within,
                weighted=weighted, **values,
            )
            for release in self.releases
        ]  # fmt: skip

    def changes(
        self,
        query: str,
        *,
        consecutive: bool = False,
        method: str = DEFAULT_METHOD,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        weighted: bool = False,
    ) -> Answer:
        """By how much counts and sums of a query changed from the first release to the last.

        Groups in which no row came or left are not listed: they did not change.

        Args:
            query: A SELECT of counts and sums from `release`.
            consecutive: From every release to the next; `since` and `release` say which.
            method: "shrunk" or "unbiased".
            level: The level of the intervals.
            within: The relative standard error up to which an estimate is `reliable`.
            weighted: Every row counts with its survey weight.

        Returns:
            One row per group that changed.

        Raises:
            QueryError: The query is not supported, or not one of counts and sums.
        """
        settings = EstimationSettings(method, DEFAULT_CHANNEL, level, within)
        answers, pairs = [], []
        for earlier, later in self._pairs(consecutive=consecutive):
            changes = self._between(earlier, later)
            answers.append(changes.changed(query, settings, weighted=weighted))
            pairs.append((self.numbers[earlier], self.numbers[later]))
        if not consecutive:
            return answers[0]
        return _joined(["since", "release"], pairs, answers)

    def change(
        self,
        where: str = "",
        *,
        method: str = DEFAULT_METHOD,
        level: float = DEFAULT_LEVEL,
        within: float = DEFAULT_WITHIN,
        weighted: bool = False,
        **values: Any,
    ) -> Estimate:
        """By how much a count changed from the first release to the last.

        Args:
            where: A condition in SQL; all rows if empty.
            method: "shrunk" or "unbiased".
            level: The level of the interval.
            within: The relative standard error up to which an estimate is `reliable`.
            weighted: Every row counts with its survey weight.
            **values: Values of columns, by their names.

        Returns:
            The change, with its error.

        Raises:
            QueryError: The condition is not supported.
        """
        settings = EstimationSettings(method, DEFAULT_CHANNEL, level, within)
        changes = self._between(0, len(self.releases) - 1)
        answer = changes.changed_count(where, values, settings, weighted=weighted)
        return answer.estimates[0]

    def _pairs(self, *, consecutive: bool) -> list[tuple[int, int]]:
        last = len(self.releases) - 1
        return list(pairwise(range(last + 1))) if consecutive else [(0, last)]

    def _between(self, earlier: int, later: int) -> Changes:
        """Rows are compared once."""
        if (earlier, later) not in self._changes:
            pair = self.releases[earlier], self.releases[later]
            self._changes[earlier, later] = Changes(*pair)
        return self._changes[earlier, later]


def _joined(
    names: Sequence[str], numbers: Sequence[tuple[int, ...]], answers: Sequence[Answer]
) -> Answer:
    """The answers one below the other, with numbers in front."""
    taken = set(answers[0].columns)
    labels = []
    for name in names:
        label = name
        while label in taken:
            label += "_"
        labels.append(label)
    groups = [
        (*number, *group)
        for number, answer in zip(numbers, answers, strict=True)
        for group in answer.groups
    ]
    blocks = []
    for same in zip(*(answer.blocks for answer in answers), strict=True):
        grids = zip(*(block.estimates.grid.arrays() for block in same), strict=True)
        sizes = np.concatenate([block.estimates.sizes for block in same])
        estimates = Estimates(*(np.concatenate(arrays) for arrays in grids))
        blocks.append(Block(same[0].name, Cells(estimates, sizes, same[0].estimates.within)))
    warnings = dict.fromkeys(text for answer in answers for text in answer.warnings)
    return Answer([*labels, *answers[0].group_columns], groups, blocks, tuple(warnings))


def _check_ledger(releases: Sequence[Release]) -> None:
    if len(releases) < 2:
        raise ReleaseError("A series has two releases or more; open a single one by its place.")
    for release in releases:
        if release.manifest.ledger is None:
            raise ReleaseError(
                f"{release.place} does not belong to a ledger, so it cannot be compared with other "
                f"releases: the same person may publish another value in each. Releases that were "
                f"published with one ledger can be opened together."
            )
    first = releases[0]
    for other in releases[1:]:
        if _ledger(other) != _ledger(first):
            raise ReleaseError(
                f"{first.place} belongs to the ledger {_ledger(first)} and {other.place} to "
                f"{_ledger(other)}. Only releases of one ledger can be opened together."
            )
    numbers = [_number(release) for release in releases]
    twice = next((number for number in numbers if numbers.count(number) > 1), None)
    if twice is not None:
        raise ReleaseError(f"Release {twice} of the ledger is given twice.")


def _check_alike(earlier: Release, later: Release) -> None:
    """Refuse releases whose questions would mean different things."""
    for what, one, other in _facts(earlier, later):
        if one != other:
            raise ReleaseError(
                f"{earlier.place} and {later.place} cannot be opened together: {what} {one} in the "
                f"first, and {other} in the second."
            )


def _facts(earlier: Release, later: Release) -> Iterator[tuple[str, str, str]]:
    columns = [
        {column.name: f"{column.type}, {column.role}" for column in release.columns}
        for release in (earlier, later)
    ]
    for name in dict.fromkeys([*columns[0], *columns[1]]):
        one, other = (each.get(name, "missing") for each in columns)
        yield f"column {name!r} is", one, other
    pairs = [(release.manifest.sensitive, release.manifest.batches) for release in (earlier, later)]
    for name in pairs[0][0]:
        ell = [str(entries[name].ell) for entries, _ in pairs]
        yield f"ell of {name!r} is", ell[0], ell[1]
        classes = [str(entries[name].classes) for entries, _ in pairs]
        yield f"the classes of {name!r} are", classes[0], classes[1]
        drawn = [
            ", ".join(next((b.columns for b in batches if name in b.columns), ("nothing",)))
            for _, batches in pairs
        ]
        yield f"{name!r} was drawn with", drawn[0], drawn[1]
    yield "the weight column is", str(earlier.weight), str(later.weight)


def _ledger(release: Release) -> str:
    mark = release.manifest.ledger
    return "" if mark is None else mark.id


def _number(release: Release) -> int:
    mark = release.manifest.ledger
    return 0 if mark is None else mark.release
