"""Which methods are compared where the odds are bounded, and why these.

Enters: counts by declared value, ell, the bound K, the budget of differential privacy. Leaves: one
`Entrant` per method. Must not know: rows, predicates, results.

Ours with noise before the groups, without noise, and the others at what they can share with it: the
same bound K, the same epsilon, the same mean belief. Theory: docs/theory/odds.md.
"""

from __future__ import annotations

import math
from dataclasses import replace

from countveil.comparing.baselines import Anatomy, DecoyGroups, Laplace, RandomisedResponse
from countveil.comparing.entrants import Counts, Entrant, no_groups
from countveil.comparing.together_entrants import believed, same_belief
from countveil.maths.guarantees.odds import epsilon_of


def odds_lineup(
    counts: Counts, ell: int, odds: float, epsilon: float, queries: int
) -> list[Entrant]:
    """All methods, ours first."""
    why_not = no_groups(counts, ell)
    plain = DecoyGroups(ell, "mixed" if why_not is None else "random")
    bounded = replace(plain, odds=odds)
    gamma, values = bounded.gamma(counts.size), counts.size
    of_release = epsilon_of(gamma, values)
    return [
        Entrant(
            "ours, bounded",
            bounded,
            f"noise over the {values:,} declared values first (gamma = {gamma:.3g}), then "
            f"{plain.groups} groups of {ell}: no linked row changes the odds of a value by more "
            f"than {odds:g}, the whole release not those of a row by more than "
            f"{math.exp(of_release):,.4g} (epsilon {of_release:.3g}).",
        ),
        Entrant(
            "ours, unbiased",
            replace(bounded, method="unbiased"),
            "the same release without what the default estimates add.",
        ),
        Entrant(
            "ours, random",
            replace(bounded, groups="random"),
            f"the same bound with random groups of {ell}.",
        ),
        Entrant("ours, no noise", plain, f"{plain.groups} groups of {ell} without noise."),
        Entrant(
            "k-RR, same K",
            RandomisedResponse(math.log(odds), label="randomised response, same K"),
            f"plain randomised response: a published value is {odds:g} times as likely from its "
            f"own rows as from any other. epsilon {math.log(odds):.3g} of the whole release.",
        ),
        Entrant(
            "k-RR, same eps",
            RandomisedResponse(of_release, label="randomised response, same epsilon"),
            f"the noise of 'ours, bounded' alone, without groups: the same epsilon of "
            f"{of_release:.3g}, and a linked row changes odds by all of it.",
        ),
        *same_belief(counts, believed(bounded, counts), "as with 'ours, bounded'"),
        Entrant("Anatomy", Anatomy(ell), f"groups of {ell} values, in the open.")
        if why_not is None
        else Entrant("Anatomy", None, f"not compared. {why_not}"),
        Entrant(
            "Laplace, same K",
            Laplace(math.log(odds) / 2, queries),
            f"no rows; answers to {queries:,} predicates, which together change the odds between "
            f"two values of a person by at most {odds:g}.",
        ),
        Entrant(
            f"Laplace, eps {epsilon:g}",
            Laplace(epsilon, queries),
            "the same for this budget in all. The beliefs are the most that it allows.",
        ),
    ]
