"""Operations of DuckDB translated for databases in which some of them mean something else.

Enters: expressions over plain columns. Leaves: SQL text that means there what it means in DuckDB;
an operation that has no such text is refused. Must not know: where the text is run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from countveil.errors import QueryError
from countveil.release.values import BOOLEAN, DATE, NUMBER, TEXT, TIMESTAMP
from countveil.sql.dialects.literals import LiteralDialect
from countveil.sql.query.expressions import ColumnReference, Constant, Expression, Operation

# Operations with the same text for any operands; {0}, {1} are operands, {double} is the type of
# double precision.
COMMON_TEMPLATES = {
    "add": "({0} + {1})", "subtract": "({0} - {1})", "multiply": "({0} * {1})",
    "divide": "(CASE WHEN {1} <> 0 THEN CAST({0} AS {double}) / {1} END)",
    "divide_whole": "(CASE WHEN {1} <> 0 THEN {0} / {1} END)",
    "remainder": "(CASE WHEN {1} <> 0 THEN {0} % {1} END)",
    "negate": "(-{0})",
    "equal": "({0} = {1})", "unequal": "({0} <> {1})", "less": "({0} < {1})",
    "at_most": "({0} <= {1})", "greater": "({0} > {1})", "at_least": "({0} >= {1})",
    "not": "(NOT {0})", "is_null": "({0} IS NULL)", "nullif": "nullif({0}, {1})",
    "trim": "trim({0})", "length": "length({0})", "abs": "abs({0})",
    "floor": "floor(CAST({0} AS {double}))", "ceil": "ceil(CAST({0} AS {double}))",
    "sqrt": "(CASE WHEN {0} >= 0 THEN sqrt(CAST({0} AS {double})) END)",
    "ln": "(CASE WHEN {0} > 0 THEN ln(CAST({0} AS {double})) END)",
    "sign": "sign({0})", "replace": "replace({0}, {1}, {2})",
}  # fmt: skip
DATE_TEMPLATES = {
    "year": "CAST(EXTRACT(YEAR FROM {0}) AS BIGINT)",
    "month": "CAST(EXTRACT(MONTH FROM {0}) AS BIGINT)",
    "day": "CAST(EXTRACT(DAY FROM {0}) AS BIGINT)",
    "week": "CAST(EXTRACT(WEEK FROM {0}) AS BIGINT)",
    "day_of_year": "CAST(EXTRACT(DOY FROM {0}) AS BIGINT)",
    "hour": "CAST(EXTRACT(HOUR FROM {0}) AS BIGINT)",
    "minute": "CAST(EXTRACT(MINUTE FROM {0}) AS BIGINT)",
    "second": "CAST(floor(EXTRACT(SECOND FROM {0})) AS BIGINT)",
}
STARTS = ("year", "quarter", "month", "week", "day", "hour")

_ORDERINGS = {"less", "at_most", "greater", "at_least"}
_ARITHMETIC = {"add", "subtract", "multiply", "negate", "divide_whole", "remainder"}
_WHOLE_IF_OPERANDS_ARE = _ARITHMETIC | {"abs", "coalesce", "greatest", "least"}
_ALWAYS_WHOLE = {
    "length", "year", "month", "day", "to_whole", "week", "weekday", "day_of_year", "hour",
    "minute", "second", "days_between", "position",
}  # fmt: skip
_SAME_EVERYWHERE = {"case", "in", "and", "or", "concat"}


class TranslatedDialect(LiteralDialect):
    """What PostgreSQL, SQLite and Spark have in common.

    An operation is rendered by the method `render_<operation>` if there is one, else by a template.
    """

    templates: ClassVar[Mapping[str, str]] = COMMON_TEMPLATES
    # To which a column is cast before arithmetic; empty where integers do not overflow early.
    wide_integer: ClassVar[str] = "BIGINT"
    text_type: ClassVar[str] = "TEXT"

    def text(self, expression: Expression) -> str:
        """An expression as text."""
        if not isinstance(expression, Operation):
            return super().text(expression)
        render = getattr(self, f"render_{expression.name}", None)
        if render is not None:
            rendered: str = render(expression)
            return rendered
        if expression.name in _SAME_EVERYWHERE:
            return super().text(expression)
        template = self.templates.get(expression.name)
        if template is None:
            return self.refuse(expression.name)
        operands = [self._operand(part, expression.name) for part in expression.operands]
        if expression.name in ("divide_whole", "remainder"):
            self._need_whole(expression)
        if expression.name in _ORDERINGS and any(p.kind == TEXT for p in expression.operands):
            operands[0] += self.collation
        return template.format(*operands, all=", ".join(operands), double=self.double)

    def refuse(self, operation: str) -> str:
        """Refuse an operation that would mean something else there."""
        raise QueryError(
            f"{operation.replace('_', ' ')} is not the same in {self.title} as here. Leave it "
            f"out, or ask in DuckDB or with 'countveil query'."
        )

    def _operand(self, part: Expression, operation: str) -> str:
        text = self.text(part)
        if self.wide_integer and operation in _ARITHMETIC and isinstance(part, ColumnReference):
            # Small integers would overflow where DuckDB's do not.
            return f"CAST({text} AS {self.wide_integer if self._whole(part) else self.double})"
        return text

    def _need_whole(self, expression: Operation) -> None:
        if not all(map(self._whole, expression.operands)):
            self.refuse(f"{expression.name} of numbers that are not whole")

    def _whole(self, part: Expression) -> bool:
        """Whether it can only be a whole number."""
        if isinstance(part, ColumnReference):
            return self._types[part.name].startswith(("int", "uint"))
        if isinstance(part, Constant):
            return part.value is None or type(part.value) is int
        if part.name in _WHOLE_IF_OPERANDS_ARE:
            return all(map(self._whole, part.operands))
        return part.name in _ALWAYS_WHOLE

    def _position(self, part: Expression, least: int, operation: str) -> int:
        """A constant position or length in a text."""
        if isinstance(part, Constant) and type(part.value) is int and part.value >= least:
            return part.value
        self.refuse(f"{operation} with places that are not constants from {least} on")
        return 0

    def render_substr(self, expression: Operation) -> str:
        """Positions from 1 on; other ones mean something else in every database."""
        text, start, *rest = expression.operands
        first = self._position(start, 1, "substr")
        positions = [first, *(self._position(length, 0, "substr") for length in rest)]
        return f"substr({self.text(text)}, {', '.join(map(str, positions))})"

    def render_left(self, expression: Operation) -> str:
        """The first characters."""
        text, length = expression.operands
        return f"substr({self.text(text)}, 1, {self._position(length, 1, 'left')})"

    def render_right(self, expression: Operation) -> str:
        """The last characters."""
        text, length = expression.operands
        return f"right({self.text(text)}, {self._position(length, 1, 'right')})"

    def render_round(self, expression: Operation) -> str:
        """To whole numbers only; halves away from zero."""
        self._need_no_digits(expression)
        x = f"CAST({self.text(expression.operands[0])} AS {self.double})"
        up = f"CASE WHEN abs({x} - trunc({x})) >= 0.5 THEN sign({x}) ELSE 0 END"
        return f"(trunc({x}) + {up})"

    def _need_no_digits(self, expression: Operation) -> None:
        for digits in expression.operands[1:]:
            if not isinstance(digits, Constant) or digits.value != 0:
                self.refuse("round to digits")

    def render_greatest(self, expression: Operation) -> str:
        """Missing operands are ignored."""
        return f"{expression.name}({', '.join(map(self.text, expression.operands))})"

    def render_least(self, expression: Operation) -> str:
        """As `greatest`."""
        return self.render_greatest(expression)

    def render_coalesce(self, expression: Operation) -> str:
        """Some databases do not take a single operand."""
        operands = [self.text(part) for part in expression.operands]
        return operands[0] if len(operands) == 1 else f"coalesce({', '.join(operands)})"

    def render_to_whole(self, expression: Operation) -> str:
        """Only what is whole already: databases round in different ways."""
        (part,) = expression.operands
        return self.text(part) if self._whole(part) else self.refuse("cast to whole numbers")

    def render_to_number(self, expression: Operation) -> str:
        """Numbers only: what is not one would be an error there."""
        (part,) = expression.operands
        if part.kind != NUMBER:
            return self.refuse("cast to numbers")
        return f"CAST({self.text(part)} AS {self.double})"

    def render_to_text(self, expression: Operation) -> str:
        """Texts and whole numbers only: databases write other values in different ways."""
        (part,) = expression.operands
        if part.kind == TEXT:
            return self.text(part)
        if not self._whole(part):
            return self.refuse("cast")
        return f"CAST({self.text(part)} AS {self.text_type})"

    def render_to_date(self, expression: Operation) -> str:
        """Dates and timestamps only."""
        (part,) = expression.operands
        if part.kind == DATE:
            return self.text(part)
        return self.date_of(part) if part.kind == TIMESTAMP else self.refuse("cast to dates")

    def render_to_timestamp(self, expression: Operation) -> str:
        """Dates and timestamps only."""
        (part,) = expression.operands
        if part.kind == TIMESTAMP:
            return self.text(part)
        return self.midnight_of(part) if part.kind == DATE else self.refuse("cast to times")

    def date_of(self, timestamp: Expression) -> str:
        """The date of a timestamp."""
        return f"CAST({self.text(timestamp)} AS DATE)"

    def midnight_of(self, date: Expression) -> str:
        """A date as a timestamp."""
        return f"CAST({self.text(date)} AS {self.types[TIMESTAMP]})"

    def render_to_boolean(self, expression: Operation) -> str:
        """True and false only."""
        (part,) = expression.operands
        return self.text(part) if part.kind == BOOLEAN else self.refuse("cast to true or false")
