"""Claims of sections 6 and 9 about the method itself: guarantees, large counts, small counts."""

from __future__ import annotations

import math

from study.charts.lines import half_width
from study.page.claims import Judged
from study.page.numbers import BANDS, Numbers, slope, span


def utility_threshold(numbers: Numbers) -> Judged:
    """Example 1 and Lemma 4."""
    rows = numbers.results.where("guarantees", question="utility", ell=10)
    at = {row["count"]: row for row in rows}
    bad = max(count for count, row in at.items() if row["exact"] > 0.02)
    good = min(count for count in at if count > bad)
    return Judged(
        "Counts of 11 and more are off by 20% or more with a probability of at most 0.02 (Example 1, ell = 10; figure of T_E and T_f)",
        f"at a count of 11: {at[11]['measured']:.2f} measured, {at[11]['exact']:.2f} exact; the formula prints {at[11]['printed']:.2f}",
        f"the exact probability stays below 0.02 from a count of {good} on ({at[good]['measured']:.3f} measured there)",
        at[11]["measured"] <= 0.02,
        at[good]["measured"] <= 0.03,
    )


def small_sums(numbers: Numbers) -> Judged:
    """Example 2."""
    (row,) = numbers.results.where("guarantees", question="privacy", ell=10, count=5)
    text = f"{row['measured']:.2f} measured, {row['exact']:.2f} exact"
    return Judged(
        "A count of 5 is off by more than 30% with probability 0.48 at ell = 10 (Example 2, which "
        "also prints 0.52)",
        text,
        "the same: it does not depend on the groups",
        abs(row["measured"] - 0.48) < 0.05,
        True,
    )


def large_counts(numbers: Numbers) -> Judged:
    """The first claim of section 9.2."""
    paper = numbers.by("by_ell", "ell", method="paper", kind="band", low=0.02)
    ours = numbers.by("by_ell", "ell", method="ours", kind="band", low=0.02)
    return Judged(
        "At selectivities of 2-5% the error is as low as 20%",
        f"{span(list(paper.values()))} over ell = 2 to 10; {paper[5]:.2f} at ell = 5",
        f"{span(list(ours.values()))}; {ours[5]:.3f} at ell = 5",
        min(paper.values()) <= 0.20,
        min(ours.values()) <= 0.20,
    )


def other_large_counts(numbers: Numbers) -> Judged:
    """The second."""
    found = {}
    widest = 0.0
    for method in ("paper", "ours"):
        lines = [
            numbers.by("by_ell", "ell", method=method, kind="band", low=low) for low, _ in BANDS[1:]
        ]
        found[method] = max(max(line.values()) for line in lines)
    for low, _ in BANDS[1:]:
        for ell in numbers.results.different("by_ell", "ell"):
            values = numbers.results.values(
                "by_ell", "error", method="paper", kind="band", low=low, ell=ell
            )
            widest = max(widest, half_width(values))
    return Judged(
        "At the other selectivities (from 0.5% on) it is bounded by 40%",
        f"at most {found['paper']:.2f} (± {widest:.2f})",
        f"at most {found['ours']:.2f}, at ell = 10",
        found["paper"] - widest <= 0.40,
        found["ours"] <= 0.40,
    )


def decreases_then_rises(numbers: Numbers) -> Judged:
    """The third."""
    shapes = {
        method: [_shape(numbers, method, low) for low, _ in BANDS] for method in ("paper", "ours")
    }
    return Judged(
        "As ell grows from 2 to 10, the error of most selectivities first falls and soon rises",
        f"2-5% / 1-2% / 0.5-1%: {' / '.join(shapes['paper'])} (beyond the bars)",
        f"{' / '.join(shapes['ours'])}: more protection costs accuracy. The fall is the printed matrix, which is most wrong at ell = 2",
        shapes["paper"].count(_DIP) >= 2,
        shapes["ours"].count(_DIP) >= 2,
    )


_DIP = "falls, then rises"


def _shape(numbers: Numbers, method: str, low: float) -> str:
    """How the error runs along ell, as far as it can be told from chance."""
    wanted = {"method": method, "kind": "band", "low": low}
    line = numbers.by("by_ell", "ell", **wanted)
    first, last = min(line), max(line)
    bar = max(
        half_width(numbers.results.values("by_ell", "error", **wanted, ell=ell)) for ell in line
    )
    bottom, top = min(line.values()), max(line.values())
    falls_first, rises_last = line[first] > bottom + bar, line[last] > bottom + bar
    if falls_first and rises_last:
        return _DIP
    if top > max(line[first], line[last]) + bar:
        return "rises, then falls"
    return "falls" if falls_first else "rises" if rises_last else "level"


def alone(numbers: Numbers) -> Judged:
    """SA querying: agreement with the analysis."""
    ratios = {}
    for method in ("paper", "ours"):
        found = []
        for ell in numbers.results.different("alone", "ell", kind="passing"):
            measured = numbers.mean("alone", method=method, kind="band", low=0.01, ell=ell)
            # The mean distance of a normal number, at the middle of the band.
            count = 0.015 * numbers.results.where("alone", kind="passing")[0]["rows"]
            expected = math.sqrt(2 / math.pi * (1 - 1 / ell) / count)
            found.append(measured / expected)
        ratios[method] = found
    paper = numbers.mean("alone", method="paper", kind="passing", ell=5)
    ours = numbers.mean("alone", method="ours", kind="passing", ell=5)
    small = numbers.mean("alone", method="paper", kind="small", ell=5)
    return Judged(
        "The sensitive attribute alone: small errors for large counts, large ones for small "
        "counts, as the analysis says",
        f"{paper:.3f} from 0.5% on, {small:.2f} for counts to 10 (ell = 5); measured / expected "
        f"{span(ratios['paper'])}",
        f"{ours:.3f} from 0.5% on; measured / expected {span(ratios['ours'])}",
        all(0.8 < ratio < 1.25 for ratio in ratios["paper"]) and small > 5 * paper,
        all(0.8 < ratio < 1.25 for ratio in ratios["ours"]),
    )


def small_counts(numbers: Numbers) -> Judged:
    """Section 9.3."""
    paper = numbers.by("by_ell", "ell", method="paper", kind="small")
    ours = numbers.by("by_ell", "ell", method="ours", kind="small")
    off = {
        method: numbers.mean("by_ell", "off", method=method, kind="small", ell=5)
        for method in ("paper", "ours")
    }
    fits = {"paper": slope(paper), "ours": slope(ours)}
    return Judged(
        "Errors of small counts (to 10) are high enough for privacy and grow linearly with ell",
        f"{paper[2]:.1f} to {paper[10]:.1f} at ell = 2 to 10 (correlation with ell "
        f"{fits['paper'][1]:.2f}); off by more than 30%: {off['paper']:.2f} at ell = 5",
        f"{ours[2]:.1f} to {ours[10]:.1f} (correlation {fits['ours'][1]:.2f}); off by more than "
        f"30%: {off['ours']:.2f}",
        fits["paper"][1] > 0.95 and off["paper"] >= 0.5,
        fits["ours"][1] > 0.9 and off["ours"] >= 0.5,
    )


def two_attributes(numbers: Numbers) -> Judged:
    """Section 9.5."""
    single, double = {}, {}
    for method in ("paper", "ours"):
        double[method] = numbers.by("two_columns", "ell", method=method, kind="passing")
        single[method] = numbers.mean("by_ell", method=method, kind="band", low=0.001, ell=5)
    return Judged(
        "Two sensitive attributes (selectivity 0.1-0.7%): the accuracy matches that of one",
        f"{span(list(double['paper'].values()))} over ell = 2 to {max(double['paper'])}; one "
        f"attribute has {single['paper']:.2f} at 0.1-0.5% and ell = 5",
        f"{span(list(double['ours'].values()))}, {double['ours'][5]:.2f} at ell = 5; one attribute "
        f"has {single['ours']:.2f}",
        double["paper"][5] <= 1.2 * single["paper"],
        double["ours"][5] <= 1.2 * single["ours"],
    )


def not_narrowed(numbers: Numbers) -> Judged:
    """Sections 4 and 8: no limit to the possible values."""
    left = {
        method: numbers.mean("by_method", "candidates", method=method, kind="protection")
        for method in ("paper", "ours", "anatomy")
    }
    return Judged(
        "The published data does not narrow down the possible values of a person, as l-diversity "
        "does",
        f"whoever re-runs the greedy grouping on the published histogram is left with "
        f"{left['paper']:.1f} candidates (perplexity, median row); Anatomy leaves "
        f"{left['anatomy']:.1f}",
        f"{left['ours']:.1f} of 50 candidates",
        left["paper"] > 25,
        left["ours"] > 25,
    )
