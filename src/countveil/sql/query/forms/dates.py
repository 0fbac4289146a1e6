"""Functions of dates and times -> our expressions.

Enters: nodes of sqlglot, and the reader of what is inside them. Leaves: expressions, most of them
made of operations that every engine has. Must not know: columns, engines.
"""

from __future__ import annotations

import calendar
import datetime as dt
import re
from typing import TYPE_CHECKING, Any

from countveil.errors import QueryError
from countveil.release.values import BOOLEAN, DATE, NUMBER, TEXT, TIMESTAMP
from countveil.sql.query.expressions import OPERATIONS, Constant, Expression, Operation
from countveil.sql.query.functions import MISSING
from countveil.sql.query.release_columns import as_kind

if TYPE_CHECKING:
    from sqlglot import exp

    from countveil.sql.query.scalars import ScalarReader

PARTS = {
    "year": "year", "month": "month", "day": "day", "quarter": "quarter", "week": "week",
    "dow": "weekday", "dayofweek": "weekday", "weekday": "weekday", "doy": "day_of_year",
    "dayofyear": "day_of_year", "hour": "hour", "minute": "minute", "second": "second",
    "years": "year", "months": "month", "days": "day",
}  # fmt: skip
_STARTS = ("year", "quarter", "month", "week", "day", "hour")
_FORMATS = {
    "Y": ("year", 4), "m": ("month", 2), "d": ("day", 2), "H": ("hour", 2), "M": ("minute", 2),
    "S": ("second", 2),
}  # fmt: skip
_MONTHS = {"year": 12, "quarter": 3, "month": 1}
_DAYS = {"week": 7, "day": 1}
_SECONDS = {"hour": 3600, "minute": 60, "second": 1}


def read_date(reader: ScalarReader, node: exp.Expr, depth: int) -> Expression:
    """A node that is a function of dates."""
    from sqlglot import exp

    if isinstance(node, exp.TimestampTrunc | exp.DateTrunc):
        return _start(_time(reader, node.this, depth), _unit(node))
    if isinstance(node, exp.TimeToStr):
        return _formatted(_time(reader, node.this, depth), reader, node.args["format"], depth)
    if isinstance(node, exp.DateDiff):
        ends = [_time(reader, part, depth) for part in (node.expression, node.this)]
        return _difference(_unit(node), *ends)
    if isinstance(node, exp.Extract):
        return part_of(_time(reader, node.expression, depth), str(node.this.name).lower())
    name = {"Quarter": "quarter", "Monthname": "monthname", "Dayname": "dayname"}
    return part_of(_time(reader, node.this, depth), name[type(node).__name__])


def part_of(time: Expression, part: str) -> Expression:
    """A part of a date as a number, or its name."""
    if part in ("monthname", "dayname"):
        number, names = ("month", calendar.month_name), ("weekday", calendar.day_name)
        operation, listed = number if part == "monthname" else names
        words = list(listed)[1:] if part == "monthname" else [listed[6], *list(listed)[:6]]
        first = 1 if part == "monthname" else 0
        return _named(_number(operation, time), first, words)
    operation = PARTS.get(part, "")
    if not operation:
        raise QueryError(
            f"{part!r} is no part of a date that is supported. Supported: {', '.join(PARTS)}."
        )
    if operation == "quarter":
        after = Operation("add", (_number("month", time), Constant(2, NUMBER)), NUMBER)
        return Operation("divide_whole", (after, Constant(3, NUMBER)), NUMBER)
    return _number(operation, time)


def moved_date(reader: ScalarReader, node: exp.Expr, depth: int) -> Expression | None:
    """A sum or difference of dates; None if it is one of numbers."""
    from sqlglot import exp

    left, right = node.this.unnest(), node.expression.unnest()
    plus = isinstance(node, exp.Add)
    if isinstance(right, exp.Interval):
        return _shifted(_time(reader, left, depth), right, 1 if plus else -1)
    if plus and isinstance(left, exp.Interval):
        return _shifted(_time(reader, right, depth), left, 1)
    both = [reader.expression(part, depth + 1) for part in (left, right)]
    if both[0].kind == DATE and not plus and both[1].kind == DATE:
        return days_between(*both)
    if both[0].kind == DATE and isinstance(both[1], Constant) and isinstance(both[1].value, int):
        return _shifted(
            both[0], exp.Interval(this=right, unit=exp.Var(this="DAY")), 1 if plus else -1
        )
    return None


def _shifted(time: Expression, interval: exp.Expr, sign: int) -> Expression:
    """A date plus or minus an interval."""
    unit = str(interval.args["unit"].name).lower().rstrip("s") if interval.args.get("unit") else ""
    try:
        amount = sign * int(interval.this.name)
    except (AttributeError, ValueError):
        raise QueryError(
            "An interval needs a whole number and a unit, such as INTERVAL 3 MONTH."
        ) from None
    months, days = amount * _MONTHS.get(unit, 0), amount * _DAYS.get(unit, 0)
    seconds = amount * _SECONDS.get(unit, 0)
    if unit not in {**_MONTHS, **_DAYS, **_SECONDS}:
        raise QueryError(f"INTERVAL in {unit or 'no unit'} is not supported; DAY and MONTH are.")
    if isinstance(time, Constant) and time.value is not None:
        moved = _moved(time.value, months, days, seconds)
        return Constant(moved, TIMESTAMP if isinstance(moved, dt.datetime) else DATE)
    if time.kind != DATE or seconds:
        raise QueryError(
            "An interval can be added to a column of dates, in days or months, and to a constant. "
            "Move it to the constant that the column is compared with."
        )
    name, number = ("add_months", months) if months else ("add_days", days)
    return Operation(name, (time, Constant(number, NUMBER)), DATE)


def days_between(later: Expression, earlier: Expression) -> Expression:
    """The days from one date to another, as the difference of both."""
    return Operation("days_between", (_as_date(later), _as_date(earlier)), NUMBER)


def _moved(value: Any, months: int, days: int, seconds: int) -> Any:
    try:
        if months:
            number = value.year * 12 + value.month - 1 + months
            year, month = divmod(number, 12)
            last = calendar.monthrange(year, month + 1)[1]
            value = value.replace(year=year, month=month + 1, day=min(value.day, last))
        if seconds and not isinstance(value, dt.datetime):
            value = dt.datetime.combine(value, dt.time())
        return value + dt.timedelta(days=days, seconds=seconds)
    except (ValueError, OverflowError):
        raise QueryError("A date of this query lies outside the years 1 to 9999.") from None


def _time(reader: ScalarReader, node: exp.Expr, depth: int) -> Expression:
    """What is inside, as a date or a time."""
    inner = reader.expression(node, depth + 1)
    if isinstance(inner, Constant) and inner.kind == TEXT:
        kind = DATE if len(inner.value.strip()) <= 10 else TIMESTAMP
        return Constant(as_kind(inner.value, kind, "A function of dates"), kind)
    if inner.kind not in (DATE, TIMESTAMP, MISSING):
        raise QueryError(
            f"A function of dates is applied to {inner.kind}. Dates that are text can be cast: "
            f"CAST(x AS DATE)."
        )
    return inner


def _unit(node: exp.Expr) -> str:
    unit = node.args.get("unit")
    return str(unit.name).lower().rstrip("s") if unit is not None else "day"


def _number(operation: str, time: Expression) -> Expression:
    if operation in _SECONDS and time.kind == DATE:
        return Constant(0, NUMBER)
    return Operation(operation, (time,), OPERATIONS[operation])


def _start(time: Expression, unit: str) -> Expression:
    if unit not in _STARTS:
        raise QueryError(
            f"date_trunc to {unit!r} is not supported. Supported: {', '.join(_STARTS)}."
        )
    start = Operation(f"start_of_{unit}", (_as_timestamp(time),), TIMESTAMP)
    return Operation("to_date", (start,), DATE) if time.kind == DATE else start


def _as_timestamp(time: Expression) -> Expression:
    return Operation("to_timestamp", (time,), TIMESTAMP) if time.kind == DATE else time


def _as_date(time: Expression) -> Expression:
    return Operation("to_date", (time,), DATE) if time.kind == TIMESTAMP else time


def _difference(unit: str, earlier: Expression, later: Expression) -> Expression:
    """How many boundaries of the unit lie between two dates."""
    if unit == "day":
        return days_between(later, earlier)
    if unit not in _MONTHS:
        raise QueryError(f"date_diff in {unit!r} is not supported. Supported: day, month, year.")
    ends = []
    for time in (later, earlier):
        years = Operation("multiply", (_number("year", time), Constant(12, NUMBER)), NUMBER)
        part = {"year": _number("year", time), "quarter": part_of(time, "quarter")}.get(unit)
        if unit == "quarter" and part is not None:
            years = Operation("multiply", (_number("year", time), Constant(4, NUMBER)), NUMBER)
            part = Operation("add", (years, part), NUMBER)
        whole = Operation("add", (years, _number("month", time)), NUMBER)
        ends.append(whole if part is None else part)
    return Operation("subtract", tuple(ends), NUMBER)


def _formatted(time: Expression, reader: ScalarReader, pattern: exp.Expr, depth: int) -> Expression:
    text = reader.expression(pattern, depth + 1)
    if not isinstance(text, Constant) or not isinstance(text.value, str):
        raise QueryError("strftime needs a constant format, such as '%Y-%m'.")
    parts: list[Expression] = []
    for code, literal in re.findall(r"%(.)|([^%]+)", text.value, re.DOTALL):
        if literal or code == "%":
            parts.append(Constant(literal or "%", TEXT))
        elif code in ("B", "A"):
            parts.append(part_of(time, "monthname" if code == "B" else "dayname"))
        elif code in _FORMATS:
            name, digits = _FORMATS[code]
            parts.append(_padded(_number(name, time), digits))
        else:
            listed = ", ".join(f"%{known}" for known in [*_FORMATS, "B", "A"])
            raise QueryError(f"strftime with %{code} is not supported. Supported: {listed}.")
    if len(parts) == 1:
        return parts[0]
    return Operation("concat", tuple(parts), TEXT)


def _padded(number: Expression, digits: int) -> Expression:
    """A number as text with zeros in front."""
    text: Expression = Operation("to_text", (number,), TEXT)
    if isinstance(number, Constant):
        return Constant(str(number.value).zfill(digits), TEXT)
    if digits != 2:
        return text
    small = Operation("less", (number, Constant(10, NUMBER)), BOOLEAN)
    zero = Operation("concat", (Constant("0", TEXT), text), TEXT)
    return Operation("case", (small, zero, text), TEXT)


def _named(number: Expression, first: int, words: list[str]) -> Expression:
    operands: list[Expression] = []
    for place, word in enumerate(words):
        same = Operation("equal", (number, Constant(first + place, NUMBER)), BOOLEAN)
        operands += [same, Constant(word, TEXT)]
    return Operation("case", (*operands, Constant(None, TEXT)), TEXT)
