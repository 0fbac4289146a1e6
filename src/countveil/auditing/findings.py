"""What an adversary achieved, beside what was claimed.

Enters: figures and their p-values. Leaves: findings with verdicts, one false-alarm rate for all of
them. Must not know: how an attack works, how a result is shown.

A verdict is

- `holds`         the claim was tested, and the figure is what chance allows
- `exceeds`       it is not: the claim is wrong, or the release is
- `by design`     open on purpose, as documented; nothing to test
- `known limit`   a harm that the promise names; nothing to test
- `not run`       too many values, or too few rows: nothing is known
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from countveil.maths.adversary import Exposure
from countveil.report.chart import Chart

FALSE_ALARM = 1e-4

HOLDS, EXCEEDS, BY_DESIGN, KNOWN_LIMIT = "holds", "exceeds", "by design", "known limit"
NOT_RUN = "not run"
# In the place of what an adversary knows: there was none.
NOTHING = "-"

WITH_NOISE = 1, "column with noise before its groups"


@dataclass(frozen=True, slots=True)
class MeasuredColumn:
    """How exposed people are, and how accurate counts are. None where it could not be measured.

    Attributes:
        exposure: How strongly people's true values are believed.
        error: The mean relative error of counts of about 1% of the rows.
        counts: How many counts that is.
    """

    exposure: Exposure | None
    error: float | None
    counts: int


@dataclass(frozen=True, slots=True)
class Finding:
    """One figure of an audit.

    Attributes:
        adversary: Who attacked.
        attack: What was tried.
        knows: What the adversary knows.
        method: How it was measured.
        claimed: What is promised.
        measured: The figure.
        unit: What it is a figure of.
        low: The lower end of its interval.
        high: The upper end of its interval.
        p_value: Bounds the probability of a figure like this under the claim; None if there is no
            claim that could be wrong.
        verdict: Whether the claim holds, or why there is none.
        column: The column it is about, if it is about one.
        note: What else to know.
        tried: How many were tried, if not all.
    """

    adversary: str
    attack: str
    knows: str
    method: str
    claimed: str
    measured: float
    unit: str
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    verdict: str = HOLDS
    column: str = ""
    note: str = ""
    tried: str = ""

    @property
    def whose(self) -> str:
        """The adversary, and the column if it is about one."""
        return f"{self.adversary}: {self.column}" if self.column else self.adversary

    @property
    def measured_text(self) -> str:
        """The figure with its interval and what it is a figure of."""
        text = number_text(self.measured)
        if self.low is not None and self.high is not None:
            text += f" [{number_text(self.low)}, {number_text(self.high)}]"
        return f"{text} {self.unit}"

    @property
    def remark(self) -> str:
        """Method, remark and p-value."""
        parts = [self.method, self.note, self.tried and f"sampled: {self.tried}"]
        if self.p_value is not None:
            parts.append(f"p = {self.p_value:.2g}")
        return "; ".join(part for part in parts if part and part != "-")


def number_text(value: float) -> str:
    """A figure with as many digits as are useful."""
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.4f}" if abs(value) < 10 else f"{value:,.1f}"


def none_expected(
    adversary: str, attack: str, knows: str, method: str, count: int, unit: str, note: str
) -> Finding:
    """A search that should find nothing: a single hit contradicts the claim."""
    return Finding(
        adversary, attack, knows, method, "0", float(count), unit,
        p_value=0.0 if count else 1.0, note=note,
    )  # fmt: skip


def not_run(adversary: str, attack: str, column: str, n_values: int, most: int) -> Finding:
    """An attack that is left out because a column has too many values."""
    return Finding(
        adversary, attack, NOTHING, "-", "-", float(n_values), "values of the column",
        verdict=NOT_RUN, column=column, note=f"at most {most:,} can be examined pair by pair",
    )  # fmt: skip


def too_few(adversary: str, rows: int, least: int) -> Finding:
    """An attack that is left out because too few rows can be linked to a person."""
    return Finding(
        adversary, "linked rows", "all other columns of everybody",
        "combinations that one person alone has", "-", float(rows), "rows linked",
        verdict=NOT_RUN, note=f"at least {least:,} are needed",
    )  # fmt: skip


def too_few_cells(adversary: str, attack: str, column: str, cells: int, least: int) -> Finding:
    """An attack that is left out because there are too few cells of a suitable size."""
    return Finding(
        adversary, attack, NOTHING, "-", "-", float(cells), "cells of a suitable size",
        verdict=NOT_RUN, column=column, note=f"at least {least:,} are needed",
    )  # fmt: skip


def left_out(
    adversary: str, attack: str, column: str, hindrance: tuple[int, str], why: str
) -> Finding:
    """An attack that makes no sense for a column; it has so many of what hinders."""
    return Finding(
        adversary, attack, NOTHING, "-", "-", float(hindrance[0]), hindrance[1], verdict=NOT_RUN,
        column=column, note=why,
    )  # fmt: skip


def tried_text(tried: int, of: int, what: str = "rows") -> str:
    """How many were tried, unless all were."""
    return f"{tried:,} of {of:,} {what}" if tried < of else ""


@dataclass(slots=True)
class Outcome:
    """The result of one attack."""

    findings: list[Finding] = field(default_factory=list)
    charts: list[Chart] = field(default_factory=list)

    def add(self, other: Outcome) -> None:
        """Append the findings and charts of another outcome."""
        self.findings += other.findings
        self.charts += other.charts


def judged(findings: Sequence[Finding]) -> list[Finding]:
    """The findings with their verdicts.

    Each test gets an equal share of the false-alarm rate (Bonferroni), so that all of them together
    raise a false alarm with at most that probability, however they depend on each other. The number
    of tests must not depend on the draws: an attack with nothing to test reports a p-value of 1.
    """
    tests = sum(finding.p_value is not None for finding in findings)
    level = FALSE_ALARM / max(1, tests)
    return [
        finding
        if finding.p_value is None
        else replace(finding, verdict=EXCEEDS if finding.p_value <= level else HOLDS)
        for finding in findings
    ]
