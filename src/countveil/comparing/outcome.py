"""The results of a comparison: one line per method.

Enters: figures. Leaves: the same as tables, plain values and sentences. Must not know: how they
were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from countveil.comparing.baselines.measure import ASKED_ROWS, QUANTILES, Figures, Mean
from countveil.display import Part, html_of, text_of, visible

ACCURACY = "Average relative error of counts of this share of the rows:"
PROTECTION = "What a linked row reveals, and how often small counts are off:"
FRONTIER = "Mean belief and accuracy, beside the best that any method could do:"


_PLACE = ("mean_belief", "error", "least_error", "distance", "odds")


@dataclass(frozen=True, slots=True)
class Compared:
    """One method of a comparison.

    Attributes:
        method: Its name.
        about: What it does; without figures, why there are none.
        figures: What was measured.
    """

    method: str
    about: str
    figures: Figures | None


@dataclass(frozen=True)
class Comparison:
    """All methods on one column: what `countveil.compare` gives. Print it.

    Attributes:
        column: The column, or the columns together.
        rows: The rows that were published.
        of_rows: The rows of the table.
        ell: The ell.
        releases: How many times each method published.
        predicates: How many predicates were asked.
        bins: The ranges of selectivity.
        methods: One line per method.
        notes: What else to know.
        values: How many values there are, of columns together combinations.
        agreement: How likely two random rows have the same value.
        together: The columns that were compared together.
        odds: The bound that ours keeps, if any.

    Example:
        >>> comparison = cv.compare(table, "occupation", ell=5, releases=1, seed=1)
        >>> comparison["Anatomy"].method
        'Anatomy'
        >>> comparison.accuracy_table()[0][:2]
        ['method', '0.1-0.5%']
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
    together: Sequence[str] = ()
    odds: float | None = None

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
        names += ["odds"] * (self.odds is not None)
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
                *([] if self.odds is None else [_number(place.odds, ",.4g")]),
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
        together = " together" if self.together else ""
        bound = "" if self.odds is None else f", odds at most {self.odds:g}"
        return f"{self.column}{together}: {self.of_rows:,} rows{some}, ell = {self.ell}{bound}"

    @property
    def _of_what(self) -> str:
        return "combination of values" if self.together else "value"

    def basis(self) -> str:
        """What the figures rest on."""
        spread = ", ± their standard error" if self.releases > 1 else ""
        return (
            f"Means over {self.releases} publications by each method{spread}; every one was "
            f"asked the same {self.predicates} predicates of one to three other columns, for each "
            f"{self._of_what} (- where the table has too few counts of that size)."
        )

    def terms(self) -> str:
        """What the columns of the second table mean."""
        values = "combinations" if self.together else "values"
        return (
            f"'belief': in the true {self._of_what} of a row, by somebody who links it to its "
            f"person and knows of the person only that, on average over the rows; 'top 1%': at "
            f"least this much for the 1% most exposed rows; 'candidates': among how many {values} "
            f"the true one hides, for half of the rows; 'small counts': how likely a count of 1 to "
            f"10 is off by more than 30%."
        )

    def frontier_terms(self) -> str:
        """What the columns of the third table mean."""
        odds = ""
        if self.odds is not None:
            odds = (
                " 'odds': the largest factor by which the published value of a linked row changes "
                "the odds that it is the true one, against the other values by their shares."
            )
        return (
            f"'mean belief': in the true {self._of_what}, by somebody who knows which share of the "
            f"table has each one and links a row. 'error': the root of the mean variance of the "
            f"counts of all of them among {ASKED_ROWS:,} rows like the table, by the best unbiased "
            f"estimate. 'least error': what no way to publish rows one by one gets below at that "
            f"belief; 'over the bound': the ratio of the two variances. All of these are computed, "
            f"not measured (- where there is no unbiased estimate, or no rows are published: the "
            f"mean belief is then the measured one).{odds}"
        )

    def abouts(self) -> list[str]:
        """A sentence per method, then the notes."""
        return [*(f"{line.method}: {line.about}" for line in self.methods), *self.notes]

    def to_html(self) -> str:
        """A page with tables and charts."""
        from countveil.comparing.pictures import comparison_page

        return comparison_page(self)

    def _parts(self) -> list[Part]:
        return [
            self.head(),
            *(ACCURACY, self.accuracy_table(), self.basis()),
            *(PROTECTION, self.protection_table(), self.terms()),
            *(FRONTIER, self.frontier_table(), self.frontier_terms()),
            *(f"- {text}" for text in self.abouts()),
        ]

    def __str__(self) -> str:
        return text_of(self._parts()) + "\n"

    def __repr__(self) -> str:
        methods = ", ".join(line.method for line in self.methods)
        return visible(f"Comparison({self.head()}: {methods}; print() shows it)")

    def _repr_html_(self) -> str:
        return html_of(self._parts())


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
