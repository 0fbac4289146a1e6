"""What the first pages of play show: the group, draws in it, the adversary, counts of all sizes.

Enters: the numbers of a link. Leaves: what stands in a template. Must not know: requests. It
computes nothing: `group`, `guessing` and `sizes` do, with the package's own mechanism.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from countveil.report.chart import Axis, Chart, Line, draw
from countveil.web.play.group import DRAWS, group_of, many_draws, one_draw, onlooker_order
from countveil.web.play.guessing import ELLS, GUESSES, OCCUPATIONS, curve, guess_at
from countveil.web.play.pictures.bars import Against, Bar, bars, intervals
from countveil.web.play.pictures.groups import group_picture
from countveil.web.play.sizes import SIZES, answers

Numbers = Mapping[str, int]


def group_stage(numbers: Numbers) -> dict[str, Any]:
    """One group and one draw."""
    seed, ell, draw_number = numbers["seed"], numbers["ell"], numbers["draw"]
    people, drawn = group_of(seed, ell), one_draw(seed, ell, draw_number)
    return {
        "people": people,
        "ada": people[0],
        "published": people[drawn[0]].occupation,
        "from_whom": people[drawn[0]].name,
        "is_true": drawn[0] == 0,
        "picture": group_picture(people, drawn),
    }


def thousand_stage(numbers: Numbers) -> dict[str, Any]:
    """A thousand draws of one row, and one release as an onlooker has it."""
    seed, ell, draw_number = numbers["seed"], numbers["ell"], numbers["draw"]
    people, drawn = group_of(seed, ell), one_draw(seed, ell, draw_number)
    often = many_draws(seed, ell, draw_number)
    items = [
        Bar(person.occupation, count, f"{count:,}", place, strong=place == 0)
        for place, (person, count) in enumerate(zip(people, often, strict=True))
    ]
    expected = DRAWS / ell
    title = f"What the row of {people[0].name} publishes in {DRAWS:,} draws"
    line = expected, f"1 in {ell}"
    return {
        "ada": people[0],
        "draws": DRAWS,
        "true_times": often[0],
        "expected": expected,
        "rows": [
            (people[place], people[drawn[place]].occupation)
            for place in onlooker_order(seed, ell, draw_number)
        ],
        "picture": bars(title, items, max(*often, expected), line),
    }


def adversary_stage(numbers: Numbers) -> dict[str, Any]:
    """A guess, and what becomes of it."""
    ell, percent, job = numbers["ell"], numbers["guess"], numbers["job"]
    guess = guess_at(job, percent, ell)
    before = [100 * one for one in GUESSES]
    lines = [
        Line(f"ell = {each}", before, [100 * one for one in curve(job, each)],
             hue=place, dash=("solid", "dashed", "dotted")[place])
        for place, each in enumerate(ELLS)
    ]  # fmt: skip
    lines.append(Line("without the release", [0.0, 100.0], [0.0, 100.0], hue=5, dash="mixed"))
    dot = [100 * guess.before], [100 * guess.shown]
    lines.append(Line(f"his guess, ell = {ell}", *dot, hue=5, joined=False))
    chart = Chart(
        f"A guess at {guess.occupation}, before and after it is published",
        "belief before, in %", "belief after her row shows it, in %", lines,
        x_axis=Axis(0, 100), y_axis=Axis(0, 100),
    )  # fmt: skip
    return {
        "guess": guess,
        "shown": belief_text(guess.shown),
        "not_shown": belief_text(guess.not_shown),
        "jobs": [(place, guess_at(place, percent, ell)) for place in range(len(OCCUPATIONS))],
        "rare": (OCCUPATIONS[0], belief_text(guess_at(0, percent, ell).shown)),
        "picture": Markup(draw(chart)),  # noqa: S704 - what `draw` writes is escaped
    }


def belief_text(belief: float) -> str:
    """A belief as people write it, which is never certain."""
    if belief >= 0.999:
        return "over 99.9%"
    return f"{belief:.0%}" if 0.01 <= belief < 0.99 else f"{belief:.1%}"


def counts_stage(numbers: Numbers) -> dict[str, Any]:
    """Three counts of a table of some size."""
    result = answers(numbers["seed"], numbers["ell"], SIZES[numbers["size"]])
    items = [Against(one.name, one.truth, one.answer) for one in result.questions]
    title = f"Three counts among {result.rows:,} people, as shares of the truth"
    return {
        "result": result,
        "few": result.questions[-1].truth,
        "sizes": [f"{size:,}" for size in SIZES],
        "picture": intervals(title, items),
    }
