"""The two figures of section 6: T_E against T_f, and the expected error of small sums.

The curves that the paper prints, Chebyshev's inequality done right, the exact probabilities, and
what draws from the mechanism itself give. The table is made for the purpose: one value of every
count that is looked at. Of T_E it is the probability at this very count, not the worst from it on.
"""

from __future__ import annotations

import numpy as np

from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.guarantees import chance_failing, chance_off
from countveil.maths.guarantees.guarantee import chebyshev_probability
from countveil.maths.mechanism import draw_published
from countveil.maths.paper.printed import printed_probability
from study.data import StudyTable
from study.experiments.common import Parameters, Row, Scale, randomness_of

ELLS = (2, 5, 10)
UTILITY_ERROR, PRIVACY_ERROR = 0.2, 0.3
# 11 is the paper's example, 126 where its guarantee really begins; where 0.2 f is whole, the
# probability does not jump with the rounding.
LARGE = (5, 10, 11, 15, 20, 30, 40, 60, 80, 100, 126, 150, 200, 300, 400, 600, 900)
SUMS = tuple(range(1, 41))


def cells(scale: Scale) -> list[Parameters]:
    """Both questions for the ell of the paper's figures."""
    return [
        {"question": question, "ell": ell, "draws": scale.draws}
        for question in ("utility", "privacy")
        for ell in ELLS
    ]


def measure(table: StudyTable, question: str, ell: int, draws: int) -> list[Row]:
    """Formulas and draws for every count."""
    del table  # its counts are not needed
    utility = question == "utility"
    wanted = LARGE if utility else SUMS
    error = UTILITY_ERROR if utility else PRIVACY_ERROR
    counts = np.array([*wanted, *[max(wanted)] * ell], np.int64)
    source = randomness_of("guarantees", question, ell)
    formed = form_groups(counts, ColumnSettings(ell), source.stream("groups"))
    stream = source.stream("draw")
    published = np.array([draw_published(formed, stream).published() for _ in range(draws)])
    distance = np.abs(published[:, : len(wanted)] - np.array(wanted)) / np.array(wanted)
    # Or more for utility, more for privacy, with room for rounding.
    off = distance > error - 1e-9 if utility else distance > error + 1e-9
    exact = chance_failing if utility else chance_off
    return [
        {
            "question": question,
            "ell": ell,
            "error": error,
            "count": count,
            "printed": printed_probability(ell, count, error) if utility else None,
            "chebyshev": chebyshev_probability(ell, count, error) if utility else None,
            "exact": exact(count, ell, error),
            "measured": float(share),
            "draws": draws,
        }
        for count, share in zip(wanted, off.mean(axis=0), strict=True)
    ]
