"""The page that a release carries, `report.html`: for everybody who gets the release.

Enters: the manifest and how many rows publish each protected value. Leaves: a page, with lines to
copy that query the release. Must not know: true counts, the source, times, where the release lies;
whatever enters is in the release anyway, so the page gives nothing away. It is made before the
manifest is complete, because the manifest holds its checksum.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from countveil.release import Manifest, SensitiveColumn, kind_of
from countveil.release.values import BOOLEAN, TEXT
from countveil.report.board import (
    Board,
    CodebookEntry,
    ColumnValues,
    codebook_of,
    codebook_table,
    other_columns,
)
from countveil.report.guarantee_sections import Protected, guarantee_sections
from countveil.report.page import (
    Section,
    copyable,
    in_python,
    in_shell,
    json_for_people,
    page,
    quoted,
)

if TYPE_CHECKING:
    from countveil.report.joined import JoinedColumns, PublishedVectors

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
    "promises; put your own count, number of rows, share and error into them."
)
_COUNTING = (
    "Counting the rows of the Parquet files yourself gives published values: over the whole table "
    "that is the estimate, but within a condition on other columns it is far too even. countveil "
    "corrects it."
)

_PUBLIC_VERDICT = (
    "What is promised, and what is not, is stated below. No figure on this page was computed from "
    "the true table: all follow from what is published and from ell. How exposed people are to "
    "somebody who knows more, the publisher measures with an audit; ask for its result."
)
_GUESSED = (
    "Somebody who can guess a value from the other columns learns more than the figures above say."
)
_SEVERAL_ROWS = (
    "Persons have several rows. Those with the same protected value are one case, and publish "
    "alike. Counts and figures on this page are of cases; countveil estimates counts of rows."
)
_SERIES = (
    "The release is one of a series. A person with one protected value is one case, and publishes "
    "alike in every release. Counts and figures on this page are of all cases of the series so "
    "far, those that left the table included; countveil estimates counts of rows of this release."
)
_RARE = "For a rare value the published value of a row is a strong hint."
_SECOND = "A second release of the same people would break the protection."
_OUTSIDE = "A release of the same people without the ledger would break the protection."


def release_page(
    manifest: Manifest,
    published: Mapping[str, Mapping[Any, int]],
    plain: Mapping[str, ColumnValues] | None = None,
    together: Sequence[PublishedVectors] = (),
) -> str:
    """The page; `published[column][value]` rows publish the value.

    `plain` says what unchanged columns hold, as they are published, `together` which combinations
    are published of columns that share one draw.
    """
    counts, unit = _counts(manifest, published)
    columns = [
        _protected(name, entry, sum(counts[name].values()), counts[name])
        for name, entry in manifest.sensitive.items()
    ]
    joined = _joined(manifest, together)
    names = _called(columns, joined)
    codebook = codebook_of(manifest, plain or {})
    title = f"A release of {manifest.rows:,} rows"
    whole = "table" if manifest.ledger is None else "series"
    if manifest.about is not None and manifest.about.title:
        title = manifest.about.title
    return page(
        title,
        [
            _columns(manifest, codebook),
            *(_values(column, unit, manifest) for column in columns),
            *(column.section(unit) for column in joined),
            Section("The promise and its limits", manifest.statement, leads=True),
            *_stands_for(manifest),
            *guarantee_sections(columns, joined),
            _questions(manifest, columns, joined, unit),
            _manifest(manifest),
        ],
        kind="Report of a release · for everybody who gets it",
        warning=_SEEDED if manifest.randomness == "seeded" else "",
        lead=f"Protected: {names}. {_drawn(manifest)}, so whose value is whose is uncertain, and "
        f"so are small counts that combine a protected column with others. Large counts can be "
        f"estimated well, and how many {unit} of the whole {whole} have a value is "
        f"{_whole_counts(manifest)}. Query it with countveil, which gives estimates of the true "
        f"counts with their errors.",
        board=_board(manifest, columns, joined, codebook, unit),
    )


def _counts(
    manifest: Manifest, published: Mapping[str, Mapping[Any, int]]
) -> tuple[Mapping[str, Mapping[Any, int]], str]:
    """What the figures of the page are made of: rows, or cases where persons have several rows."""
    if not manifest.batches and all(e.cases is None for e in manifest.sensitive.values()):
        return published, "rows"
    from countveil.release.case_counts import cases_of

    return cases_of(manifest, published), "cases"


def _called(columns: Sequence[Protected], joined: Sequence[JoinedColumns]) -> str:
    """The protected columns, those that share one draw as one."""
    together = {name for column in joined for name in column.columns}
    apart = [column for column in columns if column.name not in together]
    return ", ".join(column.called for column in [*joined, *apart])


def _drawn(manifest: Manifest) -> str:
    """Where published values come from, in a sentence or two."""
    entries = manifest.sensitive.values()
    repeats = any(entry.groups == "random" or entry.common for entry in entries)
    different = "" if repeats else " with different values"
    noised = [name for name, entry in manifest.sensitive.items() if entry.odds is not None]
    first = f"In {', '.join(noised)}, some rows first took a declared value at random. "
    sets = "".join(
        f", those of {' and '.join(names)} from one row of it" for names in manifest.together
    )
    return (
        f"{first if noised else ''}Every row's protected value was drawn from a secret group of "
        f"rows{different}{sets}"
    )


def _whole_counts(manifest: Manifest) -> str:
    if all(entry.odds is not None for entry in manifest.sensitive.values()):
        return "estimated too, with the error of the noise"
    return "published nearly as it is"


def _protected(
    name: str, entry: SensitiveColumn, rows: int, published: Mapping[Any, int]
) -> Protected:
    # Others than the usual columns are loaded only where a release has them.
    column = Protected(name, entry.ell, rows, published)
    if entry.groups == "random" or entry.common:
        from countveil.report.repeating import RepeatingColumn

        column = RepeatingColumn(name, entry.ell, rows, published, entry.groups, entry.common)
    if entry.odds is None:
        return column
    from countveil.report.noised import NoisedColumn

    values = len(entry.domain)
    return NoisedColumn(name, entry.ell, rows, published, column, entry.odds, values)


def _joined(manifest: Manifest, together: Sequence[PublishedVectors]) -> list[JoinedColumns]:
    if not together:
        return []
    from countveil.report.joined import JoinedColumns

    return [
        JoinedColumns.from_vectors(
            vectors, manifest.sensitive[vectors.columns[0]].ell, int(vectors.counts.sum())
        )
        for vectors in together
    ]


def _board(
    manifest: Manifest,
    columns: Sequence[Protected],
    joined: Sequence[JoinedColumns],
    codebook: Sequence[CodebookEntry],
    unit: str,
) -> Board:
    """The first page. Its figures follow from what is published and from ell."""
    about = manifest.about
    protected = _called(columns, joined)
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
        [figure for column in [*joined, *columns] for figure in column.figures(unit)],
        _PUBLIC_VERDICT,
        [
            *([_SEEDED] if manifest.randomness == "seeded" else []),
            *(note for column in [*joined, *columns] for note in column.notes),
            *([_SEVERAL_ROWS if manifest.ledger is None else _SERIES] if unit == "cases" else []),
            *_public_points(manifest),
        ],
        codebook,
    )


def _public_points(manifest: Manifest) -> list[str]:
    """What is open; where all odds are bounded, rare values are no exception."""
    bounded = all(entry.odds is not None for entry in manifest.sensitive.values())
    second = _SECOND if manifest.ledger is None else _OUTSIDE
    return [_GUESSED, *([] if bounded else [_RARE]), second]


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


def _values(column: Protected, unit: str, manifest: Manifest) -> Section:
    first = heapq.nlargest(_LISTED, column.published.items(), key=lambda item: item[1])
    noised = column.estimate(0) != 0
    rows = []
    for value, count in first:
        estimate = column.estimate(count)
        error = column.std_error(max(estimate, 0.0), value)
        shown = (round(estimate),) if noised else ()
        share = f"{estimate / column.rows:.1%}"
        rows.append((published_text(value), count, *shown, error, share))
    left = len(column.published) - len(rows)
    more = f" The other {left:,} values are published by fewer {unit} each." if left else ""
    said = (
        f"How many {unit} publish a value, and the estimate of how many had it before the noise, "
        f"with its standard error."
        if noised
        else f"How many {unit} of the whole series publish a value is the estimate of how many had "
        f"it when they were drawn, with this standard error. Some may have left the table since."
        if manifest.ledger is not None
        else f"How many {unit} publish a value is the estimate of how many have it, with this "
        f"standard error."
    )
    return Section(
        f"Published counts: {column.name}",
        [f"{said}{more}"],
        ("value", unit, *(("estimate",) if noised else ()), "standard error", "share"),
        rows,
    )


def published_text(value: Any) -> str:
    """A protected value for people, or a combination of several."""
    if isinstance(value, tuple):
        return ", ".join(map(published_text, value))
    return "(missing)" if value is None else str(value) or "(empty text)"


def _questions(
    manifest: Manifest, columns: Sequence[Protected], joined: Sequence[JoinedColumns], unit: str
) -> Section:
    """How to query the release: shell and Python, each line ready to run."""
    queries = [
        *_queries(manifest, columns),
        *(query for column in joined for query in column.queries()),
    ]
    shell = [f"countveil query . {in_shell(query)}" for query in queries]
    python = ["import countveil as cv", "", 'release = cv.open(".")']
    python += [f"print(release.sql({in_python(query)}))" for query in queries]
    first = columns[0]
    _, count = first.median
    share = max(first.estimate(count), 1) / first.rows
    if not first.any_share:
        share = min(share, 1 / first.ell)
    rows = f" --rows {first.rows}"
    more = "".join(f" --{name} {value}" for name, value in first.options.items())
    privacy = (
        f"countveil guarantee privacy --ell {first.ell} --count 5 --error 0.3"
        f"{rows + more if 'odds' in first.options else ''}"
    )
    utility = (
        f"countveil guarantee utility --ell {first.ell} --error 0.2 --probability 0.05"
        f"{rows} --size {max(1, first.rows // 10)} --share {share:.4g}{more}"
    )
    return Section(
        "How to query it",
        [_HOW],
        commands=[
            "\n".join(shell),
            "\n".join(python),
            f"countveil show .\ncountveil verify .\n{privacy}\n{utility}",
        ],
        after=[f"{_OTHERWISE} {_COUNTING}" if unit == "rows" else _OTHERWISE],
    )


def _queries(manifest: Manifest, columns: Sequence[Protected]) -> list[str]:
    """Queries with names and values that can be copied from a page."""
    named = [column for column in columns if copyable(column.name)]
    if not named:
        return ["SELECT count(*) FROM release"]
    column = named[0]
    name = quoted(column.name)
    queries = [f"SELECT {name}, count(*) FROM release GROUP BY ALL"]
    others = [
        other.name
        for other in manifest.columns
        if other.role == "plain" and copyable(other.name) and kind_of(other.type) in (TEXT, BOOLEAN)
    ]
    values = [value for value in column.published if isinstance(value, str) and copyable(value)]
    if values:
        value = max(values, key=column.published.__getitem__).replace("'", "''")
        queries.append(f"SELECT count(*) FROM release WHERE {name} = '{value}'")
        if others:
            plain = quoted(others[0])
            queries.append(
                f"SELECT {plain}, count(*) AS n FROM release WHERE {name} = '{value}' "
                f"GROUP BY {plain} ORDER BY n DESC LIMIT 10"
            )
    return queries


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
        folded={"Show the manifest": json_for_people(content)},
    )
