"""How far the forming of groups has come, for someone who waits.

Enters: the share of a step that is done. Leaves: the share of the whole. Must not know: who is told
and how it is shown.

Groups are not formed row by row, and no step's time is known beforehand: shares are estimates from
what the steps usually take of each other. They never fall.
"""

from __future__ import annotations

from collections.abc import Callable

Tell = Callable[[float], None]


def nobody(_share: float) -> None:
    """Tells nobody."""


def part(tell: Tell, begin: float, end: float) -> Tell:
    """For a step that is the part from `begin` to `end` of what `tell` tells of."""
    return lambda share: tell(begin + (end - begin) * min(max(share, 0.0), 1.0))
