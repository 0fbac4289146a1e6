"""A fitted model as a table: coefficients with errors and intervals.

Enters: estimates and their covariance. Leaves: rows, Arrow, pandas, Polars, text, HTML, a picture.
Must not know: how they were fitted.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from countveil.asking.result import as_pandas, as_polars
from countveil.display import MOST_ROWS, Part, html_of, remainder, text_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from countveil.report.bars import Picture

Floats = NDArray[np.float64]
FIELDS = ("coef", "std_error", "z", "p", "low", "high")
_FORMS = ("{:.4g}", "{:.3g}", "{:.2f}", "{:.3f}", "{:.4g}", "{:.4g}")


@dataclass(frozen=True, eq=False, repr=False)
class Regression:
    """The coefficients of a model, with standard errors and intervals. Print it.

    A coefficient is NaN where it is hidden: the release shows too little of the rows behind it.
    `fit["age"]` has one coefficient with its errors.

    Attributes:
        formula: What was fitted.
        family: linear, logistic, multinomial or poisson.
        about: What errors are about, "population" or "table".
        level: The level of the intervals.
        terms: The name of each coefficient, in a multinomial model with its category.
        reference: The category that others are compared with, in a multinomial model.
        estimates: The coefficients.
        covariance: That of all coefficients, in this order.
        rows_used: How many rows the model was fitted on.
        warnings: What has to be said about the fit.

    Example:
        >>> fit = release.regress("age ~ C(gender)")
        >>> fit.columns
        ['term', 'coef', 'std_error', 'z', 'p', 'low', 'high']
        >>> fit.rows_used
        5000
    """

    formula: str
    family: str
    about: str
    level: float
    terms: Sequence[tuple[Any, ...]]
    reference: Any
    estimates: Floats
    covariance: Floats
    rows_used: int
    warnings: Sequence[str] = ()

    @property
    def columns(self) -> list[str]:
        """Names of all columns."""
        names = ["category", "term"] if self.reference is not None else ["term"]
        return [*names, *FIELDS]

    @cached_property
    def std_errors(self) -> Floats:
        """The standard error of each coefficient."""
        errors: Floats = np.sqrt(np.diag(self.covariance))
        return errors

    @cached_property
    def fields(self) -> list[Floats]:
        """The columns of numbers, in the order of `FIELDS`."""
        z = NormalDist().inv_cdf((1 + self.level) / 2)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = self.estimates / self.std_errors
        p = np.array([math.erfc(abs(each) / math.sqrt(2)) for each in ratio])
        half = z * self.std_errors
        return [
            self.estimates, self.std_errors, ratio, p, self.estimates - half, self.estimates + half
        ]  # fmt: skip

    def __len__(self) -> int:
        return len(self.terms)

    def __getitem__(self, term: Any) -> dict[str, float]:
        """One coefficient by its name, or by category and name, with its errors."""
        wanted = term if isinstance(term, tuple) else (term,)
        place = list(self.terms).index(wanted)
        return {
            name: float(column[place]) for name, column in zip(FIELDS, self.fields, strict=True)
        }

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Each coefficient as a tuple in the order of `columns`."""
        columns = [[_known(number) for number in column.tolist()] for column in self.fields]
        for term, *numbers in zip(self.terms, *columns, strict=True):
            yield (*term, *numbers)

    def to_dicts(self) -> list[dict[str, Any]]:
        """Each coefficient as a dictionary."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows()]

    def ratios(self) -> list[dict[str, Any]]:
        """exp(coefficient) with its interval: odds ratios, or ratios of rates."""
        names = self.columns[: -len(FIELDS)]
        columns = [np.exp(self.fields[place]).tolist() for place in (0, 4, 5)]
        return [
            {**dict(zip(names, term, strict=True)), "ratio": ratio, "low": low, "high": high}
            for term, ratio, low, high in zip(self.terms, *columns, strict=True)
        ]

    @property
    def title(self) -> str:
        """What was fitted, in one line."""
        against = "" if self.reference is None else f", categories against {self.reference}"
        return f"{self.formula}   ({self.family}, {self.rows_used:,} rows{against})"

    def _parts(self, most: int | None = None) -> list[Part]:
        """What it shows to people."""
        rows = list(self._readable_rows())
        return [self.title, (self.columns, rows[:most]), self._errors_are, *self.warnings]

    def __str__(self) -> str:
        return text_of(self._parts())

    def __repr__(self) -> str:
        text = text_of(self._parts(MOST_ROWS)).strip("\n")
        if len(self) > MOST_ROWS:
            text += f"\n{remainder(len(self), MOST_ROWS)}; print() shows all"
        return text

    def _repr_html_(self) -> str:
        return html_of(self._parts())

    def _readable_rows(self) -> Iterator[tuple[Any, ...]]:
        for row in self.rows():
            numbers = row[-len(FIELDS) :]
            if numbers[0] is None:
                yield (*row[: -len(FIELDS)], "hidden", *[None] * (len(FIELDS) - 1))
            else:
                texts = (form.format(n) for form, n in zip(_FORMS, numbers, strict=True))
                yield (*row[: -len(FIELDS)], *texts)

    @property
    def _errors_are(self) -> str:
        whom = {
            "population": "the population that the rows are a sample of",
            "table": "the table: the same fit on its true rows",
        }[self.about]
        return f"Errors and {self.level:.0%} intervals are about {whom}."

    def plot(self, beside: Mapping[str, Mapping[str, float]] | None = None) -> Picture:
        """Coefficients with intervals as a picture; the intercepts are left out.

        Args:
            beside: Coefficients of other fits by their names, to be compared with.

        Returns:
            A picture that a notebook shows; `.save("figure.svg")` keeps it.
        """
        from countveil.asking.models.picture import Shown, coefficient_picture

        shown = []
        for row in self.rows():
            if row[-len(FIELDS) - 1] != "Intercept":
                label = ": ".join(map(str, row[: -len(FIELDS)]))
                shown.append(Shown(label, row[-len(FIELDS)], row[-2], row[-1]))
        return coefficient_picture(self.title, "release", shown, beside or {})

    def to_arrow(self) -> pa.Table:
        """As an Arrow table."""
        import pyarrow as pa

        labels = [pa.array(list(column)) for column in zip(*self.terms, strict=True)]
        numbers = (pa.array(column, mask=np.isnan(column)) for column in self.fields)
        return pa.table([*labels, *numbers], self.columns)

    def to_pandas(self) -> pd.DataFrame:
        """As a pandas data frame (needs pandas)."""
        return as_pandas(self.to_arrow())

    def to_polars(self) -> pl.DataFrame:
        """As a Polars data frame (needs Polars)."""
        return as_polars(self.to_arrow())


def _known(number: float) -> float | None:
    return None if math.isnan(number) else number
