"""The made-up census: its shares, its dependences, its files."""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.errors import SettingsError, TargetError
from countveil.maths.groups import largest_ell
from countveil.randomness import Randomness
from countveil.synthetic import COLUMNS, expected_shares, people
from countveil.synthetic.census import _CHUNK


def table(rows: int, seed: int | None = None) -> pa.Table:
    made = cv.generate(rows, seed=seed)
    assert made is not None
    return made


@pytest.mark.slow
def test_shares_are_the_documented_ones() -> None:
    """False alarm: 263 values, each within 6.5 standard deviations: 263 * 8e-11 < 1e-6."""
    rows = 200_000
    found = table(rows)
    for name, shares in expected_shares().items():
        counts = Counter(found[name].to_pylist())
        assert sum(shares.values()) == pytest.approx(1)
        assert set(counts) <= set(shares)
        for value, share in shares.items():
            deviation = math.sqrt(rows * share * (1 - share))
            # For the rarest values the normal bound gets a few counts of slack.
            assert abs(counts[value] - rows * share) < 6.5 * deviation + 12


def test_fifty_occupations_eligible_for_a_large_ell() -> None:
    shares = expected_shares()["occupation"]
    assert len(shares) == 50
    assert max(shares.values()) < 1 / 13
    assert min(shares.values()) < 0.001


def test_columns_depend_on_each_other() -> None:
    """Women among nurses and among plumbers, degrees among the young: far from independent."""
    found = table(50_000, seed=5).to_pydict()
    women = Counter(
        job for job, g in zip(found["occupation"], found["gender"], strict=True) if g == "F"
    )
    jobs = Counter(found["occupation"])
    assert women["nurse"] / jobs["nurse"] > 0.7
    assert women["plumber"] / jobs["plumber"] < 0.2
    degrees = {"bachelor", "master", "doctorate"}
    young = [e in degrees for e, a in zip(found["education"], found["age"], strict=True) if a < 20]
    assert sum(young) / len(young) < 0.05


@pytest.mark.slow
def test_one_seed_gives_one_census_in_every_format(tmp_path: Path) -> None:
    rows = _CHUNK + 1_000
    cv.generate(rows, tmp_path / "a.parquet", seed=7)
    cv.generate(rows, tmp_path / "a.csv", seed=7)
    cv.generate(rows, tmp_path / "a.csv.gz", seed=7)
    cv.generate(rows, tmp_path / "a.csv.zst", seed=7)
    expected = table(rows, seed=7)
    assert pq.read_table(tmp_path / "a.parquet").equals(expected)
    for name in ("a.csv", "a.csv.gz"):
        assert pa.csv.read_csv(tmp_path / name).equals(expected)
    with pa.CompressedInputStream(pa.OSFile(str(tmp_path / "a.csv.zst"), "r"), "zstd") as stream:
        assert pa.csv.read_csv(stream).equals(expected)
    assert not table(rows, seed=8).equals(expected)
    assert not table(1_000, seed=7).equals(expected.slice(0, 0))


def test_people_are_codes_into_names() -> None:
    made = people(Randomness(1).stream("people"), 100)
    assert tuple(made) == COLUMNS
    for codes, names in made.values():
        assert names is None or (codes.min() >= 0 and codes.max() < len(names))


def test_the_census_can_be_published_with_ell_ten() -> None:
    import numpy as np

    counts = np.array(list(Counter(table(5_000, seed=1)["occupation"].to_pylist()).values()))
    assert largest_ell(counts) >= 10


@pytest.mark.parametrize("rows", [0, -1, 2.5, True])
def test_impossible_sizes_are_refused(rows: int) -> None:
    with pytest.raises(SettingsError, match="positive whole number"):
        cv.generate(rows)


def test_targets_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="ending"):
        cv.generate(10, tmp_path / "a.xls")
    with pytest.raises(TargetError, match="no folder"):
        cv.generate(10, tmp_path / "none" / "a.csv")
    (tmp_path / "a.csv").write_text("precious")
    with pytest.raises(TargetError, match="force=True"):
        cv.generate(10, tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text() == "precious"
    cv.generate(10, tmp_path / "a.csv", force=True)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
