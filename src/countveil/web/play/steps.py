"""The pages of play in their order, and the numbers that each takes from its link.

Enters: nothing. Leaves: `STEPS`. Must not know: what a page computes or shows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from countveil.web.play.numbers import Number, link

_HOME = "/play/"
SEED, ELL = Number("seed", 1, 9_999, 4), Number("ell", 2, 10, 5)
_DRAW = Number("draw", 1, 9_999, 1)


@dataclass(frozen=True, slots=True)
class Step:
    """One page: one idea."""

    name: str
    short: str
    title: str
    idea: str
    numbers: tuple[Number, ...]

    @property
    def path(self) -> str:
        """Where it is."""
        return _HOME + self.name

    def link(self, values: Mapping[str, int]) -> str:
        """A link to it, which carries on the numbers that it knows, as far as it can."""
        known = {
            one.name: min(values[one.name], one.high) for one in self.numbers if one.name in values
        }
        return link(self.path, known)


STEPS = (
    Step(
        "group",
        "Group",
        "One row and its group",
        "Meet Ada. Her row hides in a group, and a draw decides what it publishes.",
        (SEED, ELL, _DRAW),
    ),
    Step(
        "thousand",
        "Thousand draws",
        "A thousand draws",
        "Draw a thousand times. How often does her row show the truth?",
        (SEED, ELL, _DRAW),
    ),
    Step(
        "adversary",
        "Adversary",
        "The adversary",
        "Somebody has a guess about her. What does the release do to the guess?",
        (SEED, ELL, Number("guess", 1, 95, 10), Number("job", 0, 5, 4)),
    ),
    Step(
        "counts",
        "Counts",
        "Large and small counts",
        "Add more and more people. Which counts come right, and which never do?",
        (SEED, ELL, Number("size", 0, 6, 2)),
    ),
    Step(
        "again",
        "Publish again",
        "Break it: publish again",
        "Publish the same people twice, and twice again. Watch the secret leak.",
        (SEED, ELL, Number("anew", 0, 1, 0), Number("times", 0, 4, 3)),
    ),
    Step(
        "giveaway",
        "Giveaway",
        "Break it: a giveaway",
        "Leave one harmless-looking column in, and nothing is hidden any more.",
        (SEED, Number("ell", 2, 5, 5), Number("grade", 0, 1, 0)),
    ),
    Step(
        "twins",
        "Twins",
        "Break it: twins",
        "Give one person two rows, and let each row draw on its own.",
        (SEED, ELL, Number("apart", 0, 1, 0)),
    ),
)
