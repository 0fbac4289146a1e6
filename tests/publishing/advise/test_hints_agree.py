"""What `inspect` suggests, `publish` accepts; and no hint of one command contradicts another."""

from __future__ import annotations

import csv
import shlex
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import countveil as cv
from countveil.cli.app import app
from countveil.errors import CountveilError
from countveil.maths.groups import largest_ell, what_helps
from countveil.maths.groups.feasible import MERGING
from tests.strategies import examples

KINDS = ("even", "skewed", "constant", "marked", "ages", "amounts", "copy", "numbered")


def _column(kind: str, rows: int, first: list[str], rng: np.random.Generator) -> list[str]:
    made: dict[str, Callable[[], Iterable[Any]]] = {
        "even": lambda: (f"v{n}" for n in rng.integers(0, rng.integers(2, 12), rows)),
        "skewed": lambda: rng.choice(["No", "Up", "Down"], rows, p=[0.8, 0.13, 0.07]),
        "constant": lambda: ["same"] * rows,
        "marked": lambda: rng.choice(["?", "", "a", "b", "c", "d"], rows),
        "ages": lambda: rng.integers(0, 90, rows),
        "amounts": lambda: (f"{x:.2f}" for x in rng.gamma(2, 100, rows)),
        "copy": lambda: (f"code of {value}" for value in first),
        "numbered": lambda: (f"P{n:06d}" for n in range(rows)),
    }
    return [str(value) for value in made[kind]()]


@st.composite
def tables(draw: st.DrawFn) -> tuple[dict[str, list[str]], list[str]]:
    """Columns of all kinds, and which of them to protect."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from([60, 200, 400]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=2, max_size=6))
    columns: dict[str, list[str]] = {}
    for number, kind in enumerate(kinds):
        first = next(iter(columns.values()), ["x"] * rows)
        columns[f"c{number}"] = _column(kind, rows, first, rng)
    names = draw(st.lists(st.sampled_from(list(columns)), min_size=1, max_size=2, unique=True))
    return columns, names


@pytest.mark.slow
@given(tables())
@examples(60)
def test_what_is_suggested_is_accepted(case: tuple[dict[str, list[str]], list[str]]) -> None:
    columns, sensitive = case
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "in.csv"
        with source.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
        inspection = cv.inspect(source, sensitive=sensitive)
        line = inspection.publish_line(str(source))
        unprotectable = [c for c in inspection.columns if c.role == "sensitive"]
        if not line:
            # Then there is really nothing to publish: no ell, or a reason that stops.
            for column in unprotectable:
                options: dict[str, Any] = (
                    {"bins": {column.name: column.bins}} if column.bins else {}
                )
                with pytest.raises(CountveilError):
                    cv.publish(
                        source, {column.name: 2}, Path(folder) / "r", dry_run=True, **options
                    )
            return
        words = [*shlex.split(line)[1:], "--dry-run"]
        words[words.index("--to") + 1] = str(Path(folder) / "release")
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (line, done.output, done.exception)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [[90, 10], [100], [60, 30, 10], [30, 30, 40]])
def test_publish_inspect_and_advise_say_the_same(counts: list[int], tmp_path: Path) -> None:
    values = [f"v{place}" for place, count in enumerate(counts) for _ in range(count)]
    rng = np.random.default_rng(1)
    table = {"drug": values, "sex": rng.choice(["F", "M"], len(values)).tolist()}
    best = largest_ell(np.array(counts))
    with pytest.raises(CountveilError) as refused:
        cv.publish(pa.table(table), {"drug": best + 1}, tmp_path / "r")
    helps = what_helps(np.array(counts))
    assert helps in str(refused.value)
    inspected = str(cv.inspect(pa.table(table), sensitive="drug"))
    advised = str(cv.advise(pa.table(table), "drug", seed=1))
    assert (helps in inspected) == (best < 2)
    for said in (str(refused.value), inspected, advised):
        assert "merge or split" not in said
    if best < 2 and len(counts) > 1:
        assert MERGING in str(refused.value)
        assert MERGING in inspected
        assert MERGING in advised
    line = cv.inspect(pa.table(table), sensitive="drug").publish_line("t.csv")
    assert (f"-s drug:{best}" in line) == (best >= 2)
