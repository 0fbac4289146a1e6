"""Files to take away: each says which release it is from and how it was estimated."""

from __future__ import annotations

import csv
import hashlib
import io
import re
import sqlite3
import xml.etree.ElementTree as ET
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import countveil as cv
from tests.web.analyst.conftest import Desk, problem, question_id

SQL = "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender"


def checksum(folder: Path) -> str:
    return hashlib.sha256((folder / "manifest.json").read_bytes()).hexdigest()


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["csv", "svg", "python", "postgres", "sqlite", "duckdb"])
def test_every_file_is_a_download_with_checksum_and_method(desk: Desk, form: str) -> None:
    known = question_id(desk.ask(SQL))
    reply = desk.client.get(f"/ask/export/{known}/{form}")
    assert reply.status == 200
    named = reply.headers["content-disposition"]
    assert re.fullmatch(r'attachment; filename="[A-Za-z0-9-]+\.(csv|svg|py|sql)"', named)
    assert checksum(desk.folder)[:8] in named
    assert checksum(desk.folder) in reply.text
    assert ("unbiased" if form in ("postgres", "sqlite", "duckdb") else "shrunk") in reply.text
    assert "html" not in reply.headers["content-type"]


def test_csv_is_a_plain_table_with_every_number(desk: Desk) -> None:
    """Programs get all numbers with their verdict, as from the library; no line is a comment."""
    sql = "SELECT age, count(*) FROM release WHERE occupation = 'watchmaker' GROUP BY age"
    known = question_id(desk.ask(sql, level="0.9"))
    text = desk.client.get(f"/ask/export/{known}/csv").text
    head, *rows = csv.reader(io.StringIO(text))
    assert head[-3:] == ["release_sha256", "method", "level"]
    plain = list(csv.reader(io.StringIO(cv.open(desk.folder).sql(sql, level=0.9).to_csv())))
    assert [head[:-3], *(row[:-3] for row in rows)] == plain
    assert {tuple(row[-3:]) for row in rows} == {(checksum(desk.folder), "shrunk", "0.9")}
    assert any(row[5] == "hidden" and row[1] for row in rows)


@pytest.mark.slow
def test_the_python_file_asks_again_and_notices_another_release(desk: Desk, tmp_path: Path) -> None:
    known = question_id(desk.ask(SQL, method="unbiased"))
    script = tmp_path / "ask.py"
    script.write_text(desk.client.get(f"/ask/export/{known}/python").text)
    names: dict[str, object] = {}
    exec(compile(script.read_text(), "ask.py", "exec"), names)
    answer = names["answer"]
    assert answer.to_dicts() == cv.open(desk.folder).sql(SQL, method="unbiased").to_dicts()  # type: ignore[attr-defined]
    manifest = desk.folder / "manifest.json"
    manifest.write_text(manifest.read_text() + "\n")
    with pytest.raises(SystemExit, match="another release"):
        exec(compile(script.read_text(), "ask.py", "exec"), {})


@pytest.mark.slow
def test_sql_for_sqlite_runs_there(desk: Desk) -> None:
    known = question_id(desk.ask(SQL))
    statement = desk.client.get(f"/ask/export/{known}/sqlite").text
    rows = pq.read_table(desk.folder / "data")
    database = sqlite3.connect(":memory:")
    database.execute(f"CREATE TABLE release ({', '.join(rows.column_names)})")
    marks = ", ".join("?" * rows.num_columns)
    database.executemany(
        f"INSERT INTO release VALUES ({marks})", [tuple(r.values()) for r in rows.to_pylist()]
    )
    answer = database.execute(statement).fetchall()
    database.close()
    expected = cv.open(desk.folder).sql(SQL, method="unbiased")
    assert [row[1] for row in answer] == pytest.approx([c.estimate for c in expected.estimates])


@pytest.mark.slow
def test_a_picture_is_a_whole_svg_file(desk: Desk) -> None:
    known = question_id(desk.ask(SQL))
    picture = ET.fromstring(desk.client.get(f"/ask/export/{known}/svg").text)
    space = "{http://www.w3.org/2000/svg}"
    assert picture.tag == f"{space}svg"
    note = picture.find(f"{space}metadata")
    assert note is not None
    assert note.text is not None
    assert checksum(desk.folder) in note.text
    assert "SELECT gender" in note.text


@pytest.mark.few(1)
@pytest.mark.parametrize("form", ["python", "sqlite", "svg"])
def test_a_question_cannot_leave_its_comment(desk: Desk, form: str) -> None:
    """Line ends of every kind in a question stay inside of comments and of metadata."""
    comment = "\u2028import os\u2029DROP TABLE x\x0b</metadata><script>"
    sql = f"SELECT count(*) FROM release -- {comment}\nWHERE age > 3"
    known = question_id(desk.ask(sql))
    text = desk.client.get(f"/ask/export/{known}/{form}").text
    if form == "svg":
        assert "<script>" not in text
        return
    if form == "python":
        mark, rest = "#", text[text.index("import hashlib") :]
    else:
        mark, rest = "--", cv.open(desk.folder).plain_sql(sql, dialect=form) + "\n"
    assert text.endswith(rest)
    # Lines as the strictest reader of them splits them.
    lines = text.removesuffix(rest).rstrip("\n").splitlines()
    assert len(lines) > 5
    assert all(line.startswith(mark) for line in lines)


@pytest.mark.slow
def test_what_has_no_plain_sql_says_why_and_keeps_the_page(desk: Desk) -> None:
    sql = "SELECT gender, count(*) FROM release GROUP BY ROLLUP (gender)"
    known = question_id(desk.ask(sql))
    reply = desk.client.get(f"/ask/export/{known}/postgres")
    assert reply.status == 400
    assert "There is no plain SQL for" in problem(reply)
    assert sql in reply.text


@pytest.mark.slow
def test_a_form_that_does_not_exist_and_a_question_without_an_answer(desk: Desk) -> None:
    known = question_id(desk.ask(SQL))
    assert desk.client.get(f"/ask/export/{known}/xlsx").status == 404
    refused = question_id(desk.ask("SELECT ocupation FROM release"))
    assert desk.client.get(f"/ask/export/{refused}/csv").status == 400
