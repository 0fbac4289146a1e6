"""The promise in words and figures, with its limits: the same in manifest, report, `show` and docs.

Enters: the number of rows, ell per protected column, and how many rows publish each of its values;
a prior belief. Leaves: paragraphs that a publisher can hand on and answer for, a table of chances,
what one published value does to a belief. Must not know: true values or counts; what is published
is all that enters, so nothing else can be given away.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from countveil.maths.guarantees.binomial import chance_off, chance_within, smallest_count

if TYPE_CHECKING:
    from countveil.maths.guarantees.special import SpecialColumn

_TABLE_COUNTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 5000, 10000)
_TABLE_ERROR = 0.3
_NEAR, _WITHIN, _FAILING = 0.3, 0.1, 0.05


def statement(
    rows: int,
    ells: Mapping[str, int],
    published: Mapping[str, Iterable[int]],
    changes: Sequence[str] = (),
    special: Sequence[SpecialColumn] = (),
    together: Sequence[str] = (),
    persons: Sequence[str] = (),
) -> list[str]:
    """The statement for a release, one paragraph per item; each begins with what it is about.

    `changes` are sentences about what was done to the table before; `special` has the columns
    whose groups may hold a value more than once, `together` paragraphs about columns that were
    published together, and about lists of values. `persons` are paragraphs about persons with
    several rows or in several releases; `published` then counts cases.
    """
    named = {column.name for column in special}
    plain = {name: ell for name, ell in ells.items() if name not in named}
    noised = [column.name for column in special if column.odds is not None]
    columns = ", ".join(f"{name} (ell = {ell})" for name, ell in ells.items())
    done = (
        f"What was done. {rows:,} rows are published. These columns are protected: {columns}. "
        f"{_how(plain, special)} All other columns are published unchanged{_apart_from(changes)}. "
        f"The rows are in random order. Nothing about the groups is published."
    )
    protected = (
        f"Who is protected, against whom. The unit of protection is one "
        f"{'case' if persons else 'row: a person, if every person has one row'}. The "
        "adversary may know the method, the program, ell and this release; "
        "every unprotected value of everybody, and so whose row is whose; the share of each "
        "protected value in the population; and the true protected values of other people. He "
        "does not know the groups, nor the key from which groups and draws were made."
    )
    exactly = (
        "What holds exactly. For the fixed, secret grouping, this release would have come about "
        "with exactly the same probability if a row's true value had been exchanged with that of "
        "any other row of its group. This holds for the grouping as it is; it does not say that "
        "somebody who has to guess the grouping learns nothing from a published value."
        f"{_of(noised)}"
    )
    units = {name: sum(published[name]) if persons else rows for name in ells}
    before = [f"What was changed before. {' '.join(changes)}"] if changes else []
    return [
        done,
        *before,
        *persons,
        protected,
        exactly,
        *together,
        *([_one_row(units, plain, published)] if plain else []),
        *(column.one_row(units[column.name], sorted(published[column.name])) for column in special),
        *(column.odds.bound(column.name) for column in special if column.odds is not None),
        _by_design(
            rows,
            ells,
            [column for column in special if column.odds is not None],
            repeats=any(column.repeats for column in special),
        ),
        (
            "What breaks it. A second release of the same people that was drawn independently; "
            "publishing or losing the key, the seed, the groups or the source; several protected "
            "columns that are closely associated with each other (their evidence multiplies); "
            "another column, published here or known from elsewhere, that gives the protected "
            f"value away{'' if persons else '; several rows of one person'}."
        ),
    ]


def _how(plain: Mapping[str, int], special: Sequence[SpecialColumn]) -> str:
    others = [said for column in special if (said := column.how())]
    if not plain:
        return " ".join(others)
    which = f"For {', '.join(plain)}" if special else "For each of them"
    different = (
        f"{which} every row was put into a secret group of at least ell rows with different "
        f"values, and each row publishes one value of its group, every value of the group with "
        f"the same probability."
    )
    return " ".join([different, *others])


def _apart_from(changes: Sequence[str]) -> str:
    return ", apart from what the next paragraph says" if changes else ""


def _one_row(
    units: Mapping[str, int], ells: Mapping[str, int], published: Mapping[str, Iterable[int]]
) -> str:
    chances = ", ".join(f"1/{ell} for {name}" for name, ell in ells.items())
    factors = "; ".join(
        f"for {name} {_factors(units[name], ell, sorted(published[name]))}"
        for name, ell in ells.items()
    )
    return (
        f"What the published value of one person tells. Whoever knows which row is a person's sees "
        f"one published value. Averaged over all rows it is the true one with probability 1/ell "
        f"({chances}), or a little less where a group has more than ell rows. It is a hint all the "
        f"same: seeing a value multiplies the odds that it is the true one by (N - f) / "
        f"((ell - 1) f), where f of the N rows have it. Who expected no more than the value's "
        f"share f/N then believes it with probability 1/ell. With this release's published "
        f"counts for f, that factor is {factors}. So for a rare value the published value is a "
        f"strong hint, and someone who already has good reasons to expect a value learns more from "
        f"seeing it than 1/ell suggests. Hints add up over the rows of a small group that is known "
        f"to be alike. This is not differential privacy with a small epsilon."
    )


def _factors(rows: int, ell: int, counts: list[int]) -> str:
    def factor(count: int) -> str:
        number = odds_factor(count / rows, ell)
        text = f"{number:,.0f}" if number >= 10 else f"{number:.1f}"
        return f"{text} (f = {count:,})"

    return (
        f"{factor(counts[0])} at the rarest published value, {factor(counts[len(counts) // 2])} at "
        f"the median one and {factor(counts[-1])} at the most frequent one"
    )


def _of(noised: Sequence[str]) -> str:
    if not noised:
        return ""
    return f" Of {', '.join(noised)} it is said of the values after the noise."


def _by_design(
    rows: int,
    ells: Mapping[str, int],
    bounded: Sequence[SpecialColumn],
    *,
    repeats: bool,
) -> str:
    names = {column.name for column in bounded}
    plain = {name: ell for name, ell in ells.items() if name not in names}
    parts = [_whole_counts(plain, repeats=repeats)] if plain else []
    if bounded:
        parts.append(_noised_counts(rows, bounded))
    return (
        f"What is open by design. {' '.join(parts)} Large "
        f"counts that combine a protected column with other columns can be estimated well, and are "
        f"meant to be. What is uncertain is who has a value, and small counts that combine "
        f"columns: they carry the noise of all rows that meet the conditions on the other columns. "
        f"A small count that large counts already predict is not hidden. Neither is whether "
        f"somebody is in the table, nor any unprotected value."
    )


def _whole_counts(ells: Mapping[str, int], *, repeats: bool) -> str:
    sizes = "; ".join(
        f"with ell = {ell}, the published count of a value that 5 rows have is within {_NEAR:.0%} "
        f"of it with probability {chance_within(5, ell, _NEAR):.2f}, that of a value that 100 rows "
        f"have with probability {_rounded(chance_within(100, ell, _NEAR))}, and from "
        f"{smallest_count(ell, _WITHIN, _FAILING):,} rows on it is within {_WITHIN:.0%} with "
        f"probability {1 - _FAILING:.0%} or more"
        for ell in sorted(set(ells.values()))
    )
    less = " (for values that a group may hold more than once, times the root of 1 - f/N)"
    return (
        f"How many rows of the whole table have a value is published "
        f"nearly as it is, for rare values too: if f rows have it, the published count is f on "
        f"average, with a standard error of the root of f (1 - 1/ell){less if repeats else ''}: "
        f"{sizes}. This is said of the published count, not of every guess: one that hedges "
        f"between neighbouring counts is near somewhat more often."
    )


def _noised_counts(rows: int, bounded: Sequence[SpecialColumn]) -> str:
    """Of columns with noise, whose published counts are not the estimates."""
    errors = []
    for column in bounded:
        assert column.odds is not None  # noqa: S101 - that is what they are
        rare, frequent = (
            column.odds.std_error(count, rows, column.ell) for count in (1, max(1, rows // 100))
        )
        errors.append(
            f"of {column.name} with a standard error of {rare:,.0f} rows for a value that hardly "
            f"any row has, and of {frequent:,.0f} for one that 1% of the rows have"
        )
    return (
        f"Where noise came first, how many rows of the whole table have a value is not published "
        f"as it is; it can be estimated, {'; '.join(errors)}."
    )


def _rounded(chance: float) -> str:
    """Three digits, never rounded up to certainty."""
    return "more than 0.999" if chance > 0.999 else f"{chance:.3f}"


def guarantee_table(ell: int, error: float = _TABLE_ERROR) -> list[dict[str, float]]:
    """The table that a release carries: how likely a count of each size is far off."""
    return [
        {"count": count, "error": error, "chance_off": round(chance_off(count, ell, error), 6)}
        for count in _TABLE_COUNTS
    ]


def odds_factor(share: float, ell: int) -> float:
    """The factor a / b: seeing a value of this share multiplies the odds that it is true by it."""
    return (1 - share) / ((ell - 1) * share)


def average_belief(counts: Iterable[int], ell: int) -> float:
    """The belief in a person's true value, on average, of somebody who knows the shares alone.

    One in ell publishes the own value, which is then believed at 1/ell. Of the others, a value of
    share p is believed at about p (1 - 1/ell) / (1 - p).
    """
    values = np.fromiter(counts, np.float64)
    share, keep = values / values.sum(), 1 / ell
    rest = np.minimum(share * (1 - keep) / np.maximum(1 - share, 1e-9), 1.0)
    return float(keep**2 + (1 - keep) * (share * rest).sum())


def belief(prior: float, factor: float) -> float:
    """The belief after evidence that multiplies the odds by `factor`.

    With epsilon-differential privacy the factor may be e^epsilon: for epsilon = ln 3 a prior of one
    half becomes 0.75, the example of section 2.1 of the paper.
    """
    return prior * factor / (prior * factor + 1 - prior)
