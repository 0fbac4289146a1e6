"""A publisher's own questions, tried out: how far off the answers of a release would be.

    split the text -> true answers -> per ell: publish, ask, compare -> figures, an ell

Enters: SQL questions, a shaped table, methods. Leaves: `QuestionAdvice` for each question: figures
of every ell, or why it is refused. Must not know: how a question is estimated. Nothing is written.

Rows are published as ever, into memory: groups, draws and the dealing are those of a publication,
and the answers those of `Release.sql`. The truth is the same question put to the true values, with
a channel that changes nothing.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from countveil.asking.release import Release
from countveil.engines.contract import OpenedRelease
from countveil.engines.local.release_table import LocalRelease
from countveil.errors import InputError, QueryError, SettingsError
from countveil.maths.channel import ChannelView
from countveil.maths.groups import ColumnSettings, largest_ell, what_helps
from countveil.maths.mechanism import Dealer
from countveil.publishing.advise.methods import (
    COMMON,
    METHODS,
    MIXED,
    is_possible,
    repeating,
    settings_of,
)
from countveil.publishing.advise.trials import Groups
from countveil.publishing.manifest_making import make_manifest
from countveil.publishing.prepare import LocalPreparedTable
from countveil.publishing.settings import Protecting
from countveil.randomness import Randomness
from countveil.release import Manifest
from countveil.system.regular import read_regular
from countveil.tables.encoded.survey import Histogram
from countveil.tables.progress import Progress

_PARTS = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|--[^\n]*|/\*.*?\*/|;|[^'\"/;-]+|.", re.DOTALL
)
_MOST_BYTES = 1 << 20
_MOST_QUESTIONS = 200
_ELLS = (2, 3, 4, 5, 6, 8, 10, 12, 15, 20, 30, 50, 100)
_RELEASES = 10
# Random groups, and those with common values, have no largest ell.
_MOST_ELL = 10
# More rows are not looked at: the errors of a larger table are smaller, by the root of the rows.
MOST_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class QuestionFigures:
    """One question at one ell, over all rows of its answer and all trial releases.

    Attributes:
        ell: The ell.
        error: The mean relative error of the answers whose truth is not 0.
        coverage: How often the 95% interval holds the truth.
        reliable: How many answers were `reliable`, on average.
        indicative: How many answers were `indicative`, on average.
        hidden: How many answers were `hidden`, on average.
    """

    ell: int
    error: float | None
    coverage: float | None
    reliable: float
    indicative: float
    hidden: float


@dataclass(frozen=True, slots=True)
class QuestionAdvice:
    """One question: figures per ell, or why it is refused.

    Attributes:
        question: The question, in SQL.
        answers: How many rows its answer has.
        figures: The figures for every ell.
        refused: Why it cannot be answered; None if it can.
        recommended: The ell that is recommended for it.
        reason: Why this one.
    """

    question: str
    answers: int = 0
    figures: Sequence[QuestionFigures] = ()
    refused: str | None = None
    recommended: int | None = None
    reason: str = ""


def read_questions(given: Sequence[str] | str | os.PathLike[str]) -> tuple[str, ...]:
    """Questions from a list, from text with semicolons, or from a file with such text."""
    texts = [given] if isinstance(given, str | os.PathLike) else list(given)
    questions: tuple[str, ...] = ()
    for each in texts:
        text = os.fspath(each)
        listed = not isinstance(given, str | os.PathLike)
        is_sql = listed or re.match(r"\s*(--|/\*|select\b)", text, re.IGNORECASE) is not None
        questions += split_questions(text if is_sql else _file_text(Path(text)))
    if not questions:
        raise SettingsError(
            "There is no question: write SELECT statements with semicolons between them."
        )
    if len(questions) > _MOST_QUESTIONS:
        raise SettingsError(
            f"There are {len(questions):,} questions; at most {_MOST_QUESTIONS} are tried out."
        )
    return questions


def split_questions(text: str) -> tuple[str, ...]:
    """The statements of a text, without comments; a semicolon inside quotes separates nothing."""
    statements, current = [], ""
    for part in _PARTS.findall(text):
        if part == ";":
            statements.append(current)
            current = ""
        else:
            current += " " if part.startswith(("--", "/*")) else part
    return tuple(s.strip() for s in [*statements, current] if s.strip())


def _file_text(path: Path) -> str:
    try:
        return read_regular(path, _MOST_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text.") from None
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "its name is not valid"
        raise InputError(f"The questions in {path} cannot be read: {why}.") from error


def advise_on_questions(
    prepared: LocalPreparedTable,
    questions: Sequence[str],
    randomness: Randomness,
    progress: Progress,
    within: float = 0.10,
    methods: Sequence[str] = METHODS,
) -> list[QuestionAdvice]:
    """Publish with every ell, some times each, and compare the answers with the truth.

    Each column is published by the first of the `methods` that is possible.
    """
    trials = _Trials(prepared, randomness, methods)
    if trials.unprotectable is not None:
        return [QuestionAdvice(question, refused=trials.unprotectable) for question in questions]
    truths: dict[str, dict[tuple[Any, ...], list[float]]] = {}
    refused: dict[str, str] = {}
    whole = trials.true_release()
    for question in questions:
        try:
            truths[question] = _numbers(whole, question)
        except QueryError as error:
            refused[question] = str(error)
    figures: dict[str, list[QuestionFigures]] = {question: [] for question in truths}
    for number, ell in enumerate(trials.ells, 1):
        progress(f"your questions: trying ell = {ell} ({number} of {len(trials.ells)})", 0, 0)
        seen: dict[str, _Outcome] = {question: _Outcome() for question in truths}
        for release in trials.releases(ell):
            for question, truth in truths.items():
                seen[question].add(release, question, truth)
        for question, outcome in seen.items():
            figures[question].append(outcome.figures(ell))
    return [
        _recommended(
            QuestionAdvice(question, len(truths[question]), tuple(figures[question])), within
        )
        if question in truths
        else QuestionAdvice(question, refused=refused[question])
        for question in questions
    ]


def _recommended(advice: QuestionAdvice, within: float) -> QuestionAdvice:
    """The largest ell whose error is small enough, and whose answers are mostly not hidden."""
    good = [
        line
        for line in advice.figures
        if line.error is not None
        and line.error <= within
        and line.hidden <= (line.reliable + line.indicative + line.hidden) / 2
    ]
    if good:
        chosen = good[-1]
        reason = f"ell = {chosen.ell} is the largest whose answers are off by {within:.0%} or less"
        return replace(advice, recommended=chosen.ell, reason=f"{reason} ({chosen.error:.1%}).")
    first = advice.figures[0] if advice.figures else None
    if first is None or first.error is None:
        return replace(advice, reason="Its true answers are all 0, so there is no relative error.")
    return replace(
        advice,
        reason=f"No ell gets within {within:.0%}: already with ell = {first.ell} the answers are "
        f"off by {first.error:.0%} on average. Ask about larger groups.",
    )


def _numbers(release: Release, question: str) -> dict[tuple[Any, ...], list[float]]:
    """The true number of every measure, by group."""
    answer = release.sql(question, method="unbiased")
    cells = zip(*(block.estimates for block in answer.blocks), strict=True)
    return {
        tuple(group): [np.nan if cell.estimate is None else cell.estimate for cell in measures]
        for group, measures in zip(answer.groups, cells, strict=True)
    }


@dataclass
class _Outcome:
    """What the answers to one question had in common with the truth."""

    errors: list[float] = field(default_factory=list)
    covered: list[bool] = field(default_factory=list)
    verdicts: Counter[str | None] = field(default_factory=Counter)
    releases: int = 0

    def add(
        self, release: Release, question: str, truth: Mapping[tuple[Any, ...], Sequence[float]]
    ) -> None:
        answer = release.sql(question)
        self.releases += 1
        cells = zip(*(block.estimates for block in answer.blocks), strict=True)
        for group, measures in zip(answer.groups, cells, strict=True):
            for cell, true in zip(measures, truth.get(tuple(group), ()), strict=False):
                if not np.isfinite(true):
                    continue
                self.verdicts[cell.verdict] += 1
                low = -np.inf if cell.low is None else cell.low
                high = np.inf if cell.high is None else cell.high
                slack = 1e-9 * max(1.0, abs(true))
                self.covered.append(bool(low - slack <= true <= high + slack))
                if cell.estimate is not None and abs(true) > slack:
                    self.errors.append(abs(cell.estimate - true) / abs(true))

    def figures(self, ell: int) -> QuestionFigures:
        number = max(self.releases, 1)
        return QuestionFigures(
            ell,
            float(np.mean(self.errors)) if self.errors else None,
            float(np.mean(self.covered)) if self.covered else None,
            *(self.verdicts[word] / number for word in ("reliable", "indicative", "hidden")),
        )


class _Trials:
    """The table as it would be published, with one ell after the other."""

    def __init__(
        self, prepared: LocalPreparedTable, randomness: Randomness, methods: Sequence[str]
    ) -> None:
        self._prepared, self._randomness = prepared, randomness
        source = prepared.source
        step = max(1, -(-source.facts.rows // MOST_ROWS))
        self._histograms: dict[str, Histogram] = {}
        self._codes: dict[str, NDArray[np.int64]] = {}
        self._plain: dict[str, pa.Array[Any]] = {}
        for column in prepared.roles.published:
            histogram, codes = source.histogram(column.name), source.codes(column.name)[::step]
            if column.name in prepared.roles.sensitive:
                counts = np.bincount(codes, minlength=histogram.counts.size)
                self._histograms[column.name] = Histogram(histogram.values, counts)
                self._codes[column.name] = codes
            else:
                self._plain[column.name] = pa.array(list(histogram.values)).take(pa.array(codes))
        self.rows = int(next(iter(self._codes.values())).size)
        self._methods: dict[str, str | None] = {
            name: next((m for m in methods if is_possible(m, histogram.counts, 2)), None)
            for name, histogram in self._histograms.items()
        }

    @property
    def unprotectable(self) -> str | None:
        """Why nothing can be published: a column for which no method is possible."""
        for name, method in self._methods.items():
            if method is None:
                helps = what_helps(self._histograms[name].counts)
                return f"Column {name!r} cannot be protected. {helps}"
        return None

    @property
    def ells(self) -> list[int]:
        """The ells that are tried: up to the largest that a column allows."""
        largest = max(self._largest(name) for name in self._histograms)
        return sorted({ell for ell in (*_ELLS, largest) if 2 <= ell <= largest})

    def _largest(self, name: str) -> int:
        if self._methods[name] == MIXED:
            return largest_ell(self._histograms[name].counts)
        return max(2, min(_MOST_ELL, self.rows // 2))

    def true_release(self) -> Release:
        """The true values, asked as if they were a release."""
        return _TrueRelease.of(self._manifest({}, self._codes), self._table(self._codes))

    def releases(self, ell: int) -> Sequence[Release]:
        """Independent releases with this ell, or the largest that a column allows."""
        stream = self._randomness.stream
        groups = {}
        for name, histogram in self._histograms.items():
            settings = self._settings(name, ell)
            method = COMMON if settings.common_auto else ""
            common = repeating(method, histogram.counts, settings.ell)
            chances = stream("question groups", name, str(ell))
            groups[name] = Groups.of(histogram.counts, settings, common, chances)
        made = []
        for number in range(_RELEASES):
            published = {}
            for name, codes in self._codes.items():
                chances = stream("question", name, str(ell), str(number))
                drawn = groups[name].draw(chances)
                published[name] = Dealer(drawn, chances).deal(codes)
            manifest = self._manifest(groups, published)
            made.append(Release.over("a trial", OpenedRelease(manifest, self._opener(published))))
        return made

    def _settings(self, name: str, ell: int) -> ColumnSettings:
        return settings_of(self._methods[name] or MIXED, min(ell, max(2, self._largest(name))))

    def _manifest(
        self, groups: Mapping[str, Groups], codes: Mapping[str, NDArray[np.integer]]
    ) -> Manifest:
        published = {
            name: {
                histogram.values[place]: int(count)
                for place, count in enumerate(np.bincount(codes[name]))
                if count
            }
            for name, histogram in self._histograms.items()
        }
        settings = {
            name: groups[name].settings if name in groups else ColumnSettings(2)
            for name in self._histograms
        }
        common = {
            name: tuple(self._histograms[name].values[place] for place in each.common)
            for name, each in groups.items()
            if each.common
        }
        return make_manifest(
            self.rows, self._prepared, Protecting(settings), published, common=common, seeded=True
        )

    def _table(self, codes: Mapping[str, NDArray[np.integer]]) -> pa.Table:
        columns = {}
        for column in self._prepared.roles.published:
            if column.name in self._plain:
                columns[column.name] = self._plain[column.name]
            else:
                values = pa.array(list(self._histograms[column.name].values))
                columns[column.name] = values.take(pa.array(codes[column.name]))
        return pa.table(columns)

    def _opener(self, codes: Mapping[str, NDArray[np.integer]]) -> Any:
        table = self._table(codes)
        return lambda: _opened(table)


def _opened(table: pa.Table) -> LocalRelease:
    return LocalRelease(Path(), [], table.column_names, rows=[table])


class _TrueRelease(Release):
    """True values behind the questions of a release: nothing was changed, so nothing is undone."""

    @classmethod
    def of(cls, manifest: Manifest, table: pa.Table) -> Release:
        return cls.over("the table", OpenedRelease(manifest, lambda: _opened(table)))

    def view_of(self, name: str, published: NDArray[np.int64]) -> ChannelView:  # noqa: ARG002
        return ChannelView(self.rows, 1.0, published.astype(np.float64), None, two_state_holds=True)
