"""Everything that is read can be read: contrast in both themes, and no colour is needed."""

from __future__ import annotations

import re

import pytest

from countveil.report.chart import CHART_STYLE, Chart, Line, draw
from countveil.report.look.colours import DARK, LIGHT, Theme
from countveil.report.look.stylesheet import PAGE_STYLE

LEAST_OF_TEXT, LEAST_OF_LINES = 4.5, 3.0


def luminance(colour: str) -> float:
    """As WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one: str, other: str) -> float:
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


def test_the_measure_is_that_of_the_standard() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_stands_out_from_its_ground(theme: Theme) -> None:
    grounds = {"paper": theme.paper, "box": theme.box}
    pairs = [(name, getattr(theme, name), ground) for name in ("ink", "soft", "accent")
             for ground in grounds.values()]  # fmt: skip
    pairs += [("bad", theme.bad, ground) for ground in (theme.paper, theme.bad_ground)]
    pairs += [("good", theme.good, ground) for ground in (theme.paper, theme.good_ground)]
    weak = {
        (name, ground): round(contrast(colour, ground), 2)
        for name, colour, ground in pairs
        if contrast(colour, ground) < LEAST_OF_TEXT
    }
    assert not weak


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_line_of_a_chart_stands_out_from_the_paper(theme: Theme) -> None:
    assert len(theme.hues) == 6
    assert all(contrast(hue, theme.paper) >= LEAST_OF_TEXT for hue in theme.hues)
    assert contrast(theme.strong, theme.paper) >= LEAST_OF_LINES


def test_no_colour_is_written_down_anywhere_else() -> None:
    """The stylesheet and the charts use the colours of the themes, each theme all of them."""
    known = {colour for theme in (LIGHT, DARK) for colour in colours_of(theme)}
    written = set(re.findall(r"#[0-9a-f]{6}\b|#[0-9a-f]{3}\b", PAGE_STYLE + CHART_STYLE))
    assert written <= known
    for theme in (LIGHT, DARK):
        assert {*colours_of(theme)} - {theme.pale} <= written


def colours_of(theme: Theme) -> list[str]:
    names = theme.__dataclass_fields__
    single = [getattr(theme, name) for name in names if name != "hues"]
    return [*single, *theme.hues]


def test_lines_differ_without_their_colours() -> None:
    """Up to four lines have dashes of their own, points have shapes."""
    lines = [Line(f"line {n}", [0, 1], [n, n + 1]) for n in range(4)]
    drawn = draw(Chart("Which?", "x", "y", lines))
    strokes = re.findall(r'class="curve hue\d"( stroke-dasharray="[^"]*")?', drawn)
    assert len(set(strokes)) == 4
    dots = [Line(f"dots {n}", [n], [n], hue=n, dash=dash, joined=False)
            for n, dash in enumerate(("solid", "dashed", "dotted", "mixed"))]  # fmt: skip
    shapes = re.findall(r'<(circle|path) class="dot hue\d"(?: d="M[\d.]+ [\d.]+([^"]*)")?',
                        draw(Chart("Which?", "x", "y", dots)))  # fmt: skip
    assert len(set(shapes)) == 4
