"""Our methods beside others: Anatomy, Laplace noise, global randomisation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from countveil.report.chart import Axis, Chart, Line
from study.charts.lines import NAMES, half_width, line, mean, shown_band
from study.results import Results

_ERROR = "mean relative error"
_BANDS = ((0.02, 0.05), (0.01, 0.02), (0.005, 0.01), (0.001, 0.005))


def rows_anatomy(results: Results) -> Chart:
    """The paper's figure "Utility for Anatomy"."""
    return _rows(results, "anatomy", "Anatomy, ell = 5: error against the rows")


def rows_paper(results: Results) -> Chart:
    """The paper's figure for its mechanism."""
    return _rows(results, "paper", "The paper's choices, ell = 5: error against the rows")


def rows_ours(results: Results) -> Chart:
    """The same with ours."""
    return _rows(results, "ours", "countveil, ell = 5: error against the rows")


def _rows(results: Results, method: str, title: str) -> Chart:
    lines = [
        line(
            results, "by_rows", "rows", "error", f"selectivity {shown_band(low, high)}", hue,
            method=method, kind="band", low=low, high=high,
        )
        for hue, (low, high) in enumerate(_BANDS)
    ]  # fmt: skip
    in_thousands = [replace(each, x=[rows / 1_000 for rows in each.x]) for each in lines]
    return Chart(title, "thousand rows", _ERROR, in_thousands, y_axis=Axis(0, 0.6))


def methods(results: Results) -> Chart:
    """The paper's comparison from 1% to 5%, on a logarithmic scale."""
    names = (
        "ours", "paper", "laplace-0.05", "laplace-0.01", "global-bayes", "global-unbiased",
        "global-stopped", "global-printed",
    )  # fmt: skip
    title = "All methods of the paper at ell = 5, m = 100"
    return _along(results, names, "fine", title, Axis(0.02, 10, log=True))


def methods_close(results: Results) -> Chart:
    """Those that come near, from 0.1% on."""
    names = ("ours", "anatomy", "global-bayes", "global-unbiased", "response", "pram")
    return _along(results, names, "band", "Randomisation and Anatomy at ell = 5", Axis(0, 0.5))


def skewed_half(results: Results) -> Chart:
    """A column in which half of the rows have one value."""
    return _skewed(results, 0.5)


def skewed_most(results: Results) -> Chart:
    """The same for 83%."""
    return _skewed(results, 0.83)


def _skewed(results: Results, share: float) -> Chart:
    names = ("random", "common", "pram", "response", "ours-removed", "anatomy-removed")
    lines = [
        _selectivities(results, name, "band", hue, "skewed", share=share)
        for hue, name in enumerate(names)
    ]
    title = f"One value has {share:.0%} of the rows, ell = 5"
    # Selectivities and errors differ by factors: otherwise most points lie on each other.
    across, up = Axis(0.2, 5, log=True), Axis(0.01, 1, log=True)
    return Chart(title, "selectivity in %", _ERROR, lines, x_axis=across, y_axis=up)


def _along(results: Results, names: Sequence[str], kind: str, title: str, up: Axis) -> Chart:
    lines = [_selectivities(results, name, kind, hue) for hue, name in enumerate(names)]
    return Chart(title, "selectivity in %", _ERROR, lines, y_axis=up)


def _selectivities(
    results: Results,
    method: str,
    kind: str,
    number: int,
    table: str = "by_method",
    **more: object,
) -> Line:
    x: list[float] = []
    y: list[float] = []
    low: list[float] = []
    high: list[float] = []
    wanted = {"method": method, "kind": kind, **more}
    lows = results.different(table, "low", **wanted) if table in results.tables else []
    for start in lows:
        if start < 0.001:
            continue
        rows = results.where(table, **wanted, low=start)
        values = [float(row["error"]) for row in rows]
        x.append(50 * (start + rows[0]["high"]))
        y.append(mean(values))
        low.append(y[-1] - half_width(values))
        high.append(y[-1] + half_width(values))
    dash = "dashed" if number >= 6 else "dotted" if method == "global-unbiased" else "solid"
    return Line(NAMES[method], x, y, low, high, hue=number % 6, dash=dash)


def queries(results: Results) -> Chart:
    """The paper's figure "Multiple queries in differential privacy"."""
    lines = [
        line(results, "by_queries", "queries", "error", NAMES[method], hue, method=method)
        for hue, method in enumerate(("ours", "paper", "laplace-0.05", "laplace-0.01"))
    ]
    title = "Error against the number of queries m: selectivity 1-5%"
    return Chart(title, "m", _ERROR, lines)
