"""The promise in words, with its limits.

Enters: the number of rows and ell per sensitive column. Leaves: paragraphs that a publisher can
hand on. Must not know: values or counts of the table, so nothing here can give one away.
"""

from __future__ import annotations

from collections.abc import Mapping

from countveil.guarantees.exact import chance_off
from countveil.guarantees.odds import odds_factor


def statement(rows: int, ells: Mapping[str, int]) -> list[str]:
    """The statement for a release, one paragraph per item."""
    columns = ", ".join(f"{name} (ell = {ell})" for name, ell in ells.items())
    smallest = min(ells.values())
    factor = odds_factor(0.01, smallest)
    done = (
        f"What was done. {rows:,} rows are published. These columns are protected: {columns}. For "
        f"each of them every row was put into a secret group of at least ell rows with different "
        f"values, and each row publishes one value of its group, every value of the group with "
        f"the same probability. All other columns are published unchanged. The rows are in random "
        f"order. Nothing about the groups is published."
    )
    exactly = (
        "What holds exactly. For the fixed, secret grouping, this release would have come about "
        "with exactly the same probability if a row's true value had been exchanged with that of "
        "any other row of its group. The unit of protection is one row."
    )
    one_row = (
        f"What one row tells. Whoever knows which row is a person's sees one published value. "
        f"Averaged over rows it is the true one with probability 1/ell (1/{smallest} for the "
        f"least protected column). It is a hint all the same: seeing a value multiplies the odds "
        f"that it is the true one by (N - f) / ((ell - 1) f), where f of the N rows have it. For "
        f"a value that 1% of the rows have and ell = {smallest} that factor is {factor:,.0f}; for "
        f"a rarer value it is larger, and for a very rare one the hint is strong. Hints add up "
        f"over the rows of a small group that is known to be alike. Someone who already has good "
        f"reasons to expect a value learns more from seeing it than 1/ell suggests. This is not "
        f"differential privacy with a small epsilon."
    )
    by_design = (
        f"What is open by design. Large counts can be estimated well from the release, and are "
        f"meant to be. Small counts cannot: with ell = {smallest}, the published count of a value "
        f"that 5 rows have is off by more than 30% with probability "
        f"{chance_off(5, smallest, 0.3):.2f}."
    )
    broken_by = (
        "What would break it. A second, independent release of the same rows; publishing the "
        "key, the groups or the source; another published column that gives the protected value "
        "away; protected columns that are closely associated with each other (their evidence "
        "multiplies); several rows of one person."
    )
    return [done, exactly, one_row, by_design, broken_by]
