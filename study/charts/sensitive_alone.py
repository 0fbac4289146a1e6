"""The sensitive attribute alone: what is promised of its counts, and what comes out."""

from __future__ import annotations

from countveil.report.chart import Axis, Chart, Line
from study.charts.lines import NAMES, half_width, line, mean
from study.results import Results

_ELL = 10


def utility(results: Results) -> Chart:
    """The paper's figure of T_E and T_f, at the ell of its example."""
    ways = {
        "printed": ("as the paper prints it", 1, "dashed"),
        "chebyshev": ("Chebyshev's bound", 2, "dotted"),
        "exact": ("exact", 0, "solid"),
    }
    lines = [
        _guarantee(results, "utility", _ELL, way, name, hue, dash)
        for way, (name, hue, dash) in ways.items()
    ]
    lines.append(_measured(results, "utility", _ELL, "measured", 5))
    title = f"Being off by 20% or more, ell = {_ELL}"
    return Chart(
        title, "true count (T_f)", "probability (T_E)", lines,
        x_axis=Axis(4, 1_000, log=True), y_axis=Axis(1e-4, 1, log=True),
    )  # fmt: skip


def privacy(results: Results) -> Chart:
    """The paper's figure "Expected error for small sums"."""
    lines = []
    for hue, ell in enumerate((2, 5, 10)):
        lines.append(
            _guarantee(results, "privacy", ell, "exact", f"ell = {ell}, exact", hue, "solid")
        )
        lines.append(_measured(results, "privacy", ell, f"ell = {ell}, measured", hue))
    title = "Small sums: being off by more than 30%"
    return Chart(title, "true count", "probability", lines, y_axis=Axis(0, 1))


def _guarantee(
    results: Results, question: str, ell: int, way: str, name: str, hue: int, dash: str
) -> Line:
    rows = _rows(results, question, ell)
    return Line(
        name, [row["count"] for row in rows], [row[way] for row in rows], hue=hue, dash=dash
    )


def _measured(results: Results, question: str, ell: int, name: str, hue: int) -> Line:
    rows = [row for row in _rows(results, question, ell) if row["measured"] > 0]
    counts, shares = [row["count"] for row in rows], [row["measured"] for row in rows]
    return Line(name, counts, shares, hue=hue, joined=False)


def _rows(results: Results, question: str, ell: int) -> list[dict[str, float]]:
    if "guarantees" not in results.tables:
        return []
    return results.where("guarantees", question=question, ell=ell)


def by_ell(results: Results) -> Chart:
    """The paper's figure for SA querying, small and large counts."""
    lines = [
        line(
            results, "alone", "ell", "error", f"{NAMES[method]}, {name}", hue, dash,
            method=method, kind=kind,
        )
        for hue, (kind, name) in enumerate(
            (("small", "counts from 1 to 10"), ("passing", "from 0.5% of the rows"))
        )
        for method, dash in (("ours", "solid"), ("paper", "dashed"))
    ]  # fmt: skip
    title = "Sensitive attribute alone: relative error against ell"
    return Chart(title, "ell", "mean relative error", lines, y_axis=Axis(0.005, 1, log=True))


def by_selectivity(results: Results) -> Chart:
    """The paper's figure for SA querying against selectivity."""
    lines = []
    for hue, ell in enumerate((2, 5, 10)):
        for method, dash in (("ours", "solid"), ("paper", "dashed")):
            lines.append(
                _along_bands(results, f"{NAMES[method]}, ell = {ell}", ell, method, hue, dash)
            )
    title = "Sensitive attribute alone: relative error against selectivity"
    return Chart(title, "selectivity in %", "mean relative error", lines)


def _along_bands(results: Results, name: str, ell: int, method: str, hue: int, dash: str) -> Line:
    x, y, low, high = [], [], [], []
    wanted = {"ell": ell, "method": method, "kind": "band"}
    for start in results.different("alone", "low", **wanted) if "alone" in results.tables else []:
        rows = results.where("alone", **wanted, low=start)
        values = [float(row["error"]) for row in rows]
        x.append(50 * (start + rows[0]["high"]))
        y.append(mean(values))
        low.append(y[-1] - half_width(values))
        high.append(y[-1] + half_width(values))
    return Line(name, x, y, low, high, hue=hue, dash=dash)
