"""An answer as files: CSV, a picture, Python, plain SQL; each says which release and which method.

Enters: a question with its answer. Leaves: files. Must not know: pages.

A CSV file has columns for it (`release_sha256`, `method`, `level`), the same in every row, and no
lines of comments: spreadsheets and most readers of CSV would take such lines for data.
"""

from __future__ import annotations

import csv
import html
import io
import re
from collections.abc import Callable
from dataclasses import dataclass

from countveil.asking.pictures import answer_chart
from countveil.asking.result import Answer
from countveil.display import visible
from countveil.errors import QueryError
from countveil.report.bars import bar_picture
from countveil.report.heatmap import heat_picture
from countveil.web.analyst.lines import script
from countveil.web.analyst.opened import OpenRelease
from countveil.web.analyst.questions import Asked, View
from countveil.web.analyst.shown import as_crosstab

DIALECTS = ("postgres", "sqlite", "duckdb")


@dataclass(frozen=True, slots=True)
class File:
    """A file to take away."""

    name: str
    kind: str
    content: str


def exported(asked: Asked, form: str) -> File | None:
    """The answer in one of the forms; None if there is no such form."""
    if asked.answer is None:
        raise QueryError("There is no answer to take away: the question was not answered.")
    if form in DIALECTS:
        return File(f"{_name(asked.opened)}-{form}.sql", "application/sql", _sql(asked, form))
    writers: dict[str, tuple[str, str, Callable[[Asked, Answer], str]]] = {
        "csv": ("csv", "text/csv", _csv),
        "svg": ("svg", "image/svg+xml", _svg),
        "python": ("py", "text/x-python", _python),
    }
    if form not in writers:
        return None
    ending, kind, write = writers[form]
    return File(f"{_name(asked.opened)}.{ending}", kind, write(asked, asked.answer))


def _name(opened: OpenRelease) -> str:
    """A name that every file system takes, with the beginning of the checksum."""
    plain = re.sub(r"[^A-Za-z0-9]+", "-", opened.path.name).strip("-")[:40] or "release"
    return f"{plain}-{opened.checksum[:8]}"


def _csv(asked: Asked, answer: Answer) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([*answer.columns, "release_sha256", "method", "level"])
    said = (asked.opened.checksum, _method(asked), asked.options["level"])
    writer.writerows((*row, *said) for row in answer.rows())
    return text.getvalue()


def _svg(asked: Asked, answer: Answer) -> str:
    table = as_crosstab(answer) if asked.view is View.CROSSTAB else None
    picture = heat_picture(table.heat()) if table else bar_picture(answer_chart(answer, dots=True))
    note = html.escape("\n".join(_said(asked, _method(asked))))
    return picture.svg.replace("</desc>", f"</desc><metadata>{note}</metadata>", 1) + "\n"


def _python(asked: Asked, _answer: Answer) -> str:
    comment = "".join(f"# {line}\n" for line in _said(asked, _method(asked)))
    return f"{comment}\n{script(asked.opened, asked.sql, asked.options)}\n"


def _sql(asked: Asked, dialect: str) -> str:
    weighted = bool(asked.options["weighted"])
    text = asked.opened.plain_sql(asked.sql, dialect, weighted=weighted)
    # Its estimates are sums of weights over rows, whatever the page showed.
    comment = "".join(f"-- {line}\n" for line in _said(asked, "unbiased"))
    return f"{comment}{text}\n"


def _method(asked: Asked) -> str:
    return str(asked.options["method"]) + (", weighted" if asked.options["weighted"] else "")


def _said(asked: Asked, method: str) -> list[str]:
    """Where the numbers are from; nothing in it can end a comment."""
    opened = asked.opened
    columns = ", ".join(f"{n}: ell {e.ell}" for n, e in opened.manifest.sensitive.items())
    lines = [
        f"Release: {opened.title} ({opened.manifest.rows:,} rows; {columns})",
        f"SHA-256 of its manifest.json: {opened.checksum}",
        f"Method: {method}; intervals of {asked.options['level']:.12g}",
        *(["Seeded: for experiments only."] if opened.manifest.randomness == "seeded" else []),
        "Question:",
        *(f"  {line}" for line in asked.sql.splitlines()),
    ]
    return [visible(line).replace("\n", " ") for line in lines]
