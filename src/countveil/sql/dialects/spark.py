"""The words of Spark, where they mean the same as ours.

Enters: expressions over plain columns. Leaves: text for `spark.sql`, with arithmetic that is told
to fail rather than wrap around. Must not know: where the rows are.

Spark's own: names stand in backticks, a backslash in a text means something, floor and ceil give
whole numbers, and LIKE has an escape character, for which a control character is named that no
pattern holds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from countveil.release import PublishedColumn
from countveil.release.values import BOOLEAN, DATE, TEXT, TIMESTAMP
from countveil.sql.dialects.translated import Translated
from countveil.sql.query.expressions import Constant, Operation

_ESCAPE = "\x01"


class SparkWords(Translated):
    """See `Words`."""

    types: Mapping[str, str] = {
        TEXT: "STRING",
        BOOLEAN: "BOOLEAN",
        DATE: "DATE",
        TIMESTAMP: "TIMESTAMP_NTZ",
    }

    def __init__(self, dialect: str, columns: Sequence[PublishedColumn]) -> None:
        super().__init__(dialect, columns)
        self._names = {c.name: "`" + c.name.replace("`", "``") + "`" for c in columns}

    def quoted(self, text: str) -> str:
        """A text as it is written."""
        return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"

    def _like(self, expression: Operation) -> str:
        subject, pattern = expression.operands
        if not isinstance(pattern, Constant) or pattern.value is None or _ESCAPE in pattern.value:
            return self.refuse("like with a pattern that is not constant")
        escape = self.quoted(_ESCAPE)
        return f"({self.text(subject)} LIKE {self.literal(pattern.value)} ESCAPE {escape})"

    def _round(self, expression: Operation) -> str:
        for digits in expression.operands[1:]:
            if not isinstance(digits, Constant) or digits.value != 0:
                self.refuse("round to digits")
        return f"round(CAST({self.text(expression.operands[0])} AS DOUBLE), 0)"
