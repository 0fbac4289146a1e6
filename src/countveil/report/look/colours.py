"""The colours of pages and charts, on light and on dark screens.

Enters: nothing. Leaves: two themes with the same roles, and the six hues of lines. Must not know:
what is drawn with them. Every text colour has a contrast of at least 4.5 to 1 with every ground it
stands on, which tests/report/test_colours.py computes.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours by role. `ink`, `soft`, `accent`, `bad` and `good` are read; the others are not.

    `paper`, `box`, `bad_ground` and `good_ground` are what they are read on. `hues` are those of
    lines, distinguishable with any colour vision; `pale` is a weaker first hue.
    """

    ink: str
    soft: str
    accent: str
    bad: str
    good: str
    paper: str
    box: str
    bad_ground: str
    good_ground: str
    rule: str
    strong: str
    shadow: str
    hues: tuple[str, ...]
    pale: str


LIGHT = Theme(
    ink="#1b2127", soft="#4b5560", accent="#0b5a8f", bad="#a3161a", good="#17652b",
    paper="#ffffff", box="#f3f6f8", bad_ground="#fdf0ef", good_ground="#edf6ee",
    rule="#d8dde2", strong="#7b8791", shadow="#9aa5af",
    hues=("#0072b2", "#c04c00", "#007a5a", "#9c4f7c", "#6b5b00", "#333333"), pale="#7fb2d6",
)  # fmt: skip
DARK = Theme(
    ink="#e6e9ec", soft="#b0b9c2", accent="#7cc0f0", bad="#ffa39e", good="#8ad897",
    paper="#14171b", box="#1e2329", bad_ground="#2f1c1d", good_ground="#182a1d",
    rule="#363d45", strong="#77828d", shadow="#59636d",
    hues=("#56b4e9", "#ff9d5c", "#3fd6ab", "#e9a6cd", "#f0e442", "#dddddd"), pale="#2f6f9c",
)  # fmt: skip
