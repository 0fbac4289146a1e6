"""The page of an audit: its sections, the figures on top, what is left to decide.

Enters: an `Audit`. Leaves: parts of a page. Must not know: how anything was attacked, or what the
promise says.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from countveil.auditing.findings import (
    BY_DESIGN,
    EXCEEDS,
    FALSE_ALARM,
    HOLDS,
    KNOWN_LIMIT,
    NOT_RUN,
    NOTHING,
)
from countveil.report.board import Figure, codebook_table
from countveil.report.exposure import (
    MeasuredExposure,
    exposure_points,
    exposure_sections,
    figures_of,
    most_exposed_first,
    not_measured,
)
from countveil.report.page import Section

if TYPE_CHECKING:
    from countveil.auditing.summary import Audit

_MARKS = {EXCEEDS: "bad", HOLDS: "good", BY_DESIGN: "plain", KNOWN_LIMIT: "plain", NOT_RUN: "plain"}
# With this belief in this share of the people, a verdict is not marked as good.
_HIGH, _MANY = 0.9, 0.01
_COLUMNS = ("attack", "claimed", "measured", "verdict", "method and remark")


def sections_of(audit: Audit) -> list[Section]:
    """Exposure, the codebook, then the claims with tables and charts."""
    sections = []
    for name, exposure in audit.exposure.items():
        measured = None if exposure is None else MeasuredExposure(exposure)
        sections += exposure_sections(name, measured)
    if audit.codebook:
        names, rows = codebook_table(audit.codebook)
        sections.append(Section("Codebook", (), names, rows))
    sections.append(
        Section("Appendix: the claims", [audit.attacked(), *audit.promised(), *audit.conclusions()])
    )
    headed: dict[tuple[str, str], list[tuple[str, ...]]] = {}
    for f in audit.findings:
        row = (f.attack, f.claimed, f.measured_text, f.verdict, f.remark)
        headed.setdefault((f.whose, f.knows), []).append(row)
    for (name, knows), rows in headed.items():
        title = name[:1].upper() + name[1:]
        said = [] if knows == NOTHING else [f"Knows: {knows}."]
        sections.append(Section(title, said, _COLUMNS, rows, marks=_MARKS))
    if audit.charts:
        sections.append(Section("Charts", charts=audit.charts))
    return sections


def _claims(audit: Audit) -> Figure:
    tested = sum(finding.p_value is not None for finding in audit.findings)
    failed = len(audit.exceeded)
    return Figure(
        "Tested claims that hold",
        f"{tested - failed:,} of {tested:,}",
        f"each beside an attack; all tests together raise a false alarm with probability "
        f"{FALSE_ALARM:g} at most",
        "claims",
        failed,
    )


def figures_shown(audit: Audit) -> list[Figure]:
    """Claims first, then every column, the most exposed first; errors for single ones."""
    figures = [_claims(audit)]
    for name in most_exposed_first(audit.exposure):
        column = audit.measured[name]
        three = figures_of(name, column.exposure, column.error, column.counts)
        figures += three if name in audit.ell else three[:2]
    return figures


def mark_of(audit: Audit) -> str:
    """Bad if a claim does not hold, good if all do and hardly anybody is exposed."""
    if not audit.passed:
        return "bad"
    known = [exposure for exposure in audit.exposure.values() if exposure is not None]
    exposed = any(exposure.share_above(_HIGH)[1] >= _MANY for exposure in known)
    return "plain" if exposed or len(known) < max(1, len(audit.exposure)) else "good"


def points_left(audit: Audit) -> list[str]:
    """What is left to decide."""
    points = []
    for name, exposure in audit.exposure.items():
        points += [not_measured(name)] if exposure is None else exposure_points(name, exposure)
    limits = sum(finding.verdict == KNOWN_LIMIT for finding in audit.findings)
    if limits:
        points.append(
            "One figure below is a known limit: a way to harm that the promise names and nothing "
            "stops."
            if limits == 1
            else f"{limits:,} figures below are known limits: ways to harm that the promise names "
            f"and nothing stops."
        )
    return points
