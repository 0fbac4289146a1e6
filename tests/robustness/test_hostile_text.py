"""Names and values from data are hostile: shown harmlessly, found exactly."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import pty
import shlex
import subprocess
import unicodedata
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import countveil as cv
from tests.robustness.conftest import Quick
from tests.robustness.tools import BUG, COMMAND, Outcome, assert_one_paragraph, repeated, run

ROWS = 120
VALUES = [
    "[red]x[/red]",
    "\x1b[31mred\x1b[0m",
    "two\nlines\rhere",
    'it\'s "quoted"; DROP TABLE release; --',
    "\u202eright to left\u2066",
    "\U0001f600\u200d\U0001f469",
    "\x9b31m",
    "=1+1",
    "'||'",
    "%s{x}$1?\\",
]
NAMES = [
    "[bold]name[/]",
    "\x1b]0;title\x07",
    "two\nlines",
    "quote\"s and 'quotes'; --",
    "\u202ebackwards",
    "\U0001f600",
    "\x9b1m",
    "Age",
    "age",
    "AGE",
    "with space",
    "a.b",
    "select",
    "release",
    "count",
    "all",
    "c0",
]
SECRET = '\x1b[1mjob\'s "[blink]"; $(touch stolen)'
STEERING = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


# Every column gives the protected one away; that is not what these tests are about.
KEPT = [word for name in NAMES for word in ("--keep", name)]


def sql_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def sql_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def assert_harmless(*texts: str) -> None:
    """Nothing that a terminal would obey."""
    for text in texts:
        steering = {char for char in text if unicodedata.category(char) in STEERING}
        assert steering <= {"\n"}, ascii(steering)


@pytest.fixture(scope="session")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hostile") / "in.parquet"
    columns = {
        name: [VALUES[(row + shift) % len(VALUES)] for row in range(ROWS)]
        for shift, name in enumerate(NAMES)
    }
    pq.write_table(pa.table({**columns, SECRET: repeated(VALUES, ROWS)}), path)
    return path


@pytest.fixture(scope="session")
def publication(source: Path) -> Outcome:
    target = source.with_name("release")
    return run("publish", source, "-s", f"{SECRET}:3", *KEPT, "--to", target)


@pytest.fixture(scope="session")
def hostile(source: Path, publication: Outcome) -> Path:
    assert publication.code == 0
    return source.with_name("release")


@pytest.mark.slow
def test_publish_shows_names_harmlessly(publication: Outcome) -> None:
    assert_harmless(publication.out, publication.err)
    assert "\\x1b[1mjob" in publication.out


@pytest.mark.parametrize("style", ["table", "json"])
def test_inspect_shows_names_harmlessly(source: Path, quick: Quick, style: str) -> None:
    outcome = quick("inspect", source, "-s", SECRET, "--format", style)
    assert outcome.code == 0
    assert_harmless(outcome.out, outcome.err)


def test_a_stop_names_columns_harmlessly(source: Path, tmp_path: Path, quick: Quick) -> None:
    outcome = quick("publish", source, "-s", f"{SECRET}:3", "--to", tmp_path / "release")
    assert outcome.code == 1
    assert_harmless(outcome.out, outcome.err)


@pytest.mark.few(1)
@pytest.mark.parametrize("style", ["json", "csv"])
def test_summary_of_publish(source: Path, tmp_path: Path, quick: Quick, style: str) -> None:
    words = ("publish", source, "-s", f"{SECRET}:3", *KEPT, "--to", tmp_path / "release")
    outcome = quick(*words, "--format", style)
    assert outcome.code == 0
    assert_harmless(outcome.out)
    if style == "json":
        assert json.loads(outcome.out)["ell"] == {SECRET: 3}


@pytest.mark.parametrize("style", ["table", "json"])
def test_show_is_harmless(quick: Quick, hostile: Path, style: str) -> None:
    outcome = quick("show", hostile, "--format", style)
    assert outcome.code == 0
    assert_harmless(outcome.out, outcome.err)
    if style == "json":
        listed = [column["name"] for column in json.loads(outcome.out)["columns"]]
        assert listed == [*NAMES, SECRET]
    else:
        assert "[bold]name[/]" in outcome.out


def test_the_command_that_show_suggests_is_one_command(quick: Quick, hostile: Path) -> None:
    """Copied into a shell, it does nothing but ask."""
    printed = quick("show", hostile).out
    suggested = next(line for line in printed.splitlines() if " query " in line)
    words = shlex.split(suggested[suggested.index("countveil") :], posix=True)
    assert words[1:3] == ["query", str(hostile)]
    assert len(words) == 4


@pytest.mark.few(3)
@pytest.mark.parametrize("name", [*NAMES, SECRET], ids=ascii)
def test_every_column_can_be_asked_for(quick: Quick, hostile: Path, name: str) -> None:
    sql = f"SELECT {sql_name(name)}, count(*) FROM release GROUP BY {sql_name(name)}"
    table = quick("query", hostile, sql)
    assert (table.code, table.err) == (0, "")
    assert_harmless(table.out)
    outcome = quick("query", hostile, sql, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert "\x1b" not in outcome.out
    answers = json.loads(outcome.out)
    assert {answer[name] for answer in answers} <= set(VALUES)
    if name != SECRET:
        assert [answer["estimate"] for answer in answers] == [12.0] * len(VALUES)


@pytest.mark.few(1)
@pytest.mark.parametrize("value", VALUES, ids=ascii)
def test_every_value_can_be_asked_for(quick: Quick, hostile: Path, value: str) -> None:
    words = ("query", hostile, f'SELECT count(*) FROM release WHERE "age" = {sql_text(value)}')
    outcome = quick(*words, "--format", "json")
    assert (outcome.code, outcome.err) == (0, "")
    assert json.loads(outcome.out)[0]["estimate"] == 12.0
    protected = f"SELECT count(*) FROM release WHERE {sql_name(SECRET)} = {sql_text(value)}"
    assert quick("query", hostile, protected).code == 0
    assert cv.open(hostile).count(f'"age" = {sql_text(value)}').estimate == 12.0


@pytest.mark.parametrize("name", ["aGe", "nothing\x1b[31m", "\u202e", "x\ny"], ids=ascii)
def test_unknown_columns_in_messages(quick: Quick, hostile: Path, name: str) -> None:
    outcome = quick("query", hostile, f"SELECT count(*) FROM release WHERE {sql_name(name)} = 'x'")
    assert outcome.code == 1
    assert_one_paragraph(outcome.err)
    assert_harmless(outcome.err)


@pytest.mark.few(2)
@pytest.mark.parametrize("value", VALUES[:5], ids=ascii)
def test_unknown_values_in_messages(quick: Quick, hostile: Path, value: str) -> None:
    absent = sql_text(value + "?")
    sql = f"SELECT count(*) FROM release WHERE {sql_name(SECRET)} = {absent}"
    outcome = quick("query", hostile, sql)
    assert outcome.code == 0
    assert "no row" in outcome.err
    assert_harmless(outcome.out, outcome.err)


@pytest.mark.slow
def test_names_that_differ_in_case_only(quick: Quick, hostile: Path) -> None:
    for name in ("Age", "age", "AGE"):
        sql = f"SELECT {name}, count(*) FROM release GROUP BY {name}"
        answers = json.loads(quick("query", hostile, sql, "--format", "json").out)
        assert {answer[name] for answer in answers} == set(VALUES)
    ambiguous = quick("query", hostile, "SELECT count(*) FROM release WHERE aGE = 'x'")
    assert all(f'"{name}"' in ambiguous.err for name in ("Age", "age", "AGE"))


def test_json_is_harmless_too(quick: Quick, hostile: Path) -> None:
    words = ("query", hostile, "SELECT age, count(*) FROM release GROUP BY age", "--format", "json")
    printed = quick(*words).out
    assert {answer["age"] for answer in json.loads(printed)} == set(VALUES)
    assert_harmless(printed)


@pytest.mark.few(1)
@pytest.mark.parametrize("name", ["estimate", "low"])
def test_a_column_named_like_a_part_of_the_answer(quick: Quick, tmp_path: Path, name: str) -> None:
    table = pa.table({name: repeated(["first", "second"], ROWS), "job": repeated("abcdef", ROWS)})
    pq.write_table(table, tmp_path / "in.parquet")
    release = tmp_path / "release"
    published = quick("publish", tmp_path / "in.parquet", "-s", "job:3", "--to", release)
    if published.code == 1:
        assert name in published.err
        return
    sql = f"SELECT {name}, count(*) FROM release GROUP BY {name}"
    outcome = quick("query", release, sql, "--format", "json")
    if outcome.code == 1:
        assert_one_paragraph(outcome.err)
        return
    for answer, value in zip(json.loads(outcome.out), ["first", "second"], strict=True):
        assert value in answer.values()
        assert 60.0 in answer.values()


def test_csv_in_a_file_is_exact(quick: Quick, hostile: Path) -> None:
    outcome = quick("query", hostile, "SELECT age, count(*) FROM release GROUP BY age",
                    "--format", "csv")  # fmt: skip
    records = list(csv.reader(io.StringIO(outcome.out, newline="")))
    assert {record[0] for record in records[1:]} == set(VALUES)


@pytest.mark.slow
def test_csv_on_a_terminal_is_harmless(hostile: Path) -> None:
    sql = "SELECT age, count(*) FROM release GROUP BY age"
    parent, child = pty.openpty()
    words = [str(COMMAND), "query", str(hostile), sql, "--format", "csv"]
    done = subprocess.run(words, stdout=child, stderr=child, check=False)
    os.close(child)
    seen = os.read(parent, 100_000).decode().replace("\r\n", "\n")
    os.close(parent)
    assert done.returncode == 0
    assert "\x1b" not in seen
    assert "\x9b" not in seen


@pytest.mark.few(1)
@pytest.mark.parametrize("field", ["written_by", "statement", "randomness"])
def test_a_hostile_manifest(quick: Quick, release: Path, field: str) -> None:
    path = release / "manifest.json"
    content = json.loads(path.read_text())
    del content["checksum"]
    content[field] = ["\x1b]0;x\x07[red]"] if field == "statement" else "\x1b]0;x\x07[red]"
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["checksum"] = hashlib.sha256(canonical.encode()).hexdigest()
    path.write_text(json.dumps(content))
    for words in (("show", release), ("verify", release), ("show", release, "--format", "json")):
        outcome = quick(*words)
        assert_harmless(outcome.out, outcome.err)
        assert BUG not in outcome.err


def test_hostile_folder_and_file_names(quick: Quick, release: Path, tmp_path: Path) -> None:
    (release / "data" / "\x1b[31mextra").touch()
    folder = release.rename(tmp_path / "rele\x1b[31mase")
    for words in (("verify", folder), ("show", folder), ("show", tmp_path / "gone\x1b[31m")):
        outcome = quick(*words)
        assert_harmless(outcome.out, outcome.err)
        assert BUG not in outcome.err


@pytest.mark.slow
@pytest.mark.parametrize("style", ["table", "json", "csv"])
def test_a_terminal_that_cannot_show_everything(hostile: Path, style: str) -> None:
    sql = "SELECT age, count(*) FROM release GROUP BY age"
    outcome = run("query", hostile, sql, "--format", style, env={"PYTHONIOENCODING": "ascii"})
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.isascii()
    assert outcome.out.count("12.0") >= len(VALUES)


HEADER = ["[red]", "a,b", 'quo"te', "two\nlines", "it's", " padded ", "ü", "CASE", "case"]


def test_hostile_names_in_a_csv(quick: Quick, tmp_path: Path) -> None:
    path = tmp_path / "in.csv"
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*HEADER, "job"])
        writer.writerows([*VALUES[: len(HEADER)], job] for job in repeated("abcdef", ROWS))
    outcome = quick("publish", path, "-s", "job:3", "--to", tmp_path / "release")
    assert (outcome.code, outcome.err) == (0, "")
    published = pq.read_table(tmp_path / "release" / "data")
    assert published.column_names == [*HEADER, "job"]
    assert [set(published[name].to_pylist()) for name in HEADER] == [
        {value} for value in VALUES[: len(HEADER)]
    ]


@pytest.mark.few(2)
@pytest.mark.parametrize("value", VALUES[1:5], ids=ascii)
def test_the_value_in_the_eligibility_message(quick: Quick, tmp_path: Path, value: str) -> None:
    path = tmp_path / "in.parquet"
    pq.write_table(pa.table({"job": [value] * 80 + ["other"] * 20 + ["third"] * 20}), path)
    outcome = quick("publish", path, "-s", "job:3", "--to", tmp_path / "release")
    assert outcome.code == 1
    assert_one_paragraph(outcome.err)
    assert_harmless(outcome.err)
    assert "80 times" in outcome.err
