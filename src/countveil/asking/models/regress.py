"""A regression, from its formula to its coefficients.

    read the formula -> count rows -> design -> fit -> errors -> `Regression`

Enters: a release and a formula. Leaves: a `Regression`, or a refusal that says why there is none.
Must not know: engines, the arithmetic of fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.models.counted import CountedRows, count_rows
from countveil.asking.models.design import Design, make_design
from countveil.asking.models.formula import ModelFormula, formulaic_formula, read_formula
from countveil.asking.models.regression import Regression
from countveil.asking.models.source import ModelSource
from countveil.asking.models.true_values import Axis, axes_of
from countveil.errors import QueryError, SettingsError
from countveil.maths.models.families import FAMILIES
from countveil.maths.models.fit import Fit, NoEstimateError, fit
from countveil.maths.models.sandwich import covariances, information_noise
from countveil.sql.query.expressions import Formula, sensitive_tests

Floats = NDArray[np.float64]
TARGETS = ("population", "table")

# How well the release must show the rows that a coefficient rests on: the relative standard error
# of its information.
_UNCERTAIN, _UNKNOWN = 0.2, 0.5


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How to fit, as the analyst chose."""

    family: str
    where: str
    weighted: bool
    about: str
    level: float

    def __post_init__(self) -> None:
        if self.family not in FAMILIES:
            listed = ", ".join(FAMILIES)
            raise SettingsError(f"There is no family {self.family!r}. Available: {listed}.")
        if self.about not in TARGETS:
            raise SettingsError(
                f"Errors are about the 'population' or about the 'table', not {self.about!r}."
            )
        if not 0 < self.level < 1:
            raise SettingsError(f"level must be between 0 and 1, such as 0.95; got {self.level}.")


def regress(source: ModelSource, text: str, settings: ModelSettings) -> Regression:
    """Fit a model to a release."""
    formulaic_formula()
    weight = source.manifest.weight if settings.weighted else None
    if settings.weighted and weight is None:
        raise SettingsError(
            "This release has no survey weights: its publisher named no weight column. Fit without "
            "weights."
        )
    formula = read_formula(text, source.names)
    conditions = {name: source.conditions.formula(sql) for name, sql in formula.conditions.items()}
    names = list(dict.fromkeys([*formula.outcome_names, *formula.predictor_names]))
    axes = axes_of(source, names, conditions)
    rows = _counted(source, names, conditions, axes, settings.where, weight)
    if rows.count.sum() == 0:
        raise QueryError("No row of the release is left for this model.")
    design = make_design(formula, settings.family, rows, axes, _class_numbers(source, formula))
    try:
        fitted = fit(design.data, FAMILIES[settings.family])
    except NoEstimateError as error:
        raise _refusal(error, design) from None
    return _result(formula, settings, rows, design, fitted)


def _counted(
    source: ModelSource,
    names: Sequence[str],
    conditions: Mapping[str, Formula],
    axes: Sequence[Axis],
    where: str,
    weight: str | None,
) -> CountedRows:
    plain = [n for n in names if n in source.names and n not in source.manifest.sensitive]
    tests = {
        name: formula for name, formula in conditions.items() if not any(sensitive_tests(formula))
    }
    return count_rows(source, plain, tests, axes, where, weight)


def _class_numbers(source: ModelSource, formula: ModelFormula) -> dict[str, dict[Any, float]]:
    """The numbers that the classes of a sensitive outcome stand for."""
    numbers = {}
    for name in formula.outcome_names:
        entry = source.manifest.sensitive.get(name)
        if entry is not None and entry.classes is not None:
            pairs = zip(entry.domain, source.columns.numbers(name, entry.domain), strict=True)
            numbers[name] = {value: np.nan if number is None else number for value, number in pairs}
    return numbers


def _result(
    formula: ModelFormula,
    settings: ModelSettings,
    rows: CountedRows,
    design: Design,
    fitted: Fit,
) -> Regression:
    both = covariances(fitted)
    covariance = both.population if settings.about == "population" else both.table
    noise = information_noise(fitted)
    terms = _terms(design)
    # Without a sensitive column nothing is uncertain about the table but what rounding leaves.
    rounding = 1e-9 * np.diag(both.population)
    exact = np.abs(np.diag(covariance)) <= rounding
    covariance = np.where(exact | exact[:, None], 0.0, covariance)
    hidden = ~(noise <= _UNKNOWN) | (np.diag(covariance) < 0)
    if hidden.all():
        raise QueryError(
            f"The release shows too little of the rows behind "
            f"{_listed(np.flatnonzero(hidden), terms)} for a model. Join categories with few rows, "
            f"or ask for one condition at a time."
        )
    return Regression(
        formula=formula.text,
        family=settings.family,
        about=settings.about,
        level=settings.level,
        terms=tuple(terms),
        reference=design.categories[0] if design.categories else None,
        estimates=np.where(hidden, np.nan, fitted.coefficients.reshape(-1)),
        covariance=np.where(hidden | hidden[:, None], np.nan, covariance),
        rows_used=int(rows.count.sum()),
        warnings=tuple(_warnings(noise, hidden, terms, rows)),
    )


def _terms(design: Design) -> list[tuple[Any, ...]]:
    """The names of all coefficients, with their category in a multinomial model."""
    if not design.categories:
        return [(name,) for name in design.names]
    return [(category, name) for category in design.categories[1:] for name in design.names]


def _warnings(
    noise: Floats,
    hidden: NDArray[np.bool_],
    terms: Sequence[tuple[Any, ...]],
    rows: CountedRows,
) -> list[str]:
    notes = []
    if hidden.any():
        notes.append(
            f"Hidden: the release shows too little of the rows behind "
            f"{_listed(np.flatnonzero(hidden), terms)}."
        )
    uncertain = np.flatnonzero((noise > _UNCERTAIN) & ~hidden)
    if uncertain.size:
        notes.append(
            f"Few rows are behind {_listed(uncertain, terms)}: their errors are rough, and their "
            f"estimates may be biased."
        )
    if rows.dropped:
        notes.append(f"{rows.dropped:,} rows miss a value of a plain column and were left out.")
    return notes


def _listed(places: NDArray[np.int64], terms: Sequence[tuple[Any, ...]], most: int = 5) -> str:
    names = [": ".join(map(str, terms[place])) for place in places.tolist()]
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(map(repr, names[:most])) + more


def _refusal(error: NoEstimateError, design: Design) -> QueryError:
    names = _listed(error.coefficients, _terms(design)) if error.coefficients.size else ""
    return QueryError(
        {
            "no rows": "The release shows no rows for this model.",
            "empty": (
                f"There is no estimate: the release shows too few rows behind {names}, so that "
                f"their number cannot be told from none. Join categories, or leave them out."
            ),
            "dependent": (
                f"The predictors depend on each other: {names} follow from the others. Leave one "
                f"of them out."
            ),
            "not converged": (
                f"There is no estimate: the fit does not come to an end{' at ' if names else ''}"
                f"{names}. A category in which the outcome hardly occurs, or a number of very "
                f"different size, may be the reason: join categories, or scale the number."
            ),
            "separated": (
                f"There is no estimate: the outcome is, as far as the release shows, always or "
                f"never the case somewhere, and {names} has no finite value. Join categories, or "
                f"leave it out."
            ),
        }[error.reason]
    )
