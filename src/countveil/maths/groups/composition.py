"""The composition of the decoy groups: valid settings, whether groups exist, how they are formed.

Enters: the true histogram of a sensitive column, the publisher's settings for it, a stream. Leaves:
the composition, or an error that names the value in the way and says what would work. Must not
know: rows, other columns.

With k = N // ell groups, groups of at least ell different values exist exactly when no value occurs
more than k times: a group holds a value at most once. Both methods then work. `mixed` draws from
the stream. `anatomy` is the paper's greedy construction, a function of the histogram alone, and
lives with the channel because an analyst recomputes it. It puts values of similar frequency
together again and again, which costs accuracy and helps an adversary to narrow down candidates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from countveil.errors import IneligibleError, InputError, SettingsError, option
from countveil.maths.channel import GROUP_METHODS, RESIDUES, Templates, greedy_templates
from countveil.maths.groups.balance import ShareDone, unreported
from countveil.maths.groups.feasible import other_ways, what_helps
from countveil.maths.groups.mixed import common_groups, mixed_groups
from countveil.randomness import Stream


@dataclass(frozen=True, slots=True)
class ColumnSettings:
    """What the publisher chose for one sensitive column.

    `common` are the values, as texts, that may fill several places of a group; with `common_auto`
    they are the frequent ones. `odds`: the largest factor by which a row may change the odds of a
    value.
    """

    ell: int
    groups: str = "mixed"
    residue: str = "absorb"
    common: tuple[str | None, ...] = ()
    common_auto: bool = False
    odds: float | None = None

    @property
    def repeats(self) -> bool:
        """Whether a value may fill several places of a group."""
        return self.groups == "random" or bool(self.common) or self.common_auto

    def __post_init__(self) -> None:
        if isinstance(self.ell, bool) or not isinstance(self.ell, int):
            raise SettingsError(f"ell must be a whole number of at least 2, got {self.ell!r}.")
        if self.ell < 2:
            raise SettingsError(
                f"ell must be at least 2, got {self.ell}: a group of one hides nobody."
            )
        if self.groups not in GROUP_METHODS:
            raise SettingsError(
                f"groups must be one of {', '.join(GROUP_METHODS)}, got {self.groups!r}."
            )
        if self.residue not in RESIDUES:
            raise SettingsError(
                f"residue must be one of {', '.join(RESIDUES)}, got {self.residue!r}."
            )
        if (self.common or self.common_auto) and self.groups != "mixed":
            raise SettingsError(
                f"Common values are for mixed groups, in which other values may not repeat; with "
                f"{self.groups} groups leave {option('common')} out."
            )
        self._check_odds()

    def _check_odds(self) -> None:
        if self.odds is None:
            return
        if isinstance(self.odds, bool) or not isinstance(self.odds, int | float):
            raise SettingsError(f"The bound on the odds is a number above 1, got {self.odds!r}.")
        if not 1 < self.odds < math.inf:
            raise SettingsError(
                f"The bound on the odds must be a number above 1, such as 20; got {self.odds:g}. "
                f"With 1 a row would tell nothing at all."
            )
        if self.groups == "anatomy":
            raise SettingsError(
                f"A bound on the odds is for mixed and random groups: the paper's rule puts values "
                f"of similar frequency together, so what a row tells has no bound of this form. "
                f"Leave {option('groups', 'anatomy')} out."
            )


def rows_over(rows: int, ells: Iterable[int]) -> int:
    """How many rows to delete so that a multiple of every ell is left."""
    return rows % math.lcm(*ells)


def check_eligible(
    column: str,
    counts: NDArray[np.int64],
    settings: ColumnSettings,
    name_value: Callable[[int], str],
    *,
    common: Sequence[int] = (),
    rows: int | None = None,
) -> None:
    """Raise unless decoy groups exist for these settings; `common` values are by number.

    `rows` is the number of rows that will be left when the residue is dropped; which rows go is
    decided later, so the counts must be eligible whichever they are.
    """
    total, ell = int(counts.sum()), settings.ell
    if total == 0:
        raise InputError(f"The table has no rows, so column {column!r} has no values to publish.")
    repeating = settings.groups == "random" or bool(common)
    if ell > total and repeating:
        raise SettingsError(
            f"ell = {ell} asks for groups of {ell} rows, but the table of column {column!r} has "
            f"only {total:,}."
        )
    if settings.groups == "random":
        return
    if common:
        _check_copies(column, ell, len(common))
    if ell > counts.size and not common:
        raise SettingsError(
            f"ell = {ell} asks for groups of {ell} different values, but column {column!r} has "
            f"only {counts.size:,}. {what_helps(counts)} {other_ways(counts, ell)}"
        )
    left = total if rows is None else rows
    groups = left // ell
    different = counts.copy()
    different[list(common)] = 0
    top = int(np.argmax(different))
    counts, whole = different, counts
    if int(counts[top]) <= groups:
        return
    share = counts[top] / total
    if rows is not None and int(counts[top]) <= total // ell:
        raise IneligibleError(
            f"Column {column!r}: deleting {total - left:,} rows so that a multiple of ell is left "
            f"gives {groups:,} groups, but {name_value(top)} occurs {counts[top]:,} "
            f"times. residue 'absorb' deletes nothing and works here."
        )
    raise IneligibleError(
        f"Column {column!r} is not eligible for ell = {ell}: {name_value(top)} occurs "
        f"{counts[top]:,} times in {total:,} rows ({share:.1%}), and a value may fill at most "
        f"1/{ell} of them ({groups:,}){_unless(common)}. {what_helps(whole)} "
        f"{other_ways(whole, ell)}"
    )


def form_groups(
    counts: NDArray[np.int64],
    settings: ColumnSettings,
    stream: Stream,
    progress: ShareDone = unreported,
    common: Sequence[int] = (),
) -> Templates:
    """Decoy groups for eligible counts; `progress` is called with the share of the work done.

    The values `common`, by number, may fill several places. Random groups are not formed but drawn
    with what they publish: `mechanism.random_groups`.
    """
    if settings.groups == "anatomy":
        return greedy_templates(counts, settings.ell)
    if common:
        return common_groups(counts, settings.ell, np.array(common, np.int64), stream, progress)
    return mixed_groups(counts, settings.ell, stream, progress)


def _check_copies(column: str, ell: int, n_common: int) -> None:
    # Loaded only where there are common values.
    from countveil.maths.channel.common import most_ell

    if ell > most_ell(n_common):
        raise SettingsError(
            f"With {n_common} common value(s) in column {column!r}, ell can be at most "
            f"{most_ell(n_common)}; got {ell}. {option('groups', 'random')} has no such limit."
        )


def _unless(common: Sequence[int]) -> str:
    return " unless it is common" if common else ""
