"""All findings together: how exposed people are, then the claims; in words, as JSON, as a page.

Enters: judged findings and charts, measured exposures. Leaves: an `Audit`. Must not know: how
anything was attacked. It contains shares and counts, and the names and values of columns that are
published; no value of any row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from countveil.auditing.audit_page import figures_shown, mark_of, points_left, sections_of
from countveil.auditing.findings import (
    EXCEEDS,
    FALSE_ALARM,
    NOT_RUN,
    NOTHING,
    Finding,
    MeasuredColumn,
    number_text,
)
from countveil.display import Part, html_of, text_of
from countveil.maths.adversary import Exposure
from countveil.release import About
from countveil.release.manifest import OddsBound
from countveil.report.board import Board, CodebookEntry, other_columns
from countveil.report.chart import Chart
from countveil.report.exposure import (
    exposure_sentences,
    not_measured,
)
from countveil.report.page import page
from countveil.tables.recode import value_text

_CONFIDENTIAL = (
    "For the publisher: the figures are computed from the true table. They are shares and counts; "
    "no row and no value of a row is among them."
)

_NOT_PUBLIC = (
    "Confidential, for the publisher: the figures are computed from the true table. Never publish "
    "this page."
)


@dataclass(frozen=True, slots=True)
class Audit:
    """The findings of all attacks: what `countveil.audit` gives. Print it.

    Attributes:
        rows: The rows of the table.
        linked: How many of them were linked to their person.
        ell: The ell of each column.
        groups: How the groups of each column were formed.
        planned: Whether a trial of a planned release was attacked.
        findings: Every claim beside what was measured.
        charts: The charts of the page.
        measured: How exposed people are, by column.
        about: Title, contact and day.
        codebook: The published columns.
        common: Values that may repeat in a group.
        promises: With which probability a published value is believed, as the release says.
        together: Sets of columns that are published together.
        odds: The bounds of columns with noise.
        cases: How many cases were attacked in the place of rows, where persons have several.
        releases: How many releases were attacked together.

    Example:
        >>> result = cv.audit(table, {"occupation": 5}, attacks=["linkage"], seed=1)
        >>> result.passed, len(result.exceeded)
        (True, 0)
    """

    rows: int
    linked: int
    ell: Mapping[str, int]
    groups: Mapping[str, str]
    planned: bool
    findings: Sequence[Finding]
    charts: Sequence[Chart]
    measured: Mapping[str, MeasuredColumn] = field(default_factory=dict)
    about: About = field(default_factory=About)
    codebook: Sequence[CodebookEntry] = ()
    common: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    promises: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    together: Sequence[Sequence[str]] = ()
    odds: Mapping[str, OddsBound] = field(default_factory=dict)
    cases: Mapping[str, int] = field(default_factory=dict)
    releases: int = 1

    @property
    def exposure(self) -> dict[str, Exposure | None]:
        """By column, how strongly people's true values are believed."""
        return {name: column.exposure for name, column in self.measured.items()}

    @property
    def exceeded(self) -> list[Finding]:
        """The findings that contradict a claim."""
        return [finding for finding in self.findings if finding.verdict == EXCEEDS]

    @property
    def passed(self) -> bool:
        """Whether every claim that was tested holds."""
        return not self.exceeded

    def headline(self) -> list[str]:
        """How exposed people are, which comes before any claim."""
        sentences = []
        for name, exposure in self.exposure.items():
            sentences += (
                [not_measured(name)] if exposure is None else exposure_sentences(name, exposure)
            )
        return sentences

    def attacked(self) -> str:
        """What was attacked."""
        protected = ", ".join(
            f"{name} (ell {ell}, {self.method(name)})" for name, ell in self.ell.items()
        )
        how = (
            "a trial of the planned release, every row linked to its person"
            if self.planned
            else f"the release, {self.linked:,} rows linked by their non-sensitive values"
        )
        if self.releases > 1:
            how = f"{self.releases} releases in a row; of the newest, {self.linked:,} rows linked"
        more = [f"{' and '.join(names)} are published together" for names in self.together]
        if self.cases:
            listed = ", ".join(f"{number:,} of {name}" for name, number in self.cases.items())
            more.append(f"persons have several rows, so cases were attacked as rows: {listed}")
        return f"Attacked: {how}; {self.rows:,} rows, {'; '.join([protected, *more])}."

    def method(self, name: str) -> str:
        """How the groups of a column were formed.

        Args:
            name: The column.

        Returns:
            The way, in words.
        """
        common = [_named(value) for value in self.common.get(name, ())]
        parts = [f"{self.groups[name]} groups"]
        parts += [f"common: {', '.join(common)}"] if common else []
        if name in self.odds:
            parts.append(f"odds at most {self.odds[name].at_most:g}")
        return ", ".join(parts)

    def promised(self) -> list[str]:
        """What is promised where groups may hold a value several times."""
        return [self._promised(name) for name in self.promises if self._special(name)]

    def _promised(self, name: str) -> str:
        promise = self.promises[name]
        listed = ", ".join(
            f"{belief:.2f} at the {rank.replace('_', ' ')}"
            for rank, belief in promise.get("published_value_by_frequency", {}).items()
        )
        if name in self.odds:
            bound = self.odds[name]
            return (
                f"Promised for {name} (noise before groups): no linked row changes the odds of a "
                f"value by more than {bound.at_most:g}, nor the whole release those between two "
                f"values of a row by more than exp(epsilon) = {math.exp(bound.epsilon):,.4g}. A "
                f"published value is the true one with probability {listed} one, for who expected "
                f"no more than its share."
            )
        if self.groups.get(name, "random") == "random":
            what = "combination of values" if name not in self.groups else "value"
            return (
                f"Promised for {name} (random groups): a published {what} of share p is believed "
                f"with probability 1/ell + (1 - 1/ell) p: {listed} one."
            )
        pairs = zip(self.common[name], promise["published_common_values"], strict=True)
        listed = ", ".join(f"{_named(value)} at {belief:.2f}" for value, belief in pairs)
        ruled_out = promise["published_value_common_ones_ruled_out"]
        return (
            f"Promised for {name} (common values): {listed}, other published values at "
            f"{promise['published_value']:.2f}; by someone who knows that the person has no common "
            f"value, at {ruled_out['average']:.2f} on average and up to {ruled_out['most']:.2f}."
        )

    def verdict(self) -> str:
        """Whether the claims hold, in one sentence."""
        tested = sum(finding.p_value is not None for finding in self.findings)
        if self.passed:
            return (
                f"All {tested} claims that were tested hold: the release is what it promises to "
                f"be. How exposed people are is a decision of its own."
            )
        named = "; ".join(f"{f.adversary}, {f.attack}" for f in self.exceeded)
        return (
            f"{len(self.exceeded)} of {tested} tested claims do NOT hold: {named}. Do not "
            f"publish, or withdraw what was published, until it is explained."
        )

    def conclusions(self) -> list[str]:
        """The verdict, what was left out, who may see this."""
        alarm = f" All tests together raise a false alarm with probability {FALSE_ALARM:g} at most."
        return [self.verdict() + alarm, *self._left_out(), _CONFIDENTIAL]

    def sentences(self) -> list[str]:
        """How exposed people are, what was attacked, the verdict, who may see this."""
        return [*self.headline(), self.attacked(), *self.promised(), *self.conclusions()]

    def _left_out(self) -> list[str]:
        """What was not attacked, or not with all rows."""
        reasons: dict[str, dict[str, None]] = {}
        samples: dict[str, dict[str, None]] = {}
        for f in self.findings:
            if f.verdict == NOT_RUN:
                reason = f"{number_text(f.measured)} {f.unit}, {f.note}"
                reasons.setdefault(reason, {})[f"{f.whose}, {f.attack}"] = None
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
                f.whose,
                f.attack, f.knows, f.claimed, f.measured_text, f.verdict,
            )
            for f in self.findings
        ]  # fmt: skip
        return names, rows

    def by_adversary(self) -> list[tuple[str, list[tuple[str, ...]]]]:
        """The findings under headings: the adversary and what he knows."""
        headed: dict[str, list[tuple[str, ...]]] = {}
        for f in self.findings:
            name = f"{f.adversary} ({f.column})" if f.column else f.adversary
            row = (f.attack, f.claimed, f.measured_text, f.verdict)
            knows = "" if f.knows == NOTHING else f" Knows: {f.knows}."
            headed.setdefault(f"{name}.{knows}", []).append(row)
        return list(headed.items())

    def as_dict(self) -> dict[str, Any]:
        """Everything but the charts, for JSON."""
        return {
            "rows": self.rows,
            "linked": self.linked,
            **({"cases": dict(self.cases)} if self.cases else {}),
            "ell": dict(self.ell),
            "groups": dict(self.groups),
            "common": {
                name: [None if value is None else value_text(value) for value in values]
                for name, values in self.common.items()
            },
            "together": [list(names) for names in self.together],
            "odds": {name: asdict(bound) for name, bound in self.odds.items()},
            "promised_beliefs": {name: dict(promise) for name, promise in self.promises.items()},
            "planned": self.planned,
            **({"releases": self.releases} if self.releases > 1 else {}),
            "false_alarm_rate": FALSE_ALARM,
            "exposure": {
                name: None if exposure is None else exposure.as_dict()
                for name, exposure in self.exposure.items()
            },
            "counts_of_1_percent": {
                name: {"mean_relative_error": column.error, "counts": column.counts}
                for name, column in self.measured.items()
            },
            "passed": self.passed,
            "findings": [asdict(finding) for finding in self.findings],
        }

    def to_html(self) -> str:
        """A page: a summary on one sheet, exposure, then the claims with tables and charts."""
        title = f"Audit: {self.about.title}" if self.about.title else "Audit of a release"
        return page(
            title,
            sections_of(self),
            kind="Audit · for the publisher alone",
            warning=_NOT_PUBLIC,
            board=self._board(),
        )

    def _board(self) -> Board:
        kind = "a planned release (a trial of it was attacked)" if self.planned else "a release"
        kind = f"a series of {self.releases} releases" if self.releases > 1 else kind
        protected = ", ".join(
            f"{name} (ell = {ell}" + (f", {self.method(name)})" if self._special(name) else ")")
            for name, ell in self.ell.items()
        )
        sets = [f"published together: {', '.join(names)}" for names in self.together]
        leaves = "; ".join(
            [
                f"{self.rows:,} rows in random order",
                f"protected: {protected}",
                *sets,
                other_columns(self.codebook),
            ]
        )
        facts = [
            ("Audit of", kind),
            ("Date", self.about.published),
            ("Contact", self.about.contact),
            ("What leaves", leaves),
            ("For whom", "everybody who gets the release: what is in it cannot be called back"),
        ]
        return Board(
            [(word, what) for word, what in facts if what],
            figures_shown(self),
            self.verdict(),
            [*self.promised(), *points_left(self), *self._left_out()],
            self.codebook,
            mark_of(self),
        )

    def _special(self, name: str) -> bool:
        random = self.groups.get(name, "random") == "random"
        return random or name in self.odds or bool(self.common.get(name))

    def _parts(self) -> list[Part]:
        first = [*self.headline(), self.attacked(), *self.promised()]
        return [*first, self.table(), *self.conclusions()]

    def __str__(self) -> str:
        return text_of(self._parts(), width=150)

    def __repr__(self) -> str:
        held = "every tested claim holds" if self.passed else "claims do NOT hold"
        return f"Audit({self.rows:,} rows, {len(self.findings):,} findings, {held})"

    def _repr_html_(self) -> str:
        return html_of(self._parts())


def _named(value: object) -> str:
    return "the missing value" if value is None else repr(value)
