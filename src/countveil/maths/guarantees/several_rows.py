"""What is promised where persons have several rows.

Enters: how many cases the protected columns have, about, and which of them were published together.
Leaves: a paragraph of the statement. Must not know: true values or counts, nor whether a group has
a person twice. Theory: docs/theory/cases.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def several_rows(cases: Mapping[str, int], together: Sequence[Sequence[str]] = ()) -> str:
    """The paragraph about persons with several rows, by the cases of every protected column."""
    joined = {name for names in together for name in names}
    sets = [(name,) for name in cases if name not in joined]
    counted = ", ".join(
        f"about {cases[names[0]]:,} for {_listed(names)}" for names in [*together, *sets]
    )
    alike = "the same value of a protected column"
    equal, different = "have the same value: equal values publish", "different ones are"
    if together and sets:
        alike += ", or the same values of all columns that are published together,"
    elif together:
        alike = "the same values of all columns that are published together"
        equal = "have the same values: equal ones publish"
    hints = (
        f"Every different {'combination of values' if together and not sets else 'value'} of a "
        f"person is a hint of its own, so that a person with r of them gives r hints."
    )
    if together:
        hints += (
            " Rows that agree in one of the columns together, and not in all, are different cases, "
            "and each is a hint about the value in which they agree."
        )
    return (
        f"Persons with several rows. All rows of a person with {alike} are one case ({counted}). A "
        f"case was drawn once, and all its rows publish what was drawn. Groups were formed of "
        f"cases: wherever this statement says that rows are grouped, have a value or publish one, "
        f"cases are meant. Cases were exchanged between groups so that the members of a group "
        f"belong to different persons. Where that could not be, as for a person with more cases "
        f"than there are groups, a group has k cases of one person, which hide behind each other: "
        f"each of them publishes its own value with the same probability as any other case, but "
        f"one of the person's values with k times that probability, and the person has k - 1 "
        f"decoys less. Not hidden are how many rows a person has, if these can be recognised by "
        f"their other columns, and whether two of them {equal} alike, {different} drawn apart. "
        f"{hints}"
    )


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]} together"
