"""`--together` stands alone, or before the columns that belong together."""

from __future__ import annotations

import pytest

from countveil.cli.app import with_optional_values
from countveil.cli.options import with_together


@pytest.mark.parametrize(
    ("typed", "parsed"),
    [
        (["publish", "in.csv", "--together"], ["publish", "in.csv", "--together=*"]),
        (["publish", "in.csv", "--together", "--to", "r"], [
            "publish", "in.csv", "--together=*", "--to", "r",
        ]),
        (["publish", "in.csv", "--together", "a,b"], ["publish", "in.csv", "--together", "a,b"]),
        (["publish", "in.csv", "--together=a,b"], ["publish", "in.csv", "--together=a,b"]),
        (["query", "r", "SELECT 1"], ["query", "r", "SELECT 1"]),
    ],
)  # fmt: skip
def test_a_bare_option_means_all_columns(typed: list[str], parsed: list[str]) -> None:
    assert with_optional_values(typed) == parsed


def test_lists_of_columns_are_split() -> None:
    assert with_together(None) is False
    assert with_together(["*"]) is True
    assert with_together(["a,b", "c,d"]) == [["a", "b"], ["c", "d"]]
