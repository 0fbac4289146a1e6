"""What a release must not contain, looked for in every byte of it."""

from __future__ import annotations

import base64
import getpass
import json
import math
import re
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

import countveil as cv
from countveil.maths.guarantees import statement
from countveil.publishing.publications.record import RECORD_NAME
from tests.robustness.tools import CANARY, JOBS, repeated, run

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"


def zstd_frames(content: bytes) -> Iterator[bytes]:
    """Every Zstandard frame in these bytes, decompressed: each page of a Parquet file is one."""
    for found in re.finditer(re.escape(ZSTD_MAGIC), content):
        start = found.start()
        descriptor = content[start + 4]
        single, size_flag = descriptor >> 5 & 1, descriptor >> 6
        width = (1 if single else 0, 2, 4, 8)[size_flag]
        at = start + 5 + (1 - single) + (0, 1, 2, 4)[descriptor & 3]
        size = int.from_bytes(content[at : at + width], "little") + (256 if width == 2 else 0)
        stream = pa.CompressedInputStream(pa.BufferReader(content[start:]), "zstd")
        try:
            yield stream.read(size)
        except OSError:
            continue  # four bytes that only look like the start of a frame


def everything_in(release: Path) -> bytes:
    """All bytes of a release, as stored and decompressed, with the names of its files."""
    pieces = []
    for path in sorted(release.rglob("*")):
        pieces.append(path.relative_to(release).as_posix().encode())
        if path.is_file():
            content = path.read_bytes()
            pieces += [content, *zstd_frames(content)]
    # What Arrow sees, should a page be hidden from the search above.
    for path in release.glob("data/*.parquet"):
        table = pq.read_table(path)
        pieces += [repr(table.schema).encode(), repr(table.to_pydict()).encode()]
    return b"\n".join(pieces)


def assert_absent(release: Path, *needles: str | bytes) -> None:
    content = everything_in(release).lower()
    for needle in needles:
        raw = needle if isinstance(needle, bytes) else needle.encode()
        for form in (raw, raw.hex().encode(), base64.b64encode(raw).rstrip(b"=")):
            assert form.lower() not in content, needle


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    table = pa.table({"note": repeated([CANARY, "x"]), "job": repeated(JOBS)})
    cv.publish(table, {"job": 4}, tmp_path / "release")
    raw = (tmp_path / "release" / "data" / "part-00000.parquet").read_bytes()
    frames = list(zstd_frames(raw))
    assert len(frames) >= 2
    assert any(CANARY.encode() in frame for frame in frames)
    with pytest.raises(AssertionError):
        assert_absent(tmp_path / "release", CANARY)


@pytest.mark.slow
def test_a_plain_publication_tells_nothing_of_its_origin(tmp_path: Path) -> None:
    place = tmp_path / f"{CANARY}-folder"
    place.mkdir()
    names = {"USER": "canary-user", "LOGNAME": "canary-user", "HOME": f"/home/{CANARY}"}
    columns = {
        "id": [f"{CANARY}-{row:04d}" for row in range(80)],
        "age": repeated([30, 40]),
        "job": repeated(JOBS),
    }
    table = pa.table(columns).replace_schema_metadata({"owner": CANARY, "pandas": f'"{CANARY}"'})
    pq.write_table(table, place / f"{CANARY}.parquet")
    release = tmp_path / "release"
    words = ("publish", place / "*.parquet", "-s", "job:4", "--drop", "id", "--to", release)
    assert run(*words, "--seed", "918273645546372819", cwd=place, env=names).code == 0
    assert_absent(release, CANARY, "canary-user", str(tmp_path))
    long_enough = (socket.gethostname(), getpass.getuser())
    assert_absent(release, *(name for name in long_enough if len(name) > 6))
    seed = 918273645546372819
    assert_absent(release, str(seed), seed.to_bytes(8, "little"), seed.to_bytes(8, "big"))
    assert json.loads((release / "manifest.json").read_text())["randomness"] == "seeded"


def test_the_key_stays_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, of_the_record = bytes(range(0xA0, 0xC0)), bytes(range(0xC0, 0xE0))
    drawn = []

    def token_bytes(size: int | None = None) -> bytes:
        drawn.append(size)
        return key if len(drawn) == 1 else of_the_record

    monkeypatch.setattr(secrets, "token_bytes", token_bytes)
    cv.publish(pa.table({"job": repeated(JOBS)}), {"job": 4}, tmp_path / "release")
    assert drawn == [len(key)] * 2, "a key of 256 bits for the release, and one for the record"
    for each in (key, of_the_record):
        assert_absent(tmp_path / "release", each, each[:16], each[16:], each.hex())
    record = (tmp_path / RECORD_NAME).read_text()
    assert of_the_record.hex() in record
    assert key.hex() not in record


def pandas_with_secrets() -> Any:
    import pandas as pd

    frame = pd.DataFrame(
        {
            "city": pd.Categorical(repeated(["Ulm", "Bonn"]), ["Bonn", f"{CANARY} unused", "Ulm"]),
            "job": pd.Categorical(repeated(JOBS), [*JOBS, f"{CANARY} unused"]),
        },
        index=pd.Index([f"{CANARY} {row}" for row in range(80)], name=f"{CANARY} index"),
    )
    frame.attrs["note"] = CANARY
    frame.columns.name = f"{CANARY} columns"
    return frame


def arrow_with_secrets() -> pa.Table:
    city = pa.DictionaryArray.from_arrays(
        pa.array(repeated([0, 2]), pa.int8()), pa.array(["Ulm", f"{CANARY} unused", "Bonn"])
    )
    fields = [
        pa.field("city", city.type, metadata={"note": CANARY}),
        pa.field("job", pa.string(), metadata={"note": CANARY}),
    ]
    schema = pa.schema(fields, metadata={"origin": CANARY, "pandas": json.dumps({"x": CANARY})})
    return pa.Table.from_arrays([city, pa.array(repeated(JOBS))], schema=schema)


def slice_of_secrets() -> pa.Table:
    """Rows cut out of a larger table keep pointing into its memory."""
    around = [f"{CANARY} {row}" for row in range(100)]
    table = pa.table(
        {
            "city": pa.array([*around, *repeated(["Ulm", "Bonn"]), *around]),
            "job": pa.array([*around, *repeated(JOBS), *around]),
        }
    )
    return table.slice(100, 80)


def values_behind_nulls() -> pa.Table:
    """A missing text whose characters are still in memory, a missing number likewise."""
    texts = pa.array(repeated([CANARY, "Ulm"]))
    valid = pa.array(repeated([False, True])).buffers()[1]
    masked = pa.Array.from_buffers(pa.string(), len(texts), [valid, *texts.buffers()[1:]])
    number = int.from_bytes(CANARY[:8].encode(), "little")
    numbers = pa.array(repeated([number, 1]), pa.int64())
    hidden = pa.Array.from_buffers(pa.int64(), len(numbers), [valid, numbers.buffers()[1]])
    assert masked.null_count == hidden.null_count == 40
    return pa.table({"city": masked, "number": hidden, "job": repeated(JOBS)})


def polars_with_secrets() -> Any:
    import polars as pl

    kind = pl.Enum(["Bonn", "Ulm", f"{CANARY} unused"])
    return pl.DataFrame({"city": pl.Series(repeated(["Ulm", "Bonn"]), dtype=kind),
                         "job": repeated(JOBS)})  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "make",
    [pandas_with_secrets, arrow_with_secrets, slice_of_secrets, values_behind_nulls,
     polars_with_secrets],
)  # fmt: skip
def test_nothing_rides_along_with_a_frame(tmp_path: Path, make: Any) -> None:
    frame = make()
    cv.publish(frame, {"job": 4}, tmp_path / "release")
    assert_absent(tmp_path / "release", CANARY, CANARY[:8])
    cities = pq.read_table(tmp_path / "release" / "data")["city"]
    assert cities.drop_null().unique().to_pylist() != []


@pytest.mark.slow
def test_values_that_the_draw_removed_are_nowhere(tmp_path: Path) -> None:
    rare = [f"rare-{secrets.token_hex(6)}" for _ in range(300)]
    table = pa.table({"job": repeated([f"job {n}" for n in range(20)], 6_000) + rare})
    pq.write_table(table, tmp_path / "in.parquet")
    words = ("publish", tmp_path / "in.parquet", "-s", "job:5", "--to", tmp_path / "release")
    assert run(*words).code == 0
    published = set(pq.read_table(tmp_path / "release" / "data")["job"].to_pylist())
    removed = set(rare) - published
    # Each is removed with probability (4/5)^5 = 0.33; none removed, or all, would be absurd.
    assert 30 < len(removed) < 200
    assert_absent(tmp_path / "release", *removed)
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert set(manifest["sensitive"]["job"]["domain"]) == published
    assert manifest["sensitive"]["job"]["domain"] == sorted(published)


COUNTS = {f"value {n}": 4_001 + 37 * n for n in range(12)}


def numbers_in(value: Any) -> Iterator[float]:
    """All numbers in JSON, also those in its sentences."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for part in value:
            yield from numbers_in(part)
    elif isinstance(value, str):
        for text in re.findall(r"\d[\d,]*(?:\.\d+)?", value):
            yield float(text.replace(",", ""))
    elif isinstance(value, int | float):
        yield float(value)


@pytest.mark.parametrize("seed", [None, 7])
def test_the_manifest_holds_no_count_and_no_group(tmp_path: Path, seed: int | None) -> None:
    values = [value for value, count in COUNTS.items() for _ in range(count)]
    cv.publish(pa.table({"job": values}), {"job": 3}, tmp_path / "release", seed=seed)
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert set(manifest) == {
        "rows", "columns", "sensitive", "files", "randomness", "statement", "written_by",
        "report", "format", "format_version", "checksum",
    }  # fmt: skip
    assert set(manifest["sensitive"]["job"]) == {"ell", "groups", "residue", "domain", "guarantee"}
    apart = ("files", "report", "checksum", "statement")
    told = {key: manifest[key] for key in manifest if key not in apart}
    drawn = published_counts(tmp_path / "release", "job")
    assert set(numbers_in(told)).isdisjoint({*COUNTS.values(), *drawn})
    # The statement is made of what is published, and of nothing else.
    assert manifest["statement"] == statement(len(values), {"job": 3}, {"job": drawn})


def published_counts(release: Path, column: str) -> list[int]:
    found = pq.read_table(release / "data")[column].value_counts().to_pylist()
    return [entry["counts"] for entry in found]


def test_the_guarantee_depends_on_nothing_but_ell(tmp_path: Path) -> None:
    told = []
    for number, jobs in enumerate((repeated(JOBS), repeated(JOBS[:5]), repeated([1, 2, 3, 4]))):
        target = tmp_path / str(number)
        cv.publish(pa.table({"job": jobs}), {"job": 4}, target)
        manifest = json.loads((target / "manifest.json").read_text())
        told.append(manifest["sensitive"]["job"]["guarantee"])
    assert told[0] == told[1] == told[2]


ROWS = 20_000
# Two-sided: a true random order is this far out with a probability of about 1e-7.
FAR = 5.3


def published_order(release: Path) -> NDArray[np.int64]:
    rows: NDArray[np.int64] = pq.read_table(release / "data")["row"].to_numpy()
    return rows


def assert_random_order(order: NDArray[np.int64]) -> None:
    """Position and source row are unrelated: overall, in neighbours, in halves."""
    n = order.size
    assert np.array_equal(np.sort(order), np.arange(n))
    rank_correlation = np.corrcoef(order, np.arange(n))[0, 1]
    assert abs(rank_correlation) * math.sqrt(n - 1) < FAR
    following = np.corrcoef(order[:-1], order[1:])[0, 1]
    assert abs(following) * math.sqrt(n - 2) < FAR
    # Rows that stay neighbours are Poisson with mean 2: 20 or more has probability 1e-13.
    assert np.count_nonzero(np.abs(np.diff(order)) == 1) < 20
    # Of the rows of the first half, half stay there; hypergeometric.
    stayed = np.count_nonzero(order[: n // 2] < n // 2)
    assert abs(stayed - n / 4) < FAR * math.sqrt(n / 16)


@pytest.fixture(scope="module")
def numbered() -> pa.Table:
    # Sorted by the protected value, so that an order by group or value would show.
    jobs = sorted(repeated(JOBS, ROWS))
    return pa.table({"row": range(ROWS), "job": jobs})


@pytest.mark.few(1)
@pytest.mark.parametrize("seed", [None, 0, 1])
def test_row_order_is_random(tmp_path: Path, numbered: pa.Table, seed: int | None) -> None:
    cv.publish(numbered, {"job": 4}, tmp_path / "release", seed=seed, keep="row")
    assert_random_order(published_order(tmp_path / "release"))


def test_published_values_are_in_random_order_too(tmp_path: Path, numbered: pa.Table) -> None:
    cv.publish(numbered, {"job": 4}, tmp_path / "release", keep="row")
    table = pq.read_table(tmp_path / "release" / "data")
    codes = np.array([JOBS.index(job) for job in table["job"].to_pylist()], np.float64)
    for one, other in ((codes, np.arange(ROWS)), (codes[1:], codes[:-1])):
        correlation = np.corrcoef(one, other)[0, 1]
        assert abs(correlation) * math.sqrt(ROWS) < FAR


def test_two_publications_have_unrelated_orders(tmp_path: Path, numbered: pa.Table) -> None:
    orders = []
    for name in ("first", "second"):
        cv.publish(numbered, {"job": 4}, tmp_path / name, keep="row", again=True)
        orders.append(published_order(tmp_path / name))
    first, second = (np.argsort(order) for order in orders)
    correlation = np.corrcoef(first, second)[0, 1]
    assert abs(correlation) * math.sqrt(ROWS - 1) < FAR
    # Rows in the same place both times are Poisson with mean 1.
    assert np.count_nonzero(orders[0] == orders[1]) < 16


def test_one_seed_gives_one_release(tmp_path: Path, numbered: pa.Table) -> None:
    for name, seed in (("first", 5), ("again", 5), ("other", 6)):
        cv.publish(numbered, {"job": 4}, tmp_path / name, seed=seed, keep="row")
    first, again, other = (
        pq.read_table(tmp_path / name / "data") for name in ("first", "again", "other")
    )
    assert first.equals(again)
    assert not first.equals(other)


@pytest.mark.slow
def test_residue_is_dropped_at_random(tmp_path: Path) -> None:
    """With residue 'drop', which rows are missing tells nothing about their place."""
    missing = []
    for run_number in range(40):
        table = pa.table({"row": range(103), "job": repeated([*JOBS, "x", "y", "z", "w"], 103)})
        target = tmp_path / str(run_number)
        cv.publish(table, {"job": 4}, target, residue="drop", keep="row", again=True)
        kept = set(pq.read_table(target / "data")["row"].to_pylist())
        missing += sorted(set(range(103)) - kept)
    assert len(missing) == 40 * 3
    mean_is, spread = np.mean(missing), math.sqrt((103**2 - 1) / 12 / len(missing))
    assert abs(mean_is - 51) < FAR * spread


def test_parquet_files_carry_nothing_but_rows(tmp_path: Path) -> None:
    cities = [f"city {n}" for n in range(60)]
    table = pa.table(
        {
            "city": repeated(cities, ROWS),
            "number": repeated(list(range(60)), ROWS),
            "job": repeated(JOBS, ROWS),
        }
    ).replace_schema_metadata({"origin": CANARY})
    pq.write_table(table, tmp_path / "in.parquet")
    cv.publish(tmp_path / "in.parquet", {"job": 4}, tmp_path / "release")
    path = tmp_path / "release" / "data" / "part-00000.parquet"
    file = pq.ParquetFile(path)
    assert set(file.metadata.metadata or {}) <= {b"ARROW:schema"}
    assert file.schema_arrow.metadata is None
    assert all(not (field.metadata or {}) for field in file.schema_arrow)
    for group in range(file.metadata.num_row_groups):
        for column in range(file.metadata.num_columns):
            chunk = file.metadata.row_group(group).column(column)
            assert chunk.statistics is None
            assert not chunk.has_column_index
        assert not file.metadata.row_group(group).sorting_columns
    # A dictionary lists the values that the release holds, in their own order and no other.
    stored = pq.read_table(path, read_dictionary=["city", "job"])
    for name, source in (("city", cities), ("job", list(JOBS))):
        assert stored[name].chunk(0).dictionary.to_pylist() == sorted(source)


def test_true_pairs_are_not_kept_together(tmp_path: Path) -> None:
    """A column that repeats the protected one agrees with it in about one row of ell, not more."""
    table = pa.table({"copy": repeated(JOBS, ROWS), "job": repeated(JOBS, ROWS)})
    cv.publish(table, {"job": 4}, tmp_path / "release", keep="copy")
    published = pq.read_table(tmp_path / "release" / "data").to_pydict()
    pairs = zip(published["copy"], published["job"], strict=True)
    same = sum(true == shown for true, shown in pairs)
    assert abs(same - ROWS / 4) < FAR * math.sqrt(ROWS * 3 / 16)
