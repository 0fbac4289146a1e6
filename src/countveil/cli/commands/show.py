"""`countveil show`: describe a release in words."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from countveil.cli.options import FormatOption, LargerOption, ReleaseArgument
from countveil.cli.output import (
    Format,
    command_name,
    escaped_json,
    print_paragraph,
    print_rows,
    print_table,
)
from countveil.display import remainder, visible

if TYPE_CHECKING:
    from countveil.release import Manifest, SensitiveColumn


Item = TypeVar("Item")

# Nobody reads more of a page; a release may come from anybody.
_MOST_SHOWN, _LONGEST_NAME, _LONGEST_PARAGRAPH = 200, 200, 5_000


def command(
    folder: ReleaseArgument,
    larger: LargerOption = 1,
    style: FormatOption = Format.TABLE,
) -> None:
    """Say what a release holds, what it promises and what it does not.

    With --format json the manifest is printed, with --format csv the columns: all of it, where a
    page for people ends after a while.
    """
    manifest = _manifest(folder, larger)
    if style is Format.JSON:
        print(escaped_json(manifest.to_json()), end="")
        return
    if style is Format.CSV:
        print_rows(*_columns(manifest), style)
        return
    writer = visible(manifest.written_by, _LONGEST_NAME)
    print(visible(f"{folder}: {manifest.rows:,} rows, written by {writer}"))
    _print_about(manifest)
    print_manifest(manifest)
    sensitive = next(iter(manifest.sensitive))
    if len(sensitive) > _LONGEST_NAME:
        return
    name = sensitive.replace('"', '""')
    sql = f'SELECT "{name}", count(*) FROM release GROUP BY ALL'
    print("Ask it:")
    print(visible(f"  {command_name()} query {shlex.quote(folder)} {shlex.quote(sql)}"))


def _manifest(folder: str, larger: float) -> Manifest:
    from countveil.release import Expected, read_manifest
    from countveil.system.address import parse_release_address

    if parse_release_address(folder) is None:
        return read_manifest(Path(folder), Expected(larger=larger))
    from countveil.asking.release import Release

    return Release(folder, larger=larger).manifest


def print_manifest(manifest: Manifest) -> None:
    """The columns, the statement and the guarantee of a release or of one that is planned."""
    if manifest.randomness == "seeded":
        print_paragraph("SEEDED: drawn with a seed, for experiments only.")
    _print_first(*_columns(manifest))
    for name, entry in _first(manifest.sensitive.items()):
        if entry.classes is not None:
            labels = _listed([str(value) for value in entry.domain if value is not None])
            print_paragraph(f"Classes of {visible(name, _LONGEST_NAME)}: {labels}.")
            print()
        if entry.class_values is not None:
            numbers = _listed([f"{number:.12g}" for number in entry.class_values])
            shown = visible(name, _LONGEST_NAME)
            print_paragraph(f"In averages of {shown} its classes stand for: {numbers}.")
            print()
    if manifest.codebook:
        _print_labels(manifest)
    if manifest.weight is not None:
        shown = visible(manifest.weight, _LONGEST_NAME)
        print_paragraph(f"Survey weight: {shown}. 'query --weighted' counts every row with it.")
        print()
    _print_batches(manifest)
    if manifest.preparation is not None:
        from countveil.report.preparation_section import HEADER, stands_for

        meanings = stands_for(manifest.preparation)
        if meanings:
            _print_first(HEADER, meanings)
    for paragraph in _first(manifest.statement):
        print_paragraph(visible(paragraph, _LONGEST_PARAGRAPH))
        print()
    _print_guarantee(manifest)


def _first(items: Iterable[Item]) -> Iterator[Item]:
    """The first of them; then, if there are more, a line that says so."""
    for number, item in enumerate(items):
        if number == _MOST_SHOWN:
            print_paragraph("… and more: --format json prints all of it.")
            return
        yield item


def _print_first(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """A table of the first rows."""
    print_table(columns, rows[:_MOST_SHOWN])
    if len(rows) > _MOST_SHOWN:
        more = remainder(len(rows), _MOST_SHOWN)
        print_paragraph(f"{more}: --format json prints all of it.")
        print()


def _listed(texts: Sequence[str]) -> str:
    """The first texts, each cut, one after the other."""
    shown = [visible(text, _LONGEST_NAME) for text in texts[:_MOST_SHOWN]]
    left = len(texts) - len(shown)
    return ", ".join(shown) + (f" and {left:,} more" if left else "")


def _print_labels(manifest: Manifest) -> None:
    """What columns are, and what those of their codes stand for that are published."""
    rows: list[tuple[str, str | None, str]] = []
    for name, labels in manifest.codebook.items():
        rows += [(name, None, labels.label)] if labels.label else []
        rows += [(name, code, text) for code, text in labels.values.items()]
    coded = any(code is not None for _, code, _ in rows)
    if coded:
        _print_first(("column", "value", "label"), rows)
    else:
        _print_first(("column", "label"), [(name, text) for name, _, text in rows])


def _print_guarantee(manifest: Manifest) -> None:
    """How likely counts over the whole table are off."""
    for full_name, entry in _first(manifest.sensitive.items()):
        name, error = visible(full_name, _LONGEST_NAME), entry.guarantee[0]["error"]
        what = "published" if entry.odds is None else "estimated"
        print_paragraph(
            f"{name}: how likely the {what} count of a value is off by more than {error:.0%}, "
            f"by the number of rows that have the value"
        )
        if (entry.groups == "random" or entry.common) and entry.odds is None:
            print_paragraph(
                "A value that groups may hold more than once is off less often, if it is frequent."
            )
        table = [(int(row["count"]), f"{row['chance_off']:.1%}") for row in entry.guarantee]
        _print_first(("rows with the value", "off by more"), table)


def _print_about(manifest: Manifest) -> None:
    if manifest.about is None:
        return
    for word, what in (("Title", manifest.about.title), ("Contact", manifest.about.contact)):
        if what:
            print_paragraph(f"{word}: {what}")
    print(f"Published: {manifest.about.published}")


def _columns(manifest: Manifest) -> tuple[tuple[str, ...], list[tuple[object, ...]]]:
    rows: list[tuple[object, ...]] = []
    marks = {entry.batch for entry in manifest.batches}
    special = bool(manifest.together) or any(
        entry.groups == "random" or entry.common or entry.odds is not None
        for entry in manifest.sensitive.values()
    )
    for column in manifest.columns:
        entry = manifest.sensitive.get(column.name)
        ell, values = (entry.ell, len(entry.domain)) if entry else (None, None)
        role = "weight" if column.name == manifest.weight else column.role
        role = "batch" if column.name in marks else role
        groups = (_groups(entry, _partners(manifest, column.name)) if entry else None,)
        rows.append((column.name, column.type, role, ell, values, *(groups if special else ())))
    return ("column", "type", "role", "ell", "values", *(("groups",) if special else ())), rows


def _print_batches(manifest: Manifest) -> None:
    """When values were drawn, and which releases belong together."""
    for drawn in _first(manifest.batches):
        if drawn.batch is not None:
            print_paragraph(
                f"Batches of {_listed(drawn.columns)}: {drawn.batch} is the number of the batch "
                f"in which a row's value was drawn. Cases are persons with one value, about."
            )
            rows = [(batch.number, batch.cases, batch.groups) for batch in drawn.drawn]
            _print_first(("batch", "cases", "groups"), rows)
    if manifest.ledger is not None:
        print_paragraph(
            f"Release {manifest.ledger.release} of the ledger {manifest.ledger.id}. With --since, "
            f"query says what changed since another release of this ledger."
        )
        print()


def _partners(manifest: Manifest, name: str) -> str:
    """The set of columns that share one draw with this one."""
    return next((_listed(names) for names in manifest.together if name in names), "")


def _groups(entry: SensitiveColumn, partners: str) -> str:
    """How they were formed, and what came before."""
    parts = [f"together: {partners}" if partners else entry.groups]
    if entry.common:
        names = ["(missing)" if value is None else str(value) for value in entry.common]
        parts.append(f"common: {_listed(names)}")
    if entry.odds is not None:
        parts.append(f"odds at most {entry.odds.at_most:g}")
    return ", ".join(parts)
