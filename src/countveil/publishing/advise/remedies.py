"""What prevents a larger ell, and what each remedy costs, in words.

Enters: a histogram, and a function that names its values. Leaves: sentences for the publisher, who
may see the table, and options that would work. Must not know: files, what makes an ell feasible
(`maths.groups.feasible`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import option
from countveil.maths.channel.common import eligible_with, frequent_values
from countveil.maths.groups import ColumnSettings, largest_ell, obstacle
from countveil.maths.groups.feasible import MERGING, to_leave_out
from countveil.maths.guarantees import chance_off, odds_factor
from countveil.publishing.advise.methods import COMMON, MIXED, MethodFigures
from countveil.publishing.safety import fineness_of
from countveil.tables.encoded.survey import Histogram

USUAL_ELL = 5
_FEW_ROWS = 20
_MOST_NAMED = 4

Counts = NDArray[np.int64]
Namer = Callable[[int], str]


def why_not_larger(counts: Counts, name: Namer) -> str:
    """Why the ell after the largest feasible one is not feasible, and what would make it so."""
    ell = largest_ell(counts) + 1
    limit = obstacle(counts, ell)
    assert limit is not None  # noqa: S101 - the largest feasible ell is the largest
    if limit.remove is None:
        values = int(np.count_nonzero(counts))
        return (
            f"ell = {ell} is not feasible: the column has only {values:,} different values, and a "
            f"group needs {ell}. Finer values would allow it. Removing rows does "
            f"not help, and {MERGING}."
        )
    total = int(counts.sum())
    frequent = _named(limit.too_frequent, counts, name)
    return (
        f"ell = {ell} is not feasible: {frequent}, and at most {limit.allowed:,} (1/{ell}) may "
        f"have the same value. Removing {limit.remove:,} rows ({limit.remove / total:.2%}) of "
        f"{'it' if len(limit.too_frequent) == 1 else 'these'} would allow it, and so would values "
        f"that are finer there; {MERGING}."
    )


def why_impossible(
    counts: Counts, methods: Sequence[str], lines: Sequence[MethodFigures]
) -> dict[str, str]:
    """Why methods have no figures, and what would help; no value is named."""
    known = {line.method for line in lines}
    values, total = int(np.count_nonzero(counts)), int(counts.sum())
    reasons = {}
    for method in (each for each in methods if each not in known):
        if values < 2:
            reasons[method] = "All rows have the same value, so that there is nothing to hide."
        elif total < 2 * 2:
            reasons[method] = f"{total:,} rows are too few for two groups."
        elif method == MIXED:
            share = int(counts.max()) / total
            reasons[method] = (
                f"Groups of different values do not exist: the most frequent value has {share:.1%} "
                f"of the rows, and at most half may have it. Finer values, common values or random "
                f"groups help."
            )
        elif method == COMMON:
            reasons[method] = (
                "No value is so frequent that it has to repeat at an ell that was tried: mixed "
                "groups do without."
            )
        else:
            reasons[method] = "The table has too few rows for the ells that were tried."
    return reasons


def about_frequent_values(counts: Counts, name: Namer) -> list[str]:
    """For skewed columns: which values are too frequent for the usual ell, what remedies cost."""
    best, total = largest_ell(counts), int(counts.sum())
    limit = obstacle(counts, USUAL_ELL) if best < USUAL_ELL else None
    if limit is None or not limit.too_frequent:
        return []
    smaller = (
        f"ell = {best} costs protection: a published value is the true one in 1 of {best} rows, "
        f"not in 1 of {USUAL_ELL}"
        if best >= 2
        else "no smaller ell is feasible either"
    )
    removing = (
        f"removing rows down to {limit.keep:,} of a value costs {limit.remove:,} rows "
        f"({limit.remove / total:.1%} of the table) and biases every count of it"
        if limit.remove is not None
        else "removing rows cannot help, as there are too few values"
    )
    costs = (
        f"What each remedy costs. {option('common', 'auto')} and {option('groups', 'random')} "
        f"publish the column as it is: frequent values are then believed more, as the table of "
        f"methods says. A smaller ell: {smaller}. Removing: {removing}. Splitting the "
        f"frequent value into finer ones costs nothing, where the data have them. "
        f"{option('merge')}: {MERGING}. {option('domain')} does not help "
        f"either: it costs nothing and declares which values are public, but changes no count."
    )
    return [
        f"Too frequent for ell = {USUAL_ELL}: {_named(limit.too_frequent, counts, name)}.",
        costs,
    ]


def about_rare_values(counts: Counts, ell: int, hide: int | None) -> list[str]:
    """Values so rare that their published count and a single row reveal a lot."""
    few = hide or _FEW_ROWS
    rare = counts[(counts > 0) & (counts <= few)]
    if not rare.size:
        return []
    total = int(counts.sum())
    merged, rarest, largest = int(rare.sum()), int(rare.min()), int(rare.max())
    others = counts[counts > few]
    allowed = total // ell
    merging = (
        f"{option('merge')} gives them a common label of {merged:,} rows: the largest factor "
        f"among them falls from {odds_factor(rarest / total, ell):,.0f} to "
        f"{odds_factor(merged / total, ell):,.0f}, at the cost of not telling {rare.size:,} values "
        f"apart"
        if rare.size > 1 and merged <= allowed and others.size + 1 >= ell
        else f"{option('merge')} with a similar, more frequent value hides it, at the cost of not "
        f"telling the two apart"
    )
    off = chance_off(largest, ell, 0.3)
    sentence = (
        f"{rare.size:,} of the values {'has' if rare.size == 1 else 'have'} {few:,} rows or fewer. "
        f"How many rows of the whole table have a value is hardly hidden by any ell: for "
        f"{largest:,} rows the published count is off by more than 30% with probability {off:.2f} "
        f"at ell = {ell}. {merging}."
    )
    return [sentence]


def ways_to_publish(
    name: str,
    histogram: Histogram,
    settings: ColumnSettings,
    rows: int | None,
    *,
    noised: bool,
    changed: bool,
) -> list[dict[str, Any]]:
    """Options, each as arguments of `publish`, with which a column that is in the way is published.

    `rows` is how many will be left if a residue is dropped. After noise, which differs from run to
    run, only methods that work whatever it does are named. A condition sees the values of the
    source, so that there is none where they were `changed`.
    """
    counts, ell = histogram.counts, settings.ell
    if ell > int(counts.sum()) or np.count_nonzero(counts) < 2:
        return []
    if rows is not None and largest_ell(counts) >= ell:
        return [{"residue": "absorb"}]
    common = frequent_values(counts, ell)
    ways: list[dict[str, Any]] = []
    if common.size and eligible_with(counts, ell, common):
        ways.append({"common": {name: "auto"}})
    # No column has common values in random groups, and this one needs none in the last way.
    ways.append({"groups": "random", "common": None})
    without_common = {"common": None} if settings.common or settings.common_auto else {}
    best = largest_ell(counts)
    if not noised and best >= 2 and not fineness_of(counts, best).stops:
        ways.append({"sensitive": {name: best}})
    without = () if noised or changed else to_leave_out(counts, ell)
    if without:
        condition = _leaving_out(name, [histogram.values[place] for place in without])
        ways += [{"where": condition, "keep": [name], **without_common}] if condition else []
    return ways


def _leaving_out(name: str, values: Sequence[Any]) -> str:
    """A condition in SQL that all other values meet; empty for values without a sure literal."""
    column = '"' + name.replace('"', '""') + '"'
    known = [value for value in values if value is not None]
    if not all(isinstance(value, str | bool | int) for value in known):
        return ""
    others = [f"{column} <> {_literal(value)}" for value in known]
    if None in values:
        return " AND ".join([f"{column} IS NOT NULL", *others])
    return f"{column} IS NULL OR ({' AND '.join(others)})"


def _literal(value: str | bool | int) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return str(value).upper()


def _named(places: tuple[int, ...], counts: Counts, name: Namer) -> str:
    total = int(counts.sum())
    named = [
        f"{name(place)} has {counts[place]:,} of {total:,} rows ({counts[place] / total:.1%})"
        for place in places[:_MOST_NAMED]
    ]
    more = len(places) - _MOST_NAMED
    return ", ".join(named) + (f" and {more:,} more values are as frequent" if more > 0 else "")
