"""Implementation: does any byte of a release hold what it must not?

Enters: a release, and what must not be in it; or a stream, to plant canaries. Leaves: findings.
Must not know: statistics.

Canaries are texts that cannot occur by chance. They are planted where software leaks: dropped id
columns, sensitive values that the draw removes, paths, comments, names and metadata of CSV (plain
and packed), Parquet, Arrow and pandas input, unused categories. Each form of input is published as
a user would do it, and every byte of the release is searched, as stored and decompressed, plain, in
hexadecimal and in base 64. A CSV file with lines of comment is refused; then the message and the
place of the release are searched.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from countveil.auditing.attacks.source_traces import chance_p_value, found_in
from countveil.auditing.findings import Finding, Outcome
from countveil.auditing.linking import read_stored
from countveil.engines.local.release_files import everything_in
from countveil.errors import InputError
from countveil.publishing.publisher import run_publish
from countveil.publishing.settings import Protecting, Writing
from countveil.randomness import Stream
from countveil.release import read_manifest
from countveil.tables import Shaping

NAME = "implementation"
_KNOWS = "every byte of the release"
_ROWS, _COMMON, _ELL = 240, 8, 3


def attack_release(folder: Path, secrets: Mapping[str, Sequence[str]], *, planned: bool) -> Outcome:
    """Search a release for the publisher's own secrets, by kind; is it seeded?"""
    content = everything_in(folder)
    findings = []
    for kind, texts in secrets.items():
        found = found_in(content, texts)
        findings.append(Finding(
            NAME, f"find {kind}", _KNOWS, "search every byte", "0", float(len(found)),
            "texts found", p_value=chance_p_value(content, texts, found),
            note=f"{len(texts):,} texts sought in {len(content):,} bytes, stored and unpacked",
        ))  # fmt: skip
    if not planned:
        seeded = read_manifest(folder).randomness == "seeded"
        findings.append(_check(
            "redo the draw from its seed", "read the manifest", int(seeded), "seeds used",
            "a seeded release is for experiments: who knows or guesses the seed undoes it",
        ))  # fmt: skip
    return Outcome(findings)


def attack_with_canaries(folder: Path, stream: Stream) -> Outcome:
    """Plant canaries below `folder` in every form of input, publish each, search."""
    canary = "canary" + stream.words(2).tobytes().hex()
    place = folder / f"{canary}-input"
    place.mkdir()
    found, vanished, forms, unflagged = 0, 0, 0, 0
    for name, make in _FORMS.items():
        table = make(canary, place)
        if table is None:
            continue
        forms += 1
        target = folder / f"release-{name}"
        needles = [f"{canary}-{what}" for what in ("id", "note", "input", "unused", "comment")]
        # Every other release is seeded, and must say so.
        seed = int(stream.below(1 << 62, 1)[0]) if forms % 2 else None
        try:
            run_publish(
                table,
                Protecting.of({"job": _ELL}, seed=seed),
                Writing.of(target),
                shaping=Shaping(drop=("person",)),
            )
        except InputError as refused:
            # The publisher's own path may be named to him; a cell of his file may not.
            left = everything_in(target) if target.exists() else b""
            told = str(refused).replace(str(place), "").encode()
            found += len(found_in(told + left, [f"{canary}-comment", f"{canary}-id"]))
            continue
        flagged = read_manifest(target).randomness == "seeded"
        unflagged += flagged != (seed is not None)
        shown = {str(value) for value in read_stored(target, ["job"])["job"].values}
        removed = [value for value in _rare_values(canary) if value not in shown]
        vanished += len(removed)
        needles += removed if seed is None else [*removed, str(seed)]
        found += len(found_in(everything_in(target), needles))
    return Outcome([
        _check("find planted canaries", "plant, publish, search every byte", found,
               "canaries found", f"{forms} forms of input: {', '.join(_FORMS)}; "
               f"{vanished:,} sensitive values that the draw removed"),
        _check("pass a seeded release off as a real one", "publish with and without a seed",
               unflagged, "releases not flagged", f"{forms} releases"),
    ])  # fmt: skip


def _check(attack: str, method: str, found: int, unit: str, note: str) -> Finding:
    return Finding(
        NAME, attack, _KNOWS, method, "0", float(found), unit,
        p_value=0.0 if found else 1.0, note=note,
    )  # fmt: skip


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
    note = {"note": f"{canary}-note", "comment": f"{canary}-comment"}
    fields = [
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
    path.write_text(_csv_text(canary))
    return str(path)


def _commented_csv(canary: str, place: Path) -> Any:
    """A line of comment above the header, and one below the rows."""
    path = place / f"{canary}-note-2.csv"
    comment = f"# {canary}-comment\n"
    path.write_text(comment + _csv_text(canary) + comment)
    return str(path)


def _ending_csv(canary: str, place: Path) -> Any:
    """A line of comment below the rows only."""
    path = place / f"{canary}-note-3.csv"
    path.write_text(_csv_text(canary) + f"# {canary}-comment\n")
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


_FORMS: dict[str, Callable[[str, Path], Any]] = {
    "CSV": _csv,
    "CSV with comments": _commented_csv,
    "CSV with a last comment": _ending_csv,
    "CSV in gzip": _packed_csv,
    "Parquet": _parquet,
    "Feather": _feather,
    "Arrow": _arrow,
    "pandas": _pandas,
}
