"""Names, kinds, orders and classes of the release's columns, as a query may use them.

Enters: the manifest's columns, domains and class edges. Leaves: a column for a name, a value for a
literal, the classes for a comparison. Must not know: SQL syntax.
"""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from countveil.errors import QueryError, nearest, option
from countveil.release import ClassEdges, Manifest, Preparation, PublishedColumn, kind_of
from countveil.release.values import BOOLEAN, DATE, NUMBER, TEXT, TIMESTAMP

if TYPE_CHECKING:
    from countveil.sql.query.expressions import Expression

Evaluate = Callable[["Expression", Mapping[str, Sequence[Any]]], list[Any]]
_ORDERED_KINDS = (NUMBER, DATE, TIMESTAMP)


class ReleaseColumns:
    """Looks up columns; as in SQL, case matters only where names differ in nothing else."""

    def __init__(
        self,
        columns: Sequence[PublishedColumn],
        domains: Mapping[str, tuple[Any, ...]] | None = None,
        classes: Mapping[str, ClassEdges] | None = None,
        where: str = "the release",
        values: Mapping[str, tuple[float, ...]] | None = None,
        preparation: Preparation | None = None,
        occurs: Callable[[PublishedColumn, Any], bool] | None = None,
        together: Sequence[Sequence[str]] = (),
        occurring: Callable[..., Any] | None = None,
        evaluate: Evaluate | None = None,
        mergeable: bool = False,
    ) -> None:
        """`occurs` says whether a row publishes a value of a plain column.

        `together` has the columns that were published together, and `occurring` gives the
        combinations of some of them that a row publishes (`axes.Occurring`). `evaluate` computes
        expressions of columns whose values are given. `mergeable`: values that a question does not
        tell apart may be one.
        """
        self.mergeable = mergeable
        self._evaluate = evaluate
        self.together, self.occurring = together, occurring
        self._where = where
        self._preparation, self._occurs = preparation, occurs
        self.published = columns
        self._by_name = {column.name: column for column in columns}
        self._domains = dict(domains or {})
        self._classes = dict(classes or {})
        self._values = dict(values or {})

    @classmethod
    def of(
        cls,
        manifest: Manifest,
        occurs: Callable[[PublishedColumn, Any], bool],
        occurring: Callable[..., Any],
        evaluate: Evaluate,
    ) -> ReleaseColumns:
        """The columns of a release."""
        entries = manifest.sensitive
        return cls(
            manifest.columns,
            {name: entry.domain for name, entry in entries.items()},
            {name: e.classes for name, e in entries.items() if e.classes is not None},
            values={n: e.class_values for n, e in entries.items() if e.class_values is not None},
            preparation=manifest.preparation,
            occurs=occurs,
            together=manifest.together,
            occurring=occurring if manifest.together else None,
            evaluate=evaluate,
            mergeable=not manifest.batches,
        )

    def find(self, name: str) -> PublishedColumn:
        """The column of this name, or the only one that differs in case alone."""
        if name in self._by_name:
            return self._by_name[name]
        same = [known for known in self._by_name if known.lower() == name.lower()]
        if len(same) == 1:
            return self._by_name[same[0]]
        if same:
            listed = " and ".join(f'"{known}"' for known in same)
            raise QueryError(f"{name!r} could be {listed}. Write the exact name in double quotes.")
        hint = nearest(name, self._by_name)
        raise QueryError(f"There is no column {name!r} in {self._where}. {hint}")

    def knows(self, name: str) -> bool:
        """Whether there is a column of this name."""
        return any(known.lower() == name.lower() for known in self._by_name)

    def kind(self, column: PublishedColumn) -> str:
        """The kind of the column's values."""
        return kind_of(column.type)

    def domain(self, name: str) -> tuple[Any, ...]:
        """The values of a sensitive column."""
        return self._domains.get(name, ())

    def evaluated(self, expression: Expression, name: str) -> list[Any]:
        """An expression of one sensitive column, for every value of its domain."""
        if self._evaluate is None:
            raise QueryError(
                f"Column {name!r} is sensitive and cannot be part of an expression here."
            )
        return self._evaluate(expression, {name: self.domain(name)})

    def evaluated_rows(
        self, expression: Expression, columns: Mapping[str, Sequence[Any]]
    ) -> list[Any]:
        """An expression of columns whose values are given, for every row."""
        if self._evaluate is None:
            raise QueryError("Lookup tables cannot be used here.")
        return self._evaluate(expression, columns)

    def ordered_domain(self, column: PublishedColumn) -> tuple[Any, ...] | None:
        """The values of a sensitive column in their order; None if they have none."""
        if self.kind(column) in _ORDERED_KINDS or column.name in self._classes:
            return tuple(value for value in self.domain(column.name) if value is not None)
        prepared = self._preparation
        if prepared is not None and prepared.is_in_periods(column.name):
            return tuple(value for value in self.domain(column.name) if value is not None)
        return None

    def check_asked(self, column: PublishedColumn, comparison: str, value: Any) -> None:
        """Refuse a value that was replaced before publishing: its count would look like 0."""
        prepared = self._preparation
        domain = self.domain(column.name)
        if prepared is None or value is None or value in domain:
            return
        refusal = prepared.refusal(column.name, comparison, value)
        by_rule = prepared.hidden_rule(column.name) is not None
        if refusal is None and by_rule and comparison in ("equal", "unequal", "in"):
            known = column.role == "plain" and self._publishes(column, value)
            refusal = None if known else prepared.unlisted(column.name, value)
        if refusal is not None:
            raise QueryError(refusal)

    def check_pattern(self, name: str, pattern: Any) -> None:
        """Refuse a pattern of LIKE that a value meets which was replaced before publishing."""
        if self._preparation is not None and isinstance(pattern, str):
            refusal = self._preparation.refusal_of_pattern(self.find(name).name, pattern)
            if refusal is not None:
                raise QueryError(refusal)

    def _publishes(self, column: PublishedColumn, value: Any) -> bool:
        """Whether a row publishes a value of a plain column, as far as it is known."""
        return self._occurs is None or self._occurs(column, value)

    def plain_classes(self, column: PublishedColumn) -> tuple[ClassEdges, Sequence[str]] | None:
        """The edges and labels of the classes of a plain column, if it was put into classes."""
        prepared = self._preparation
        classes = None if prepared is None else prepared.classes(column.name)
        if classes is None or column.role == "sensitive":
            return None
        return ClassEdges(classes.edges, classes.whole), classes.labels

    def classes(self, column: PublishedColumn) -> ClassEdges | None:
        """The edges of the column's classes, if its numbers were put into classes."""
        return self._classes.get(column.name)

    def has_numbers(self, column: PublishedColumn) -> bool:
        """Whether the values of a sensitive column stand for numbers, so that they have a mean."""
        return self.kind(column) == NUMBER or column.name in self._classes

    def numbers(self, name: str, domain: Sequence[Any]) -> list[float | None]:
        """The number that each value stands for: itself, or what was declared for its class.

        Without a declaration, the midpoint; a class without an end has none, and no missing value
        has.
        """
        classes = self._classes.get(name)
        if classes is None:
            return [None if value is None else float(value) for value in domain]
        labels = [value for value in self.domain(name) if value is not None]
        numbers = self._values.get(name) or class_midpoints(classes)
        known = dict(zip(labels, numbers, strict=True))
        return [known.get(value) for value in domain]

    def no_number(self, name: str, value: Any) -> QueryError:
        """The refusal of an average over a class without an end."""
        classes = self._classes[name]
        low, high = classes.edges[0], classes.edges[-1]
        inside = f"{name} >= {low:.12g} AND {name} < {high:.12g}"
        hint = f"Leave the classes without an end out (WHERE {inside}), or" if low < high else "To"
        return QueryError(
            f"The class {value!r} of column {name!r} has no end, so nobody knows which number "
            f"stands for it. {hint} ask the publisher to declare the numbers of the classes "
            f"({option('class_values')})."
        )


def class_midpoints(classes: ClassEdges) -> tuple[float | None, ...]:
    """The middle of every class that has two ends; of whole numbers, the middle of these."""
    last = 1.0 if classes.whole else 0.0
    pairs = zip(classes.edges, classes.edges[1:], strict=False)
    return (None, *((low + high - last) / 2 for low, high in pairs), None)


def matching_classes(
    name: str, classes: ClassEdges, labels: Sequence[str], comparison: str, numbers: Sequence[float]
) -> tuple[str, ...]:
    """The labels of the classes whose numbers all meet the comparison.

    A comparison that would cut through a class is refused: the release does not show its answer.
    """
    if comparison == "between":
        low, high = numbers
        from_low = matching_classes(name, classes, labels, "at_least", [low])
        to_high = matching_classes(name, classes, labels, "at_most", [high])
        return tuple(label for label in from_low if label in to_high)
    (number,) = numbers
    if comparison in ("equal", "unequal"):
        raise QueryError(
            f"Column {name!r} is published in classes, so single numbers of it are not known. "
            f"{_supported(name, classes, labels)}"
        )
    if classes.whole:
        # Among whole numbers, above 29 is from 30 on.
        comparison, number = {
            "greater": ("at_least", math.floor(number) + 1),
            "at_least": ("at_least", math.ceil(number)),
            "less": ("less", math.ceil(number)),
            "at_most": ("less", math.floor(number) + 1),
        }[comparison]
    if number not in classes.edges or comparison in ("greater", "at_most"):
        raise QueryError(
            f"This comparison would cut through a class of column {name!r}. "
            f"{_supported(name, classes, labels)}"
        )
    place = classes.edges.index(number) + 1
    return tuple(labels[place:] if comparison == "at_least" else labels[:place])


def _supported(name: str, classes: ClassEdges, labels: Sequence[str]) -> str:
    edges = ", ".join(f"{edge:.12g}" for edge in classes.edges[:12])
    more = ", ..." if len(classes.edges) > 12 else ""
    return (
        f"It can be compared with its edges, such as {name} >= {classes.edges[0]:.12g} (edges: "
        f"{edges}{more}), and with its classes, such as {name} = {labels[0]!r}."
    )


def as_kind(value: Any, kind: str, whose: str) -> Any:
    """A literal as a value of this kind; refuse what can never be one."""
    if isinstance(value, str) and kind in (DATE, TIMESTAMP):
        try:
            return (dt.date if kind == DATE else dt.datetime).fromisoformat(value.strip())
        except ValueError as error:
            example = "2024-12-31" if kind == DATE else "2024-12-31 18:30:00"
            raise QueryError(
                f"{whose} is about {kind}s; {_described(value)} is not one. Write it like "
                f"'{example}'."
            ) from error
    fits = {
        NUMBER: isinstance(value, int | float) and not isinstance(value, bool),
        TEXT: isinstance(value, str),
        BOOLEAN: isinstance(value, bool),
        DATE: isinstance(value, dt.date),
        TIMESTAMP: isinstance(value, dt.datetime),
    }.get(kind, False)
    if not fits:
        hint = " Put text in single quotes." if kind == TEXT else ""
        raise QueryError(
            f"{whose} is about {kind} values, but is compared with {_described(value)}.{hint}"
        )
    return value


def _described(value: Any) -> str:
    if isinstance(value, bool):
        return f"the truth value {str(value).upper()}"
    if isinstance(value, str):
        return f"the text {value!r}" if len(value) <= 60 else f"the text {value[:57]!r}..."
    return f"the number {value}"
