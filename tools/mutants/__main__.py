"""Try the mistakes, one by one: `make mutants`, or `python -m tools.mutants [NAME ...]`.

Enters: names of mutants or rooms (all, if none is given). Leaves: a line for each mutant, what
survived, and exit code 1 if anything did. What came out is kept in build/; only what has changed
since, or did not pass, is tried again.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tools.mutants.planting import ROOT, Mutant, Nursery, planted_mutants
from tools.mutants.trying import CAUGHT, Outcomes, attempt, check_imports, make_table


def main() -> int:
    """Try them, and say what survived."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="mutants or rooms; all, if none is given")
    parser.add_argument(
        "--audit", action="store_true", help="does the audit notice those it should"
    )
    parser.add_argument("--again", action="store_true", help="also those that were caught before")
    chosen = parser.parse_args()
    mutants = _chosen(chosen.names, by_audit=chosen.audit)
    kind = "audited" if chosen.audit else "mutants"
    outcomes = Outcomes(ROOT / "build" / f"{kind}.json")
    survived = []
    with tempfile.TemporaryDirectory(prefix="countveil-mutants-") as folder:
        nursery = Nursery(Path(folder))
        check_imports(nursery.folder)
        if chosen.audit:
            make_table(nursery.folder)
        for number, mutant in enumerate(mutants, 1):
            outcome = outcomes.get(mutant)
            begun = time.monotonic()
            if chosen.again or outcome is None or outcome.result != CAUGHT:
                with nursery.planted(mutant):
                    outcome = attempt(mutant, nursery.folder, by_audit=chosen.audit)
                outcomes.put(mutant, outcome)
            took = f"{time.monotonic() - begun:4.0f} s"
            print(
                f"{number:3}/{len(mutants)} {took}  {outcome.result:8}  {mutant.name}", flush=True
            )
            if outcome.result != CAUGHT:
                survived.append(mutant)
                print(f"      {mutant.harm}\n      {outcome.by}", flush=True)
    print(f"{len(mutants) - len(survived)} of {len(mutants)} mistakes are noticed.")
    return 1 if survived else 0


def _chosen(names: list[str], *, by_audit: bool) -> list[Mutant]:
    mutants = planted_mutants()
    unknown = set(names) - {name for mutant in mutants for name in (mutant.name, mutant.room)}
    if unknown:
        sys.exit(f"There is no mutant and no room with the name {', '.join(sorted(unknown))}.")
    named = [m for m in mutants if not names or m.name in names or m.room in names]
    return [mutant for mutant in named if mutant.audit or not by_audit]


if __name__ == "__main__":
    sys.exit(main())
