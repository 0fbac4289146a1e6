"""Which method and which ell for a table: tried out on the table itself.

    read -> histogram, some rows -> predicates -> per method and ell: try out, figures -> recommend

Enters: a table, the columns to protect, goals. Leaves: an `Advice`. Must not know: how an engine
reads, how groups are formed. Nothing is written.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from countveil.errors import SettingsError
from countveil.maths.groups import ColumnSettings, largest_ell
from countveil.maths.guarantees.odds import OddsCost, cost_of
from countveil.publishing.advise.advice import Advice, ColumnAdvice
from countveil.publishing.advise.choice import about_waste, choose, per_method
from countveil.publishing.advise.figures import SHARES, figures_of
from countveil.publishing.advise.methods import (
    BOUNDED,
    METHODS,
    MIXED,
    RANDOM,
    Bound,
    MethodFigures,
    compared,
    groups_of,
    repeating,
    settings_of,
    tried_ells,
)
from countveil.publishing.advise.pairs.columns import Together, checked_sets, compare_pairs
from countveil.publishing.advise.pairs.compare import PairAdvice
from countveil.publishing.advise.predicates import askable, find_predicates
from countveil.publishing.advise.recommend import Goal, Recommendation, usual_goal
from countveil.publishing.advise.remedies import (
    about_frequent_values,
    about_rare_values,
    why_impossible,
    why_not_larger,
)
from countveil.publishing.advise.trials import Task, Trial, try_out
from countveil.publishing.persons import TriedCases, check_advised
from countveil.publishing.prepare import (
    LocalPreparedTable,
    check_number_of_values,
    concerns_of,
    open_table,
    shape,
    value_namer,
)
from countveil.publishing.safety import to_leave_out
from countveil.randomness import Randomness
from countveil.release.values import BOOLEAN, TEXT, kind_of
from countveil.tables import Reading, Shaping
from countveil.tables.encoded.survey import CodedColumn, Histogram
from countveil.tables.progress import Progress

if TYPE_CHECKING:
    from countveil.publishing.advise.questions import QuestionAdvice

# The name of a column, and what was measured of a method and ell.
Measured = Callable[[str, MethodFigures], None]
_MOST_ROWS = 200_000
# Every ell to 20 is tried, then some of these and the largest: neighbours differ little there. Of
# columns with many values, whose groups take seconds to form, only these are.
_EVERY, _SOME = 20, (2, 3, 5, 8, 10, 15, 20, 25, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1_000)
# Values times predicates that are estimated at once, so that many values do not take long.
_CELLS, _PREDICATES, _LEAST_PREDICATES = 12_000, 240, 80
# A release of many values takes long to undo, however few the predicates; so there are fewer.
_MANY_VALUES, _VERY_MANY_VALUES = 150, 300
_RELEASES, _FEWER_RELEASES = 4, 1
_MORE, _FEWER_MORE = 5, 2


def run_advise(
    table: object,
    sensitive: Sequence[str],
    *,
    reading: Reading | None = None,
    shaping: Shaping | None = None,
    goal: Goal | None = None,
    seed: int | None = None,
    questions: Sequence[str] | str | os.PathLike[str] | None = None,
    methods: Sequence[str] = METHODS,
    odds: float | None = None,
    together: Together = False,
    measured: Measured | None = None,
) -> Advice:
    """Try every method and ell; `measured` gets the figures of each as soon as they are known."""
    reading, shaping = reading or Reading(), (shaping or Shaping()).seeded(seed)
    progress: Progress = reading.progress or (lambda _stage, _done, _total: None)
    if not sensitive:
        raise SettingsError("Name at least one sensitive column: without one, there is no ell.")
    goal = goal or Goal()
    asked = _read_questions(questions)
    progress("reading", 0, 0)
    names = list(dict.fromkeys(sensitive))
    sets = checked_sets(together, names, methods, odds)
    prepared = shape(open_table(table, reading, shaping, names), names, shaping, cases=True)
    person = prepared.person
    if person is not None:
        check_advised(questions=bool(asked), odds=odds is not None, together=bool(sets))
    published = [column.name for column in prepared.roles.published]
    sample = prepared.source.sample(_MOST_ROWS, published)
    left_out = stopping_columns(prepared, names, shaping.keep)
    plain = plain_codes(prepared, sample, names, left_out)
    randomness = Randomness(seed)
    columns = {}
    for name in names:
        histogram, coded = prepared.source.histogram(name), sample[name]
        others: Mapping[str, Any] = plain
        check_number_of_values(name, histogram)
        if person is not None:
            cases = TriedCases.of(prepared.source, person, name, coded, plain, _MOST_ROWS)
            histogram, coded, others = cases.histogram, cases.coded, cases.plain
        task = _task(histogram, coded, others, randomness)
        bound = None if odds is None else _bound(name, odds, prepared, histogram, shaping)
        trials = (randomness, progress, measured or (lambda _column, _figures: None))
        columns[name] = _advise(name, histogram, task, goal, trials, methods, bound)
        columns[name] = replace(columns[name], asked_about=tuple(plain))
        if person is not None:
            noted = [cases.note, *columns[name].notes]
            columns[name] = replace(columns[name], unit="cases", notes=noted)
    pairs: Sequence[PairAdvice] = ()
    if len(names) > 1 and odds is None and person is None:
        pairs = compare_pairs(
            names, sets, sample, plain, prepared.source.facts.rows, goal, randomness, progress
        )
    answered = _on_questions(prepared, asked, goal, randomness, progress, methods)
    protected = [column for column in prepared.roles.published if column.name not in left_out]
    concerns = concerns_of(prepared.source, protected, names, shaping.keep)
    kept = sorted(to_leave_out(concerns, shaping.keep) & {*names})
    return Advice(columns, answered, sorted(left_out), pairs, kept)


def _read_questions(
    given: Sequence[str] | str | os.PathLike[str] | None,
) -> tuple[str, ...]:
    if given is None:
        return ()
    # Only here: it loads the analyst's side.
    from countveil.publishing.advise.questions import read_questions

    return read_questions(given)


def _on_questions(
    prepared: LocalPreparedTable,
    questions: Sequence[str],
    goal: Goal,
    randomness: Randomness,
    progress: Progress,
    methods: Sequence[str],
) -> list[QuestionAdvice]:
    if not questions:
        return []
    from countveil.publishing.advise.questions import advise_on_questions

    within = 0.10 if goal.accuracy is None else goal.accuracy[1]
    return advise_on_questions(prepared, questions, randomness, progress, within, methods)


def feasible_ells(largest: int, values: int) -> list[int]:
    """The ells that are tried, for a column with this many values."""
    every = range(2, min(largest, _EVERY) + 1) if values <= _VERY_MANY_VALUES else ()
    some = [ell for ell in (*_SOME, largest) if 2 <= ell <= largest]
    return sorted({*every, *some})


def number_of_predicates(values: int) -> int:
    """How many predicates are tried for a column with this many values."""
    return max(_LEAST_PREDICATES, min(_PREDICATES, _CELLS // max(values, 1)))


@dataclass(frozen=True, slots=True)
class _Attempts:
    """Trial releases of one column, by method and ell."""

    name: str
    task: Task | None
    shares: Sequence[float]
    randomness: Randomness
    progress: Progress
    bound: Bound | None = None

    def __call__(self, method: str, ell: int) -> Trial | None:
        """One method at one ell; None if there is nothing to ask about."""
        task = self.task
        if task is None or not task.predicates:
            return None
        self.progress(f"{self.name}: trying {method} groups, ell = {ell}", 0, 0)
        few = task.counts.size <= _MANY_VALUES
        releases, more = (_RELEASES, _MORE) if few else (_FEWER_RELEASES, _FEWER_MORE)
        if method == MIXED:
            stream = self.randomness.stream("try", self.name, str(ell))
            return try_out(task, ell, releases, self.shares, stream, more)
        stream = self.randomness.stream("try", method, self.name, str(ell))
        if method in BOUNDED and self.bound is not None:
            settings = settings_of(method, ell, self.bound.odds)
            task = replace(task, counts=self.bound.declared(task.counts))
            return try_out(task, ell, _FEWER_RELEASES, self.shares, stream, _FEWER_MORE, settings)
        settings, common = settings_of(method, ell), repeating(method, task.counts, ell)
        return try_out(task, ell, releases, self.shares, stream, _FEWER_MORE, settings, common)


def _advise(
    name: str,
    histogram: Histogram,
    task: Task | None,
    goal: Goal,
    trials: tuple[Randomness, Progress, Measured],
    methods: Sequence[str],
    bound: Bound | None,
) -> ColumnAdvice:
    randomness, progress, measured = trials
    counts, name_value = histogram.counts, value_namer(histogram)
    shares = sorted({*SHARES, *(goal.accuracy[:1] if goal.accuracy else ())})
    attempt = _Attempts(name, task, shares, randomness, progress, bound)
    ells = feasible_ells(largest_ell(counts), counts.size) if MIXED in methods else []
    tried: list[tuple[int, Trial | None]] = []

    def mixed() -> Iterator[tuple[int, Trial | None]]:
        # One after the other, so that the figures of each are known before the next is tried.
        for ell in ells:
            tried.append((ell, attempt(MIXED, ell)))
            yield tried[-1]

    others = [method for method in methods if method != MIXED]
    by_method = compared(counts, mixed(), others, attempt, shares, bound, partial(measured, name))
    lines = [figures_of(counts, ell, trial, shares) for ell, trial in tried]
    choices = per_method(by_method, goal)
    chosen = choose(by_method, choices, goal)
    notes = about_frequent_values(counts, name_value) + about_waste(by_method, counts, name_value)
    if by_method:
        notes += about_rare_values(counts, chosen.ell or by_method[-1].ell, goal.hide)
    wanted = goal if goal.accuracy else usual_goal(by_method)
    return ColumnAdvice(
        column=name,
        rows=int(counts.sum()),
        sampled_rows=0 if task is None else task.codes.size,
        lines=lines,
        recommendation=chosen,
        larger=why_not_larger(counts, name_value),
        notes=notes,
        methods=by_method,
        choices=choices,
        wished_share=wanted.accuracy[0] if wanted is not None and wanted.accuracy else None,
        values=int(np.count_nonzero(counts)),
        agreement=float(((counts / counts.sum()) ** 2).sum()),
        costs=() if bound is None else _costs(bound, chosen),
        odds=None if bound is None else bound.odds,
        impossible=why_impossible(counts, methods, by_method),
    )


# The bounds whose cost is shown beside the one that was asked for.
_USUAL_BOUNDS = (10.0, 20.0, 50.0, 200.0, 1_000.0)


def _costs(bound: Bound, chosen: Recommendation) -> tuple[OddsCost, ...]:
    """What other bounds would cost, with the method and ell that are recommended."""
    if chosen.ell is None:
        return ()
    different = groups_of(chosen.method) == MIXED
    bounds = sorted({*_USUAL_BOUNDS, bound.odds})
    return tuple(cost_of(k, bound.values, chosen.ell, different=different) for k in bounds)


def _bound(
    name: str,
    odds: float,
    prepared: LocalPreparedTable,
    histogram: Histogram,
    shaping: Shaping,
) -> Bound:
    """The bound for one column; an error unless all its values are declared."""
    from countveil.publishing.bounded_odds import check_all_declared, gamma_of

    # Of all settings that are tried, these need the least noise.
    easiest = ColumnSettings(tried_ells(histogram.counts)[-1], RANDOM, odds=odds)
    declared = check_all_declared(name, prepared, histogram, shaping)
    gamma_of(easiest, len(declared))
    return Bound(float(odds), len(declared))


def stopping_columns(
    prepared: LocalPreparedTable, sensitive: Sequence[str], keep: Sequence[str] = ()
) -> set[str]:
    """Identifiers, and columns that give a sensitive value away, unless they are kept on purpose.

    Without some columns others are looked at more closely, so this goes on until nothing stops.
    """
    left_out: set[str] = set()
    while True:
        published = [c for c in prepared.roles.published if c.name not in left_out]
        more = to_leave_out(concerns_of(prepared.source, published, sensitive, keep), keep)
        # What is protected is not left out.
        more -= set(sensitive)
        if more <= left_out:
            return left_out
        left_out |= more


def plain_codes(
    prepared: LocalPreparedTable,
    sample: Mapping[str, CodedColumn],
    sensitive: Sequence[str],
    stopping: Collection[str],
) -> dict[str, Any]:
    """The codes of the columns that predicates are made of: those that would be published.

    `stopping` columns stop a publication. Nobody counts by a weight.
    """
    left_out = {*stopping, *sensitive, prepared.weight}
    kinds = {column.name: kind_of(column.type) for column in prepared.roles.published}
    ordered = frozenset(name for name, kind in kinds.items() if kind not in (TEXT, BOOLEAN))
    others = {name: coded.codes for name, coded in sample.items() if name not in left_out}
    return askable(others, ordered)


def _task(
    histogram: Histogram, coded: CodedColumn, plain: Mapping[str, Any], randomness: Randomness
) -> Task | None:
    """What is tried out; None if the sample's values cannot be matched with the histogram."""
    values = histogram.counts.size
    number = number_of_predicates(values)
    codes = coded.codes
    if codes.size < int(histogram.counts.sum()) and int(codes.max(initial=-1)) + 1 < values:
        known = [None] * bool(coded.missing) + list(coded.examples)
        if len(known) != int(codes.max(initial=-1)) + 1:
            return None
        places = {value: place for place, value in enumerate(histogram.values)}
        codes = np.array([places[value] for value in known], np.int64)[codes]
    predicates = find_predicates(plain, number, randomness.stream("predicates"))
    return Task(histogram.counts, codes, predicates)
