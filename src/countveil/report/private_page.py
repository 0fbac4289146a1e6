"""The private page about a release, for its publisher: the truth beside what was published.

Enters: true and published counts, measured answers, seconds. Leaves: a page that must never be
published. Must not know: engines, how anything was measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.release import About
from countveil.report.board import Board, CodebookEntry, codebook_table, other_columns
from countveil.report.chart import Axis, Chart, Line
from countveil.report.exposure import (
    MeasuredExposure,
    exposure_points,
    exposure_sections,
    figures_of,
    most_exposed_first,
    not_measured,
)
from countveil.report.page import Section, page
from countveil.report.release_page import published_text

Floats = NDArray[np.float64]

_KIND = "Private report · for the publisher alone"
_WARNING = (
    "For the publisher only, because it shows true counts. Never publish this page, and keep it "
    "apart from the release."
)
_TRIAL = (
    "This was a dry run: nothing was published. The published counts and the errors below are "
    "those of one draw, which was deleted; a release draws anew."
)
_VERDICT = (
    "Measured in this release. Whether its claims hold, an audit of it tests, with the options of "
    "this publication."
)
_CASES = (
    "Persons have several rows. All rows of a person with the same value are one case, and publish "
    "alike: counts of values are those of cases here; errors by size are of counts of rows. "
    "Exposure is measured for one row of each person."
)
_KEPT, _WHY = "Kept on purpose, and why", "In the publisher's words, which no release has."
_SHARE = 0.01
# A value that is not common, in the place of one.
_ANY = object()
_EDGES = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 20_000, 50_000, 100_000)
_OFF, _LISTED, _DOTS = 0.3, 400, 1_500
_MEASURED = (
    "Random predicates over the other columns (people who agree with a random row in one to three "
    "columns), each combined with every value of {name}: {cells:,} counts of {predicates:,} "
    "predicates, answered from this release by the default method and compared with the truth. The "
    "error is |estimate - truth| / truth; 'covered': true counts inside their 95% intervals."
)
_NOT_MEASURED = (
    "Not measured: no other column can be used for predicates (there is none, all have very many "
    "values, or the table is too large to keep in memory beside its release)."
)


@dataclass(frozen=True, slots=True)
class MeasuredAnswers:
    """Answers to random predicates: true counts, estimates and intervals, all of one shape."""

    true: Floats
    estimate: Floats
    low: Floats
    high: Floats
    predicates: int

    def error_near(self, share: float, rows: int) -> tuple[float, int]:
        """The mean relative error of counts of half to twice this share; how many there are."""
        near = (self.true >= share * rows / 2) & (self.true <= 2 * share * rows) & (self.true > 0)
        if not near.any():
            return math.nan, 0
        true = self.true[near]
        return float((np.abs(self.estimate[near] - true) / true).mean()), int(near.sum())


@dataclass(frozen=True, slots=True)
class PrivateColumn:
    """A protected column as the publisher knows it; `counts` are pairs of true and published.

    Columns together are one, of combinations of values of `columns`. `kept` is how likely a row
    publishes its true value, for common values. `noise` is gamma and the number of declared values,
    if noise came before the groups. Where persons have several rows, `counts` are of `cases`.
    """

    name: str
    ell: int
    largest_ell: int
    counts: Mapping[Any, tuple[int, int]]
    answered: MeasuredAnswers | None
    exposure: MeasuredExposure | None
    groups: str = "mixed"
    kept: Mapping[Any, float] = field(default_factory=dict)
    noise: tuple[float, int] | None = None
    columns: tuple[str, ...] = ()
    cases: int | None = None

    def units(self, rows: int) -> int:
        """What its counts add up to: rows, or cases."""
        return rows if self.cases is None else self.cases

    @property
    def unit(self) -> str:
        """The same, in a word."""
        return "rows" if self.cases is None else "cases"

    @property
    def called(self) -> str:
        """Its name and how it is protected."""
        return f"{self.name}{' together' if self.columns else ''} (ell = {self.ell})"

    def estimate(self, published: float, rows: int) -> float:
        """What the published count says of the true one: the same, but for noise."""
        if self.noise is None:
            return published
        gamma, values = self.noise
        return (published - gamma * rows / values) / (1 - gamma)

    def std_error(self, count: float, value: Any, rows: int) -> float:
        """Of the estimated count of a value that `count` of the rows have."""
        if self.noise is None:
            return math.sqrt(max(0.0, self._drawn(count, value, rows)))
        # Loaded only where there is noise.
        from countveil.maths.guarantees.odds import after_noise

        gamma, values = self.noise
        noised, variance = after_noise(count, rows, gamma, values)
        drawn = max(0.0, self._drawn(noised, value, rows))
        return math.sqrt(variance + drawn) / (1 - gamma)

    def _drawn(self, count: float, value: Any, rows: int) -> float:
        """The variance that the groups give to a published count."""
        moved = 1 - self.kept.get(value, 1 / self.ell)
        if self.groups == "random":
            moved *= 1 - count / rows
        return count * moved


def private_page(
    rows: int,
    dropped: int,
    columns: Sequence[PrivateColumn],
    seconds: Mapping[str, float],
    about: About | None = None,
    codebook: Sequence[CodebookEntry] = (),
    reasons: Mapping[str, str] | None = None,
    *,
    trial: bool = False,
) -> str:
    """The whole page; of a `trial`, nothing was published. `reasons` say why columns are kept."""
    together = {name: column.name for column in columns for name in column.columns}
    sections = []
    for column in columns:
        sections += _exposure(column, together.get(column.name, ""))
    sections.append(_eligibility(rows, dropped, columns))
    for column in columns:
        sections += [_true_counts(rows, column), _measured(column)]
    if reasons:
        sections.append(Section(_KEPT, [_WHY], ("column", "reason"), list(reasons.items())))
    total = sum(seconds.values())
    timings = [(stage, f"{taken:.3f}") for stage, taken in seconds.items()]
    said = [f"{total:.2f} seconds, up to the writing of this page."]
    sections.append(Section("Timings", said, ("stage", "seconds"), timings))
    if codebook:
        names, lines = codebook_table(codebook)
        sections.append(Section("Codebook", (), names, lines))
    named = f"a {'trial' if trial else 'release'} of {rows:,} rows"
    if about is not None and about.title:
        named = f"{about.title} (a trial)" if trial else about.title
    board = _board(rows, columns, about or About(), codebook)
    lead = _TRIAL if trial else ""
    title = f"Private report: {named}"
    return page(title, sections, kind=_KIND, warning=_WARNING, lead=lead, board=board)


def _exposure(column: PrivateColumn, together: str) -> list[Section]:
    """Exposure; for a column of a set, with a word about the set."""
    first, *rest = exposure_sections(column.name, column.exposure)
    if not together:
        return [first, *rest]
    more = (
        f"This is from the published {column.name} alone. What else a row publishes of {together} "
        f"comes from the same other row, and tells more where the columns are associated: the "
        f"exposure of {together} has it."
    )
    return [replace(first, after=[*first.after, more]), *rest]


def _board(
    rows: int,
    columns: Sequence[PrivateColumn],
    about: About,
    codebook: Sequence[CodebookEntry],
) -> Board:
    joined = {name for column in columns for name in column.columns}
    protected = ", ".join(column.called for column in columns if column.name not in joined)
    facts = [
        ("Published", about.published),
        ("Contact", about.contact),
        (
            "What leaves",
            f"{rows:,} rows; protected: {protected}; {other_columns(codebook)}",
        ),
        ("For whom", "everybody who gets the release: what is in it cannot be called back"),
    ]
    figures, points = [], []
    by_name = {column.name: column for column in columns}
    exposures = {c.name: None if c.exposure is None else c.exposure.found for c in columns}
    for column in map(by_name.__getitem__, most_exposed_first(exposures)):
        error, counts = (math.nan, 0)
        if column.answered is not None:
            error, counts = column.answered.error_near(_SHARE, rows)
        exposure = exposures[column.name]
        figures += figures_of(column.name, exposure, error if counts else None, counts)
        points += (
            [not_measured(column.name)]
            if exposure is None
            else exposure_points(column.name, exposure)
        )
    return Board(
        [(word, what) for word, what in facts if what], figures, _VERDICT, points, codebook
    )


def _eligibility(rows: int, dropped: int, columns: Sequence[PrivateColumn]) -> Section:
    table: list[tuple[Any, ...]] = []
    special = [_any_share(column) for column in columns]
    for column in columns:
        value, (count, _) = max(column.counts.items(), key=lambda item: item[1][0])
        units = column.units(rows)
        groups = units // column.ell
        table.append(
            (column.name, column.ell, column.largest_ell, groups, published_text(value), count,
             f"{count / units:.2%}", None if _any_share(column) else groups - count)
        )  # fmt: skip
    lost = f" {dropped:,} rows were dropped so that a multiple of ell is left." if dropped else ""
    return Section(
        "Eligibility",
        [
            f"No value may have more {columns[0].unit} than there are groups.{lost}",
            *([_CASES] if columns[0].cases is not None else []),
            *filter(None, special),
        ],
        ("column", "ell", "largest ell", "groups", "most frequent value",
         f"its {columns[0].unit}", "its share", "room left"),
        table,
    )  # fmt: skip


def _any_share(column: PrivateColumn) -> str:
    """Why a value of the column may have more rows than there are groups."""
    if column.noise is not None and column.groups == "mixed" and not column.kept:
        return (
            f"In {column.name} noise came first, so this is said of the counts after it; true "
            f"counts, which are shown, may have more."
        )
    if column.groups == "random":
        return (
            f"{column.name} has random groups, which may hold a value more than once: any share is "
            f"possible. 'Largest ell' is that of groups of different values."
        )
    if column.kept:
        names = ", ".join(map(published_text, column.kept))
        return (
            f"In {column.name} common values may occur several times in a group and have any "
            f"share: {names}. 'Largest ell' is that of groups of different values."
        )
    return ""


def _true_counts(in_all: int, column: PrivateColumn) -> Section:
    rows = column.units(in_all)
    ordered = sorted(column.counts.items(), key=lambda item: -item[1][0])
    removed = sum(true > 0 and not published for true, published in column.counts.values())
    table = []
    for value, (true, published) in _ends(ordered):
        error = column.std_error(true, value, rows)
        estimate = column.estimate(published, rows)
        apart = (estimate - true) / error if error else 0.0
        shown = () if column.noise is None else (round(estimate),)
        difference = round(estimate) - true
        table.append(
            (published_text(value), true, published, *shown, difference,
             f"{(estimate - true) / max(true, 1):+.1%}", f"{apart:+.2f}")
        )  # fmt: skip
    root = (
        f"the root of f (1 - 1/ell){_nearer(column)}"
        if column.noise is None
        else "which have the noise of all rows in them"
    )
    first = (
        f"{len(ordered):,} values in {rows:,} {column.unit}. The last column has the difference in "
        f"standard errors, {root}: about two of three lie within 1."
    )
    sentences = [first]
    if len(table) < len(ordered):
        sentences.append(f"Listed are the {_LISTED // 2} most and least frequent ones.")
    if removed:
        sentences.append(f"{removed:,} values have rows but are published by none.")
    estimates = () if column.noise is None else ("estimate",)
    return Section(
        f"True and published counts: {column.name}",
        sentences,
        ("value", "true", "published", *estimates, "difference", "relative", "standard errors"),
        table,
        [_error_chart(rows, column)],
    )


def _nearer(column: PrivateColumn) -> str:
    repeats = column.groups == "random" or column.kept
    return ", less for a value that groups may hold more than once" if repeats else ""


def _ends(ordered: Sequence[Any]) -> list[Any]:
    if len(ordered) <= _LISTED:
        return list(ordered)
    return [*ordered[: _LISTED // 2], *ordered[-_LISTED // 2 :]]


def _error_chart(rows: int, column: PrivateColumn) -> Chart:
    pairs = sorted(
        (true, column.estimate(published, rows))
        for true, published in column.counts.values()
        if true > 0
    )
    step = -(-len(pairs) // _DOTS)
    shown = pairs[::step]
    top = max(10, pairs[-1][0])
    smooth = sorted({round(math.exp(math.log(top) * place / 40)) for place in range(41)})
    band = [2 * column.std_error(count, _ANY, rows) / count for count in smooth]
    shown_count = "published" if column.noise is None else "estimated"
    return Chart(
        f"How far are {shown_count} counts of {column.name} from the true ones?",
        "true count",
        f"({shown_count} - true) / true",
        [
            Line(
                "a value",
                [true for true, _ in shown],
                [(estimate - true) / true for true, estimate in shown],
                joined=False,
                hue=0,
            ),
            Line("+2 standard errors", smooth, band, hue=1, dash="dashed"),
            Line("-2 standard errors", smooth, [-b for b in band], hue=1, dash="dashed"),
        ],
        x_axis=Axis(1, top, log=True),
        y_axis=Axis(-1, 1),
    )


def _measured(column: PrivateColumn) -> Section:
    title = f"Measured error by size of count: {column.name}"
    answered = column.answered
    if answered is None:
        return Section(title, [_NOT_MEASURED])
    table, middles, errors = [], [], []
    for low, high in zip(_EDGES, (*_EDGES[1:], math.inf), strict=True):
        here = (answered.true >= low) & (answered.true < high)
        if not here.any():
            continue
        true = answered.true[here]
        error = np.abs(answered.estimate[here] - true) / true
        covered = (answered.low[here] <= true) & (true <= answered.high[here])
        size = f"{low:,} or more" if high == math.inf else f"{low:,} to {int(high) - 1:,}"
        table.append(
            (size if high != low + 1 else f"{low:,}", int(here.sum()), f"{error.mean():.1%}",
             f"{float(np.median(error)):.1%}", f"{float((error > _OFF).mean()):.1%}",
             f"{float(covered.mean()):.1%}")
        )  # fmt: skip
        middles.append(float(np.exp(np.log(true).mean())))
        errors.append(float(error.mean()))
    chart = Chart(
        f"How large is the error of a combined count of {column.name}?",
        "true count",
        "mean relative error",
        [Line("measured in this release", middles, errors)],
        f"ell = {column.ell}.",
        x_axis=Axis(1, max(10.0, *middles, 10.0), log=True) if middles else None,
    )
    cells = int((answered.true >= 1).sum())
    return Section(
        title,
        [_MEASURED.format(name=column.name, cells=cells, predicates=answered.predicates)],
        ("true count", "counts", "mean error", "median error", "off by more than 30%", "covered"),
        table,
        [chart],
    )
