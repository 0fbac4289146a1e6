"""Canaries: does any form of input leak into a release?

Enters: a folder to publish in, a stream. Leaves: findings. Must not know: statistics.

Knows: every byte of the release. Claim: nothing of the input is in it that was not published.
Canaries are texts that cannot occur by chance. They are planted where software leaks: dropped id
columns, sensitive values that the draw removes, paths, comments, names and metadata of CSV (plain
and compressed), Parquet, Arrow and pandas input, unused categories. Each form of input is published
as a user would do it, and every byte of the release is searched, as stored and decompressed, plain,
in hexadecimal and in base 64. A CSV file with comment lines is refused; then the error message and
the folder of the release are searched.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from countveil.auditing.attacks.source_traces import KNOWS, NAME, occurring
from countveil.auditing.case import AuditCase
from countveil.auditing.findings import Outcome, none_expected
from countveil.auditing.linking import read_stored
from countveil.engines.local.release_files import everything_in
from countveil.errors import InputError
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Stream
from countveil.release import read_manifest
from countveil.tables import Shaping

_ROWS, _COMMON, _ELL = 240, 8, 3

# Makes one form of input: from the canary and a folder for its file, if it needs one.
Form = Callable[[str, Path], Any]


def attack(case: AuditCase, stream: Stream) -> Outcome:
    """Plant canaries in every form of input."""
    return search_for_canaries(case.scratch, stream, FORMS)


def search_for_canaries(folder: Path, stream: Stream, forms: Mapping[str, Form]) -> Outcome:
    """Plant canaries below `folder` in these forms of input, publish each, search."""
    canary = "canary" + stream.words(2).tobytes().hex()
    place = folder / f"{canary}-input"
    place.mkdir()
    hits, vanished, tried, unflagged = 0, 0, 0, 0
    for name, make in forms.items():
        table = make(canary, place)
        if table is None:
            continue
        tried += 1
        target = folder / f"release-{name}"
        needles = [f"{canary}-{what}" for what in ("id", "note", "input", "unused", "comment")]
        # Every other release is seeded, and must say so.
        seed = int(stream.below(1 << 62, 1)[0]) if tried % 2 else None
        try:
            run_publish(
                table,
                Protecting.of({"job": _ELL}, seed=seed),
                Writing.of(target, again=True, record=False),
                shaping=Shaping(drop=("person",)),
            )
        except InputError as refused:
            # A message may name the publisher's path to him, but no cell of his file.
            left = everything_in(target) if target.exists() else b""
            message = str(refused).replace(str(place), "").encode()
            hits += len(occurring(message + left, [f"{canary}-comment", f"{canary}-id"]))
            continue
        flagged = read_manifest(target).randomness == "seeded"
        unflagged += flagged != (seed is not None)
        shown = {str(value) for value in read_stored(target, ["job"])["job"].values}
        removed = [value for value in _rare_values(canary) if value not in shown]
        vanished += len(removed)
        needles += removed if seed is None else [*removed, str(seed)]
        hits += len(occurring(everything_in(target), needles))
    return Outcome([
        none_expected(
            NAME, "find planted canaries", KNOWS, "plant, publish, search every byte", hits,
            "canaries found", f"{tried} forms of input: {', '.join(forms)}; "
            f"{vanished:,} sensitive values that the draw removed",
        ),
        none_expected(
            NAME, "pass a seeded release off as a real one", KNOWS,
            "publish with and without a seed", unflagged, "releases not flagged",
            f"{tried} releases",
        ),
    ])  # fmt: skip


def _rare_values(canary: str) -> list[str]:
    return [f"{canary}-value-{number:03d}" for number in range(40)]


def _columns(canary: str) -> dict[str, list[Any]]:
    common = [f"job {number}" for number in range(_COMMON)]
    jobs = _rare_values(canary)
    jobs += [common[row % _COMMON] for row in range(_ROWS - len(jobs))]
    return {
        "person": [f"{canary}-id-{row:05d}" for row in range(_ROWS)],
        "age": [20 + row % 50 for row in range(_ROWS)],
        "city": [f"city {row % 7}" for row in range(_ROWS)],
        "job": jobs,
    }


def _arrow(canary: str, _place: Path) -> Any:
    columns = _columns(canary)
    cities = sorted(set(columns["city"]))
    city = pa.DictionaryArray.from_arrays(
        pa.array([cities.index(name) for name in columns["city"]], pa.int8()),
        pa.array([*cities, f"{canary}-unused"]),
    )
    note: dict[str | bytes, str | bytes] = {
        "note": f"{canary}-note",
        "comment": f"{canary}-comment",
    }
    fields: list[pa.Field[Any]] = [
        pa.field("person", pa.string(), metadata=note),
        pa.field("age", pa.int64(), metadata=note),
        pa.field("city", city.type, metadata=note),
        pa.field("job", pa.string(), metadata=note),
    ]
    schema = pa.schema(fields, metadata={**note, "pandas": json.dumps(note)})
    arrays = [columns["person"], columns["age"], city, columns["job"]]
    return pa.Table.from_arrays([pa.array(a) if isinstance(a, list) else a for a in arrays],
                                schema=schema)  # fmt: skip


def _csv_text(canary: str) -> str:
    columns = _columns(canary)
    lines = [",".join(columns)]
    lines += [",".join(map(str, row)) for row in zip(*columns.values(), strict=True)]
    return "\n".join(lines) + "\n"


def _csv(canary: str, place: Path) -> Any:
    path = place / f"{canary}-note.csv"
    path.write_bytes(_csv_text(canary).encode())
    return str(path)


def _commented_csv(canary: str, place: Path) -> Any:
    """A line of comment above the header, and one below the rows."""
    path = place / f"{canary}-note-2.csv"
    comment = f"# {canary}-comment\n"
    path.write_bytes((comment + _csv_text(canary) + comment).encode())
    return str(path)


def _ending_csv(canary: str, place: Path) -> Any:
    """A line of comment below the rows only."""
    path = place / f"{canary}-note-3.csv"
    path.write_bytes((_csv_text(canary) + f"# {canary}-comment\n").encode())
    return str(path)


def _packed_csv(canary: str, place: Path) -> Any:
    """The name and the comment that a gzip file carries in its head."""
    path = place / f"{canary}-note.csv.gz"
    packed = gzip.compress(_csv_text(canary).encode(), mtime=0)
    name, comment = f"{canary}-input.csv".encode(), f"{canary}-comment".encode()
    has_name, has_comment = 8, 16
    head = packed[:3] + bytes([has_name | has_comment]) + packed[4:10]
    path.write_bytes(head + name + b"\0" + comment + b"\0" + packed[10:])
    return str(path)


def _parquet(canary: str, place: Path) -> Any:
    path = place / f"{canary}-note.parquet"
    pq.write_table(_arrow(canary, place), path)
    return str(path)


def _feather(canary: str, place: Path) -> Any:
    path = place / f"{canary}-note.feather"
    pa.feather.write_feather(_arrow(canary, place), str(path))
    return str(path)


def _pandas(canary: str, _place: Path) -> Any:
    try:
        import pandas as pd
    except ImportError:
        return None
    frame = pd.DataFrame(_columns(canary))
    cities = [*sorted(set(frame["city"])), f"{canary}-unused"]
    frame["city"] = pd.Categorical(frame["city"], cities)
    frame.index = pd.Index([f"{canary}-id-{row}" for row in range(_ROWS)], name=f"{canary}-note")
    frame.attrs["note"] = f"{canary}-note"
    frame.attrs["comment"] = f"{canary}-comment"
    frame.columns.name = f"{canary}-note"
    return frame


FORMS: Mapping[str, Form] = {
    "CSV": _csv,
    "CSV with comments": _commented_csv,
    "CSV with a last comment": _ending_csv,
    "CSV in gzip": _packed_csv,
    "Parquet": _parquet,
    "Feather": _feather,
    "Arrow": _arrow,
    "pandas": _pandas,
}
