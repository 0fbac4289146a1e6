"""CSV files as people have them: other delimiters, quotes, encodings, commas, archives, folders."""

from __future__ import annotations

import csv
import gzip
import io
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import countveil as cv
from countveil.errors import CountveilError, InputError, SettingsError
from countveil.tables import CsvStyle, FileSource, Reading, describe_source
from countveil.tables.readers.csv import chunks as csv_chunks
from countveil.tables.readers.csv.reader import open_csv_files
from countveil.tables.storage.memory import KeptColumns
from tests.sample_tables import table_of_blocks
from tests.strategies import examples


def read(path: Path, **style: Any) -> pa.Table:
    kept = KeptColumns(1 << 40, path.parent)
    return table_of_blocks(open_csv_files([path], Reading(csv=CsvStyle.of(**style)), kept))


@pytest.fixture(params=[41, 1 << 20])
def _small_chunks(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_chunks, "LEAST_BYTES", request.param)
    monkeypatch.setattr(csv_chunks, "MOST_BYTES", request.param)
    monkeypatch.setattr(csv_chunks, "LEAST_BYTES_A_COLUMN", 1)


CELLS = st.text(st.sampled_from("ab;,'|\t\n é€"), max_size=6)


@pytest.mark.usefixtures("_small_chunks")
def test_what_was_written_in_any_style_is_what_is_read(tmp_path: Path) -> None:
    @examples(25)
    @given(
        st.lists(st.tuples(CELLS, CELLS), min_size=1, max_size=30),
        st.sampled_from([",", ";", "\t", "|", "~"]),
        st.sampled_from(['"', "'"]),
        st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-16-be", "windows-1252", "utf-32"]),
        st.booleans(),
    )
    def check(
        rows: list[tuple[str, str]], delimiter: str, quote: str, encoding: str, header: bool
    ) -> None:
        text = io.StringIO(newline="")
        writer = csv.writer(
            text, delimiter=delimiter, quotechar=quote, quoting=csv.QUOTE_ALL, lineterminator="\n"
        )
        names = ("one", "two") if header else ("column1", "column2")
        writer.writerows([names] * header + [("x" + one, "y" + two) for one, two in rows])
        path = tmp_path / "in.csv"
        path.write_bytes(text.getvalue().encode(encoding))
        found = read(path, delimiter=delimiter, quote=quote, encoding=encoding, header=header)
        assert found.column_names == list(names)
        assert found[names[0]].to_pylist() == ["x" + one for one, _ in rows]
        assert found[names[1]].to_pylist() == ["y" + two for _, two in rows]

    check()


@pytest.mark.usefixtures("_small_chunks")
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_quotes_that_mislead_are_read_in_order_in_every_encoding(
    tmp_path: Path, encoding: str
) -> None:
    record = '5" pipe;"two\nlines";ä\n6;"a ""b""";d"\n'
    path = tmp_path / "in.csv"
    path.write_bytes(("what;note;more\n" + record * 40).encode(encoding))
    found = read(path, encoding=encoding)
    assert found["more"].to_pylist() == ["ä", 'd"'] * 40
    assert found["note"].to_pylist() == ["two\nlines", 'a "b"'] * 40


@pytest.mark.usefixtures("_small_chunks")
def test_without_quotes_a_quote_is_a_character(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text('size,what\n5",a "b"\n6",c\n')
    found = read(path, quote="none")
    assert found["size"].to_pylist() == ['5"', '6"']
    assert found["what"].to_pylist() == ['a "b"', "c"]


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".csv.zip", ".zip"])
def test_a_mark_at_the_beginning_tells_utf_16_from_utf_8(tmp_path: Path, ending: str) -> None:
    content = "name,n\nZoë,1\nIda,2\n".encode("utf-16")
    path = tmp_path / f"in{ending}"
    if ending == ".csv.gz":
        content = gzip.compress(content)
    if ending.endswith("zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("table.csv", content)
    else:
        path.write_bytes(content)
    assert read(path).to_pydict() == {"name": ["Zoë", "Ida"], "n": [1, 2]}


def test_decimal_commas_are_numbers_and_points_are_then_text(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text(
        "weight;code;day;when\n"
        "1,5;1.5;2024-01-02;2024-01-02 03:04:05.5\n-0,25;2.5;2024-01-03;2024-01-03 03:04:05.5\n"
        "7;3.5;2024-01-04;2024-01-04 03:04:05.5\n"
    )
    found = read(path, decimal_comma=True)
    assert found["weight"].to_pylist() == [1.5, -0.25, 7.0]
    assert found["code"].to_pylist() == ["1.5", "2.5", "3.5"]
    assert found["day"].type == pa.date32()
    assert found["when"].type == pa.timestamp("us")
    assert read(path)["weight"].type == pa.string()


def test_decimal_commas_that_would_merge_codes_stay_text(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("code;x\n250,0;1\n250,00;2\n")
    assert read(path, decimal_comma=True)["code"].to_pylist() == ["250,0", "250,00"]


def test_a_decimal_comma_in_the_first_line_is_no_delimiter(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_text("1,5;a\n2,5;b\n")
    found = read(path, decimal_comma=True, header=False)
    assert found.to_pydict() == {"column1": [1.5, 2.5], "column2": ["a", "b"]}


def test_a_bad_byte_is_found_by_line_and_place_and_not_quoted(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    lines = "a,b\n" + "name,1\n" * 9
    path.write_bytes(lines.encode() + b"SECRET\xff,2\n")
    with pytest.raises(
        InputError, match=r"not UTF-8 text: line 11, byte 74 .*encoding='latin-1'"
    ) as told:
        read(path)
    assert "SECRET" not in str(told.value)
    odd = (lines + "é").encode("utf-16-le") + b"\x00\xd8" + "x\n".encode("utf-16-le")
    path.write_bytes(odd)
    with pytest.raises(InputError, match=r"not UTF-16-LE text: line 11, byte 137 of"):
        read(path, encoding="utf-16")


def test_a_ragged_line_has_its_number_in_every_encoding(tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    path.write_bytes(("a,b\n" + "é,1\n" * 9 + "SECRET\n").encode("utf-16"))
    with pytest.raises(InputError, match="line 11: the line has 1 cells, the header 2") as told:
        read(path)
    assert "SECRET" not in str(told.value)


@pytest.mark.parametrize(
    ("style", "said"),
    [
        ({"delimiter": ";;"}, "one plain character"),
        ({"delimiter": "é"}, "one plain character"),
        ({"quote": "''"}, "or none"),
        ({"delimiter": "'", "quote": "'"}, "same character"),
        ({"encoding": "klingon"}, "no text encoding"),
        ({"encoding": "base64"}, "no text encoding"),
        ({"encoding": "utf-7"}, "not how files are stored"),
        ({"decimal_comma": True, "delimiter": ",", "quote": ""}, "decimal comma"),
    ],
)
def test_a_style_that_cannot_be_is_refused(style: dict[str, Any], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        CsvStyle.of(**style)


def test_a_style_is_for_csv_files_only(tmp_path: Path) -> None:
    table = cv.generate(50, seed=1)
    with pytest.raises(SettingsError, match=r"delimiter=\.\.\. is for CSV files"):
        cv.inspect(table, delimiter=";")
    pq.write_table(table, tmp_path / "in.parquet")
    with pytest.raises(SettingsError, match="header=False is for CSV files"):
        cv.inspect(tmp_path / "in.parquet", header=False)


def zipped(path: Path, files: dict[str, str]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def test_archives_that_cannot_be_read_say_why(tmp_path: Path) -> None:
    two = zipped(tmp_path / "two.zip", {"a.csv": "x\n1\n", "b.csv": "x\n2\n"})
    with pytest.raises(InputError, match="contains 2 files"):
        read(two)
    with pytest.raises(InputError, match="not that of a CSV"):
        read(zipped(tmp_path / "odd.zip", {"a.exe": "x\n1\n"}))
    cut = tmp_path / "cut.zip"
    cut.write_bytes(two.read_bytes()[:40])
    with pytest.raises(InputError, match="damaged or cut off"):
        read(cut)
    fine = zipped(tmp_path / "mac.zip", {"a.csv": "x\n1\n", "__MACOSX/._a.csv": "junk"})
    assert read(fine)["x"].to_pylist() == [1]


def test_a_folder_is_all_its_files_or_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    with pytest.raises(InputError, match="is empty"):
        describe_source(folder)
    (folder / "b.csv").write_text("x\n2\n")
    (folder / "a.csv.gz").write_bytes(gzip.compress(b"x\n1\n"))
    (folder / "_SUCCESS").write_text("")
    (folder / ".hidden").write_text("")
    found = describe_source(folder)
    assert isinstance(found, FileSource)
    assert [path.name for path in found.paths] == ["a.csv.gz", "b.csv"]
    (folder / "sub").mkdir()
    with pytest.raises(InputError, match="has folders in it"):
        describe_source(folder)
    (folder / "sub").rmdir()
    (folder / "c.parquet").write_text("")
    with pytest.raises(InputError, match="different formats"):
        describe_source(folder)


def test_a_release_is_no_table(tmp_path: Path) -> None:
    cv.publish(cv.generate(200, seed=1), {"occupation": 2}, tmp_path / "release")
    with pytest.raises(CountveilError, match="is a release"):
        cv.inspect(tmp_path / "release")


def test_the_whole_path_reads_a_folder_in_an_office_style(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    for number, jobs in enumerate(("Köchin;Ärztin", "Köchin;Wirt", "Wirt;Ärztin")):
        rows = "".join(f"{job};{number},5;?\n" for job in jobs.split(";") * 20)
        (folder / f"{number}.txt").write_bytes(f"Beruf;größe;leer\n{rows}".encode("latin-1"))
    release = cv.publish(
        folder, {"Beruf": 2}, tmp_path / "release", missing="?", encoding="latin-1",
        decimal_comma=True, keep="größe",
    )  # fmt: skip
    assert release.rows == 120
    found = pq.read_table(tmp_path / "release" / "data")
    assert sorted(set(found["größe"].to_pylist())) == [0.5, 1.5, 2.5]
    assert set(found["Beruf"].to_pylist()) <= {"Köchin", "Ärztin", "Wirt"}
    assert found["leer"].null_count == 120
