"""What is promised where persons have several rows.

Enters: how many cases the protected columns have, about. Leaves: a paragraph of the statement.
Must not know: true values or counts. Theory: docs/theory/cases.md.
"""

from __future__ import annotations

from collections.abc import Mapping


def several_rows(cases: Mapping[str, int]) -> str:
    """The paragraph about persons with several rows, by the cases of every protected column."""
    counted = ", ".join(f"about {number:,} for {name}" for name, number in cases.items())
    return (
        f"Persons with several rows. All rows of a person with the same value of a protected "
        f"column are one case ({counted}). A case was drawn once, and all its rows publish what "
        f"was drawn. Groups were formed of cases: wherever this statement says that rows are "
        f"grouped, have a value or publish one, cases are meant. The members of a group belong to "
        f"different persons wherever that is possible; where it is not, a person has as many "
        f"decoys less as there are other cases of the person in the group. Not hidden are how many "
        f"rows a person has, if these can be recognised by their other columns, and whether two of "
        f"them have the same value: equal values publish alike, different ones are drawn apart. "
        f"Every different value of a person is a hint of its own, so that a person with r "
        f"different values gives r of them."
    )
