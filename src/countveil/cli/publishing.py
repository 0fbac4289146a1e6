"""Publish a table and say what was done.

Enters: what was asked for, read from a command line. Leaves: a release, and lines on standard
output. Must not know: typer, how a command line is read.
"""

from __future__ import annotations

import json
import re
import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from countveil.cli.entry import ignore_interrupts
from countveil.cli.output import (
    Format,
    as_json,
    command_name,
    print_paragraph,
    progress_shown,
    warn,
)
from countveil.display import visible
from countveil.errors import UnconfirmedError
from countveil.system.files import about_readers

if TYPE_CHECKING:
    from countveil.publishing.publisher import Publication
    from countveil.tables import Reading, Shaping
    from countveil.tables.progress import Progress


def _no_reasons(_keep: Sequence[str]) -> dict[str, str]:
    return {}


@dataclass(frozen=True)
class Asked:
    """A publication that was asked for.

    `protecting` and `writing` are arguments of `Protecting.of` and `Writing.of`. `table_options`
    tells how to read and shape the table, `reasons` why columns are kept, given their names.
    """

    table: str
    protecting: Mapping[str, Any]
    writing: Mapping[str, Any]
    table_options: Callable[[Progress], tuple[Reading, Shaping]]
    reasons: Callable[[Sequence[str]], dict[str, str]] = _no_reasons
    engine: str = "embedded"
    master: str | None = None
    k: int | None = None
    style: Format = Format.TABLE


def publish_and_print(asked: Asked) -> None:
    """Publish, and print what was published and what to do next."""
    from countveil.engines.choice import chosen_engine
    from countveil.publishing.publisher import run_publish
    from countveil.publishing.settings import Protecting, Writing

    started = time.monotonic()
    protecting = Protecting.of(**asked.protecting)
    with progress_shown() as progress:
        reading, shape = asked.table_options(progress)
        progress("starting", 0, 0)
        chosen = chosen_engine(asked.engine, asked.table, asked.master)
        writing = Writing.of(**asked.writing, reasons=asked.reasons(shape.keep))
        writing.check_reasons(shape.keep)
        done = run_publish(
            asked.table, protecting, writing, reading=reading,
            shaping=shape.seeded(protecting.seed), engine=chosen,
            before_commit=ignore_interrupts, k=asked.k,
        )  # fmt: skip
    seconds = round(time.monotonic() - started, 3)
    for warning in done.warnings:
        warn(warning)
    if asked.style is not Format.TABLE:
        print(_as_text(done, seconds, asked.style))
    elif writing.dry_run:
        _print_plan(done, writing.private_report, writing.metadata)
    else:
        _print_done(done, seconds, writing.private_report)
    if done.unconfirmed:
        raise UnconfirmedError(done.unconfirmed)


def _print_done(done: Publication, seconds: float, private_report: Path | None) -> None:
    protected = ", ".join(f"{name} (ell {ell})" for name, ell in done.ell.items())
    print(visible(f"Published {done.rows:,} rows to {done.folder} in {seconds:.1f} s."))
    print(f"Protected: {visible(protected)}.")
    _print_left_out(done, "Dropped: {} rows, so that a multiple of ell is left.")
    if done.seeded:
        print_paragraph(
            "SEEDED: this release was drawn with a seed and is for experiments only. Anybody who "
            "knows or guesses the seed can undo the protection."
        )
    _print_for_publisher(done)
    if private_report is not None:
        print(visible(f"For you only, because it shows true counts: {private_report}"))
        if note := about_readers(private_report):
            print_paragraph(note)
    print(visible(f"Next: {command_name()} {next_step(done.folder)}"))


def _print_left_out(done: Publication, sentence: str) -> None:
    """Rows that were dropped; with a ledger, known and new cases."""
    for batch in done.batches or ():
        known = f"{batch.known:,} known cases of {', '.join(batch.columns)}"
        new = f"{batch.new:,} new ones in batch {batch.number}" if batch.new else "no new ones"
        print(visible(f"Ledger: {known}, {new}."))
    if done.dropped and done.batches is None:
        print(sentence.format(done.dropped))


def _print_for_publisher(done: Publication) -> None:
    """What is not part of the release: which rare values were merged, advice."""
    for merged in done.merged:
        print_paragraph(f"For you only: {merged.sentence()}")
    for sentence in done.linkability.sentences() if done.linkability is not None else ():
        print_paragraph(sentence)


def next_step(folder: str) -> str:
    """What to do with a release: show it, or query it where only a cluster reaches it."""
    if re.match(r"(?!file:)[a-z][a-z0-9+.-]*://", folder):
        question = shlex.quote("SELECT count(*) FROM release")
        return f"query {shlex.quote(folder)} {question} --engine spark"
    return f"show {shlex.quote(folder.removeprefix('file://'))}"


def _print_plan(done: Publication, private_report: Path | None, metadata: tuple[str, ...]) -> None:
    """What would have been published."""
    # What describes a release is declared with the options of its command.
    from countveil.cli.commands.show import print_manifest
    from countveil.release import METADATA_NAMES

    where = f"{done.rows:,} rows would be published to {done.folder}"
    print(visible(f"Nothing was published. {where}:"))
    print_manifest(done.manifest)
    for sentence in done.odds:
        print_paragraph(sentence)
    _print_left_out(done, "{} rows would be dropped, so that a multiple of ell is left.")
    if metadata:
        names = ", ".join(METADATA_NAMES[name] for name in metadata)
        print(f"Beside the data, for archives and catalogues: {names}.")
    if private_report is not None:
        print(visible(f"For you only, with the figures of a trial: {private_report}"))
    _print_for_publisher(done)
    print("To publish, run the same command without --dry-run.")


def _as_text(done: Publication, seconds: float, style: Format) -> str:
    summary: dict[str, Any] = {
        "release": done.folder,
        "rows": done.rows,
        "ell": dict(done.ell),
        "dropped": done.dropped if done.batches is None else 0,
        "seconds": seconds,
    }
    if done.batches is not None and style is Format.JSON:
        summary["on_hold"] = done.dropped
        summary["batches"] = [asdict(batch) for batch in done.batches]
    # What only the publisher may see, where there is something of it.
    merged = {values.column: dict(values.rows) for values in done.merged}
    if style is Format.JSON:
        summary |= {"merged": merged} if merged else {}
        if done.linkability is not None:
            summary["linkability"] = asdict(done.linkability)
    if style is Format.JSON:
        return as_json(summary)
    import csv
    import io

    flat = {**summary, "ell": json.dumps(summary["ell"], ensure_ascii=False)}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([flat.keys(), flat.values()])
    return text.getvalue().rstrip("\n")
