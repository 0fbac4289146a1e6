"""Associated protected columns: what publishing them apart or together does, in figures.

Enters: a sample of rows, how each column is published. Leaves: `PairFigures` for each pair of
columns, and sentences. Must not know: how an engine reads. Everything follows from the shares of
pairs, without a draw.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.engines.contract import SourceTable
from countveil.errors import option
from countveil.maths.adversary.two_columns import PairStanding, apart, association, together
from countveil.maths.channel.common import eligible_with, frequent_values
from countveil.maths.channel.whole import expected_after, whole_channel
from countveil.maths.groups import ColumnSettings, largest_ell, obstacle
from countveil.publishing.advise.figures import MOST_DECOMPOSED, share_text
from countveil.tables.encoded.survey import CodedColumn

# Columns with this much of Cramér's V, or so many rows that are clearly believed more, are
# associated: below it, one column says little about the other.
ASSOCIATED, NOTEWORTHY_ROWS = 0.1, 0.01
_MOST_ROWS = 200_000
# Errors are those of pairs of the first of these shares that there are, in a tenth of the table.
_SHARES = (0.005, 0.002, 0.01, 0.001, 0.02, 0.05)
_PART = 0.1
_MOST_PAIRS, _MOST_SAID = 10, 3

Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class WayFigures:
    """One way to publish two columns.

    Attributes:
        mean_belief: In the true pair of values of a linked row, on average.
        largest_belief: In a published pair, where it is highest.
        believed: In the true value of each column, on average; None where it would take too long.
        largest: In a published value of each column, where it is highest; None likewise.
        above: The share of rows about which a value of each column is believed half as much again
            as the column alone allows; None likewise.
        error: The mean relative error of unbiased counts of pairs of the stated share, in a tenth
            of the table; None where there is no unbiased estimate.
        variance: The variance of unbiased counts of all pairs, per row; None likewise.
        distance: How many times the least possible one that is; None likewise.
    """

    mean_belief: float
    largest_belief: float
    believed: tuple[float, float] | None
    largest: tuple[float, float] | None
    above: tuple[float, float] | None
    error: float | None
    variance: float | None
    distance: float | None

    @classmethod
    def of(
        cls, standing: PairStanding, shares: NDArray[np.float64], share: float | None, rows: float
    ) -> WayFigures:
        """Of a way to publish; `rows` are those that the error is about."""
        each = standing.columns
        error = None if share is None else standing.error(shares, share, rows)
        variance, distance = float(standing.variance.sum()), standing.distance
        return cls(
            standing.mean,
            standing.largest,
            None if each is None else (each[0].mean, each[1].mean),
            None if each is None else (each[0].largest, each[1].largest),
            None if each is None else (each[0].above, each[1].above),
            error if error is not None and np.isfinite(error) else None,
            variance if np.isfinite(variance) else None,
            distance if np.isfinite(distance) else None,
        )


@dataclass(frozen=True, slots=True)
class PairFigures:
    """Two columns: how strongly they are associated, and both ways to publish them.

    Attributes:
        columns: Their names.
        ells: Their ells apart; together they share the larger one.
        values: How many pairs of values there are.
        strength: Cramér's V.
        share: The share of the pairs whose error is measured; None if no pair is of such a size.
        apart: Each column with groups of its own.
        together: Both columns with one draw.
    """

    columns: tuple[str, str]
    ells: tuple[int, int]
    values: int
    strength: float
    share: float | None
    apart: WayFigures
    together: WayFigures

    @property
    def associated(self) -> bool:
        """Whether one column says something about the other."""
        return self.strength >= ASSOCIATED or self.most_above >= NOTEWORTHY_ROWS

    @property
    def most_above(self) -> float:
        """Of the two columns, the larger share of rows that are clearly believed more, apart."""
        return max(self.apart.above or (0.0,))


def pairs_in(
    source: SourceTable,
    settings: Mapping[str, ColumnSettings],
    gammas: Mapping[str, float] | None = None,
) -> list[PairFigures]:
    """The pairs of columns of a table, looked at where the rows are."""
    names = list(settings)
    look = partial(find_pairs, dict(settings), dict(gammas or {}), source.facts.rows)
    return source.on_sample(_MOST_ROWS, names, look)


def about_apart(
    source: SourceTable,
    settings: Mapping[str, ColumnSettings],
    together: Sequence[Sequence[str]],
    gammas: Mapping[str, float],
) -> list[str]:
    """Sentences about associated columns that do not share a draw."""
    if any(set(settings) <= {*names} for names in together):
        return []
    pairs = pairs_in(source, settings, gammas)
    return sentences_about(
        [p for p in pairs if not any({*p.columns} <= {*one} for one in together)]
    )


def find_pairs(
    settings: Mapping[str, ColumnSettings],
    gammas: Mapping[str, float],
    rows: int,
    sample: Mapping[str, CodedColumn],
) -> list[PairFigures]:
    """All pairs of columns with few enough values, the most strongly associated ones first."""
    pairs = []
    for one, two in list(combinations([n for n in settings if n in sample], 2))[:_MOST_PAIRS]:
        codes = sample[one].codes, sample[two].codes
        sizes = [int(each.max(initial=0)) + 1 for each in codes]
        if max(sizes) > MOST_DECOMPOSED:
            continue
        grid = np.bincount(codes[0] * sizes[1] + codes[1], minlength=sizes[0] * sizes[1])
        counts = grid.reshape(sizes)
        counts = counts[counts.sum(axis=1) > 0][:, counts.sum(axis=0) > 0]
        if min(counts.shape) >= 2:
            pairs.append(
                figures_of_pair((one, two), counts, (settings[one], settings[two]), gammas, rows)
            )
    return sorted(pairs, key=lambda pair: -pair.strength)


def figures_of_pair(
    names: tuple[str, str],
    counts: Counts,
    settings: tuple[ColumnSettings, ColumnSettings],
    gammas: Mapping[str, float],
    rows: int,
) -> PairFigures:
    """Both ways to publish two columns with these counts of pairs."""
    shares = counts / counts.sum()
    channels = [
        _channel(counts.sum(axis=1 - axis), settings[axis], gammas.get(names[axis], 0.0))
        for axis in (0, 1)
    ]
    ells = settings[0].ell, settings[1].ell
    near = ((shares >= s / 2**0.5) & (shares < s * 2**0.5) for s in _SHARES)
    share = next((s for s, there in zip(_SHARES, near, strict=True) if there.any()), None)
    asked = _PART * rows
    return PairFigures(
        names,
        ells,
        int(np.count_nonzero(counts)),
        association(counts.astype(np.float64)),
        share,
        WayFigures.of(apart(shares, channels[0], channels[1]), shares, share, asked),
        WayFigures.of(together(shares, max(ells)), shares, share, asked),
    )


def settings_that_work(counts: Counts, ell: int) -> ColumnSettings:
    """Mixed groups where they exist, else common values or random groups."""
    if largest_ell(counts) >= ell:
        return ColumnSettings(ell)
    common = frequent_values(counts, ell)
    if common.size and eligible_with(counts, ell, common):
        return ColumnSettings(ell, common_auto=True)
    return ColumnSettings(ell, "random")


def _channel(counts: Counts, settings: ColumnSettings, gamma: float) -> NDArray[np.float64]:
    """W of one column, for a sample in which a value may by chance be too frequent."""
    ell = settings.ell
    noised = expected_after(counts, gamma) if gamma else counts
    if settings.groups == "random":
        return whole_channel(counts, ell, "random", gamma=gamma)
    if settings.common or settings.common_auto:
        common = frequent_values(noised, ell)
        if common.size and eligible_with(noised, ell, common):
            return whole_channel(counts, ell, common=common.tolist(), gamma=gamma)
    limit = obstacle(noised, ell)
    if limit is not None and limit.remove is None:
        return whole_channel(counts, ell, "random", gamma=gamma)
    fitting = counts if limit is None else np.minimum(counts, limit.keep)
    return whole_channel(fitting, ell, settings.groups, gamma=gamma)


def sentences_about(pairs: Sequence[PairFigures]) -> list[str]:
    """What publishing associated columns apart or together does; nothing if none are."""
    associated = [pair for pair in pairs if pair.associated]
    more = len(associated) - _MOST_SAID
    said = [sentence(pair) for pair in associated[:_MOST_SAID]]
    return [*said, *([f"{more} more pairs of protected columns are associated."] * (more > 0))]


def sentence(pair: PairFigures) -> str:
    """Both ways to publish two associated columns, with the figures of this table."""
    one, two = pair.columns
    apart, joined = pair.apart, pair.together
    ells = " and ".join(str(ell) for ell in dict.fromkeys(pair.ells))
    figures = (
        f"the true pair at {apart.mean_belief:.3f} and {joined.mean_belief:.3f} on average, a "
        f"published pair at up to {apart.largest_belief:.2f} and {joined.largest_belief:.2f}"
    )
    if apart.believed and joined.believed and apart.largest and joined.largest:
        for place, name in enumerate(pair.columns):
            figures += (
                f"; the true value of {name!r} at {apart.believed[place]:.3f} and "
                f"{joined.believed[place]:.3f} on average, any value of it at up to "
                f"{apart.largest[place]:.2f} and {joined.largest[place]:.2f}"
            )
    above = (
        f" Apart, {pair.most_above:.1%} of the rows have a value that is believed half as much "
        f"again as its column alone allows."
        if pair.most_above >= NOTEWORTHY_ROWS / 10
        else ""
    )
    return (
        f"{one!r} and {two!r} are associated (Cramér's V {pair.strength:.2f}): what one column "
        f"publishes is a hint about the other. What someone believes who knows whose row it is, "
        f"and how many rows have each pair, apart (ell = {ells}) and together "
        f"(ell = {max(pair.ells)}): {figures}.{above}{_errors(pair)} {_choice(pair)}"
    )


def _choice(pair: PairFigures) -> str:
    """When to take which."""
    written = option("together", list(pair.columns))
    if pair.together.mean_belief <= pair.apart.mean_belief:
        return f"On average {written} leaves less belief here; then a published pair is a real one."
    return (
        f"Take {written} if they will be counted as pairs; stay apart if the combination itself is "
        f"the secret, since together a published pair is that of a real person."
    )


def _errors(pair: PairFigures) -> str:
    if pair.share is None or pair.together.error is None:
        return ""
    off = pair.apart.error
    return (
        f" Unbiased counts of pairs that {share_text(pair.share)} of the rows have are off by "
        f"{'an unknown error' if off is None else f'{off:.0%}'} apart and by "
        f"{pair.together.error:.0%} together, in a tenth of the table."
    )


def as_plain(pairs: Sequence[PairFigures]) -> list[dict[str, Any]]:
    """For JSON."""
    return [{**asdict(pair), "associated": pair.associated} for pair in pairs]
