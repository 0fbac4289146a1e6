"""Figures from the results alone.

Enters: the CSV files. Leaves: SVG files, one per figure. Must not know: data, methods, how anything
was measured. A bar is a 95% interval of the mean over repetitions, each with a pool and releases of
its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from countveil.report.chart import Chart, picture
from study.charts import beyond, costs, errors, sensitive_alone, versus
from study.results import Results

Figure = Callable[[Results], Chart]

FIGURES: Mapping[str, Figure] = {
    "utility-guarantee": sensitive_alone.utility,
    "privacy-guarantee": sensitive_alone.privacy,
    "error-by-ell-paper": errors.by_ell_paper,
    "error-by-ell-ours": errors.by_ell_ours,
    "error-passing-by-ell": errors.passing_by_ell,
    "small-counts-error": errors.small_error,
    "small-counts-hidden": errors.small_off,
    "alone-by-ell": sensitive_alone.by_ell,
    "alone-by-selectivity": sensitive_alone.by_selectivity,
    "rows-anatomy": versus.rows_anatomy,
    "rows-paper": versus.rows_paper,
    "rows-ours": versus.rows_ours,
    "methods": versus.methods,
    "methods-close": versus.methods_close,
    "queries": versus.queries,
    "two-columns": errors.two_columns,
    "skewed-half": versus.skewed_half,
    "skewed-most": versus.skewed_most,
    "crossed-two": beyond.crossed_two,
    "crossed-three": beyond.crossed_three,
    "crossed-belief": beyond.crossed_belief,
    "odds-bound": beyond.odds_bound,
    "odds-belief": beyond.odds_belief,
    "errata": errors.errata,
    "publishing-time": costs.publishing,
    "answering-time": costs.answering,
    "answering-rounds": costs.rounds,
}


def draw_all(results: Results, folder: Path) -> list[str]:
    """Write every figure whose results are there; returns their names."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn = []
    for name, figure in FIGURES.items():
        chart = figure(results)
        if any(len(line.x) for line in chart.lines):
            (folder / f"{name}.svg").write_text(picture(chart))
            drawn.append(name)
    return drawn
