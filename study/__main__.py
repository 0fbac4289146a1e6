"""The study from the command line: measure, draw, write the page.

python -m study run [--quick] [--data FILE|census] [--only EXPERIMENT ...]
python -m study draw [--results FOLDER] [--figures FOLDER]
python -m study page
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from countveil import __version__
from countveil.errors import CountveilError
from study import results
from study.charts import draw_all
from study.data import load
from study.experiments import EXPERIMENTS
from study.grid import FULL, QUICK, cells
from study.page import PAGE, study_page
from study.runner import Runner, Spoken

HERE = Path(__file__).parent
_QUICK = HERE / "quick"


def main(arguments: Sequence[str] | None = None) -> int:
    """Do what is asked; 1 with one sentence if it cannot be done."""
    options = _parser().parse_args(arguments)
    try:
        options.do(options)
    except CountveilError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. What is finished is kept; run again to go on.", file=sys.stderr)
        return 130
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m study", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    verbs = parser.add_subparsers(required=True)
    run = verbs.add_parser("run", help="measure what is missing, write results and figures")
    run.add_argument("--quick", action="store_true", help="a small grid, beside the results")
    run.add_argument("--data", help="PUMS zip, CSV or folder; or census (default: what is there)")
    run.add_argument("--only", nargs="*", choices=list(EXPERIMENTS), default=[])
    run.add_argument("--again", action="store_true", help="measure anew what is kept, too")
    run.add_argument("--processes", type=int, help="default: one per core")
    run.add_argument("--kept", type=Path, default=HERE / "kept", help="where finished cells are")
    run.add_argument("--results", type=Path, help="where the CSV files go")
    run.add_argument("--figures", type=Path, help="where the figures go")
    run.set_defaults(do=_run)
    draw = verbs.add_parser("draw", help="figures from the results alone")
    draw.add_argument("--results", type=Path, default=results.RESULTS)
    draw.add_argument("--figures", type=Path, default=HERE / "figures")
    draw.set_defaults(do=_draw)
    page = verbs.add_parser("page", help="docs/study.md from the results alone")
    page.set_defaults(do=_page)
    return parser


def _run(options: argparse.Namespace) -> None:
    scale = QUICK if options.quick else FULL
    base = _QUICK if options.quick else HERE
    options.results = options.results or base / "results"
    options.figures = options.figures or base / "figures"
    table = load(options.data, max(scale.sizes))
    print(f"{table.name}, {table.rows:,} rows", flush=True)
    todo = cells(scale, options.only)
    tell = Spoken(terminal=sys.stderr.isatty(), write=_tell)
    runner = Runner(table, options.kept, options.processes)
    if options.again:
        runner.forget(todo)
    found = runner.run(todo, tell)
    tables = results.gathered((cell.experiment, one["rows"]) for cell, one in found.items())
    about = {
        "data": table.name,
        "rows": table.rows,
        "countveil": __version__,
        "python": platform.python_version(),
        "cores": os.cpu_count(),
        "cells": len(todo),
        "cpu_seconds": round(sum(one["cpu_seconds"] for one in found.values())),
    }
    results.write(options.results, tables, table.name, {} if options.only else about)
    print(f"results in {options.results}")
    _draw(options)


def _tell(text: str) -> None:
    print(text, end="", file=sys.stderr, flush=True)


def _draw(options: argparse.Namespace) -> None:
    names = draw_all(results.Results.read(options.results), options.figures)
    print(f"{len(names)} figures in {options.figures}")


def _page(options: argparse.Namespace) -> None:
    del options
    PAGE.write_text(study_page(results.Results.read()))
    print(f"written: {PAGE}")


if __name__ == "__main__":
    sys.exit(main())
