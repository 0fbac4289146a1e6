"""The command and the Python beside a screen really run, and give the numbers of the screen."""

from __future__ import annotations

import contextlib
import html
import io
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import countveil as cv
from tests.web.analyst.conftest import Desk, cells
from tests.web.client import Reply

QUESTIONS = [
    "SELECT gender, count(*) FROM release WHERE occupation = 'nurse' GROUP BY gender",
    "SELECT gender, count(*)\nFROM release\nWHERE occupation IN ('nurse', 'cook')\nGROUP BY gender",
    'SELECT "gender", avg(age) FROM release WHERE "occupation" <> \'cook\' GROUP BY 1',
]  # fmt: skip


def lines_of(page: Reply) -> tuple[str, str]:
    command, python = re.findall(r'<pre class="line" data-copy>(.*?)</pre>', page.text, re.DOTALL)
    return html.unescape(command), html.unescape(python)


def printed(python: str) -> dict[str, Any]:
    """What is known after the Python ran."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(python, "beside", "exec"), names)
    return {**names, "printed": out.getvalue()}


@pytest.mark.few(1)
@pytest.mark.parametrize("sql", QUESTIONS)
@pytest.mark.parametrize("options", [{}, {"method": "unbiased", "level": "0.9"}])
def test_command_and_python_answer_as_the_page(
    desk: Desk, sql: str, options: dict[str, str], quick: Callable[..., Any]
) -> None:
    page = desk.ask(sql, **options)
    command, python = lines_of(page)
    words = shlex.split(command)
    assert words[:2] == ["countveil", "query"]
    result = quick(*words[1:], "--format", "json")
    by_command = json.loads(result.out)
    by_python = printed(python)["answer"].to_dicts()
    assert by_command == by_python
    shown = [[row[0], row[4]] for row in cells(page)]
    assert shown == [[row["gender"], row["verdict"]] for row in by_python]


@pytest.mark.slow
def test_a_place_with_blanks_and_quotes_is_quoted(
    start_app: Callable[..., Any], published: Path, tmp_path: Path, quick: Callable[..., Any]
) -> None:
    import shutil

    place = tmp_path / 'it\'s $HOME "x" release'
    shutil.copytree(published, place)
    client, sessions = start_app(release=place, root=tmp_path)
    client.enter(sessions.token)
    desk = Desk(client, client.get("/ask/").headers["location"].rsplit("/", 1)[1], place)
    command, python = lines_of(desk.ask(QUESTIONS[0]))
    words = shlex.split(command)
    assert words[2] == str(place)
    assert printed(python)["answer"].to_dicts() == json.loads(
        quick(*words[1:], "--format", "json").out
    )


@pytest.mark.slow
def test_the_other_screens_have_lines_that_run(desk: Desk, quick: Callable[..., Any]) -> None:
    for step in ("release", "columns", "crosstab"):
        command, python = lines_of(desk.first(step))
        for line in re.split(r"\n(?=countveil )", command):
            assert quick(*shlex.split(line)[1:]).code == 0
        assert printed(python)["printed"]


@pytest.mark.slow
def test_a_crosstab_in_python_has_the_cells_of_the_page(desk: Desk) -> None:
    fields = {
        "group-0": "marital", "group-1": "age", "group-1-was": "age", "step-1": "20",
        "where-0-column": "occupation", "where-0-was": "occupation", "where-0-comparison": "=",
        "where-0-value": "nurse",
    }  # fmt: skip
    page = desk.first("crosstab")
    match = re.search(r"/ask/cross/([0-9a-f]{16})", page.text)
    assert match is not None
    page = desk.settled(desk.client.post(f"/ask/cross/{match[1]}", fields))
    table = printed(lines_of(page)[1])["table"]
    expected = cv.open(desk.folder).crosstab("marital", "age // 20 * 20", "occupation = 'nurse'")
    assert table.answer.to_dicts() == expected.answer.to_dicts()
    assert "<svg" in page.text
