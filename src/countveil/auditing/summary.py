"""All findings together: the table, the verdict in words, JSON, the page.

Enters: judged findings and charts. Leaves: an `Audit`. Must not know: how anything was attacked. It
contains shares and counts; no value of any row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from countveil.auditing.findings import (
    BY_DESIGN,
    EXCEEDS,
    FALSE_ALARM,
    HOLDS,
    KNOWN_LIMIT,
    NOT_RUN,
    Finding,
)
from countveil.display import text_table, visible
from countveil.report import Chart, Section, page

_MARKS = {EXCEEDS: "bad", HOLDS: "good", BY_DESIGN: "plain", KNOWN_LIMIT: "plain", NOT_RUN: "plain"}
_CONFIDENTIAL = (
    "For the publisher: the figures are computed from the true table. They are shares and counts; "
    "no row and no value of a row is among them."
)

_COLUMNS = ("attack", "claimed", "measured", "verdict", "method and remark")


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of all attacks."""

    rows: int
    linked: int
    ell: Mapping[str, int]
    groups: Mapping[str, str]
    planned: bool
    findings: Sequence[Finding]
    charts: Sequence[Chart]

    @property
    def exceeded(self) -> list[Finding]:
        """The findings that contradict a claim."""
        return [finding for finding in self.findings if finding.verdict == EXCEEDS]

    @property
    def passed(self) -> bool:
        """Whether every claim that was tested holds."""
        return not self.exceeded

    def sentences(self) -> list[str]:
        """What was attacked, the verdict, who may see this."""
        protected = ", ".join(
            f"{name} (ell {ell}, {self.groups[name]} groups)" for name, ell in self.ell.items()
        )
        how = (
            "a trial of the planned release, every row linked to its person"
            if self.planned
            else f"the release, {self.linked:,} rows linked by their non-sensitive values"
        )
        tested = sum(finding.p_value is not None for finding in self.findings)
        first = f"Attacked: {how}; {self.rows:,} rows, {protected}."
        if self.passed:
            verdict = f"All {tested} claims that were tested hold."
        else:
            named = "; ".join(f"{f.adversary}, {f.attack}" for f in self.exceeded)
            verdict = (
                f"{len(self.exceeded)} of {tested} tested claims do NOT hold: {named}. Do not "
                f"publish, or withdraw what was published, until it is explained."
            )
        verdict += (
            f" All tests together raise a false alarm with probability {FALSE_ALARM:g} at most."
        )
        return [first, verdict, *self._left_out(), _CONFIDENTIAL]

    def _left_out(self) -> list[str]:
        """What was not attacked, or not with all rows."""
        reasons: dict[str, dict[str, None]] = {}
        samples: dict[str, dict[str, None]] = {}
        for f in self.findings:
            if f.verdict == NOT_RUN:
                reason = f"{_number(f.measured)} {f.unit}, {f.note}"
                reasons.setdefault(reason, {})[f"{_whose(f)}, {f.attack}"] = None
            if f.tried:
                samples.setdefault(f.tried, {})[f.adversary] = None
        without = [f"{'; '.join(names)} ({reason})" for reason, names in reasons.items()]
        sampled = [f"{', '.join(names)} with {tried}" for tried, names in samples.items()]
        sentences = []
        if without:
            sentences.append(f"Not run, and so nothing is known: {'; '.join(without)}.")
        if sampled:
            sentences.append(f"Sampled: {'; '.join(sampled)}.")
        return sentences

    def table(self) -> tuple[tuple[str, ...], list[tuple[Any, ...]]]:
        """The findings for people."""
        names = ("adversary", "attack", "knows", "claimed", "measured", "verdict")
        rows = [
            (
                _whose(f),
                f.attack, f.knows, f.claimed, measured_text(f), f.verdict,
            )
            for f in self.findings
        ]  # fmt: skip
        return names, rows

    def by_adversary(self) -> list[tuple[str, list[tuple[str, ...]]]]:
        """The findings under headings: the adversary and what he knows."""
        headed: dict[str, list[tuple[str, ...]]] = {}
        for f in self.findings:
            name = f"{f.adversary} ({f.column})" if f.column else f.adversary
            row = (f.attack, f.claimed, measured_text(f), f.verdict)
            headed.setdefault(f"{name}. Knows: {f.knows}.", []).append(row)
        return list(headed.items())

    def as_dict(self) -> dict[str, Any]:
        """Everything but the charts, for JSON."""
        return {
            "rows": self.rows,
            "linked": self.linked,
            "ell": dict(self.ell),
            "groups": dict(self.groups),
            "planned": self.planned,
            "false_alarm_rate": FALSE_ALARM,
            "passed": self.passed,
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_html(self) -> str:
        """A page with tables and charts."""
        sections = [Section("What was found", self.sentences())]
        headed: dict[tuple[str, str], list[tuple[str, ...]]] = {}
        for f in self.findings:
            row = (f.attack, f.claimed, measured_text(f), f.verdict, _remark(f))
            headed.setdefault((_whose(f), f.knows), []).append(row)
        for (name, knows), rows in headed.items():
            title = name[:1].upper() + name[1:]
            sections.append(Section(title, [f"Knows: {knows}."], _COLUMNS, rows, marks=_MARKS))
        sections.append(Section("Charts", charts=self.charts))
        return page("Audit of a release", sections)

    def __str__(self) -> str:
        names, rows = self.table()
        first, *others = map(visible, self.sentences())
        return "\n".join([first, text_table(names, rows, width=150), *others])


def _whose(finding: Finding) -> str:
    return f"{finding.adversary}: {finding.column}" if finding.column else finding.adversary


def _remark(finding: Finding) -> str:
    """Method, remark and p-value."""
    parts = [finding.method, finding.note, finding.tried and f"sampled: {finding.tried}"]
    if finding.p_value is not None:
        parts.append(f"p = {finding.p_value:.2g}")
    return "; ".join(part for part in parts if part and part != "-")


def measured_text(finding: Finding) -> str:
    """A figure with its interval and what it is a figure of."""
    text = _number(finding.measured)
    if finding.low is not None and finding.high is not None:
        text += f" [{_number(finding.low)}, {_number(finding.high)}]"
    return f"{text} {finding.unit}"


def _number(value: float) -> str:
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}"
