"""The sensitive columns of a model: the classes of their true values, and their channels.

Enters: the columns and conditions that a model names, what the release says of them. Leaves: one
`Axis` for every channel. Must not know: rows, families.

Values that a model cannot tell apart are one class: for a model that asks of occupation only
whether it is nurse, there are two. A class has one value of every sensitive column or condition
that the model names; None where it is missing.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.errors import QueryError, nearest
from countveil.maths.models.value_classes import (
    HiddenValueError,
    ValueClasses,
    classes_of,
    classes_of_batches,
)
from countveil.sql.query.expressions import Formula, SensitiveTest, Truth, reduce, sensitive_tests
from countveil.sql.query.plan import MOST_CELLS

if TYPE_CHECKING:
    from countveil.asking.models.source import ModelSource

Numbers = NDArray[np.int64]


@dataclass(frozen=True)
class Axis:
    """One channel: the columns that rows publish through it, and their classes.

    `batch` is the plain column with the number of each row's batch, and `numbers` are its values.
    `labels[class]` has the value of every name of the model.
    """

    columns: tuple[str, ...]
    domains: tuple[tuple[Any, ...], ...]
    classes: ValueClasses
    labels: tuple[Mapping[str, Any], ...]
    batch: str | None = None
    numbers: tuple[int, ...] = ()

    def places(self, published: Sequence[Numbers], batches: Numbers | None) -> Numbers:
        """The published place of rows, from the places of their values in the domains."""
        sizes = tuple(len(domain) for domain in self.domains)
        place = np.ravel_multi_index(tuple(published), sizes).astype(np.int64)
        return place if batches is None else batches * math.prod(sizes) + place


def axes_of(
    release: ModelSource, names: Sequence[str], conditions: Mapping[str, Formula]
) -> list[Axis]:
    """The channels of the sensitive columns that are named, or that conditions are about."""
    about: dict[str, dict[str, Formula]] = {}
    for name in names:
        if name in release.manifest.sensitive:
            about.setdefault(name, {})
    for name, formula in conditions.items():
        for column in dict.fromkeys(test.column for test in sensitive_tests(formula)):
            about.setdefault(column, {})[name] = formula
    direct = [name for name in about if name in names]
    labelled = {
        name: _labelled(name, release.manifest.sensitive[name].domain, tests, name in direct)
        for name, tests in about.items()
    }
    return [_axis(release, columns, labelled) for columns in _by_channel(release, list(about))]


def _by_channel(release: ModelSource, names: Sequence[str]) -> list[tuple[str, ...]]:
    """The columns by what was published together."""
    sets = [tuple(c for c in columns if c in names) for columns in release.manifest.together]
    joined = {column for columns in sets for column in columns}
    alone = [(name,) for name in names if name not in joined]
    return [*(columns for columns in sets if columns), *alone]


def _labelled(
    column: str, domain: tuple[Any, ...], tests: Mapping[str, Formula], direct: bool
) -> list[dict[str, Any]]:
    """What a model sees of every value: itself, and whether it meets the conditions."""
    values = []
    for value in domain:
        label = {column: value} if direct else {}
        for name, formula in tests.items():
            label[name] = _truth(formula, value, domain)
        values.append(label)
    return values


def _truth(formula: Formula, value: Any, domain: tuple[Any, ...]) -> bool | None:
    truths = {}
    for test in sensitive_tests(formula):
        _check_known(test, domain)
        truths[test] = test.holds(value, domain)
    result = reduce(formula, truths)
    if not isinstance(result, Truth):
        raise QueryError(
            "A condition of a formula is about a sensitive column or about plain ones. Write two "
            "conditions and their product, such as (age >= 60):(occupation = 'nurse')."
        )
    return result.value


def _check_known(test: SensitiveTest, domain: tuple[Any, ...]) -> None:
    if test.test in ("in", "not_in"):
        for value in test.values:
            if value not in domain:
                hint = nearest(str(value), [str(known) for known in domain if known is not None])
                raise QueryError(
                    f"The release has no row with {test.column} = {value!r}, so nothing can be "
                    f"fitted to it. {hint}"
                )


def _axis(
    release: ModelSource, columns: tuple[str, ...], labelled: Mapping[str, list[dict[str, Any]]]
) -> Axis:
    sensitive = release.manifest.sensitive
    domains = tuple(sensitive[name].domain for name in columns)
    _check_groups(release, columns)
    if math.prod(len(domain) for domain in domains) > MOST_CELLS:
        raise QueryError(
            f"{' and '.join(map(repr, columns))} were published together and have more than "
            f"{MOST_CELLS:,} combinations of values. Use fewer of them in one model."
        )
    labels = [
        {key: value for each in line for key, value in each.items()}
        for line in itertools.product(*(labelled[name] for name in columns))
    ]
    numbers: dict[Any, int] = {}
    class_of = np.array(
        [numbers.setdefault(tuple(label.items()), len(numbers)) for label in labels], np.int64
    )
    values = tuple(dict(key) for key in numbers)
    entry = next((e for e in release.manifest.batches if set(columns) & set(e.columns)), None)
    try:
        if entry is None or len(entry.drawn) == 1:
            view = release.views(columns, domains)[0]
            return Axis(columns, domains, classes_of(view, class_of, len(values)), values)
        views = release.views(columns, domains)
        classes = classes_of_batches(views, class_of, len(values))
    except HiddenValueError as error:
        raise _unclear(columns, domains, error) from None
    drawn = tuple(batch.number for batch in entry.drawn)
    return Axis(columns, domains, classes, values, entry.batch, drawn)


def _check_groups(release: ModelSource, columns: Sequence[str]) -> None:
    for name in columns:
        if release.manifest.sensitive[name].groups == "anatomy":
            raise QueryError(
                f"The greedy groups of column {name!r} leave a channel that cannot be undone for "
                f"single rows, so there are no weights and no models of it. 'release.sql' "
                f"estimates its counts, with errors that say what they are worth."
            )
    if len(columns) > 1 and release.manifest.batches:
        raise QueryError(
            f"{' and '.join(map(repr, columns))} were drawn together in batches; models of such a "
            f"release use one of them at a time."
        )


def _unclear(
    columns: Sequence[str], domains: Sequence[tuple[Any, ...]], error: HiddenValueError
) -> QueryError:
    sizes = tuple(len(domain) for domain in domains)
    places = np.unravel_index(int(error.values[0]), sizes)
    value = [domain[place] for domain, place in zip(domains, places, strict=True)]
    return QueryError(
        f"{' and '.join(map(repr, columns))}: several values, {value[0]!r} among them, are so "
        f"frequent that the release does not tell them apart. Ask for conditions that leave them "
        f"together, such as {columns[0]} = VALUE for one of the others."
    )


def column_axis(release: ModelSource, column: str, places: Sequence[int]) -> Axis:
    """A column whose first classes are single values, and the last one all others."""
    domain = release.manifest.sensitive[column].domain
    label_of = {place: number for number, place in enumerate(places)}
    labels = [{column: label_of.get(place, len(places))} for place in range(len(domain))]
    order = sorted(range(len(domain)), key=lambda place: labels[place][column])
    axis = _axis(release, (column,), {column: labels})
    # Classes are numbered as they occur in the domain.
    first = [next(n for n, each in enumerate(axis.labels) if each == labels[p]) for p in order]
    arranged = list(dict.fromkeys(first))
    weights = axis.classes.weights[arranged]
    numbers = np.argsort(arranged)[axis.classes.class_of]
    classes = replace(axis.classes, weights=weights, class_of=numbers, rest=-1)
    return replace(axis, classes=classes)
