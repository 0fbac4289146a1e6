"""How to ask a release: lines to copy, with its own columns and values.

Enters: the manifest and the published counts. Leaves: a section of a page. Must not know: where the
release lies; the lines are for the folder that holds the page.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import Any

from countveil.display import visible
from countveil.release import Manifest, kind_of
from countveil.release.values import BOOLEAN, TEXT
from countveil.report.page import Section
from countveil.report.promised import Protected

_HOW = (
    "In the folder that holds this page, on the command line (countveil is a Python package), or "
    "from Python. Every answer is an estimate of the true count with its standard error, an "
    "interval and a verdict: reliable, indicative or hidden."
)
_OTHERWISE = (
    "The last lines say what the release holds, whether it is as it was published, and what ell "
    "promises; put your own count, number of rows, share and error into them. Counting the rows of "
    "the Parquet files yourself gives published values: over the whole table that is the estimate, "
    "but within a condition on other columns it is far too even. countveil corrects it."
)


def question_section(manifest: Manifest, columns: Sequence[Protected]) -> Section:
    """Shell and Python, each line as it works."""
    queries = _queries(manifest, columns)
    shell = [f"countveil query . {_in_shell(query)}" for query in queries]
    python = ["import countveil as cv", "", 'release = cv.open(".")']
    python += [f"print(release.sql({_in_python(query)}))" for query in queries]
    own = columns[0]
    _, count = own.median
    share = min(count / own.rows, 1 / own.ell)
    privacy = f"countveil guarantee privacy --ell {own.ell} --count 5 --error 0.3"
    utility = (
        f"countveil guarantee utility --ell {own.ell} --error 0.2 --probability 0.05 "
        f"--rows {own.rows} --size {max(1, own.rows // 10)} --share {share:.4g}"
    )
    return Section(
        "How to ask it",
        [_HOW],
        commands=[
            "\n".join(shell),
            "\n".join(python),
            f"countveil show .\ncountveil verify .\n{privacy}\n{utility}",
        ],
        after=[_OTHERWISE],
    )


def _queries(manifest: Manifest, columns: Sequence[Protected]) -> list[str]:
    """Questions about names and values that can be copied from a page."""
    named = [column for column in columns if _plain(column.name)]
    if not named:
        return ["SELECT count(*) FROM release"]
    own = named[0]
    name = _quoted(own.name)
    found = [f"SELECT {name}, count(*) FROM release GROUP BY ALL"]
    others = [
        column.name
        for column in manifest.columns
        if column.role == "plain"
        and _plain(column.name)
        and kind_of(column.type) in (TEXT, BOOLEAN)
    ]
    values = [value for value in own.published if isinstance(value, str) and _plain(value)]
    if values:
        value = max(values, key=own.published.__getitem__).replace("'", "''")
        found.append(f"SELECT count(*) FROM release WHERE {name} = '{value}'")
        if others:
            other = _quoted(others[0])
            found.append(
                f"SELECT {other}, count(*) AS n FROM release WHERE {name} = '{value}' "
                f"GROUP BY {other} ORDER BY n DESC LIMIT 10"
            )
    return found


def _plain(text: Any) -> bool:
    """Whether a page shows exactly this text, and a line of a shell holds it."""
    return bool(text) and visible(text) == text and "\n" not in text and len(text) <= 60


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _in_shell(query: str) -> str:
    """A word of a shell, readable where nothing in it is special between double quotes."""
    if any(char in query for char in "$`\\!"):
        return shlex.quote(query)
    escaped = query.replace('"', '\\"')
    return f'"{escaped}"'


def _in_python(query: str) -> str:
    plain = "\\" not in query and '"""' not in query and not query.endswith('"')
    return f'"""{query}"""' if plain else repr(query)
