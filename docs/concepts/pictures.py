"""The pictures of the concepts: `make docs` draws them, a test compares them.

Enters: the package's own channel, groups, draws and guarantees, and the made-up census. Leaves: one
SVG file per concept. Nothing in them is made up: every number is computed here.
"""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import countveil as cv
from countveil.maths.bounds import HIDDEN_ABOVE
from countveil.maths.channel import view_of_release
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.guarantees.predicate_guarantee import PredicateGuarantee
from countveil.maths.mechanism.draw import draw_published
from countveil.randomness import Randomness
from countveil.report.chart import CHART_STYLE, Axis, Chart, Line, picture
from countveil.synthetic import expected_shares

FIGURES = Path(__file__).with_name("figures")
ROWS, SELECTED, SHARE, ELL = 100_000, 10_000, 0.02, 5
# Five occupations of the made-up census, one row each: one decoy group.
GROUP = ("nurse", "lawyer", "driver", "cook", "teacher")
SEED = 2


def ell_picture() -> str:
    """The price of ell: from which count on an answer is reliable."""
    lines = []
    for size in (2_000, SELECTED, 50_000):
        found = {ell: _counts(ell, size).reliable_from() for ell in range(2, 16)}
        some = {ell: float(count) for ell, count in found.items() if count is not None}
        lines.append(Line(f"among {size:,} rows", list(some), list(some.values())))
    return picture(
        Chart(
            "From which count on is an answer reliable?",
            "ell: a published value is the true one in 1 of ell cases",
            "smallest reliable count",
            lines,
            x_axis=Axis(2, 15),
            y_axis=Axis(0, 2_000),
        )
    )


def verdict_picture() -> str:
    """How the error of an answer decides its verdict."""
    sizes = {size: _counts(ELL, size) for size in (2_000, SELECTED, 50_000)}
    lines = []
    for size, counts in sizes.items():
        at = [float(x) for x in np.geomspace(5, counts.most, 60)]
        lines.append(Line(f"among {size:,} rows", at, [counts.std_error(x) / x for x in at]))
    across = [5.0, 2_000.0]
    lines += [
        Line("reliable below", across, [0.1, 0.1], hue=5, dash="dashed"),
        Line("hidden above", across, [HIDDEN_ABOVE] * 2, hue=5, dash="dotted"),
    ]
    return picture(
        Chart(
            "When is a count reliable, indicative or hidden?",
            "true count of the value among the rows asked about",
            "standard error / count",
            lines,
            x_axis=Axis(5, 2_000, log=True),
            y_axis=Axis(0.02, 10, log=True),
        )
    )


def belief_picture() -> str:
    """What a published value does to a guess."""
    lines = []
    guesses = [float(x) for x in np.geomspace(0.0005, 0.9, 60)]
    for share in (0.001, 0.02, 0.15):
        published = np.array([round(share * ROWS), ROWS - round(share * ROWS)])
        view = view_of_release(published, ROWS, ELL, "mixed")
        factor = float(view.keep / view.b[0])
        after = [factor * guess / (1 - guess + factor * guess) for guess in guesses]
        lines.append(Line(f"a value that {share:.1%} have", guesses, after))
    lines.append(Line("without the release", guesses, guesses, hue=5, dash="dashed"))
    lines.append(Line("1/ell", [0.0005, 0.9], [1 / ELL] * 2, hue=5, dash="dotted"))
    return picture(
        Chart(
            f"A guess, before and after its value is published (ell = {ELL})",
            "belief before the release",
            "belief after",
            lines,
            x_axis=Axis(0.0005, 0.9, log=True),
            y_axis=Axis(0, 1),
        )
    )


def channel_picture() -> str:
    """Which value publishes which: a square per pair, the darker the likelier."""
    shares = expected_shares()["salary"]
    names = [str(value) for value in shares]
    published = np.array([round(share * ROWS) for share in shares.values()])
    whole = view_of_release(published, int(published.sum()), ELL, "mixed").whole
    assert whole is not None
    return _grid(f"Salaries, ell = {ELL}: the chance that a value is published", names, whole)


def group_picture() -> str:
    """One decoy group: five people, five values, and what a draw published."""
    size = len(GROUP)
    randomness = Randomness(SEED)
    settings = ColumnSettings(size)
    groups = form_groups(np.ones(size, np.int64), settings, randomness.stream("groups"))
    drawn = draw_published(groups, randomness.stream("draw"))
    published = [int(drawn.values[drawn.indptr[true]]) for true in range(size)]
    return _arrows(published)


def _counts(ell: int, size: int) -> PredicateGuarantee:
    return cv.guarantee(ell).predicate(rows=ROWS, size=size, share=SHARE)


def _grid(title: str, names: Sequence[str], whole: NDArray[np.float64]) -> str:
    left, top, cell = 100, 140, 40
    width, height = left + cell * len(names) + 50, top + cell * len(names) + 20
    parts = [_label(8, 20, title, "head"), _label(8, 46, "true value, down the side"),
             _label(8, 62, "published value, along the top")]  # fmt: skip
    for row, name in enumerate(names):
        y = top + cell * row
        parts.append(_label(left - 8, y + cell / 2 + 3, name, anchor="end"))
        x = left + cell * row + cell / 2
        parts.append(
            f'<text transform="translate({x + 4},{top - 8}) rotate(-55)">{html.escape(name)}</text>'
        )
        for column in range(len(names)):
            chance = float(whole[row, column])
            shade = f'class="hue0 cell" fill-opacity="{min(1.0, chance * 3.2):.3f}"'
            at = f'x="{left + cell * column}" y="{y}" width="{cell - 2}" height="{cell - 2}"'
            parts.append(f"<rect {shade} {at}/>")
            if chance >= 0.01:
                where = left + cell * column + cell / 2 - 1, y + cell / 2 + 3
                parts.append(_label(*where, f"{chance:.2f}".removeprefix("0"), anchor="middle"))
    return _svg(title, width, height, parts)


def _arrows(published: Sequence[int]) -> str:
    title = "One decoy group: each row publishes one of its five values"
    step, top, left, right = 46, 74, 150, 330
    parts = [
        _label(8, 20, title, "head"),
        _label(left, 52, "true", anchor="end"),
        _label(right, 52, "published"),
    ]
    for row, name in enumerate(GROUP):
        y = top + step * row
        parts += [
            _label(left, y + 4, name, anchor="end"),
            _label(right, y + 4, GROUP[published[row]]),
        ]
        for place in range(len(GROUP)):
            drawn = place == published[row]
            end = top + step * place
            style = 'class="hue1 curve"' if drawn else 'class="rule"'
            x1, x2 = left + 12, right - 90
            parts.append(f'<path {style} d="M{x1} {y} L{x2} {end}" fill="none"/>')
        parts.append(f'<circle class="hue0 dot" cx="{left + 12}" cy="{y}" r="5"/>')
        parts.append(f'<circle class="hue0 dot" cx="{right - 90}" cy="{y}" r="5"/>')
        parts.append(_label(right - 78, y + 4, name, "faint"))
    return _svg(title, 480, top + step * len(GROUP), parts)


def _label(x: float, y: float, text: str, kind: str = "", anchor: str = "start") -> str:
    named = f' class="{kind}"' if kind else ""
    return f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{named}>{html.escape(text)}</text>'


def _svg(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    style = CHART_STYLE + ".chart .cell{fill:currentColor}.chart .faint{opacity:.55}"
    size = f'width="{width * 3 // 2:g}" height="{height * 3 // 2:g}"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" {size} '
        f'viewBox="0 0 {width:g} {height:g}">'
        f"<title>{html.escape(title)}</title><style>{style}</style>"
        f'<rect class="paper" width="{width:g}" height="{height:g}"/>{"".join(parts)}</svg>\n'
    )


PICTURES: Mapping[str, Callable[[], str]] = {
    "ell": ell_picture,
    "decoy-group": group_picture,
    "channel": channel_picture,
    "belief": belief_picture,
    "verdict": verdict_picture,
}


def main() -> None:
    """Draw all pictures."""
    FIGURES.mkdir(exist_ok=True)
    for name, drawn in PICTURES.items():
        (FIGURES / f"{name}.svg").write_text(drawn(), encoding="utf-8")


if __name__ == "__main__":
    main()
