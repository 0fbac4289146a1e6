"""The pictures of play: shapes beside colours, numbers where they belong, nothing from outside."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

import pytest
from markupsafe import Markup

from countveil.maths.estimate import Estimate
from countveil.web.play.group import Person
from countveil.web.play.pictures.bars import Against, Bar, bars, intervals
from countveil.web.play.pictures.groups import group_picture
from countveil.web.play.pictures.hundred import Kind, hundred, whole_hundred
from countveil.web.play.pictures.marks import mark

EVIL = "</svg><script>alert(1)</script>\u202e"


def elements(picture: Markup) -> list[ET.Element]:
    return list(ET.fromstring(str(picture)).iter())


def test_ten_values_have_ten_shapes() -> None:
    shapes = {re.findall(r' d="([^"]+)"', mark(place, 0, 0))[0] for place in range(10)}
    assert len(shapes) == 10


def test_a_group_shows_who_publishes_whose_value() -> None:
    people = [Person(name, "man", 30, "master", f"job {name}") for name in ("Abel", "Ben", "Carl")]
    picture = group_picture(people, [2, 1, 2])
    assert "Abel: true job Abel, published job Carl" in picture
    assert "Ben: true job Ben, published job Ben" in picture
    ways = [one.get("d", "") for one in elements(picture) if "way" in one.get("class", "")]
    # From the middle of the third row to the first, to itself, and straight.
    ends = sorted(tuple(re.findall(r"[\d.]+", way)) for way in ways)
    rows = sorted({end[1] for end in ends} | {end[-1] for end in ends}, key=float)
    assert len(rows) == 3
    assert {(rows.index(end[1]), rows.index(end[-1])) for end in ends} == {(2, 0), (1, 1), (2, 2)}


def test_what_comes_from_elsewhere_is_escaped() -> None:
    pictures = [
        group_picture([Person(EVIL, EVIL, 1, EVIL, EVIL)] * 2, [0, 1]),
        bars(EVIL, [Bar(EVIL, 1, EVIL)], 2, (1, EVIL)),
        intervals(EVIL, [Against(EVIL, 5, Estimate(1, 1, 0, 2, "reliable"))]),
        hundred(EVIL, [Kind(EVIL, 1.0, "full")]),
    ]
    for picture in pictures:
        assert "<script" not in picture
        assert "\u202e" not in picture
        assert elements(picture)[0].tag.endswith("svg")


def test_bars_are_as_long_as_their_numbers() -> None:
    items = [Bar("half", 1, "1"), Bar("whole", 2, "2"), Bar("none", 0, "0")]
    widths = [
        float(one.get("width", 0))
        for one in elements(bars("", items, 2, None))
        if one.tag.endswith("rect")
    ]
    assert widths[1] == pytest.approx(2 * widths[0])
    assert widths[2] == 0


@pytest.mark.parametrize(
    ("verdict", "dots", "halves", "unsure"),
    [("reliable", 1, 0, 0), ("indicative", 1, 1, 0), ("hidden", 0, 0, 2)],
)
def test_verdicts_differ_in_shape(verdict: str, dots: int, halves: int, unsure: int) -> None:
    drawn = elements(intervals("", [Against("a", 10, Estimate(11, 2, 7, 16, verdict))]))
    classes = [one.get("class", "") for one in drawn]
    assert sum(one.startswith("guess") for one in classes) == dots
    assert classes.count("half") == halves
    assert sum("unsure" in one for one in classes) == unsure


def test_what_reaches_beyond_the_picture_says_so() -> None:
    far, near = Estimate(11, 2, 7, 90, "hidden"), Estimate(11, 2, 7, 16, "hidden")
    classes = [
        [one.get("class") for one in elements(intervals("", [Against("a", 10, answer)]))]
        for answer in (far, near)
    ]
    assert "onwards" in classes[0]
    assert "onwards" not in classes[1]


@pytest.mark.parametrize(
    "shares", [[0.335, 0.335, 0.33], [1.0, 0.0, 0.0], [0.004, 0.992, 0.004], [0.5, 0.25, 0.25]]
)
def test_a_hundred_is_a_hundred(shares: list[float]) -> None:
    numbers = whole_hundred(shares)
    assert sum(numbers) == 100
    assert all(abs(number - 100 * share) < 1 for number, share in zip(numbers, shares, strict=True))
    kinds = [Kind("a", shares[0], "full"), Kind("b", shares[1], "small")]
    kinds.append(Kind("c", shares[2], "crossed"))
    marks = [one.get("class") for one in elements(hundred("", kinds))]
    # One of each more, in the explanation.
    assert marks.count("one full") == numbers[0] + 1
    assert marks.count("one small") == numbers[1] + 1
