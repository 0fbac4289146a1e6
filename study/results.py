"""Results as tidy CSV files: one per experiment, one row per measurement.

Enters: the rows of cells. Leaves: files that say which data they are of; from files, rows again.
Must not know: what the numbers mean.

`about.json` beside them: the name and size of the table, versions, the machine's cores and what all
cells cost. Numbers have six significant digits, which is more than any of them means.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from study.measures import Row

RESULTS = Path(__file__).parent / "results"


def write(
    folder: Path, tables: Mapping[str, Sequence[Row]], data: str, about: Mapping[str, Any]
) -> None:
    """One CSV for each experiment; `about` is empty if only some were done."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, rows in tables.items():
        columns = list(dict.fromkeys(column for row in rows for column in row))
        with (folder / f"{name}.csv").open("w", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["data", *columns])
            for row in rows:
                cells = (_text(row.get(column)) for column in columns)
                writer.writerow([data, *cells])
    if about:
        (folder / "about.json").write_text(json.dumps(about, indent=2) + "\n")


def _text(value: object) -> str:
    if value is None:
        return ""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Results:
    """All tables of a folder."""

    about: Mapping[str, Any]
    tables: Mapping[str, Sequence[Row]]

    @classmethod
    def read(cls, folder: Path = RESULTS) -> Results:
        """From the files of `write`."""
        tables = {}
        for path in sorted(folder.glob("*.csv")):
            with path.open(newline="") as file:
                lines = csv.DictReader(file)
                tables[path.stem] = [{k: _value(v) for k, v in line.items()} for line in lines]
        about = folder / "about.json"
        return cls(json.loads(about.read_text()) if about.exists() else {}, tables)

    def where(self, table: str, /, **wanted: object) -> list[Row]:
        """The rows with these values."""
        return [
            row
            for row in self.tables[table]
            if all(row.get(name) == value for name, value in wanted.items())
        ]

    def values(self, table: str, column: str, /, **wanted: object) -> list[float]:
        """One column of them, without what is not there."""
        found = (row.get(column) for row in self.where(table, **wanted))
        return [float(value) for value in found if value is not None]

    def different(self, table: str, column: str, /, **wanted: object) -> list[Any]:
        """Which values a column has."""
        return sorted({row[column] for row in self.where(table, **wanted)})


def gathered(rows_of: Iterable[tuple[str, Sequence[Row]]]) -> dict[str, list[Row]]:
    """The rows of cells by experiment."""
    found: dict[str, list[Row]] = {}
    for name, rows in rows_of:
        found.setdefault(name, []).extend(rows)
    return found


def _value(text: str | None) -> Any:
    if text is None or text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
