"""Coarser questions, where too much of an answer is hidden.

Enters: a question that the builder can express, and what is known of the columns. Leaves: questions
with fewer and larger cells, as SQL. Must not know: pages, how they are answered.
"""

from __future__ import annotations

from dataclasses import dataclass

from countveil.errors import CountveilError
from countveil.web.analyst.builder.built import COMPARISONS, PERIODS, Built, Condition, Group
from countveil.web.analyst.builder.fields import steps_of
from countveil.web.analyst.builder.written import condition_sql, sql_of
from countveil.web.analyst.facts import Facts
from countveil.web.analyst.questions import Asked, View
from countveil.web.analyst.shown import TOO_MUCH

# Classes are so wide that about so many cover the column.
_FEW = 10


@dataclass(frozen=True, slots=True)
class Offer:
    """A coarser question, and what makes it coarser."""

    what: str
    sql: str
    view: View


def offered(asked: Asked, built: Built | None, facts: Facts) -> list[Offer]:
    """What may be asked instead; nothing where enough is known, or the question is SQL only."""
    answer = asked.answer
    if answer is None or built is None:
        return []
    verdicts = [verdict for block in answer.blocks for verdict in block.estimates.verdicts]
    if not verdicts or verdicts.count("hidden") < TOO_MUCH * len(verdicts):
        return []
    kinds = {column.name: column.kind for column in facts.columns}
    coarser = [
        *_wider(built, facts),
        *_fewer_groups(built, facts),
        *_fewer_conditions(asked, built, kinds),
    ]
    return [Offer(what, sql_of(q, kinds), _view(asked, q)) for what, q in coarser]


def _view(asked: Asked, built: Built) -> View:
    """A matrix needs two columns."""
    return asked.view if len(built.groups) == 2 else View.ASK


def _fewer_groups(built: Built, facts: Facts) -> list[tuple[str, Built]]:
    """Without the plain column that has the most values; what is protected is asked about."""
    if not built.groups:
        return []
    known = [facts.column(group.column) for group in built.groups]
    values = [
        (0 if column is None or column.is_sensitive else 1 + (column.distinct or 0), place)
        for place, column in enumerate(known)
    ]
    _, place = max(values)
    name = built.groups[place].column
    rest = ", ".join(g.column for n, g in enumerate(built.groups) if n != place)
    what = f"Not by {name}: by {rest} only" if rest else f"Not by {name}: one number for all"
    return [(what, built.without_group(place))]


def _wider(built: Built, facts: Facts) -> list[tuple[str, Built]]:
    """Classes in place of single values, for plain columns that have an order."""
    offers = []
    for place, group in enumerate(built.groups):
        column = facts.column(group.column)
        if column is None or column.is_sensitive:
            continue
        step = _next_step(group, steps_of(column.kind, column.type), column.low, column.high)
        if step:
            in_words = step if step in PERIODS else f"classes of {step}"
            offers.append((f"{group.column} by {in_words}", built.with_step(place, step)))
    return offers


def _next_step(
    group: Group, steps: tuple[str, ...], low: float | None, high: float | None
) -> str | None:
    if not steps:
        return None
    if steps == PERIODS:
        later = PERIODS[PERIODS.index(group.step) + 1 :] if group.step in PERIODS else PERIODS
        return later[0] if later else None
    if low is None or high is None:
        return None
    current = int(group.step or 1)
    wider = [step for step in steps if current < int(step) < high - low]
    enough = [step for step in wider if (high - low) / int(step) <= _FEW]
    return next(iter(enough or wider[-1:]), None)


def _fewer_conditions(asked: Asked, built: Built, kinds: dict[str, str]) -> list[tuple[str, Built]]:
    """Without the condition that the fewest rows meet."""
    if not built.conditions:
        return []
    texts = [condition_sql(condition, kinds) for condition in built.conditions]
    place = 0
    if len(texts) > 1:
        try:
            counts = [cell.high or 0.0 for cell in asked.opened.counts(texts).estimates]
        except CountveilError:
            return []
        place = counts.index(min(counts))
    left_out = in_words(built.conditions[place])
    return [(f"Without the narrowest condition: {left_out}", built.without_condition(place))]


def in_words(condition: Condition) -> str:
    """A condition as people say it."""
    values = ", ".join(condition.values[:4]) + (", …" if len(condition.values) > 4 else "")
    if condition.comparison == "between":
        return f"{condition.column} is from {condition.values[0]} to {condition.values[1]}"
    return f"{condition.column} {COMPARISONS[condition.comparison]} {values}".rstrip()
