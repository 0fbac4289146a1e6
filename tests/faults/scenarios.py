"""The commands that write, each with what it finds and what it is to leave.

Enters: a folder with tables, releases and databases to begin with. Leaves: command lines. Must not
know: faults.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
import pyarrow.csv as pc
import pyarrow.parquet as pq
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

import countveil as cv
from countveil.release.formats.data_files import OUTPUT_FORMATS
from tests.faults.things import (
    Thing,
    in_duckdb,
    in_sqlite,
    ledger,
    page,
    record,
    release,
    table,
)
from tests.robustness.tools import SMALL_ROWS, small_csv

BUDGET = 20
HTML, SVG = "</html>", "</svg>"
_EXPORTED = ("people", "people_manifest", "older")


@dataclass(frozen=True, slots=True)
class Scenario:
    """A command. `given` is copied into its place first, `again` makes a second run possible.

    The first of the `things` is what the command is for. `{place}` and `{given}` stand for folders.
    `budget` is how many faults are tried by default: few where a command takes long. With `spills`,
    no row fits into memory, and reading them back from the encrypted file may fail as well.
    """

    words: Sequence[str]
    things: Sequence[Thing]
    given: Mapping[str, str] = field(default_factory=dict)
    again: Sequence[str] = ()
    once: bool = False
    budget: int = BUDGET
    spills: bool = False


def _publish(*words: str, given: str = "in.csv", target: str = "release") -> list[str]:
    to = f"{{place}}/{target}"
    return ["publish", f"{{given}}/{given}", "-s", "job:2", "--keep", "row", "--to", to, *words]


_RELEASE = (release("release"), record)
_REPLACE = ("--force", "--again")
_SERIES = ("--ledger", "{place}/ledger", "--person", "row", "--again")

SCENARIOS: dict[str, Scenario] = {
    **{
        f"publish {name}": Scenario(
            _publish("--output-format", name, "--seed", "1"), _RELEASE, again=_REPLACE
        )
        for name in OUTPUT_FORMATS
    },
    **{
        f"replace by {name}": Scenario(
            _publish("--output-format", name, *_REPLACE), _RELEASE, {"release": "old"}
        )
        for name in ("parquet", "stata")
    },
    "publish several files": Scenario(
        _publish("--rows-per-file", "30"), _RELEASE, again=_REPLACE
    ),
    **{
        f"spill and publish {name}": Scenario(
            _publish("--spill", "{place}", given=f"in.{name}"),
            _RELEASE,
            again=_REPLACE,
            spills=True,
        )
        for name in ("csv", "parquet")
    },
    "publish everything": Scenario(
        _publish("--sign", "{given}/key.pem", "--metadata", "ddi,croissant,dcat"),
        _RELEASE,
        again=_REPLACE,
    ),
    "publish with a private report": Scenario(
        _publish("--private-report", "{place}/own.html", "--force"),
        (release("release"), page("own.html", HTML), record),
        {"own.html": "old.txt"},
        again=_REPLACE,
    ),
    "try with a private report": Scenario(
        _publish("--dry-run", "--private-report", "{place}/own.html"),
        (page("own.html", HTML),),
        again=("--force",),
    ),
    "publish with a recipe": Scenario(
        _publish("--write-recipe", "{place}/run.toml"),
        (release("release"), page("run.toml", r"\n"), record),
        again=_REPLACE,
    ),
    "publish with a ledger": Scenario(
        ["publish", "{given}/in.csv", "-s", "job:2", "--to", "{place}/release", *_SERIES],
        (release("release"), ledger("ledger"), record),
        {"ledger": "ledger", "ledger.key": "ledger.key"},
        again=("--force",),
    ),
    "ledger init": Scenario(["ledger", "init", "{place}/ledger"], (ledger("ledger"),), once=True),
    "export to a new SQLite file": Scenario(
        ["export", "{given}/old", "--to", "sqlite:{place}/x.db#people"],
        (in_sqlite("x.db", _EXPORTED),),
        again=("--force",),
    ),
    "export to a SQLite file": Scenario(
        ["export", "{given}/old", "--to", "sqlite:{place}/x.db#people"],
        (in_sqlite("x.db", _EXPORTED),),
        {"x.db": "some.db"},
        again=("--force",),
    ),
    "export to a new DuckDB file": Scenario(
        ["export", "{given}/old", "--to", "duckdb:{place}/x.duckdb#people"],
        (in_duckdb("x.duckdb", _EXPORTED),),
        again=("--force",),
    ),
    "export to a DuckDB file": Scenario(
        ["export", "{given}/old", "--to", "duckdb:{place}/x.duckdb#people"],
        (in_duckdb("x.duckdb", _EXPORTED),),
        {"x.duckdb": "some.duckdb"},
        again=("--force",),
    ),
    "replace in a DuckDB file": Scenario(
        ["export", "{given}/new", "--to", "duckdb:{place}/x.duckdb#people", "--force"],
        (in_duckdb("x.duckdb", _EXPORTED),),
        {"x.duckdb": "exported.duckdb"},
    ),
    "generate CSV": Scenario(
        ["generate", "--rows", "500", "--to", "{place}/census.csv"],
        (table("census.csv"),),
        again=("--force",),
    ),
    "generate Parquet": Scenario(
        ["generate", "--rows", "500", "--to", "{place}/census.parquet"],
        (table("census.parquet"),),
        again=("--force",),
    ),
    "advise": Scenario(
        ["advise", "{given}/in.csv", "-s", "job", "--drop", "row", "--report", "{place}/a.html"],
        (page("a.html", HTML),),
        budget=4,
    ),
    "compare": Scenario(
        ["compare", "{given}/in.csv", "-s", "job:2", "--drop", "row", "--releases", "2",
         "--report", "{place}/c.html"],
        (page("c.html", HTML),),
        budget=4,
    ),
    "audit": Scenario(
        ["audit", "{given}/in.csv", "-s", "job:2", "--keep", "row", "--release", "{given}/new",
         "--attacks", "reconstruction", "--report", "{place}/a.html"],
        (page("a.html", HTML),),
        budget=4,
    ),
    "recipe new": Scenario(
        ["recipe", "new", "{given}/in.csv", "--to", "{place}/r.toml"],
        (page("r.toml", r"\n"),),
        again=("--force",),
    ),
    "guarantee": Scenario(
        ["guarantee", "privacy", "--ell", "5", "--count", "5", "--error", "0.3", "--plot",
         "{place}/p.svg"],
        (page("p.svg", SVG),),
    ),
    "demo": Scenario(
        ["demo", "--rows", "1000", "--to", "{place}/demo"],
        (release("demo/release"), table("demo/census.parquet")),
        budget=12,
    ),
}  # fmt: skip


def make_given(folder: Path) -> None:
    """Tables, releases, databases and a key, once for all scenarios."""
    (folder / "in.csv").write_text(small_csv())
    pq.write_table(pc.read_csv(folder / "in.csv"), folder / "in.parquet", row_group_size=30)
    (folder / "half.csv").write_text(small_csv(SMALL_ROWS // 2))
    (folder / "old.txt").write_text("old")
    options = {"keep": "row", "record": False, "again": True}
    cv.publish(folder / "half.csv", {"job": 2}, folder / "old", **options)  # type: ignore[arg-type]
    cv.publish(folder / "in.csv", {"job": 2}, folder / "new", **options)  # type: ignore[arg-type]
    cv.Ledger.init(folder / "ledger")
    key = Ed25519PrivateKey.generate()
    (folder / "key.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    with contextlib.closing(sqlite3.connect(folder / "some.db")) as connection:
        connection.executescript("CREATE TABLE older (n); INSERT INTO older VALUES (1), (2)")
    with duckdb.connect(str(folder / "some.duckdb")) as made:
        made.execute("CREATE TABLE older AS SELECT * FROM range(2)")
    shutil.copy(folder / "some.duckdb", folder / "exported.duckdb")
    cv.export(folder / "old", f"duckdb:{folder / 'exported.duckdb'}#people")
