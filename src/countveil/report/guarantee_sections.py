"""What ell promises for a release of this size: curves and tables.

Enters: protected columns with ell, rows and published counts. Leaves: sections of a page. Must not
know: true counts, the source.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from countveil.errors import SettingsError
from countveil.maths.guarantees import average_belief, chance_off
from countveil.maths.guarantees.binomial import smallest_count
from countveil.maths.guarantees.predicate_guarantee import PredicateGuarantee
from countveil.report.board import Figure
from countveil.report.chart import Axis, Chart, Line
from countveil.report.page import Section

_ERRORS = (0.1, 0.3, 0.5)
_SIZES = (0.01, 0.1, 0.5)
_COUNTS = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13, 14, 17, 20, 30, 50, 70, 100, 150, 200, 300, 500,
           1_000, 10_000)  # fmt: skip
TABLE_COUNTS = (1, 2, 5, 10, 20, 50, 100, 1_000, 10_000)
_PLACES = 40
_WHOLE_TABLE = (
    "How many rows of the whole table have a value is published nearly as it is, for rare values "
    "too: if f rows have it, the published count is f on average, with a standard error of the "
    "root of f (1 - 1/ell). The table has the exact probability that it is off by more than 30%. "
    "It is about the published count; a guess that hedges between neighbouring counts is off "
    "somewhat less often."
)
_COMBINED = (
    "carries the noise of all rows that meet the conditions. Here for a {what} as frequent as "
    "{values}, among the rows that meet conditions of three sizes. The standard error is that of "
    "the unbiased estimate; the default one is nearer to the truth for small counts."
)
_VERDICTS = (
    "Hidden: the standard error is more than half of the count. Reliable: it is 10% or less; "
    "in between an answer is indicative. 'At most': how many of these rows can have the value."
)


# A value that is not common, in the place of one.
ANY_VALUE = object()
# The share and the number of the rows that meet a condition, and what holds among them.
_Answer = tuple[float, int, PredicateGuarantee]


@dataclass(frozen=True)
class Protected:
    """A protected column of a release, whose groups hold different values.

    `repeating.RepeatingColumn` is one whose groups may hold a value more than once.
    """

    name: str
    ell: int
    rows: int
    published: Mapping[Any, int]

    @property
    def called(self) -> str:
        """Its name and how it is protected."""
        return f"{self.name} (ell = {self.ell})"

    @property
    def any_share(self) -> bool:
        """Whether every value may have any share of the rows."""
        return False

    @property
    def notes(self) -> Sequence[str]:
        """What has to be said of this column by itself, on the first page."""
        return ()

    @property
    def whole_table_note(self) -> str:
        """How its counts over the whole table differ from those of groups of different values.

        `{names}` stands for the columns of which it is said.
        """
        return ""

    @property
    def what(self) -> str:
        """What it holds: values, or combinations of them."""
        return "value"

    def label(self, value: Any) -> str:
        """A value of it, in a sentence."""
        return "the missing value" if value is None else f"{value!r}"

    @property
    def options(self) -> Mapping[str, object]:
        """What `countveil guarantee` has to be told of it."""
        return {}

    def keeps(self, value: Any) -> float:
        """How likely a row with this value publishes it."""
        del value
        return 1 / self.ell

    def estimate(self, published: float) -> float:
        """How many rows had a value that so many publish: as many, on average."""
        return published

    def whole_table(self) -> Section | None:
        """A section of its own about counts over the whole table; None if it needs none."""
        return None

    def figures(self, unit: str = "rows") -> list[Figure]:
        """The figures that matter, for the first page; `unit` is what is counted."""
        average, reached = self.beliefs()
        among, whole = error_of_one_percent(self)
        return [
            Figure(
                f"Average belief in a person's true {self.name}",
                f"about {average:.2f}",
                "of somebody who knows the row and nothing but the published shares of values",
                "average",
                average,
            ),
            Figure(
                f"Most exposed 1% of the people, {self.name}",
                f"about {reached:.2f}",
                f"for the same reader: {self.reached_by()}; who can guess the value from other "
                f"columns believes more",
                "exposed",
                reached,
            ),
            Figure(
                f"Error of counts of 1% of the {unit}, {self.name}",
                f"{whole if among is None else among:.1%}",
                f"standard error{'' if among is None else f' among a tenth of the {unit}'}; over "
                f"the whole table {whole:.1%}",
                "error",
                whole if among is None else among,
            ),
        ]

    def std_error(self, count: float, value: Any = ANY_VALUE) -> float:
        """The standard error of the published count of a value that `count` rows have."""
        del value
        return math.sqrt(count * (1 - 1 / self.ell))

    def beliefs(self) -> tuple[float, float]:
        """In a person's true value, of somebody who knows the row and the published shares.

        On average over the people, and what 1 in 100 of them reach.
        """
        return average_belief(self.published.values(), self.ell), 1 / self.ell

    def reached_by(self) -> str:
        """Who reaches the second of the beliefs."""
        return f"1/ell, for one in {self.ell}"

    def combined(self, size: int, value: Any, count: int) -> PredicateGuarantee | None:
        """What holds for a value that `count` rows publish, among `size` rows."""
        del value
        return guarantee_of(self.ell, self.rows, size, count / self.rows)

    @property
    def median(self) -> tuple[Any, int]:
        """The value in the middle, by published count."""
        ordered = sorted(self.published.items(), key=lambda item: item[1])
        return ordered[len(ordered) // 2]

    @property
    def examples(self) -> Sequence[tuple[Any, int]]:
        """The values for which the error of combined counts is shown."""
        return [self.median]


def guarantee_of(
    ell: int,
    rows: int,
    size: int,
    share: float,
    groups: str = "mixed",
    keep: float | None = None,
    noise: tuple[float, int] | None = None,
) -> PredicateGuarantee | None:
    """None if the table is too small, or the value cannot be separated from the others."""
    try:
        return PredicateGuarantee(ell, rows, size, share, groups, keep, noise)
    except SettingsError:
        return None


def guarantee_sections(
    columns: Sequence[Protected], joined: Sequence[Protected] = ()
) -> list[Section]:
    """Counts of a value over the whole table; then those that combine columns.

    `joined` are columns that were published together, each set as one.
    """
    special = {column.name: column.whole_table() for column in columns}
    usual = [column for column in columns if special[column.name] is None]
    return [
        *([_whole_table(usual)] if usual else []),
        *filter(None, special.values()),
        *map(_combined, [*joined, *columns]),
    ]


def error_of_one_percent(column: Protected) -> tuple[float | None, float]:
    """The relative standard error of a count of 1% of the rows, from public settings alone.

    First among the rows of a condition that a tenth of them meets, for the median value; None
    where there is no such count. Then over the whole table.
    """
    count = max(1, round(column.rows / 100))
    answer = column.combined(max(1, round(column.rows / 10)), *column.median)
    among = None if answer is None or count > answer.most else answer.std_error(count) / count
    return among, column.std_error(count) / count


def _whole_table(columns: Sequence[Protected]) -> Section:
    ells = sorted({column.ell for column in columns})
    charts = [
        Chart(
            f"How likely is a published count far off, with ell = {ell}?",
            "rows that truly have the value",
            "probability",
            [
                Line(
                    f"off by more than {error:.0%}",
                    _COUNTS,
                    _chances_off(ell, error),
                )
                for error in _ERRORS
            ],
            "The lines go up and down because counts are whole numbers.",
            f"How likely the published count of a value over the whole table is off by more than "
            f"10%, 30% or 50%, by the number of rows that truly have it. Of 5 rows it is off by "
            f"more than 30% with probability {chance_off(5, ell, 0.3):.2f}, of 100 rows with "
            f"probability {chance_off(100, ell, 0.3):.2g}.",
            Axis(1, _COUNTS[-1], log=True),
            Axis(0, 1),
        )
        for ell in ells
    ]
    table = [
        (count, *(chance_text(chance_off(count, ell, 0.3)) for ell in ells))
        for count in TABLE_COUNTS
        if count <= columns[0].rows
    ]
    reached = [
        f"With ell = {ell} it is, with probability 95%, within 30% from {_count_for(ell, 0.3)} "
        f"rows on and within 10% from {_count_for(ell, 0.1)} rows on."
        for ell in ells
    ]
    notes: dict[str, list[str]] = {}
    for column in columns:
        notes.setdefault(column.whole_table_note, []).append(column.name)
    special = [note.format(names=" and ".join(names)) for note, names in notes.items() if note]
    return Section(
        "How near to the truth: counts over the whole table",
        [_WHOLE_TABLE, " ".join(reached), *special],
        ("rows with the value", *(f"off by more than 30%, ell = {ell}" for ell in ells)),
        table,
        charts,
    )


# Every release with the same ell has the same lines.
@functools.lru_cache(maxsize=64)
def _chances_off(ell: int, error: float) -> tuple[float, ...]:
    return tuple(chance_off(count, ell, error) for count in _COUNTS)


@functools.lru_cache(maxsize=64)
def _count_for(ell: int, error: float) -> str:
    return f"{smallest_count(ell, error, 0.05):,}"


def chance_text(chance: float) -> str:
    """A probability, never rounded to none."""
    return f"{chance:.1%}" if chance >= 0.0005 else "<0.1%"


def _combined(column: Protected) -> Section:
    """Counts of a value among the rows of a condition over other columns."""
    title = f"How near to the truth: {column.name} combined with other columns"
    examples = {
        value: (count, answers)
        for value, count in column.examples
        if (answers := _answers(column, value, count))
    }
    if not examples:
        return Section(title, ["The table is too small, or the values too few, for such counts."])
    several, what = len(examples) > 1, column.what
    said = [
        f"{column.label(value)}, which {count:,} rows publish"
        for value, (count, _) in examples.items()
    ]
    table = [
        (*([column.label(value)] if several else []), *row)
        for value, (_, answers) in examples.items()
        for row in _sizes(answers)
    ]
    return Section(
        title,
        [
            f"A count that combines a {what} of {column.name} with conditions on other columns "
            + _COMBINED.format(what=what, values=", and as ".join(said))
        ],
        (
            *(["as frequent as"] if several else []), "rows that meet the conditions", "rows",
            "hidden up to", "reliable from", "at most",
        ),
        table,
        [
            _error_chart(column, answers, value, several=several)
            for value, (_, answers) in examples.items()
        ],
        after=[_VERDICTS],
    )  # fmt: skip


def _answers(column: Protected, value: Any, count: int) -> list[_Answer]:
    """What holds for a value that `count` rows publish, among conditions of several sizes."""
    return [
        (share, size, answer)
        for share in _SIZES
        if (size := round(column.rows * share)) >= 1
        and (answer := column.combined(size, value, count)) is not None
    ]


def _sizes(answers: Sequence[_Answer]) -> list[tuple[Any, ...]]:
    """From which count on an answer can be used, a line for each size of a condition."""
    table = []
    for share, size, answer in answers:
        sure = answer.reliable_from()
        table.append(
            (
                f"{share:.0%} of the table",
                size,
                answer.hidden_below() - 1,
                "none" if sure is None or sure > answer.most else f"{sure:,}",
                answer.most,
            )
        )
    return table


def _error_chart(
    column: Protected, answers: Sequence[_Answer], value: Any, *, several: bool
) -> Chart:
    lines = [
        error_line(f"among {size:,} rows ({share:.0%})", answer.most, answer.std_error)
        for share, size, answer in answers
    ]
    most = max(line.x[-1] for line in lines)
    lines.append(
        error_line("over the whole table", most, lambda count: column.std_error(count, value))
    )
    which = f", as frequent as {column.label(value)}," if several else ""
    return Chart(
        f"From which count on can an answer about {column.name}{which} be used?",
        "true count",
        "standard error / count",
        lines,
        f"For {column.rows:,} rows, ell = {column.ell}. Below 0.1 an answer is reliable, above 0.5 "
        f"hidden.",
        x_axis=Axis(1, max(10, most), log=True),
        y_axis=Axis(0.01, 10, log=True),
    )


def error_line(name: str, most: float, error: Callable[[float], float]) -> Line:
    """The error of counts up to `most`, relative to the count."""
    top = math.log(max(2, most))
    counts = sorted({round(math.exp(top * step / _PLACES)) for step in range(_PLACES + 1)})
    return Line(name, counts, [error(count) / count for count in counts])
