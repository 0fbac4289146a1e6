"""The page that a release carries, `report.html`: for everybody who gets the release.

Enters: the manifest and how many rows publish each protected value. Leaves: a page. Must not know:
true counts, the source, times; whatever enters is in the release anyway, so the page gives nothing
away. It is made before the manifest is complete, which then vouches for it.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from countveil.release import Manifest, kind_of
from countveil.report.page import Section, page
from countveil.report.promised import Protected, guarantee_sections
from countveil.report.questions import question_section

_LISTED, _DOMAIN_LISTED = 12, 50
_SEEDED = (
    "Drawn with a seed, for experiments only: whoever knows or guesses the seed can undo the "
    "protection."
)

_LEFT_OUT = (
    "What the release says about itself to programs, from manifest.json. Left out are the two "
    "entries that depend on this page: its checksum and that of the manifest."
)


def release_page(manifest: Manifest, published: Mapping[str, Mapping[Any, int]]) -> str:
    """The page; `published[column][value]` rows publish the value."""
    columns = [
        Protected(name, entry.ell, manifest.rows, published[name])
        for name, entry in manifest.sensitive.items()
    ]
    names = ", ".join(f"{column.name} (ell = {column.ell})" for column in columns)
    return page(
        f"A release of {manifest.rows:,} rows",
        [
            _columns(manifest),
            *(_values(column) for column in columns),
            Section("The promise and its limits", manifest.statement, leads=True),
            *guarantee_sections(columns),
            question_section(manifest, columns),
            _manifest(manifest),
        ],
        warning=_SEEDED if manifest.randomness == "seeded" else "",
        lead=f"Large counts in it are right, small counts are hidden. Protected: {names}. Every "
        f"row's protected value was drawn from a secret group of rows with different values; ask "
        f"with countveil, which gives estimates of the true counts with their errors.",
    )


def _columns(manifest: Manifest) -> Section:
    rows = []
    for column in manifest.columns:
        entry = manifest.sensitive.get(column.name)
        role = "unchanged" if entry is None else "protected"
        ell, values = (None, None) if entry is None else (entry.ell, len(entry.domain))
        rows.append((column.name, kind_of(column.type), role, ell, values))
    return Section(
        "What was published",
        [f"{manifest.rows:,} rows in random order, written by {manifest.written_by}."],
        ("column", "holds", "role", "ell", "values"),
        rows,
    )


def _values(column: Protected) -> Section:
    first = heapq.nlargest(_LISTED, column.published.items(), key=lambda item: item[1])
    rows = []
    for value, count in first:
        error = column.std_error(count)
        rows.append((value_text(value), count, error, f"{count / column.rows:.1%}"))
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


def value_text(value: Any) -> str:
    """A protected value for people."""
    return "(missing)" if value is None else str(value) or "(empty text)"


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


def _entries(entry: Mapping[str, Any]) -> str:
    inner = ",\n".join(f"      {_json(key)}: {_json(value)}" for key, value in entry.items())
    return "{\n" + inner + "\n    }"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
