"""What the pages of play show that break the promise.

Enters: the numbers of a link. Leaves: what stands in a template. Must not know: requests. It
computes nothing: `breaking` measures.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from countveil.report.chart import Axis, Chart, Line, draw
from countveil.web.play.breaking import RELEASES, SURE, giveaway, known_after, twins
from countveil.web.play.pictures.bars import Bar, bars
from countveil.web.play.pictures.hundred import Kind, hundred
from countveil.web.play.stages import belief_text

Numbers = Mapping[str, int]


def again_stage(numbers: Numbers) -> dict[str, Any]:
    """The same people published again, drawn anew or with a ledger."""
    seed, ell, anew = numbers["seed"], numbers["ell"], bool(numbers["anew"])
    chosen = RELEASES[: numbers["times"] + 1]
    known = [known_after(seed, ell, times if anew else 1) for times in chosen]
    times, right, sure = (
        [float(number) for number in chosen],
        [100 * one.right for one in known],
        [100 * one.sure for one in known],
    )
    lines = [
        Line("guessed right", times, right, right, right, hue=1),
        Line(f"sure: believes it at {SURE:.0%} or more", times, sure, sure, sure, hue=3,
             dash="dashed"),
        Line("one release: 1 in ell", [1.0, 12.0], [100 / ell] * 2, hue=5, dash="dotted"),
    ]  # fmt: skip
    chart = Chart(
        "What an adversary knows after several releases of the same people",
        "releases of the same people", "people, in %", lines,
        x_axis=Axis(0, 12), y_axis=Axis(0, 100),
    )  # fmt: skip
    return {
        "known": known[-1],
        "times": chosen[-1],
        "first": known[0],
        "releases": RELEASES,
        "sure_at": SURE,
        "picture": Markup(draw(chart)),  # noqa: S704 - what `draw` writes is escaped
    }


def giveaway_stage(numbers: Numbers) -> dict[str, Any]:
    """A plain column that gives the protected one away, left in or dropped."""
    beliefs = giveaway(numbers["seed"], numbers["ell"], with_grade=bool(numbers["grade"]))
    before, after = belief_text(beliefs.before), belief_text(beliefs.after)
    items = [
        Bar("before the release", beliefs.before, before.replace("over", ">")),
        Bar("with the release", beliefs.after, after.replace("over", ">"), strong=True),
    ]
    title = "How strongly an adversary believes people's true salaries, on average"
    return {"before": before, "after": after, "picture": bars(title, items, 1.0, None)}


def twins_stage(numbers: Numbers) -> dict[str, Any]:
    """Persons with two rows, each drawn on its own or both as one case."""
    both = twins(numbers["seed"], numbers["ell"], apart=bool(numbers["apart"]))
    right = both.agree * both.right
    kinds = [
        Kind("both rows show the truth", right, "full"),
        Kind("both show the same decoy", both.agree - right, "crossed"),
        Kind("the two rows differ", 1 - both.agree, "small"),
    ]
    title = "What the two rows of a person show, for a hundred people"
    return {"both": both, "picture": hundred(title, kinds)}
