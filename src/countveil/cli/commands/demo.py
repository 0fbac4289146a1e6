"""`countveil demo`: the whole path on a made-up census, estimates beside the truth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from countveil.cli.output import (
    command_name,
    print_paragraph,
    print_table,
    progress_shown,
)
from countveil.display import readable

if TYPE_CHECKING:
    import pyarrow as pa

    from countveil.randomness import Stream

_ELL = 5
# The made-up table says that it is one: what lies beside it was made by an earlier demo.
_MARK = {"countveil": "demo"}
_PLANTED = {"age": 70, "gender": "F", "country": "Iceland", "occupation": "watchmaker"}
_N_PLANTED = 5

COLUMNS = ("how many ...", "truth", "estimate", "95% interval", "verdict")
WIDTHS = (26, 8, 8, 17, 10)

# From large to tiny: the question in words, and the condition.
QUESTIONS = (
    ("women", "gender = 'F'"),
    ("office clerks", "occupation = 'office clerk'"),
    ("nurses", "occupation = 'nurse'"),
    ("women who are nurses", "gender = 'F' AND occupation = 'nurse'"),
    ("drivers under 40", "age < 40 AND occupation = 'driver'"),
    ("lawyers", "occupation = 'lawyer'"),
    ("architects", "occupation = 'architect'"),
    ("watchmakers", "occupation = 'watchmaker'"),
    ("women of 70 who are nurses", "gender = 'F' AND age = 70 AND occupation = 'nurse'"),
    (
        "women of 70 from Iceland who are watchmakers",
        "gender = 'F' AND age = 70 AND country = 'Iceland' AND occupation = 'watchmaker'",
    ),
)


def command(
    rows: Annotated[int, typer.Option("--rows", help="How many people.")] = 100_000,
    to: Annotated[
        Path, typer.Option("--to", metavar="DIR", help="Folder for the demo's files.")
    ] = Path("countveil-demo"),
) -> None:
    """Publish a built-in census, query it, print estimates beside the truth.

    Among the made-up people are five women of 70 from Iceland, all of them watchmakers. How many
    people have an occupation comes out right; the answer about the five is marked as hidden.
    """
    from countveil.errors import SettingsError, UnconfirmedError
    from countveil.randomness import Randomness
    from countveil.synthetic import generate

    if rows < 1_000:
        raise SettingsError(f"The demo needs at least 1,000 rows to show anything, got {rows}.")
    census, folder = to / "census.parquet", to / "release"
    _check_place(to, census, folder)
    print(f"1. Making up a census of {rows:,} people, five of them very special.")
    table = plant(generate(rows), Randomness().stream("plant"))
    doubt = _write(table, census, folder)
    print("3. Asking the release ten questions, from large to tiny:")
    print_table(COLUMNS, answers(census, folder), widths=WIDTHS)
    print_paragraph(
        "Only the release was asked; the truth is printed beside it for you. A hidden count is too "
        "uncertain to be used as a number. The occupation in a single published row "
        f"is the person's true one in about one of {_ELL} cases."
    )
    name = command_name()
    print(f"""
The release:       {folder}
The made-up table: {census}
Try next:
  {name} show {folder}
  {name} query {folder} \\
    "SELECT gender, count(*) FROM release
     WHERE occupation = 'nurse' GROUP BY gender"
  {name} verify {folder}""")
    if doubt:
        raise UnconfirmedError(doubt)


def _write(table: pa.Table, census: Path, folder: Path) -> str:
    """The table and its release, both or neither; what could not be confirmed, if anything."""
    import pyarrow.parquet as pq

    from countveil.errors import TargetError
    from countveil.publishing.publisher import run_publish
    from countveil.publishing.settings import Protecting, Writing
    from countveil.release.formats.read_back import check_rows
    from countveil.system.whole_files import pending_place, sync_path
    from countveil.tables import Reading

    there, known = census.parent.exists(), census.exists()
    try:
        census.parent.mkdir(parents=True, exist_ok=True)
        with pending_place(census, "the made-up table", noted=False, apart=True) as pending:
            pq.write_table(table.replace_schema_metadata(_MARK), pending.path)
            check_rows(pending.path, table.num_rows, table.schema)
            sync_path(pending.path)
            print(f"2. Publishing it with ell = {_ELL}: occupation is the sensitive column.")
            protecting = Protecting.of({"occupation": _ELL})
            with progress_shown() as progress:
                writing = Writing.of(folder, force=True, again=True, record=False)
                done = run_publish(
                    pending.path, protecting, writing, reading=Reading(progress=progress),
                    before_commit=pending.put_in_place,
                )  # fmt: skip
    except BaseException as error:
        if not known and not folder.exists():
            census.unlink(missing_ok=True)
        if not there and census.parent.exists() and not any(census.parent.iterdir()):
            census.parent.rmdir()
        if isinstance(error, OSError):
            raise TargetError(f"Writing {census} failed: {error.strerror or error}.") from error
        raise
    return done.unconfirmed


def _check_place(to: Path, census: Path, folder: Path) -> None:
    """Refuse a folder in which the demo would replace what it has not made."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from countveil.errors import TargetError

    try:
        made_by_us = (pq.read_schema(census).metadata or {}) == {
            key.encode(): value.encode() for key, value in _MARK.items()
        }
    except (OSError, pa.ArrowException):
        made_by_us = not census.exists() and not folder.exists()
    if not made_by_us:
        raise TargetError(
            f"{to} has a {census.name} or a {folder.name} that the demo did not make, and that it "
            f"would replace. Name another folder with --to."
        )


def answers(census: Path, folder: Path) -> list[tuple[str, int, str, str, str | None]]:
    """The release's answer to every question, beside the truth."""
    from countveil.asking.release import Release

    release = Release(folder)
    lines = []
    for words, where in QUESTIONS:
        estimate = release.count(where)
        interval = f"{readable(estimate.low)} - {readable(estimate.high)}"
        number = "hidden" if estimate.verdict == "hidden" else readable(estimate.estimate)
        lines.append((words, _true_count(census, where), number, interval, estimate.verdict))
    return lines


def plant(table: pa.Table, stream: Stream) -> pa.Table:
    """Make exactly five people of the planted kind, at random places of the table."""
    import pyarrow as pa

    columns = {name: table[name].to_pylist() for name in table.column_names}
    keys = ("age", "gender", "country")
    for row in range(table.num_rows):
        if all(columns[key][row] == _PLANTED[key] for key in keys):
            columns["country"][row] = "Ireland"
    for row in stream.choose(_N_PLANTED, table.num_rows).tolist():
        for key, value in _PLANTED.items():
            columns[key][row] = value
    return pa.table(columns, schema=table.schema)


def _true_count(census: Path, where: str) -> int:
    """Count in the made-up table itself, with the same conditions."""
    import pyarrow.parquet as pq

    from countveil.engines.local.release_table import LocalRelease
    from countveil.release import PublishedColumn
    from countveil.sql.query import ReleaseColumns, Tally, parse_where
    from countveil.sql.query.expressions import as_condition

    fields = pq.read_schema(census)
    columns = [PublishedColumn(field.name, str(field.type), "plain") for field in fields]
    table = LocalRelease(census.parent, [census.name], [column.name for column in columns])
    condition = as_condition(parse_where(where, ReleaseColumns(columns)))
    return int(table.tally(Tally(condition, (), (), (), ()), ()).moments.sum())
