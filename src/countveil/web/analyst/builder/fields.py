"""The fields of the builder's form -> a built question.

Enters: a form, and the columns of the release. Leaves: a `Built`, as complete as the form is. Must
not know: SQL, pages.
"""

from __future__ import annotations

import re
from dataclasses import replace

from countveil.release.values import BOOLEAN, NUMBER, TEXT
from countveil.web.analyst.builder.built import (
    COMPARISONS,
    COUNT,
    MEASURES,
    NONE,
    NUMBERS,
    ORDERED,
    PERIODS,
    SEVERAL,
    SHARE,
    WIDTHS,
    Built,
    Condition,
    Group,
)
from countveil.web.analyst.builder.written import Kinds
from countveil.web.forms import Form

MOST_GROUPS, MOST_CONDITIONS = 6, 12


def built_of_form(form: Form, kinds: Kinds) -> Built:
    """What the builder shows."""
    measure = form.text("measure")
    if measure not in MEASURES:
        measure = COUNT
    of = form.text("of")
    of = of if measure in NUMBERS and of in kinds else ""
    part = _condition(form, "part", kinds) if measure == SHARE else None
    groups = [_group(form, place, kinds) for place in range(MOST_GROUPS)]
    kept = tuple(dict.fromkeys(group for group in groups if group is not None))
    conditions = [_condition(form, f"where-{place}", kinds) for place in range(MOST_CONDITIONS)]
    return Built(measure, of, part, kept, tuple(each for each in conditions if each is not None))


def _group(form: Form, place: int, kinds: Kinds) -> Group | None:
    column = form.text(f"group-{place}")
    if column not in kinds:
        return None
    step = form.text(f"step-{place}")
    unchanged = form.text(f"group-{place}-was") == column
    return Group(column, step if is_step(step) and unchanged else "")


def is_step(step: str) -> bool:
    """Whether classes can be so wide."""
    return step in PERIODS or re.fullmatch(r"[1-9][0-9]{0,8}", step) is not None


def _condition(form: Form, name: str, kinds: Kinds) -> Condition | None:
    column = form.text(f"{name}-column")
    if column not in kinds:
        return None
    comparison = form.text(f"{name}-comparison")
    if comparison not in COMPARISONS or not fits(comparison, kinds[column]):
        comparison = "="
    if comparison in NONE or form.text(f"{name}-was") != column:
        # What was chosen of another column means nothing here.
        return Condition(column, comparison)
    return Condition(column, comparison, tuple(_values(form, f"{name}-value", kinds[column])))


def _values(form: Form, name: str, kind: str) -> list[str]:
    """What was chosen or typed; blanks at the ends of a text are part of it."""
    if kind == TEXT:
        given = [value.replace("\r\n", "\n") for key, value in form if key == name]
        return [value for value in given if value]
    return [part for text in form.texts(name) for part in re.split(r"\s*[,;]\s*", text) if part]


def same_question(first: Built | None, second: Built | None) -> bool:
    """Whether two forms of a question ask the same; lists have no order."""
    return first is not None and second is not None and _unordered(first) == _unordered(second)


def _unordered(built: Built) -> Built:
    def sorted_values(condition: Condition) -> Condition:
        if condition.comparison not in SEVERAL:
            return condition
        return replace(condition, values=tuple(sorted(set(condition.values))))

    part = built.part and sorted_values(built.part)
    return replace(built, part=part, conditions=tuple(map(sorted_values, built.conditions)))


def fits(comparison: str, kind: str) -> bool:
    """Whether a comparison makes sense for values of this kind."""
    if comparison in ORDERED:
        return kind not in (TEXT, BOOLEAN)
    if comparison in SEVERAL:
        return kind != BOOLEAN
    return comparison in COMPARISONS


def steps_of(kind: str, type_name: str) -> tuple[str, ...]:
    """How the values of a plain column can be put into classes."""
    if kind == NUMBER:
        return WIDTHS if "int" in type_name else ()
    return PERIODS if type_name.startswith(("date", "timestamp")) else ()
