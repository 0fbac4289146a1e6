"""Errors of counts against ell: large ones, small ones, two sensitive columns, and the errata."""

from __future__ import annotations

from countveil.report.chart import Axis, Chart
from study.charts.lines import NAMES, line, shown_band
from study.results import Results

_ERROR = "mean relative error"
_BANDS = ((0.02, 0.05), (0.01, 0.02), (0.005, 0.01), (0.001, 0.005))
_STEPS = {
    "paper": "greedy, printed, stopped (the paper)",
    "greedy-printed": "greedy, printed, converged",
    "greedy-exact-stopped": "greedy, exact, stopped",
    "greedy-exact": "greedy, exact, converged",
    "mixed-printed-stopped": "mixed, printed, stopped",
    "mixed-printed": "mixed, printed, converged",
    "mixed-exact-stopped": "mixed, exact, stopped",
    "mixed-exact": "mixed, exact, converged",
    "ours": "mixed, exact, shrunk (countveil)",
}


def by_ell_paper(results: Results) -> Chart:
    """The paper's figure "Relative error", with its own choices."""
    return _by_ell(results, "paper", "Relative error against ell: the paper's choices")


def by_ell_ours(results: Results) -> Chart:
    """The same with ours."""
    return _by_ell(results, "ours", "Relative error against ell: countveil")


def _by_ell(results: Results, method: str, title: str) -> Chart:
    lines = [
        line(
            results, "by_ell", "ell", "error", f"selectivity {shown_band(low, high)}", hue,
            method=method, kind="band", low=low, high=high,
        )
        for hue, (low, high) in enumerate(_BANDS)
    ]  # fmt: skip
    # The same axis for both, so that they can be held side by side.
    return Chart(title, "ell", _ERROR, lines, y_axis=Axis(0, 0.7))


def passing_by_ell(results: Results) -> Chart:
    """As the paper averages: all queries that pass a threshold."""
    lines = [
        line(
            results, "by_ell", "ell", "error", f"{NAMES[method]}, from {100 * low:g}%", hue, dash,
            method=method, kind="passing", low=low,
        )
        for method, dash in (("paper", "dashed"), ("ours", "solid"))
        for hue, low in enumerate((0.02, 0.01, 0.005))
    ]  # fmt: skip
    title = "Relative error of all queries from a selectivity up to 5%"
    return Chart(title, "ell", _ERROR, lines)


def small_error(results: Results) -> Chart:
    """The paper's figure "Relative error for small counts"."""
    return _small(results, "error", _ERROR, "Counts from 1 to 10: relative error against ell")


def small_off(results: Results) -> Chart:
    """How likely a small count is hidden."""
    title = "Counts from 1 to 10: how many are off by more than 30%"
    return _small(results, "off", "share of queries", title)


def _small(results: Results, column: str, label: str, title: str) -> Chart:
    lines = [
        line(results, "by_ell", "ell", column, NAMES[method], hue, method=method, kind="small")
        for hue, method in enumerate(("ours", "paper"))
    ]
    return Chart(title, "ell", label, lines)


def two_columns(results: Results) -> Chart:
    """The paper's figure for two sensitive attributes."""
    lines = [
        line(
            results, "two_columns", "ell", "error", NAMES[method], hue, method=method,
            kind="passing",
        )
        for hue, method in enumerate(("ours", "paper", "mixed-unbiased"))
    ]  # fmt: skip
    title = "Occupation and age class together: selectivity 0.1-0.7%"
    return Chart(title, "ell", _ERROR, lines, y_axis=Axis(0, 1))


def errata(results: Results) -> Chart:
    """From the paper's choices to ours, one by one."""
    lines = [
        line(
            results, "errata", "ell", "error", name, number // 2 if number < 8 else 5,
            "solid" if number % 2 or step == "ours" else "dashed", method=step, kind="passing",
        )
        for number, (step, name) in enumerate(_STEPS.items())
    ]  # fmt: skip
    title = "Groups, matrix and stop: selectivity 0.5-5%"
    return Chart(title, "ell", _ERROR, lines)
