"""The results of a comparison: one line per method.

Enters: figures. Leaves: the same as tables, plain values and sentences. Must not know: how they
were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from countveil.comparing.baselines.measure import ASKED_ROWS, QUANTILES, Figures, Mean
from countveil.display import text_table, visible

ACCURACY = "Average relative error of counts of this share of the rows:"
PROTECTION = "What a linked row reveals, and how often small counts are off:"
FRONTIER = "Mean belief and accuracy, beside the best that any method could do:"


_PLACE = ("mean_belief", "error", "least_error", "distance")


@dataclass(frozen=True, slots=True)
class Compared:
    """One method; without figures, `about` says why there are none."""

    method: str
    about: str
    figures: Figures | None


@dataclass(frozen=True)
class Comparison:
    """All methods on one column; print it.

    `agreement` is how likely two random rows have the same one of the `values`.
    """

    column: str
    rows: int
    of_rows: int
    ell: int
    releases: int
    predicates: int
    bins: Sequence[tuple[float, float]]
    methods: Sequence[Compared]
    notes: Sequence[str] = ()
    values: int = 0
    agreement: float = 0.0

    def __getitem__(self, method: str) -> Compared:
        return next(line for line in self.methods if line.method == method)

    def accuracy_table(self) -> tuple[list[str], list[list[Any]]]:
        """Errors by selectivity, in percent."""
        names = ["method", *(bin_text(*edges) for edges in self.bins)]
        rows = [
            [line.method, *(_percent(error) for error in line.figures.errors)]
            for line in self.methods
            if line.figures is not None
        ]
        return names, rows

    def protection_table(self) -> tuple[list[str], list[list[Any]]]:
        """Beliefs, candidates, small counts."""
        names = ["method", "belief", "top 1%", "candidates", "small counts"]
        rows = [
            [
                line.method,
                _percent(line.figures.belief),
                _percent(line.figures.most_believed),
                f"{line.figures.candidates.value:.1f}",
                _percent(line.figures.small_off),
            ]
            for line in self.methods
            if line.figures is not None
        ]
        return names, rows

    def frontier_table(self) -> tuple[list[str], list[list[Any]]]:
        """The mean belief, and how far from the bound on accuracy a method is."""
        names = ["method", "mean belief", "error", "least error", "over the bound"]
        rows: list[list[Any]] = []
        for line in self.methods:
            place = None if line.figures is None else line.figures.frontier
            if place is None:
                continue
            rows.append([
                line.method,
                f"{place.mean_belief:.2%}",
                _number(place.error, ",.1f"),
                _number(place.least_error, ",.1f"),
                _number(place.distance, ",.3f"),
            ])  # fmt: skip
        return names, rows

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Everything in one table, as numbers."""
        kinds = ["belief", "most_believed", "candidates", "small_off"]
        errors = [f"error_{bin_text(*edges)}" for edges in self.bins]
        names = ["method"]
        for name in (*errors, *kinds):
            names += [name, f"{name}_std_error"]
        measured = len(names) // 2
        rows: list[list[Any]] = []
        for line in self.methods:
            means: list[Mean | None] = [None] * measured
            if line.figures is not None:
                means = [*line.figures.errors, *(getattr(line.figures, kind) for kind in kinds)]
            pairs = [(None, None) if m is None else (m.value, m.std_error) for m in means]
            place = None if line.figures is None else line.figures.frontier
            rows.append([
                line.method,
                *(number for pair in pairs for number in pair),
                *(None if place is None else getattr(place, kind) for kind in _PLACE),
            ])  # fmt: skip
        return [*names, *_PLACE], rows

    def as_dict(self) -> dict[str, Any]:
        """Everything as plain values."""
        content = asdict(self)
        content["bins"] = [{"from": low, "to": high} for low, high in self.bins]
        content["parts"] = list(QUANTILES)
        return content

    def head(self) -> str:
        """What was compared."""
        some = f" ({self.rows:,} of them, spread evenly)" if self.rows < self.of_rows else ""
        return f"{self.column}: {self.of_rows:,} rows{some}, ell = {self.ell}"

    def basis(self) -> str:
        """What the figures rest on."""
        spread = ", ± their standard error" if self.releases > 1 else ""
        return (
            f"Means over {self.releases} publications by each method{spread}; every one was "
            f"asked the same {self.predicates} predicates of one to three other columns, for each "
            f"value (- where the table has too few counts of that size)."
        )

    def terms(self) -> str:
        """What the columns of the second table mean."""
        return (
            "'belief': in the true value of a row, by somebody who links it to its person and "
            "knows of the person only that, on average over the rows; 'top 1%': at least this much "
            "for the 1% most exposed rows; 'candidates': among how many values the true one "
            "hides, for half of the rows; 'small counts': how likely a count of 1 to 10 is off by "
            "more than 30%."
        )

    def frontier_terms(self) -> str:
        """What the columns of the third table mean."""
        return (
            f"'mean belief': in the true value, by somebody who knows which share of the table has "
            f"each value and links a row. 'error': the root of the mean variance of the counts of "
            f"all values among {ASKED_ROWS:,} rows like the table, by the best unbiased estimate. "
            f"'least error': what no way to publish rows one by one gets below at that belief; "
            f"'over the bound': the ratio of the two variances. All of these are computed, not "
            f"measured (- where there is no unbiased estimate, or no rows are published: the mean "
            f"belief is then the measured one)."
        )

    def abouts(self) -> list[str]:
        """A sentence per method, then the notes."""
        return [*(f"{line.method}: {line.about}" for line in self.methods), *self.notes]

    def to_html(self) -> str:
        """A page with tables and charts."""
        from countveil.comparing.pictures import comparison_page

        return comparison_page(self)

    def __str__(self) -> str:
        parts = [self.head(), "", ACCURACY, text_table(*self.accuracy_table()), self.basis(), ""]
        parts += [PROTECTION, text_table(*self.protection_table()), self.terms(), ""]
        parts += [FRONTIER, text_table(*self.frontier_table()), self.frontier_terms(), ""]
        return visible("\n".join([*parts, *(f"- {text}" for text in self.abouts())])) + "\n"

    def __repr__(self) -> str:
        return str(self)


def bin_text(low: float, high: float) -> str:
    """A range of selectivities: 0.5-1%."""
    return f"{100 * low:.4g}-{100 * high:.4g}%"


def _number(value: float | None, form: str) -> str | None:
    return None if value is None else format(value, form)


def _percent(mean: Mean | None) -> str | None:
    """As many digits as help; Laplace noise can be a hundred times the count."""
    if mean is None:
        return None
    digits = 1 if mean.value < 1 else 0
    spread = "" if mean.std_error is None else f" ±{100 * mean.std_error:.{digits}f}"
    return f"{100 * mean.value:,.{digits}f}%{spread}"
