"""A comparison as a page: tables, and charts of error, of protection, and of one by the other.

Enters: a comparison. Leaves: HTML text. Must not know: files, how figures were measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from countveil.comparing.baselines.measure import ASKED_ROWS, QUANTILES, Mean
from countveil.comparing.outcome import Compared, Comparison, bin_text
from countveil.report.board import Board, Figure
from countveil.report.chart import Chart, Line
from countveil.report.frontier_figure import Bound, Placed, frontier_chart
from countveil.report.page import Section, page

# A larger error is useless, and would flatten all other lines.
_MOST_DRAWN = 1.0


def comparison_page(comparison: Comparison) -> str:
    """The whole comparison."""
    accuracy, protection = comparison.accuracy_table(), comparison.protection_table()
    sections = [
        Section(
            "How far off counts are",
            [f"Average relative error of counts, by their share of the rows. {comparison.basis()}"],
            *accuracy,
            charts=[error_chart(comparison)],
        ),
        Section(
            "How much is given away",
            [comparison.terms()],
            *protection,
            charts=[belief_chart(comparison)],
        ),
        Section(
            "How much accuracy a belief buys",
            [comparison.frontier_terms()],
            *comparison.frontier_table(),
            charts=[place_chart(comparison), measured_chart(comparison)],
        ),
        Section("The methods", comparison.abouts()),
    ]
    return page(
        f"Ways to publish {comparison.head()}",
        sections,
        kind="Comparison of methods · measured on the true table, for the publisher",
        board=_board(comparison),
    )


def _board(comparison: Comparison) -> Board:
    """Ours beside all others: how far off, how much is given away, how near to the best."""
    known = [line for line in comparison.methods if line.figures is not None]
    ours = next((line for line in known if line.method.startswith("countveil")), None)
    facts = [
        ("Compared", comparison.head()),
        ("Methods", ", ".join(line.method for line in known)),
        ("Rests on", comparison.basis()),
    ]
    left = [f"{line.method}: {line.about}" for line in comparison.methods if line not in known]
    if ours is None:
        verdict = "No method of countveil could publish this table as it is."
        return Board(facts, _no_figures(), verdict, left, ())
    figures = [
        _error_figure(comparison, known, ours),
        _belief_figure(known, ours),
        _distance_figure(known, ours),
    ]
    verdict = (
        f"The figures are those of {ours.method}, the default, beside the best of all methods. A "
        f"method is better only if it is so in both respects: the last chart has both."
    )
    return Board(facts, figures, verdict, [*left, *comparison.notes], ())


def _no_figures() -> list[Figure]:
    names = ("Error of counts", "Belief in the true value", "Variance over the least possible")
    return [Figure(name, "not measured", "of countveil") for name in names]


def _error_figure(comparison: Comparison, known: list[Compared], ours: Compared) -> Figure:
    place = _most_asked(comparison)
    name = f"Error of counts of {bin_text(*comparison.bins[place])} of the rows, {ours.method}"
    errors = {
        line.method: error.value
        for line in known
        if line.figures is not None and (error := line.figures.errors[place]) is not None
    }
    if ours.method not in errors:
        return Figure(name, "not measured", "the table has no such counts")
    return Figure(name, f"{errors[ours.method]:.1%}", f"on average; {_least(errors, '.1%')}")


def _belief_figure(known: list[Compared], ours: Compared) -> Figure:
    beliefs = {line.method: line.figures.belief.value for line in known if line.figures is not None}
    top = 0.0 if ours.figures is None else ours.figures.most_believed.value
    return Figure(
        f"Belief in the true value of a linked row, {ours.method}",
        f"{beliefs[ours.method]:.1%}",
        f"{top:.1%} or more for the most exposed 1%; {_least(beliefs, '.1%')}",
    )


def _distance_figure(known: list[Compared], ours: Compared) -> Figure:
    name = f"Variance over the least possible, {ours.method}"
    distances = {
        line.method: distance
        for line in known
        if line.figures is not None
        and line.figures.frontier is not None
        and (distance := line.figures.frontier.distance) is not None
    }
    if ours.method not in distances:
        return Figure(name, "not known", "there is no unbiased estimate")
    said = f"at its mean belief, where 1 is the best that there is; {_least(distances, '.2f')}"
    return Figure(name, f"{distances[ours.method]:.2f} times", said)


def _least(amounts: Mapping[str, float], digits: str) -> str:
    """The method with the least amount, in words."""
    method = min(amounts, key=amounts.__getitem__)
    return f"least of {len(amounts):,} methods: {amounts[method]:{digits}} ({method})"


def error_chart(comparison: Comparison) -> Chart:
    """Error by selectivity, a line per method."""
    middles = [100 * (low * high) ** 0.5 for low, high in comparison.bins]
    lines, outside = [], []
    for hue, line in enumerate(comparison.methods):
        if line.figures is None:
            continue
        drawn = [
            (middle, error)
            for middle, error in zip(middles, line.figures.errors, strict=True)
            if error is not None and error.value <= _MOST_DRAWN
        ]
        if any(error is not None and error.value > _MOST_DRAWN for error in line.figures.errors):
            outside.append(line.method)
        if drawn:
            lines.append(_line(line.method, hue, *map(list, zip(*drawn, strict=True))))
    beyond = f" Beyond 100%, not drawn: {'; '.join(outside)}." if outside else ""
    return Chart(
        "How far off are counts of which size?",
        "share of the rows (%)",
        "average relative error",
        lines,
        f"Bars are two standard errors up and down.{beyond}",
    )


def belief_chart(comparison: Comparison) -> Chart:
    """The belief in the true value that each share of the rows does not exceed."""
    shares = [100 * share for share in QUANTILES]
    different: dict[tuple[float, ...], Line] = {}
    for hue, line in enumerate(comparison.methods):
        if line.figures is not None:
            beliefs = line.figures.beliefs
            key = tuple(round(belief, 6) for belief in beliefs)
            different.setdefault(
                key, Line(line.method, shares, list(beliefs), hue=hue, dash=_dash(hue))
            )
    return Chart(
        "How strongly is the true value of a linked row believed?",
        "rows, from the least to the most exposed (%)",
        "belief in the true value",
        list(different.values()),
        "A line that ends high on the right gives some rows away. Methods that publish the same "
        "rows, and differ in what they make of them, are drawn once.",
    )


def place_chart(comparison: Comparison) -> Chart:
    """The error of every method by its mean belief, with the least possible one as a line."""
    placed = []
    for hue, line in enumerate(comparison.methods):
        place = None if line.figures is None else line.figures.frontier
        if place is not None:
            error = math.inf if place.error is None else place.error
            placed.append(Placed(line.method, [place.mean_belief], [error], hue, _dash(hue)))
    bound = Bound(comparison.agreement, comparison.values, ASKED_ROWS)
    return frontier_chart(placed, bound)


def measured_chart(comparison: Comparison) -> Chart:
    """The measured error of every method by its mean belief: shrunk estimates and Laplace too."""
    place = _most_asked(comparison)
    lines, outside = [], []
    for hue, line in enumerate(comparison.methods):
        if line.figures is None or line.figures.frontier is None:
            continue
        error = line.figures.errors[place]
        if error is None or error.value > _MOST_DRAWN:
            outside.append(line.method)
            continue
        belief = 100 * line.figures.frontier.mean_belief
        dot = Line(line.method, [belief], [error.value], hue=hue, dash=_dash(hue), joined=False)
        lines.append(dot)
    beyond = f" Not drawn (beyond 100%, or no such counts): {'; '.join(outside)}." * bool(outside)
    return Chart(
        f"Which method errs least in counts of {bin_text(*comparison.bins[place])} of the rows?",
        "mean belief in the true value (%)",
        "average relative error",
        lines,
        f"Further left less is given away, further down counts are nearer to the truth. Estimates "
        f"that shrink may lie below what the unbiased ones of the picture above allow.{beyond}",
    )


def _most_asked(comparison: Comparison) -> int:
    """The second class of counts, or the first if the table has none of those."""
    known = [line.figures.errors for line in comparison.methods if line.figures is not None]
    return int(any(errors[1] is not None for errors in known))


def _line(name: str, hue: int, x: list[float], means: list[Mean]) -> Line:
    reach = [2 * (mean.std_error or 0.0) for mean in means]
    y = [mean.value for mean in means]
    low = [max(0.0, value - up) for value, up in zip(y, reach, strict=True)]
    high = [value + up for value, up in zip(y, reach, strict=True)]
    return Line(name, x, y, low, high, hue=hue, dash=_dash(hue))


def _dash(number: int) -> str:
    """Neighbours differ in more than their colour; no two of 24 methods have both in common."""
    return ("solid", "dashed", "dotted", "mixed")[(number + number // 12) % 4]
