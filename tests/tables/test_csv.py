"""CSV files: cut into chunks, typed, kept in memory or on disk, always the same rows."""

from __future__ import annotations

import csv
import gzip
import io
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from countveil.errors import InputError
from countveil.tables import Reading
from countveil.tables.readers.csv import chunks as csv_chunks
from countveil.tables.readers.csv import types as csv_types
from countveil.tables.readers.csv.reader import open_csv_files
from countveil.tables.storage.memory import KeptColumns
from tests.sample_tables import table_of_blocks

PLENTY = 1 << 40


@pytest.fixture(params=[37, 400, 1 << 20])
def _small_chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_chunks, "LEAST_BYTES", request.param)
    monkeypatch.setattr(csv_chunks, "MOST_BYTES", request.param)


def read(path: Path, *, missing: tuple[str, ...] = (), most_bytes: int = PLENTY) -> pa.Table:
    blocks = open_csv_files([path], Reading(missing=missing), KeptColumns(most_bytes, path.parent))
    assert sum(span.rows for span in blocks.spans) == blocks.rows
    assert [span.first for span in blocks.spans] == np.cumsum(
        [0, *(span.rows for span in blocks.spans)]
    )[:-1].tolist()
    return table_of_blocks(blocks)


CELLS = st.text(st.sampled_from('ab1,"\n\r é'), max_size=6)


@pytest.mark.slow
@pytest.mark.usefixtures("_small_chunks")
def test_however_a_file_is_cut_its_cells_are_those_that_were_written(tmp_path: Path) -> None:
    @given(st.lists(st.tuples(CELLS, CELLS), max_size=60), st.sampled_from(["\n", "\r\n"]))
    def check(rows: list[tuple[str, str]], line_end: str) -> None:
        text = io.StringIO(newline="")
        writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator=line_end)
        writer.writerows([("x x", "y"), *(("t" + one, two) for one, two in rows)])
        path = tmp_path / "in.csv"
        path.write_bytes(text.getvalue().encode())
        found = read(path)
        assert found["x x"].to_pylist() == ["t" + one for one, _ in rows]
        texts = [None if two in ("", None) else str(two) for two in found["y"].to_pylist()]
        assert len(texts) == len(rows)
        if pa.types.is_string(found["y"].type):
            assert texts == [two or None for _, two in rows]

    check()


@pytest.mark.usefixtures("_small_chunks")
def test_quotes_inside_unquoted_cells_move_no_row(tmp_path: Path) -> None:
    """The quotes are even in number, and yet do not tell where a record ends."""
    record = '5" pipe,"two\nlines",c\n6,"a ""b""",d"\n'
    path = tmp_path / "in.csv"
    path.write_text("what,note,more\n" + record * 50)
    found = read(path)
    assert found["what"].to_pylist() == ['5" pipe', "6"] * 50
    assert found["note"].to_pylist() == ["two\nlines", 'a "b"'] * 50


@pytest.mark.usefixtures("_small_chunks")
def test_a_mark_of_byte_order_belongs_to_its_cell_unless_it_begins_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "in.csv"
    path.write_text("\ufeffa,b\n" + "\ufeffx,y\n" * 40, encoding="utf-8")
    assert read(path)["a"].to_pylist() == ["\ufeffx"] * 40


@pytest.mark.usefixtures("_small_chunks")
def test_the_line_at_fault_is_named_whatever_piece_it_is_in(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("a,b\n" + "1,secret\n" * 70 + "2,secret,3\n" + "1,x\n" * 50)
    with pytest.raises(InputError, match=r"line 72: the line has 3 cells, the header 2") as caught:
        read(path)
    assert "secret" not in str(caught.value)
    path.write_text("a,b\n" + "1,x\n" * 70 + '1,"secret\n' + "1,x\n" * 50)
    with pytest.raises(InputError, match=r"line 72: a quoted cell is never closed") as caught:
        read(path)
    assert "secret" not in str(caught.value)


@pytest.mark.usefixtures("_small_chunks")
def test_compressed_files_without_a_last_line_end(tmp_path: Path) -> None:
    path = tmp_path / "in.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,x\n" * 90 + b"-7,"))
    found = read(path)
    assert found["a"].to_pylist() == [1] * 90 + [-7]
    assert found["b"].to_pylist() == ["x"] * 90 + [None]


@pytest.mark.few(1)
@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("most_bytes", [0, 300, PLENTY])
def test_what_lies_on_disk_comes_back_as_it_was(tmp_path: Path, most_bytes: int) -> None:
    path = tmp_path / "in.csv"
    lines = [f"{i},{i / 8},id{i},{'' if i % 3 else 'é'},?\n" for i in range(200)]
    path.write_text("a,b,c,d,e\n" + "".join(lines), encoding="utf-8")
    found = read(path, missing=("?",), most_bytes=most_bytes)
    assert [str(kind) for kind in found.schema.types] == [
        "int64", "double", "string", "string", "string",
    ]  # fmt: skip
    assert found["a"].to_pylist() == list(range(200))
    assert found["b"].to_pylist() == [i / 8 for i in range(200)]
    assert found["c"].to_pylist() == [f"id{i}" for i in range(200)]
    assert found["d"].to_pylist() == [None if i % 3 else "é" for i in range(200)]
    assert found["e"].to_pylist() == [None] * 200
    assert sorted(p.name for p in tmp_path.iterdir()) == ["in.csv"]


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("odd_cell", ["plain", '5" pipe'])
def test_progress_counts_rows_while_they_are_parsed(tmp_path: Path, odd_cell: str) -> None:
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path in paths:
        path.write_text("a,b\n" + f'1,"x\ny"\n{odd_cell},z"\n' * 60)
    reports: list[tuple[str, int, int]] = []
    kept = KeptColumns(PLENTY, tmp_path)
    reading = Reading(progress=lambda *report: reports.append(report))
    blocks = open_csv_files(paths, reading, kept)
    stages, rows, totals = zip(*reports, strict=True)
    assert set(stages) == {"parsing"}
    assert rows[-1] == totals[-1] == blocks.rows == 240
    assert all(done <= total for done, total in zip(rows, totals, strict=True))


@pytest.mark.slow
def test_a_header_longer_than_the_first_look(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    names = [f"column number {i} " + "x" * 40 for i in range(3_000)]
    path.write_text(",".join(names) + "\n" + ",".join("1" for _ in names) + "\n")
    assert read(path).column_names == names
    path.write_text('a,"long ' + "\n" * 70_000 + 'name"\n1,2\n')
    assert read(path).column_names == ["a", "long " + "\n" * 70_000 + "name"]


def test_blank_lines_before_the_header(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("\n\na,b\n1,x\n")
    assert read(path).to_pylist() == [{"a": 1, "b": "x"}]


# What DuckDB makes of a text, and how it writes it, was the first definition of the types.
_BY_DUCKDB = {
    pa.int64(): "try_cast($t AS BIGINT)::VARCHAR = $t",
    pa.float64(): (
        "isfinite(try_cast($t AS DOUBLE)) AND "
        "regexp_full_match($t, '-?(0|[1-9][0-9]*)?([.][0-9]+)?([eE][+-]?[0-9]+)?') AND "
        "length($t) - length(regexp_replace($t, '[0-9]', '', 'g')) <= "
        "CASE WHEN regexp_matches($t, '[.eE]') THEN 17 ELSE 15 END"
    ),
    pa.date32(): (
        "try_cast($t AS DATE)::VARCHAR = $t AND regexp_full_match($t, '[0-9]{4}-[0-9]{2}-[0-9]{2}')"
    ),
    pa.timestamp("us"): (
        "try_cast($t AS TIMESTAMP) IS NOT NULL AND "
        "regexp_full_match($t, '[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9:]{8}([.][0-9]{1,6})?')"
    ),
}
TRICKY = [
    "0", "-0", "00", "007", "+1", "1.", ".5", "-.5", "-", ".", "e5", "1e5", "1E+05", "1e999",
    "1e-999", "0.1", "0.10", "123456789012345", "1234567890123456", "12345678901234567.8",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809",
    "2020-02-29", "2021-02-29", "0000-01-01", "0001-01-01", "9999-12-31", "2020-13-01",
    "2020-01-01 00:00:00", "2020-01-01T23:59:59.123456", "2020-01-01 23:59:60", "2020-1-1",
    "2020-01-01 25:00:00", "nan", "inf", " 1", "1 ", "1_000", "\uff11", "true", "TRUE", "1\n",
]  # fmt: skip


@pytest.mark.few(22)
@pytest.mark.parametrize("text", TRICKY)
def test_types_fit_what_is_written_as_they_write_it(text: str) -> None:
    check_against_duckdb(text)


@given(st.text(st.sampled_from("0123456789.-+eE:T "), min_size=1, max_size=20))
def test_types_fit_as_duckdb_would_have_it(text: str) -> None:
    check_against_duckdb(text)


def check_against_duckdb(text: str) -> None:
    fits = csv_types.fitting(pa.array([text]))
    for kind, condition in _BY_DUCKDB.items():
        answer = duckdb.execute(f"SELECT coalesce({condition}, false)", {"t": text}).fetchall()
        assert (kind in fits) == answer[0][0], kind


def test_a_type_must_fit_every_part() -> None:
    whole, number, text = (
        csv_types.fitting(pa.array(texts)) for texts in (["1", "2"], ["1.5"], ["x"])
    )
    nothing = csv_types.fitting(pa.array([], pa.string()))
    assert csv_types.first_fitting([whole, nothing, whole]) == pa.int64()
    assert csv_types.first_fitting([whole, number]) == pa.float64()
    assert csv_types.first_fitting([whole, number, text]) == pa.string()


@pytest.mark.parametrize("at_once", [1, 7, 1_000])
def test_texts_that_are_one_number_are_found_in_few_at_a_time(
    at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_types, "AT_ONCE", at_once)
    different = [pa.array([f"{i}.{i}5" for i in range(part, 60, 2)]) for part in (0, 1)]
    repeated = [*different, different[0]]
    assert not csv_types.merges(lambda: iter(repeated), 90)
    for text in ("7.750", "775e-2"):
        more = [*repeated, pa.array([text])]
        assert csv_types.merges(more.__iter__, 91)
    assert csv_types.merges(lambda: iter([pa.array(["0", "-0"])]), 2)


@pytest.mark.slow
def test_reading_a_csv_needs_neither_duckdb_nor_pandas(tmp_path: Path) -> None:
    """Both take longer to import than many a table to read."""
    path = tmp_path / "in.csv"
    path.write_text("n,job\n" + "".join(f"{i % 9}.5,{job}\n" for i in range(30) for job in "abc"))
    code = (
        "import sys; from countveil.publishing.publisher import run_publish; "
        "from countveil.publishing.settings import Protecting, Writing; "
        "run_publish(sys.argv[1], Protecting.of({'job': 2}), Writing.of(sys.argv[2])); "
        "sys.exit('duckdb' in sys.modules or 'pandas' in sys.modules)"
    )
    words = [sys.executable, "-c", code, str(path), str(tmp_path / "release")]
    assert subprocess.run(words, check=False).returncode == 0


def test_words_for_nothing_are_values(tmp_path: Path) -> None:
    """Only an empty cell is missing, unless the publisher names what stands for it."""
    path = tmp_path / "in.csv"
    words = ["NULL", "null", "NA", "N/A", "nan", "None", "-", "n.a."]
    path.write_text("x,y\n" + "".join(f"{word},a\n" for word in words) + ",b\n")
    texts = read(path)["x"].to_pylist()
    assert texts == [*words, None], "a person whose value is a word is counted as missing"


@pytest.mark.usefixtures("_small_chunks")
def test_a_cell_with_a_line_end_stays_one_cell(tmp_path: Path) -> None:
    """Records longer than a chunk, so that every chunk ends inside of one."""
    path = tmp_path / "in.csv"
    rows = [(f"r{number}", "one line\nand the next\n" * 5) for number in range(40)]
    path.write_text("x,y\n" + "".join(f'{name},"{text}"\n' for name, text in rows))
    table = read(path)
    assert table["x"].to_pylist() == [name for name, _ in rows], "a cell became two persons"
    assert table["y"].to_pylist() == [text for _, text in rows]


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
@pytest.mark.usefixtures("_small_chunks")
def test_the_last_person_counts_whatever_ends_the_file(end: str, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(("x,y\r\n" + "\r\n".join(f"r{n},v{n}" for n in range(50)) + end).encode())
    assert read(path)["x"].to_pylist() == [f"r{n}" for n in range(50)], "the last row is lost"


@pytest.mark.parametrize(
    ("block", "quotes", "end"),
    [
        (b'a,"x\ny"\nb,"z\n', 0, 8), (b'a,"x\ny"\nb,z\n', 0, 12), (b'a,"x\ny', 0, 0),
        (b"a\nb\nc", 0, 4), (b'y"\nb,"z\nw"\nc', 1, 11), (b"y\nz\n", 1, 0),
        (b'"a""\n""b"\nc', 0, 10),
    ],
)  # fmt: skip
def test_a_chunk_ends_after_a_record(block: bytes, quotes: int, end: int) -> None:
    """`quotes` were before the block; an odd number of them means that it begins in a cell."""
    whole = quotes + block.count(b'"')
    assert csv_chunks._record_end(block, whole, b'"') == end, "a piece ends inside a record"


@pytest.mark.parametrize("rows", [1, 3_000])
def test_a_quote_that_is_never_closed_is_refused(rows: int, tmp_path: Path) -> None:
    """It would swallow everybody after it."""
    path = tmp_path / "in.csv"
    path.write_text("x,y\n" + "a,b\n" * rows + 'c,"d\n' + "e,f\n" * rows)
    with pytest.raises(InputError, match=f"line {rows + 2}: a quoted cell is never closed"):
        read(path)
