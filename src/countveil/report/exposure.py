"""Exposure in words, tables and a chart: how strongly people's true values are believed.

Enters: measured exposures, and for the publisher the plain profiles of the most exposed. Leaves:
sentences and sections of a page. Must not know: how beliefs were computed, any sensitive value. The
figures come from the true table: they are for the publisher only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from countveil.maths.adversary.exposure import LEVELS, Exposure
from countveil.report.board import Figure
from countveil.report.chart import Axis, Chart, Line
from countveil.report.page import Section

_RANGES = (0.0, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
_HIGH, _UNKNOWN = 0.9, "not measured"
_WHO = (
    "The adversary knows everybody's plain values and how the value of {name} depends on them, as "
    "if he had seen the true values of other people. That alone is his belief without the "
    "release. With it he looks for the rows that have a person's plain values ({alone:.1%} of the "
    "people are alone with theirs) and updates his belief by Bayes' rule. Shown is his belief in "
    "what is true. What he believes without the release comes from the plain columns and from the "
    "shares of values, and no ell changes it; the difference is what the release adds."
)
_PROFILES = (
    "The plain values of the most exposed 1% of the people, by the columns that together say most "
    "about {name}; the value of {name} itself is not shown. Beliefs are averages over all people "
    "with the profile. Where the belief without the release is high, coarsen or drop these "
    "columns, or leave the people out: a larger ell does not help there."
)


@dataclass(frozen=True, slots=True)
class Profile:
    """Plain values, how many people have them, and how many of these are among the most exposed."""

    values: Mapping[str, str]
    people: int
    exposed: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class MeasuredExposure:
    """The exposure of people, and the profiles of the most exposed."""

    found: Exposure
    profiles: Sequence[Profile] = ()


def exposure_sentences(name: str, exposure: Exposure) -> list[str]:
    """What comes first in every audit: how exposed people are, with and without the release."""
    before, after = exposure.before, exposure.after
    sampled = f" ({after.size:,} of {exposure.of:,} people)" if after.size < exposure.of else ""
    first = (
        f"1 in 100 people{sampled}: the true {name} is believed at "
        f"{belief_text(exposure.reached(after))} or more with the release, at "
        f"{belief_text(exposure.reached(before))} or more without it. On average it is believed at "
        f"{belief_text(float(after.mean()))}, without the release at "
        f"{belief_text(float(before.mean()))}."
    )
    parts = [
        f"{share_text(with_release)} of the people at {level} or more ({share_text(without)} "
        f"without the release)"
        for level in LEVELS
        for without, with_release in [exposure.share_above(level)]
    ]
    return [first, f"Believed: {', '.join(parts)}."]


def exposure_points(name: str, exposure: Exposure) -> list[str]:
    """What is left to decide: what plain columns give away, and what the release adds."""
    known, now = exposure.share_above(_HIGH)
    added = float(((exposure.after >= _HIGH) & (exposure.before < _HIGH)).mean())
    points = []
    if known:
        points.append(
            f"{share_text(known)} of the people are believed at {_HIGH} or more without any "
            f"release: other columns give their {name} away. No ell changes that; drop or coarsen "
            f"columns, or leave these people out."
        )
    if added:
        points.append(
            f"The {name} of {share_text(added)} of the people comes to be believed at {_HIGH} or "
            f"more by the release ({share_text(now)} are, in all). A larger ell or fewer columns "
            f"lowers it."
        )
    return points


def most_exposed_first(exposures: Mapping[str, Exposure | None]) -> list[str]:
    """The columns, the most exposed first; those about which nothing is known before all."""
    return sorted(exposures, key=lambda name: -_reached(exposures[name]))


def _reached(exposure: Exposure | None) -> float:
    return 2.0 if exposure is None else exposure.reached(exposure.after)


def figures_of(
    name: str, exposure: Exposure | None, error: float | None, counts: int
) -> list[Figure]:
    """The three figures that matter, for one protected column."""
    average, exposed = (
        f"Average belief in the true {name}",
        f"Most exposed 1% of the people, {name}",
    )
    # What is not known is worse than any figure.
    figures = [
        Figure(average, _UNKNOWN, "how strongly people are believed", "average", math.inf),
        Figure(exposed, _UNKNOWN, "how strongly they are believed", "exposed", math.inf),
    ]
    if exposure is not None:
        mean, reached = float(exposure.after.mean()), exposure.reached(exposure.after)
        figures = [
            Figure(
                average,
                belief_text(mean),
                f"{belief_text(float(exposure.before.mean()))} without the release",
                "average",
                mean,
            ),
            Figure(
                exposed,
                f"{belief_text(reached)} or more",
                f"{belief_text(exposure.reached(exposure.before))} or more without the release",
                "exposed",
                reached,
            ),
        ]
    shown, amount = (_UNKNOWN, math.inf) if error is None else (f"{error:.1%}", error)
    note = (
        f"mean relative error, {counts:,} counts that combine columns"
        if counts
        else ("the table has no such counts that could be asked")
    )
    what = f"Error of counts of 1% of the rows, {name}"
    return [*figures, Figure(what, shown, note, "error", amount)]


def exposure_sections(name: str, measured: MeasuredExposure | None) -> list[Section]:
    """Beliefs by range, a chart of both, and the profiles of the most exposed."""
    title = f"Exposure: {name}"
    if measured is None:
        return [Section(title, [not_measured(name)])]
    exposure = measured.found
    ends = (*_RANGES[1:], float("inf"))
    table = []
    for low, high in zip(_RANGES, ends, strict=True):
        shares = [
            float(((b >= low) & (b < high)).mean()) for b in (exposure.before, exposure.after)
        ]
        counts = [int(((b >= low) & (b < high)).sum()) for b in (exposure.before, exposure.after)]
        label = f"{low:g} to {high:g}" if high <= 1 else f"{low:g} or more"
        table.append((label, counts[0], share_text(shares[0]), counts[1], share_text(shares[1])))
    sections = [
        Section(
            title,
            [
                *exposure_sentences(name, exposure),
                _WHO.format(name=name, alone=exposure.alone),
            ],
            ("belief in the true value", "people, without", "share, without",
             "people, with the release", "share, with the release"),
            table,
            [_chart(name, exposure)],
        )
    ]  # fmt: skip
    if measured.profiles:
        sections.append(_profiles(name, measured.profiles))
    return sections


def _profiles(name: str, profiles: Sequence[Profile]) -> Section:
    columns = list(profiles[0].values)
    rows = [
        (*(profile.values[column] for column in columns), profile.people, profile.exposed,
         belief_text(profile.before), belief_text(profile.after))
        for profile in profiles
    ]  # fmt: skip
    return Section(
        f"Confidential: plain profiles of the most exposed people, {name}",
        [_PROFILES.format(name=name)],
        (*columns, "people", "of them most exposed", "belief without", "belief with the release"),
        rows,
    )


def _chart(name: str, exposure: Exposure) -> Chart:
    levels = np.linspace(0, 1, 101)
    lines = [
        Line(label, levels.tolist(), [float((beliefs >= x).mean()) for x in levels])
        for label, beliefs in (
            ("without the release", exposure.before),
            ("with the release", exposure.after),
        )
    ]
    return Chart(
        f"How strongly is the true {name} of how many people believed?",
        "belief in the true value, at least",
        "share of people",
        lines,
        x_axis=Axis(0, 1),
        y_axis=Axis(0, 1),
    )


def not_measured(name: str) -> str:
    """Why there are no figures."""
    return (
        f"The exposure of {name} was not measured: the column has too many values, or the table is "
        f"too large to keep in memory beside its release."
    )


def belief_text(belief: float) -> str:
    """A belief with as many digits as keep it from certainty."""
    for digits in (2, 3, 4):
        if round(belief, digits) < 1:
            return f"{belief:.{digits}f}"
    return "more than 0.9999"


def share_text(share: float) -> str:
    """A share of people, never rounded to none."""
    if share == 0:
        return "none"
    if share < 0.0005:
        return "<0.1%"
    return f"{share:.1%}"
