"""Releases of a broken publisher are caught by the command, and by every attack that has a claim.

Each release is made by the publisher's own path with one part exchanged, and is then audited as a
user would: the installed command, which knows nothing of it. Deviations are tens of standard
errors; a broken release escapes with a probability far below 1e-6.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.engines.local import publish_rows
from countveil.maths.mechanism import draw, random_groups
from countveil.publishing import publisher
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Randomness, Stream
from countveil.tables import Shaping
from tests.auditing import broken
from tests.robustness.tools import run

ROWS, ELL = 6_000, 4
JOBS = [f"job {number:02d}" for number in range(16)]
KEPT = ["row", "job", "hobby"]
SHAPING = Shaping(keep=tuple(KEPT), drop=("person",))


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Two columns that tell nearly the same, an id to drop, and the number of each row."""
    rng = np.random.default_rng(6)
    shares = np.linspace(2, 1, len(JOBS))
    job = rng.choice(len(JOBS), ROWS, p=shares / shares.sum())
    hobby = np.where(rng.random(ROWS) < 0.9, job, rng.integers(len(JOBS), size=ROWS))
    return pa.table(
        {
            "row": np.arange(ROWS),
            "age": rng.integers(20, 80, ROWS),
            "job": [JOBS[code] for code in job],
            "hobby": [f"hobby {code:02d}" for code in hobby],
            "person": [f"Person {number:06d}" for number in range(ROWS)],
        }
    )


def published(table: pa.Table, folder: Path, columns: tuple[str, ...] = ("job",)) -> None:
    protecting = Protecting.of(columns, ELL)
    publisher.run_publish(table, protecting, Writing.of(folder, again=True), shaping=SHAPING)


def twice_the_truth(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> None:
    patch.setattr(draw, "draw_published", broken.draws_the_truth_too_often)
    published(table, folder)


def one_less(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> None:
    patch.setattr(draw, "form_groups", broken.forms_groups_of_one_less)
    published(table, folder)


def one_stream(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> None:
    derived = Randomness.stream

    def stream(self: Randomness, *label: str) -> Stream:
        return derived(self, *label[:1])

    patch.setattr(Randomness, "stream", stream)
    same = table.set_column(3, "hobby", table["job"])
    published(same, folder, ("job", "hobby"))
    pq.write_table(same, folder.parent / "table.parquet")


def whole_blocks(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> None:
    patch.setattr(publish_rows, "draw_buckets", broken.buckets_in_order)
    patch.setattr(publish_rows, "BUCKET_ROWS", 1 << 12)
    patch.setattr(publish_rows, "TWO_FILES_FROM", 1)
    published(table, folder)


def in_order(_patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> None:
    publish = broken.rewritten(broken.writes_groups_in_order)
    publish(table, Protecting.of({"job": ELL}), Writing.of(folder, again=True), shaping=SHAPING)
    broken.reseal(folder)


def leaked(_patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> None:
    """A dropped id in the last page of the data, packed in a way without a mark."""
    published(table, folder)
    path = folder / "data" / "part-00000.parquet"
    data = pq.read_table(path)
    codes = pa.array(np.unique(data["job"].to_pylist(), return_inverse=True)[1])
    values = pa.array([*sorted(set(data["job"].to_pylist())), table["person"][17].as_py()])
    entry = pa.DictionaryArray.from_arrays(codes, values)
    place = data.column_names.index("job")
    pq.write_table(data.set_column(place, "job", entry), path, compression="snappy",
                   write_statistics=False, store_schema=False)  # fmt: skip
    broken.reseal(folder)


def twice_the_truth_at_random(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> None:
    instead = broken.draws_random_groups_with_the_truth_too_often
    patch.setattr(random_groups, "draw_random_groups", instead)
    protecting = Protecting.of({"job": ELL}, groups="random")
    publisher.run_publish(table, protecting, Writing.of(folder, again=True), shaping=SHAPING)


def common_spread_evenly(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> None:
    """Two of three people have one job, and every group the same number of them."""
    patch.setattr(draw, "form_groups", broken.spreads_common_values_evenly)
    jobs = ["at home" if row % 3 else job for row, job in enumerate(table["job"].to_pylist())]
    skewed = table.set_column(2, "job", pa.array(jobs))
    protecting = Protecting.of({"job": ELL}, common={"job": "at home"})
    publisher.run_publish(skewed, protecting, Writing.of(folder, again=True), shaping=SHAPING)
    pq.write_table(skewed, folder.parent / "table.parquet")


BROKEN: dict[str, tuple[Callable[[pytest.MonkeyPatch, pa.Table, Path], None], str, str]] = {
    "p = 2/ell": (twice_the_truth, "linkage", "believe the published value"),
    "groups of ell - 1": (one_less, "linkage", "believe the published value"),
    "groups in order": (in_order, "reconstruction", "published values of neighbouring rows"),
    "leaked canary": (leaked, "implementation", "find values of dropped columns"),
    "one stream": (one_stream, "linkage", "truth in both columns"),
    "p = 2/ell, random groups": (
        twice_the_truth_at_random,
        "linkage",
        "believe the published value",
    ),
    "common values spread evenly": (
        common_spread_evenly,
        "linkage",
        "common ones ruled out",
    ),
    "whole blocks": (whole_blocks, "reconstruction", "where parts of the source went"),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name in ("p = 2/ell", "leaked canary") else pytest.mark.slow)
        for name in BROKEN
    ],
)
def test_the_command_catches_it(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    make, attack, caught = BROKEN[name]
    pq.write_table(table, tmp_path / "table.parquet")
    with monkeypatch.context() as patch:
        make(patch, table, tmp_path / "release")
    both = ("-s", "hobby") if name == "one stream" else ()
    found = run(
        "audit", tmp_path / "table.parquet", "-s", "job", *both, "--ell", str(ELL),
        "--release", tmp_path / "release", "--drop", "person",
        *(word for column in KEPT for word in ("--keep", column)),
        "--attacks", attack, "--format", "csv",
    )  # fmt: skip
    assert found.code == 1, found.err
    lines = [line for line in found.out.splitlines() if line.endswith("exceeds")]
    assert any(caught in line for line in lines), found.out


def audit(table: pa.Table, folder: Path, *attacks: str) -> set[str]:
    found = cv.audit(
        table, {"job": ELL}, release=folder, drop="person", keep=KEPT, attacks=attacks
    )  # fmt: skip
    return {f"{own.adversary}: {own.attack}" for own in found.exceeded}


@pytest.mark.slow
def test_files_that_hold_blocks_of_the_source(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    attack = "source order by times and sizes of files"
    with monkeypatch.context() as patch:
        whole_blocks(patch, table, tmp_path / "release")
    assert len(list((tmp_path / "release" / "data").iterdir())) > 1
    assert f"reconstruction: {attack}" in audit(table, tmp_path / "release", "reconstruction")
    # The same two files, with rows that drew their bucket.
    with monkeypatch.context() as patch:
        patch.setattr(publish_rows, "BUCKET_ROWS", 1 << 12)
        patch.setattr(publish_rows, "TWO_FILES_FROM", 1)
        # Elsewhere: a second release of the same people beside the first one is refused.
        sound_folder = tmp_path / "elsewhere" / "sound"
        sound_folder.parent.mkdir()
        published(table, sound_folder)
    found = cv.audit(
        table, {"job": ELL}, release=sound_folder, drop="person", keep=KEPT,
        attacks="reconstruction",
    )  # fmt: skip
    sound = next(own for own in found.findings if own.attack == attack)
    assert sound.p_value is not None
    assert sound.p_value > 1e-8


@pytest.mark.slow
def test_the_files_of_a_large_release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The size at which a release has two files, with nothing made smaller for the test."""
    rng = np.random.default_rng(10)
    rows = publish_rows.TWO_FILES_FROM + 50_000
    jobs = pa.DictionaryArray.from_arrays(
        pa.array(rng.integers(0, len(JOBS), rows), pa.int32()), pa.array(JOBS)
    )
    large = pa.table({"row": np.arange(rows), "job": jobs})
    attack = "source order by times and sizes of files"
    for orderly in (False, True):
        folder = tmp_path / str(orderly)
        with monkeypatch.context() as patch:
            if orderly:
                patch.setattr(publish_rows, "draw_buckets", broken.buckets_in_order)
            publisher.run_publish(
                large,
                Protecting.of({"job": ELL}),
                Writing.of(folder, again=True),
                shaping=Shaping(keep=("row", "job")),
            )
        assert len(list((folder / "data").iterdir())) == 2
        found = cv.audit(
            large, {"job": ELL}, release=folder, keep=["row", "job"], attacks="reconstruction"
        )
        own = next(finding for finding in found.findings if finding.attack == attack)
        assert own.p_value is not None
        assert (own.p_value < 1e-8) == orderly
