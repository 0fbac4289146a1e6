"""Figures as soon as they are known, why a method has none, and rows on request."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import countveil as cv
from countveil.errors import InputError
from countveil.publishing.advise.inspecting.preview import MOST_PREVIEWED, run_preview
from countveil.publishing.advise.methods import MethodFigures
from countveil.publishing.advise.remedies import why_impossible


def table(rows: int = 400) -> pa.Table:
    numbers = np.arange(rows)
    jobs = np.array(["nurse", "clerk", "baker", "pilot", "cook"])
    return pa.table({"job": jobs[numbers % 5], "a": numbers % 7, "b": numbers % 3})


def test_figures_are_handed_over_one_by_one_and_are_those_of_the_advice() -> None:
    measured: list[tuple[str, MethodFigures]] = []
    stages: list[tuple[str, int]] = []

    def add(column: str, figures: MethodFigures) -> None:
        measured.append((column, figures))

    def progress(stage: str, _done: int, _total: int) -> None:
        stages.append((stage, len(measured)))

    advice = cv.advise(table(), "job", seed=1, measured=add, progress=progress)
    assert {column for column, _ in measured} == {"job"}
    by_place = sorted((f.ell, f.method) for _, f in measured)
    assert by_place == sorted((f.ell, f.method) for f in advice["job"].methods)
    # When the second is tried, the first is known already.
    tried = [known for stage, known in stages if "trying" in stage]
    assert tried == list(range(len(tried)))


@pytest.mark.slow
def test_without_anybody_who_listens_nothing_changes() -> None:
    heard: list[Any] = []
    one = cv.advise(table(), "job", seed=1)
    two = cv.advise(table(), "job", seed=1, measured=lambda *each: heard.append(each))
    assert one.as_dict() == two.as_dict()
    assert heard


@pytest.mark.parametrize(
    ("counts", "method", "said"),
    [
        ([90, 5, 5], "mixed", "the most frequent value has 90.0% of the rows"),
        ([5, 5, 5, 5], "common", "mixed groups do without"),
        ([7], "random", "All rows have the same value"),
        ([1, 1], "mixed", "too few for two groups"),
    ],
)
def test_a_method_without_figures_says_why(counts: list[int], method: str, said: str) -> None:
    assert said in why_impossible(np.array(counts), [method], [])[method]


def test_a_preview_has_a_few_rows_as_they_are_read() -> None:
    data = table(100).append_column("when", pa.array([None, *range(99)]))
    preview = run_preview(data)
    assert preview.rows == 100
    assert [name for name, _ in preview.columns] == ["job", "a", "b", "when"]
    assert 1 < len(preview.cells) <= MOST_PREVIEWED
    rows = {tuple(None if v is None else str(v) for v in row.values()) for row in data.to_pylist()}
    assert set(map(tuple, preview.cells)) <= rows
    assert any(None in row for row in preview.cells)


def test_a_preview_of_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="no rows"):
        run_preview(table(0))
