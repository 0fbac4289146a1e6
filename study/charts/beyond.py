"""Beyond the paper: columns crossed, and bounds on the odds, against ell, K and belief."""

from __future__ import annotations

from collections.abc import Sequence

from countveil.report.chart import Axis, Chart, Line
from study.charts.lines import NAMES, half_width, line, mean
from study.results import Results

_ERROR = "mean relative error"
# Errors differ by factors: on a scale of differences the smaller ones lie on each other.
_NEAR = Axis(0.01, 0.5, log=True)
_CROSSED = (
    "together", "apart", "together-unbiased", "apart-unbiased", "pram", "response", "anatomy",
)  # fmt: skip
_BY_BELIEF = ("together", "apart", "together-matched", "pram", "response", "anatomy")
_ODDS = ("noised", "noised-random", "ours", "response-odds", "response", "pram", "laplace-odds")
_ODDS_BELIEF = ("noised", "noised-random", "ours", "response-odds", "response", "pram", "anatomy")


def crossed_two(results: Results) -> Chart:
    """Occupation and age class."""
    return _crossed(results, 2, "Two columns crossed: selectivity 0.1-0.7%")


def crossed_three(results: Results) -> Chart:
    """Occupation, age class and marital status."""
    return _crossed(results, 3, "Three columns crossed: selectivity 0.1-0.7%")


def _crossed(results: Results, columns: int, title: str) -> Chart:
    lines = [
        line(
            results, "crossed", "ell", "error", NAMES[method], number % 6, _dash(number),
            method=method, columns=columns, kind="passing",
        )
        for number, method in enumerate(_CROSSED)
    ]  # fmt: skip
    # A little wider than what was measured, so that no point is cut off.
    wide, high = Axis(1.7, 8.3), Axis(0.05, 1, log=True)
    return Chart(title, "ell", _ERROR, lines, x_axis=wide, y_axis=high)


def crossed_belief(results: Results) -> Chart:
    """The error of two columns crossed by the mean belief in the true combination."""
    wanted = {"columns": 2, "kind": "passing"}
    lines = [
        _by_belief(results, "crossed", "ell", method, number, wanted)
        for number, method in enumerate(_BY_BELIEF)
    ]
    return Chart(
        "Two columns crossed: error by mean belief",
        "mean belief (%)",
        _ERROR,
        lines,
        x_axis=Axis(0.4, 60, log=True),
        y_axis=Axis(0, 0.5),
    )


def odds_bound(results: Results) -> Chart:
    """The error by the bound on the odds."""
    lines = [
        line(
            results, "bounded_odds", "odds", "error", NAMES[method], number % 6, _dash(number),
            method=method, kind="band", low=0.01,
        )
        for number, method in enumerate(_ODDS)
    ]  # fmt: skip
    title = "Error against the bound K on the odds: selectivity 1-2%"
    return Chart(title, "K", _ERROR, lines, x_axis=Axis(4, 250, log=True), y_axis=_NEAR)


def odds_belief(results: Results) -> Chart:
    """The same error by the mean belief in the true value."""
    wanted = {"kind": "band", "low": 0.01}
    lines = [
        _by_belief(results, "bounded_odds", "odds", method, number, wanted)
        for number, method in enumerate(_ODDS_BELIEF)
    ]
    return Chart(
        "Bounds on the odds: error at 1-2% by mean belief",
        "mean belief (%)",
        _ERROR,
        lines,
        x_axis=Axis(3, 100, log=True),
        y_axis=_NEAR,
    )


def _by_belief(
    results: Results, table: str, along: str, method: str, number: int, wanted: dict[str, object]
) -> Line:
    """A point for each value of a column, joined; without a belief there is no point."""
    points: list[tuple[float, float, float]] = []
    places: Sequence[float] = ()
    if table in results.tables:
        places = results.different(table, along, method=method)
    for place in places:
        here: dict[str, object] = {"method": method, along: place}
        columns = {"columns": wanted["columns"]} if "columns" in wanted else {}
        beliefs = results.values(table, "mean_belief", kind="protection", **here, **columns)
        errors = results.values(table, "error", **here, **wanted)
        if beliefs and errors:
            points.append((100 * beliefs[0], mean(errors), half_width(errors)))
    points.sort()
    return Line(
        NAMES[method],
        [x for x, _, _ in points],
        [y for _, y, _ in points],
        [y - reach for _, y, reach in points],
        [y + reach for _, y, reach in points],
        hue=number % 6,
        dash=_dash(number),
    )


def _dash(number: int) -> str:
    return "dashed" if number >= 6 else "solid"
