"""What a claim is, and how it is judged.

Enters: numbers. Leaves: a line of the table on top of the page. Must not know: which claims there
are. The verdict is computed: `holds` with the paper's own choices; if not, `holds only with the
erratum` when the corrected method does what is claimed; else `does not hold`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from study.page.numbers import Numbers

HOLDS, WITH_ERRATUM, FAILS = "holds", "holds only with the erratum", "does not hold"


@dataclass(frozen=True)
class Judged:
    """A claim beside what was found."""

    claim: str
    paper: str
    ours: str
    paper_holds: bool
    ours_hold: bool

    @property
    def verdict(self) -> str:
        """Of the claim, as it stands in the paper."""
        if self.paper_holds:
            return HOLDS
        return WITH_ERRATUM if self.ours_hold else FAILS

    def line(self, number: int) -> str:
        """A line of a Markdown table."""
        return f"| {number} | {self.claim} | {self.paper} | {self.ours} | **{self.verdict}** |"


Claim = Callable[[Numbers], Judged]
