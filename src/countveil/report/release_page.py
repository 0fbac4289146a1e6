"""The page that a release carries, `report.html`: for everybody who gets the release.

Enters: the manifest and how many rows publish each protected value. Leaves: a page, with lines to
copy that query the release. Must not know: true counts, the source, times, where the release lies;
whatever enters is in the release anyway, so the page gives nothing away. It is made before the
manifest is complete, because the manifest holds its checksum.
"""

from __future__ import annotations

import heapq
import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from countveil.display import visible
from countveil.release import Manifest, SensitiveColumn, kind_of
from countveil.release.values import BOOLEAN, TEXT
from countveil.report.board import (
    Board,
    CodebookEntry,
    ColumnValues,
    Figure,
    codebook_of,
    codebook_table,
    other_columns,
)
from countveil.report.guarantee_sections import (
    Protected,
    error_of_one_percent,
    guarantee_sections,
)
from countveil.report.page import Section, page

_LISTED, _DOMAIN_LISTED = 12, 50
_SEEDED = (
    "Drawn with a seed, for experiments only: whoever knows or guesses the seed can undo the "
    "protection."
)
_LEFT_OUT = (
    "What the release says about itself to programs, from manifest.json. Left out are the two "
    "entries that depend on this page: its checksum and that of the manifest."
)
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

_PUBLIC_VERDICT = (
    "What is promised, and what is not, is stated below. No figure on this page was computed from "
    "the true table: all follow from what is published and from ell. How exposed people are to "
    "somebody who knows more, the publisher measures with an audit; ask for its result."
)
_PUBLIC_POINTS = (
    "Somebody who can guess a value from the other columns learns more than the figures above say.",
    "For a rare value the published value of a row is a strong hint.",
    "A second release of the same people would break the protection.",
)


def release_page(
    manifest: Manifest,
    published: Mapping[str, Mapping[Any, int]],
    plain: Mapping[str, ColumnValues] | None = None,
) -> str:
    """The page; `published[column][value]` rows publish the value.

    `plain` says what unchanged columns hold, as they are published.
    """
    columns = [
        _protected(name, entry, manifest.rows, published[name])
        for name, entry in manifest.sensitive.items()
    ]
    names = ", ".join(column.called for column in columns)
    repeats = any(entry.groups == "random" or entry.common for entry in manifest.sensitive.values())
    different = "" if repeats else " with different values"
    codebook = codebook_of(manifest, plain or {})
    title = f"A release of {manifest.rows:,} rows"
    if manifest.about is not None and manifest.about.title:
        title = manifest.about.title
    return page(
        title,
        [
            _columns(manifest, codebook),
            *(_values(column) for column in columns),
            Section("The promise and its limits", manifest.statement, leads=True),
            *_stands_for(manifest),
            *guarantee_sections(columns),
            _questions(manifest, columns),
            _manifest(manifest),
        ],
        warning=_SEEDED if manifest.randomness == "seeded" else "",
        lead=f"Protected: {names}. Every row's protected value was drawn from a secret group of "
        f"rows{different}, so whose value is whose is uncertain, and so are small counts that "
        f"combine a protected column with others. Large counts can be estimated well, and how many "
        f"rows of the whole table have a value is published nearly as it is. Query it with "
        f"countveil, which gives estimates of the true counts with their errors.",
        board=_board(manifest, columns, codebook),
    )


def _protected(
    name: str, entry: SensitiveColumn, rows: int, published: Mapping[Any, int]
) -> Protected:
    if entry.groups != "random" and not entry.common:
        return Protected(name, entry.ell, rows, published)
    # Loaded only where a release has such a column.
    from countveil.report.repeating import RepeatingColumn

    return RepeatingColumn(name, entry.ell, rows, published, entry.groups, entry.common)


def _board(
    manifest: Manifest, columns: Sequence[Protected], codebook: Sequence[CodebookEntry]
) -> Board:
    """The first page. Its figures follow from what is published and from ell."""
    about = manifest.about
    protected = ", ".join(column.called for column in columns)
    holds = (
        f"{manifest.rows:,} rows in random order; protected: {protected}; {other_columns(codebook)}"
    )
    facts = [
        ("Published", "" if about is None else about.published),
        ("Contact", "" if about is None else about.contact),
        ("What it holds", holds),
        ("For whom", "everybody who gets the release"),
    ]
    return Board(
        [(word, what) for word, what in facts if what],
        [figure for column in columns for figure in _figures(column)],
        _PUBLIC_VERDICT,
        [
            *([_SEEDED] if manifest.randomness == "seeded" else []),
            *(note for column in columns for note in column.notes),
            *_PUBLIC_POINTS,
        ],
        codebook,
    )


def _figures(column: Protected) -> list[Figure]:
    average, reached = column.beliefs()
    among, whole = error_of_one_percent(column)
    return [
        Figure(
            f"Average belief in a person's true {column.name}",
            f"about {average:.2f}",
            "of somebody who knows the row and nothing but the published shares of values",
        ),
        Figure(
            f"Most exposed 1% of the people, {column.name}",
            f"about {reached:.2f}",
            f"for the same reader: {column.reached_by()}; who can guess the value from other "
            f"columns believes more",
        ),
        Figure(
            f"Error of counts of 1% of the rows, {column.name}",
            f"{whole if among is None else among:.1%}",
            f"standard error{'' if among is None else ' among a tenth of the rows'}; over the "
            f"whole table {whole:.1%}",
        ),
    ]


def _columns(manifest: Manifest, codebook: Sequence[CodebookEntry]) -> Section:
    names, rows = codebook_table(codebook)
    more = ""
    if manifest.weight is not None:
        more = (
            f" Rows have survey weights, in {manifest.weight}: a weighted question counts every "
            f"row with its weight."
        )
    return Section(
        "Codebook: what was published",
        [f"{manifest.rows:,} rows in random order, written by {manifest.written_by}.{more}"],
        names,
        rows,
    )


def _stands_for(manifest: Manifest) -> list[Section]:
    """What published values stand for, if declared values were replaced."""
    if manifest.preparation is None:
        return []
    from countveil.report.preparation_section import HEADER, stands_for

    rows = stands_for(manifest.preparation)
    said = ["Values that were replaced before publishing. Query the value in the second column."]
    return [Section("What published values stand for", said, HEADER, rows)] if rows else []


def _values(column: Protected) -> Section:
    first = heapq.nlargest(_LISTED, column.published.items(), key=lambda item: item[1])
    rows = []
    for value, count in first:
        error = column.std_error(count, value)
        rows.append((published_text(value), count, error, f"{count / column.rows:.1%}"))
    left = len(column.published) - len(rows)
    more = f" The other {left:,} values are published by fewer rows each." if left else ""
    return Section(
        f"Published counts: {column.name}",
        [
            (
                f"How many rows publish a value is the estimate of how many have it, with this "
                f"standard error.{more}"
            )
        ],
        ("value", "rows", "standard error", "share"),
        rows,
    )


def published_text(value: Any) -> str:
    """A protected value for people."""
    return "(missing)" if value is None else str(value) or "(empty text)"


def _questions(manifest: Manifest, columns: Sequence[Protected]) -> Section:
    """How to query the release: shell and Python, each line ready to run."""
    queries = _queries(manifest, columns)
    shell = [f"countveil query . {_in_shell(query)}" for query in queries]
    python = ["import countveil as cv", "", 'release = cv.open(".")']
    python += [f"print(release.sql({_in_python(query)}))" for query in queries]
    first = columns[0]
    _, count = first.median
    share, more = min(count / first.rows, 1 / first.ell), ""
    if first.any_share:
        share, more = count / first.rows, " --groups random"
    privacy = f"countveil guarantee privacy --ell {first.ell} --count 5 --error 0.3"
    utility = (
        f"countveil guarantee utility --ell {first.ell} --error 0.2 --probability 0.05 "
        f"--rows {first.rows} --size {max(1, first.rows // 10)} --share {share:.4g}"
        f"{more}"
    )
    return Section(
        "How to query it",
        [_HOW],
        commands=[
            "\n".join(shell),
            "\n".join(python),
            f"countveil show .\ncountveil verify .\n{privacy}\n{utility}",
        ],
        after=[_OTHERWISE],
    )


def _queries(manifest: Manifest, columns: Sequence[Protected]) -> list[str]:
    """Queries with names and values that can be copied from a page."""
    named = [column for column in columns if _plain(column.name)]
    if not named:
        return ["SELECT count(*) FROM release"]
    column = named[0]
    name = _quoted(column.name)
    queries = [f"SELECT {name}, count(*) FROM release GROUP BY ALL"]
    others = [
        other.name
        for other in manifest.columns
        if other.role == "plain" and _plain(other.name) and kind_of(other.type) in (TEXT, BOOLEAN)
    ]
    values = [value for value in column.published if isinstance(value, str) and _plain(value)]
    if values:
        value = max(values, key=column.published.__getitem__).replace("'", "''")
        queries.append(f"SELECT count(*) FROM release WHERE {name} = '{value}'")
        if others:
            plain = _quoted(others[0])
            queries.append(
                f"SELECT {plain}, count(*) AS n FROM release WHERE {name} = '{value}' "
                f"GROUP BY {plain} ORDER BY n DESC LIMIT 10"
            )
    return queries


def _plain(text: Any) -> bool:
    """Whether a page shows exactly this text, and a line of a shell holds it."""
    return bool(text) and visible(text) == text and "\n" not in text and len(text) <= 60


def _quoted(name: str) -> str:
    escaped = name.replace('"', '""')
    return f'"{escaped}"'


def _in_shell(query: str) -> str:
    """One shell argument, in readable double quotes where nothing in it is special to them."""
    if any(char in query for char in "$`\\!"):
        return shlex.quote(query)
    escaped = query.replace('"', '\\"')
    return f'"{escaped}"'


def _in_python(query: str) -> str:
    plain = "\\" not in query and '"""' not in query and not query.endswith('"')
    return f'"""{query}"""' if plain else repr(query)


def _manifest(manifest: Manifest) -> Section:
    short = {
        name: replace(entry, domain=entry.domain[:_DOMAIN_LISTED])
        for name, entry in manifest.sensitive.items()
    }
    content = json.loads(replace(manifest, sensitive=short).to_json())
    del content["checksum"]
    for name, entry in manifest.sensitive.items():
        left = len(entry.domain) - _DOMAIN_LISTED
        if left > 0:
            content["sensitive"][name]["domain"].append(f"... and {left:,} more")
    return Section(
        "The manifest",
        [_LEFT_OUT],
        folded={"Show the manifest": _compact(content)},
    )


def _compact(content: Mapping[str, Any]) -> str:
    """JSON with a line for each entry of a list, to be read by people."""
    parts = []
    for name, value in content.items():
        if isinstance(value, list) and value:
            inner = ",\n".join(f"    {_json(entry)}" for entry in value)
            parts.append(f"  {_json(name)}: [\n{inner}\n  ]")
        elif isinstance(value, dict):
            inner = ",\n".join(
                f"    {_json(key)}: {_entries(entry)}" for key, entry in value.items()
            )
            parts.append(f"  {_json(name)}: {{\n{inner}\n  }}")
        else:
            parts.append(f"  {_json(name)}: {_json(value)}")
    return "{\n" + ",\n".join(parts) + "\n}"


def _entries(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return _json(entry)
    inner = ",\n".join(f"      {_json(key)}: {_json(value)}" for key, value in entry.items())
    return "{\n" + inner + "\n    }"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
