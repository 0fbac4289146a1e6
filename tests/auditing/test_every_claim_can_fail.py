"""No verdict without a way to fail: every claim of an audit is tripped by a broken release.

Each broken release differs from a sound one in one way. The last test takes every claim that the
audits of sound releases carry, and asks that some broken release exceeded it; so a claim that is
added needs a broken release of its own. Deviations are tens of standard errors: a broken release
escapes with a probability far below 1e-6.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from countveil.auditing import linking
from countveil.auditing.attacks import ATTACKS, canaries, minimality
from countveil.auditing.attacks.by_method import neighbouring_tables
from countveil.auditing.findings import EXCEEDS
from countveil.engines.local import publish_rows
from countveil.maths.mechanism import draw
from countveil.publishing import publisher
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Randomness, Stream
from countveil.release import draft
from countveil.tables import Shaping
from tests.auditing import (
    broken,
    test_bounded_odds_claims,
    test_case_claims,
    test_series_claims,
    test_together_claims,
)

pytestmark = pytest.mark.slow

ROWS, VALUES = 6_000, 16
ELL = {"job": 4}
BOTH = {"job": 6, "hobby": 2}
KEPT = ["row", "job", "hobby", "hint"]
SHAPING = Shaping(keep=tuple(KEPT), drop=("person",))
RARE = 60


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """Small cells, a column that tells the job, one that nearly is the job, an id to drop."""
    rng = np.random.default_rng(9)
    shares = np.linspace(2, 1, VALUES)
    job = rng.choice(VALUES, ROWS, p=shares / shares.sum())
    # A hint about two of five rows, right for half of them.
    hint = np.where(rng.random(ROWS) < 0.5, job, rng.integers(VALUES, size=ROWS))
    hint[rng.random(ROWS) < 0.6] = 99
    hobby = np.where(rng.random(ROWS) < 0.6, job, rng.integers(VALUES, size=ROWS))
    return pa.table(
        {
            "row": np.arange(ROWS),
            "region": [f"region {place:02d}" for place in rng.integers(0, 16, ROWS)],
            "band": rng.integers(0, 6, ROWS),
            "hint": [f"hint {code:02d}" for code in hint],
            "job": [f"job {code:02d}" for code in job],
            "hobby": [f"hobby {code:02d}" for code in hobby],
            "person": [f"Person {number:06d}" for number in range(ROWS)],
        }
    )


Breaking = Callable[[pytest.MonkeyPatch, pa.Table, Path], set[str]]


def audited(
    table: object, folder: Path | None, *attacks: str, ell: dict[str, int] = ELL
) -> set[str]:
    """What exceeds its claim; or, of a sound release, every claim there is: `claims`."""
    return {name for name, verdict in claims(table, folder, *attacks, ell=ell) if verdict}


def claims(
    table: object, folder: Path | None, *attacks: str, ell: dict[str, int] = ELL
) -> set[tuple[str, bool]]:
    columns = table.column_names if isinstance(table, pa.Table) else KEPT
    kept = [name for name in KEPT if name in columns]
    found = cv.audit(table, ell, release=folder, drop="person", keep=kept, attacks=attacks)
    return {
        (f"{own.adversary}: {own.attack}", own.verdict == EXCEEDS)
        for own in found.findings
        if own.p_value is not None
    }


def publish(table: object, folder: Path, ell: dict[str, int] = ELL) -> None:
    publisher.run_publish(
        table, Protecting.of(ell), Writing.of(folder, again=True), shaping=SHAPING
    )


def rewritten(
    change: Callable[[pa.Table, pa.Table, int], pa.Table],
    *attacks: str,
    ell: dict[str, int] = ELL,
) -> Breaking:
    """A release whose rows were changed, and its audit."""

    def breaking(_patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
        publish_changed = broken.rewritten(change)
        publish_changed(table, Protecting.of(ell), Writing.of(folder, again=True), shaping=SHAPING)
        broken.reseal(folder)
        return audited(table, folder, *attacks, ell=ell)

    return breaking


def twice_the_truth(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    with patch.context() as own:
        own.setattr(draw, "draw_published", broken.draws_the_truth_too_often)
        publish(table, folder)
    return audited(table, folder, "linkage", "elimination", "neighbours", "correlation")


def no_decoys(patch: pytest.MonkeyPatch, table: pa.Table, _folder: Path) -> set[str]:
    """A plan, so that nobody needs a number of his row to be linked."""
    patch.setattr(linking, "run_publish", broken.rewritten(broken.publishes_the_truth))
    return audited(table.drop_columns(["row"]), None, "neighbours", "small-counts")


def one_stream(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    same = table.set_column(5, "hobby", table["job"])
    derived = Randomness.stream

    def stream(self: Randomness, *label: str) -> Stream:
        return derived(self, *label[:1])

    ell = {"job": 4, "hobby": 4}
    with patch.context() as own:
        own.setattr(Randomness, "stream", stream)
        publish(same, folder, ell)
    return audited(same, folder, "linkage", ell=ell)


def biased_draw(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    patch.setattr(draw, "draw_published", broken.draws_the_first_value_too_often)
    # The planted counts are drawn by the same broken code.
    publish(table, folder)
    return audited(table, folder, "small-counts")


def whole_blocks(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    patch.setattr(publish_rows, "draw_buckets", broken.buckets_in_order)
    patch.setattr(publish_rows, "BUCKET_ROWS", 1 << 12)
    patch.setattr(publish_rows, "TWO_FILES_FROM", 1)
    publish(table, folder)
    return audited(table, folder, "reconstruction")


def talkative_files(_patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    """Statistics, metadata, and a dictionary in an order of its own with an entry too many."""
    publish(table, folder)
    path = folder / "data" / "part-00000.parquet"
    data = pq.read_table(path)
    values = sorted(set(data["job"].to_pylist()), reverse=True)
    codes = [values.index(value) for value in data["job"].to_pylist()]
    entry = pa.DictionaryArray.from_arrays(pa.array(codes), pa.array([*values, "job 99"]))
    data = data.set_column(data.column_names.index("job"), "job", entry)
    data = data.replace_schema_metadata({"note": "of the source"})
    pq.write_table(data, path, store_schema=False)
    broken.reseal(folder)
    return audited(table, folder, "reconstruction")


def talkative_times(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    path = folder.parent / "table.parquet"
    pq.write_table(table, path)
    os.utime(path, ns=(10**18, 1_700_000_000_123_456_789))
    publish(path, folder)
    shutil.copystat(path, folder / "data" / "part-00000.parquet")
    caught = audited(path, folder, "reconstruction")
    patch.setattr(draft, "set_one_time", lambda _folder: None)
    return caught | audited(table, None, "reconstruction")


def draw_that_looks_around(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    publish(table, folder)

    def by_band(rows: pa.Table, *others: object, **options: object) -> object:
        return publisher.run_publish(rows.sort_by("band"), *others, **options)  # type: ignore[arg-type]

    patch.setattr(minimality, "run_publish", by_band)
    return audited(table, folder, "elimination")


def leaks(patch: pytest.MonkeyPatch, table: pa.Table, folder: Path) -> set[str]:
    """Names of this place, dropped and removed values beside the data, a seed; canaries."""
    rare = [f"rare trade {number:02d}" for number in range(RARE)]
    jobs = pa.array(rare + table["job"].to_pylist()[RARE:])
    path = folder.parent / "source of the leak.parquet"
    pq.write_table(table.set_column(4, "job", jobs), path)
    protecting = Protecting.of({"job": 4}, seed=5)
    publisher.run_publish(path, protecting, Writing.of(folder, again=True), shaping=SHAPING)
    # Each of them is published by nobody with probability 0.32: at least one of 60 is.
    text = "\n".join([*rare, "Person 000017", str(path)])
    (folder / "notes.txt").write_text(text)
    caught = audited(path, folder, "implementation")
    patch.setattr(canaries, "run_publish", broken.leaks("id"))
    made = Randomness.__init__

    def init(self: Randomness, seed: int | None = None) -> None:
        made(self, seed)
        self.seeded = False

    patch.setattr(Randomness, "__init__", init)
    return caught | audited(table, None, "implementation")


BROKEN: dict[str, tuple[Breaking, set[str]]] = {
    "p = 2/ell": (
        twice_the_truth,
        {
            "linkage: believe the published value",
            "linkage: believe a published rare value",
            "linkage: odds of every value",
            "linkage: best guess with a prior",
            "elimination: rule out the 3 likeliest wrong values",
            "known neighbours: who of two has which of two values",
            "correlation: best guess with a prior, own row added",
        },
    ),
    "no decoys": (
        no_decoys,
        {
            "known neighbours: a person in a cell of which 1 is unknown",
            "known neighbours: a person in a cell of which 2 are unknown",
            "known neighbours: a person in a cell of which 5 are unknown",
            "small count: two queries that differ in one person",
        },
    ),
    "the truth for whom another column tells it": (
        rewritten(broken.keeps_where("hint", "job"), "linkage", "correlation", "elimination"),
        {
            "linkage: the most exposed 1%",
            "linkage: beliefs by tenths",
            "correlation: the most exposed 1%, own row added",
            "correlation: beliefs by tenths, own row added",
        },
    ),
    "the truth for the old": (
        rewritten(
            lambda table, published, ell: broken.keeps_for_the_old(
                table.append_column("age", pa.array(40 + 4 * table["band"].to_numpy())),
                published, ell,
            ), "elimination",
        ),
        {"minimality: the most exposed slice by another column"},
    ),
    "the truth where two columns agree": (
        rewritten(broken.keeps_where("job", "hobby"), "linkage", ell=BOTH),
        {
            "linkage: both columns to guess job",
            "linkage: both columns, where his belief is 0.5 or more, to guess job",
        },
    ),
    "the truth where two columns agree, the other way": (
        rewritten(
            broken.keeps_where("hobby", "job"), "linkage", ell={"job": 2, "hobby": 6}
        ),
        {
            "linkage: both columns to guess hobby",
            "linkage: both columns, where his belief is 0.5 or more, to guess hobby",
        },
    ),
    "one stream": (one_stream, {"linkage: rows that publish the truth in both columns"}),
    "groups of people who are alike": (
        rewritten(broken.groups_people_who_are_alike, "elimination"),
        {"minimality: decoys from people who are alike"},
    ),
    "groups formed in order": (
        rewritten(broken.forms_groups_in_order, "reconstruction"),
        {"reconstruction: explain the release by a rule"},
    ),
    "groups written in order": (
        rewritten(broken.writes_groups_in_order, "reconstruction"),
        {
            "reconstruction: published values of neighbouring rows",
            "reconstruction: true values of neighbouring rows",
        },
    ),
    "rows sorted by what they publish": (
        rewritten(broken.sorts_by_the_published_value, "reconstruction"),
        {"reconstruction: size of the stored column"},
    ),
    "a shuffle that keeps blocks together": (
        whole_blocks,
        {
            "reconstruction: where parts of the source went",
            "reconstruction: source order by times and sizes of files",
        },
    ),
    "dealt in order": (
        rewritten(broken.deals_in_order, "reconstruction"),
        {"reconstruction: what early rows of the source publish"},
    ),
    "no shuffle": (
        rewritten(broken.leaves_the_order, "reconstruction"),
        {"reconstruction: source order of neighbouring rows"},
    ),
    "talkative files": (
        talkative_files,
        {
            "reconstruction: statistics and metadata of the files",
            "reconstruction: order of dictionaries",
            "reconstruction: entries of dictionaries without a row",
        },
    ),
    "talkative times": (
        talkative_times,
        {
            "reconstruction: order and duration by the times of files",
            "reconstruction: times of the source on the release",
        },
    ),
    "a draw that looks at other columns": (
        draw_that_looks_around,
        {"minimality: exchange the other columns of all rows"},
    ),
    "a biased draw": (
        biased_draw,
        {
            "small count: published counts of all values",
            "small count: count a value that 1 to 10 rows have",
        },
    ),
    "leaks": (
        leaks,
        {
            "implementation: find values of dropped columns",
            "implementation: find sensitive values that the draw removed",
            "implementation: find names of this place",
            "implementation: redo the draw from its seed",
            "implementation: find planted canaries",
            "implementation: pass a seeded release off as a real one",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_release_trips_its_claims(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    breaking, expected = BROKEN[name]
    caught = breaking(monkeypatch, table, tmp_path / "release")
    assert expected <= caught, expected - caught


def sound_claims(table: pa.Table, folder: Path) -> Iterator[str]:
    tested = [name for name in ATTACKS if name != "repetition"]
    path = folder / "table.parquet"
    pq.write_table(table, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(publish_rows, "BUCKET_ROWS", 1 << 12)
        patch.setattr(publish_rows, "TWO_FILES_FROM", 1)
        publish(path, folder / "release", {"job": 4, "hobby": 4})
    ell = {"job": 4, "hobby": 4}
    for source, release in ((table.drop_columns(["row"]), None), (path, folder / "release")):
        yield from (name for name, _ in claims(source, release, *tested, ell=ell))


def claims_by_method() -> Iterator[str]:
    """What columns together, bounds on the odds and cases claim beyond that."""
    together = test_together_claims.audited(
        test_together_claims.patients(1_500), "linkage", "reconstruction", together=True
    )
    bounded = test_bounded_odds_claims.audited(
        test_bounded_odds_claims.patients(1_500), "linkage", "odds"
    )
    cases = test_case_claims.audited(test_case_claims.visits(), "linkage")
    for found in (together, bounded, cases):
        yield from (
            f"{own.adversary}: {own.attack}" for own in found.findings if own.p_value is not None
        )


def test_there_is_no_claim_that_nothing_trips(
    table: pa.Table, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(neighbouring_tables, "RELEASES", 60)
    tripped = set().union(*(expected for _, expected in BROKEN.values()))
    methods = (test_together_claims, test_bounded_odds_claims, test_case_claims, test_series_claims)
    for others in (method.BROKEN for method in methods):
        tripped |= set().union(*(broken_one[-1] for broken_one in others.values()))
    # Columns that were drawn apart.
    tripped |= test_together_claims.REAL
    told = {*sound_claims(table.slice(0, 4_500), tmp_path), *claims_by_method()}
    assert told == tripped, told ^ tripped
