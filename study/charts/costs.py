"""What publishing and answering cost."""

from __future__ import annotations

from countveil.report.chart import Axis, Chart, Line
from study.charts.lines import NAMES, line
from study.results import Results

_WORK = {"mechanism": "groups, draw and dealing", "publish": "table to release"}


def publishing(results: Results) -> Chart:
    """The paper's running time against ell."""
    lines = [
        line(
            results, "publishing", "ell", "seconds", f"{_WORK[work]}, {name} groups", hue, dash,
            method=method, work=work,
        )
        for hue, work in enumerate(_WORK)
        for method, name, dash in (("ours", "mixed", "solid"), ("paper", "greedy", "dashed"))
    ]  # fmt: skip
    rows = max(results.different("publishing", "rows"), default=0) if lines[0].x else 0
    return Chart(f"Publishing {rows:,} rows", "ell", "seconds", lines)


def answering(results: Results) -> Chart:
    """How many questions are answered within so long."""
    lines = []
    for hue, (method, name) in enumerate(
        (("ours", "countveil, one by one"), ("paper", "SQLite and the iteration"))
    ):
        if "answering" not in results.tables:
            continue
        seconds = sorted(
            row["tally_seconds"] + (row["iterate_seconds"] or 0)
            for row in results.where("answering", method=method)
        )
        lines.append(_shares(name, [1_000 * value for value in seconds], hue))
    title = "Two sensitive columns: questions answered within a time"
    return Chart(
        title, "milliseconds", "share of questions", lines,
        x_axis=Axis(1, 2_000, log=True), y_axis=Axis(0, 1),
    )  # fmt: skip


def rounds(results: Results) -> Chart:
    """How many rounds the paper's iteration takes."""
    there = "answering" in results.tables
    values = results.values("answering", "rounds", method="paper") if there else []
    title = "Rounds until no component moves by more than 1%"
    return Chart(
        title, "rounds", "share of questions", [_shares(NAMES["paper"], sorted(values), 1)],
        x_axis=Axis(1, max(100.0, *values, 1.0), log=True), y_axis=Axis(0, 1),
    )  # fmt: skip


def _shares(name: str, ordered: list[float], hue: int) -> Line:
    shares = [(place + 1) / len(ordered) for place in range(len(ordered))]
    return Line(name, ordered, shares, hue=hue)
