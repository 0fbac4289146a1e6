"""Publishers that break the mechanism in one way each, in the place of the real one.

A broken publisher lets the real one write a release, and then rewrites its rows: who publishes
what, or in which order. Row `row` of the table is known by its number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from countveil.maths.channel import Templates
from countveil.maths.groups import ColumnSettings, form_groups
from countveil.maths.groups.balance import ShareDone, unreported
from countveil.maths.mechanism import PublishedTable, draw_published
from countveil.maths.mechanism.random_groups import draw_random_groups
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Stream, TaskKey
from countveil.release import MANIFEST_NAME, DataFile, read_manifest
from countveil.release.manifest import file_sha256

Codes = NDArray[np.int64]
Publish = Callable[..., Any]


def textbook_groups(truth: Codes, ell: int, rng: np.random.Generator) -> Codes:
    """The group of each row: rows in the order of their values, dealt to the groups in turn."""
    n_groups = truth.size // ell
    order = np.lexsort((rng.random(truth.size), truth))
    group = np.empty(truth.size, np.int64)
    group[order] = np.arange(truth.size) % n_groups
    return group


def rewritten(change: Callable[[pa.Table, pa.Table, int], pa.Table]) -> Publish:
    """A publisher whose data file is changed: `change(table, as published, ell)`."""

    def publish(table: Any, protecting: Protecting, writing: Writing, **options: Any) -> Any:
        done = run_publish(table, protecting, writing, **options)
        path = Path(writing.to) / "data" / "part-00000.parquet"
        published = pq.read_table(path)
        if isinstance(table, pa.Table) and "row" in published.column_names:
            ell = next(iter(protecting.ell.values()))
            changed = change(table, published, ell).cast(published.schema)
            pq.write_table(changed, path, write_statistics=False, store_schema=False)
        return done

    return publish


def _by_row(table: pa.Table) -> pa.Table:
    return table.sort_by("row")


def _codes(table: pa.Table, name: str) -> tuple[Codes, pa.Array[Any]]:
    encoded = table[name].cast(pa.string()).combine_chunks().dictionary_encode()
    values = encoded.dictionary
    order = np.argsort(np.array(values.to_pylist()))
    rank = np.argsort(order)
    return rank[encoded.indices.to_numpy()], values.take(pa.array(order))


def keeps_too_often(table: pa.Table, published: pa.Table, ell: int) -> pa.Table:
    """P(own value) = 2/ell in place of 1/ell."""
    rng = np.random.default_rng()
    ordered = _by_row(published)
    truth = _by_row(table)
    again = rng.random(ordered.num_rows) < (1 / ell) / (1 - 1 / ell)
    place = ordered.column_names.index("job")
    shown = ordered["job"].cast(pa.string()).to_pylist()
    true = truth["job"].cast(pa.string()).to_pylist()
    mixed = [t if keep else s for t, s, keep in zip(true, shown, again, strict=True)]
    changed = ordered.set_column(place, "job", pa.array(mixed))
    return changed.take(pa.array(rng.permutation(changed.num_rows)))


def writes_groups_in_order(table: pa.Table, published: pa.Table, ell: int) -> pa.Table:
    """The rows of a group stand together."""
    rng = np.random.default_rng()
    truth, values = _codes(_by_row(table), "job")
    group = textbook_groups(truth, ell, rng)
    order = np.lexsort((rng.random(truth.size), rng.permutation(group.max() + 1)[group]))
    shown = np.empty(truth.size, np.int64)
    for number in range(int(group.max()) + 1):
        members = np.flatnonzero(group == number)
        shown[members] = truth[members[rng.integers(members.size, size=members.size)]]
    ordered = _by_row(published)
    place = ordered.column_names.index("job")
    changed = ordered.set_column(place, "job", values.take(pa.array(shown)))
    return changed.take(pa.array(order))


def forms_groups_in_order(table: pa.Table, published: pa.Table, ell: int) -> pa.Table:
    """Groups are dealt in the order of values and never mixed; rows are in random order."""
    changed = writes_groups_in_order(table, published, ell)
    return changed.take(pa.array(np.random.default_rng().permutation(changed.num_rows)))


def shuffles_whole_blocks(_table: pa.Table, published: pa.Table, _ell: int) -> pa.Table:
    """Blocks of 50 neighbours stay together, in random order inside."""
    rng = np.random.default_rng()
    ordered = _by_row(published)
    block = np.arange(ordered.num_rows) // 50
    key = rng.permutation(int(block.max()) + 1)[block]
    return ordered.take(pa.array(np.lexsort((rng.random(block.size), key))))


def deals_in_order(table: pa.Table, published: pa.Table, _ell: int) -> pa.Table:
    """Of each true value, the first rows of the source publish the first values."""
    rng = np.random.default_rng()
    ordered, truth = _by_row(published), _codes(_by_row(table), "job")[0]
    shown, values = _codes(ordered, "job")
    dealt = np.empty_like(shown)
    dealt[np.argsort(truth, kind="stable")] = shown[np.lexsort((shown, truth))]
    place = ordered.column_names.index("job")
    changed = ordered.set_column(place, "job", values.take(pa.array(dealt)))
    return changed.take(pa.array(rng.permutation(changed.num_rows)))


def leaves_the_order(_table: pa.Table, published: pa.Table, _ell: int) -> pa.Table:
    """No shuffle at all."""
    return _by_row(published)


def smaller_groups(table: Any, protecting: Protecting, writing: Writing, **options: Any) -> Any:
    """Groups of ell - 1."""
    fewer = {
        name: ColumnSettings(settings.ell - 1, settings.groups)
        for name, settings in protecting.columns.items()
    }
    return run_publish(table, Protecting(fewer, protecting.seed), writing, **options)


def leaks(what: str) -> Publish:
    """A publisher that leaves a trace of its input in the release."""

    def publish(table: Any, protecting: Protecting, writing: Writing, **options: Any) -> Any:
        done = run_publish(table, protecting, writing, **options)
        if what == "path" and isinstance(table, str):
            (Path(writing.to) / "data" / ".source").write_text(table)
        if what == "id" and isinstance(table, pa.Table):
            path = Path(writing.to) / "data" / "part-00000.parquet"
            ids = table["person"].to_pylist()
            with pq.ParquetWriter(path.with_suffix(".tmp"), pq.read_schema(path)) as writer:
                writer.write_table(pq.read_table(path))
                writer.add_key_value_metadata({"first": ids[0]})
            path.with_suffix(".tmp").replace(path)
        return done

    return publish


def draws_the_truth_too_often(groups: Templates, stream: Stream) -> PublishedTable:
    """P(own value) = 2/ell: of the tuples that would publish another value, some do not."""
    return _truth_too_often(draw_published(groups, stream), int(groups.sizes.max()))


def _truth_too_often(drawn: PublishedTable, ell: int) -> PublishedTable:
    table = _dense(drawn)
    kept = np.diag(table).copy()
    np.fill_diagonal(table, 0)
    back = np.random.default_rng().binomial(table, 1 / (ell - 1))
    table -= back
    np.fill_diagonal(table, kept + back.sum(axis=1))
    return _sparse(table)


def draws_nothing_but_the_truth(groups: Templates, stream: Stream) -> PublishedTable:
    """P(own value) = 1: few rows are enough to notice."""
    table = _dense(draw_published(groups, stream))
    return _sparse(np.diag(table.sum(axis=1)))


def draws_the_first_value_too_often(groups: Templates, stream: Stream) -> PublishedTable:
    """Two thirds of what should publish the last value of the domain publish the first one.

    Of 6,000 rows with 16 values that moves some 167, by 12 and by 9 standard errors.
    """
    return _first_too_often(draw_published(groups, stream))


def _first_too_often(drawn: PublishedTable) -> PublishedTable:
    table = _dense(drawn)
    moved = (2 * table[:, -1] + 2) // 3
    table[:, -1] -= moved
    table[:, 0] += moved
    return _sparse(table)


def draws_random_groups_with_the_truth_too_often(
    counts: Codes, ell: int, key: TaskKey, progress: ShareDone = unreported
) -> PublishedTable:
    """Random groups whose rows publish themselves twice as often as they should."""
    return _truth_too_often(draw_random_groups(counts, ell, key, progress), ell)


def draws_random_groups_with_the_first_value_too_often(
    counts: Codes, ell: int, key: TaskKey, progress: ShareDone = unreported
) -> PublishedTable:
    """Random groups in which one value is published in the place of another."""
    return _first_too_often(draw_random_groups(counts, ell, key, progress))


def draws_groups_that_are_not_random(
    counts: Codes, ell: int, key: TaskKey, _progress: ShareDone = unreported
) -> PublishedTable:
    """Every value is spread evenly over the groups, where they should be random."""
    return draw_published(_evenly(counts, ell), key.stream("draw"))


def spreads_common_values_evenly(
    counts: Codes,
    settings: ColumnSettings,
    _stream: Stream,
    _progress: ShareDone = unreported,
    common: Sequence[int] = (),  # noqa: ARG001 - as the function it replaces
) -> Templates:
    """Every group has the same number of rows with a common value, give or take one."""
    return _evenly(counts, settings.ell)


def _evenly(counts: Codes, ell: int) -> Templates:
    """Rows in the order of their values, dealt to the groups in turn; those left over are lost."""
    n_groups = int(counts.sum()) // ell
    rows = np.repeat(np.arange(counts.size), counts)[: n_groups * ell]
    return Templates.from_rows(
        counts.size, [(rows.reshape(ell, n_groups).T, np.ones(n_groups, np.int64))]
    )


def _dense(drawn: PublishedTable) -> Codes:
    table = np.zeros((drawn.n_values, drawn.n_values), np.int64)
    true = np.repeat(np.arange(drawn.n_values), np.diff(drawn.indptr))
    table[true, drawn.values] = drawn.counts
    return table


def _sparse(table: Codes) -> PublishedTable:
    true, shown = np.nonzero(table)
    indptr = np.searchsorted(true, np.arange(table.shape[0] + 1)).astype(np.int64)
    return PublishedTable(indptr, shown.astype(np.int64), table[true, shown])


def forms_groups_of_one_less(
    counts: Codes,
    settings: ColumnSettings,
    stream: Stream,
    progress: ShareDone,
    _common: Sequence[int] = (),
) -> Templates:
    """Groups of ell - 1 under a manifest that says ell."""
    return form_groups(counts, ColumnSettings(settings.ell - 1, settings.groups), stream, progress)


def buckets_in_order(_stream: Stream, n_buckets: int, rows: int) -> Codes:
    """Every stretch of the source goes to its own bucket: blocks stay together."""
    return np.arange(rows) * n_buckets // rows


def keeps_for_the_old(table: pa.Table, published: pa.Table, _ell: int) -> pa.Table:
    """1/ell of all rows publish the truth, but only people above 50."""
    rng = np.random.default_rng()
    truth, values = _codes(_by_row(table), "job")
    ordered = _by_row(published)
    shown, _ = _codes(ordered, "job")
    old = _by_row(table)["age"].to_numpy() > 50
    for value in range(len(values)):
        own = np.flatnonzero(truth == value)
        first = np.concatenate([own[old[own]], own[~old[own]]])
        dealt = shown[own]
        shown[first] = dealt[np.lexsort((rng.random(dealt.size), dealt != value))]
    place = ordered.column_names.index("job")
    changed = ordered.set_column(place, "job", values.take(pa.array(shown)))
    return changed.take(pa.array(rng.permutation(changed.num_rows)))


def keeps_where(first: str, second: str) -> Callable[[pa.Table, pa.Table, int], pa.Table]:
    """1/ell of all rows publish the truth of `second`, but those whose `first` tells it come first.

    Both columns hold a word and a number; `first` tells `second` where the numbers are the same.
    """

    def change(table: pa.Table, published: pa.Table, _ell: int) -> pa.Table:
        rng = np.random.default_rng()
        ordered, told = _by_row(published), _by_row(table)
        numbers = [
            np.array(
                [int(str(text).split()[1]) for text in told[name].cast(pa.string()).to_pylist()]
            )
            for name in (first, second)
        ]
        agree = numbers[0] == numbers[1]
        truth, values = _codes(told, second)
        shown, _ = _codes(ordered, second)
        for value in range(len(values)):
            own = np.flatnonzero(truth == value)
            by_agreement = own[np.lexsort((rng.random(own.size), ~agree[own]))]
            dealt = shown[own]
            shown[by_agreement] = dealt[np.lexsort((rng.random(dealt.size), dealt != value))]
        place = ordered.column_names.index(second)
        changed = ordered.set_column(place, second, values.take(pa.array(shown)))
        return changed.take(pa.array(rng.permutation(changed.num_rows)))

    return change


def groups_people_who_are_alike(table: pa.Table, published: pa.Table, ell: int) -> pa.Table:
    """Groups are formed within each region, as Anatomy and ell-diversity would have them."""
    rng = np.random.default_rng()
    truth, values = _codes(_by_row(table), "job")
    region, _ = _codes(_by_row(table), "region")
    shown = np.empty(truth.size, np.int64)
    for own in range(int(region.max()) + 1):
        rows = np.flatnonzero(region == own)
        group = textbook_groups(truth[rows], ell, rng)
        for number in range(int(group.max()) + 1):
            members = rows[group == number]
            shown[members] = truth[members[rng.integers(members.size, size=members.size)]]
    ordered = _by_row(published)
    place = ordered.column_names.index("job")
    changed = ordered.set_column(place, "job", values.take(pa.array(shown)))
    return changed.take(pa.array(rng.permutation(changed.num_rows)))


def publishes_the_truth(table: pa.Table, published: pa.Table, _ell: int) -> pa.Table:
    """No decoys at all."""
    ordered = _by_row(published)
    true = _by_row(table)["job"].cast(pa.string())
    changed = ordered.set_column(ordered.column_names.index("job"), "job", true)
    return changed.take(pa.array(np.random.default_rng().permutation(changed.num_rows)))


def sorts_by_the_published_value(_table: pa.Table, published: pa.Table, _ell: int) -> pa.Table:
    """Rows in the order of what they publish: small files, and an order that tells."""
    return published.sort_by("job")


def reseal(folder: Path) -> None:
    """Let the manifest of a changed release fit its data again."""
    manifest = read_manifest(folder)
    files = []
    for file in manifest.files:
        path = folder / file.path
        rows = pq.read_metadata(path).num_rows
        files.append(DataFile(file.path, rows, path.stat().st_size, file_sha256(path)))
    whole = pq.read_table(folder / "data")
    sensitive = {
        name: replace(entry, domain=tuple(sorted(set(whole[name].to_pylist()))))
        for name, entry in manifest.sensitive.items()
    }
    changed = replace(manifest, files=tuple(files), sensitive=sensitive)
    (folder / MANIFEST_NAME).write_text(changed.to_json())
