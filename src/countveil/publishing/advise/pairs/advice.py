"""The comparison of two columns apart and together, for people: a table and some sentences.

Enters: a `PairAdvice`. Leaves: a table, text. Must not know: how the figures were made. Names come
from data, and are made harmless where they are shown.
"""

from __future__ import annotations

from typing import Any

from countveil.errors import option
from countveil.publishing.advise.figures import share_text
from countveil.publishing.advise.methods import MIXED
from countveil.publishing.advise.pairs.compare import APART, PairAdvice


def pair_head(advice: PairAdvice) -> str:
    """What the table is about."""
    one, two = advice.columns
    return f"{one} and {two}, apart and together: counts of pairs"


def pair_table(advice: PairAdvice) -> tuple[list[str], list[list[Any]]]:
    """A line for every way and ell."""
    shares = list(advice.lines[0].errors) if advice.lines else []
    names = ["ell", "way", *(share_text(share) for share in shares)]
    names += ["hidden", "pair", "most", "above", "bound"]

    rows: list[list[Any]] = [
        [
            line.ell,
            line.way,
            *(_percent(error) for error in line.errors.values()),
            line.hidden_up_to,
            _percent(line.mean_belief),
            _percent(line.largest_belief),
            _percent(None if line.above is None else max(line.above)),
            None if line.distance is None else f"{line.distance:,.2f}",
        ]
        for line in advice.lines
    ]
    return names, rows


def _percent(number: float | None) -> str | None:
    """Two or three digits, so that the table fits into 80 columns."""
    if number is None:
        return None
    return f"{number:.1%}" if number < 0.0995 else f"{number:.0%}"


def pair_sentences(advice: PairAdvice) -> list[str]:
    """What the columns of the table mean, and which way to take."""
    sampled = (
        f" They are those of a table of {advice.sampled_rows:,} rows, a sample of this one; with "
        f"more rows counts are more accurate."
        if advice.sampled_rows < advice.rows
        else ""
    )
    about = (
        f"Cramér's V of the two columns is {advice.strength:.2f}. Together "
        f"({option('together', list(advice.columns))}) means one draw for both, with random groups "
        f"and one ell. Errors are mean relative ones of counts of pairs of this share of the "
        f"table, by the default estimate in trial releases.{sampled} hidden: the largest count of "
        f"a pair whose answer is off by more than 30% in half of the cases or more; pair: mean "
        f"belief in the true one, by someone who knows whose row it is and how many rows have each "
        f"pair; most: in a published pair at most; above: rows about which some value is believed "
        f"half as much again as its column alone allows; bound: the variance of unbiased counts of "
        f"pairs, over the least that any method could have at this mean belief.{_groups(advice)}"
    )
    chosen = advice.recommendation
    if chosen.ell is None:
        return [about, f"For pairs: {chosen.reason}"]
    return [about, f"For pairs: {chosen.method}, ell = {chosen.ell}. {chosen.reason} {chosen.why}"]


def _groups(advice: PairAdvice) -> str:
    """Where columns apart do not have mixed groups."""
    apart = [line for line in advice.lines if line.way == APART]
    others = [line for line in apart if line.groups != (MIXED, MIXED)]
    if not others:
        return ""
    one, two = advice.columns
    return (
        f" From ell = {others[0].ell} on, apart means {others[0].groups[0]} groups for {one} and "
        f"{others[0].groups[1]} ones for {two}: mixed groups do not exist."
    )
