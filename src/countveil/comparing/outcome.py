"""The results of a comparison: one line per method.

Enters: figures. Leaves: the same as tables, plain values and sentences. Must not know: how they
were measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from countveil.comparing.baselines.measure import QUANTILES, Figures, Mean
from countveil.display import text_table, visible

ACCURACY = "Average relative error of counts of this share of the rows:"
PROTECTION = "What a linked row reveals, and how often small counts are off:"


@dataclass(frozen=True, slots=True)
class Compared:
    """One method; without figures, `about` says why there are none."""

    method: str
    about: str
    figures: Figures | None


@dataclass(frozen=True)
class Comparison:
    """All methods on one column; print it."""

    column: str
    rows: int
    of_rows: int
    ell: int
    releases: int
    predicates: int
    bins: Sequence[tuple[float, float]]
    methods: Sequence[Compared]
    notes: Sequence[str] = ()

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

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Everything in one table, as numbers."""
        kinds = ["belief", "most_believed", "candidates", "small_off"]
        errors = [f"error_{bin_text(*edges)}" for edges in self.bins]
        names = ["method"]
        for name in (*errors, *kinds):
            names += [name, f"{name}_std_error"]
        rows: list[list[Any]] = []
        for line in self.methods:
            means: list[Mean | None] = [None] * (len(names) // 2)
            if line.figures is not None:
                means = [*line.figures.errors, *(getattr(line.figures, kind) for kind in kinds)]
            pairs = [(None, None) if m is None else (m.value, m.std_error) for m in means]
            rows.append([line.method, *(number for pair in pairs for number in pair)])
        return names, rows

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
        return visible("\n".join([*parts, *(f"- {text}" for text in self.abouts())])) + "\n"

    def __repr__(self) -> str:
        return str(self)


def bin_text(low: float, high: float) -> str:
    """A range of selectivities: 0.5-1%."""
    return f"{100 * low:.4g}-{100 * high:.4g}%"


def _percent(mean: Mean | None) -> str | None:
    """As many digits as help; Laplace noise can be a hundred times the count."""
    if mean is None:
        return None
    digits = 1 if mean.value < 1 else 0
    spread = "" if mean.std_error is None else f" ±{100 * mean.std_error:.{digits}f}"
    return f"{100 * mean.value:,.{digits}f}%{spread}"
