"""Releases that somebody made to mislead, to hang or to fill a machine, by name.

Enters: copies of sound releases, one for each format. Leaves: the same folders, spoilt. Every
release here is one that a stranger could hand over; its manifest has a checksum that fits.
"""

from __future__ import annotations

import gzip
import json
import os
import socket
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from countveil.release.manifest import _checksum, file_sha256

CONTROL = "\x1b]0;owned\x07\u202e"
# More than a release of this size unpacks to, and little enough to be made in a moment.
BOMB = 160 << 20
FORMATS = ("parquet", "csv", "csv.gz", "arrow", "stata", "spss")


@dataclass(frozen=True, slots=True)
class Hostile:
    """What is done to a sound release of a format; `may_answer` says that it is still one."""

    spoil: Callable[[Path], None]
    format: str = "parquet"
    may_answer: bool = False


def data_file(folder: Path) -> Path:
    """The one data file."""
    (path,) = (folder / "data").iterdir()
    return path


def content_of(folder: Path) -> dict[str, Any]:
    """The manifest as it is."""
    content: dict[str, Any] = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    return content


def seal(folder: Path, content: dict[str, Any]) -> None:
    """Write a manifest with a checksum that fits."""
    content.pop("checksum", None)
    content["checksum"] = _checksum(content)
    (folder / "manifest.json").write_text(json.dumps(content), encoding="utf-8")


def with_field(folder: Path, place: str, value: Any) -> None:
    """One field of the manifest replaced."""
    content = content_of(folder)
    *steps, last = (int(step) if step.isdecimal() else step for step in place.split("."))
    part: Any = content
    for step in steps:
        part = part[step]
    part[last] = value
    seal(folder, content)


def refit(folder: Path, rows: int | None = None) -> None:
    """The manifest says what the data file now is."""
    content, path = content_of(folder), data_file(folder)
    entry = content["files"][0]
    entry["bytes"], entry["sha256"] = path.stat().st_size, file_sha256(path)
    if rows is not None:
        entry["rows"] = content["rows"] = rows
    seal(folder, content)


FIELDS = (
    "rows", "columns", "sensitive", "files", "randomness", "statement", "written_by",
    "format_version", "columns.0.name", "columns.0.type", "columns.0.role", "sensitive.job.ell",
    "sensitive.job.groups", "sensitive.job.residue", "sensitive.job.domain",
    "sensitive.job.guarantee", "sensitive.job.guarantee.0.count", "sensitive.job.domain.0",
    "files.0.path", "files.0.rows", "files.0.bytes", "files.0.sha256", "report.bytes",
)  # fmt: skip
VALUES: dict[str, Any] = {
    "nothing": None, "minus one": -1, "a huge number": 10**30, "a text": CONTROL, "a list": [[]],
    "an object": {"x": {}}, "true": True,
}  # fmt: skip
# Texts that anybody may write, and numbers that describe no row.
HARMLESS = {
    "written_by: a text", "sensitive.job.guarantee.0.count: a huge number",
    "columns.0.name: a text",
    "sensitive.job.domain.0: nothing", "sensitive.job.domain.0: a text", "files.0.sha256: a text",
    "files.0.sha256: nothing", "files.0.sha256: minus one", "files.0.sha256: a huge number",
    "files.0.sha256: a list", "files.0.sha256: an object", "files.0.sha256: true",
    "report.bytes: a huge number",
}  # fmt: skip


def _fields() -> Iterator[tuple[str, Hostile]]:
    for place in FIELDS:
        for what, value in VALUES.items():
            name = f"{place}: {what}"
            yield (
                name,
                Hostile(partial(with_field, place=place, value=value), may_answer=name in HARMLESS),
            )


def _text(folder: Path, content: bytes) -> None:
    (folder / "manifest.json").write_bytes(content)


def _text_of(folder: Path, change: Callable[[str], str]) -> None:
    path = folder / "manifest.json"
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")


def _domain(folder: Path, values: int) -> None:
    with_field(folder, "sensitive.job.domain", [f"v{number}" for number in range(values)])


MANIFESTS = {
    "an empty manifest": Hostile(partial(_text, content=b"")),
    "a manifest that is not UTF-8": Hostile(partial(_text, content=b"\xff\xfe{")),
    "a manifest of nulls": Hostile(partial(_text, content=b"\0" * 4096)),
    "a list as a manifest": Hostile(partial(_text, content=b"[]")),
    "a number as a manifest": Hostile(partial(_text, content=b"1" * 5000)),
    "a deep manifest": Hostile(partial(_text, content=b"[" * 100_000)),
    "a manifest of lists": Hostile(partial(_text, content=b"[" + b"[]," * 600_000 + b"[]]")),
    "a manifest of entries": Hostile(partial(_text, content=b"[" + b"0," * 4_100_000 + b"0]")),
    "a manifest too long": Hostile(partial(_text, content=b'"' + b"x" * (33 << 20) + b'"')),
    "an infinite number": Hostile(
        partial(_text_of, change=lambda text: text.replace('"rows": 80', '"rows": 1e999', 1))
    ),
    "no number": Hostile(
        partial(_text_of, change=lambda text: text.replace('"rows": 80', '"rows": NaN', 1))
    ),
    "half a character": Hostile(
        partial(with_field, place="written_by", value="\ud800"), may_answer=True
    ),
    "an edited manifest": Hostile(
        partial(_text_of, change=lambda text: text.replace("80", "81", 1))
    ),
    "a domain of 600,000 values": Hostile(partial(_domain, values=600_000)),
    "a statement of a million lines": Hostile(
        partial(with_field, place="statement", value=[""] * 10**6)
    ),
    "a statement of one long line": Hostile(
        partial(with_field, place="statement", value=["x " * 10**6])
    ),
    "a long statement that is allowed": Hostile(
        partial(with_field, place="statement", value=["x"] * 2_000), may_answer=True
    ),
    "a guarantee of many lines": Hostile(
        partial(
            with_field,
            place="sensitive.job.guarantee",
            value=[{"count": 1, "error": 0.1, "chance_off": 0.5}] * 2_000,
        )
    ),
    "20,000 columns": Hostile(
        partial(
            with_field,
            place="columns",
            value=[{"name": f"c{i}", "type": "string", "role": "plain"} for i in range(20_000)],
        )
    ),
    "a file outside": Hostile(partial(with_field, place="files.0.path", value="../../etc/passwd")),
    "a file at the root": Hostile(partial(with_field, place="files.0.path", value="/dev/zero")),
    "a file twice": Hostile(
        lambda folder: with_field(folder, "files", content_of(folder)["files"] * 2)
    ),
    "more rows than bytes hold": Hostile(lambda folder: _rows(folder, 10**11)),
    "control characters in the statement": Hostile(
        partial(with_field, place="statement", value=[CONTROL]), may_answer=True
    ),
}


def _rows(folder: Path, rows: int) -> None:
    content = content_of(folder)
    content["rows"] = content["files"][0]["rows"] = rows
    seal(folder, content)


def _socket(path: Path) -> None:
    here = Path.cwd()
    os.chdir(path.parent)
    try:
        # The name of a socket may have a hundred characters.
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(path.name)
    finally:
        os.chdir(here)


def _sparse(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def _instead(folder: Path, name: str, make: Callable[[Path], object]) -> None:
    path = data_file(folder) if name == "data file" else folder / name
    if path.is_dir():
        data_file(folder).unlink()
        path.rmdir()
    else:
        path.unlink(missing_ok=True)
    make(path)


SPECIAL: dict[str, Callable[[Path], object]] = {
    "nothing": lambda _: None,
    "a pipe": os.mkfifo if hasattr(os, "mkfifo") else Path.touch,
    "a socket": _socket,
    "a folder": Path.mkdir,
    "an empty file": Path.touch,
    "a link to a device": lambda path: path.symlink_to("/dev/zero"),
    "a link out": lambda path: path.symlink_to("/etc/passwd"),
    "a link to itself": lambda path: path.symlink_to(path.name),
    "a link to nothing": lambda path: path.symlink_to("gone"),
    "a sparse file": _sparse,
}


def _special() -> Iterator[tuple[str, Hostile]]:
    for name in ("manifest.json", "manifest.sig", "report.html", "data", "data file"):
        for kind, make in SPECIAL.items():
            # What is beside the data is not read to answer, and the signature only if asked for.
            may_answer = name in ("manifest.sig", "report.html")
            yield (
                f"{name} is {kind}",
                Hostile(partial(_instead, name=name, make=make), may_answer=may_answer),
            )


def _bytes(folder: Path, change: Callable[[bytes], bytes]) -> None:
    path = data_file(folder)
    path.write_bytes(change(path.read_bytes()))
    refit(folder)


def _parquet(folder: Path, change: Callable[[pa.Table], pa.Table], **options: Any) -> None:
    path = data_file(folder)
    table = change(pq.read_table(path))
    pq.write_table(table, path, **{"compression": "zstd", "write_statistics": False, **options})
    refit(folder, table.num_rows)


def _with_column(table: pa.Table, name: str, values: Any) -> pa.Table:
    return table.set_column(table.schema.get_field_index(name), name, values)


def _long_value(table: pa.Table) -> pa.Table:
    return _with_column(table, "sex", pa.array(["x" * BOMB] + ["F"] * (table.num_rows - 1)))


def _as_arrow(folder: Path, change: Callable[[pa.Table], pa.Table]) -> None:
    path = data_file(folder)
    with pa.OSFile(str(path), "rb") as raw, pa.ipc.open_file(raw) as reader:
        table = change(reader.read_all())
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with (
        pa.OSFile(str(path), "wb") as raw,
        pa.ipc.new_file(raw, table.schema, options=options) as writer,
    ):
        writer.write_table(table)
    refit(folder, table.num_rows)


def _gzip(folder: Path, change: Callable[[bytes], bytes]) -> None:
    _bytes(folder, lambda content: gzip.compress(change(gzip.decompress(content)), 6, mtime=0))


def _patched(content: bytes, place: int, new: bytes) -> bytes:
    place %= len(content)
    return content[:place] + new + content[place + len(new) :]


def _cut(folder: Path, share: float) -> None:
    _bytes(folder, lambda content: content[: int(len(content) * share)])


def _zeros(folder: Path, place: int) -> None:
    _bytes(folder, lambda content: _patched(content, place, b"\0" * 16))


def _lying_buffer(content: bytes) -> bytes:
    """The first compressed buffer says that it unpacks to petabytes."""
    place = content.index(b"\x28\xb5\x2f\xfd") - 8
    return _patched(content, place, (1 << 50).to_bytes(8, "little"))


def _twice(folder: Path) -> None:
    _parquet(folder, lambda table: pa.concat_tables([table, table]))
    _rows(folder, 80)


def _no_rows(folder: Path) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pq.read_table(data_file(folder)).slice(0, 0), sink)
    return sink.getvalue().to_pybytes()


DATA = {
    "parquet: one value of megabytes": Hostile(
        partial(_parquet, change=_long_value, use_dictionary=False)
    ),
    "parquet: a long value in a dictionary": Hostile(partial(_parquet, change=_long_value)),
    "parquet: a column less": Hostile(partial(_parquet, change=lambda t: t.drop_columns(["sex"]))),
    "parquet: a column more": Hostile(
        partial(_parquet, change=lambda t: t.append_column("x", t["sex"]))
    ),
    "parquet: another type": Hostile(
        partial(_parquet, change=lambda t: _with_column(t, "row", t["row"].cast(pa.string())))
    ),
    "parquet: other values": Hostile(
        partial(_parquet, change=lambda t: _with_column(t, "job", pa.array([CONTROL] * t.num_rows)))
    ),
    "parquet: columns in another order": Hostile(
        partial(_parquet, change=lambda t: t.select(t.column_names[::-1]))
    ),
    "parquet: no rows": Hostile(lambda folder: _bytes(folder, lambda _: _no_rows(folder))),
    "parquet: more rows than listed": Hostile(_twice),
    **{
        f"{form}: cut after {share:.0%}": Hostile(partial(_cut, share=share), form)
        for form in FORMATS
        for share in (0.0, 0.3, 0.9)
    },
    **{
        f"{form}: zeros at {place}": Hostile(
            partial(_zeros, place=place),
            form,
            may_answer=True,
        )
        for form in FORMATS
        for place in (4, 60, 200, -40, -16)
    },
    "parquet: a footer of gigabytes": Hostile(
        partial(_bytes, change=lambda c: c[:-8] + b"\xff\xff\xff\x7fPAR1")
    ),
    "parquet: not one": Hostile(partial(_bytes, change=lambda _: b"PAR1" + b"x" * 500 + b"PAR1")),
    "csv.gz: a bomb": Hostile(partial(_gzip, change=lambda c: c + b"x" * BOMB), "csv.gz"),
    "csv.gz: a bomb of lines": Hostile(
        partial(_gzip, change=lambda c: c + b"\n" * (32 << 20)), "csv.gz"
    ),
    "csv.gz: a bomb in quotes": Hostile(
        partial(_gzip, change=lambda c: c + b'"' + b"\n" * (32 << 20)), "csv.gz"
    ),
    "csv.gz: not packed": Hostile(partial(_bytes, change=gzip.decompress), "csv.gz"),
    "csv.gz: something behind it": Hostile(
        partial(_bytes, change=lambda c: c + b"x" * 100), "csv.gz", may_answer=True
    ),
    "csv: another header": Hostile(partial(_bytes, change=lambda c: b"a,b,c\n" + c), "csv"),
    "csv: zero bytes": Hostile(partial(_bytes, change=lambda c: c + b"\0" * 1000), "csv"),
    "csv: one column more": Hostile(
        partial(_bytes, change=lambda c: c.replace(b"\n", b",1\n")), "csv"
    ),
    "arrow: one value of megabytes": Hostile(partial(_as_arrow, change=_long_value), "arrow"),
    "arrow: a buffer that lies": Hostile(partial(_bytes, change=_lying_buffer), "arrow"),
    "arrow: another type": Hostile(
        partial(_as_arrow, change=lambda t: _with_column(t, "row", t["row"].cast(pa.string()))),
        "arrow",
    ),
    "arrow: a column less": Hostile(
        partial(_as_arrow, change=lambda t: t.drop_columns(["sex"])), "arrow"
    ),
    "arrow: a dictionary": Hostile(
        partial(_as_arrow, change=lambda t: _with_column(t, "sex", t["sex"].dictionary_encode())),
        "arrow",
    ),
}


HOSTILE: dict[str, Hostile] = {**dict(_fields()), **MANIFESTS, **dict(_special()), **DATA}
