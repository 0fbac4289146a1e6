"""Columns that were published together, as a page shows them: their combinations as one column.

Enters: how many rows publish each combination of values, ell. Leaves: what the sections of a page
ask of a protected column, and a section about combinations. Must not know: true counts, the source.
It is loaded only where a release has such columns. Theory: docs/theory/channel.md, "Columns
together".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.maths.channel.common import random_belief, random_odds
from countveil.maths.guarantees.special import beliefs_in_truth
from countveil.report.board import Figure
from countveil.report.guarantee_sections import guarantee_of
from countveil.report.page import Section, copyable, quoted
from countveil.report.repeating import RepeatingColumn
from countveil.tables.recode import value_text

_EXAMPLES = 8


@dataclass(frozen=True)
class PublishedVectors:
    """Combinations that rows publish: all counts, in falling order, and some by their values."""

    columns: tuple[str, ...]
    counts: NDArray[np.int64]
    named: tuple[tuple[tuple[Any, ...], int], ...]

    @classmethod
    def of(
        cls,
        columns: tuple[str, ...],
        counts: NDArray[np.int64],
        places: Sequence[NDArray[np.int64]],
        values: Sequence[Sequence[Any]],
    ) -> PublishedVectors:
        """From counts of vectors and, for each column, the place of every vector's value."""
        order = np.argsort(-counts, kind="stable")
        order = order[counts[order] > 0]
        chosen = [*range(min(_EXAMPLES, order.size)), order.size // 2, order.size - 1]
        named = []
        for rank in dict.fromkeys(chosen):
            number = int(order[rank])
            vector = tuple(
                known[int(place[number])] for known, place in zip(values, places, strict=True)
            )
            named.append((vector, int(counts[number])))
        return cls(columns, counts[order], tuple(named))


@dataclass(frozen=True)
class JoinedColumns(RepeatingColumn):
    """The combinations of several columns; `published` has some of them, `counts` are of all."""

    columns: tuple[str, ...]
    counts: NDArray[np.int64]

    @classmethod
    def from_vectors(cls, vectors: PublishedVectors, ell: int, rows: int) -> JoinedColumns:
        """As they are published."""
        name, named = " and ".join(vectors.columns), dict(vectors.named)
        return cls(name, ell, rows, named, "random", (), vectors.columns, vectors.counts)

    @property
    def called(self) -> str:
        """The names of the columns, and how they are protected."""
        return f"{self.name} together (ell = {self.ell})"

    @property
    def what(self) -> str:
        """What it holds."""
        return "combination of values"

    def label(self, value: Any) -> str:
        """A combination, in a sentence."""
        return repr(_text(value))

    def figures(self, unit: str = "rows") -> list[Figure]:
        """The error is that of rarer counts: combinations are rarer than values."""
        size, count = max(1, round(self.rows / 10)), max(1, round(self.rows / 1_000))
        among = guarantee_of(self.ell, self.rows, size, 0.01, "random")
        whole = self.std_error(count) / count
        error = whole if among is None else among.std_error(count) / count
        where = "" if among is None else f" among a tenth of the {unit}, if 1% of all have it"
        figure = Figure(
            f"Error of counts of 0.1% of the {unit}, {self.name}",
            f"{error:.1%}",
            f"standard error of a combination{where}; over the whole table {whole:.1%}",
            "error",
            error,
        )
        return [*super().figures(unit)[:2], figure]

    def reached_by(self) -> str:
        """Who reaches the second of the beliefs."""
        return f"those who publish their own combination, one in {self.ell}"

    @property
    def notes(self) -> Sequence[str]:
        """What a published combination tells."""
        rare, frequent = (self._believed(int(count)) for count in self.counts[[-1, 0]])
        note = (
            f"{self.name} are published together: a row publishes the values of one row of its "
            f"group. A published combination is believed with probability {rare} at the rarest and "
            f"{frequent} at the most frequent one. It is a real row's, and for a combination that "
            f"a single row has that is a strong hint."
        )
        return [note]

    def _believed(self, count: int) -> str:
        return f"{random_belief(count / self.rows, self.ell):.2f}"

    def beliefs(self) -> tuple[float, float]:
        """In a person's true combination: on average, and what 1 in 100 people reach."""
        shares = self.counts / self.rows
        return beliefs_in_truth(shares, 1 / self.ell + (1 - 1 / self.ell) * shares)

    def keeps(self, value: Any) -> float:
        """How likely a row publishes its own combination."""
        return random_belief(self.published.get(value, 0) / self.rows, self.ell)

    @property
    def median(self) -> tuple[Any, int]:
        """The combination in the middle, by published count."""
        middle = int(self.counts[self.counts.size // 2])
        return next(item for item in self.published.items() if item[1] == middle)

    def section(self, unit: str = "rows") -> Section:
        """What is promised for combinations, and what each of some tells; `unit` is counted."""
        shares = self.counts / self.rows
        true_share = random_belief(float((shares**2).sum()), self.ell)
        table = [
            (
                _text(vector), count,
                f"{count / self.rows:.2%}", f"{self.std_error(count):.1f}",
                f"{random_belief(count / self.rows, self.ell):.3f}",
                f"{random_odds(count / self.rows, self.ell):,.1f}",
            )
            for vector, count in self.published.items()
        ]  # fmt: skip
        said = (
            f"A row publishes the values of one row of its secret group in all of these columns at "
            f"once, each row of the group, itself included, with the same probability. Averaged "
            f"over all rows, that is its own combination with probability {true_share:.3f}. "
            f"{self.counts.size:,} combinations are published. Shown are the most frequent ones, "
            f"the one in the middle and the rarest, with the belief in each where it is published, "
            f"of somebody who expected no more than its share p: 1/ell + (1 - 1/ell) p, and by how "
            f"much that multiplies its odds."
        )
        margins = (
            f"The rule holds for each column alone, with the share of its value: the counts of one "
            f"column of {self.name} are as near to the truth as if it had random groups of its "
            f"own. A count of a combination is estimated like that of a value. What holds exactly "
            f"is said of whole combinations: exchanging those of two rows of a group leaves the "
            f"release as likely, exchanging a single column does not."
        )
        return Section(
            f"Columns together: {self.name}",
            [said],
            ("combination", unit, "share", "standard error", "belief", "odds times"),
            table,
            after=[margins],
        )

    def queries(self) -> list[str]:
        """Queries about combinations, with names and values that can be copied from a page."""
        if not all(map(copyable, self.columns)):
            return []
        names = [quoted(name) for name in self.columns]
        listed = ", ".join(names)
        every = f"SELECT {listed}, count(*) AS n FROM release GROUP BY {listed}"
        queries = [f"{every} ORDER BY n DESC LIMIT 10"]
        vector = next(iter(self.published))
        if all(isinstance(value, str) and copyable(value) for value in vector):
            texts = [value.replace("'", "''") for value in vector]
            where = " AND ".join(f"{n} = '{t}'" for n, t in zip(names, texts, strict=True))
            queries.append(f"SELECT count(*) FROM release WHERE {where}")
        return queries


def _text(vector: Sequence[Any]) -> str:
    return ", ".join("(missing)" if value is None else value_text(value) for value in vector)
